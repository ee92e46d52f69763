//! Changing a memory.

use loci_core::{Batch, Caller, Change, Error, Expect, Forgotten, Memory, MemoryId, Passage, Result, Visibility};

use crate::notes::{cannot_change, note_body};
use crate::{Embedding, Engine, check};

impl Engine {
    /// Replaces the content of a memory and makes it new (`updated_at`), and says whether it is shared, if
    /// `shared` does; its summary goes, everything else stays. The text of a note is changed in its file.
    /// Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the content, `invalid_argument` for making private what is
    /// common; `not_found` if there is no such memory
    /// that the caller may read, `forbidden` if it may only read it; `conflict` if it is a note whose text somebody
    /// else changed meanwhile, or whose file cannot be rewritten; `unavailable` if the store or the folder of
    /// notes cannot be written.
    pub fn update(
        &self,
        caller: &Caller,
        id: &MemoryId,
        content: &str,
        shared: Option<bool>,
    ) -> Result<(Memory, Embedding)> {
        check::content("content", content)?;
        let before = self.writable(caller, id)?;
        check::cited_content("content", content, &before.citations)?;
        if self.is_note(&caller.space, id)?
            && let Some(updated) = self.update_note(caller, &before, content, shared)?
        {
            return Ok(updated);
        }
        let metadata = before.metadata();
        let now = self.now();
        let mut passages = Engine::passages(content, &metadata, now);
        let (embedding, _) = self.embed_at_once(before.title.as_deref(), content, &mut passages);
        let memory = self.change(caller, id, |memory| {
            content.clone_into(&mut memory.content);
            // It was of the text before.
            memory.summary = None;
            // A faster one may have come later.
            memory.updated_at = memory.updated_at.max(now);
            share(memory, shared)?;
            // Somebody may have put another one with other tags in its place.
            if memory.metadata() == metadata {
                return Ok(Some(passages.clone()));
            }
            let anew = Engine::passages(content, &memory.metadata(), now).into_iter().zip(&passages);
            Ok(Some(anew.map(|(anew, passage)| Passage { vector: passage.vector.clone(), ..anew }).collect()))
        })?;
        self.embed_soon(&embedding);
        Ok((memory, embedding))
    }

    /// Changes the text in the file of a note; none if it is no note any more.
    fn update_note(
        &self,
        caller: &Caller,
        before: &Memory,
        content: &str,
        shared: Option<bool>,
    ) -> Result<Option<(Memory, Embedding)>> {
        let body = note_body(content);
        let (embedding, embedded) = self.embed_ahead(before.title.as_deref(), &body);
        let updated = self.change_note(caller, &before.id, Forgotten::Hide, &embedded, |memory, note| {
            share(&mut memory.clone(), shared)?;
            if memory.content != before.content && memory.content != body {
                return Err(cannot_change("somebody changed its text meanwhile; read it again"));
            }
            note.body.clone_from(&body);
            note.updated_at = Some(self.note_time());
            Ok(true)
        })?;
        Ok(updated.map(|note| (note, embedding)))
    }

    /// Says whether others may read a memory. Its text and its moments stay. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` for making private what is common; `not_found` if there is no such memory that the
    /// caller may read, `forbidden` if it may only read it; `unavailable` if the store cannot be written.
    pub fn set_shared(&self, caller: &Caller, id: &MemoryId, shared: bool) -> Result<Memory> {
        self.change(caller, id, |memory| share(memory, Some(shared)).map(|()| None))
    }

    /// Changes the latest state of a memory that the caller may write. `apply` returns its passages, if they
    /// change with it.
    fn change(
        &self,
        caller: &Caller,
        id: &MemoryId,
        mut apply: impl FnMut(&mut Memory) -> Result<Option<Vec<Passage>>>,
    ) -> Result<Memory> {
        self.locks.change(id, || {
            let mut memory = self.writable(caller, id)?;
            let expect = Expect::Revision(memory.revision);
            let passages = apply(&mut memory)?;
            memory.revision += 1;
            let change = Change::Put { memory: Box::new(memory.clone()), passages, expect };
            self.store.commit(Batch { space: caller.space.clone(), changes: vec![change] })?;
            Ok(memory)
        })
    }
}

/// What is common is shared already, and stays common: others write it, too, and no word brings that back.
fn share(memory: &mut Memory, shared: Option<bool>) -> Result<()> {
    match (shared, memory.visibility) {
        (Some(true), Visibility::Private) => memory.visibility = Visibility::Shared,
        (Some(false), Visibility::Shared) => memory.visibility = Visibility::Private,
        (Some(false), Visibility::Common) => {
            return Err(Error::invalid("shared", "cannot be false here: this memory is common to all in its space"));
        }
        _ => {}
    }
    Ok(())
}
