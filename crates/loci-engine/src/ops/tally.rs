//! Counting memories.

use loci_core::{Caller, CollectionFilter, Result, Tally};

use crate::Engine;

impl Engine {
    /// How many memories the caller may read, by place.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn tally(&self, caller: &Caller) -> Result<Vec<Tally>> {
        self.store.tally(&self.filter(caller, CollectionFilter::Any))
    }

    /// The collections that hold a memory which the caller may read, in order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn collections(&self, caller: &Caller) -> Result<Vec<String>> {
        let mut names: Vec<String> = self.tally(caller)?.into_iter().filter_map(|tally| tally.collection).collect();
        names.dedup();
        Ok(names)
    }
}
