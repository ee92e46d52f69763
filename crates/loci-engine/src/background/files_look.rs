//! The state of a look at the files of memories.

use std::collections::HashMap;

use loci_core::{MemoryId, Timestamp};

/// The state of the look at the files of memories, which change without a change in the store.
#[derive(Debug, Default)]
pub(crate) struct FilesLook {
    /// The next memory in the order of filing.
    pub(super) offset: usize,
    /// The time of the end of the last round.
    pub(super) ended_at: Option<Timestamp>,
    /// The keys of the items that the store has, by memory.
    pub(super) known: HashMap<MemoryId, Vec<String>>,
}
