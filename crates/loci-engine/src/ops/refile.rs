//! Changing a text and where it is filed.

use loci_core::{Caller, Error, Location, Memory, MemoryId, Redactions, Result, Tier};

use crate::notes::note_body;
use crate::{Embedding, Engine, check};

/// A change of text and place; a field that is none stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refile {
    /// The text.
    pub content: Option<String>,
    /// The collection; the inner none is global.
    pub collection: Option<Option<String>>,
    /// The section.
    pub section: Option<String>,
}

/// The outcome of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Refiled {
    /// The memory as it is now.
    pub memory: Memory,
    /// The fields that differ from before.
    pub changed: Refile,
    /// Whether search by meaning already finds the text.
    pub embedding: Embedding,
}

impl Refile {
    /// Where a memory that is filed there is filed then.
    pub(crate) fn place_after(&self, before: &Location) -> Location {
        Location {
            collection: self
                .collection
                .as_ref()
                .unwrap_or(&before.collection)
                .clone(),
            section: self.section.as_ref().unwrap_or(&before.section).clone(),
        }
    }
}

impl Engine {
    /// Changes a memory's text and place in one step; its id and its kind stay. A new text takes
    /// its summary along and makes it new (`updated_at`); a new place alone leaves terms and
    /// vectors as they are. A note is changed in its file. An [unlisted](Tier::Unlisted) memory
    /// stays where it is. Durable when it returns; nothing is written if nothing changes.
    ///
    /// # Errors
    /// As for [`update`](Engine::update); `invalid_argument` for a collection or section that is
    /// not a name, or for another place of an unlisted memory.
    pub fn refile(&self, caller: &Caller, id: &MemoryId, mut change: Refile) -> Result<Refiled> {
        let Refile {
            content,
            collection,
            section,
        } = &mut change;
        let mut found = Redactions::default();
        if let Some(content) = content {
            let redacted = self.redact_written(content);
            found = redacted.found();
            *content = redacted.text.into_owned();
            check::content("content", content)?;
        }
        collection
            .iter()
            .flatten()
            .try_for_each(|collection| check::name("collection", collection))?;
        section
            .as_deref()
            .map_or(Ok(()), |section| check::name("section", section))?;
        let before = self.writable(caller, id)?;
        if let Some(content) = content
            && self.is_note(&before)?
        {
            *content = note_body(content);
        }
        content.take_if(|content| *content == before.content);
        collection.take_if(|collection| *collection == before.location.collection);
        section.take_if(|section| *section == before.location.section);
        let moved = [
            ("collection", collection.is_some()),
            ("section", section.is_some()),
        ];
        if before.tier == Tier::Unlisted
            && let Some((argument, _)) = moved.into_iter().find(|(_, is_moved)| *is_moved)
        {
            let problem = "cannot change here: what is kept apart from others stays in its place, only its text changes";
            return Err(Error::invalid(argument, problem));
        }
        let (memory, embedding) = if change == Refile::default() {
            (before, Embedding::Done)
        } else {
            self.revise(caller, &before, &change, None, &found)?
        };
        Ok(Refiled {
            memory,
            changed: change,
            embedding,
        })
    }
}
