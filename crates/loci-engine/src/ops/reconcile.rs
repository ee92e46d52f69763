//! Brings the index of the notes up to the files of their folder.

use loci_core::Result;

use crate::notes::Extent;
use crate::{Engine, Reconciled};

impl Engine {
    /// Looks at every file of the folder of notes, reads those whose size or time is not the known
    /// one, and brings the index up to them. Nothing happens without such a folder. One process at
    /// a time does this, and no process writes notes meanwhile. A folder that is not there, or is
    /// another one in which no known file is as it is known (its name alone tells nothing), is
    /// taken for one that is away: everything stays.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read or written. Files that were read
    /// until then stay so.
    pub fn reconcile(&self) -> Result<Reconciled> {
        self.reconcile_notes(Extent::Everything)
    }

    /// The same, but files that nothing is known of stay so, unless one is a known note under
    /// another path.
    ///
    /// # Errors
    /// As for [`reconcile`](Engine::reconcile).
    pub fn reconcile_known(&self) -> Result<Reconciled> {
        self.reconcile_notes(Extent::Known)
    }

    /// The same for a person who says that files which are not there are gone for good: nothing is
    /// taken for being away.
    ///
    /// # Errors
    /// As for [`reconcile`](Engine::reconcile).
    pub fn reconcile_accepting_missing(&self) -> Result<Reconciled> {
        self.reconcile_notes(Extent::AcceptingMissing)
    }
}
