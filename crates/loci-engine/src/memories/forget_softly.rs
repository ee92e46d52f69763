//! Forgetting a memory reversibly.

use loci_core::{Caller, Forgotten, Memory, MemoryId, RecordVerb, Result};

use crate::Engine;
use crate::memories::update::put_next;
use crate::notes::{Embedded, in_file_or_store};

impl Engine {
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
            self.change_in_store(caller, id, Forgotten::Show, |memory| {
                if memory.forgotten_at.is_some() {
                    return Ok((Vec::new(), memory));
                }
                let forgotten = |memory: Memory| Memory {
                    forgotten_at: Some(self.now()),
                    ..memory
                };
                let message = self.message_of(caller, &memory)?;
                let (change, memory) = put_next(forgotten(memory), None);
                let also = message.map(|message| put_next(forgotten(message), None).0);
                Ok(([change].into_iter().chain(also).collect(), memory))
            })
        };
        let forgotten = in_file_or_store(|| self.forget_note(caller, id), in_store)?;
        self.without_hidden(caller, forgotten)
    }

    /// Does the same for a note, in its file; returns `None` if the memory is not a note.
    pub(crate) fn forget_note(&self, caller: &Caller, id: &MemoryId) -> Result<Option<Memory>> {
        let forgotten = self.change_note(
            caller,
            id,
            Forgotten::Show,
            &Embedded::default(),
            |_, note| {
                if note.is_deleted {
                    return Ok(false);
                }
                note.is_deleted = true;
                note.deleted_at = Some(self.note_time());
                Ok(true)
            },
        )?;
        if forgotten.is_some() {
            caller.trail.note(RecordVerb::Deleted, id.as_str(), None);
        }
        Ok(forgotten)
    }
}
