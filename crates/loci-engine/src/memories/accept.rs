//! Accepting a memory that came in a file.

use loci_core::{Error, ErrorCode, Memory, MemoryId, Result, Scope, UNREVIEWED};

use crate::authors::hold_orders;
use crate::background::enrich::changed;
use crate::memories::Memories;

impl Memories<'_> {
    /// Makes agents follow a memory that came in a file and waits for a person. Returns false if it
    /// does not wait. Durable when it returns. It is the decision of a person: no tool of an agent calls it.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory; `forbidden` unless the caller is its owner
    /// or an `admin`, because the decision is for all who read it; `conflict` if other processes
    /// keep changing it; `unavailable` if the store cannot be written.
    pub fn accept(&self, id: &MemoryId) -> Result<bool> {
        self.set_unreviewed(id, false)
    }

    /// Takes an acceptance back. Returns false if the memory waits already, or gives no orders any
    /// more.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn hold(&self, id: &MemoryId) -> Result<bool> {
        self.set_unreviewed(id, true)
    }

    fn set_unreviewed(&self, id: &MemoryId, is_unreviewed: bool) -> Result<bool> {
        self.locks.change(id, || {
            let mut memory = self.access.writable(id)?;
            if !self.may_accept(&memory) {
                let message = "only its owner or an `admin` decides whether agents follow a memory that came in a file";
                return Err(Error::about_argument(ErrorCode::Forbidden, "id", message));
            }
            let before = memory.is_unreviewed();
            if is_unreviewed {
                hold_orders(&mut memory);
            } else {
                memory.attributes.remove(UNREVIEWED);
            }
            if memory.is_unreviewed() == before {
                return Ok(false);
            }
            self.access.commit(vec![changed(memory, None)])?;
            Ok(true)
        })
    }

    /// Returns true if the caller may [accept](Self::accept) a memory: its owner and an `admin`.
    pub fn may_accept(&self, memory: &Memory) -> bool {
        let principal = &self.caller.principal;
        principal.scopes.allow(Scope::Admin)
            || (principal.scopes.allow(Scope::Write) && memory.owner == principal.subject)
    }
}
