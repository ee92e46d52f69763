//! Removing everything that a user left.

use loci_core::{Caller, Result, Wiped, is_pseudonym, pseudonym};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{Engine, check};

impl Engine {
    /// Removes the caller's data for good: see [`Store::wipe`](loci_core::Store::wipe); for a
    /// caller that merely claims a name, only the data of the same dialect. With it go the notes of
    /// the caller's earlier calls that wait to be written, in whichever process: the store does not
    /// take them.
    ///
    /// The acts of the caller on records that stay are left under a pseudonym, which is made at
    /// random for each wipe. The wipe of a pseudonym removes that, too.
    ///
    /// # Errors
    /// `forbidden` without the scope `write` or to an anonymous caller; `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    pub fn wipe(&self, caller: &Caller) -> Result<Wiped> {
        let owner = check::deleting_subject(caller)?;
        // So that what this process noted is counted among what was removed.
        self.flush()?;
        let origin = caller.is_claimed.then_some(caller.origin);
        // The random bits of an id, in a form that says nothing of the moment.
        let random = Sha256::digest(Uuid::now_v7().as_bytes())
            .first_chunk()
            .copied()
            .unwrap_or_default();
        let name = (!is_pseudonym(owner)).then(|| pseudonym(u128::from_be_bytes(random)));
        self.store
            .wipe(&caller.space, owner, origin, name.as_deref(), self.now())
    }
}
