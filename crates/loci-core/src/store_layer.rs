//! Layers around a store, e.g. to measure it or to let it fail.

use std::ops::Range;
use std::time::Duration;

use crate::{
    AccessIncrement, ArchiveStore, Archived, AuditEntry, AuditQuery, AuditStore, Batch, CacheEntry,
    CacheStore, CandidateQuery, Candidates, ChangeQuery, DailyCount, DailyQuery, Decision,
    DecisionStore, Entity, EntityQuery, Examined, ExaminedUntil, FacetCounts, Fact, FactCounts,
    FactQuery, FactStore, FailedJob, FilingOrder, Filter, IdempotencyStore, IdempotentReply, Job,
    JobCounts, JobStore, KeyedHash, Location, LocationCount, Memory, MemoryId, ModelId, Nearest,
    NoteFile, NoteStore, OpenItem, OpenItemStore, Page, Partition, QueryVector, RecordKind,
    RecordVersion, Result, Salt, ServerFigures, SettingStore, SoftDeleted, Sorting, SourceFile,
    SourceStore, Space, StatusCount, Store, StoreSize, Sweep, SweepClock, Timestamp, ToExamine,
    Tombstone, TombstoneStore, Tunnel, TunnelStore, Vector, Version, VersionStore, WipeCounts,
    Work,
};

/// A store that passes every operation on to another one and does something around each. Whatever
/// implements it is a [`Store`], so that an observer or a fault injector writes two methods and not
/// one for each operation (`docs/adr/0071-one-method-wraps-a-store.md`).
///
/// ```
/// use loci_core::{Result, Store, StoreLayer};
///
/// /// A store that prints what it is asked for.
/// struct Printing<S>(S);
///
/// impl<S: Store> StoreLayer for Printing<S> {
///     type Inner = S;
///
///     fn inner(&self) -> &S {
///         &self.0
///     }
///
///     fn around<T>(
///         &self,
///         operation: &'static str,
///         run: impl FnOnce(&S) -> Result<T>,
///     ) -> Result<T> {
///         println!("{operation}");
///         run(&self.0)
///     }
/// }
///
/// fn printing(store: impl Store) -> impl Store {
///     Printing(store)
/// }
/// ```
pub trait StoreLayer: Send + Sync {
    /// The store below.
    type Inner: Store + ?Sized;

    /// Returns the store below.
    fn inner(&self) -> &Self::Inner;

    /// Runs an operation on the store below and returns its outcome, or fails in its place.
    /// `operation` is the name of the method, e.g. `get_all`. Methods that cannot fail, e.g.
    /// [`Store::partition_of`], bypass it.
    ///
    /// # Errors
    /// Those of the operation, or of the layer.
    fn around<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&Self::Inner) -> Result<T>,
    ) -> Result<T>;

    /// Learns the outcome of [`Store::lease`] for the lease of that name: whether it is held, and
    /// whether the request was to release it.
    fn leased(&self, name: &str, is_release: bool, is_held: bool) {
        _ = (name, is_release, is_held);
    }

    /// Learns the steps of a [`Store::sweep`].
    fn swept(&self, steps: usize) {
        _ = steps;
    }
}

/// Implements operations of a trait for all layers. Defaults of the trait are in the list, too,
/// because a store below may have a faster implementation.
macro_rules! layered {
    ($trait:ident {
        $($operation:ident($($argument:ident: $type:ty),* $(,)?) -> $answer:ty;)+
    } $($written_out:tt)*) => {
        impl<L: StoreLayer> $trait for L {
            $($written_out)*

            $(fn $operation(&self, $($argument: $type),*) -> Result<$answer> {
                self.around(stringify!($operation), |store| store.$operation($($argument),*))
            })+
        }
    };
}

layered! {
    ArchiveStore {
        archive(now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> ();
    }
}

layered! {
    AuditStore {
        append_audit(entries: &[AuditEntry]) -> ();
        audit(query: &AuditQuery) -> Vec<(u64, AuditEntry)>;
        audited_spaces() -> Vec<Space>;
        daily(query: &DailyQuery) -> Vec<DailyCount>;
    }
}

layered! {
    OpenItemStore {
        to_examine(partition: &Partition, rules: u32, limit: usize) -> Option<ToExamine>;
        put_examined(
            partition: &Partition,
            until: Option<ExaminedUntil>,
            examined: &[Examined],
        ) -> ();
        open_items(filter: &Filter, limit: usize) -> Vec<OpenItem>;
    }
}

layered! {
    CacheStore {
        put_cache_entry(entry: &CacheEntry, since: u64) -> ();
        nearest_cache_entries(
            space: &Space,
            owner: &str,
            query: &str,
            vector: Option<&QueryVector>,
            now: Timestamp,
            limit: usize,
        ) -> Vec<(CacheEntry, f32)>;
        cached_queries(space: &Space, owner: &str, now: Timestamp) -> Vec<(MemoryId, String)>;
        delete_cache_entries(space: &Space, owner: &str, ids: &[MemoryId]) -> u64;
    }
}

layered! {
    DecisionStore {
        put_decision(decision: &Decision, since: u64) -> bool;
        decision(space: &Space, owner: &str, key: &str, now: Timestamp) -> Option<Decision>;
    }
}

layered! {
    FactStore {
        facts(query: &FactQuery) -> Vec<Fact>;
        facts_with_ids(space: &Space, ids: &[String]) -> Vec<Fact>;
        entities(query: &EntityQuery) -> Vec<Entity>;
        fact_counts(space: &Space, now: Timestamp) -> FactCounts;
    }
}

layered! {
    TunnelStore {
        tunnels(space: &Space) -> Vec<Tunnel>;
    }
}

layered! {
    IdempotencyStore {
        idempotent_reply(
            space: &Space, owner: Option<&str>, operation: &str, key: &str, now: Timestamp,
        ) -> Option<IdempotentReply>;
    }
}

layered! {
    JobStore {
        lease_jobs(now: Timestamp, until: Timestamp, lease: &str, limit: usize) -> Vec<Job>;
        next_job_at(now: Timestamp) -> Option<Timestamp>;
        job_counts() -> JobCounts;
        failed_jobs(limit: usize) -> Vec<FailedJob>;
    }
}

layered! {
    NoteStore {
        note_files(space: &Space) -> Vec<NoteFile>;
        note_file_of(space: &Space, memory: &MemoryId) -> Option<NoteFile>;
        notes_among(filter: &Filter, limit: usize) -> Vec<MemoryId>;
        note_folder(space: &Space) -> Option<String>;
        commit_rebuildable(batch: Batch) -> ();
    }
}

layered! {
    SettingStore {
        setting(space: &Space, owner: Option<&str>, name: &str) -> Option<String>;
    }
}

layered! {
    SourceStore {
        source_file(
            space: &Space, machine: &str, collection: Option<&str>, path: &str,
        ) -> Option<SourceFile>;
        sources_at(space: &Space, machine: &str, path: &str) -> Vec<SourceFile>;
        source_files(space: &Space, machine: &str, collection: Option<&str>) -> Vec<SourceFile>;
        pending_sources(space: &Space, machine: &str, limit: usize) -> Vec<SourceFile>;
    }
}

layered! {
    TombstoneStore {
        tombstone_salts(space: &Space) -> Vec<Salt>;
        tombstones_of(space: &Space, texts: &[KeyedHash]) -> Vec<Tombstone>;
        tombstones(space: &Space, after: Option<&Tombstone>, limit: usize) -> Vec<Tombstone>;
    }
}

layered! {
    VersionStore {
        versions(space: &Space, id: &MemoryId) -> Vec<Version>;
        ids_with_versions(filter: &Filter, after: Option<&MemoryId>, limit: usize) -> Vec<MemoryId>;
        changes(query: &ChangeQuery) -> Vec<Version>;
        record_versions(space: &Space, kind: RecordKind, id: &str) -> Vec<RecordVersion>;
        record_changes(query: &ChangeQuery) -> Vec<RecordVersion>;
    }
}

layered! {
    Store {
        commit(batch: Batch) -> ();
        get_all(filter: &Filter, ids: &[MemoryId]) -> Vec<Memory>;
        locations_of(filter: &Filter, ids: &[MemoryId]) -> Vec<(MemoryId, Location)>;
        ids_with(filter: &Filter, part: &str, limit: usize) -> Vec<MemoryId>;
        attribute_values(filter: &Filter, name: &str) -> Vec<(String, u64)>;
        ids_of_texts(filter: &Filter, texts: &[&str]) -> Vec<MemoryId>;
        revisions(filter: &Filter, limit: usize) -> Vec<(MemoryId, u64)>;
        get(space: &Space, id: &MemoryId) -> Option<Memory>;
        list(filter: &Filter, page: Page) -> Vec<Memory>;
        list_by_insertion(filter: &Filter, order: FilingOrder, page: Page) -> Vec<Memory>;
        list_sorted(filter: &Filter, sorting: Sorting, page: Page) -> Vec<Memory>;
        facet_counts(filter: &Filter) -> FacetCounts;
        count_used(filter: &Filter, since: Timestamp) -> Vec<LocationCount>;
        list_beyond(
            filter: &Filter, order: FilingOrder, beyond: Option<u64>, limit: usize,
        ) -> Vec<(u64, Memory)>;
        count_by_location(filter: &Filter) -> Vec<LocationCount>;
        count(filter: &Filter) -> u64;
        collections(filter: &Filter) -> Vec<String>;
        count_uncached(filter: &Filter) -> Vec<LocationCount>;
        reload() -> ();
        candidates(query: &CandidateQuery<'_>) -> Candidates;
        nearest(filter: &Filter, queries: &[CandidateQuery<'_>], limit: usize) -> Nearest;
        vectors(space: &Space, id: &MemoryId, model: &ModelId) -> Vec<Vector>;
        passage_range(space: &Space, id: &MemoryId, passage: u32) -> Option<Range<usize>>;
        partitions_with(work: Work<'_>, after: Option<&Partition>, limit: usize) -> Vec<Partition>;
        without_vector(
            partition: &Partition, model: &ModelId, order: FilingOrder, limit: usize,
        ) -> Vec<(Space, MemoryId)>;
        pending_embeddings(model: &ModelId, count_max: usize) -> usize;
        models() -> Vec<(ModelId, u64)>;
        retire_model(partition: &Partition, model: &ModelId, limit: usize) -> usize;
        has_other_dimensions(partition: &Partition, model: &ModelId, dimensions: usize) -> bool;
        soft_delete(filter: &Filter, id: Option<&MemoryId>, now: Timestamp, limit: usize) -> usize;
        soft_deleted(
            filter: &Filter, part: Option<&str>, deleted_from: Timestamp, page: Page,
        ) -> Vec<SoftDeleted>;
        made_from(space: &Space, owner: &str, sources: &[MemoryId]) -> Vec<MemoryId>;
        thread_end(space: &Space, owner: &str, thread: &str) -> u64;
        accesses(space: &Space, ids: &[MemoryId]) -> Vec<u64>;
        touch(touches: &[AccessIncrement]) -> ();
        count_by_status(space: &Space, owner: &str, now: Timestamp) -> Vec<StatusCount>;
        wipe(
            space: &Space, owner: &str, origin: Option<&str>, pseudonym: Option<&str>, now: Timestamp,
        ) -> WipeCounts;
        prepare_search(wait: Duration) -> ();
        lease_holder(name: &str, now: Timestamp) -> Option<String>;
        sweep_clock() -> Option<SweepClock>;
        put_sweep_clock(clock: &SweepClock) -> ();
        secret() -> [u8; 32];
        check_writable() -> ();
        version(space: &Space) -> u64;
        size() -> StoreSize;
        disk_bytes() -> u64;
    }

    fn partition_of(&self, space: &Space) -> Partition {
        self.inner().partition_of(space)
    }

    fn server_figures(&self) -> Option<ServerFigures> {
        self.inner().server_figures()
    }

    fn background_pause(&self, round: Duration) -> Duration {
        self.inner().background_pause(round)
    }

    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
        let is_held = self.around("lease", |store| store.lease(name, holder, now, until))?;
        self.leased(name, until <= now, is_held);
        Ok(is_held)
    }

    fn sweep(&self, partition: &Partition, sweep: &Sweep, limit: usize) -> Result<usize> {
        let steps = self.around("sweep", |store| store.sweep(partition, sweep, limit))?;
        self.swept(steps);
        Ok(steps)
    }
}
