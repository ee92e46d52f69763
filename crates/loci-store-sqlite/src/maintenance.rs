//! The care of an open store: checks, repairs, snapshots.

use loci_core::{Maintenance, Problem, ReindexCounts, Repair, Result};

use crate::integrity::doctor;
use crate::opening::backup::Snapshot;
use crate::statements::jobs;
use crate::store::SqliteStore;

impl Maintenance for SqliteStore {
    fn is_read_only(&self) -> bool {
        self.is_opened_read_only()
    }

    /// Checks each part as of a moment of its own, because several connections read the parts at
    /// once.
    fn integrity_check(&self) -> Result<Vec<Problem>> {
        let opened = self.opened()?;
        opened.unless_changed(doctor::check_in_parts(&opened.readers, true))
    }

    fn structure_check(&self) -> Result<Vec<Problem>> {
        let opened = self.opened()?;
        opened.unless_changed(doctor::check_in_parts(&opened.readers, false))
    }

    fn repair(&self) -> Result<Repair> {
        let opened = self.opened_to_write()?;
        let done = opened.work().repair();
        opened.cache.forget_segment();
        done
    }

    fn reindex(&self, embeddings: bool) -> Result<ReindexCounts> {
        let opened = self.opened_to_write()?;
        let done = opened.work().reindex(embeddings);
        opened.cache.forget_segment();
        done
    }

    fn check_write(&self) -> Result<()> {
        self.opened_to_write()?.writer.run(jobs::check_write)
    }

    fn snapshot(&self) -> Result<Box<dyn loci_core::Snapshot>> {
        Ok(Box::new(Snapshot::of(self.opened()?)?))
    }
}
