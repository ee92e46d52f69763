//! Forgetting a memory reversibly, and taking that back.

use loci_core::{
    CollectionFilter, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, Result, SOURCE_FILE,
    Timestamp,
};

use crate::access::TIERS_BY_ID;
use crate::memories::Memories;
use crate::memories::update::put_next;
use crate::notes::in_file_or_store;

/// A memory after [`unforget`](crate::Memories::unforget).
#[derive(Debug, Clone, PartialEq)]
pub struct UnforgetReport {
    /// The memory, which is not forgotten.
    pub memory: Memory,
    /// False if it was not forgotten before either.
    pub is_changed: bool,
    /// True if it was soft-deleted before.
    pub was_deleted: bool,
}

impl Memories<'_> {
    /// Marks a memory of any tool set as forgotten, with the message that it was made from; a note
    /// in its file. A memory that is forgotten already stays unchanged, with its time. No later
    /// reading of a file and no import brings the text of another memory than a note back into
    /// sight; of a memory that was made from a file, copies from other files go along. Durable when
    /// it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it;
    /// `conflict` if it is a note whose frontmatter is broken, or that other writers keep changing;
    /// `unavailable` if the store or the folder of notes cannot be written.
    pub fn forget_softly(&self, id: &MemoryId) -> Result<Memory> {
        let now = self.clock.now();
        let (memory, _) = self.mark(id, Some(now))?;
        self.mark_copies(&memory, Some(now))?;
        self.access.without_hidden(memory)
    }

    /// Takes a [`forget_softly`](crate::Memories::forget_softly) back, of a memory of any tool set,
    /// with the message that it was made from; of a note in its file. Also takes a
    /// [`discard`](crate::Memories::discard) back until a sweep removes the memory, which may be
    /// named by the only id of deleted memories that begins or ends with 8 or more characters. A
    /// memory that is neither forgotten nor deleted stays unchanged. Durable when it returns.
    ///
    /// # Errors
    /// As for `forget_softly`; `not_found` also for a memory that was deleted for good;
    /// `invalid_argument` for a part of the ids of several deleted memories.
    pub fn unforget(&self, id: &MemoryId) -> Result<UnforgetReport> {
        let (memory, is_changed, was_deleted) = match self.mark(id, None) {
            Ok((memory, is_changed)) => (memory, is_changed, false),
            Err(error) if error.code == ErrorCode::NotFound => {
                let undeleted = self.undelete(id)?.ok_or_else(|| {
                    Error::not_found(format!(
                        "there is no forgotten memory with the id {id}; what was deleted for good or has expired \
                         cannot be taken back, and only a backup or an export may still have it"
                    ))
                })?;
                (undeleted, true, true)
            }
            Err(error) => return Err(error),
        };
        if is_changed && !was_deleted {
            self.mark_copies(&memory, None)?;
        }
        Ok(UnforgetReport {
            memory: self.access.without_hidden(memory)?,
            is_changed,
            was_deleted,
        })
    }

    /// Marks the memories with the text of this one that were made from files, and that the caller
    /// may write, as [`mark`](Self::mark) does: a search shows only one.
    fn mark_copies(&self, memory: &Memory, forgotten_at: Option<Timestamp>) -> Result<()> {
        if !memory.attributes.contains_key(SOURCE_FILE) {
            return Ok(());
        }
        let forgotten = match forgotten_at {
            Some(_) => Forgotten::Hide,
            None => Forgotten::Only,
        };
        let filter = Filter {
            tiers: TIERS_BY_ID.to_vec(),
            forgotten,
            ..self.access.filter(CollectionFilter::Any)
        };
        for id in self.store.ids_of_texts(&filter, &[&memory.content])? {
            let found = self.store.get_all(&filter, std::slice::from_ref(&id))?;
            let is_copy = |copy: &Memory| {
                copy.attributes.contains_key(SOURCE_FILE) && self.caller.may_write(copy)
            };
            if found.iter().any(is_copy) {
                self.mark(&id, forgotten_at)?;
            }
        }
        Ok(())
    }

    /// Marks a memory as forgotten at a time, or as not forgotten, with the message that it was
    /// made from; a note in its file, with the current time. Returns the memory, and true if that
    /// changed it.
    pub(crate) fn mark(
        &self,
        id: &MemoryId,
        forgotten_at: Option<Timestamp>,
    ) -> Result<(Memory, bool)> {
        let differs = |memory: &Memory| memory.forgotten_at.is_some() != forgotten_at.is_some();
        let marked = |memory: Memory| Memory {
            forgotten_at,
            ..memory
        };
        let in_file = || match forgotten_at {
            Some(_) => self.notes.forget(id),
            None => self.notes.unforget(id),
        };
        let in_store = || {
            self.notes.change_in_store(id, Forgotten::Show, |memory| {
                if !differs(&memory) {
                    return Ok((Vec::new(), (memory, false)));
                }
                let message = self.message_of(&memory)?.filter(differs);
                let tombstones = match forgotten_at {
                    Some(_) => self.tombstones.put([&memory], false)?,
                    None => self.tombstones.lift(std::slice::from_ref(&memory))?,
                };
                let (change, memory) = put_next(marked(memory), None);
                let also = message.map(|message| put_next(marked(message), None).0);
                let changes = [change].into_iter().chain(also).chain(tombstones);
                let changes = changes.collect();
                Ok((changes, (memory, true)))
            })
        };
        in_file_or_store(in_file, in_store)
    }
}
