//! Soft deletion of the caller's own memories, which can be taken back for a while.

use std::collections::HashSet;
use std::slice;

use loci_core::{
    Change, CollectionFilter, Error, ErrorCode, Filter, Forgotten, MemoryId, OwnerFilter,
    RecordKind, RecordVerb, RecordVersion, Result, Tier, Timestamp,
};

use crate::check;
use crate::memories::Memories;
use crate::tombstones::PART;

/// The most memories that one transaction deletes, so that another caller's write never waits long.
const DISCARD_BATCH_MAX: usize = 256;
/// The most ids of notes that a message names.
const NAMED_MAX: usize = 20;

/// A selection of the caller's memories. All conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Discard {
    /// The memory with this id.
    pub id: Option<MemoryId>,
    /// Memories of this thread.
    pub thread: Option<String>,
    /// Memories with all of these tags.
    pub tags: Vec<String>,
    /// Memories first stored at this time or later.
    pub created_from: Option<Timestamp>,
    /// Memories first stored at this time or earlier.
    pub created_until: Option<Timestamp>,
}

impl Discard {
    /// Selects the memory with this id.
    pub fn of(id: MemoryId) -> Self {
        Discard {
            id: Some(id),
            ..Discard::default()
        }
    }
}

impl Memories<'_> {
    /// Soft-deletes memories that belong to the caller: messages, long-term memories and forgotten
    /// ones, but not unlisted ones; returns their number. Notes are
    /// [forgotten](crate::Memories::forget_softly), and their files stay; if a note cannot be
    /// changed, an error reports it after all others are deleted. For a caller that merely claims
    /// its name, only memories of the same tool set are deleted. No later import brings their texts
    /// back; [`unforget`](crate::Memories::unforget) does, until a sweep removes them for good. A
    /// message and the long-term memory made from it are deleted together, by the id of either, and
    /// count as one.
    ///
    /// # Errors
    /// `invalid_argument` without any condition, or for the tags; `forbidden` without the scope
    /// `write` or for an anonymous caller; `unavailable` if the store cannot be written: memories
    /// deleted until then stay deleted; if notes remain, the error of `forget_softly` for the
    /// first, with their ids.
    pub fn discard(&self, which: &Discard) -> Result<usize> {
        let filter = self.discarded(which)?;
        let only = which.id.as_ref().map(|id| self.message_behind(&filter, id));
        let (mut discarded, remaining) = self.notes.forget_notes(&filter, only.as_ref())?;
        let notes = self.store.notes_among(&filter, usize::MAX)?;
        let revisions = self.store.revisions(&filter, usize::MAX)?;
        let mut chosen: Vec<MemoryId> = revisions.into_iter().map(|(id, _)| id).collect();
        chosen.retain(|id| !notes.contains(id) && only.as_ref().is_none_or(|only| only == id));
        let mut along =
            self.store
                .made_from(&self.caller.space, self.caller.deleting_subject()?, &chosen)?;
        let known: HashSet<&MemoryId> = chosen.iter().collect();
        along.retain(|id| !known.contains(id));
        let owner = self.caller.deleting_subject()?;
        let mark = self.access.record_mark();
        let deletion = |id: &MemoryId| {
            Change::PutRecordVersion(Box::new(RecordVersion {
                space: self.caller.space.clone(),
                kind: RecordKind::Deletion,
                id: id.as_str().to_owned(),
                owner: Some(owner.to_owned()),
                number: 0,
                state: None,
                change: mark.clone(),
            }))
        };
        for part in chosen.chunks(PART) {
            let tombstones = self.tombstones.put_of_ids(&filter, part)?;
            let changes = tombstones.into_iter().chain(part.iter().map(deletion));
            self.access.commit(changes.collect())?;
        }
        for part in along.chunks(PART) {
            self.access.commit(part.iter().map(deletion).collect())?;
        }
        loop {
            let deleted = self.store.soft_delete(
                &filter,
                only.as_ref(),
                self.clock.now(),
                DISCARD_BATCH_MAX,
            )?;
            discarded += deleted;
            if deleted < DISCARD_BATCH_MAX {
                break;
            }
        }
        for id in chosen.iter().chain(&along) {
            self.caller
                .note_record(RecordVerb::Deleted, id.as_str(), None);
        }
        if remaining.is_empty() {
            Ok(discarded)
        } else {
            Err(notes_remain(discarded, &remaining))
        }
    }

    /// Returns the number of memories that [`discard`](crate::Memories::discard) would delete.
    ///
    /// # Errors
    /// As for `discard`.
    pub fn count_discarded(&self, which: &Discard) -> Result<usize> {
        let filter = self.discarded(which)?;
        if let Some(id) = &which.id {
            let found = self.store.get_all(&filter, slice::from_ref(id))?.pop();
            let Some(memory) = found else { return Ok(0) };
            let stays = memory.forgotten_at.is_some() && self.notes.is_note(&memory)?;
            return Ok(usize::from(!stays));
        }
        let all = usize::try_from(self.store.count(&filter)?).unwrap_or(usize::MAX);
        let notes = self.store.notes_among(&filter, usize::MAX)?.len();
        let active = Filter {
            forgotten: Forgotten::Hide,
            ..filter
        };
        let forgotten_notes =
            notes.saturating_sub(self.store.notes_among(&active, usize::MAX)?.len());
        Ok(all.saturating_sub(forgotten_notes))
    }

    /// Returns the number of conversations that the memories are of which
    /// [`discard`](crate::Memories::discard) would delete, without damaged ones.
    ///
    /// # Errors
    /// As for `discard`.
    pub fn count_conversations(&self, which: &Discard) -> Result<usize> {
        let filter = self.discarded(which)?;
        let chosen: Vec<MemoryId> = if let Some(id) = &which.id {
            vec![id.clone()]
        } else {
            let revisions = self.store.revisions(&filter, usize::MAX)?;
            revisions.into_iter().map(|(id, _)| id).collect()
        };
        let mut conversations = HashSet::new();
        for part in chosen.chunks(PART) {
            let memories = self.tombstones.readable(&filter, part)?;
            conversations.extend(
                memories
                    .iter()
                    .filter_map(|memory| memory.conversation().map(str::to_owned)),
            );
        }
        Ok(conversations.len())
    }

    /// Returns the message that a memory was made from, if both match, because the two are deleted
    /// together; otherwise the memory itself, even if it cannot be read, because a corrupt one is
    /// deleted, too.
    fn message_behind(&self, filter: &Filter, id: &MemoryId) -> MemoryId {
        let passing = |id: &MemoryId| self.store.get_all(filter, slice::from_ref(id)).ok()?.pop();
        let message =
            || passing(&passing(id)?.source?).filter(|message| message.tier == Tier::ShortTerm);
        message().map_or_else(|| id.clone(), |message| message.id)
    }

    /// Returns the filter for the selected memories of the caller.
    fn discarded(&self, which: &Discard) -> Result<Filter> {
        let owner = self.caller.deleting_subject()?.to_owned();
        check::tags("tags", &which.tags)?;
        let Discard {
            id,
            thread,
            tags,
            created_from,
            created_until,
        } = which;
        let is_empty = id.is_none() && thread.is_none() && tags.is_empty();
        if is_empty && created_from.is_none() && created_until.is_none() {
            let message =
                "say which memories to delete: by an id, a conversation, tags or a range of time";
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        Ok(Filter {
            owner: OwnerFilter::Only(owner),
            origins: Vec::from_iter(
                self.caller
                    .is_claimed
                    .then(|| self.caller.origin.to_owned()),
            ),
            tiers: Tier::OF_CONVERSATIONS.to_vec(),
            thread: thread.clone(),
            tags: tags.clone(),
            created_from: *created_from,
            created_until: *created_until,
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        })
    }
}

/// Returns the error for notes that could not be forgotten, after all others were deleted.
fn notes_remain(discarded: usize, remaining: &[(MemoryId, Error)]) -> Error {
    let named: Vec<&str> = remaining
        .iter()
        .take(NAMED_MAX)
        .map(|(id, _)| id.as_str())
        .collect();
    let others = match remaining.len() - named.len() {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let (code, reason) = remaining
        .first()
        .map_or((ErrorCode::Conflict, ""), |(_, error)| {
            (error.code, &error.message)
        });
    let message = format!(
        "deleted: {discarded}; not deleted, the notes {}{others}: {reason}",
        named.join(", ")
    );
    Error::new(code, message)
}
