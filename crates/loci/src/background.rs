//! The threads beside the calls: one writes what was noted, sweeps and embeds, one enriches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Error, JobStore};
use loci_engine::Engine;
use loci_store_sqlite::SqliteStore;

use crate::settings::Settings;
use crate::wiring::Parts;

/// How long an end waits for the round that runs. Together with the drain of the server this
/// stays below two seconds.
const ROUND_END_TIMEOUT: Duration = Duration::from_millis(100);

/// How long leftovers wait for the start of a process to be over.
const START_PAUSE: Duration = Duration::from_secs(1);

/// Background work. When this is dropped, the rounds that run are waited for, within limits, so
/// that whoever drops the engine next closes the store.
pub struct Background {
    engine: Arc<Engine>,
    stopping: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.engine.to_write().ring();
        self.engine.to_enrich().ring();
        // Nothing is ever sent: the channel closes when the last thread has ended.
        let _ = self.ended.recv_timeout(ROUND_END_TIMEOUT);
    }
}

impl Background {
    /// Starts the threads.
    pub fn start(parts: &Parts, settings: &Settings) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let (ending, ended) = mpsc::channel();
        let of_thread = || Worker {
            engine: Arc::clone(&parts.engine),
            stopping: Arc::clone(&stopping),
            interval: settings.maintenance,
            is_failing: false,
            _ending: ending.clone(),
        };
        let (keeper, enricher) = (of_thread(), of_thread());
        let (flush, store) = (settings.flush, Arc::clone(&parts.store));
        spawn("maintenance", move || keeper.keep(flush));
        spawn("enrichment", move || enricher.enrich(store));
        Background { engine: Arc::clone(&parts.engine), stopping, ended }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(work) {
        tracing::warn!(%error, "there is no thread for {name}, which does not happen in this process");
    }
}

struct Worker {
    engine: Arc<Engine>,
    stopping: Arc<AtomicBool>,
    interval: Duration,
    is_failing: bool,
    _ending: mpsc::Sender<()>,
}

impl Worker {
    /// Writes what was noted soon after it was, and runs a round of [`Engine::maintain`] at every
    /// interval, first after one, and another at once while there is something to do.
    fn keep(mut self, flush: Duration) {
        let mut next_round = Instant::now() + self.interval;
        while !self.is_stopping() {
            if self.engine.to_write().wait(next_round.saturating_duration_since(Instant::now())) {
                // Others will come. The bell rings again when enough of them wait.
                if !self.is_stopping() {
                    self.engine.to_write().wait(flush);
                }
                let flushed = self.engine.flush();
                self.report("noting calls", flushed);
            }
            if !self.is_stopping() && Instant::now() >= next_round {
                let maintained = self.engine.maintain();
                let did_something = maintained.as_ref().is_ok_and(|done| done.swept + done.embedded > 0);
                self.report("maintenance", maintained);
                next_round = Instant::now() + if did_something { Duration::ZERO } else { self.interval };
            }
        }
    }

    /// Does jobs as they come in or come due, in this process or another.
    fn enrich(mut self, store: Arc<SqliteStore>) {
        // What other processes left can wait until the first calls are answered.
        self.engine.to_enrich().wait(START_PAUSE);
        while !self.is_stopping() {
            let settled = self.engine.enrich();
            // After a failure not before the next interval: what failed is away for a while.
            let wait = match &settled {
                Ok(0) => self.until_next_job(&store),
                Ok(_) => Duration::ZERO,
                Err(_) => self.interval,
            };
            self.report("enrichment", settled);
            if !wait.is_zero() {
                self.engine.to_enrich().wait(wait);
            }
        }
    }

    fn until_next_job(&self, store: &SqliteStore) -> Duration {
        let next = store.next_job_at().ok().flatten().map_or(f64::INFINITY, |next| {
            const DAY_SECONDS: f64 = 86_400.0;
            DAY_SECONDS * next.days_since(self.engine.now())
        });
        // At least a moment: a job that another process holds may be due by its lease alone.
        Duration::from_secs_f64(next.clamp(1.0, self.interval.as_secs_f64().max(1.0)))
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// A state is logged when it begins, not at every round that it lasts.
    fn report<T>(&mut self, what: &str, outcome: Result<T, Error>) {
        match outcome {
            Ok(_) if self.is_failing => {
                self.is_failing = false;
                tracing::info!("{what} goes on again");
            }
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                tracing::warn!(%error, "{what} fails; it is tried again at every interval");
            }
            _ => {}
        }
    }
}
