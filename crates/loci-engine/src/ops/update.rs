//! Changing the text of a memory.

use loci_core::{Batch, Caller, Change, Expect, Memory, MemoryId, Result};

use crate::{Embedding, Engine, check};

impl Engine {
    /// Replaces the content of a memory and makes it new (`updated_at`); its summary goes, everything
    /// else stays. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the content; `not_found` if there is no such memory
    /// that the caller may read, `forbidden` if it may only read it; `unavailable` if the store
    /// cannot be written.
    pub fn update(&self, caller: &Caller, id: &MemoryId, content: &str) -> Result<(Memory, Embedding)> {
        check::content("content", content)?;
        let tags = self.writable(caller, id)?.tags;
        let now = self.now();
        let mut passages = Engine::passages(content, &tags, now);
        let (embedding, _) = self.embed_at_once(content, &mut passages);
        let memory = self.locks.change(id, || {
            let mut memory = self.writable(caller, id)?;
            let expect = Expect::Revision(memory.revision);
            content.clone_into(&mut memory.content);
            // It was of the text before.
            memory.summary = None;
            // A faster one may have come later.
            memory.updated_at = memory.updated_at.max(now);
            memory.revision += 1;
            let change = Change::Put { memory: Box::new(memory.clone()), passages: Some(passages.clone()), expect };
            self.store.commit(Batch { space: caller.space.clone(), changes: vec![change] })?;
            Ok(memory)
        })?;
        self.embed_soon(&embedding);
        Ok((memory, embedding))
    }
}
