//! What goes on in the background: expired memories are removed, pending embeddings made.

use loci_core::{Batch, Change, Result};

use crate::{Engine, SearchMode};

/// Memories that one transaction sweeps, so that a caller's write never waits long.
const SWEEP_BATCH_MAX: usize = 500;
/// Memories that one round embeds.
const EMBED_ROUND_MAX: usize = 32;

/// What a round of maintenance did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Maintained {
    /// Expired memories removed.
    pub swept: usize,
    /// Memories embedded.
    pub embedded: usize,
}

impl Engine {
    /// One bounded round. Call it now and then, and again at once while it did anything. Any
    /// number of processes may run it on one store: work done twice changes nothing.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer.
    pub fn maintain(&self) -> Result<Maintained> {
        let swept = self.store.sweep(self.now(), SWEEP_BATCH_MAX)?;
        let embedded = if self.search_mode == SearchMode::Words { 0 } else { self.embed_pending()? };
        Ok(Maintained { swept, embedded })
    }

    fn embed_pending(&self) -> Result<usize> {
        let pending = self.store.without_vector(self.embedder.model(), EMBED_ROUND_MAX)?;
        let mut embedded = 0;
        for (space, id) in pending {
            let Some(memory) = self.store.get(&space, &id)? else { continue };
            let mut passages = Engine::passages(&memory.content, &memory.tags);
            self.embed(&memory.content, &mut passages)?;
            let vectors = passages.into_iter().filter_map(|passage| passage.vector).collect();
            let change = Change::Embed { id, revision: memory.revision, vectors };
            self.store.commit(Batch { space, changes: vec![change] })?;
            embedded += 1;
        }
        Ok(embedded)
    }
}
