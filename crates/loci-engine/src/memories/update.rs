//! Changing a memory.

use loci_core::{
    Change, Delivery, Error, ErrorCode, Expect, Forgotten, Memory, MemoryId, Passage, Redactions,
    Result, Timestamp, Visibility,
};
use loci_text::{document, indexed};

use crate::check;
use crate::context::pinned::PINNED;
use crate::memories::Memories;
use crate::memories::refile::Refile;
use crate::memories::remember::{Embedding, GLOBAL};
use crate::notes::{TextVectors, in_file_or_store, note_body};

impl Memories<'_> {
    /// Replaces the content of a memory, sets `updated_at`, and sets whether it is shared if
    /// `shared` is given. Removes its summary; everything else stays. The text of a note changes in
    /// its file. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the content, `invalid_argument` for making a common
    /// memory private; `not_found` if the caller can read no such memory, `forbidden` if it may
    /// only read it; `conflict` if it is a note whose text another writer changed since, or whose
    /// file cannot be rewritten; `unavailable` if the store or the folder of notes cannot be
    /// written.
    pub fn update(
        &self,
        id: &MemoryId,
        content: &str,
        shared: Option<bool>,
    ) -> Result<(Memory, Embedding)> {
        self.replace(id, content, shared, None)
    }

    /// Replaces the content of a memory like [`update`](Memories::update), by the text that it has where it
    /// was imported from. `updated_at` is the time of the change there, so that its next change there is told
    /// from one that was made here.
    ///
    /// # Errors
    /// As for [`update`](Memories::update).
    pub fn update_from_source(
        &self,
        id: &MemoryId,
        content: &str,
        updated_at: Timestamp,
    ) -> Result<(Memory, Embedding)> {
        self.replace(id, content, None, Some(updated_at))
    }

    fn replace(
        &self,
        id: &MemoryId,
        content: &str,
        shared: Option<bool>,
        updated_at: Option<Timestamp>,
    ) -> Result<(Memory, Embedding)> {
        let content = self.redaction.redact_stored(content);
        check::content("content", &content.text)?;
        let before = self.access.writable(id)?;
        let found = content.found();
        let change = Refile {
            content: Some(content.text.into_owned()),
            ..Refile::default()
        };
        let (memory, embedding) = self.revise(&before, &change, shared, &found, updated_at)?;
        Ok((self.access.without_hidden(memory)?, embedding))
    }

    /// Makes these changes to a memory, or to the file of a note, and sets whether it is shared.
    /// `found` are the redactions of the new content, which changed at `updated_at`, or now.
    pub(crate) fn revise(
        &self,
        before: &Memory,
        change: &Refile,
        shared: Option<bool>,
        found: &Redactions,
        updated_at: Option<Timestamp>,
    ) -> Result<(Memory, Embedding)> {
        if let Some(content) = &change.content {
            check::cited_content("content", content, &before.citations)?;
        }
        let in_file = || {
            if self.notes.is_note(before)? {
                self.revise_note(before, change, shared)
            } else {
                Ok(None)
            }
        };
        in_file_or_store(in_file, || {
            self.revise_memory(before, change, shared, found, updated_at)
        })
    }

    /// Makes the changes to a memory in the store; returns `None` if it is a note by now.
    fn revise_memory(
        &self,
        before: &Memory,
        change: &Refile,
        shared: Option<bool>,
        found: &Redactions,
        updated_at: Option<Timestamp>,
    ) -> Result<Option<(Memory, Embedding)>> {
        let metadata = before.metadata();
        let marks = document::marks_of_origin(before.source_path(), before.is_tool_output());
        let now = self.clock.now();
        // The passages carry the tags.
        let indexed = match (&change.content, &change.tags) {
            (None, Some(_)) => Some(before.content.as_str()),
            (content, _) => content.as_deref(),
        };
        let text = indexed.map(|content| {
            let mut passages = indexed::of_text(content, &metadata, &marks, now);
            let (embedding, _) =
                self.models
                    .embed_at_once(before.title.as_deref(), content, &mut passages);
            (content, passages, embedding)
        });
        let revised = self
            .notes
            .change_in_store(&before.id, Forgotten::Hide, |stored| {
                let mut memory = stored.clone();
                share(&mut memory, shared)?;
                memory.location = change.place_after(&memory.location);
                if let Some(tags) = &change.tags {
                    if change.content.is_none() && memory.content != before.content {
                        return Err(changed_meanwhile());
                    }
                    memory.tags.clone_from(tags);
                }
                set_delivery(&mut memory, change.delivery);
                let passages = text.as_ref().map(|(content, passages, _)| {
                    if change.content.is_some() {
                        (*content).clone_into(&mut memory.content);
                        found.write_to(&mut memory.attributes);
                        memory.set_writer(&self.caller);
                        // It belongs to the former text.
                        memory.summary = None;
                        // A faster writer may have set a later time.
                        let changed_at = updated_at.unwrap_or(now);
                        memory.updated_at = memory.updated_at.max(changed_at);
                    }
                    // Another writer may have replaced it by one with other tags.
                    if memory.metadata() == metadata {
                        return passages.clone();
                    }
                    let indexed = indexed::of_text(content, &memory.metadata(), &marks, now)
                        .into_iter()
                        .zip(passages);
                    indexed
                        .map(|(text, passage)| Passage {
                            vector: passage.vector.clone(),
                            ..text
                        })
                        .collect()
                });
                let (change, memory) = put_next(memory, passages);
                let kept = self.access.kept(Some(&stored), &memory);
                let changes = kept.into_iter().chain([change]);
                Ok((changes.collect(), memory))
            })?;
        let Some(memory) = revised else {
            return Ok(None);
        };
        let embedding = text.map_or(Embedding::Done, |(_, _, embedding)| embedding);
        self.models.embed_soon(&embedding);
        Ok(Some((memory, embedding)))
    }

    /// Makes the changes in the file of a note; returns `None` if it is not a note any more.
    fn revise_note(
        &self,
        before: &Memory,
        change: &Refile,
        shared: Option<bool>,
    ) -> Result<Option<(Memory, Embedding)>> {
        let body = change.content.as_deref().map(note_body);
        let (embedding, embedded) = match &body {
            Some(body) => self.notes.embed_ahead(before.title.as_deref(), body),
            None => (Embedding::Done, TextVectors::default()),
        };
        let revised =
            self.notes
                .change(&before.id, Forgotten::Hide, &embedded, |memory, note| {
                    share(&mut memory.clone(), shared)?;
                    if let Some(body) = &body {
                        if memory.content != before.content && memory.content != *body {
                            return Err(changed_meanwhile());
                        }
                        note.body.clone_from(body);
                        note.updated_at = Some(self.notes.note_time());
                    }
                    if let Some(collection) = &change.collection {
                        // No line of a file is ever removed.
                        note.collection =
                            Some(collection.clone().unwrap_or_else(|| GLOBAL.to_owned()));
                    }
                    if let Some(section) = &change.section {
                        note.section = Some(section.clone());
                    }
                    if let Some(tags) = &change.tags {
                        note.tags.clone_from(tags);
                    }
                    if let Some(delivery) = change.delivery {
                        note.always_load = delivery == Delivery::Bootstrap;
                    }
                    Ok(true)
                })?;
        Ok(revised.map(|note| (note, embedding)))
    }

    /// Sets whether others may read a memory. Its text and its times stay. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` for making a common memory private; `not_found` if the caller can read no
    /// such memory, `forbidden` if it may only read it; `unavailable` if the store cannot be
    /// written.
    pub fn set_shared(&self, id: &MemoryId, shared: bool) -> Result<Memory> {
        // The file of a note does not record this.
        self.locks.change(id, || {
            let mut memory = self.access.writable(id)?;
            share(&mut memory, Some(shared))?;
            let (change, memory) = put_next(memory, None);
            self.access.commit(vec![change])?;
            self.access.without_hidden(memory)
        })
    }
}

/// Sets the delivery of a memory, if there is one to set. A memory that is only found by a search is no
/// reminder either, also if sessions start with it again later.
fn set_delivery(memory: &mut Memory, delivery: Option<Delivery>) {
    memory.delivery = delivery.unwrap_or(memory.delivery);
    if memory.delivery == Delivery::OnDemand {
        memory.attributes.remove(PINNED);
    }
}

/// Returns the error for a memory that another writer changed first.
pub(super) fn changed_meanwhile() -> Error {
    let message =
        "nothing was changed: another writer changed the memory since it was read; read it again";
    Error::new(ErrorCode::Conflict, message)
}

/// Returns the change that replaces the last revision of a memory, with new passages if given.
pub(crate) fn put_next(memory: Memory, passages: Option<Vec<Passage>>) -> (Change, Memory) {
    let expect = Expect::Revision(memory.revision);
    let memory = Memory {
        revision: memory.revision + 1,
        ..memory
    };
    (
        Change::Put {
            memory: Box::new(memory.clone()),
            passages,
            expect,
        },
        memory,
    )
}

/// Sets the visibility. A common memory is shared already, and stays common: other callers write
/// it, too, and no argument could make it common again.
fn share(memory: &mut Memory, shared: Option<bool>) -> Result<()> {
    match (shared, memory.visibility) {
        (Some(true), Visibility::Private) => memory.visibility = Visibility::Shared,
        (Some(false), Visibility::Shared) => memory.visibility = Visibility::Private,
        (Some(false), Visibility::Common) => {
            return Err(Error::invalid(
                "shared",
                "cannot be false here: this memory is common to all in its space",
            ));
        }
        _ => {}
    }
    Ok(())
}
