//! Browsing memories by exact filters.

use loci_core::{Caller, CollectionFilter, Delivery, Memory, Page, Result, limits};

use crate::ops::recall::reply_size;
use crate::{Engine, check};

/// Which memories to list.
#[derive(Debug, Clone)]
pub struct List {
    /// Which collections.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// Records to skip.
    pub offset: usize,
    /// Records to return; clamps to [`limits::LIST_RESULTS_MAX`].
    pub limit: usize,
}

impl Engine {
    /// The memories that the caller may read and that pass the filters, last updated first.
    ///
    /// # Errors
    /// `too_large` if the records together exceed [`limits::REPLY_CONTENT_BYTES_MAX`];
    /// `unavailable` if the store cannot be read.
    pub fn list(&self, caller: &Caller, request: List) -> Result<Vec<Memory>> {
        check::tags("tags", &request.tags)?;
        let mut filter = self.filter(caller, request.collections);
        filter.sections = request.sections;
        filter.tags = request.tags;
        filter.delivery = request.delivery;
        let limit = request.limit.clamp(1, limits::LIST_RESULTS_MAX);
        let memories = self.store.list(&filter, Page { offset: request.offset, limit })?;
        reply_size(memories.iter().map(Memory::text_bytes).sum())?;
        Ok(memories)
    }
}
