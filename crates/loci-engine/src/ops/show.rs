//! One memory by its id.

use loci_core::{Caller, Forgotten, Memory, MemoryId, Result};

use crate::Engine;

impl Engine {
    /// The live memory with this id, if the caller may read it.
    ///
    /// # Errors
    /// `not_found` if there is none or the caller may not read it, in the same words;
    /// `unavailable` if the store cannot be read.
    pub fn show(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        self.readable(caller, id)
    }

    /// The same, be it forgotten or not, if forgotten ones are shown.
    ///
    /// # Errors
    /// As for [`show`](Engine::show).
    pub fn show_among(&self, caller: &Caller, id: &MemoryId, forgotten: Forgotten) -> Result<Memory> {
        self.readable_among(caller, id, forgotten)
    }
}
