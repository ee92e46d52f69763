//! The observed store.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{
    ArchiveStore, Archived, AuditEntry, AuditQuery, AuditStore, Batch, CacheEntry, CacheStore,
    CandidateQuery, Candidates, Decision, DecisionStore, Fact, FactCounts, FactQuery, FactStore,
    FailedJob, FilingOrder, Filter, IdempotencyStore, IdempotentReply, Job, JobCounts, JobStore,
    KeyedHash, Location, LocationCount, Memory, MemoryId, ModelId, Nearest, NoteFile, NoteStore,
    Page, Partition, QueryVector, Result, Salt, SettingStore, SourceFile, SourceStore, Space,
    StatusCount, Store, StoreSize, Sweep, SweepClock, Timestamp, Tombstone, TombstoneStore, Touch,
    Tunnel, TunnelStore, Vector, Version, VersionStore, Wiped, Work,
};
use tracing::field::Empty;

use crate::observer::{LeaseOutcome, LeasedWork, Observer, Outcome};
use crate::traces::{self, TARGET};

/// A store that tells an observer what it does.
pub(crate) struct ObservedStore {
    store: Arc<dyn Store>,
    observer: Arc<dyn Observer>,
    /// The names of the leases that this process took and did not give back.
    leases: Mutex<HashSet<String>>,
}

impl ObservedStore {
    pub(crate) fn new(store: Arc<dyn Store>, observer: Arc<dyn Observer>) -> Self {
        ObservedStore {
            store,
            observer,
            leases: Mutex::default(),
        }
    }

    fn observe<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&dyn Store) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let result = traces::part(
            || {
                tracing::info_span!(
                    target: TARGET,
                    "store",
                    otel.name = %format_args!("store {operation}"),
                    otel.status_code = Empty,
                    error.type = Empty,
                    db.operation.name = operation,
                )
            },
            || run(&*self.store),
        );
        let outcome = Outcome::of(&result);
        self.observer
            .store_operation(operation, begun.elapsed(), outcome);
        result
    }

    /// Returns what came of a request for a lease.
    fn lease_outcome(&self, name: &str, is_end: bool, is_held: bool) -> LeaseOutcome {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        if is_held && !is_end {
            leases.insert(name.to_owned());
            return LeaseOutcome::Taken;
        }
        let was_held = leases.remove(name);
        match (is_end, was_held) {
            (true, _) => LeaseOutcome::Released,
            (false, true) => LeaseOutcome::Lost,
            (false, false) => LeaseOutcome::Refused,
        }
    }
}

/// Returns the work of a lease of that name.
fn work_of(lease: &str) -> LeasedWork {
    match lease.split(' ').next() {
        Some("sweep") => LeasedWork::Sweep,
        Some("embed") => LeasedWork::Embed,
        Some("model") => LeasedWork::Model,
        _ => LeasedWork::Notes,
    }
}

/// Implements methods of the store by the methods of the observed one.
macro_rules! observed {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $result:ty;)+) => {
        $(fn $name(&self $(, $argument: $type)*) -> $result {
            self.observe(stringify!($name), |store| store.$name($($argument),*))
        })+
    };
}

impl ArchiveStore for ObservedStore {
    observed! {
        fn archive(
            &self,
            now: Timestamp,
            visit: &mut dyn FnMut(Archived) -> Result<()>,
        ) -> Result<()>;
    }
}

impl AuditStore for ObservedStore {
    observed! {
        fn append_audit(&self, entries: &[AuditEntry]) -> Result<()>;
        fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>>;
        fn audited_spaces(&self) -> Result<Vec<Space>>;
    }
}

impl CacheStore for ObservedStore {
    observed! {
        fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()>;
        fn nearest_cache_entries(
            &self,
            space: &Space,
            owner: &str,
            query: &str,
            vector: Option<&QueryVector>,
            now: Timestamp,
            limit: usize,
        ) -> Result<Vec<(CacheEntry, f32)>>;
        fn cached_queries(
            &self,
            space: &Space,
            owner: &str,
            now: Timestamp,
        ) -> Result<Vec<(MemoryId, String)>>;
        fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64>;
    }
}

impl DecisionStore for ObservedStore {
    observed! {
        fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool>;
        fn decision(
            &self,
            space: &Space,
            owner: &str,
            key: &str,
            now: Timestamp,
        ) -> Result<Option<Decision>>;
    }
}

impl FactStore for ObservedStore {
    observed! {
        fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>>;
        fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts>;
    }
}

impl TunnelStore for ObservedStore {
    observed! {
        fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>>;
    }
}

impl IdempotencyStore for ObservedStore {
    observed! {
        fn idempotent_reply(
            &self,
            space: &Space,
            owner: Option<&str>,
            operation: &str,
            key: &str,
            now: Timestamp,
        ) -> Result<Option<IdempotentReply>>;
    }
}

impl JobStore for ObservedStore {
    observed! {
        fn lease_jobs(
            &self,
            now: Timestamp,
            until: Timestamp,
            lease: &str,
            limit: usize,
        ) -> Result<Vec<Job>>;
        fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>>;
        fn job_counts(&self) -> Result<JobCounts>;
        fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>>;
    }
}

impl NoteStore for ObservedStore {
    observed! {
        fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>>;
        fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>>;
        fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>>;
        fn note_folder(&self, space: &Space) -> Result<Option<String>>;
        fn commit_rebuildable(&self, batch: Batch) -> Result<()>;
    }
}

impl SettingStore for ObservedStore {
    observed! {
        fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>>;
    }
}

impl SourceStore for ObservedStore {
    observed! {
        fn source_file(
            &self,
            space: &Space,
            machine: &str,
            collection: Option<&str>,
            path: &str,
        ) -> Result<Option<SourceFile>>;
        fn sources_at(&self, space: &Space, machine: &str, path: &str) -> Result<Vec<SourceFile>>;
        fn source_files(
            &self,
            space: &Space,
            machine: &str,
            collection: Option<&str>,
        ) -> Result<Vec<SourceFile>>;
        fn pending_sources(
            &self,
            space: &Space,
            machine: &str,
            limit: usize,
        ) -> Result<Vec<SourceFile>>;
    }
}

impl TombstoneStore for ObservedStore {
    observed! {
        fn tombstone_salts(&self, space: &Space) -> Result<Vec<Salt>>;
        fn tombstones_of(&self, space: &Space, texts: &[KeyedHash]) -> Result<Vec<Tombstone>>;
        fn tombstones(
            &self,
            space: &Space,
            after: Option<&Tombstone>,
            limit: usize,
        ) -> Result<Vec<Tombstone>>;
    }
}

impl VersionStore for ObservedStore {
    observed! {
        fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>>;
        fn ids_with_versions(
            &self,
            filter: &Filter,
            after: Option<&MemoryId>,
            limit: usize,
        ) -> Result<Vec<MemoryId>>;
    }
}

impl Store for ObservedStore {
    observed! {
        fn commit(&self, batch: Batch) -> Result<()>;
        fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>>;
        fn locations_of(
            &self,
            filter: &Filter,
            ids: &[MemoryId],
        ) -> Result<Vec<(MemoryId, Location)>>;
        fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>>;
        fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>>;
        fn ids_of_texts(&self, filter: &Filter, texts: &[&str]) -> Result<Vec<MemoryId>>;
        fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>>;
        fn get(&self, space: &Space, id: &MemoryId) -> Result<Option<Memory>>;
        fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>>;
        fn list_by_insertion(
            &self,
            filter: &Filter,
            order: FilingOrder,
            page: Page,
        ) -> Result<Vec<Memory>>;
        fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>>;
        fn count(&self, filter: &Filter) -> Result<u64>;
        fn collections(&self, filter: &Filter) -> Result<Vec<String>>;
        fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>>;
        fn reload(&self) -> Result<()>;
        fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates>;
        fn nearest(
            &self,
            filter: &Filter,
            queries: &[CandidateQuery<'_>],
            limit: usize,
        ) -> Result<Nearest>;
        fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>>;
        fn passage_range(
            &self,
            space: &Space,
            id: &MemoryId,
            passage: u32,
        ) -> Result<Option<Range<usize>>>;
        fn partitions_with(
            &self,
            work: Work<'_>,
            after: Option<&Partition>,
            limit: usize,
        ) -> Result<Vec<Partition>>;
        fn without_vector(
            &self,
            partition: &Partition,
            model: &ModelId,
            order: FilingOrder,
            limit: usize,
        ) -> Result<Vec<(Space, MemoryId)>>;
        fn pending_embeddings(&self, model: &ModelId, count_max: usize) -> Result<usize>;
        fn models(&self) -> Result<Vec<(ModelId, u64)>>;
        fn retire_model(
            &self,
            partition: &Partition,
            model: &ModelId,
            limit: usize,
        ) -> Result<usize>;
        fn has_other_dimensions(
            &self,
            partition: &Partition,
            model: &ModelId,
            dimensions: usize,
        ) -> Result<bool>;
        fn soft_delete(
            &self,
            filter: &Filter,
            id: Option<&MemoryId>,
            now: Timestamp,
            limit: usize,
        ) -> Result<usize>;
        fn made_from(
            &self,
            space: &Space,
            owner: &str,
            sources: &[MemoryId],
        ) -> Result<Vec<MemoryId>>;
        fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64>;
        fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>>;
        fn touch(&self, touches: &[Touch]) -> Result<()>;
        fn count_by_status(
            &self,
            space: &Space,
            owner: &str,
            now: Timestamp,
        ) -> Result<Vec<StatusCount>>;
        fn wipe(
            &self,
            space: &Space,
            owner: &str,
            origin: Option<&str>,
            pseudonym: Option<&str>,
            now: Timestamp,
        ) -> Result<Wiped>;
        fn prepare_search(&self, wait: Duration) -> Result<()>;
        fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<String>>;
        fn sweep_clock(&self) -> Result<Option<SweepClock>>;
        fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()>;
        fn secret(&self) -> Result<[u8; 32]>;
        fn check_writable(&self) -> Result<()>;
        fn version(&self, space: &Space) -> Result<u64>;
        fn size(&self) -> Result<StoreSize>;
        fn disk_bytes(&self) -> Result<u64>;
    }

    fn partition_of(&self, space: &Space) -> Partition {
        self.store.partition_of(space)
    }

    fn background_pause(&self, round: Duration) -> Duration {
        self.store.background_pause(round)
    }

    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
        let is_held = self.observe("lease", |store| store.lease(name, holder, now, until))?;
        let outcome = self.lease_outcome(name, until <= now, is_held);
        self.observer.lease(work_of(name), outcome);
        Ok(is_held)
    }

    fn sweep(&self, partition: &Partition, sweep: &Sweep, limit: usize) -> Result<usize> {
        let steps = self.observe("sweep", |store| store.sweep(partition, sweep, limit))?;
        self.observer.sweep(steps);
        Ok(steps)
    }
}
