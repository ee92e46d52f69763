//! How a person or a host asks a server to end.

/// Waits for the wish to end, which is noted from this call on.
#[cfg(unix)]
pub fn signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals =
        signal(SignalKind::terminate()).and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
    async {
        let Ok((mut terminate, mut interrupt)) = signals else {
            // Then a signal ends the process at once, which the store survives.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Waits for the wish to end.
#[cfg(not(unix))]
pub async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
