//! The state that all handlers of one process share: the engine, the limits on concurrent calls,
//! the polling for changes, and the shutdown.

mod call_slots;
mod readiness;
mod reply_share;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_admission::{Permit, Pool, Subject, run_blocking};
use loci_core::limits::{CALL_SECONDS_MAX, SUBSCRIPTIONS_MAX};
use loci_core::{Error, Result, Space};
use loci_engine::Engine;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

pub(crate) use reply_share::{CallKind, ReplyShare};

use call_slots::CallSlots;
use readiness::ReadinessProbe;
use reply_share::ReplyBudget;

use crate::app_views::AppPages;
use crate::client_calls::{ClientCall, ClientCalls};
use crate::mutex::lock;
use crate::questions::{Checkout, Questions};
use crate::request_share::RequestBudget;
use crate::subscription_slots::SubscriptionSlots;
use crate::trace_context::SetParent;

/// The interval at which the store is polled for changes while subscriptions exist.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The engine as handlers use it. One for each process.
pub struct Host {
    engine: Arc<Engine>,
    slots: CallSlots,
    readiness: ReadinessProbe,
    replies: ReplyBudget,
    requests: RequestBudget,
    subscriptions: Arc<SubscriptionSlots>,
    /// The last known version of each space that has receivers. A task polls them while there are
    /// any.
    versions: Mutex<HashMap<Space, watch::Sender<u64>>>,
    closing: CancellationToken,
    client_calls: Option<Arc<dyn ClientCalls>>,
    set_parent: Option<SetParent>,
    app_pages: Option<AppPages>,
    questions: Questions,
}

/// The duties of a server beside calls.
#[derive(Default)]
pub struct HostOptions {
    /// Records the clients that call tools.
    pub client_calls: Option<Arc<dyn ClientCalls>>,
    /// Makes the span of a call the child of the trace context that its client sent, if traces are
    /// sent.
    pub set_parent: Option<SetParent>,
    /// The pages of views of the conversation, unless they are off.
    pub app_pages: Option<AppPages>,
    /// The time for the answer to a question to the person; `None` for no questions.
    pub question_limit: Option<Duration>,
    /// The plan of the folder that the one client of a pipe works in.
    pub checkout: Option<Arc<dyn Checkout>>,
}

impl Host {
    /// Returns a host for this engine. Starts no thread and no task and does not access the store.
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        Host::with_options(engine, HostOptions::default())
    }

    /// Returns the same with what it does beside calls.
    pub fn with_options(engine: Arc<Engine>, options: HostOptions) -> Arc<Self> {
        let HostOptions {
            client_calls,
            set_parent,
            app_pages,
            question_limit,
            checkout,
        } = options;
        Arc::new(Host {
            engine,
            client_calls,
            set_parent,
            app_pages,
            questions: Questions::new(question_limit, checkout),
            slots: CallSlots::new(),
            readiness: ReadinessProbe::default(),
            replies: ReplyBudget::new(),
            requests: RequestBudget::new(),
            subscriptions: SubscriptionSlots::new(SUBSCRIPTIONS_MAX),
            versions: Mutex::default(),
            closing: CancellationToken::new(),
        })
    }

    /// Returns the function that joins the spans of calls to the traces of clients.
    pub(crate) fn set_parent(&self) -> Option<SetParent> {
        self.set_parent
    }

    /// Returns the pages of views of the conversation, unless they are off.
    pub(crate) fn app_pages(&self) -> Option<AppPages> {
        self.app_pages
    }

    /// The questions to the person.
    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Shuts down gracefully: subscriptions end, no further input is read, calls under way are
    /// answered.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Returns the token that is cancelled when service ends.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The budget for replies.
    pub(crate) fn replies(&self) -> &ReplyBudget {
        &self.replies
    }

    /// Returns the budget for the bodies of large requests, in bytes, which all routes of a server
    /// share.
    pub fn large_requests(&self) -> &Arc<Pool> {
        self.requests.large()
    }

    /// The budget for requests.
    pub(crate) fn requests(&self) -> &RequestBudget {
        &self.requests
    }

    /// Runs blocking work for a caller, within the limit on concurrent calls of its kind and the
    /// share of its subject. While another process holds the lock of the store, calls that write
    /// wait for it in their threads: calls that only read never wait for them, and neither kind
    /// waits for external services.
    ///
    /// # Errors
    /// The error of the work; `internal` if it panicked; `unavailable` if it is not done within
    /// [`CALL_SECONDS_MAX`] (it then continues, and still counts as a call); `rate_limited` if it
    /// needs external services and finds no free slot within [`CALL_SECONDS_MAX`].
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        subject: &Subject,
        kind: CallKind,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let slot = self.slots.take(subject, kind).await?;
        self.block(Some(slot), work).await
    }

    /// Runs blocking work for a subscription of a subject, outside the limits on calls.
    ///
    /// # Errors
    /// As for [`Host::call`].
    pub(crate) async fn watch<T: Send + 'static>(
        &self,
        subject: &Subject,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let slot = self.slots.take_for_subscription(subject).await?;
        self.block(Some(slot), work).await
    }

    /// Runs blocking work of the server itself, of which there is one piece of each kind at a time.
    ///
    /// # Errors
    /// As for [`Host::call`].
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.block(None, work).await
    }

    async fn block<T: Send + 'static>(
        &self,
        slot: Option<Permit>,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let engine = Arc::clone(&self.engine);
        let task = run_blocking(slot, move || work(&engine));
        match tokio::time::timeout(Duration::from_secs(CALL_SECONDS_MAX), task).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => {
                let message = format!(
                    "the call was not done within {CALL_SECONDS_MAX} s and goes on in the background; look at its outcome before trying again"
                );
                Err(Error::unavailable(message))
            }
        }
    }

    /// Records the call of a client beside it, if that is due.
    pub(crate) fn note_client(&self, call: ClientCall) {
        let Some(calls) = &self.client_calls else {
            return;
        };
        if calls.is_due(&call) {
            let calls = Arc::clone(calls);
            tokio::task::spawn_blocking(move || calls.record(&call));
        }
    }

    /// The slots for subscriptions.
    pub(crate) fn subscriptions(&self) -> &Arc<SubscriptionSlots> {
        &self.subscriptions
    }

    /// Returns a receiver that changes whenever any process may have committed a change in this
    /// space. The store is polled only while receivers exist.
    pub(crate) fn versions(self: &Arc<Self>, space: &Space) -> watch::Receiver<u64> {
        let mut versions = lock(&self.versions);
        if versions.is_empty() {
            tokio::spawn(Arc::clone(self).poll());
        }
        versions.entry(space.clone()).or_default().subscribe()
    }

    async fn poll(self: Arc<Self>) {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                () = self.closing.cancelled() => {}
            }
            let polled = self.polled();
            if polled.is_empty() {
                return;
            }
            let read = self.work(|engine| {
                let read = |space| engine.version(&space).map(|version| (space, version));
                polled.into_iter().map(read).collect::<Result<Vec<_>>>()
            });
            for (space, version) in read.await.unwrap_or_default() {
                if let Some(known) = lock(&self.versions).get(&space) {
                    known.send_if_modified(|known| std::mem::replace(known, version) != version);
                }
            }
        }
    }

    /// Returns the spaces that have receivers, and forgets the others; none if service ends.
    fn polled(&self) -> Vec<Space> {
        let mut versions = lock(&self.versions);
        let is_closing = self.closing.is_cancelled();
        versions.retain(|_, version| version.receiver_count() > 0 && !is_closing);
        versions.keys().cloned().collect()
    }
}

/// Returns the error for a call that did not finish before service ended.
pub(crate) fn cut_off() -> Error {
    Error::unavailable(
        "loci shuts down and did not finish this call in time; look at its outcome before trying again",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use loci_admission::usual_share;
    use loci_core::limits::CALLS_IN_FLIGHT_MAX;
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    fn host() -> Arc<Host> {
        let embedder = Arc::new(HashingEmbedder::new(8));
        let clock = Arc::new(FixedClock::default());
        Host::new(Arc::new(Engine::new(
            Arc::new(NaiveStore::new()),
            embedder,
            clock,
            SearchMode::Words,
        )))
    }

    /// The calls of one subject that work at a time.
    const OF_ONE: usize = usual_share(CALLS_IN_FLIGHT_MAX);

    fn user(name: &str) -> Subject {
        Subject::User(Space::default(), name.to_owned())
    }

    /// Runs work that waits for its slot; `None` stands for a subscription.
    async fn run<T: Send + 'static>(
        host: &Host,
        name: &str,
        kind: Option<CallKind>,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match kind {
            Some(kind) => host.call(&user(name), kind, work).await,
            None => host.watch(&user(name), work).await,
        }
    }

    #[tokio::test]
    async fn calls_of_one_subject_leave_room_for_others() {
        let kinds = [CallKind::Reads, CallKind::Writes, CallKind::Outside];
        for kind in kinds.map(Some).into_iter().chain([None]) {
            let host = host();
            let (release, held) = mpsc::channel::<()>();
            let held = Arc::new(Mutex::new(held));
            let greedy: Vec<_> = (0..5 * CALLS_IN_FLIGHT_MAX)
                .map(|_| {
                    let (host, held) = (Arc::clone(&host), Arc::clone(&held));
                    let work = move |_: &Engine| {
                        let _ = held.lock().unwrap().recv();
                        Ok(())
                    };
                    tokio::spawn(async move { run(&host, "greedy", kind, work).await })
                })
                .collect();
            let slots = kind.map_or(host.slots.for_subscriptions(), |kind| {
                host.slots.of_kind(kind)
            });
            while slots.free() > CALLS_IN_FLIGHT_MAX - OF_ONE {
                tokio::task::yield_now().await;
            }
            // Its other calls wait, and another subject's do not wait behind them.
            let other = run(&host, "other", kind, |_| Ok(()));
            let patience = Duration::from_secs(CALL_SECONDS_MAX);
            let other = tokio::time::timeout(patience, other).await;
            assert_eq!(other.expect("it waits for the greedy one"), Ok(()));
            assert!(greedy.iter().all(|call| !call.is_finished()));
            drop(release);
            for call in greedy {
                assert_eq!(call.await.unwrap(), Ok(()));
            }
        }
    }

    #[tokio::test]
    async fn calls_beyond_the_limit_wait_and_those_that_are_given_up_meanwhile_never_run() {
        for kind in [CallKind::Reads, CallKind::Writes] {
            calls_beyond_the_limit_wait(kind).await;
        }
    }

    async fn calls_beyond_the_limit_wait(kind: CallKind) {
        let (host, ran) = (host(), Arc::new(AtomicUsize::new(0)));
        let (release, held) = mpsc::channel::<()>();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let held = Arc::new(Mutex::new(held));
        let call = |host: &Arc<Host>| {
            let (host, ran, held, tell) = (
                Arc::clone(host),
                Arc::clone(&ran),
                Arc::clone(&held),
                tell.clone(),
            );
            tokio::spawn(async move {
                let work = move |_: &Engine| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    tell.send(()).unwrap();
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                };
                host.call(&user("ann"), kind, work).await
            })
        };
        let running: Vec<_> = (0..OF_ONE).map(|_| call(&host)).collect();
        for _ in 0..OF_ONE {
            told.recv().await.unwrap();
        }
        let (given_up, waiting) = (call(&host), call(&host));
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        // A call that started runs to its end, and keeps its permit until then.
        let mut running = running.into_iter();
        running.next().unwrap().abort();
        let slots = host.slots.of_kind(kind);
        assert_eq!(slots.free(), CALLS_IN_FLIGHT_MAX - OF_ONE);
        drop(release);
        for call in running.chain([waiting]) {
            call.await.unwrap().unwrap();
        }
        assert_eq!(ran.load(Ordering::SeqCst), OF_ONE + 1);
        while slots.free() < CALLS_IN_FLIGHT_MAX {
            tokio::task::yield_now().await;
        }
    }
}
