//! Counts of memories.

use std::collections::BTreeSet;

use loci_core::{Caller, CollectionFilter, Filter, LocationCount, Memory, MemoryId, Result, Tier};

use crate::{Engine, SearchMode};

impl Engine {
    /// Returns the number of memories that the caller may read, by location and kind.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_by_location(&self, caller: &Caller) -> Result<Vec<LocationCount>> {
        self.store
            .count_by_location(&self.filter(caller, CollectionFilter::Any))
    }

    /// Returns the same, including unlisted memories of the caller's tool set. The cost depends on
    /// the number of locations, not of memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn places(&self, caller: &Caller) -> Result<Vec<LocationCount>> {
        self.store.count_by_location(&self.places_filter(caller))
    }

    /// Returns the same, after dropping the in-memory state of this process and counting again.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_uncached(&self, caller: &Caller) -> Result<Vec<LocationCount>> {
        self.store.reload()?;
        self.store.count_uncached(&self.places_filter(caller))
    }

    /// Returns the filter of [`places`](Engine::places).
    pub(crate) fn places_filter(&self, caller: &Caller) -> Filter {
        let filter = self.filter(caller, CollectionFilter::Any);
        Filter {
            tiers: vec![Tier::LongTerm, Tier::Unlisted],
            ..filter
        }
    }

    /// Removes links and superseded ids from the memories if the caller may not read the other
    /// memory, or it is deleted or forgotten. Every operation that returns memories to a caller
    /// calls this, so that no tool can forget it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn hide_references<'a>(
        &self,
        caller: &Caller,
        memories: impl IntoIterator<Item = &'a mut Memory>,
    ) -> Result<()> {
        let mut memories: Vec<&mut Memory> = memories.into_iter().collect();
        let named = memories.iter().flat_map(|memory| {
            memory
                .links
                .iter()
                .map(|link| &link.target)
                .chain(&memory.supersedes)
                .cloned()
        });
        let named: Vec<MemoryId> = named.collect::<BTreeSet<_>>().into_iter().collect();
        if named.is_empty() {
            return Ok(());
        }
        let found = self
            .store
            .locations_of(&self.places_filter(caller), &named)?;
        let found: BTreeSet<MemoryId> = found.into_iter().map(|(id, _)| id).collect();
        for memory in &mut memories {
            memory.links.retain(|link| found.contains(&link.target));
            memory.supersedes.take_if(|id| !found.contains(id));
        }
        Ok(())
    }

    /// Returns the collections with a memory that the caller may read, in order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn collections(&self, caller: &Caller) -> Result<Vec<String>> {
        let mut names: Vec<String> = self
            .count_by_location(caller)?
            .into_iter()
            .filter_map(|tally| tally.collection)
            .collect();
        names.dedup();
        Ok(names)
    }

    /// Returns the reason why searches use words alone, in a sentence; `None` if they also use
    /// meaning. Loads the model.
    pub fn model_problem(&self) -> Option<String> {
        if self.search_mode == SearchMode::Words {
            return Some("search is set to go by words alone".to_owned());
        }
        self.vectors(&["ready"]).err().map(|error| error.message)
    }
}
