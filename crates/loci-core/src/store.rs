//! The interface to storage. A store keeps data and retrieves candidates; the engine interprets
//! them.
//!
//! Methods block: the server calls the engine on dedicated threads, so no store needs an
//! asynchronous runtime (`docs/adr/0002-blocking-store.md`).

use std::ops::Range;
use std::time::Duration;

use crate::{
    Access, ArchiveStore, AuditStore, CacheStore, CandidateQuery, Candidates, DecisionStore,
    EnrichmentStatus, FacetCounts, Fact, FactStore, Filter, IdempotencyStore, IdempotentReply, Job,
    JobOutcome, JobStore, KeyedHash, Location, Memory, MemoryId, ModelId, Nearest, NoteFile,
    NoteStore, OpenItemStore, Page, Passage, Period, Reader, Record, RecordKind, RecordVersion,
    Result, ServerFigures, SettingStore, SourceFile, SourceStore, Space, SweepClock, Tier,
    Timestamp, Tombstone, TombstoneStore, Tunnel, TunnelStore, Vector, Version, VersionStore,
};

/// Changes that are committed atomically.
///
/// A batch has no limit of its own. The largest ones are imports: up to
/// [`IMPORT_MEMORIES_MAX`](crate::limits::IMPORT_MEMORIES_MAX) memories with their passages, of
/// which `loci import` commits 1,000, or about 16 MiB of texts, at once.
///
/// A change says which state it expects, because a writer reads first and writes later, and another
/// writer may come between the two. Here a text is replaced that was read at revision 1; the store
/// answers `conflict` if the memory has another revision by then, and the writer reads again.
///
/// ```
/// use loci_core::{Batch, Change, Condition, Expect, Memory, MemoryId, Space, Timestamp};
///
/// let now = Timestamp::from_microseconds(0);
/// let mut memory = Memory::new(Space::default(), MemoryId::new("tea-1"), "At four.", "fact", now);
/// let read = memory.revision;
/// memory.revision += 1;
/// memory.content = "At five.".to_owned();
///
/// let put = Change::Put {
///     memory: Box::new(memory.clone()),
///     passages: None,
///     expect: Expect::Revision(read),
/// };
/// let batch = Batch {
///     // The change would be missing from the file if the memory had become a note.
///     conditions: vec![Condition::NotNote { id: memory.id }],
///     ..Batch::new(memory.space, vec![put])
/// };
/// // A store checks the limits before it writes anything.
/// assert!(batch.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The space of the changes.
    pub space: Space,
    /// What must hold before the first change; a store checks it before it applies any change.
    pub conditions: Vec<Condition>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

impl Batch {
    /// Creates a batch without conditions.
    pub fn new(space: Space, changes: Vec<Change>) -> Self {
        Batch {
            space,
            conditions: Vec::new(),
            changes,
        }
    }
}

/// What must hold before a batch, besides the state that each change expects of its own record.
/// Otherwise the batch fails with `conflict`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The data of this owner, as a whole or for this tool set, was not wiped after `since`, because
    /// a write in progress must not bring wiped data back.
    NotWiped {
        /// The owner of the data.
        owner: String,
        /// The tool set of the write.
        origin: String,
        /// The result of [`Store::version`] for the space when the work on the batch started.
        since: u64,
    },
    /// This memory is not a note, as by [`NoteStore::note_file_of`], because the change would be
    /// missing from its file.
    NotNote {
        /// The memory.
        id: MemoryId,
    },
    /// A setting still has the value that was read, because one that is read, changed and stored
    /// whole must not lose a change of another writer.
    SettingIs {
        /// Its owner; `None` for a setting without an owner.
        owner: Option<String>,
        /// Its name.
        name: String,
        /// The value that was read; `None` if the setting did not exist.
        value: Option<String>,
    },
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Stores a memory under its id.
    Put {
        /// The record, with its new revision.
        memory: Box<Memory>,
        /// Its index data; `None` leaves content and passages as they are.
        passages: Option<Vec<Passage>>,
        /// The required state of the memory before the change.
        expect: Expect,
    },
    /// Removes a memory permanently, with its job and its kept versions.
    Delete {
        /// The memory.
        id: MemoryId,
        /// The required revision.
        revision: u64,
    },
    /// Keeps a former version of a memory, in the place of one of the same revision. Beyond
    /// [`VERSIONS_MAX`](crate::limits::VERSIONS_MAX) versions of the memory, the ones with the
    /// lowest revisions are evicted. Does nothing if the memory does not exist.
    PutVersion(Box<Version>),
    /// Keeps a former state of a fact or a tunnel, in the place of one of the same number; number 0
    /// stands for the one after the last. Beyond [`VERSIONS_MAX`](crate::limits::VERSIONS_MAX) versions
    /// of the record, the ones with the lowest numbers are evicted.
    PutRecordVersion(Box<RecordVersion>),
    /// Removes the kept versions of a fact or a tunnel, if there are any.
    DeleteRecordVersions {
        /// The kind of the record.
        kind: RecordKind,
        /// Its id.
        id: String,
    },
    /// Takes a [soft deletion](Store::soft_delete) back, so that every read returns the memory as it
    /// was, with its revision, its kept versions and its access count. Its job stays removed.
    Undelete {
        /// The memory.
        id: MemoryId,
        /// The required time of its deletion, as
        /// [`soft_deleted`](Store::soft_deleted) returns it.
        deleted_at: Timestamp,
        /// Its index data, in the place of what is left of the former.
        passages: Vec<Passage>,
    },
    /// Removes the kept versions of a memory, if there are any.
    DeleteVersions {
        /// The memory.
        id: MemoryId,
    },
    /// Adds the embeddings of a memory's passages and replaces the embeddings of the same model;
    /// other models keep theirs. Does nothing if the memory does not exist or has another revision.
    Embed {
        /// The memory.
        id: MemoryId,
        /// The revision that was embedded.
        revision: u64,
        /// One vector for each passage, in order.
        vectors: Vec<Vector>,
    },
    /// Adds a job for a memory. The memory must exist by then, in this batch or before, and have no
    /// job but a parked one, which is replaced.
    Enqueue {
        /// The memory.
        memory: MemoryId,
        /// The time at which the job is due.
        due_at: Timestamp,
    },
    /// Settles a job, which must exist and not be parked. Its lease must hold: no other process may
    /// have leased the job since, even if the lease has run out.
    Settle {
        /// The job, as it was leased.
        job: Job,
        /// The outcome of the job.
        outcome: JobOutcome,
    },
    /// Stores the state of a note file, replacing the state under its path.
    PutNoteFile(Box<NoteFile>),
    /// Stores the state of a note file that is about to be created, marked as
    /// [expected](NoteFile::is_expected). If the path already has a file, the state of that file
    /// stays. It is a change and no [`Condition`], because it stores a row for a new path.
    ExpectNoteFile {
        /// The file; it must have a memory.
        file: Box<NoteFile>,
        /// The required state of its memory.
        expect: Expect,
    },
    /// Removes the state of a note file; does nothing if the path is unknown.
    DeleteNoteFile {
        /// Its path.
        path: String,
    },
    /// Records the [identity](crate::FolderScan::identity) of the folder of notes.
    PutNoteFolder {
        /// The identity.
        identity: String,
    },
    /// Keeps a reply under its idempotency key, under which no live reply may exist. Beyond
    /// [`KEYED_ANSWERS_MAX`](crate::limits::KEYED_ANSWERS_MAX) replies of its owner in its space,
    /// or [`KEYED_ANSWERS_BYTES_MAX`](crate::limits::KEYED_ANSWERS_BYTES_MAX) bytes in all,
    /// including expired ones, the oldest are evicted, ordered by creation time, then by operation
    /// and key, but never this one.
    PutIdempotentReply(Box<IdempotentReply>),
    /// Stores a new fact. Its id must be unused, and no fact with the same subject, predicate and
    /// object may have the same start and end, or an open end if the new one's is open.
    PutFact(Box<Fact>),
    /// Sets the end of a fact, in the past or future, or opens it again. The fact must exist and have
    /// the end `before`. No other fact with the same subject, predicate and object may be open if it
    /// is opened.
    EndFact {
        /// Its id.
        id: String,
        /// The current end.
        before: Option<Period>,
        /// The new end; `None` opens it.
        valid_to: Option<Period>,
    },
    /// Removes facts permanently, with their kept versions. Each must exist and have the end that is
    /// given with its id. A name that no fact has any more goes, too, with its spelling.
    DeleteFacts {
        /// Their ids, each with the current end.
        facts: Vec<(String, Option<Period>)>,
    },
    /// Stores a tunnel and replaces the one with its id, which must equal `expect`, so that no
    /// concurrent change is lost. The memories that its ends name must exist by then, in this batch
    /// or before, soft-deleted or not; when one is removed later, its end is cleared.
    PutTunnel {
        /// The new tunnel.
        tunnel: Box<Tunnel>,
        /// The tunnel as it was read; `None` if it did not exist.
        expect: Option<Box<Tunnel>>,
    },
    /// Removes a tunnel, which must exist. Its kept versions stay.
    DeleteTunnel {
        /// Its id.
        id: String,
    },
    /// Stores a setting and replaces its current value.
    PutSetting {
        /// The owner; `None` for a setting without an owner.
        owner: Option<String>,
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Removes a setting, if it exists.
    DeleteSetting {
        /// The owner; `None` for a setting without an owner.
        owner: Option<String>,
        /// The name.
        name: String,
    },
    /// Stores the state of a source file and replaces the state of that machine in that collection,
    /// which must equal `expect`, so that no concurrent change is lost.
    PutSourceFile {
        /// The new state.
        file: Box<SourceFile>,
        /// The state when the file was read; `None` if there was no state.
        expect: Option<Box<SourceFile>>,
    },
    /// Removes the state of a source file.
    DeleteSourceFile {
        /// The required current state, so that no concurrent change is lost.
        expect: Box<SourceFile>,
    },
    /// Stores tombstones, each in the place of one with its key. Beyond
    /// [`TOMBSTONES_MAX`](crate::limits::TOMBSTONES_MAX) tombstones of the space, the oldest are
    /// evicted.
    PutTombstones(Vec<Tombstone>),
    /// Removes all tombstones with these hashes of texts, if there are any.
    DeleteTombstones {
        /// The hashes.
        texts: Vec<KeyedHash>,
    },
    /// Restores a record of an archive unchanged, a memory with its access count. Its id or key
    /// must be unused, with these exceptions: a soft-deleted memory is removed permanently, a
    /// decision that has expired at `now` is replaced, and so is the state of a missing file by
    /// that of a file that exists. Otherwise it acts as the change that stores such a record.
    Import {
        /// The archived record. Its [owner's data](Record::whose) must not have been wiped after
        /// `since`.
        record: Box<Record>,
        /// The index data of a memory; empty for other records.
        passages: Vec<Passage>,
        /// The result of [`Store::version`] for the space when the work on the record started.
        since: u64,
        /// The current time.
        now: Timestamp,
    },
}

/// A soft-deleted memory, which [`Change::Undelete`] can bring back.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftDeleted {
    /// The memory as it was.
    pub memory: Memory,
    /// The time of its deletion.
    pub deleted_at: Timestamp,
}

/// The required state of a memory before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No memory has the id, not even a soft-deleted one.
    Absent,
    /// The memory has this revision and is not soft-deleted.
    Revision(u64),
}

/// The order of a listing by insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilingOrder {
    /// Oldest insertion first.
    FirstFirst,
    /// Newest insertion first.
    LastFirst,
}

/// The order of a sorted listing. Equal memories follow in the order of insertion, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// The value that is compared.
    pub key: SortKey,
    /// True if the greatest value comes first.
    pub is_descending: bool,
}

/// The value by which a listing is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// How often the memory was returned.
    Uses,
    /// The time at which it was last returned; never is before every time.
    LastUse,
    /// The bytes of its text.
    Size,
    /// Its kind.
    Kind,
    /// The program that filed it; one that is not known comes first.
    Program,
    /// The time of its last change.
    Update,
}

/// The number of memories of a place and a kind that match a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationCount {
    /// The collection; `None` is global.
    pub collection: Option<String>,
    /// The section within it.
    pub section: String,
    /// The kind.
    pub kind: String,
    /// The number of memories.
    pub memories: u64,
}

/// The number of live memories of an owner by status, among those from conversations: short-term
/// memories, and long-term memories with an enrichment status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatusCount {
    /// Their tier.
    pub tier: Tier,
    /// Their status.
    pub enrichment: Option<EnrichmentStatus>,
    /// The number of memories.
    pub memories: u64,
}

/// The number of records that a wipe removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WipeCounts {
    /// Memories, including soft-deleted and expired ones.
    pub memories: u64,
    /// Cache entries, including expired ones.
    pub cache_entries: u64,
    /// Entries of the audit log.
    pub audit_entries: u64,
    /// Decisions, including expired ones.
    pub decisions: u64,
}

/// An access count to add to a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessIncrement {
    /// The space of the memory.
    pub space: Space,
    /// The memory; nothing happens if it does not exist.
    pub id: MemoryId,
    /// The number of returns to add, and the time of the last one.
    pub access: Access,
}

/// The cutoff times of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// Removes memories (soft-deleted or not), cache entries, decisions and kept replies that have
    /// expired at this time.
    pub expired_at: Timestamp,
    /// Removes memories soft-deleted at or before this time.
    pub deleted_until: Timestamp,
    /// Removes entries of the audit log before this time, except those under the pseudonym of a
    /// wiped user.
    pub audited_before: Timestamp,
    /// Removes the records of wipes before this time.
    pub wiped_before: Timestamp,
    /// Removes the [counts](crate::AuditStore::daily) of days before this
    /// [one](crate::DailyCount::day).
    pub counted_before: i64,
    /// Removes kept versions whose [change](Version::change) was before this time.
    pub changed_before: Timestamp,
}

/// A part of a store on which one process at a time does background work. A store that many
/// processes on one machine share is one partition; a store on a server has one for each space, so
/// that many machines divide the work among them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partition {
    /// All spaces.
    Whole,
    /// One space.
    Space(Space),
}

impl Partition {
    /// Returns true if the data of this space lies in the partition.
    pub fn contains(&self, space: &Space) -> bool {
        match self {
            Partition::Whole => true,
            Partition::Space(own) => own == space,
        }
    }
}

/// Background work of which a partition may have some.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// Memories that have a passage without a vector of this model.
    Embed(&'a ModelId),
    /// Passages that have a vector of this model, for [`Store::retire_model`].
    Retire(&'a ModelId),
    /// Data past these cutoff times, for [`Store::sweep`].
    Sweep(&'a Sweep),
    /// Memories to examine by this version of the rules, for
    /// [`to_examine`](crate::OpenItemStore::to_examine).
    Examine(u32),
}

/// The size of a store, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Memories in all spaces, including expired and soft-deleted ones that are not swept yet.
    pub memories: u64,
    /// Their passages.
    pub passages: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes of memory that the index uses in this process; 0 while it is not loaded.
    pub index_bytes: u64,
    /// The loads of the index in this process so far.
    pub index_loads: IndexLoads,
}

/// The number of loads of a search index, since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLoads {
    /// Loads that mapped the file of the index.
    pub from_file: u64,
    /// Loads that read the tables, which takes longer.
    pub from_tables: u64,
    /// Loads that failed.
    pub failed: u64,
}

/// Keeps memories and retrieves candidates among them.
///
/// Many threads and many processes may use one store at once. Every read sees all changes that any
/// process committed before the read started.
///
/// A caller reads with a [`Filter`], and writes with a [`Batch`] that expects what was read:
///
/// ```
/// use loci_core::{
///     Batch, Change, Error, Expect, Filter, Memory, MemoryId, Reader, Space, Store, Timestamp,
/// };
///
/// /// Stores the text unless the id is taken, and returns the memory that has the id then.
/// fn remember(store: &dyn Store, id: &str, text: &str, now: Timestamp) -> Result<Memory, Error> {
///     let (space, id) = (Space::default(), MemoryId::new(id));
///     let filter = Filter::of(space.clone(), Reader::everything(), now);
///     if let Some(memory) = store.get_all(&filter, std::slice::from_ref(&id))?.pop() {
///         return Ok(memory);
///     }
///     let memory = Memory::new(space.clone(), id, text, "fact", now);
///     let put = Change::Put {
///         memory: Box::new(memory.clone()),
///         passages: Some(Vec::new()),
///         expect: Expect::Absent,
///     };
///     // A `conflict` if another process was faster: the caller reads again.
///     store.commit(Batch::new(space, vec![put]))?;
///     Ok(memory)
/// }
/// ```
pub trait Store:
    ArchiveStore
    + AuditStore
    + CacheStore
    + DecisionStore
    + FactStore
    + IdempotencyStore
    + JobStore
    + NoteStore
    + OpenItemStore
    + SettingStore
    + SourceStore
    + TombstoneStore
    + TunnelStore
    + VersionStore
    + Send
    + Sync
{
    /// Commits all changes of the batch, or no change. When it returns `Ok`, they are durable: on
    /// disk, safe from a crash and a power cut.
    ///
    /// # Errors
    /// `conflict` if a condition or an expectation does not hold, a position of a [`Thread`](crate::Thread) or the
    /// idempotency key of a reply is taken, an equivalent fact exists, or the memory of a tunnel's
    /// end does not exist (nothing was changed; retry after a fresh read); `invalid_argument` for a
    /// batch that fails its [check](Batch::check); `unavailable` if the store cannot be written
    /// now.
    fn commit(&self, batch: Batch) -> Result<()>;

    /// Returns the memories with these ids that match the filter, in the order of the ids, from one
    /// consistent snapshot. Leaves out the others.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>>;

    /// Returns only the ids and places of the same memories, in the same order, from one consistent
    /// snapshot.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn locations_of(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<(MemoryId, Location)>>;

    /// Returns at most `limit` ids of memories that match the filter and whose id starts or ends
    /// with that text, in order. The match is case-sensitive and has no wildcards.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>>;

    /// Returns the values of an attribute in the memories that match the filter, in order, each
    /// with its number of memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>>;

    /// Returns the ids of the memories that match the filter and have one of these texts, byte for
    /// byte, in order. May read the texts of all memories of the space.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn ids_of_texts(&self, filter: &Filter, texts: &[&str]) -> Result<Vec<MemoryId>>;

    /// Returns the ids and revisions of at most `limit` memories that match the filter, last
    /// updated first, ties by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>>;

    /// Returns the memory with this id, even if it is expired or forgotten, for any reader, unless
    /// it is soft-deleted. For work on behalf of no caller.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get(&self, space: &Space, id: &MemoryId) -> Result<Option<Memory>> {
        let filter = Filter::of(space.clone(), Reader::everything(), Timestamp::MIN);
        Ok(self.get_all(&filter, std::slice::from_ref(id))?.pop())
    }

    /// Returns the memories that match the filter, last updated first, ties by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>>;

    /// Returns the memories that match the filter in the order of insertion, which later changes do
    /// not alter.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list_by_insertion(
        &self,
        filter: &Filter,
        order: FilingOrder,
        page: Page,
    ) -> Result<Vec<Memory>>;

    /// Returns the memories that match the filter, sorted. May look at all of them.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list_sorted(&self, filter: &Filter, sorting: Sorting, page: Page) -> Result<Vec<Memory>>;

    /// Returns the numbers of memories that match the filter by each value of what a filter can ask
    /// for. Looks at the properties of all of them, but at no text.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn facet_counts(&self, filter: &Filter) -> Result<FacetCounts>;

    /// Returns the number of memories that match the filter and were last returned at or after
    /// `since`, by place and kind, in the order of [`count_by_location`](Store::count_by_location).
    /// The cost grows with the memories that were ever returned.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_used(&self, filter: &Filter, since: Timestamp) -> Result<Vec<LocationCount>>;

    /// Returns at most `limit` of the same memories in the same order, each with its number in the
    /// order of insertion: the ones after the number `beyond`, or from the first on. A memory keeps
    /// its number, so that a list that goes on from a number returns every memory once, whatever is
    /// stored or removed between two pages. The cost does not grow with the memories before.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list_beyond(
        &self,
        filter: &Filter,
        order: FilingOrder,
        beyond: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(u64, Memory)>>;

    /// Returns the number of memories that match the filter, by place and kind, in the order of
    /// collection, section and kind. For a filter with no condition but space, reader, time, tiers,
    /// `unlisted_origin`, collections, sections, kinds and forgotten ones, the cost grows with the
    /// number of places and of memories that have an expiry time, not with all memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>>;

    /// Returns the number of memories that match the filter, at most at the cost of
    /// [`count_by_location`](Store::count_by_location).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count(&self, filter: &Filter) -> Result<u64> {
        let counts = self.count_by_location(filter)?;
        Ok(counts.iter().map(|count| count.memories).sum())
    }

    /// Returns the collections of the memories that match the filter, in order, at most at the cost
    /// of [`count_by_location`](Store::count_by_location).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn collections(&self, filter: &Filter) -> Result<Vec<String>> {
        let counts = self.count_by_location(filter)?;
        let mut names: Vec<String> = counts
            .into_iter()
            .filter_map(|count| count.collection)
            .collect();
        names.dedup();
        Ok(names)
    }

    /// Returns the counts by place by scanning every memory, bypassing the store's counters.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>>;

    /// Drops the in-memory state of this process, so that the next read loads it from the store
    /// again.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn reload(&self) -> Result<()>;

    /// Returns the best candidates by words and by vector.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates>;

    /// Returns the candidates of queries with this filter, and the memories with the first `limit`
    /// of their ids. A store on a server answers the whole request in one round trip.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn nearest(
        &self,
        filter: &Filter,
        queries: &[CandidateQuery<'_>],
        limit: usize,
    ) -> Result<Nearest> {
        nearest_by_parts(self, filter, queries, limit)
    }

    /// Returns the vectors of a memory's passages, in order; empty if the memory does not exist, or
    /// if a passage has no vector of `model`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>>;

    /// Returns the byte range of a passage in its memory's content, by the index of the passage,
    /// from 0; `None` if the memory does not exist or has fewer passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn passage_range(
        &self,
        space: &Space,
        id: &MemoryId,
        passage: u32,
    ) -> Result<Option<Range<usize>>>;

    /// Returns the partition that the data of this space lies in.
    fn partition_of(&self, space: &Space) -> Partition;

    /// Returns at most `limit` partitions that have this work, in order, beginning after `after`
    /// and going on from the first one at the end: each partition at most once, `after` last.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn partitions_with(
        &self,
        work: Work<'_>,
        after: Option<&Partition>,
        limit: usize,
    ) -> Result<Vec<Partition>>;

    /// Returns the pause between two rounds of background work on the store, of which the last one
    /// took `round`, so that the writes of callers get in between.
    fn background_pause(&self, round: Duration) -> Duration;

    /// Returns at most `limit` memories of the partition that have a passage without a vector of
    /// `model`: first those with a passage that has no vector at all, in this order, then those
    /// embedded with one other model, in this order too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn without_vector(
        &self,
        partition: &Partition,
        model: &ModelId,
        order: FilingOrder,
        limit: usize,
    ) -> Result<Vec<(Space, MemoryId)>>;

    /// Returns the number of memories in all partitions that have a passage without a vector of
    /// `model`; counts no further than `count_max`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn pending_embeddings(&self, model: &ModelId, count_max: usize) -> Result<usize>;

    /// Returns the models of the stored vectors with their numbers of passages in all partitions,
    /// most passages first, ties by name. Passages of soft-deleted memories count until they are
    /// removed.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn models(&self) -> Result<Vec<(ModelId, u64)>>;

    /// Removes the vectors of this model from at most `limit` passages of the partition and returns
    /// the number of these; fewer than `limit` only if no more remain.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn retire_model(&self, partition: &Partition, model: &ModelId, limit: usize) -> Result<usize>;

    /// Returns true if a passage of the partition has a vector of this model with another number of
    /// components: the model behind the name has changed since, and queries cannot be compared with
    /// it. May read all passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn has_other_dimensions(
        &self,
        partition: &Partition,
        model: &ModelId,
        dimensions: usize,
    ) -> Result<bool>;

    /// Soft-deletes at most `limit` of the memories that match the filter, are not
    /// [notes](NoteStore::note_file_of), and have this id, if one is given. With each, it
    /// soft-deletes the memories of the same owner that were [made from](Store::made_from) it.
    /// Short-term memories come last, so that a matching memory made from messages is counted
    /// before it would be deleted with them. No read returns a soft-deleted memory; its job is
    /// removed at once, a later sweep removes the memory itself, and its id stays taken until then,
    /// except for [`Change::Import`]. [`Change::Undelete`] brings it back before that. Returns how
    /// many matched, fewer than `limit` only if no more did; the change is durable when the method
    /// returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn soft_delete(
        &self,
        filter: &Filter,
        id: Option<&MemoryId>,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize>;

    /// Returns a page of the memories that were soft-deleted at `deleted_from` or later, match the
    /// filter otherwise, and have an id that begins or ends with `part`, if one is given: last
    /// deleted first, ties in the order of ids. The cost grows with the soft-deleted memories, not
    /// with all.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn soft_deleted(
        &self,
        filter: &Filter,
        part: Option<&str>,
        deleted_from: Timestamp,
        page: Page,
    ) -> Result<Vec<SoftDeleted>>;

    /// Returns the ids of this owner's memories that were made from one of these, in order, except
    /// soft-deleted ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn made_from(&self, space: &Space, owner: &str, sources: &[MemoryId]) -> Result<Vec<MemoryId>>;

    /// Returns the position after the last one in this owner's thread, counting all memories that
    /// are not removed; 0 if there are no such memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64>;

    /// Returns how often these memories were returned, in the order of the ids; 0 for a memory that
    /// does not exist.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>>;

    /// Adds to the access counts of memories and keeps the latest access time. Changes neither
    /// their revisions nor [`version`](Store::version).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn touch(&self, touches: &[AccessIncrement]) -> Result<()>;

    /// Returns an owner's counts of memories from conversations, except forgotten ones, in the
    /// order of [`StatusCount`]. The cost grows with the owner's memories, not with all.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_by_status(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<StatusCount>>;

    /// Removes permanently, in one transaction: this owner's private and shared memories,
    /// short-term memories and memories with an enrichment status, with their jobs; the cache
    /// entries, decisions, kept replies and audit entries. Clears the owner's name on the common
    /// memories, whose revision rises by one, and on the audit entries of calls for others. Records
    /// the time of the wipe, and that it followed every change so far. Clears the actor wherever it
    /// clears the owner's name. The cost grows with the owner's data, not with all.
    ///
    /// With `pseudonym`, it replaces the owner's name on common memories and tunnels, as the author
    /// of facts, and as the [writer](Memory::updated_by) of memories of others, whose revision rises
    /// by one, too. The audit entries of records that the owner stored, changed or deleted besides
    /// [its own](crate::AuditRecord::is_own) stay under the pseudonym, without the query, the
    /// message, the results and all other records; they count as removed. No later
    /// [`sweep`](Store::sweep) removes them, only a wipe of the pseudonym does.
    ///
    /// With `origin`, memories that came in through another tool set stay as they are, including
    /// names, and so do the replies and audit entries of calls through it, later ones included;
    /// writes in progress through another tool set go on.
    ///
    /// # Errors
    /// `invalid_argument` if a name [holds NUL](crate::check_text); `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    fn wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> Result<WipeCounts>;

    /// Prepares the store for search and waits up to `wait`; loading continues in the background
    /// after that. A search that comes before the end waits for it.
    ///
    /// # Errors
    /// `unavailable` if it is not ready within that time, with the progress and when to retry.
    fn prepare_search(&self, wait: Duration) -> Result<()>;

    /// Takes the lease of that name for `holder` until `until`, if no other holder has it at `now`;
    /// returns true if it did. Extends a lease that the holder has; `until <= now` releases it. A
    /// lease that ends after [`lease_end_max`](crate::lease_end_max) counts as expired.
    ///
    /// # Errors
    /// `invalid_argument` if `until` is after [`lease_end_max`](crate::lease_end_max), or a name
    /// [holds NUL](crate::check_text); `unavailable` if the store cannot be written.
    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool>;

    /// Returns the holder of the lease of that name at `now`; `None` if it is free.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<String>>;

    /// Permanently removes data of the partition past the cutoff times, each kind in the order of
    /// its time, a memory with its job. Returns the number of steps, at most `limit`: each step
    /// removes one record, or a part of a large memory, which is soft-deleted with the first part,
    /// or trims the store's own bookkeeping. Runs one short transaction, which may end before the
    /// limit: only a result of 0 means that no work is left.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn sweep(&self, partition: &Partition, sweep: &Sweep, limit: usize) -> Result<usize>;

    /// Returns the clock state that a sweep last recorded; `None` if no sweep recorded one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn sweep_clock(&self) -> Result<Option<SweepClock>>;

    /// Records the clock state and replaces the previous one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()>;

    /// Returns random bytes that were generated with the store and never change, the same for every
    /// process: a key for authenticating data that only loci may produce.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn secret(&self) -> Result<[u8; 32]>;

    /// Fails while writes are impossible although reads go on: files of the store are no longer where
    /// they were opened, their disk is full, or its server only reads
    /// ([`Error::store_fault`](crate::Error::store_fault)). Costs at most a small write.
    ///
    /// # Errors
    /// `unavailable`, with how to fix it.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// Returns a number that grows, in the order of the commits, with every change that any process
    /// commits to the memories (except for the counts of their accesses), facts, tunnels, settings,
    /// source files and tombstones of this space. A change of other records, e.g. a decision or a
    /// [kept reply](Change::PutIdempotentReply), and a change in another space may leave it or raise
    /// it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn version(&self, space: &Space) -> Result<u64>;

    /// Returns the size of the store.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn size(&self) -> Result<StoreSize>;

    /// Returns the bytes on disk of [`size`](Store::size), without a count of what is there.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn disk_bytes(&self) -> Result<u64>;

    /// Returns what this process knows of the server of the store, within two seconds; `None` if the
    /// store has no server.
    fn server_figures(&self) -> Option<ServerFigures> {
        None
    }
}

/// Returns the result of [`Store::nearest`], by one call of the store for each part.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn nearest_by_parts<S: Store + ?Sized>(
    store: &S,
    filter: &Filter,
    queries: &[CandidateQuery<'_>],
    limit: usize,
) -> Result<Nearest> {
    let version = store.version(&filter.space)?;
    let candidates = queries.iter().map(|query| store.candidates(query));
    let candidates: Vec<Candidates> = candidates.collect::<Result<_>>()?;
    let mut ids = Nearest::ids(&candidates);
    ids.truncate(limit);
    Ok(Nearest {
        version,
        memories: store.get_all(filter, &ids)?,
        candidates,
    })
}
