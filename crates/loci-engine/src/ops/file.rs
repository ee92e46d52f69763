//! Filing a text under an id that follows from it, once.

use loci_core::{Caller, Error, ErrorCode, Memory, MemoryId, Result};

use crate::Engine;
use crate::ops::remember::{Remember, Remembered};

/// Ids that are tried for one text.
const IDS_MAX: u32 = 16;

/// What came of filing a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Filed {
    /// It is there now.
    New(Box<Remembered>),
    /// It was there: the same text in the same place, under one of the ids.
    Before(Box<Memory>),
}

impl Engine {
    /// Stores a memory under the first of its ids (`id_of` 0, 1, ...) that no other text has, unless the same text
    /// is in the same place under one of those before. Of an id whose memory the caller may not read, was forgotten,
    /// or says something else by now, the next one is tried. Durable when it returns.
    ///
    /// # Errors
    /// As for [`remember`](Engine::remember); `conflict` if all ids that are tried are taken.
    pub fn file(&self, caller: &Caller, id_of: &dyn Fn(u32) -> MemoryId, request: Remember) -> Result<Filed> {
        let since = self.store.version()?;
        let (mut memory, mut similar) = self.requested(caller, request)?;
        let mut prepared = None;
        for number in 0..IDS_MAX {
            memory.id = id_of(number);
            let held = self.store.get(&caller.space, &memory.id)?;
            if let Some(held) = held {
                if self.is_filed_as(caller, &held, &memory) {
                    return Ok(Filed::Before(Box::new(held)));
                }
                continue;
            }
            let (remembered, passages) = match prepared.take() {
                Some(prepared) => prepared,
                None => self.prepared(caller, memory.clone(), similar.take())?,
            };
            let remembered = Remembered { memory: memory.clone(), ..remembered };
            match self.commit_new(caller, &memory, passages.clone(), since) {
                Err(error) if error.code == ErrorCode::Conflict => {
                    // Another process may have filed it right now.
                    let held = self.store.get(&caller.space, &memory.id)?;
                    if let Some(held) = held.filter(|held| self.is_filed_as(caller, held, &memory)) {
                        return Ok(Filed::Before(Box::new(held)));
                    }
                    prepared = Some((remembered, passages));
                }
                outcome => {
                    outcome?;
                    self.embed_soon(&remembered.embedding);
                    return Ok(Filed::New(Box::new(remembered)));
                }
            }
        }
        let message = format!(
            "all {IDS_MAX} ids that this text may have in this place are taken by memories that were changed or deleted \
             since, or the caller's data was wiped meanwhile; file it in another place"
        );
        Err(Error::new(ErrorCode::Conflict, message))
    }

    /// Whether a memory is what the caller would file: its text, in its place.
    fn is_filed_as(&self, caller: &Caller, held: &Memory, memory: &Memory) -> bool {
        caller.reader().may_read(held)
            && held.is_live(self.now())
            && held.forgotten_at.is_none()
            && (&held.place, &held.content) == (&memory.place, &memory.content)
    }
}
