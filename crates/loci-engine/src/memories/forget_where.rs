//! Forgetting all memories that match some conditions reversibly, and taking that back.

use std::collections::HashSet;
use std::path::Path;

use loci_core::{
    Change, CollectionFilter, Error, ErrorCode, Filter, Forgotten, Memory, MemoryId, OwnerFilter,
    Result, SOURCE_FILE, Scope, Timestamp,
};

use sha2::{Digest, Sha256};

use crate::access::TIERS_BY_ID;
use crate::check;
use crate::memories::Memories;
use crate::memories::update::put_next;
use crate::notes::not_note;

/// The number of memories that are read and changed at a time, so that another caller's write never
/// waits long.
const PART: usize = 256;

/// The texts, and their bytes, that are compared with all others at a time.
const COMPARED_TEXTS: usize = 4_096;
const COMPARED_BYTES: usize = 8 << 20;

/// A selection of long-term memories, and of soft-deleted ones, which include messages. All
/// conditions must hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgetConditions {
    /// The collections; `None` for all.
    pub collections: Option<CollectionFilter>,
    /// Only these sections; all if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// Only memories of this source file of this machine, or of files in this folder: an absolute
    /// path.
    pub source: Option<String>,
    /// Only memories of this conversation.
    pub conversation: Option<String>,
    /// Only memories first stored before this time.
    pub created_before: Option<Timestamp>,
    /// Only memories forgotten or soft-deleted at this time or later; not to be set for forgetting.
    pub forgotten_from: Option<Timestamp>,
}

/// The memories that match some conditions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchSummary {
    /// The number of memories that the caller may change.
    pub memories: u64,
    /// The first of these, last updated first.
    pub first: Vec<Memory>,
    /// The number of memories that belong to others, so that the caller can only read them.
    pub of_others: u64,
}

/// The result of forgetting memories or of taking that back.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkCounts {
    /// The number of memories that were changed.
    pub memories: u64,
    /// The number of memories that belong to others, and stay as they were.
    pub of_others: u64,
    /// The number of other memories in sight with the texts of forgotten ones, which stay; 0 for
    /// taking it back.
    pub equal: u64,
    /// The notes whose files cannot be changed now, with the reasons.
    pub kept: Vec<(MemoryId, Error)>,
    /// The time before the first change, which is not after the time of any forgetting.
    pub begun_at: Timestamp,
}

/// The different texts of forgotten memories, to be compared with those in sight.
#[derive(Default)]
struct Equals {
    known: HashSet<[u8; 32]>,
    texts: Vec<String>,
    bytes: usize,
}

impl Equals {
    fn add<'a>(&mut self, memories: impl Iterator<Item = &'a Memory>) {
        for memory in memories {
            let hash = Sha256::digest(memory.content.as_bytes()).into();
            if self.known.insert(hash) {
                self.bytes += memory.content.len();
                self.texts.push(memory.content.clone());
            }
        }
    }

    /// Returns true if the texts are enough for one search; the next ones start another.
    fn is_full(&mut self) -> bool {
        let is_full = self.texts.len() >= COMPARED_TEXTS || self.bytes >= COMPARED_BYTES;
        if is_full {
            self.bytes = 0;
        }
        is_full
    }
}

impl Memories<'_> {
    /// Returns the number of memories that [`forget_where`](crate::Memories::forget_where) would
    /// forget, and at most `limit` memories.
    ///
    /// # Errors
    /// `invalid_argument` without any condition, or for the tags; `unavailable` if the store cannot
    /// be read.
    pub fn matching(&self, which: &ForgetConditions, limit: usize) -> Result<MatchSummary> {
        self.count_matching(which, Forgotten::Hide, limit)
    }

    /// Returns the same for [`unforget_where`](crate::Memories::unforget_where).
    ///
    /// # Errors
    /// As for [`matching`](crate::Memories::matching).
    pub fn matching_forgotten(
        &self,
        which: &ForgetConditions,
        limit: usize,
    ) -> Result<MatchSummary> {
        let mut matching = self.count_matching(which, Forgotten::Only, limit)?;
        let forgotten = matching.first.len();
        self.add_deleted(which, &mut matching, limit)?;
        self.access
            .hide_references(matching.first.iter_mut().skip(forgotten))?;
        Ok(matching)
    }

    /// [Forgets](crate::Memories::forget_softly) all memories that match. Memories of others that
    /// the caller can only read stay, and so do notes whose files cannot be changed. Changes 256
    /// memories at a time, and is durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` without any condition, or for the tags; `unavailable` if the store or the
    /// folder of notes cannot be written: memories forgotten until then stay forgotten.
    pub fn forget_where(&self, which: &ForgetConditions) -> Result<MarkCounts> {
        self.mark_where(which, true)
    }

    /// [Brings back](crate::Memories::unforget) all forgotten memories that match, as
    /// [`forget_where`](crate::Memories::forget_where) forgets them, and all soft-deleted ones that
    /// are not removed yet.
    ///
    /// # Errors
    /// As for `forget_where`.
    pub fn unforget_where(&self, which: &ForgetConditions) -> Result<MarkCounts> {
        let mut marked = self.mark_where(which, false)?;
        let (memories, of_others) = self.undelete_where(which)?;
        marked.memories += memories;
        marked.of_others += of_others;
        Ok(marked)
    }

    fn count_matching(
        &self,
        which: &ForgetConditions,
        forgotten: Forgotten,
        limit: usize,
    ) -> Result<MatchSummary> {
        let filter = self.selected(which, forgotten)?;
        let mut matching = MatchSummary::default();
        self.each_part(&filter, which, |part| {
            for memory in part {
                if !self.caller.may_write(&memory) {
                    matching.of_others += 1;
                    continue;
                }
                matching.memories += 1;
                if matching.first.len() < limit {
                    matching.first.push(memory);
                }
            }
            Ok(())
        })?;
        self.access.hide_references(&mut matching.first)?;
        Ok(matching)
    }

    fn mark_where(&self, which: &ForgetConditions, forgets: bool) -> Result<MarkCounts> {
        let forgotten = if forgets {
            Forgotten::Hide
        } else {
            Forgotten::Only
        };
        let filter = self.selected(which, forgotten)?;
        // Files of notes hold times of this precision.
        let begun_at = self.notes.note_time();
        let notes = self.store.notes_among(&filter, usize::MAX)?;
        let notes: HashSet<MemoryId> = notes.into_iter().collect();
        let mut marked = MarkCounts {
            memories: 0,
            of_others: 0,
            equal: 0,
            kept: Vec::new(),
            begun_at,
        };
        let (mut equals, mut late) = (Equals::default(), Vec::new());
        let outcome = self.each_part(&filter, which, |part| {
            let read = part.len();
            let (own, mut alone): (Vec<Memory>, Vec<Memory>) = part
                .into_iter()
                .filter(|memory| self.caller.may_write(memory))
                .partition(|memory| !notes.contains(&memory.id));
            marked.of_others += (read - own.len() - alone.len()) as u64;
            let forgotten_at = forgets.then_some(begun_at);
            if forgets {
                equals.add(own.iter().chain(&alone));
                if equals.is_full() {
                    late.push(std::mem::take(&mut equals.texts));
                }
            }
            match self.mark_together(&own, forgotten_at) {
                Ok(()) => marked.memories += own.len() as u64,
                // Another writer changed one memory since.
                Err(error) if error.code == ErrorCode::Conflict => alone.extend(own),
                Err(error) => return Err(error),
            }
            for Memory { id, .. } in alone {
                match self.mark(&id, forgotten_at) {
                    Ok((_, is_changed)) => marked.memories += u64::from(is_changed),
                    // It was deleted since, or belongs to another one now.
                    Err(error)
                        if [ErrorCode::NotFound, ErrorCode::Forbidden].contains(&error.code) => {}
                    Err(error)
                        if error.code == ErrorCode::Conflict
                            || self.notes.has_unreadable_file(&id)? =>
                    {
                        marked.kept.push((id, error));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        let verb = if forgets { "forgotten" } else { "brought back" };
        late.push(equals.texts);
        outcome.map_err(|error| {
            let message = format!("{verb} until then: {}; {}", marked.memories, error.message);
            error.with_message(message)
        })?;
        for texts in late {
            marked.equal += self.count_in_sight(&texts)?;
        }
        Ok(marked)
    }

    /// Marks memories that are not notes, with the messages that they were made from, in one
    /// transaction.
    ///
    /// # Errors
    /// `conflict` if another writer changed one memory, or one is a note by now: nothing was
    /// changed then.
    fn mark_together(&self, memories: &[Memory], forgotten_at: Option<Timestamp>) -> Result<()> {
        let mut changes: Vec<Change> = Vec::with_capacity(memories.len());
        let not_notes = memories
            .iter()
            .filter_map(|memory| not_note(&self.caller.space, &memory.id))
            .collect();
        let mut messages = HashSet::new();
        let put = |memory: Memory| {
            let memory = Memory {
                forgotten_at,
                ..memory
            };
            put_next(memory, None).0
        };
        for memory in memories {
            changes.push(put(memory.clone()));
            let message = self.message_of(memory)?.filter(|message| {
                message.forgotten_at.is_some() != forgotten_at.is_some()
                    && messages.insert(message.id.clone())
            });
            changes.extend(message.map(put));
        }
        if changes.is_empty() {
            return Ok(());
        }
        changes.extend(match forgotten_at {
            Some(_) => self.tombstones.put(memories, false)?,
            None => self.tombstones.lift(memories)?,
        });
        self.access.commit_if(not_notes, changes)
    }

    /// Returns the number of memories in sight of the caller that have one of these texts.
    fn count_in_sight(&self, texts: &[String]) -> Result<u64> {
        if texts.is_empty() {
            return Ok(0);
        }
        let filter = Filter {
            tiers: TIERS_BY_ID.to_vec(),
            ..self.access.filter(CollectionFilter::Any)
        };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok(self.store.ids_of_texts(&filter, &texts)?.len() as u64)
    }

    /// Passes the memories that match to `visit`, a part at a time, last updated first. Only their
    /// ids are in memory at once.
    pub(super) fn each_part(
        &self,
        filter: &Filter,
        which: &ForgetConditions,
        mut visit: impl FnMut(Vec<Memory>) -> Result<()>,
    ) -> Result<()> {
        let ids: Vec<MemoryId> = self
            .store
            .revisions(filter, usize::MAX)?
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        for part in ids.chunks(PART) {
            let mut memories = self.store.get_all(filter, part)?;
            memories.retain(|memory| {
                self.has_source(memory, which)
                    && which
                        .forgotten_from
                        .is_none_or(|from| memory.forgotten_at.is_some_and(|at| at >= from))
            });
            visit(memories)?;
        }
        Ok(())
    }

    /// Returns true if a memory meets the condition on its source file.
    pub(super) fn has_source(&self, memory: &Memory, which: &ForgetConditions) -> bool {
        let source = which.source.as_deref();
        source.is_none_or(|source| self.is_made_from(memory, source))
    }

    /// Returns true if a memory was made from a file of this machine that has this path or lies in
    /// this folder.
    fn is_made_from(&self, memory: &Memory, source: &str) -> bool {
        memory.source_machine() == self.machine
            && memory
                .attributes
                .get(SOURCE_FILE)
                .is_some_and(|path| Path::new(path).starts_with(source))
    }

    /// Returns the filter for the conditions that a store knows. A caller without the scope `read`
    /// gets only memories that it stored itself.
    pub(super) fn selected(
        &self,
        which: &ForgetConditions,
        forgotten: Forgotten,
    ) -> Result<Filter> {
        if *which == ForgetConditions::default() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "say which memories: by a project, a type, tags, a source, a conversation or a time",
            ));
        }
        check::tags("tags", &which.tags)?;
        let collections = which.collections.clone().unwrap_or(CollectionFilter::Any);
        let until = |before: Timestamp| {
            Timestamp::from_microseconds(before.microseconds().saturating_sub(1))
        };
        let owner = if self.caller.principal.scopes.allow(Scope::Read) {
            OwnerFilter::Any
        } else {
            OwnerFilter::of(self.caller.principal.subject.as_deref())
        };
        Ok(Filter {
            owner,
            sections: which.sections.clone(),
            tags: which.tags.clone(),
            thread: which.conversation.clone(),
            created_until: which.created_before.map(until),
            forgotten,
            ..self.access.filter(collections)
        })
    }
}
