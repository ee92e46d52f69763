//! A store in which a test can fail or delay every call, or run an action before it.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use loci_core::{
    ArchiveStore, Archived, AuditEntry, AuditQuery, AuditStore, Batch, CacheEntry, CacheStore,
    CandidateQuery, Candidates, Decision, DecisionStore, Fact, FactCounts, FactQuery, FactStore,
    FailedJob, FilingOrder, Filter, IdempotencyStore, IdempotentReply, Job, JobCounts, JobStore,
    KeyedHash, Location, LocationCount, Memory, MemoryId, ModelId, NoteFile, NoteStore, Page,
    Partition, QueryVector, Result, Salt, SettingStore, SourceFile, SourceStore, Space,
    StatusCount, Store, StoreSize, Sweep, SweepClock, Timestamp, Tombstone, TombstoneStore, Touch,
    Tunnel, TunnelStore, Vector, Version, VersionStore, Wiped, Work,
};
use loci_testkit::NaiveStore;

type Hook = Arc<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// The naive store behind a hook that gets the name of every method before it runs.
pub struct FaultyStore {
    pub inner: Arc<NaiveStore>,
    hook: RwLock<Hook>,
}

impl FaultyStore {
    pub fn new(inner: Arc<NaiveStore>) -> Arc<Self> {
        Arc::new(FaultyStore {
            inner,
            hook: RwLock::new(Arc::new(|_| Ok(()))),
        })
    }

    pub fn before(&self, hook: impl Fn(&str) -> Result<()> + Send + Sync + 'static) {
        *self.hook.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hook);
    }

    fn enter(&self, method: &str) -> Result<()> {
        let hook = self
            .hook
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        hook(method)
    }
}

macro_rules! behind_the_hook {
    ($($method:ident($($argument:ident: $type:ty),*) -> $reply:ty;)*) => {
        $(fn $method(&self, $($argument: $type),*) -> Result<$reply> {
            self.enter(stringify!($method))?;
            self.inner.$method($($argument),*)
        })*
    };
}

impl Store for FaultyStore {
    fn partition_of(&self, space: &Space) -> Partition {
        self.inner.partition_of(space)
    }

    fn background_pause(&self, round: Duration) -> Duration {
        self.inner.background_pause(round)
    }

    behind_the_hook! {
        commit(batch: Batch) -> ();
        get_all(filter: &Filter, ids: &[MemoryId]) -> Vec<Memory>;
        locations_of(filter: &Filter, ids: &[MemoryId]) -> Vec<(MemoryId, Location)>;
        ids_with(filter: &Filter, part: &str, limit: usize) -> Vec<MemoryId>;
        attribute_values(filter: &Filter, name: &str) -> Vec<(String, u64)>;
        list(filter: &Filter, page: Page) -> Vec<Memory>;
        revisions(filter: &Filter, limit: usize) -> Vec<(MemoryId, u64)>;
        ids_of_texts(filter: &Filter, texts: &[&str]) -> Vec<MemoryId>;
        list_by_insertion(filter: &Filter, order: FilingOrder, page: Page) -> Vec<Memory>;
        count_by_location(filter: &Filter) -> Vec<LocationCount>;
        count(filter: &Filter) -> u64;
        collections(filter: &Filter) -> Vec<String>;
        count_uncached(filter: &Filter) -> Vec<LocationCount>;
        reload() -> ();
        prepare_search(wait: Duration) -> ();
        candidates(query: &CandidateQuery<'_>) -> Candidates;
        vectors(space: &Space, id: &MemoryId, model: &ModelId) -> Vec<Vector>;
        passage_range(space: &Space, id: &MemoryId, passage: u32) -> Option<Range<usize>>;
        partitions_with(work: Work<'_>, after: Option<&Partition>, limit: usize) -> Vec<Partition>;
        without_vector(
            partition: &Partition, model: &ModelId, order: FilingOrder, limit: usize
        ) -> Vec<(Space, MemoryId)>;
        pending_embeddings(model: &ModelId, count_max: usize) -> usize;
        models() -> Vec<(ModelId, u64)>;
        retire_model(partition: &Partition, model: &ModelId, limit: usize) -> usize;
        has_other_dimensions(partition: &Partition, model: &ModelId, dimensions: usize) -> bool;
        soft_delete(filter: &Filter, id: Option<&MemoryId>, now: Timestamp, limit: usize) -> usize;
        made_from(space: &Space, owner: &str, sources: &[MemoryId]) -> Vec<MemoryId>;
        thread_end(space: &Space, owner: &str, thread: &str) -> u64;
        accesses(space: &Space, ids: &[MemoryId]) -> Vec<u64>;
        touch(touches: &[Touch]) -> ();
        count_by_status(space: &Space, owner: &str, now: Timestamp) -> Vec<StatusCount>;
        wipe(
            space: &Space, owner: &str, origin: Option<&str>, pseudonym: Option<&str>, now: Timestamp
        ) -> Wiped;
        lease(name: &str, holder: &str, now: Timestamp, until: Timestamp) -> bool;
        lease_holder(name: &str, now: Timestamp) -> Option<String>;
        sweep(partition: &Partition, sweep: &Sweep, limit: usize) -> usize;
        sweep_clock() -> Option<SweepClock>;
        put_sweep_clock(clock: &SweepClock) -> ();
        secret() -> [u8; 32];
        version(space: &Space) -> u64;
        size() -> StoreSize;
        disk_bytes() -> u64;
    }
}

impl AuditStore for FaultyStore {
    behind_the_hook! {
        append_audit(entries: &[AuditEntry]) -> ();
        audit(query: &AuditQuery) -> Vec<(u64, AuditEntry)>;
        audited_spaces() -> Vec<Space>;
    }
}

impl CacheStore for FaultyStore {
    behind_the_hook! {
        put_cache_entry(entry: &CacheEntry, since: u64) -> ();
        nearest_cache_entries(
            space: &Space,
            owner: &str,
            query: &str,
            vector: Option<&QueryVector>,
            now: Timestamp,
            limit: usize
        ) -> Vec<(CacheEntry, f32)>;
        cached_queries(space: &Space, owner: &str, now: Timestamp) -> Vec<(MemoryId, String)>;
        delete_cache_entries(space: &Space, owner: &str, ids: &[MemoryId]) -> u64;
    }
}

impl TombstoneStore for FaultyStore {
    behind_the_hook! {
        tombstone_salts(space: &Space) -> Vec<Salt>;
        tombstones_of(space: &Space, texts: &[KeyedHash]) -> Vec<Tombstone>;
        tombstones(space: &Space, after: Option<&Tombstone>, limit: usize) -> Vec<Tombstone>;
    }
}

impl VersionStore for FaultyStore {
    behind_the_hook! {
        versions(space: &Space, id: &MemoryId) -> Vec<Version>;
        ids_with_versions(
            filter: &Filter,
            after: Option<&MemoryId>,
            limit: usize
        ) -> Vec<MemoryId>;
    }
}

impl DecisionStore for FaultyStore {
    behind_the_hook! {
        put_decision(decision: &Decision, since: u64) -> bool;
        decision(space: &Space, owner: &str, key: &str, now: Timestamp) -> Option<Decision>;
    }
}

impl ArchiveStore for FaultyStore {
    behind_the_hook! {
        archive(now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> ();
    }
}

impl JobStore for FaultyStore {
    behind_the_hook! {
        lease_jobs(now: Timestamp, until: Timestamp, lease: &str, limit: usize) -> Vec<Job>;
        next_job_at(now: Timestamp) -> Option<Timestamp>;
        job_counts() -> JobCounts;
        failed_jobs(limit: usize) -> Vec<FailedJob>;
    }
}

impl IdempotencyStore for FaultyStore {
    behind_the_hook! {
        idempotent_reply(
            space: &Space,
            owner: Option<&str>,
            operation: &str,
            key: &str,
            now: Timestamp
        ) -> Option<IdempotentReply>;
    }
}

impl NoteStore for FaultyStore {
    behind_the_hook! {
        note_files(space: &Space) -> Vec<NoteFile>;
        note_file_of(space: &Space, memory: &MemoryId) -> Option<NoteFile>;
        notes_among(filter: &Filter, limit: usize) -> Vec<MemoryId>;
        note_folder(space: &Space) -> Option<String>;
        commit_rebuildable(batch: Batch) -> ();
    }
}

impl FactStore for FaultyStore {
    behind_the_hook! {
        facts(query: &FactQuery) -> Vec<Fact>;
        fact_counts(space: &Space, now: Timestamp) -> FactCounts;
    }
}

impl TunnelStore for FaultyStore {
    behind_the_hook! {
        tunnels(space: &Space) -> Vec<Tunnel>;
    }
}

impl SettingStore for FaultyStore {
    behind_the_hook! {
        setting(space: &Space, owner: Option<&str>, name: &str) -> Option<String>;
    }
}

impl SourceStore for FaultyStore {
    behind_the_hook! {
        source_file(space: &Space, machine: &str, collection: Option<&str>, path: &str) -> Option<SourceFile>;
        source_files(space: &Space, machine: &str, collection: Option<&str>) -> Vec<SourceFile>;
        sources_at(space: &Space, machine: &str, path: &str) -> Vec<SourceFile>;
        pending_sources(space: &Space, machine: &str, limit: usize) -> Vec<SourceFile>;
    }
}
