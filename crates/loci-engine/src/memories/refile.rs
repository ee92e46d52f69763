//! Changing the text and the location of a memory.

use loci_core::{Delivery, Error, Location, Memory, MemoryId, Redactions, Result, Tier};

use crate::check;
use crate::memories::Memories;
use crate::memories::remember::{Embedding, distinct};
use crate::notes::note_body;

/// The changes; a field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Refile {
    /// The text.
    pub content: Option<String>,
    /// The collection; `Some(None)` is global.
    pub collection: Option<Option<String>>,
    /// The section.
    pub section: Option<String>,
    /// The tags, in the place of all former ones. A note keeps the tags in its text.
    pub tags: Option<Vec<String>>,
    /// The delivery.
    pub delivery: Option<Delivery>,
}

/// The result of a refiling.
#[derive(Debug, Clone, PartialEq)]
pub struct RefileResult {
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
    /// Changes a memory's text, location, tags and delivery in one step; its id and kind stay. A
    /// new text removes the summary and sets `updated_at`; a new location or delivery by itself
    /// leaves terms and vectors as they are. The text of a note changes in its file, and so do its
    /// tags. An [unlisted](Tier::Unlisted) memory keeps its location. Durable when it returns;
    /// writes nothing if nothing changes.
    ///
    /// # Errors
    /// As for [`update`](crate::Memories::update); `invalid_argument` for an invalid name of a
    /// collection or section or for invalid tags, or for a new location of an unlisted memory;
    /// `conflict` if another writer changes the text while the tags change.
    pub fn refile(&self, id: &MemoryId, mut change: Refile) -> Result<RefileResult> {
        let Refile {
            content,
            collection,
            section,
            tags,
            delivery,
        } = &mut change;
        let mut found = Redactions::default();
        if let Some(content) = content {
            let redacted = self.redaction.redact_stored(content);
            found = redacted.found();
            *content = redacted.text.into_owned();
            check::content("content", content)?;
        }
        collection
            .iter()
            .flatten()
            .try_for_each(|collection| self.redaction.check_name("collection", collection))?;
        section.as_deref().map_or(Ok(()), |section| {
            self.redaction.check_name("section", section)
        })?;
        if let Some(tags) = tags {
            for tag in tags.iter_mut() {
                *tag = self.redaction.redacted_text(std::mem::take(tag));
            }
            check::tags("tags", tags)?;
            *tags = distinct(std::mem::take(tags));
        }
        let before = self.access.writable(id)?;
        if let Some(content) = content
            && self.notes.is_note(&before)?
        {
            *content = note_body(content);
        }
        content.take_if(|content| *content == before.content);
        collection.take_if(|collection| *collection == before.location.collection);
        section.take_if(|section| *section == before.location.section);
        tags.take_if(|tags| *tags == before.tags);
        delivery.take_if(|delivery| *delivery == before.delivery);
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
            self.revise(&before, &change, None, &found, None)?
        };
        Ok(RefileResult {
            memory,
            changed: change,
            embedding,
        })
    }
}
