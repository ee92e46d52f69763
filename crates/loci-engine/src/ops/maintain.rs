//! What goes on in the background beside enrichment: what is over is removed, pending embeddings are
//! made.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use loci_core::{Batch, Change, MemoryId, Result, Space, Sweep};

use crate::{Engine, SearchMode, catch_panic};

/// Things that one transaction sweeps, so that a caller's write never waits long.
const SWEEP_BATCH: usize = 64;
/// Seconds that wipes are remembered: longer than any write that was under way.
const WIPE_MEMORY_SECONDS: u64 = 86_400;
/// Memories that one round embeds.
const EMBED_ROUND_MAX: usize = 32;
/// The time after which a round embeds no further memory.
const EMBED_ROUND_TIME: Duration = Duration::from_millis(200);
/// Passages that are embedded between two looks at the lease: seconds of work.
const EMBED_STEP: usize = 64;
/// Failures in a row that end a round.
const FAILURES_MAX: usize = 3;

impl Engine {
    /// Removes what is over, in one short transaction: memories, cached answers, decisions, entries of
    /// the audit log, records of wipes. Returns in how many steps; after a round with any there may
    /// be more. Leave the store to others for a while in between: whoever waits for its lock
    /// looks for it now and then only, and would miss gaps that are short.
    ///
    /// Any number of processes may run it on one store. One at a time sweeps, until it finds nothing,
    /// and the others find nothing meanwhile.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn sweep(&self) -> Result<usize> {
        let now = self.now();
        let before = |seconds: u64| now.plus_seconds(0_i64.saturating_sub_unsigned(seconds));
        let sweep = Sweep {
            expired_at: now,
            deleted_until: before(self.policy.purge_after_seconds),
            audited_before: before(self.policy.audit_retention_seconds),
            wiped_before: before(WIPE_MEMORY_SECONDS),
        };
        let lease = &self.rounds.sweeping;
        // Looked at first, because even an empty write takes the lock of all processes.
        if !lease.is_held() && !self.store.needs_sweep(&sweep)? {
            return Ok(0);
        }
        self.under_lease(lease, || self.store.sweep(&sweep, SWEEP_BATCH))
    }

    /// Embeds some of the memories that wait for it: at least one, and further ones for a fraction of a
    /// second. Returns how many; after a round that embedded some there may be more. Any number of
    /// processes may run it on one store: one at a time embeds, and the others find nothing to do.
    ///
    /// # Errors
    /// `unavailable` if the store or the model does not answer, or if the model took none of the texts.
    pub fn embed_pending(&self) -> Result<usize> {
        if self.search_mode == SearchMode::Words {
            return Ok(0);
        }
        let lease = &self.rounds.embedding;
        if !lease.is_held() && self.store.without_vector(self.embedder.model(), 1)?.is_empty() {
            self.rounds.refused.store(0, Ordering::Relaxed);
            return Ok(0);
        }
        self.under_lease(lease, || self.embed_some())
    }

    /// A text that the model refuses is passed over, so that it never holds up the others; it is
    /// tried again when the end of the queue was reached.
    fn embed_some(&self) -> Result<usize> {
        let begun = Instant::now();
        let refused = self.rounds.refused.swap(0, Ordering::Relaxed);
        let pending = self.store.without_vector(self.embedder.model(), refused + EMBED_ROUND_MAX)?;
        let mut is_end = pending.len() < refused + EMBED_ROUND_MAX;
        let (mut embedded, mut failures, mut first_failure) = (0, 0, None);
        for (space, id) in pending.into_iter().skip(refused) {
            match catch_panic(|| self.embed_memory(&space, id)) {
                Ok(true) => embedded += 1,
                // The lease is another engine's: the rest is, too.
                Ok(false) => break,
                Err(error) => {
                    failures += 1;
                    first_failure.get_or_insert(error);
                }
            }
            // Nothing but failures: the model is away, rather than the texts to blame.
            let is_away = embedded == 0 && failures == FAILURES_MAX;
            if is_away || (embedded > 0 && begun.elapsed() >= EMBED_ROUND_TIME) {
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

    /// Says whether it may go on: not if the lease was lost.
    fn embed_memory(&self, space: &Space, id: MemoryId) -> Result<bool> {
        // It may have gone meanwhile.
        let Some(memory) = self.store.get(space, &id)? else { return Ok(true) };
        let mut passages = Engine::passages(&memory.content, &memory.tags);
        for step in passages.chunks_mut(EMBED_STEP) {
            // A failure to renew it is no reason to throw away what is done.
            if let Ok(false) = self.hold(&self.rounds.embedding) {
                return Ok(false);
            }
            self.embed(&memory.content, step)?;
        }
        let vectors = passages.into_iter().filter_map(|passage| passage.vector).collect();
        let change = Change::Embed { id, revision: memory.revision, vectors };
        self.store.commit(Batch { space: space.clone(), changes: vec![change] })?;
        Ok(true)
    }
}
