//! What all handlers of one process share: the engine, the bound on calls in flight, the watch
//! on changes, and the end of service.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loci_core::limits::{CALL_SECONDS_MAX, CALLS_IN_FLIGHT_MAX, OUTSIDE_CALLS_IN_FLIGHT_MAX, SUBSCRIPTIONS_MAX};
use loci_core::{Error, ErrorCode, Result};
use loci_engine::Engine;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::reply_share::ReplyBudget;

/// How often the store is asked for changes while somebody is subscribed to them.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The engine as handlers use it. One for each process.
pub struct Host {
    engine: Arc<Engine>,
    calls: Arc<Semaphore>,
    outside_calls: Arc<Semaphore>,
    replies: ReplyBudget,
    subscriptions: Arc<Semaphore>,
    versions: watch::Sender<u64>,
    polling: Mutex<bool>,
    closing: CancellationToken,
}

impl Host {
    /// A host for this engine. Costs nothing: no thread, no task, no access to the store.
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Host {
            engine,
            calls: Arc::new(Semaphore::new(CALLS_IN_FLIGHT_MAX)),
            outside_calls: Arc::new(Semaphore::new(OUTSIDE_CALLS_IN_FLIGHT_MAX)),
            replies: ReplyBudget::new(),
            subscriptions: Arc::new(Semaphore::new(SUBSCRIPTIONS_MAX)),
            versions: watch::Sender::new(0),
            polling: Mutex::new(false),
            closing: CancellationToken::new(),
        })
    }

    /// Ends service in good order: subscriptions end, no further input is read, calls that began
    /// are answered.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Is cancelled when service ends.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The budget for replies.
    pub(crate) fn replies(&self) -> &ReplyBudget {
        &self.replies
    }

    /// Runs blocking work for a caller, as one of at most [`CALLS_IN_FLIGHT_MAX`].
    ///
    /// # Errors
    /// What the work fails with; `internal` if it panicked; `unavailable` if it is not done within
    /// [`CALL_SECONDS_MAX`] (it then goes on, and keeps its place among the calls).
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.calls).acquire_owned().await.map_err(|_| closed())?;
        self.block(Some(permit), work).await
    }

    /// Runs work that waits for a service of others, as one of at most
    /// [`OUTSIDE_CALLS_IN_FLIGHT_MAX`], so that calls which need the store alone never wait for it.
    ///
    /// # Errors
    /// As for [`Host::call`]; `rate_limited` if no place is free within [`CALL_SECONDS_MAX`].
    pub(crate) async fn call_outside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = Arc::clone(&self.outside_calls).acquire_owned();
        let waited = tokio::time::timeout(Duration::from_secs(CALL_SECONDS_MAX), place).await;
        let permit = waited.map_err(|_elapsed| {
            let message = "too many calls wait for services outside of loci; try again when some are answered";
            Error::new(ErrorCode::RateLimited, message)
        })?;
        self.block(Some(permit.map_err(|_| closed())?), work).await
    }

    /// Runs blocking work of the server itself, whatever callers do.
    ///
    /// # Errors
    /// As for [`Host::call`].
    pub(crate) async fn watch<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.block(None, work).await
    }

    async fn block<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let engine = Arc::clone(&self.engine);
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&engine)
        });
        match tokio::time::timeout(Duration::from_secs(CALL_SECONDS_MAX), task).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panicked)) => {
                // The message of a panic may quote what the caller sent, so it is not repeated.
                tracing::error!("a call panicked; this is a fault of loci");
                Err(Error::internal(
                    "loci failed while working on this call; the fault is in its log, please report it",
                ))
            }
            Err(_elapsed) => {
                let message = format!(
                    "the call was not done within {CALL_SECONDS_MAX} s and goes on in the background; look at its outcome before trying again"
                );
                Err(Error::unavailable(message))
            }
        }
    }

    /// A place among the subscriptions of this process, if one is free.
    pub(crate) fn subscription_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.subscriptions).try_acquire_owned().ok()
    }

    /// A receiver that changes whenever any process may have committed something. The store is
    /// asked only while receivers exist.
    pub(crate) fn versions(self: &Arc<Self>) -> watch::Receiver<u64> {
        let mut polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.versions.subscribe();
        if !*polling {
            *polling = true;
            tokio::spawn(Arc::clone(self).poll());
        }
        receiver
    }

    async fn poll(self: Arc<Self>) {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                () = self.closing.cancelled() => {}
            }
            if self.ends_polling() {
                return;
            }
            if let Ok(version) = self.watch(Engine::version).await {
                self.versions.send_if_modified(|known| std::mem::replace(known, version) != version);
            }
        }
    }

    fn ends_polling(&self) -> bool {
        let mut polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        *polling = self.versions.receiver_count() > 0 && !self.closing.is_cancelled();
        !*polling
    }
}

fn closed() -> Error {
    Error::unavailable("loci is shutting down; try again when it is back")
}
