//! The state of an engine's background work from round to round.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Job, MemoryId, ModelId, Partition, Space, Timestamp, limits};
use uuid::Uuid;

use crate::background::files_look::FilesLook;
use crate::background::sweep_clock::ClockReading;
use crate::consolidation::progress::Turn;

/// Seconds for which a lease on background work lasts if its holder ends. Half of that is more than
/// the longest wait for an embedding model.
const LEASE_SECONDS: i64 = 120;
/// The seconds of the lease for examination. A step takes a fraction of a second, and what a process
/// that was killed had started must go on in another one well within a minute.
const EXAMINATION_LEASE_SECONDS: i64 = 10;
/// The seconds of the leases for looks which partitions have work. If their holder ends without
/// releasing them, another process finds that work after this time.
const LOOK_LEASE_SECONDS: i64 = 30;
/// Seconds for which a model counts as used after a process that used it ended without releasing
/// it. Long, so that a renewal costs one write every few minutes.
const USE_SECONDS: i64 = 600;
/// The most memories that are remembered because searches lacked their vectors: a few searches.
const WANTED_MAX: usize = 256;
const _: () =
    assert!(LEASE_SECONDS < limits::LEASE_SECONDS_MAX && USE_SECONDS < limits::LEASE_SECONDS_MAX);

/// A lease on a kind of background work in one partition at a time, kept from round to round while
/// there is work. One thread of an engine does that work.
#[derive(Debug)]
pub(crate) struct Lease {
    kind: String,
    /// The duration in seconds.
    pub(super) seconds: i64,
    state: Mutex<LeaseState>,
}

#[derive(Debug, Default)]
pub(super) struct LeaseState {
    /// The partition of the last round.
    pub(super) partition: Option<Partition>,
    /// The time at which the lease on it expires; `None` while this engine does not hold it.
    pub(super) until: Option<Timestamp>,
}

impl Lease {
    fn of(kind: impl Into<String>, seconds: i64) -> Self {
        Lease {
            kind: kind.into(),
            seconds,
            state: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the lease on a partition.
    pub(super) fn name(&self, partition: &Partition) -> String {
        match partition {
            Partition::Whole => self.kind.clone(),
            Partition::Space(space) => format!("{} in {space}", self.kind),
        }
    }

    /// Returns the partition of the last round.
    pub(super) fn last(&self) -> Option<Partition> {
        self.state().partition.clone()
    }

    /// Returns true if this engine took it on the partition and has not released it; it may have
    /// expired.
    pub(crate) fn is_held(&self, partition: &Partition) -> bool {
        let state = self.state();
        state.until.is_some() && state.partition.as_ref() == Some(partition)
    }
}

/// The state of one engine's rounds for one model.
#[derive(Debug)]
pub(crate) struct ModelRounds {
    /// Tells other engines that the model is in use, so that they keep its vectors. An engine that
    /// removes these holds it while it does.
    pub(crate) in_use: Lease,
    /// The lease for embedding the memories that wait for the model.
    pub(crate) embedding: Lease,
    /// Memories that the next rounds embed before all others.
    pub(crate) wanted: EmbeddingPriorities,
    /// The number of rounds.
    pub(crate) count: AtomicUsize,
    partitions: Mutex<HashMap<Partition, Arc<PartitionRounds>>>,
}

/// The state of one engine's rounds for one model in one partition.
#[derive(Debug, Default)]
pub(crate) struct PartitionRounds {
    /// Memories without embedding that the next round skips, because the model refused them.
    refused: Mutex<BTreeSet<TextName>>,
    /// The number of memories that the model refused after all others had been embedded; it will
    /// never embed these.
    pub(crate) unreadable: AtomicUsize,
    /// The number of components with which the stored vectors were compared; 0 before.
    pub(crate) dimensions: AtomicUsize,
    /// True if some vectors have another number, so that all must be removed.
    pub(crate) is_outdated: AtomicBool,
}

impl ModelRounds {
    fn of(model: &ModelId) -> Self {
        ModelRounds {
            in_use: Lease::of(format!("model {model}"), USE_SECONDS),
            embedding: Lease::of(format!("embed {model}"), LEASE_SECONDS),
            wanted: EmbeddingPriorities::default(),
            count: AtomicUsize::new(0),
            partitions: Mutex::default(),
        }
    }

    fn partitions(&self) -> MutexGuard<'_, HashMap<Partition, Arc<PartitionRounds>>> {
        self.partitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state for this partition.
    pub(crate) fn within(&self, partition: &Partition) -> Arc<PartitionRounds> {
        Arc::clone(self.partitions().entry(partition.clone()).or_default())
    }

    /// Forgets what the model refused, because no memory waits for it.
    pub(crate) fn complete(&self) {
        for of_partition in self.partitions().values() {
            of_partition.take_refused();
            of_partition.unreadable.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the number of memories in all partitions that the model will never embed.
    pub(crate) fn unreadable(&self) -> usize {
        let partitions = self.partitions();
        let counts = partitions
            .values()
            .map(|rounds| rounds.unreadable.load(Ordering::Relaxed));
        counts.sum()
    }

    /// Returns the partitions whose vectors of the model must be removed.
    pub(crate) fn outdated(&self) -> Vec<Partition> {
        let partitions = self.partitions();
        let outdated = partitions
            .iter()
            .filter(|(_, rounds)| rounds.is_outdated.load(Ordering::Relaxed));
        outdated.map(|(partition, _)| partition.clone()).collect()
    }
}

impl PartitionRounds {
    /// Returns the refused memories and clears the set.
    pub(crate) fn take_refused(&self) -> BTreeSet<TextName> {
        std::mem::take(&mut self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the next round skip these.
    pub(crate) fn pass_over(&self, refused: BTreeSet<TextName>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }
}

/// The key of a memory in the queue for embedding.
pub(crate) type TextName = (Space, MemoryId);

/// The memories that searches of this process had as candidates without a vector: the last search's
/// first, best first within each search. Memories beyond [`WANTED_MAX`] wait like all others.
#[derive(Debug, Default)]
pub(crate) struct EmbeddingPriorities(Mutex<VecDeque<TextName>>);

impl EmbeddingPriorities {
    /// Puts these before the others, in order.
    pub(crate) fn put(&self, texts: impl IntoIterator<Item = TextName>) {
        let mut wanted: VecDeque<TextName> = texts.into_iter().take(WANTED_MAX).collect();
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new: HashSet<&TextName> = wanted.iter().collect();
        before.retain(|text| !new.contains(text));
        wanted.append(&mut before);
        wanted.truncate(WANTED_MAX);
        *before = wanted;
    }

    /// Removes and returns the first `count` of the partition.
    pub(crate) fn take(&self, partition: &Partition, count: usize) -> Vec<TextName> {
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        wanted.retain(|text| {
            let is_taken = taken.len() < count && partition.contains(&text.0);
            taken.extend(is_taken.then(|| text.clone()));
            !is_taken
        });
        taken
    }
}

/// The state of one engine's rounds.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The name of this engine among all that work on the store.
    pub(super) holder: String,
    /// The lease for sweeping.
    pub(crate) sweeping: Lease,
    /// The lease for the examination of memories for what people should decide.
    pub(crate) examining: Lease,
    /// The lease for consolidation.
    pub(crate) consolidating: Lease,
    /// The pass of the consolidation that is under way in this engine.
    pub(crate) consolidation: Mutex<Option<Turn>>,
    /// The leases for the looks which partitions have such work.
    pub(crate) sweep_look: Lease,
    pub(crate) embedding_look: Lease,
    pub(crate) examination_look: Lease,
    pub(crate) enrichment_look: Lease,
    pub(crate) consolidation_look: Lease,
    /// The state of the look at the files of memories.
    pub(crate) files: Mutex<FilesLook>,
    /// The state of the clock in the last sweep round.
    pub(crate) clock_look: Mutex<Option<ClockReading>>,
    models: Mutex<HashMap<ModelId, Arc<ModelRounds>>>,
    /// True if the last call of the enricher failed.
    pub(crate) is_enricher_failing: AtomicBool,
    /// The time before which the enricher is not called, in microseconds since 1970.
    pub(crate) enricher_pauses_until: AtomicI64,
    /// The job in progress.
    pub(crate) job: Mutex<Option<Job>>,
    /// True if no further lease is taken.
    pub(crate) is_ending: AtomicBool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds {
            holder: Uuid::now_v7().to_string(),
            sweeping: Lease::of("sweep", LEASE_SECONDS),
            examining: Lease::of("examine", EXAMINATION_LEASE_SECONDS),
            consolidating: Lease::of("consolidate", LEASE_SECONDS),
            consolidation: Mutex::default(),
            sweep_look: Lease::of("sweep look", LOOK_LEASE_SECONDS),
            embedding_look: Lease::of("embed look", LOOK_LEASE_SECONDS),
            examination_look: Lease::of("examine look", LOOK_LEASE_SECONDS),
            enrichment_look: Lease::of("enrich look", LOOK_LEASE_SECONDS),
            consolidation_look: Lease::of("consolidate look", LOOK_LEASE_SECONDS),
            files: Mutex::default(),
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
    /// Returns the state for this model.
    pub(crate) fn of(&self, model: &ModelId) -> Arc<ModelRounds> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let of_model = models
            .entry(model.clone())
            .or_insert_with_key(|model| Arc::new(ModelRounds::of(model)));
        Arc::clone(of_model)
    }

    pub(super) fn of_all_models(&self) -> Vec<Arc<ModelRounds>> {
        self.models
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }
}
