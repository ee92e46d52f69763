//! Removing all data of a user.

use loci_core::{
    Batch, Filter, MemoryId, OwnerFilter, Result, Tier, Visibility, WipeCounts, is_pseudonym,
    pseudonym,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Parts;
use crate::tombstones::{PART, everything};

impl Parts<'_> {
    /// Permanently removes the caller's data: see [`Store::wipe`](loci_core::Store::wipe). For a
    /// caller that merely claims a name, only data of the same tool set is removed. Audit entries
    /// of the caller's earlier calls that still wait to be written, in any process, are lost, too:
    /// the store does not accept them.
    ///
    /// No later reading of a file and no import brings the data back; what is left for that tells
    /// neither texts nor names.
    ///
    /// The caller's acts on records that stay are kept under a pseudonym, which is random for each
    /// wipe. The wipe of a pseudonym removes those, too.
    ///
    /// # Errors
    /// `forbidden` without the scope `write` or for an anonymous caller; `unavailable` if the store
    /// cannot be written. Then nothing was removed.
    pub fn wipe(&self) -> Result<WipeCounts> {
        let engine = self.engine();
        let owner = self.actor().deleting_subject()?;
        // So that the entries of this process are counted as removed.
        engine.audit().flush()?;
        let origin = self.caller().is_claimed.then_some(self.caller().origin);
        // The random bits of an id, hashed so that they do not reveal its time.
        let random = Sha256::digest(Uuid::now_v7().as_bytes())
            .first_chunk()
            .copied()
            .unwrap_or_default();
        let name = (!is_pseudonym(owner)).then(|| pseudonym(u128::from_be_bytes(random)));
        self.leave_tombstones(owner, origin)?;
        engine.store.wipe(
            &self.caller().space,
            owner,
            origin,
            name.as_deref(),
            engine.now(),
        )
    }

    /// Leaves tombstones of the memories that a wipe will remove, and one of the wipe itself.
    fn leave_tombstones(&self, owner: &str, origin: Option<&str>) -> Result<()> {
        let filter = Filter {
            owner: OwnerFilter::Only(owner.to_owned()),
            origins: Vec::from_iter(origin.map(str::to_owned)),
            ..everything(&self.caller().space)
        };
        let (store, tombstones) = (&self.engine().store, self.engine().tombstones(self.actor()));
        let revisions = store.revisions(&filter, usize::MAX)?;
        let ids: Vec<MemoryId> = revisions.into_iter().map(|(id, _)| id).collect();
        let commit = |change| store.commit(Batch::new(self.caller().space.clone(), vec![change]));
        for part in ids.chunks(PART) {
            let mut memories = tombstones.readable(&filter, part)?;
            // Others stay, without the name.
            memories.retain(|memory| {
                memory.visibility != Visibility::Common
                    || memory.tier == Tier::ShortTerm
                    || memory.enrichment.is_some()
            });
            if let Some(change) = tombstones.put(&memories, true)? {
                commit(change)?;
            }
        }
        commit(tombstones.of_wipe(&self.caller().space, owner, origin)?)
    }
}
