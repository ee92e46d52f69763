//! The counts of a user's conversations.

use loci_core::{Caller, Result, StatusCount};

use crate::Engine;

impl Engine {
    /// How many live memories of conversations the caller owns, by tier and enrichment status; none
    /// for an anonymous caller.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_by_status(&self, caller: &Caller) -> Result<Vec<StatusCount>> {
        let Some(owner) = &caller.principal.subject else {
            return Ok(Vec::new());
        };
        self.store.count_by_status(&caller.space, owner, self.now())
    }
}
