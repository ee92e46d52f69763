//! One memory by its id.

use loci_core::{Caller, Memory, MemoryId, Result};

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
}
