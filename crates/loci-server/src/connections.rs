//! Accepts connections: limits their number, disables Nagle's algorithm, encrypts if configured and
//! shuts down gracefully.
//!
//! Clients that connect and send nothing, or send too slowly, must not lock others out: the head of
//! the first request must arrive soon, and when all slots are taken, an unauthenticated or idle
//! connection is evicted.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use loci_core::limits::REQUEST_HEAD_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

use crate::connection_slots::{
    ActivityStream, ConnectionSlot, ConnectionSlots, ResponseBody, SlotGuard,
};
use crate::lingering::{EndedStream, LingeringStream};
use crate::tls::Tls;

/// The other end of a connection; in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The client's address; an IPv4 address as such, also on a dual-stack socket.
    pub(crate) address: IpAddr,
    /// The port of this server.
    pub(crate) local_port: u16,
    pub(crate) is_encrypted: bool,
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;
type Stream = ActivityStream<Pin<Box<TimeoutWriter<LingeringStream>>>>;

/// A connection that was accepted.
struct AcceptedConnection {
    stream: Stream,
    ended: EndedStream,
    peer: Peer,
    taken: SlotGuard,
}

/// The time that a client has to send the head of its first request, including a TLS handshake
/// before it.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a client has to send the head of each further request; the connection is kept open
/// until then.
const HEAD_TIMEOUT: Duration = Duration::from_secs(90);
/// The maximum bytes that are read or written at a time.
const BUFFER_BYTES: usize = REQUEST_HEAD_BYTES_MAX;
/// The time that requests under way have to finish after shutdown starts. Together with the
/// timeouts below, the process ends within two seconds.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// The time after that in which the refusals of unfinished requests must be written, and the time
/// in which clients must have read the last replies.
pub(crate) const REFUSAL_TIMEOUT: Duration = Duration::from_millis(100);
/// The pause after a failure to accept, which comes from a lack of resources (file handles).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The minimum time between two warnings about failures to accept.
const WARNING_PAUSE: Duration = Duration::from_mins(1);

/// Serves until `shutdown` completes and connections have ended or timed out; `write_timeout` comes
/// from the configuration. Cancels `cut_off` when unfinished requests must be refused.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    places_max: usize,
    write_timeout: Duration,
    cut_off: &CancellationToken,
    shutdown: impl Future<Output = ()>,
) {
    let ended = CancellationToken::new();
    let closing = CancellationToken::new();
    // Closed when the last connection is.
    let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
    let graceful = GracefulShutdown::new();
    let mut entry = Entry {
        listener,
        places: ConnectionSlots::new(places_max),
        write_timeout,
        accepted: 0,
        warned_at: None,
    };
    let mut shutdown = pin!(shutdown);
    loop {
        let AcceptedConnection {
            stream,
            ended: lingering,
            peer,
            taken,
        } = tokio::select! {
            () = &mut shutdown => break,
            next = entry.next() => next,
        };
        let place = Arc::clone(&taken.slot);
        let connection = connection(
            stream,
            peer,
            Arc::clone(&place),
            tls.clone(),
            router.clone(),
            graceful.watcher(),
            closing.clone(),
        );
        let (ended, open) = (ended.clone(), open.clone());
        tokio::spawn(async move {
            let (_taken, _open) = (taken, open);
            tokio::select! {
                () = to_end(connection, &place, lingering) => {}
                () = ended.cancelled() => {}
                () = place.evicted() => {}
            }
        });
    }
    drop(entry);
    closing.cancel();
    let mut drained = pin!(graceful.shutdown());
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut drained)
        .await
        .is_err()
    {
        tracing::warn!("some requests were cut off at shutdown");
        cut_off.cancel();
        // A client that does not read its refusal does not get it.
        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, drained).await;
    }
    // A client that still sends has a moment to read its reply.
    drop(open);
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, all_closed.recv()).await;
    ended.cancel();
}

/// Runs a connection until it is closed, or has been without a request for too long.
async fn to_end(
    connection: impl Future<Output = Outcome>,
    place: &ConnectionSlot,
    lingering: EndedStream,
) {
    let outcome = tokio::select! {
        outcome = connection => outcome,
        () = without_request(place) => return,
    };
    if let Err(error) = outcome {
        tracing::debug!(error, "a connection ended early");
    }
    lingering.close().await;
}

/// Waits until a connection has been without a request for too long.
async fn without_request(place: &ConnectionSlot) {
    tokio::time::sleep(FIRST_HEAD_TIMEOUT).await;
    if place.has_begun() {
        std::future::pending::<()>().await;
    }
}

/// Accepts connections.
struct Entry {
    listener: TcpListener,
    places: Arc<ConnectionSlots>,
    write_timeout: Duration,
    accepted: u64,
    /// The time of the last logged warning that connections cannot be accepted.
    warned_at: Option<Instant>,
}

impl Entry {
    /// Waits for the next connection and a slot for it.
    async fn next(&mut self) -> AcceptedConnection {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // A client that has disconnected has no address any more and needs no slot.
                    let Ok(peer) = prepare(&stream, address) else {
                        continue;
                    };
                    self.accepted += 1;
                    let taken = self.places.take(self.accepted).await;
                    let (stream, ended) = LingeringStream::new(stream);
                    let mut inner = TimeoutWriter::new(stream);
                    inner.set_timeout(Some(self.write_timeout));
                    let stream = ActivityStream {
                        inner: Box::pin(inner),
                        place: Arc::clone(&taken.slot),
                        is_writing: false,
                    };
                    return AcceptedConnection {
                        stream,
                        ended,
                        peer,
                        taken,
                    };
                }
                Err(error) if is_of_one_connection(error.kind()) => {}
                Err(error) => {
                    if self
                        .warned_at
                        .is_none_or(|warned| warned.elapsed() > WARNING_PAUSE)
                    {
                        self.warned_at = Some(Instant::now());
                        tracing::warn!(%error, "connections cannot be accepted; idle ones make room");
                    }
                    // Most likely there are no file handles left.
                    self.places.evict_one();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn prepare(stream: &TcpStream, address: SocketAddr) -> io::Result<Peer> {
    // Replies that are streamed in parts would otherwise wait for the client's delayed ACK.
    stream.set_nodelay(true)?;
    let local_port = stream.local_addr()?.port();
    Ok(Peer {
        address: address.ip().to_canonical(),
        local_port,
        is_encrypted: false,
    })
}

/// True if accepting failed because of the one connection: the client closed it first, or its
/// network failed (accept(2) passes such errors on).
fn is_of_one_connection(kind: ErrorKind) -> bool {
    use ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted,
        NetworkDown, NetworkUnreachable, TimedOut,
    };
    matches!(
        kind,
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | TimedOut
    )
}

/// Runs one connection from the handshake to its end. A handshake is aborted when service ends
/// (`closing`).
async fn connection(
    stream: Stream,
    peer: Peer,
    place: Arc<ConnectionSlot>,
    tls: Option<Tls>,
    router: Router,
    watcher: Watcher,
    closing: CancellationToken,
) -> Outcome {
    let Some(tls) = tls else {
        return requests(stream, peer, place, router, watcher).await;
    };
    let handshake = Box::pin(tls.accept(stream));
    let Some(stream) = closing.run_until_cancelled(handshake).await else {
        return Ok(());
    };
    requests(
        stream?,
        Peer {
            is_encrypted: true,
            ..peer
        },
        place,
        router,
        watcher,
    )
    .await
}

/// Serves the requests of a connection. What that needs is in one box, because each future that
/// holds another one as its argument takes its size twice, and a thousand connections may stall.
fn requests<S>(
    stream: S,
    peer: Peer,
    place: Arc<ConnectionSlot>,
    router: Router,
    watcher: Watcher,
) -> impl Future<Output = Outcome>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let under_way = place.begin();
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(&place));
        let response = router.call(request.map(Body::new));
        async move {
            Ok::<_, Infallible>(response.await?.map(|inner| ResponseBody {
                inner,
                _under_way: under_way,
            }))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(REQUEST_HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let served = Box::pin(watcher.watch(connection));
    async move { Ok(served.await?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_makes_nobody_give_way() {
        let rows = [
            (ErrorKind::ConnectionAborted, true),
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::Other, false),
        ];
        for (kind, expected) in rows {
            assert_eq!(is_of_one_connection(kind), expected, "{kind}");
        }
        for out_of_files in [23, 24] {
            assert!(!is_of_one_connection(
                io::Error::from_raw_os_error(out_of_files).kind()
            ));
        }
    }
}
