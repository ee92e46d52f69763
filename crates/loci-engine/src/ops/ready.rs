//! Waiting until the store is ready to search.

use std::time::{Duration, Instant};

use loci_core::Result;

use crate::Engine;

impl Engine {
    /// Has the store make itself ready to search, while the question is embedded. Returns when it
    /// has to be.
    pub(crate) fn begin_search(&self) -> Option<Instant> {
        self.search_wait.map(|wait| {
            // How far it is, counts at the end alone.
            let _ = self.store.prepare_search(Duration::ZERO);
            Instant::now() + wait
        })
    }

    /// Waits until the store is ready to search.
    ///
    /// # Errors
    /// `unavailable` if it is not by then, saying how far it is and when to try again.
    pub(crate) fn await_search(&self, ready_by: Option<Instant>) -> Result<()> {
        let left = |by: Instant| by.saturating_duration_since(Instant::now());
        ready_by.map_or(Ok(()), |by| self.store.prepare_search(left(by)))
    }
}
