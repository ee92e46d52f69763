//! Counts of a user's memories from conversations.

use loci_core::{Result, StatusCount};

use crate::listings::Listings;

impl Listings<'_> {
    /// Returns the number of live memories from conversations that the caller owns, by tier and
    /// enrichment status; empty for an anonymous caller.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn count_by_status(&self) -> Result<Vec<StatusCount>> {
        let Some(owner) = &self.caller.principal.subject else {
            return Ok(Vec::new());
        };
        self.store
            .count_by_status(&self.caller.space, owner, self.clock.now())
    }
}
