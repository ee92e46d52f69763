//! Removing a memory.

use loci_core::{Batch, Caller, Change, MemoryId, Result};

use crate::Engine;

impl Engine {
    /// Removes a memory for good; durable when it returns.
    ///
    /// # Errors
    /// `not_found` if there is none that the caller may read, `forbidden` if it may only read it,
    /// `unavailable` if the store cannot be written.
    pub fn forget(&self, caller: &Caller, id: &MemoryId) -> Result<()> {
        self.locks.change(id, || {
            let memory = self.writable(caller, id)?;
            let change = Change::Delete { id: id.clone(), revision: memory.revision };
            self.store.commit(Batch { space: caller.space.clone(), changes: vec![change] })
        })
    }
}
