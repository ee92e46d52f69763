//! Removing all data of a user.

use loci_core::{Caller, Result, Wiped, is_pseudonym, pseudonym};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{Engine, check};

impl Engine {
    /// Permanently removes the caller's data: see [`Store::wipe`](loci_core::Store::wipe). For a
    /// caller that merely claims a name, only data of the same tool set is removed. Audit entries
    /// of the caller's earlier calls that still wait to be written, in any process, are lost, too:
    /// the store does not accept them.
    ///
    /// The caller's acts on records that stay are kept under a pseudonym, which is random for each
    /// wipe. The wipe of a pseudonym removes those, too.
    ///
    /// # Errors
    /// `forbidden` without the scope `write` or for an anonymous caller; `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    pub fn wipe(&self, caller: &Caller) -> Result<Wiped> {
        let owner = check::deleting_subject(caller)?;
        // So that the entries of this process are counted as removed.
        self.audit().flush()?;
        let origin = caller.is_claimed.then_some(caller.origin);
        // The random bits of an id, hashed so that they do not reveal its time.
        let random = Sha256::digest(Uuid::now_v7().as_bytes())
            .first_chunk()
            .copied()
            .unwrap_or_default();
        let name = (!is_pseudonym(owner)).then(|| pseudonym(u128::from_be_bytes(random)));
        self.store
            .wipe(&caller.space, owner, origin, name.as_deref(), self.now())
    }
}
