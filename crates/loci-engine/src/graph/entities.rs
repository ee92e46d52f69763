//! The entities of the knowledge graph.

use loci_core::{Entity, EntityQuery, Result};

use crate::graph::Graph;
use crate::graph::knowledge_graph::{EVER, name_key};

impl Graph<'_> {
    /// Returns at most `limit` entities whose names contain a text, without regard to case, all if it
    /// is empty: the ones with most facts first. A retracted fact does not count.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn entities(&self, text: &str, limit: usize) -> Result<Vec<Entity>> {
        self.store.entities(&EntityQuery {
            space: self.caller.space.clone(),
            text: name_key(text),
            as_of: EVER,
            now: self.clock.now(),
            limit,
        })
    }
}
