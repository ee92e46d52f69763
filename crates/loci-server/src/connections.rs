//! Accepting connections: bounded in number, without Nagle's delay, encrypted or not, ended in good order.

use std::future::Future;
use std::net::IpAddr;
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
use loci_core::limits::CONNECTIONS_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

use crate::tls::Tls;

/// Who is at the other end of a connection; in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// Its address; that of an IPv4 host as such, also on a socket that serves both kinds.
    pub(crate) address: IpAddr,
    /// Our port.
    pub(crate) local_port: u16,
    pub(crate) is_encrypted: bool,
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;
type Stream = Pin<Box<TimeoutWriter<TcpStream>>>;

/// How long a client may take to send the head of its next request; a kept connection counts.
const HEADER_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests that began may go on after the end of service. With what follows, the process
/// ends within two seconds.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long after that the refusals of those that did not end may take to be written.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a reply may go without a byte being taken before its connection is dropped: a fraction
/// of the time that other calls wait for the memory which the reply holds.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failure to accept, which comes from a lack of something (file handles).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` is done and connections have ended, or were given their time to. Cancels
/// `cut_off` when requests that go on are to be refused.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    cut_off: &CancellationToken,
    shutdown: impl Future<Output = ()>,
) {
    let ended = CancellationToken::new();
    let closing = CancellationToken::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let (stream, peer, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = connection(stream, peer, tls.clone(), router.clone(), graceful.watcher(), closing.clone());
        let ended = ended.clone();
        tokio::spawn(async move {
            let _slot = slot;
            if let Some(Err(error)) = ended.run_until_cancelled(connection).await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
    drop(listener);
    closing.cancel();
    let mut drained = pin!(graceful.shutdown());
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut drained).await.is_err() {
        tracing::warn!("some requests were cut off at shutdown");
        cut_off.cancel();
        // Whoever does not read its refusal does not get it.
        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, drained).await;
    }
    ended.cancel();
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(Stream, Peer, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    // Replies that are streamed in parts would otherwise wait for the client's delayed ACK.
    stream.set_nodelay(true)?;
    let local_port = stream.local_addr()?.port();
    let peer = Peer { address: address.ip().to_canonical(), local_port, is_encrypted: false };
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(WRITE_TIMEOUT));
    Ok((Box::pin(stream), peer, slot))
}

/// One connection from the handshake to its end. A handshake does not go on when service ends (`closing`).
async fn connection(
    stream: Stream,
    peer: Peer,
    tls: Option<Tls>,
    router: Router,
    watcher: Watcher,
    closing: CancellationToken,
) -> Outcome {
    let Some(tls) = tls else {
        return requests(stream, peer, router, watcher).await;
    };
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
    let Some(handshake) = closing.run_until_cancelled(handshake).await else { return Ok(()) };
    requests(handshake??, Peer { is_encrypted: true, ..peer }, router, watcher).await
}

async fn requests<S>(stream: S, peer: Peer, router: Router, watcher: Watcher) -> Outcome
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    Ok(watcher.watch(connection).await?)
}
