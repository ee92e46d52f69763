//! The background threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Result;

use crate::background::Background;
use crate::engine::Engine;
use crate::leases::rounds::{Lease, Rounds};
use crate::wakeup::{Wakeup, catch_panic};

/// The time that a shutdown waits for the rounds that run. With the drain of the server it stays
/// below two seconds.
const ROUND_END_TIMEOUT: Duration = Duration::from_millis(100);

/// The delay of work that other processes left, while a process starts.
pub const START_PAUSE: Duration = Duration::from_secs(1);

/// The pause between two looks for memories to examine, so that a minute is enough for a new one.
const EXAMINE_PAUSE: Duration = Duration::from_secs(5);

/// The pause after a look, in times of the look.
const PAUSES_PER_LOOK: u32 = 8;

/// The pause of a process that may not look which partitions have work, because another one does.
const LOOK_PAUSE: Duration = Duration::from_secs(15);

/// The longest pause between two rounds that tell other processes which model this one uses.
const MODEL_CLAIM_MAX: Duration = Duration::from_secs(150);

/// The threads that do an engine's background work, each kind of work in its own. Dropping them
/// waits for the rounds that run, up to a limit, so that dropping the engine afterwards closes the
/// store.
pub struct Workers {
    engine: Arc<Engine>,
    /// The pause between rounds that find nothing to do.
    interval: Duration,
    stopping: Arc<AtomicBool>,
    wakeups: Vec<Arc<Wakeup>>,
    ended: mpsc::Receiver<()>,
    /// Keeps `ended` open until the leases are released.
    ending: Option<mpsc::Sender<()>>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
        drop(self.ending.take());
        self.wakeups.iter().for_each(|wakeup| wakeup.ring());
        // A language model may think for long; other processes need not wait for the leases to
        // expire.
        self.engine.background().hand_back();
        // No thread ever sends: the channel closes when the last thread has ended.
        let _ = self.ended.recv_timeout(ROUND_END_TIMEOUT);
    }
}

impl Workers {
    /// Starts the threads that write the audit log, sweep, embed and enrich. They look for work
    /// every `interval`, and write the audit log `linger` after a call, or earlier if enough
    /// entries wait.
    pub fn start(engine: &Arc<Engine>, interval: Duration, linger: Duration) -> Self {
        let (ending, ended) = mpsc::channel();
        let mut workers = Workers {
            engine: Arc::clone(engine),
            interval,
            stopping: Arc::default(),
            wakeups: Vec::new(),
            ended,
            ending: Some(ending),
        };
        let noting = Arc::clone(engine);
        workers.spawn(
            "noting calls",
            engine.audit().wakeup(),
            interval,
            move || flush_audit(&noting, linger, interval),
        );
        let sweep = looking(
            engine,
            |rounds| &rounds.sweep_look,
            move |engine| {
                let begun = Instant::now();
                let removed = engine.background().sweep()?;
                Ok(if removed > 0 {
                    engine.background().pause_after(begun.elapsed())
                } else {
                    interval
                })
            },
        );
        workers.spawn("sweeping", &Arc::default(), interval, sweep);
        let claiming = Arc::clone(engine);
        let mut embed = looking(
            engine,
            |rounds| &rounds.embedding_look,
            move |engine| Ok(embed(engine)?.unwrap_or(interval.min(MODEL_CLAIM_MAX))),
        );
        // Starts soon, so that no other process takes this one's model for an unused one.
        let to_embed = engine.background().embed_wakeup();
        workers.spawn("embedding", to_embed, START_PAUSE, move || {
            claiming.models().claim()?;
            embed()
        });
        let examine = looking(
            engine,
            |rounds| &rounds.examination_look,
            move |engine| examine(engine, interval),
        );
        // After the first calls are answered.
        let to_examine = engine.background().examine_wakeup();
        workers.spawn("examination", to_examine, EXAMINE_PAUSE, examine);
        let enrich = looking(
            engine,
            |rounds| &rounds.enrichment_look,
            move |engine| {
                Ok(if engine.background().enrich()? {
                    Duration::ZERO
                } else {
                    engine.background().until_next_job(interval)
                })
            },
        );
        // Jobs that other processes left can wait until the first calls are answered.
        let to_enrich = engine.background().enrich_wakeup();
        workers.spawn("enrichment", to_enrich, START_PAUSE, enrich);
        workers.spawn_consolidation(engine);
        workers
    }

    /// Starts the thread that consolidates, if the installation wants it.
    fn spawn_consolidation(&mut self, engine: &Arc<Engine>) {
        let interval = self.interval;
        if engine.policy().consolidate_seconds == 0 {
            return;
        }
        let consolidate = looking(
            engine,
            |rounds| &rounds.consolidation_look,
            move |engine| consolidate(engine, interval),
        );
        self.spawn("consolidation", &Arc::default(), interval, consolidate);
    }

    /// Starts a thread that runs rounds of work until the end, the first one after `wait`. A round
    /// returns the time to wait for the next one, unless the wakeup rings. A round that fails or
    /// panics is logged, and tried again after the interval.
    pub fn spawn(
        &mut self,
        work: &'static str,
        wakeup: &Arc<Wakeup>,
        wait: Duration,
        round: impl FnMut() -> Result<Duration> + Send + 'static,
    ) {
        let Some(ending) = self.ending.clone() else {
            return;
        };
        self.wakeups.push(Arc::clone(wakeup));
        let worker = Worker {
            work,
            wakeup: Arc::clone(wakeup),
            stopping: Arc::clone(&self.stopping),
            interval: self.interval,
            is_failing: false,
            _ending: ending,
        };
        if let Err(error) = thread::Builder::new()
            .name(work.to_owned())
            .spawn(move || worker.run(wait, round))
        {
            tracing::warn!(%error, "there is no thread for {work}, which does not happen in this process");
        }
    }

    /// Starts no further round.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
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
            engine.background().end_rounds();
            // In this order, because the owner closes the store once `ending` is dropped.
            drop(engine);
            drop(ending);
        };
        // Without a thread, dropping `self` does this.
        let _ = thread::Builder::new().name("ending".to_owned()).spawn(end);
    }
}

/// Returns rounds of work in any partition. One engine at a time looks where there is some, for which
/// `look` is the lease. A ring is for work of this engine, which then looks without the lease, e.g. for a
/// text that it just stored, and goes on as long as no round pauses.
fn looking<F: FnMut(&Engine) -> Result<Duration>>(
    engine: &Arc<Engine>,
    look: fn(&Rounds) -> &Lease,
    mut round: F,
) -> impl FnMut() -> Result<Duration> + use<F> {
    let engine = Arc::clone(engine);
    let (mut due, mut goes_on) = (Instant::now(), false);
    move || {
        let is_own = goes_on || Instant::now() < due;
        let pause = if is_own || engine.leases().may_look(look(&engine.rounds))? {
            round(&engine)?
        } else {
            LOOK_PAUSE
        };
        goes_on = pause.is_zero();
        due = Instant::now() + pause;
        Ok(pause)
    }
}

/// Runs a step of the examination; returns the pause after it.
fn examine(engine: &Engine, interval: Duration) -> Result<Duration> {
    let begun = Instant::now();
    let may_go_on = engine.examine()? > 0;
    let pause = engine.background().pause_after(begun.elapsed());
    if may_go_on {
        return Ok(pause);
    }
    let looked = begun.elapsed();
    engine.examine_files()?;
    // A look at a million spaces takes seconds, and shall take a small part of the time.
    Ok(interval.min(EXAMINE_PAUSE).max(looked * PAUSES_PER_LOOK))
}

/// Runs a step of the consolidation; returns the pause after it.
fn consolidate(engine: &Engine, interval: Duration) -> Result<Duration> {
    let begun = Instant::now();
    Ok(if engine.consolidate_some()? {
        engine.background().pause_after(begun.elapsed())
    } else {
        interval
    })
}

/// Runs a round of work on embeddings; returns the pause after it, if there may be more to do.
fn embed(engine: &Engine) -> Result<Option<Duration>> {
    let begun = Instant::now();
    let tended = engine.models().retire_unused_models()?;
    let pause = engine.background().pause_after(begun.elapsed());
    Ok(if engine.background().embed_pending()? > 0 {
        Some(Duration::ZERO)
    } else {
        (tended > 0).then_some(pause)
    })
}

fn flush_audit(engine: &Engine, linger: Duration, interval: Duration) -> Result<Duration> {
    // More entries will come. The wakeup rings again when enough entries wait.
    if engine.audit().buffered() > 0 {
        engine.audit().wakeup().wait(linger);
    }
    engine.audit().flush()?;
    // The wakeup did not ring for entries that came before it ran, because they were not the first.
    Ok(if engine.audit().buffered() > 0 {
        Duration::ZERO
    } else {
        interval
    })
}

impl Background<'_> {
    /// Returns the pause after a round on the store that took this long.
    fn pause_after(&self, round: Duration) -> Duration {
        self.store.background_pause(round)
    }

    /// Returns the time until the next job. Jobs may also come in or become due in other processes.
    fn until_next_job(&self, interval: Duration) -> Duration {
        const DAY_SECONDS: f64 = 86_400.0;
        let now = self.clock.now();
        let next = self.store.next_job_at(now).ok().flatten();
        let seconds = next.map_or(f64::INFINITY, |next| DAY_SECONDS * next.days_since(now));
        // At least a second, because a job of another process may be due only by its lease.
        Duration::from_secs_f64(seconds.clamp(1.0, interval.as_secs_f64().max(1.0)))
    }
}

/// The thread for one kind of work.
struct Worker {
    work: &'static str,
    /// Rings when there is something to do, and at the end.
    wakeup: Arc<Wakeup>,
    stopping: Arc<AtomicBool>,
    interval: Duration,
    is_failing: bool,
    _ending: mpsc::Sender<()>,
}

impl Worker {
    /// Runs rounds until the end, the first one after `wait`. Each returns the time to wait for the
    /// next one, unless the wakeup rings.
    fn run(mut self, mut wait: Duration, mut round: impl FnMut() -> Result<Duration>) {
        // A round may have consumed the ring of the end.
        while !self.is_stopping() {
            self.wakeup.wait(wait);
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

    /// Logs a failure when it starts and when it ends, not at every round.
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
        let (wakeup, stopping) = (Arc::default(), Arc::<AtomicBool>::default());
        let worker = Worker {
            work: "test",
            wakeup,
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
}
