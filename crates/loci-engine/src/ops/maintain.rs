//! What goes on in the background: expired memories are removed, pending embeddings made.

use std::sync::atomic::Ordering;

use loci_core::{Batch, Change, MemoryId, Result, Space};

use crate::{Engine, SearchMode};

/// Memories that one transaction sweeps, so that a caller's write never waits long.
const SWEEP_BATCH_MAX: usize = 500;
/// Memories that one round embeds.
const EMBED_ROUND_MAX: usize = 32;
/// Failures in a row that end a round.
const FAILURES_MAX: usize = 3;

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

    /// Embeds some of what waits for it. A text that the model refuses is passed over, so that it
    /// never holds up the others; it is tried again when the end of the queue was reached.
    fn embed_pending(&self) -> Result<usize> {
        let refused = self.refused.swap(0, Ordering::Relaxed);
        let pending = self.store.without_vector(self.embedder.model(), refused + EMBED_ROUND_MAX)?;
        let mut is_end = pending.len() < refused + EMBED_ROUND_MAX;
        let (mut embedded, mut failures, mut first_failure) = (0, 0, None);
        for (space, id) in pending.into_iter().skip(refused) {
            match self.embed_memory(&space, id) {
                Ok(()) => embedded += 1,
                Err(error) => {
                    failures += 1;
                    first_failure.get_or_insert(error);
                }
            }
            // Nothing but failures: the model is away, rather than the texts to blame.
            if embedded == 0 && failures == FAILURES_MAX {
                is_end = false;
                break;
            }
        }
        if !is_end {
            self.refused.store(refused + failures, Ordering::Relaxed);
        }
        match first_failure {
            Some(error) if embedded == 0 => Err(error),
            _ => Ok(embedded),
        }
    }

    fn embed_memory(&self, space: &Space, id: MemoryId) -> Result<()> {
        // It may have gone meanwhile.
        let Some(memory) = self.store.get(space, &id)? else { return Ok(()) };
        let mut passages = Engine::passages(&memory.content, &memory.tags);
        self.embed(&memory.content, &mut passages)?;
        let vectors = passages.into_iter().filter_map(|passage| passage.vector).collect();
        let change = Change::Embed { id, revision: memory.revision, vectors };
        self.store.commit(Batch { space: space.clone(), changes: vec![change] })
    }
}
