//! When background work has something to do, and what it remembers from round to round.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{Error, Job, MemoryId, ModelId, Result, Space, Timestamp, limits};
use uuid::Uuid;

use crate::Engine;
use crate::sweep_clock::ClockReading;

/// Seconds that a lease on a kind of background work lasts if the process that has it ends. Half of
/// it is more than the longest wait for an embedding model.
const LEASE_SECONDS: i64 = 120;
/// Seconds that a model counts as used after a process that used it ended without a word. Long, so
/// that keeping it alive costs a write every few minutes.
const USE_SECONDS: i64 = 600;
/// Memories that are remembered at most because searches lacked their vectors: a few searches.
const WANTED_MAX: usize = 256;
const _: () =
    assert!(LEASE_SECONDS < limits::LEASE_SECONDS_MAX && USE_SECONDS < limits::LEASE_SECONDS_MAX);

/// Wakes the thread that waits for it; a ring while no thread waits counts for the next wait.
#[derive(Debug, Default)]
pub struct Wakeup {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Wakeup {
    /// Wakes the waiting thread.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }

    /// Waits for a ring, at most that long; says whether there was one.
    pub fn wait(&self, timeout: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ringing
            .wait_timeout_while(rung, timeout, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}

/// Does work of the background. The message of a panic may quote contents, and goes no further than
/// the panic hook.
///
/// # Errors
/// Those of the work; `internal` if it panics.
pub fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing is half changed: locks are taken over from the thread that panicked, and the data
    // that they guard is valid at every line; the store makes all of a change or none.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Error::internal("the work panicked; please report this")))
}

/// A lease on a kind of background work, kept from round to round while there is work. One thread
/// of an engine does that work.
#[derive(Debug)]
pub(crate) struct Lease {
    name: String,
    /// How long it lasts.
    seconds: i64,
    /// When it runs out; none while this engine does not have it.
    until: Mutex<Option<Timestamp>>,
}

impl Lease {
    fn of(name: impl Into<String>, seconds: i64) -> Self {
        Lease {
            name: name.into(),
            seconds,
            until: Mutex::new(None),
        }
    }

    fn until(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this engine took it and has not given it back; it may have run out.
    pub(crate) fn is_held(&self) -> bool {
        self.until().is_some()
    }
}

/// The state of a model between the rounds of one engine.
#[derive(Debug)]
pub(crate) struct ModelRounds {
    /// Says to other engines that this or another one uses the model, so that they leave its
    /// vectors alone. The engine that removes these holds it meanwhile.
    pub(crate) in_use: Lease,
    /// On embedding what waits for the model.
    pub(crate) embedding: Lease,
    /// The memories without embedding that the next round passes over, because the model refused
    /// them.
    pub(crate) refused: Mutex<BTreeSet<TextName>>,
    /// The memories that the next rounds embed before all others.
    pub(crate) wanted: Wanted,
    /// How many rounds there were.
    pub(crate) count: AtomicUsize,
    /// How many the model refused when all others had been embedded: it will never have read these.
    pub(crate) unreadable: AtomicUsize,
    /// The number of components that the stored vectors were compared with; 0 before.
    pub(crate) dimensions: AtomicUsize,
    /// Whether some have another one, so that all of them are to go.
    pub(crate) is_outdated: AtomicBool,
}

impl ModelRounds {
    fn of(model: &ModelId) -> Self {
        ModelRounds {
            in_use: Lease::of(format!("model {model}"), USE_SECONDS),
            embedding: Lease::of(format!("embed {model}"), LEASE_SECONDS),
            refused: Mutex::default(),
            wanted: Wanted::default(),
            count: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
            dimensions: AtomicUsize::new(0),
            is_outdated: AtomicBool::new(false),
        }
    }

    /// The memories that were refused, which count as not refused from now on.
    pub(crate) fn take_refused(&self) -> BTreeSet<TextName> {
        std::mem::take(&mut self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has the next round pass over these.
    pub(crate) fn pass_over(&self, refused: BTreeSet<TextName>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }
}

/// A memory, as the queue of texts that wait for a vector names it.
pub(crate) type TextName = (Space, MemoryId);

/// The memories that searches of this process had as candidates without a vector: those of the last
/// search first, each search's best first. Of more than [`WANTED_MAX`] the last ones wait like all
/// others.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Mutex<VecDeque<TextName>>);

impl Wanted {
    /// Puts these before the others, in their order.
    pub(crate) fn put(&self, texts: impl IntoIterator<Item = TextName>) {
        let mut wanted: VecDeque<TextName> = texts.into_iter().take(WANTED_MAX).collect();
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new: HashSet<&TextName> = wanted.iter().collect();
        before.retain(|text| !new.contains(text));
        wanted.append(&mut before);
        wanted.truncate(WANTED_MAX);
        *before = wanted;
    }

    /// Takes so many away, the first ones.
    pub(crate) fn take(&self, count: usize) -> Vec<TextName> {
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = count.min(wanted.len());
        wanted.drain(..count).collect()
    }
}

/// The state between the rounds of one engine.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Names this engine among all that work on the store.
    holder: String,
    /// On sweeping.
    pub(crate) sweeping: Lease,
    /// The state of the clock in the last round of sweeping.
    pub(crate) clock_look: Mutex<Option<ClockReading>>,
    models: Mutex<HashMap<ModelId, Arc<ModelRounds>>>,
    /// Whether the enricher failed the last time.
    pub(crate) is_enricher_failing: AtomicBool,
    /// Until when the enricher is not asked, in microseconds since 1970.
    pub(crate) enricher_pauses_until: AtomicI64,
    /// The job under way.
    pub(crate) job: Mutex<Option<Job>>,
    /// Whether no lease is taken any more.
    pub(crate) is_ending: AtomicBool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds {
            holder: Uuid::now_v7().to_string(),
            sweeping: Lease::of("sweep", LEASE_SECONDS),
            clock_look: Mutex::new(None),
            models: Mutex::default(),
            is_enricher_failing: AtomicBool::new(false),
            enricher_pauses_until: AtomicI64::new(i64::MIN),
            job: Mutex::new(None),
            is_ending: AtomicBool::new(false),
        }
    }
}

impl Rounds {
    /// Returns the state of this model.
    pub(crate) fn of(&self, model: &ModelId) -> Arc<ModelRounds> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let of_model = models
            .entry(model.clone())
            .or_insert_with_key(|model| Arc::new(ModelRounds::of(model)));
        Arc::clone(of_model)
    }

    fn of_all_models(&self) -> Vec<Arc<ModelRounds>> {
        self.models
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }
}

impl Engine {
    /// Does a round of work that one engine at a time should do; nothing if another one has the
    /// lease. After a round that did something, the lease is kept for the next one.
    ///
    /// # Errors
    /// Those of the work; `unavailable` if the store cannot be written.
    pub(crate) fn under_lease(
        &self,
        lease: &Lease,
        work: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        if !self.hold(lease)? {
            return Ok(0);
        }
        match work() {
            Ok(done) if done > 0 => Ok(done),
            ended => {
                let given_back = self.give_back(lease);
                ended.and_then(|done| given_back.map(|()| done))
            }
        }
    }

    /// Takes a lease, or makes sure that at least half of its time is left; says whether this
    /// engine has it. Mostly without a write. Where the clock was put back meanwhile, others may
    /// have it: it is taken again. An engine that ends takes none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(crate) fn hold(&self, lease: &Lease) -> Result<bool> {
        let mut until = lease.until();
        // Read under the lock, so that the thread that gives all leases back after setting it
        // misses none.
        if self.rounds.is_ending.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let now = self.now();
        let next = now.plus_seconds(lease.seconds);
        if until.is_some_and(|until| until >= now.plus_seconds(lease.seconds / 2) && until <= next)
        {
            return Ok(true);
        }
        let is_held = self
            .store
            .lease(&lease.name, &self.rounds.holder, now, next)?;
        *until = is_held.then_some(next);
        Ok(is_held)
    }

    pub(crate) fn give_back(&self, lease: &Lease) -> Result<()> {
        let mut until = lease.until();
        // Under the lock, so that who is told of an end by it comes after this.
        if until.take().is_some() {
            let now = self.now();
            self.store
                .lease(&lease.name, &self.rounds.holder, now, now)?;
        }
        Ok(())
    }

    /// Gives back the leases on sweeping and embedding, as far as that succeeds: the others run out
    /// some time.
    pub(crate) fn give_back_work(&self) {
        let models = self.rounds.of_all_models();
        let embedding = models.iter().map(|model| &model.embedding);
        for lease in std::iter::once(&self.rounds.sweeping).chain(embedding) {
            let _ = self.give_back(lease);
        }
    }

    /// The same for the use of models.
    pub(crate) fn give_up_models(&self) {
        for model in self.rounds.of_all_models() {
            let _ = self.give_back(&model.in_use);
        }
    }
}
