//! Blocking work beside the threads that serve requests.

use loci_core::{Error, Result};
use tracing::Span;

/// Runs work that blocks on a thread of its own, within the current span, and holds the permit until
/// the work ends, also when the request has gone, because the permit stands for the thread.
///
/// # Errors
/// The errors of the work; `internal` if it panicked. The message of the panic is not repeated,
/// because it may quote what a client sent.
pub async fn run_blocking<P: Send + 'static, T: Send + 'static>(
    permit: P,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let span = Span::current();
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        span.in_scope(work)
    });
    task.await.unwrap_or_else(|_| {
        tracing::error!("a request panicked; this is a fault of loci");
        Err(Error::internal(
            "loci failed while working on this request; the fault is in its log, please report it",
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use loci_core::ErrorCode;

    use super::*;
    use crate::{Pool, Subject};

    #[tokio::test]
    async fn a_panic_is_an_error_that_says_nothing_of_the_request() {
        let failed = run_blocking((), || -> Result<()> { panic!("the secret") }).await;
        let error = failed.unwrap_err();
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(!error.message.contains("secret"), "{error}");
    }

    #[tokio::test]
    async fn a_permit_is_held_until_the_work_ends() {
        let (pool, subject) = (Pool::new(1, 1), Subject::network(None));
        let permit = pool.try_acquire(&subject, 1);
        let (end, ending) = mpsc::channel::<()>();
        let work = run_blocking(permit, move || {
            let _ = ending.recv();
            Ok(())
        });
        let work = tokio::spawn(work);
        tokio::task::yield_now().await;
        work.abort();
        assert!(work.await.is_err());
        assert!(pool.try_acquire(&subject, 1).is_none());
        drop(end);
        assert!(pool.acquire(&subject, 1).await.is_some());
    }
}
