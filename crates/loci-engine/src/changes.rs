//! The changes of memories, facts and tunnels by who made them: a list of calls, and the way back from
//! all that a call, a session, a program, a token or a user did.

pub(crate) mod taken_back;

use loci_core::{Error, MemoryId, RecordKind, Result};

use crate::actor::Actor;
use crate::changes::taken_back::{ChangedRecord, ChangesMeant, TakenBack};
use crate::engine::Engine;
use crate::graph::Graph;
use crate::memories::Memories;
use crate::memories::history::ChangeNote;

/// The changes of memories, facts and tunnels by who made them.
#[derive(Clone, Copy)]
pub struct Changes<'a> {
    memories: Memories<'a>,
    graph: Graph<'a>,
}

impl Engine {
    /// Returns the changes of memories, facts and tunnels by who made them.
    pub(crate) fn changes<'a>(&'a self, caller: Actor<'a>) -> Changes<'a> {
        Changes {
            memories: self.memories(caller),
            graph: self.graph(caller),
        }
    }
}

/// The memories and records that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesOfCall {
    /// The call, by its last change.
    pub note: ChangeNote,
    /// The memories that the caller may read, the one that was changed last first.
    pub memories: Vec<MemoryId>,
    /// The facts and tunnels that the caller sees, the one that was changed last first.
    pub records: Vec<ChangedRecord>,
}

impl Changes<'_> {
    /// Takes changes back, what was changed last first: a memory or a fact that they stored goes out of
    /// sight, a tunnel is deleted, and all else gets the state from before the first of the latest
    /// changes that match. Memories, facts and tunnels that were changed later stand and are named.
    /// Changes that are not kept any more are left out, and so is what was deleted for good. Each is a
    /// change of its own, which can be taken back in turn; with `is_dry_run` nothing is changed.
    ///
    /// # Errors
    /// `invalid_argument` without a condition, or for more than 100,000 changes; `not_found` if
    /// no change matches; `conflict` if other writers keep changing something; `unavailable` if the store
    /// or the folder of notes cannot be written: then a part is taken back, and the next call goes
    /// on.
    pub fn take_back(&self, meant: &ChangesMeant, is_dry_run: bool) -> Result<TakenBack> {
        meant.check()?;
        let mut taken = self.memories.take_back(meant, is_dry_run)?;
        let (changes, records) = self.graph.take_back(meant, is_dry_run)?;
        taken.changes += changes;
        taken.records = records;
        if taken.changes == 0 {
            let message = "no change that is kept matches; `loci history` lists the last ones";
            return Err(Error::not_found(message));
        }
        Ok(taken)
    }

    /// Returns the last calls that changed settings of the caller in the store, the last one first, as far
    /// as versions are kept.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn last_settings(&self, limit: usize) -> Result<Vec<ChangesOfCall>> {
        let changes = self.graph.last_changes(Some(RecordKind::Setting), limit)?;
        let of_call = |(note, records)| ChangesOfCall {
            note,
            memories: Vec::new(),
            records,
        };
        Ok(changes.into_iter().map(of_call).collect())
    }

    /// Returns the last calls that changed something that the caller may read, the last one first, as
    /// far as versions are kept.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn last(&self, limit: usize) -> Result<Vec<ChangesOfCall>> {
        let mut calls: Vec<ChangesOfCall> = self
            .memories
            .last_changes(limit)?
            .into_iter()
            .map(|(note, memories)| ChangesOfCall {
                note,
                memories,
                records: Vec::new(),
            })
            .collect();
        for (note, deleted) in self.memories.last_deletions(limit)? {
            match calls.iter_mut().find(|it| it.note.call == note.call) {
                Some(call) => call.memories.extend(deleted),
                None => calls.push(ChangesOfCall {
                    note,
                    memories: deleted,
                    records: Vec::new(),
                }),
            }
        }
        for (note, records) in self.graph.last_changes(None, limit)? {
            match calls.iter_mut().find(|it| it.note.call == note.call) {
                Some(call) => call.records = records,
                None => calls.push(ChangesOfCall {
                    note,
                    memories: Vec::new(),
                    records,
                }),
            }
        }
        calls.sort_by_key(|call| std::cmp::Reverse((call.note.at, call.note.call)));
        calls.truncate(limit);
        Ok(calls)
    }
}
