//! The seam to storage. A store keeps bytes and finds candidates; what they mean is the
//! engine's.
//!
//! Methods block: the server calls the engine on threads made for that, so no store needs an
//! asynchronous runtime (`docs/adr/0002-blocking-store.md`).

use std::ops::Range;
use std::time::Duration;

use crate::{
    Access, ArchiveStore, AuditStore, CacheStore, CandidateQuery, Candidates, DecisionStore,
    EnrichmentStatus, Fact, FactStore, Filter, IdempotencyStore, IdempotentReply, Job, JobOutcome,
    JobStore, Location, Memory, MemoryId, ModelId, NoteFile, NoteStore, Page, Passage, Period,
    Reader, Record, Result, SettingStore, SourceFile, SourceStore, Space, SweepClock, Tier,
    Timestamp, Tunnel, TunnelStore, Vector,
};

/// Changes that happen together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The space that they are in.
    pub space: Space,
    /// What to change, in order.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Stores a memory under its id.
    Put {
        /// The record, with its new revision.
        memory: Box<Memory>,
        /// What the index keeps of it; none leaves content and passages as they are.
        passages: Option<Vec<Passage>>,
        /// What must be there before.
        expect: Expect,
    },
    /// Removes a memory for good, with its job.
    Delete {
        /// Which one.
        id: MemoryId,
        /// The revision that it must have.
        revision: u64,
    },
    /// Adds the embeddings of a memory's passages, in the place of those by the same model; those
    /// by others stay. Nothing happens if the memory is gone or has another revision by now.
    Embed {
        /// Which memory.
        id: MemoryId,
        /// The revision that was embedded.
        revision: u64,
        /// One vector for each passage, in order.
        vectors: Vec<Vector>,
    },
    /// Gives a memory a job, which must be there by then, in this batch or before, and have none
    /// but a parked one, which is forgotten.
    Enqueue {
        /// Which memory.
        memory: MemoryId,
        /// When the job is due.
        due_at: Timestamp,
    },
    /// Settles a job, which must be there and not be parked. Its lease must hold: nobody else may
    /// have leased it since, even if it has run out.
    Settle {
        /// The job, as it was leased.
        job: Job,
        /// How it ended.
        outcome: JobOutcome,
    },
    /// Changes nothing; the data of this owner must not have been wiped after `since`, be it all of
    /// it or that of this tool set, so that a write which was under way does not bring any of it
    /// back.
    NotWiped {
        /// Whose data.
        owner: String,
        /// The tool set that the write comes through.
        origin: String,
        /// What [`Store::version`] said when the work on the batch began.
        since: u64,
    },
    /// Changes nothing; no file may be this memory, as [`NoteStore::note_file_of`] has it: what is
    /// changed in the store alone would not be in the file.
    NotNote {
        /// Which memory.
        id: MemoryId,
    },
    /// Stores what is known of a file of notes, in the place of what was known of one with that
    /// path.
    PutNoteFile(Box<NoteFile>),
    /// Stores what will be known of a file of notes that is about to be put into the folder, as of
    /// one that is [expected](NoteFile::is_expected). If there is a file with that path, that stays
    /// known as it is.
    ExpectNoteFile {
        /// The file; its memory must be some.
        file: Box<NoteFile>,
        /// What must be there of its memory.
        expect: Expect,
    },
    /// Forgets a file of notes; nothing happens if none with that path is known.
    DeleteNoteFile {
        /// Its path.
        path: String,
    },
    /// Notes the [identity](crate::FolderScan::identity) of the folder of notes.
    PutNoteFolder {
        /// The identity.
        identity: String,
    },
    /// Keeps an answer under its key, which no live answer may have. Beyond
    /// [`KEYED_ANSWERS_MAX`](crate::limits::KEYED_ANSWERS_MAX) answers of its owner in its space,
    /// or [`KEYED_ANSWERS_BYTES_MAX`](crate::limits::KEYED_ANSWERS_BYTES_MAX) bytes of them,
    /// expired ones included, the oldest are removed, by the moment they were kept, then by
    /// operation and key, but never this one.
    KeepAnswer(Box<IdempotentReply>),
    /// Stores a new fact. No fact may have its id, and of those with the same subject, predicate
    /// and object none may have the same beginning and end, or an open end if its own is open.
    PutFact(Box<Fact>),
    /// Says when a fact ended or will. It must be there and have the end `before`.
    EndFact {
        /// Its id.
        id: String,
        /// The end that it has.
        before: Option<Period>,
        /// The end that it gets.
        valid_to: Period,
    },
    /// Stores a tunnel, in the place of the one with that id. That must be `expect`, so that
    /// nothing is lost of what another process changed meanwhile. The memories that its ends name
    /// must be there by then, in this batch or before, softly deleted or not: what is removed later
    /// is taken off.
    PutTunnel {
        /// The tunnel as it is to be.
        tunnel: Box<Tunnel>,
        /// The tunnel as it was read; none, if there was none.
        expect: Option<Box<Tunnel>>,
    },
    /// Removes a tunnel, which must be there.
    DeleteTunnel {
        /// Its id.
        id: String,
    },
    /// Stores a value under a name, in the place of the one that is there.
    PutSetting {
        /// Whose; nobody's, if none.
        owner: Option<String>,
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Stores what is known of a file that memories were made from, in the place of what was known
    /// of it in that collection. That must be `expect`, so that nothing is lost of what another
    /// process read meanwhile.
    PutSourceFile {
        /// What is known now.
        file: Box<SourceFile>,
        /// What was known when it was read; none, if nothing.
        expect: Option<Box<SourceFile>>,
    },
    /// Forgets a file that memories were made from.
    DeleteSourceFile {
        /// What must be known of it, so that nothing is lost of what another process read
        /// meanwhile.
        expect: Box<SourceFile>,
    },
    /// Stores what an archive held as it is, a memory with its returns. Nothing may have its id or
    /// key, but for what makes room: a softly deleted memory, which is removed for good, a decision
    /// that has expired at `now`, and what is known of a missing file, for one that is there. For
    /// the rest it is as the change that stores such a thing.
    BringBack {
        /// What the archive held. Its [owner's data](Record::whose) must not have been wiped after
        /// `since`.
        record: Box<Record>,
        /// What the index keeps of a memory; empty for all else.
        passages: Vec<Passage>,
        /// What [`Store::version`] said when the work on it began.
        since: u64,
        /// The moment.
        now: Timestamp,
    },
}

/// What a write relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No memory has the id, not even a softly deleted one.
    Absent,
    /// The memory has this revision and is not softly deleted.
    Revision(u64),
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilingOrder {
    /// As they came into the store.
    FirstFirst,
    /// The other way round.
    LastFirst,
}

/// How many memories of a place and a kind pass a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationCount {
    /// The collection; none is global.
    pub collection: Option<String>,
    /// The section within it.
    pub section: String,
    /// The kind.
    pub kind: String,
    /// How many.
    pub memories: u64,
}

/// How many live memories an owner has of what came in as conversation: the short-term ones, and
/// the long-term ones with an enrichment status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatusCount {
    /// Their tier.
    pub tier: Tier,
    /// Their status.
    pub enrichment: Option<EnrichmentStatus>,
    /// How many.
    pub memories: u64,
}

/// What a wipe removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wiped {
    /// Memories, softly deleted and expired ones included.
    pub memories: u64,
    /// Cache entries, expired ones included.
    pub cache_entries: u64,
    /// Entries of the audit log.
    pub audit_entries: u64,
    /// Decisions, expired ones included.
    pub decisions: u64,
}

/// Returns of a memory to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The space of the memory.
    pub space: Space,
    /// The memory; nothing happens if it is gone.
    pub id: MemoryId,
    /// What to add to its count, and the moment of the last one.
    pub access: Access,
}

/// What a sweep removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// Memories (softly deleted or not), cache entries, decisions and answers under keys that have
    /// expired at this moment.
    pub expired_at: Timestamp,
    /// Memories softly deleted at this moment or before.
    pub deleted_until: Timestamp,
    /// Entries of the audit log before this moment, but those under the pseudonym of a wiped user.
    pub audited_before: Timestamp,
    /// What is remembered of wipes before this moment.
    pub wiped_before: Timestamp,
}

/// What a store holds and what it costs, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Memories in all spaces, expired and softly deleted ones that are not swept yet included.
    pub memories: u64,
    /// Their passages.
    pub passages: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes that the index holds in memory in this process; 0 while it is not loaded.
    pub index_bytes: u64,
}

/// Keeps memories and finds candidates among them.
///
/// Many threads and many processes may use one store at once. Every read sees all that was
/// committed before it began, by whichever process.
pub trait Store:
    ArchiveStore
    + AuditStore
    + CacheStore
    + DecisionStore
    + FactStore
    + IdempotencyStore
    + JobStore
    + NoteStore
    + SettingStore
    + SourceStore
    + TunnelStore
    + Send
    + Sync
{
    /// Makes all changes of the batch, or none. When it returns `Ok`, they are durable: on the
    /// disk, past a crash and a power cut.
    ///
    /// # Errors
    /// `conflict` if an expectation does not hold, a position of a [`Thread`](crate::Thread) or the
    /// key of an answer is taken, a fact that says the same is there already, or the memory of a
    /// tunnel's end is not there (nothing was changed, try again from a fresh read);
    /// `invalid_argument` for a memory whose [numbers](Memory::check_numbers) no store keeps;
    /// `unavailable` if the store cannot be written now.
    fn commit(&self, batch: Batch) -> Result<()>;

    /// The memories with these ids that pass the filter, all as of one moment. In the order of
    /// the ids; the others are left out.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>>;

    /// The ids and places of the same memories, in the same order, as of one moment: for those who
    /// need no more.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn locations_of(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<(MemoryId, Location)>>;

    /// The ids, in their order, of the memories that pass the filter whose id begins or ends with
    /// that text; at most `limit`. Case counts, and no character stands for another.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>>;

    /// The values that an attribute has in the memories that pass the filter, in their order, each
    /// with the number of memories that have it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>>;

    /// The ids and revisions of the memories that pass the filter, last updated first, ties by id,
    /// at most `limit`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>>;

    /// The memory with this id, expired, forgotten or not, whoever may read it, unless it is softly
    /// deleted: for work on nobody's behalf.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get(&self, space: &Space, id: &MemoryId) -> Result<Option<Memory>> {
        let filter = Filter::of(space.clone(), Reader::everything(), Timestamp::MIN);
        Ok(self.get_all(&filter, std::slice::from_ref(id))?.pop())
    }

    /// The memories that pass the filter, last updated first, ties by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>>;

    /// The memories that pass the filter, in the order in which they came into the store, whatever
    /// changed in them since.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list_by_insertion(
        &self,
        filter: &Filter,
        order: FilingOrder,
        page: Page,
    ) -> Result<Vec<Memory>>;

    /// How many memories pass the filter, by place and kind, in the order of collection, section
    /// and kind. For a filter that asks for nothing but space, reader, moment, tiers,
    /// `apart_origin`, collections, sections, kinds and forgotten ones it costs by the number of
    /// places, and by the memories that are to expire, not by all.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>>;

    /// The same, counted afresh: by looking at every memory, whatever the store keeps count of.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>>;

    /// Drops whatever this process holds of the store in memory, so that what is asked next is read
    /// from it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn reload(&self) -> Result<()>;

    /// The best candidates by words and by meaning.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates>;

    /// The vectors of a memory's passages, in order; none if the memory is gone, or if a passage
    /// has no vector of `model`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>>;

    /// The range of bytes that a passage has in its memory's content, by its order in it, from 0;
    /// none if the memory is gone or has fewer passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn passage_range(
        &self,
        space: &Space,
        id: &MemoryId,
        passage: u32,
    ) -> Result<Option<Range<usize>>>;

    /// Memories of any space that have a passage without a vector of `model`, at most `limit`:
    /// those with a passage that no model has read, in this order, and after them those that one
    /// other model has read, in this order too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn without_vector(
        &self,
        model: &ModelId,
        order: FilingOrder,
        limit: usize,
    ) -> Result<Vec<(Space, MemoryId)>>;

    /// How many memories [`without_vector`](Store::without_vector) would name without a limit.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn pending_embeddings(&self, model: &ModelId) -> Result<u64>;

    /// The models that passages have vectors of, with the number of passages, the one with most
    /// first, ties by name. Those of softly deleted memories count, until these are removed.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn models(&self) -> Result<Vec<(ModelId, u64)>>;

    /// Removes the vectors of this model from at most `limit` passages; of how many it did, fewer
    /// than `limit` only if none is left.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn retire_model(&self, model: &ModelId, limit: usize) -> Result<usize>;

    /// Whether a passage has a vector of this model with another number of components than that:
    /// what answers by the model's name has changed since, and no question can be compared with it.
    /// May read all passages.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn has_other_dimensions(&self, model: &ModelId, dimensions: usize) -> Result<bool>;

    /// Softly deletes at most `limit` of the memories that pass the filter, are no
    /// [notes](NoteStore::note_file_of) (and have this id, if one is given), and, with each, the
    /// memories of the same owner that were [made from](Store::made_from) it. Short-term ones last,
    /// so that what was made from messages and passes as well is counted before it would go with
    /// them. No read shows a softly deleted memory, its job is gone at once, a later sweep removes
    /// it, and its id stays taken until then, but for [`Change::BringBack`]. Returns how many
    /// passed, fewer than `limit` only if no more did; durable when it returns.
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

    /// The ids of this owner's memories that were made from one of these, in order, but for softly
    /// deleted ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn made_from(&self, space: &Space, owner: &str, sources: &[MemoryId]) -> Result<Vec<MemoryId>>;

    /// The position after the last one that any memory of this owner's thread has, of those that
    /// are not removed; 0 if there is none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64>;

    /// How often these memories were returned, in the order of the ids; 0 for one that is gone.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>>;

    /// Counts returns of memories; of their moments the latest stays. Their revisions stay, and
    /// [`version`](Store::version) too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn touch(&self, touches: &[Touch]) -> Result<()>;

    /// What an owner has of conversations, but for what was forgotten, in the order of
    /// [`StatusCount`]. Costs by the owner's memories, not by all.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn count_by_status(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<StatusCount>>;

    /// Removes for good, in one transaction: the private and the shared memories of this owner, the
    /// short-term ones and those with an enrichment status, with their jobs; the cache entries,
    /// decisions, answers under keys and audit entries; and takes the owner's name off the common
    /// memories, whose revision rises by one, and off the audit entries of calls for others.
    /// Remembers the moment, and that it happened after every change so far. The actor goes where
    /// the owner's name does. Costs by the owner's data, not by all.
    ///
    /// With `pseudonym`, that takes the place of the name of the owner on common memories and
    /// tunnels, and of the [writer](Memory::updated_by) on memories of others, whose revision rises
    /// by one, too. The audit entries that say what the owner stored, changed or deleted besides
    /// [its own](crate::AuditRecord::is_own) records stay under it, without the query, the message,
    /// the results and all other records; they count as removed. No later [`sweep`](Store::sweep)
    /// removes them, only a wipe of the pseudonym does.
    ///
    /// With `origin`, memories that came in through another tool set stay as they are, names
    /// included, and so do the answers and audit entries of calls that did, those to come as well;
    /// and writes through another tool set that are under way go on.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written. Then nothing was removed.
    fn wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> Result<Wiped>;

    /// Makes the store ready to search, and waits for that, but no longer than this: what it has to
    /// load first, it goes on loading in the background. A search that comes before the end waits
    /// for it.
    ///
    /// # Errors
    /// `unavailable` if it is not ready within that time, saying how far it is and when to try
    /// again.
    fn prepare_search(&self, wait: Duration) -> Result<()>;

    /// Takes the lease of that name for `holder` until `until`, if nobody else has it at `now`;
    /// says whether it did. Extends a lease that the holder has; `until <= now` gives it back. A
    /// lease that ends after [`lease_end_max`](crate::lease_end_max) is nobody's.
    ///
    /// # Errors
    /// `invalid_argument` if `until` is after [`lease_end_max`](crate::lease_end_max);
    /// `unavailable` if the store cannot be written.
    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool>;

    /// Whether [`sweep`](Store::sweep) would find anything. Changes no data.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn needs_sweep(&self, sweep: &Sweep) -> Result<bool>;

    /// Removes for good what has had its time, each kind in the order of its moment, a memory with
    /// its job. Returns in how many steps, at most `limit`: each removes one thing, or a part of a
    /// large memory, which is softly deleted with the first part, or trims what the store notes for
    /// itself. One short transaction, which may end before the limit: nothing is left after 0
    /// alone.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn sweep(&self, sweep: &Sweep, limit: usize) -> Result<usize>;

    /// How far the clock was trusted when a sweep last noted it; none if none did.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn sweep_clock(&self) -> Result<Option<SweepClock>>;

    /// Notes how far the clock is trusted, in place of what was noted before.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()>;

    /// Random bytes that were made with the store and never change, the same for every process: a
    /// key for what nobody else should be able to vouch for.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn secret(&self) -> Result<[u8; 32]>;

    /// Fails while no write can be taken although reads go on: files of the store are no longer
    /// where they were opened.
    ///
    /// # Errors
    /// `unavailable`, with what to do.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// A number that grows with every change that any process commits, but not with an answer that
    /// is [kept](Change::KeepAnswer).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn version(&self) -> Result<u64>;

    /// What it holds and what it costs.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn size(&self) -> Result<StoreSize>;
}
