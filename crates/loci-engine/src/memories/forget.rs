//! Deleting a memory permanently.

use loci_core::{
    Change, CollectionFilter, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, RecordVerb,
    Result, SOURCE_FILE, Tier,
};

use crate::access::TIERS_BY_ID;
use crate::memories::Memories;
use crate::notes::{in_file_or_store, not_note};
use crate::tombstones::PART;

/// The most passes over copies, while these change between the read and their removal.
const PASSES_MAX: usize = 100;

/// The result of [`forget_text`](Memories::forget_text): the other memories with the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForgetReport {
    /// The memories that were made from files, e.g. the copy of a message in the transcript of a
    /// fork, and were removed with it.
    pub copies: u64,
    /// The memories that stay: they were filed by hand, or belong to others.
    pub equal: u64,
}

/// What [`forget`](Memories::forget) would remove with a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletionPreview {
    /// The memory, which may be forgotten already.
    pub memory: Memory,
    /// True for a note, which is forgotten only, and whose file stays.
    pub is_note: bool,
    /// True if it was made from a message of a conversation, which goes along.
    pub has_message: bool,
    /// The number of its former texts, which go along.
    pub versions: u64,
    /// The other memories with its text.
    pub texts: ForgetReport,
}

impl Memories<'_> {
    /// Returns what would go if [`forget`](Self::forget) removed a memory now. Changes nothing.
    ///
    /// # Errors
    /// As for `forget`, but for a store that cannot be written.
    pub fn deletion_preview(&self, id: &MemoryId) -> Result<DeletionPreview> {
        let memory = self.access.writable_among(id, Forgotten::Show)?;
        let is_note = self.notes.is_note(&memory)?;
        let mut preview = DeletionPreview {
            is_note,
            has_message: false,
            versions: 0,
            texts: ForgetReport::default(),
            memory,
        };
        if is_note {
            return Ok(preview);
        }
        let memory = &preview.memory;
        preview.has_message = self.message_of(memory)?.is_some();
        let versions = self.store.versions(&memory.space, id)?;
        let versions = versions.iter().filter(|version| !version.is_before_all());
        preview.versions = versions.count() as u64;
        let filter = self.filter_of_copies();
        for part in self.ids_of_copies(&filter, memory)?.chunks(PART) {
            let (copies, stay) = self.copies(&filter, part)?;
            preview.texts.copies += copies.len() as u64;
            preview.texts.equal += stay;
        }
        Ok(preview)
    }

    /// Permanently removes a memory, even a forgotten one, with the message that it was made from;
    /// a note is [forgotten](crate::Memories::forget_softly), and its file stays. Memories with the
    /// same text that were made from files go along, and no later reading of a file and no import
    /// brings the text back until [`lift`](crate::Memories::lift). Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it,
    /// `unavailable` if the store cannot be written; for a note as for `forget_softly`.
    pub fn forget(&self, id: &MemoryId) -> Result<()> {
        self.forget_text(id).map(drop)
    }

    /// Does the same, and returns the numbers of the other memories with the text.
    ///
    /// # Errors
    /// As for [`forget`](Self::forget).
    pub fn forget_text(&self, id: &MemoryId) -> Result<ForgetReport> {
        let in_file = || {
            if !self
                .notes
                .is_note(&self.access.writable_among(id, Forgotten::Show)?)?
            {
                return Ok(None);
            }
            self.access.writable(id)?;
            let forgotten = self.notes.forget(id)?;
            Ok(forgotten.map(|_| ForgetReport::default()))
        };
        let mut done = ForgetReport::default();
        let in_store = || {
            self.notes.change_in_store(id, Forgotten::Show, |memory| {
                self.forget_copies(&memory, &mut done)?;
                let message = self.message_of(&memory)?;
                let gone: Vec<Memory> = [memory].into_iter().chain(message).collect();
                let tombstones = self.tombstones.put(&gone, true)?;
                let changes = gone.into_iter().map(delete).chain(tombstones);
                Ok((changes.collect(), done))
            })
        };
        in_file_or_store(in_file, in_store)
    }

    /// Removes the memories with the text of this one that were made from files and that the caller
    /// may write. Adds their number to `done`, and sets the number of memories that stay.
    fn forget_copies(&self, memory: &Memory, done: &mut ForgetReport) -> Result<()> {
        let filter = self.filter_of_copies();
        for pass in 1..=PASSES_MAX {
            let ids = self.ids_of_copies(&filter, memory)?;
            let mut conflict = None;
            done.equal = 0;
            for part in ids.chunks(PART) {
                let (copies, stay) = self.copies(&filter, part)?;
                done.equal += stay;
                match self.forget_together(copies) {
                    Ok(gone) => done.copies += gone,
                    Err(error) if error.code == ErrorCode::Conflict => conflict = Some(error),
                    Err(error) => return Err(error),
                }
            }
            match conflict {
                Some(error) if pass == PASSES_MAX => return Err(error),
                Some(_) => {}
                None => return Ok(()),
            }
        }
        Err(Error::internal("copies were removed without an outcome"))
    }

    fn filter_of_copies(&self) -> Filter {
        Filter {
            tiers: TIERS_BY_ID.to_vec(),
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        }
    }

    /// Returns the ids of the other memories with the text of this one.
    fn ids_of_copies(&self, filter: &Filter, memory: &Memory) -> Result<Vec<MemoryId>> {
        let mut ids = self.store.ids_of_texts(filter, &[&memory.content])?;
        ids.retain(|id| *id != memory.id);
        Ok(ids)
    }

    /// Returns the memories among these that were made from files and that the caller may write,
    /// and the number of the others, without the forgotten ones.
    fn copies(&self, filter: &Filter, ids: &[MemoryId]) -> Result<(Vec<Memory>, u64)> {
        let goes = |copy: &Memory| {
            copy.attributes.contains_key(SOURCE_FILE) && self.caller.may_write(copy)
        };
        let (copies, others): (Vec<Memory>, Vec<Memory>) =
            self.store.get_all(filter, ids)?.into_iter().partition(goes);
        let stays = |copy: &&Memory| copy.forgotten_at.is_none();
        Ok((copies, others.iter().filter(stays).count() as u64))
    }

    /// Removes memories in one transaction; returns their number.
    ///
    /// # Errors
    /// `conflict` if another writer changed one memory since, or one is a note by now.
    pub(super) fn forget_together(&self, gone: Vec<Memory>) -> Result<u64> {
        let Some(tombstones) = self.tombstones.put(&gone, true)? else {
            return Ok(0);
        };
        let count = gone.len() as u64;
        let not_notes = gone
            .iter()
            .filter_map(|memory| not_note(&self.caller.space, &memory.id))
            .collect();
        let changes = gone.into_iter().map(delete).chain([tombstones]).collect();
        self.access.commit_if(not_notes, changes)?;
        Ok(count)
    }

    /// Returns the message that a memory was made from, if it still exists. A search shows one of
    /// the two, so both are deleted together.
    pub(crate) fn message_of(&self, memory: &Memory) -> Result<Option<Memory>> {
        let Some(source) = &memory.source else {
            return Ok(None);
        };
        let is_message =
            |source: &Memory| source.tier == Tier::ShortTerm && source.owner == memory.owner;
        let message = self.store.get(&memory.space, source)?.filter(is_message);
        if message.is_some() {
            let is_own = memory.owner == self.caller.principal.subject;
            self.caller
                .note_record(RecordVerb::Read, source.as_str(), Some(is_own));
        }
        Ok(message)
    }
}

fn delete(memory: Memory) -> Change {
    Change::Delete {
        id: memory.id,
        revision: memory.revision,
    }
}
