//! Brings the index of the notes up to the files of their folder.

use loci_core::Result;

use crate::notes::{Extent, Notes, ReconciliationReport};

impl Notes<'_> {
    /// Compares every file of the folder of notes with the index, reads those whose size or time
    /// has changed, and brings the index up to date. Does nothing without such a folder. One
    /// process at a time does this, and no note is written while it runs. A folder that is missing,
    /// or another one in which no file matches the index (by more than its name), counts as away:
    /// everything stays.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read or written. Files indexed until then
    /// stay so.
    pub fn reconcile(&self) -> Result<ReconciliationReport> {
        self.reconcile_notes(Extent::Everything)
    }

    /// Does the same, but does not index unknown files, unless one is a known note under another
    /// path.
    ///
    /// # Errors
    /// As for [`reconcile`](crate::Notes::reconcile).
    pub fn reconcile_known(&self) -> Result<ReconciliationReport> {
        self.reconcile_notes(Extent::Known)
    }

    /// Does the same for a user who confirms that missing files are gone for good: no folder counts
    /// as away.
    ///
    /// # Errors
    /// As for [`reconcile`](crate::Notes::reconcile).
    pub fn reconcile_accepting_missing(&self) -> Result<ReconciliationReport> {
        self.reconcile_notes(Extent::AcceptingMissing)
    }
}
