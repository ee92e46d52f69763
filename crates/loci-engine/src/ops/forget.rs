//! Removing a memory.

use loci_core::{Caller, Change, Forgotten, MemoryId, Result};

use crate::Engine;
use crate::notes::in_file_or_store;

impl Engine {
    /// Removes a memory for good, a forgotten one, too; a note is [forgotten](Engine::forget_softly), and its file
    /// stays. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if there is none that the caller may read, `forbidden` if it may only read it,
    /// `unavailable` if the store cannot be written; for a note as for `forget_softly`.
    pub fn forget(&self, caller: &Caller, id: &MemoryId) -> Result<()> {
        let in_file = || {
            if !self.is_note(&self.writable_among(caller, id, Forgotten::Show)?)? {
                return Ok(None);
            }
            self.writable(caller, id)?;
            Ok(self.forget_note(caller, id)?.map(drop))
        };
        let in_store = || {
            self.change_in_store(caller, id, Forgotten::Show, |memory| {
                Ok((Some(Change::Delete { id: id.clone(), revision: memory.revision }), ()))
            })
        };
        in_file_or_store(in_file, in_store)
    }
}
