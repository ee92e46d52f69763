//! Deleting a memory permanently.

use loci_core::{Caller, Change, Forgotten, Memory, MemoryId, RecordVerb, Result, Tier};

use crate::Memories;
use crate::notes::in_file_or_store;

impl Memories<'_> {
    /// Permanently removes a memory, even a forgotten one, with the message that it was made from;
    /// a note is [forgotten](crate::Memories::forget_softly), and its file stays. Durable when it
    /// returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it,
    /// `unavailable` if the store cannot be written; for a note as for `forget_softly`.
    pub fn forget(&self, caller: &Caller, id: &MemoryId) -> Result<()> {
        let in_file = || {
            if !self
                .notes
                .is_note(&self.access.writable_among(caller, id, Forgotten::Show)?)?
            {
                return Ok(None);
            }
            self.access.writable(caller, id)?;
            Ok(self.notes.forget(caller, id)?.map(drop))
        };
        let in_store = || {
            self.notes
                .change_in_store(caller, id, Forgotten::Show, |memory| {
                    let delete = |memory: Memory| Change::Delete {
                        id: memory.id,
                        revision: memory.revision,
                    };
                    let message = self.message_of(caller, &memory)?;
                    Ok((
                        [memory].into_iter().chain(message).map(delete).collect(),
                        (),
                    ))
                })
        };
        in_file_or_store(in_file, in_store)
    }

    /// Returns the message that a memory was made from, if it still exists. A search shows one of
    /// the two, so both are deleted together.
    pub(crate) fn message_of(&self, caller: &Caller, memory: &Memory) -> Result<Option<Memory>> {
        let Some(source) = &memory.source else {
            return Ok(None);
        };
        let is_message =
            |source: &Memory| source.tier == Tier::ShortTerm && source.owner == memory.owner;
        let message = self.store.get(&memory.space, source)?.filter(is_message);
        if message.is_some() {
            let is_own = memory.owner == caller.principal.subject;
            caller
                .trail
                .note(RecordVerb::Read, source.as_str(), Some(is_own));
        }
        Ok(message)
    }
}
