//! Counting memories.

use loci_core::{Caller, CollectionFilter, Filter, Result, Tally, Tier};

use crate::{Engine, SearchMode};

impl Engine {
    /// How many memories the caller may read, by place and kind.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn tally(&self, caller: &Caller) -> Result<Vec<Tally>> {
        self.store.tally(&self.filter(caller, CollectionFilter::Any))
    }

    /// The same with what is kept apart and came in through the caller's tool set. Costs by the number of places, not
    /// of memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn places(&self, caller: &Caller) -> Result<Vec<Tally>> {
        self.store.tally(&self.places_filter(caller))
    }

    /// The same, after everything that this process holds in memory was dropped, and counted afresh.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn recount_places(&self, caller: &Caller) -> Result<Vec<Tally>> {
        self.store.reload()?;
        self.store.recount(&self.places_filter(caller))
    }

    /// The filter behind [`places`](Engine::places).
    pub(crate) fn places_filter(&self, caller: &Caller) -> Filter {
        let filter = self.filter(caller, CollectionFilter::Any);
        Filter { tiers: vec![Tier::LongTerm, Tier::Apart], ..filter }
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

    /// Why searches go by words alone here, in a sentence; none if they go by meaning, too. Loads the model.
    pub fn model_problem(&self) -> Option<String> {
        if self.search_mode == SearchMode::Words {
            return Some("search is set to go by words alone".to_owned());
        }
        self.vectors(&["ready"]).err().map(|error| error.message)
    }
}
