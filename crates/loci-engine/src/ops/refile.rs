//! Changing a text and where it is filed.

use loci_core::{Caller, Memory, MemoryId, Place, Result};

use crate::notes::note_body;
use crate::{Embedding, Engine, check};

/// What to change; what is none stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refile {
    /// The text.
    pub content: Option<String>,
    /// The collection; the inner none is global.
    pub collection: Option<Option<String>>,
    /// The section.
    pub section: Option<String>,
}

impl Refile {
    /// Where a memory that is filed there is filed then.
    pub(crate) fn place_after(&self, before: &Place) -> Place {
        Place {
            collection: self.collection.as_ref().unwrap_or(&before.collection).clone(),
            section: self.section.as_ref().unwrap_or(&before.section).clone(),
        }
    }
}

impl Engine {
    /// Changes a memory's text and place in one step; its id stays. A new text takes its summary along and makes it
    /// new (`updated_at`); a new place alone leaves terms and vectors as they are. A note is changed in its file.
    /// Durable when it returns; nothing is written if nothing changes.
    ///
    /// # Errors
    /// As for [`update`](Engine::update); `invalid_argument` for a collection or section that is no name.
    pub fn refile(&self, caller: &Caller, id: &MemoryId, mut change: Refile) -> Result<(Memory, Embedding)> {
        let Refile { content, collection, section } = &mut change;
        content.as_deref().map_or(Ok(()), |content| check::content("content", content))?;
        collection.iter().flatten().try_for_each(|collection| check::name("collection", collection))?;
        section.as_deref().map_or(Ok(()), |section| check::name("section", section))?;
        let before = self.writable(caller, id)?;
        if let Some(content) = content
            && self.is_note(&caller.space, id)?
        {
            *content = note_body(content);
        }
        content.take_if(|content| *content == before.content);
        collection.take_if(|collection| *collection == before.place.collection);
        section.take_if(|section| *section == before.place.section);
        if change == Refile::default() {
            return Ok((before, Embedding::Done));
        }
        self.revise(caller, &before, &change, None)
    }
}
