//! Removing what one has filed in a place.

use loci_core::{
    Batch, Caller, Change, CollectionFilter, Error, ErrorCode, Filter, MemoryId, OwnerFilter, Result, Scope, Tier,
};

use crate::Engine;

/// Memories that one transaction removes, so that another caller's write never waits long.
const CLEAR_BATCH_MAX: usize = 256;
/// Memories that are looked up at a time, since each look sorts all that there are.
const CLEAR_READ: usize = 16 * CLEAR_BATCH_MAX;

impl Engine {
    /// Removes for good the caller's own memories in these collections that came in through the tool set
    /// which it calls through, those that are kept apart too, but for what is written meanwhile; returns how
    /// many. Durable when it returns.
    ///
    /// # Errors
    /// `forbidden` without the scope `write`; `unavailable` if the store cannot be written: what was
    /// removed until then stays removed.
    pub fn clear(&self, caller: &Caller, collections: CollectionFilter) -> Result<usize> {
        const CONFLICTS_MAX: usize = 100;
        if !caller.principal.scopes.allow(Scope::Write) {
            return Err(Error::new(ErrorCode::Forbidden, "deleting needs a token with the scope `write`"));
        }
        let filter = Filter {
            owner: OwnerFilter::of(caller.principal.subject.as_deref()),
            origin: Some(caller.origin.to_owned()),
            tiers: vec![Tier::LongTerm, Tier::Apart],
            // Whoever goes on writing is not waited for.
            created_until: Some(self.now()),
            ..self.filter(caller, collections)
        };
        let (mut removed, mut conflicts) = (0, 0);
        loop {
            let found = self.store.revisions(&filter, CLEAR_READ)?;
            if found.is_empty() {
                return Ok(removed);
            }
            for part in found.chunks(CLEAR_BATCH_MAX) {
                let delete = |(id, revision): &(MemoryId, u64)| Change::Delete { id: id.clone(), revision: *revision };
                let changes = part.iter().map(delete).collect();
                match self.store.commit(Batch { space: caller.space.clone(), changes }) {
                    Ok(()) => removed += part.len(),
                    // One of them changed meanwhile.
                    Err(error) if error.code == ErrorCode::Conflict && conflicts < CONFLICTS_MAX => conflicts += 1,
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
