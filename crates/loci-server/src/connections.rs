//! Accepting connections: bounded in number, without Nagle's delay, ended in good order.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use loci_core::limits::CONNECTIONS_MAX;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

/// How long a client may take to send the head of its next request; a kept connection counts.
const HEADER_TIMEOUT: Duration = Duration::from_secs(90);
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
    router: Router,
    cut_off: &CancellationToken,
    shutdown: impl Future<Output = ()>,
) {
    let ended = CancellationToken::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let (stream, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(WRITE_TIMEOUT));
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        let ended = ended.clone();
        tokio::spawn(async move {
            let _slot = slot;
            if let Some(Err(error)) = ended.run_until_cancelled(connection).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
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
) -> std::io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _address) = listener.accept().await?;
    // Replies that are streamed in parts would otherwise wait for the client's delayed ACK.
    stream.set_nodelay(true)?;
    Ok((stream, slot))
}
