//! What goes on in the background: what was noted is written, what is over is removed, pending
//! embeddings are made.

use std::sync::atomic::Ordering;

use loci_core::{Batch, Change, MemoryId, Result, Space, Sweep};

use crate::{Engine, SearchMode};

/// Things that one transaction sweeps, so that a caller's write never waits long.
const SWEEP_BATCH: usize = 64;
/// Transactions of one round of sweeping.
const SWEEP_BATCHES_MAX: usize = 32;
/// Seconds that wipes are remembered: longer than any write that was under way.
const WIPE_MEMORY_SECONDS: u64 = 86_400;
/// Memories that one round embeds.
const EMBED_ROUND_MAX: usize = 32;
/// Failures in a row that end a round.
const FAILURES_MAX: usize = 3;

/// What a round of maintenance did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Maintained {
    /// Things removed because their time was over: memories, cached answers, decisions, entries of
    /// the audit log, records of wipes.
    pub swept: usize,
    /// Memories embedded.
    pub embedded: usize,
}

impl Engine {
    /// One bounded round: writes what was noted, sweeps, embeds what waits for it. Call it now and
    /// then, and again at once while it did anything. Any number of processes may run it on one
    /// store: one at a time sweeps, one embeds, and the others find nothing to do.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer.
    pub fn maintain(&self) -> Result<Maintained> {
        self.flush()?;
        let swept = self.sweep()?;
        let embedded = if self.search_mode == SearchMode::Words { 0 } else { self.embed_pending()? };
        Ok(Maintained { swept, embedded })
    }

    fn sweep(&self) -> Result<usize> {
        let now = self.now();
        let before = |seconds: u64| now.plus_seconds(0_i64.saturating_sub_unsigned(seconds));
        let sweep = Sweep {
            expired_at: now,
            deleted_until: before(self.policy.purge_after_seconds),
            audited_before: before(self.policy.audit_retention_seconds),
            wiped_before: before(WIPE_MEMORY_SECONDS),
        };
        // Looked at first, because even an empty write takes the lock of all processes.
        if !self.store.needs_sweep(&sweep)? {
            return Ok(0);
        }
        let swept = self.under_lease("sweep", || {
            let mut swept = 0;
            for _ in 0..SWEEP_BATCHES_MAX {
                let found = self.store.sweep(&sweep, SWEEP_BATCH)?;
                swept += found;
                if found < SWEEP_BATCH {
                    break;
                }
            }
            Ok(swept)
        })?;
        Ok(swept.unwrap_or(0))
    }

    fn embed_pending(&self) -> Result<usize> {
        if self.store.without_vector(self.embedder.model(), 1)?.is_empty() {
            self.rounds.refused.store(0, Ordering::Relaxed);
            return Ok(0);
        }
        Ok(self.under_lease("embed", || self.embed_some())?.unwrap_or(0))
    }

    /// Embeds some of what waits for it. A text that the model refuses is passed over, so that it
    /// never holds up the others; it is tried again when the end of the queue was reached.
    fn embed_some(&self) -> Result<usize> {
        let refused = self.rounds.refused.swap(0, Ordering::Relaxed);
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
            self.rounds.refused.store(refused + failures, Ordering::Relaxed);
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
