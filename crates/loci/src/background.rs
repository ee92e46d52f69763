//! The background threads: writing the audit log and access counts, sweeping, embedding,
//! enrichment, reading the rest of transcripts, and reading the notes that people changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{JobStore, Result};
use loci_engine::{Engine, Wakeup, catch_panic};
use loci_vault::{FolderWatch, Watched};

use crate::settings::Settings;
use crate::wiring::Parts;
use loci_filing::conversation;

/// The time that a shutdown waits for the rounds that run. With the drain of the server it stays
/// below two seconds.
const ROUND_END_TIMEOUT: Duration = Duration::from_millis(100);

/// The delay of work that other processes left, while a process starts.
const START_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two rounds that tell other processes which model this one uses.
const MODEL_CLAIM_MAX: Duration = Duration::from_secs(150);

/// The shortest pause between two rounds of sweeping, so that other processes can write.
const SWEEP_PAUSE_MIN: Duration = Duration::from_millis(10);

/// The background work. Dropping it waits for the rounds that run, up to a limit, so that dropping
/// the engine afterwards closes the store.
pub struct Background {
    engine: Arc<Engine>,
    stopping: Arc<AtomicBool>,
    bells: Vec<Arc<Wakeup>>,
    ended: mpsc::Receiver<()>,
    /// Keeps `ended` open until the leases are given back.
    ending: Option<mpsc::Sender<()>>,
    /// Rings when a note may have changed; `None` if nothing is watched.
    watch: Option<Arc<FolderWatch>>,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        drop(self.watch.take());
        drop(self.ending.take());
        self.bells.iter().for_each(|bell| bell.ring());
        // A language model may think for long; other processes need not wait for the leases to
        // expire.
        self.engine.hand_back();
        // No thread ever sends: the channel closes when the last thread has ended.
        let _ = self.ended.recv_timeout(ROUND_END_TIMEOUT);
    }
}

impl Background {
    /// Starts the threads.
    pub fn start(parts: &Parts, settings: &Settings) -> Self {
        let (ending, ended) = mpsc::channel();
        let engine = Arc::clone(&parts.engine);
        let (stopping, bells) = (Arc::default(), Vec::new());
        let mut background = Background {
            engine,
            stopping,
            bells,
            ended,
            ending: None,
            watch: None,
        };
        let (interval, flush) = (settings.maintenance, settings.flush);
        let mut worker = |work, bell: &Arc<Wakeup>| {
            background.bells.push(Arc::clone(bell));
            let (bell, stopping) = (Arc::clone(bell), Arc::clone(&background.stopping));
            Worker {
                work,
                bell,
                stopping,
                interval,
                is_failing: false,
                _ending: ending.clone(),
            }
        };
        let [noting, sweeping, embedding, enriching, reading, reconciling] =
            std::array::from_fn(|_| Arc::clone(&parts.engine));
        let store = Arc::clone(&parts.store);

        worker("noting calls", parts.engine.audit_wakeup())
            .spawn(interval, move || flush_audit(&noting, flush, interval));
        worker("sweeping", &Arc::default()).spawn(interval, move || {
            let begun = Instant::now();
            Ok(if sweeping.sweep()? > 0 {
                sweep_pause(begun.elapsed())
            } else {
                interval
            })
        });
        // Starts soon, so that no other process takes this one's model for an unused one.
        worker("embedding", parts.engine.embed_wakeup()).spawn(START_PAUSE, move || {
            Ok(embed(&embedding)?.unwrap_or(interval.min(MODEL_CLAIM_MAX)))
        });
        // Jobs that other processes left can wait until the first calls are answered.
        worker("enrichment", parts.engine.enrich_wakeup()).spawn(START_PAUSE, move || {
            Ok(if enriching.enrich()? {
                Duration::ZERO
            } else {
                until_next_job(&enriching, &*store, interval)
            })
        });
        worker("reading transcripts", &Arc::default()).spawn(START_PAUSE, move || {
            Ok(if conversation::read_on(&reading)? > 0 {
                Duration::ZERO
            } else {
                interval
            })
        });
        if let Some(changed) = parts.engine.to_reconcile() {
            let looks = Arc::<AtomicBool>::default();
            parts.engine.begin_notes();
            let watch = watch(parts, &looks, Arc::clone(changed)).map(Arc::new);
            worker("reading notes", changed).spawn(interval, {
                let watch = watch.as_ref().map_or_else(Weak::new, Arc::downgrade);
                move || {
                    // One process watches the notes, and reads them for all.
                    if !looks.load(Ordering::SeqCst) {
                        reconciling.notes_kept_by_another();
                    } else if let Err(error) = reconciling.reconcile() {
                        // Another process may be able to, such as a newer loci that has upgraded
                        // the database.
                        watch.upgrade().inspect(|watch| watch.give_up());
                        return Err(error);
                    }
                    Ok(interval)
                }
            });
            background.watch = watch;
        }
        background.ending = Some(ending);
        background
    }

    /// Ends the work under leases in a thread of its own, when the process was asked to end: the
    /// last calls may take most of the time of the shutdown, and other processes need not wait for
    /// the leases.
    pub fn end_rounds(&mut self) {
        let Some(ending) = self.ending.take() else {
            return;
        };
        let engine = Arc::clone(&self.engine);
        let end = move || {
            engine.end_rounds();
            // In this order, since the owner closes the store once `ending` is dropped.
            drop(engine);
            drop(ending);
        };
        // Without a thread, dropping `self` does this.
        let _ = thread::Builder::new().name("ending".to_owned()).spawn(end);
    }
}

/// Runs a round of work on embeddings; returns the pause after it, if there may be more to do.
fn embed(engine: &Engine) -> Result<Option<Duration>> {
    let begun = Instant::now();
    let tended = engine.retire_unused_models()?;
    let pause = sweep_pause(begun.elapsed());
    Ok(if engine.embed_pending()? > 0 {
        Some(Duration::ZERO)
    } else {
        (tended > 0).then_some(pause)
    })
}

/// Watches the notes, or waits until no other process does. `looks` becomes true if this process is
/// to read them.
fn watch(parts: &Parts, looks: &Arc<AtomicBool>, changed: Arc<Wakeup>) -> Option<FolderWatch> {
    let report = {
        let (looks, changed) = (Arc::clone(looks), Arc::clone(&changed));
        move |watched| {
            looks.store(watched == Watched::Changed, Ordering::SeqCst);
            changed.ring();
        }
    };
    let vault = &parts.vault;
    let watch = FolderWatch::start(vault.folder.clone(), vault.watch_lock.clone(), report);
    let without = |error: &std::io::Error| {
        tracing::warn!(%error, "the notes cannot be watched: what people change is seen at every interval of maintenance");
        looks.store(true, Ordering::SeqCst);
        changed.ring();
    };
    watch.inspect_err(without).ok()
}

fn flush_audit(engine: &Engine, linger: Duration, interval: Duration) -> Result<Duration> {
    // More entries will come. The wakeup rings again when enough of them wait.
    if engine.buffered() > 0 {
        engine.audit_wakeup().wait(linger);
    }
    engine.flush()?;
    // The wakeup did not ring for entries that came meanwhile, since they were not the first.
    Ok(if engine.buffered() > 0 {
        Duration::ZERO
    } else {
        interval
    })
}

/// Returns the pause after a round of sweeping that took this long: three quarters of the time
/// belong to the processes that wait for the lock of the store. They look for it only every 100 ms,
/// so that they would seldom meet shorter gaps.
fn sweep_pause(round: Duration) -> Duration {
    SWEEP_PAUSE_MIN.max(3 * round)
}

/// Returns the time until the next job. Jobs may also come in or become due in other processes.
fn until_next_job(engine: &Engine, store: &dyn JobStore, interval: Duration) -> Duration {
    let now = engine.now();
    let next = store
        .next_job_at(now)
        .ok()
        .flatten()
        .map_or(f64::INFINITY, |next| {
            const DAY_SECONDS: f64 = 86_400.0;
            DAY_SECONDS * next.days_since(now)
        });
    // At least a second, since a job of another process may be due only by its lease.
    Duration::from_secs_f64(next.clamp(1.0, interval.as_secs_f64().max(1.0)))
}

/// The thread for one kind of work.
struct Worker {
    work: &'static str,
    /// Rings when there is something to do, and at the end.
    bell: Arc<Wakeup>,
    stopping: Arc<AtomicBool>,
    interval: Duration,
    is_failing: bool,
    _ending: mpsc::Sender<()>,
}

impl Worker {
    fn spawn(self, wait: Duration, round: impl FnMut() -> Result<Duration> + Send + 'static) {
        let work = self.work;
        if let Err(error) = thread::Builder::new()
            .name(work.to_owned())
            .spawn(move || self.run(wait, round))
        {
            tracing::warn!(%error, "there is no thread for {work}, which does not happen in this process");
        }
    }

    /// Runs rounds until the end, the first one after `wait`. Each returns the time to wait for the
    /// next one, unless the bell rings.
    fn run(mut self, mut wait: Duration, mut round: impl FnMut() -> Result<Duration>) {
        // A round may have consumed the ring of the end.
        while !self.is_stopping() {
            self.bell.wait(wait);
            if self.is_stopping() {
                break;
            }
            let outcome = catch_panic(&mut round);
            // A round that failed is tried again after the interval.
            wait = *outcome.as_ref().unwrap_or(&self.interval);
            self.report(outcome);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Logs a failure when it begins and when it ends, not at every round.
    fn report<T>(&mut self, outcome: Result<T>) {
        let work = self.work;
        match outcome {
            Ok(_) if self.is_failing => {
                self.is_failing = false;
                tracing::info!("{work} goes on again");
            }
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                tracing::warn!(%error, "{work} fails; it is tried again at every interval");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use loci_core::Error;

    use super::*;

    fn worker() -> (Worker, Arc<AtomicBool>) {
        let (bell, stopping) = (Arc::default(), Arc::<AtomicBool>::default());
        let worker = Worker {
            work: "test",
            bell,
            stopping: stopping.clone(),
            interval: Duration::ZERO,
            is_failing: false,
            _ending: mpsc::channel().0,
        };
        (worker, stopping)
    }

    #[test]
    fn rounds_go_on_after_panics_and_errors() {
        let (worker, stopping) = worker();
        let mut rounds = 0;
        worker.run(Duration::ZERO, || {
            rounds += 1;
            match rounds {
                1 => panic!("a test"),
                2 => Err(Error::unavailable("a test")),
                3 => Ok(Duration::ZERO),
                _ => {
                    stopping.store(true, Ordering::SeqCst);
                    Ok(Duration::MAX)
                }
            }
        });
        assert_eq!(rounds, 4);
    }

    #[test]
    fn an_end_begins_no_round() {
        let (worker, stopping) = worker();
        stopping.store(true, Ordering::SeqCst);
        let mut rounds = 0;
        worker.run(Duration::ZERO, || {
            rounds += 1;
            Ok(Duration::ZERO)
        });
        assert_eq!(rounds, 0);
    }

    #[test]
    fn sweeping_leaves_most_of_the_time_to_others() {
        for (round, pause) in [(0, 10), (3, 10), (4, 12), (100, 300)] {
            assert_eq!(
                sweep_pause(Duration::from_millis(round)),
                Duration::from_millis(pause)
            );
        }
    }
}
