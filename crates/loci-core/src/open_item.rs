//! What people should decide about memories, as a step in the background found it.

use crate::{Filter, MemoryId, Partition, Result, Space};

/// Something about a memory that a person should decide. It holds for one revision of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenItem {
    /// The memory; of a pair, the newer one.
    pub memory: MemoryId,
    /// The revision of the memory that was examined.
    pub revision: u64,
    /// The kind, a name that the engine gives.
    pub kind: String,
    /// What tells the item from all others of its space, and stays the same as long as there is the
    /// same to decide.
    pub key: String,
    /// The older memory of a pair.
    pub other: Option<MemoryId>,
    /// How certain it is, in thousandths: the greater, the more.
    pub certainty: i64,
}

/// How far the memories of a partition were examined. Only a store looks into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExaminedUntil {
    /// The version of the rules of the examination.
    pub rules: u32,
    /// The last change of the partition that was looked at.
    pub change: i64,
    /// The place in the order of filing from which the memories before are still to be examined.
    pub row: i64,
}

/// Memories to examine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToExamine {
    /// The memories, some of which may be gone; empty if only the place moves on.
    pub memories: Vec<(Space, MemoryId)>,
    /// The place after them.
    pub until: ExaminedUntil,
    /// True if the memories were never examined; false if they changed since.
    pub is_backlog: bool,
}

/// The result for one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The space of the memory.
    pub space: Space,
    /// The memory.
    pub memory: MemoryId,
    /// The kinds of items that were looked for.
    pub kinds: Vec<String>,
    /// The items in the place of the former ones of these kinds.
    pub items: Vec<OpenItem>,
    /// The keys of the pairs that hold in which it is the older one; its other ones go. `None` if
    /// these were not looked for, and the memory still has to be examined if it was to be.
    pub as_older: Option<Vec<String>>,
}

/// Keeps what people should decide, and which memories were examined for it. Both are derived from
/// the memories: a store that lost them has all memories examined again.
pub trait OpenItemStore: Send + Sync {
    /// Returns the next memories of a partition to examine by this version of the rules, about
    /// `limit` at most; `None` if there is nothing to do. Memories that changed since they were
    /// examined come first, then those that never were, the last filed one first.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn to_examine(
        &self,
        partition: &Partition,
        rules: u32,
        limit: usize,
    ) -> Result<Option<ToExamine>>;

    /// Replaces the items of memories, in one transaction with the place that was reached. Without a
    /// place it keeps the former one. The other memory of a pair that is gone is to be examined
    /// again, because a memory keeps its clearest pairs, and there may be room for another one. So
    /// it is when a memory of a pair is removed or soft-deleted.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn put_examined(
        &self,
        partition: &Partition,
        until: Option<ExaminedUntil>,
        examined: &[Examined],
    ) -> Result<()>;

    /// Returns at most `limit` items whose memory matches the filter and has the revision that was
    /// examined, the most certain ones first, ties by key. Whether the other memory of a pair may be
    /// read is not asked. The items of a memory go with it, whether it is removed or soft-deleted.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn open_items(&self, filter: &Filter, limit: usize) -> Result<Vec<OpenItem>>;
}
