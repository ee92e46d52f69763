//! Changing the text and the location of a memory.

use loci_core::{Caller, Error, Location, Memory, MemoryId, Redactions, Result, Tier};

use crate::Memories;
use crate::notes::note_body;
use crate::{Embedding, check};

/// The changes; a field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refile {
    /// The text.
    pub content: Option<String>,
    /// The collection; `Some(None)` is global.
    pub collection: Option<Option<String>>,
    /// The section.
    pub section: Option<String>,
}

/// The result of a refiling.
#[derive(Debug, Clone, PartialEq)]
pub struct Refiled {
    /// The memory after the change.
    pub memory: Memory,
    /// The fields that differ from before.
    pub changed: Refile,
    /// Reports whether search by meaning finds the text already.
    pub embedding: Embedding,
}

impl Refile {
    /// Returns the location after the change of a memory at `before`.
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

impl Memories<'_> {
    /// Changes a memory's text and location in one step; its id and kind stay. A new text removes
    /// the summary and sets `updated_at`; a new location alone leaves terms and vectors as they
    /// are. The text of a note changes in its file. An [unlisted](Tier::Unlisted) memory keeps its
    /// location. Durable when it returns; writes nothing if nothing changes.
    ///
    /// # Errors
    /// As for [`update`](crate::Memories::update); `invalid_argument` for an invalid name of a
    /// collection or section, or for a new location of an unlisted memory.
    pub fn refile(&self, caller: &Caller, id: &MemoryId, mut change: Refile) -> Result<Refiled> {
        let Refile {
            content,
            collection,
            section,
        } = &mut change;
        let mut found = Redactions::default();
        if let Some(content) = content {
            let redacted = self.redaction.redact_written(content);
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
        let before = self.access.writable(caller, id)?;
        if let Some(content) = content
            && self.notes.is_note(&before)?
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
