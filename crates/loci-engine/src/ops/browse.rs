//! Going through memories in the order in which they were filed.

use loci_core::{Caller, CollectionFilter, FilingOrder, Filter, Memory, Page, Result, Tier, limits};

use crate::Engine;
use crate::ops::recall::reply_size;

/// Which memories to go through.
#[derive(Debug, Clone)]
pub struct Browse {
    /// Which collections.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Of these tiers. Of what is kept apart, that which came in through the caller's tool set.
    pub tiers: Vec<Tier>,
    /// In which order.
    pub order: FilingOrder,
    /// Memories to skip.
    pub offset: usize,
    /// Memories to return; clamps to [`limits::LIST_RESULTS_MAX`].
    pub limit: usize,
}

/// A part of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Browsed {
    /// The memories.
    pub memories: Vec<Memory>,
    /// How many there are in all.
    pub total: u64,
}

impl Engine {
    /// The memories that the caller may read and that pass.
    ///
    /// # Errors
    /// `too_large` if the records together exceed [`limits::REPLY_CONTENT_BYTES_MAX`]; `unavailable` if the store
    /// cannot be read.
    pub fn browse(&self, caller: &Caller, request: Browse) -> Result<Browsed> {
        let Browse { collections, sections, tiers, order, offset, limit } = request;
        let filter = Filter { sections, tiers, ..self.filter(caller, collections) };
        let limit = limit.clamp(1, limits::LIST_RESULTS_MAX);
        let memories = self.store.filed(&filter, order, Page { offset, limit })?;
        reply_size(memories.iter().map(Memory::text_bytes).sum())?;
        let total = self.store.tally(&filter)?.iter().map(|tally| tally.memories).sum();
        Ok(Browsed { memories, total })
    }
}
