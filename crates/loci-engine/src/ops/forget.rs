//! Removing a memory.

use loci_core::{Batch, Caller, Change, Forgotten, MemoryId, Result};

use crate::Engine;

impl Engine {
    /// Removes a memory for good, a forgotten one, too; a note is [forgotten](Engine::forget_softly), and its file
    /// stays. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if there is none that the caller may read, `forbidden` if it may only read it,
    /// `unavailable` if the store cannot be written; for a note as for `forget_softly`.
    pub fn forget(&self, caller: &Caller, id: &MemoryId) -> Result<()> {
        if self.is_note(&self.writable_among(caller, id, Forgotten::Show)?)? {
            self.writable(caller, id)?;
            return self.forget_softly(caller, id).map(drop);
        }
        self.locks.change(id, || {
            let memory = self.writable_among(caller, id, Forgotten::Show)?;
            let change = Change::Delete { id: id.clone(), revision: memory.revision };
            self.store.commit(Batch { space: caller.space.clone(), changes: vec![change] })
        })
    }
}
