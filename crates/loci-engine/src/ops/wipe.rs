//! Removing everything that a user left.

use loci_core::{Caller, Result, Wiped};

use crate::{Engine, check};

impl Engine {
    /// Removes the caller's data for good: see [`Store::wipe`](loci_core::Store::wipe). What this
    /// process still holds of the caller's audit entries and access counts goes with it.
    ///
    /// # Errors
    /// `forbidden` without the scope `write` or to an anonymous caller; `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    pub fn wipe(&self, caller: &Caller) -> Result<Wiped> {
        let owner = check::deleting_subject(caller)?;
        // So that they are counted among what was removed, and still there if the wipe fails.
        self.flush()?;
        let wiped = self.store.wipe(&caller.space, owner, self.now())?;
        // What was noted meanwhile.
        self.forget_buffered(&caller.space, owner);
        Ok(wiped)
    }
}
