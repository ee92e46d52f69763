//! What waits to be written: audit entries and access counts.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loci_core::limits::BUFFERED_MAX;
use loci_core::{Access, AuditEntry, Error, MemoryId, Space};

/// The entries that stay in a full buffer that cannot be written. Fewer than its limit, so that not
/// every later call waits for a write that fails.
const KEPT_MAX: usize = BUFFERED_MAX / 10 * 9;

/// The audit entries and access counts that wait for the next flush.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    noted: Mutex<PendingAudit>,
    /// Held during a flush: two at once would write entries twice, or in another order. Contains
    /// the error of the last flush, if it failed.
    pub(super) flushing: Mutex<Option<Error>>,
}

type Accesses = HashMap<(Space, MemoryId), Access>;

#[derive(Debug, Default)]
pub(super) struct PendingAudit {
    /// Oldest first.
    pub(super) entries: Vec<AuditEntry>,
    pub(super) accesses: Accesses,
    /// Taken by a flush, and counted here until the store has them.
    pub(super) in_flight: Accesses,
}

impl Buffers {
    pub(super) fn noted(&self) -> MutexGuard<'_, PendingAudit> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingAudit {
    pub(super) fn count(&mut self, key: (Space, MemoryId), access: Access) {
        let sum = self.accesses.entry(key).or_default();
        *sum = sum.plus(access);
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len().max(self.accesses.len()) > BUFFERED_MAX
    }

    /// Drops the oldest entries of a full buffer, and counts of arbitrary memories; returns the
    /// number dropped.
    pub(super) fn make_room(&mut self) -> usize {
        let excess = |len: usize| {
            if len > BUFFERED_MAX {
                len - KEPT_MAX
            } else {
                0
            }
        };
        let entries = self.entries.drain(..excess(self.entries.len())).count();
        let accesses = excess(self.accesses.len());
        entries + self.accesses.extract_if(|_, _| true).take(accesses).count()
    }
}
