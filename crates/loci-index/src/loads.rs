//! Counts of the loads of an index.

use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::IndexLoads;

/// Where a load takes the index from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadedFrom {
    /// The file of the index, which is mapped.
    File,
    /// The tables of the store.
    Tables,
}

/// Counts the loads of an index in this process, for figures.
#[derive(Debug, Default)]
pub struct LoadCounter {
    from_file: AtomicU64,
    from_tables: AtomicU64,
    failed: AtomicU64,
}

impl LoadCounter {
    /// Counts a load; `None` is one that failed.
    pub fn count(&self, outcome: Option<LoadedFrom>) {
        let counter = match outcome {
            Some(LoadedFrom::File) => &self.from_file,
            Some(LoadedFrom::Tables) => &self.from_tables,
            None => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> IndexLoads {
        IndexLoads {
            from_file: self.from_file.load(Ordering::Relaxed),
            from_tables: self.from_tables.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }
}
