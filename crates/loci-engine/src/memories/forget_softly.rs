//! Forgetting a memory reversibly, and taking that back.

use loci_core::{Caller, Error, ErrorCode, Forgotten, Memory, MemoryId, Result, Timestamp};

use crate::Memories;
use crate::memories::update::put_next;
use crate::notes::in_file_or_store;

/// A memory after [`unforget`](crate::Memories::unforget).
#[derive(Debug, Clone, PartialEq)]
pub struct Unforgotten {
    /// The memory, which is not forgotten.
    pub memory: Memory,
    /// False if it was not forgotten before either.
    pub is_changed: bool,
}

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
        let (memory, _) = self.mark(caller, id, Some(self.clock.now()))?;
        self.access.without_hidden(caller, memory)
    }

    /// Takes a [`forget_softly`](crate::Memories::forget_softly) back, of a memory of any tool set,
    /// with the message that it was made from; of a note in its file. A memory that is not
    /// forgotten stays unchanged. Durable when it returns.
    ///
    /// # Errors
    /// As for `forget_softly`; `not_found` also for a memory that was deleted for good.
    pub fn unforget(&self, caller: &Caller, id: &MemoryId) -> Result<Unforgotten> {
        let marked = self.mark(caller, id, None);
        let (memory, is_changed) = marked.map_err(|error| match error.code {
            ErrorCode::NotFound => Error::not_found(format!(
                "there is no forgotten memory with the id {id}; what was deleted for good or has expired cannot be \
                 taken back, and only a backup or an export may still have it"
            )),
            _ => error,
        })?;
        let memory = self.access.without_hidden(caller, memory)?;
        Ok(Unforgotten { memory, is_changed })
    }

    /// Marks a memory as forgotten at a time, or as not forgotten, with the message that it was
    /// made from; a note in its file, with the current time. Returns the memory, and true if that
    /// changed it.
    pub(crate) fn mark(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten_at: Option<Timestamp>,
    ) -> Result<(Memory, bool)> {
        let differs = |memory: &Memory| memory.forgotten_at.is_some() != forgotten_at.is_some();
        let marked = |memory: Memory| Memory {
            forgotten_at,
            ..memory
        };
        let in_file = || match forgotten_at {
            Some(_) => self.notes.forget(caller, id),
            None => self.notes.unforget(caller, id),
        };
        let in_store = || {
            self.notes
                .change_in_store(caller, id, Forgotten::Show, |memory| {
                    if !differs(&memory) {
                        return Ok((Vec::new(), (memory, false)));
                    }
                    let message = self.message_of(caller, &memory)?.filter(differs);
                    let (change, memory) = put_next(marked(memory), None);
                    let also = message.map(|message| put_next(marked(message), None).0);
                    let changes = [change].into_iter().chain(also).collect();
                    Ok((changes, (memory, true)))
                })
        };
        in_file_or_store(in_file, in_store)
    }
}
