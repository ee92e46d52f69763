//! Forgetting a memory reversibly.

use loci_core::{Caller, Forgotten, Memory, MemoryId, Result};

use crate::Memories;
use crate::memories::update::put_next;
use crate::notes::in_file_or_store;

impl Memories<'_> {
    /// Marks a memory of any tool set as forgotten, with the message that it was made from; a note
    /// in its file. A memory that is forgotten already stays unchanged, with its time. Durable when
    /// it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it;
    /// `conflict` if it is a note whose frontmatter is broken, or that other writers keep changing;
    /// `unavailable` if the store or the folder of notes cannot be written.
    pub fn forget_softly(&self, caller: &Caller, id: &MemoryId) -> Result<Memory> {
        let in_store = || {
            self.notes
                .change_in_store(caller, id, Forgotten::Show, |memory| {
                    if memory.forgotten_at.is_some() {
                        return Ok((Vec::new(), memory));
                    }
                    let forgotten = |memory: Memory| Memory {
                        forgotten_at: Some(self.clock.now()),
                        ..memory
                    };
                    let message = self.message_of(caller, &memory)?;
                    let (change, memory) = put_next(forgotten(memory), None);
                    let also = message.map(|message| put_next(forgotten(message), None).0);
                    Ok(([change].into_iter().chain(also).collect(), memory))
                })
        };
        let forgotten = in_file_or_store(|| self.notes.forget(caller, id), in_store)?;
        self.access.without_hidden(caller, forgotten)
    }
}
