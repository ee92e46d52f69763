//! Waiting for the store to become ready to search.

use std::time::{Duration, Instant};

use loci_core::Result;

use crate::search::Search;

impl Search<'_> {
    /// Starts the preparation of the store for search, while the question is embedded. Returns the
    /// time by which it must be ready.
    pub(crate) fn begin_search(&self) -> Option<Instant> {
        self.wait.map(|wait| {
            // Its progress only matters at the end.
            let _ = self.store.prepare_search(Duration::ZERO);
            Instant::now() + wait
        })
    }

    /// Waits until the store is ready to search.
    ///
    /// # Errors
    /// `unavailable` if it is not ready by then, with its progress and when to retry.
    pub(crate) fn await_search(&self, ready_by: Option<Instant>) -> Result<()> {
        let left = |by: Instant| by.saturating_duration_since(Instant::now());
        ready_by.map_or(Ok(()), |by| self.store.prepare_search(left(by)))
    }
}
