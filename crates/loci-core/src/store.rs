//! The seam to storage. A store keeps bytes and finds candidates; what they mean is the
//! engine's.
//!
//! Methods block: the server calls the engine on threads made for that, so no store needs an
//! asynchronous runtime (`docs/adr/0002-blocking-store.md`).

use crate::{
    CandidateQuery, Candidates, Filter, Memory, MemoryId, ModelId, Page, Passage, Reader, Result, Space, Timestamp,
    Vector,
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
    /// Removes a memory for good.
    Delete {
        /// Which one.
        id: MemoryId,
        /// The revision that it must have.
        revision: u64,
    },
    /// Adds the embeddings of a memory's passages. Nothing happens if the memory is gone or has
    /// another revision by now.
    Embed {
        /// Which memory.
        id: MemoryId,
        /// The revision that was embedded.
        revision: u64,
        /// One vector for each passage, in order.
        vectors: Vec<Vector>,
    },
}

/// What a write relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No memory has the id.
    Absent,
    /// The memory has this revision.
    Revision(u64),
}

/// How many memories of a place pass a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The collection; none is global.
    pub collection: Option<String>,
    /// The section within it.
    pub section: String,
    /// How many.
    pub memories: u64,
}

/// What a store holds and what it costs, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Memories in all spaces, expired ones that are not swept yet included.
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
pub trait Store: Send + Sync {
    /// Makes all changes of the batch, or none. When it returns `Ok`, they are durable: on the
    /// disk, past a crash and a power cut.
    ///
    /// # Errors
    /// `conflict` if an expectation does not hold (nothing was changed, try again from a fresh
    /// read); `unavailable` if the store cannot be written now.
    fn commit(&self, batch: Batch) -> Result<()>;

    /// The memories with these ids that pass the filter, all as of one moment. In the order of
    /// the ids; the others are left out.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>>;

    /// The memory with this id, expired or not, whoever may read it: for work on nobody's behalf.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn get(&self, space: &Space, id: &MemoryId) -> Result<Option<Memory>> {
        let everyone = Reader { subject: None, everything: true };
        let filter = Filter::of(space.clone(), everyone, Timestamp::MIN);
        Ok(self.get_all(&filter, std::slice::from_ref(id))?.pop())
    }

    /// The memories that pass the filter, last updated first, ties by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>>;

    /// How many memories pass the filter, by place, in the order of collection and section.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tally(&self, filter: &Filter) -> Result<Vec<Tally>>;

    /// The best candidates by words and by meaning.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates>;

    /// Memories of any space that have a passage without a vector of `model`, at most `limit`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn without_vector(&self, model: &ModelId, limit: usize) -> Result<Vec<(Space, MemoryId)>>;

    /// Removes at most `limit` memories that have expired at `now`; returns how many.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn sweep(&self, now: Timestamp, limit: usize) -> Result<usize>;

    /// A number that grows with every change that any process commits.
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
