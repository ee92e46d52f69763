//! Removing everything that a user left.

use loci_core::{Caller, Result, Wiped};

use crate::{Engine, check};

impl Engine {
    /// Removes the caller's data for good: see [`Store::wipe`](loci_core::Store::wipe); of whoever merely
    /// claims a name, what came in through the same tool set. With
    /// it go the notes of the caller's earlier calls that wait to be written, in whichever process:
    /// the store does not take them.
    ///
    /// # Errors
    /// `forbidden` without the scope `write` or to an anonymous caller; `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    pub fn wipe(&self, caller: &Caller) -> Result<Wiped> {
        let owner = check::deleting_subject(caller)?;
        // So that what this process noted is counted among what was removed.
        self.flush()?;
        self.store.wipe(&caller.space, owner, caller.is_claimed.then_some(caller.origin), self.now())
    }
}
