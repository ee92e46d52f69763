//! Taking changes of memories back: of one call, or all that a session, a program, a token or a user
//! made.

use std::collections::{HashMap, HashSet};

use loci_core::{
    ChangeQuery, Error, ErrorCode, Forgotten, Memory, MemoryId, RecordKind, Result, Tier,
    Timestamp, Version,
};

use crate::changes::taken_back::{CHANGES_MAX, ChangesMeant, StandingMemory, TakenBack, too_many};
use crate::memories::Memories;
use crate::memories::history::{ChangeNote, change_note};
use crate::memories::versions::with_texts;

/// The changes that are read at once.
const PAGE: usize = 1_000;
/// The last changes that are looked through for deletions.
const DELETIONS_READ: usize = 1_000;
/// Attempts at one memory while other writers change it.
const ATTEMPTS_MAX: usize = 10;

/// The memories with changes that are meant, the latest change first, and the revisions before these.
#[derive(Default)]
struct Matching {
    ids: Vec<MemoryId>,
    revisions: HashMap<MemoryId, HashSet<u64>>,
}

/// What is to be done with a memory.
enum Step {
    Forget,
    Restore(Box<Memory>),
    Stand(Option<ChangeNote>, String),
}

impl Memories<'_> {
    /// Takes changes of memories back, the memory that was changed last first: one that they stored is
    /// forgotten, another one gets the state from before the first of the latest changes that match. A
    /// memory that was changed later stands.
    ///
    /// # Errors
    /// As for [`Changes::take_back`](crate::Changes::take_back), but for `not_found`.
    pub(crate) fn take_back(&self, meant: &ChangesMeant, is_dry_run: bool) -> Result<TakenBack> {
        // A deleted memory is there again when the other changes of the same memory are looked at.
        let deleted = self.take_deletions_back(meant, is_dry_run)?;
        let Matching { ids, revisions } = self.changes_meant(meant)?;
        let mut taken = TakenBack {
            changes: deleted.changes + revisions.values().map(HashSet::len).sum::<usize>(),
            ..deleted
        };
        for id in ids {
            if let Some(of_memory) = revisions.get(&id) {
                self.take_back_of(&id, of_memory, is_dry_run, &mut taken)?;
            }
        }
        Ok(taken)
    }

    /// Brings soft-deleted memories back, with what was deleted along with them.
    fn take_deletions_back(&self, meant: &ChangesMeant, is_dry_run: bool) -> Result<TakenBack> {
        let query = ChangeQuery {
            limit: CHANGES_MAX + 1,
            ..meant.query(&self.caller.space)
        };
        let changes = self.store.record_changes(&query)?;
        if changes.len() > CHANGES_MAX {
            return Err(too_many());
        }
        let mut taken = TakenBack::default();
        let deletions = changes
            .into_iter()
            .filter(|change| change.kind == RecordKind::Deletion);
        // One may bring another back that was deleted along with it, so all are looked at first.
        for id in deletions.map(|change| MemoryId::new(change.id)) {
            let Some(memory) = self.deleted_as(&id)? else {
                continue;
            };
            taken.changes += 1;
            if self.caller.may_write(&memory) {
                taken.restored.push(id);
            } else {
                taken.stands.push(StandingMemory {
                    memory,
                    later: None,
                    reason: "you may only read it".to_owned(),
                });
            }
        }
        if !is_dry_run {
            for id in &taken.restored {
                self.undelete(id)?;
            }
        }
        Ok(taken)
    }

    /// Returns the soft-deleted memory with this id, if the caller could read it.
    fn deleted_as(&self, id: &MemoryId) -> Result<Option<Memory>> {
        let found = self.access.soft_deleted(id)?;
        Ok(found
            .map(|found| found.memory)
            .filter(|memory| memory.id == *id))
    }

    /// Returns the calls that deleted memories softly which are still deleted, the last one first.
    pub(crate) fn last_deletions(&self, limit: usize) -> Result<Vec<(ChangeNote, Vec<MemoryId>)>> {
        let versions = self.store.record_changes(&ChangeQuery {
            space: self.caller.space.clone(),
            limit: DELETIONS_READ,
            ..ChangeQuery::default()
        })?;
        let mut calls: Vec<(ChangeNote, Vec<MemoryId>)> = Vec::new();
        for version in versions {
            let id = MemoryId::new(version.id);
            if version.kind != RecordKind::Deletion || self.deleted_as(&id)?.is_none() {
                continue;
            }
            let note = change_note(&self.caller, &version.change, None);
            let is_full = calls.len() == limit;
            match calls.iter_mut().find(|(known, _)| known.call == note.call) {
                Some((_, memories)) => memories.push(id),
                None if is_full => break,
                None => calls.push((note, vec![id])),
            }
        }
        Ok(calls)
    }

    /// Returns the calls that changed memories, with the memories that the caller may read, the last
    /// one first.
    pub(crate) fn last_changes(&self, limit: usize) -> Result<Vec<(ChangeNote, Vec<MemoryId>)>> {
        let mut calls: Vec<(ChangeNote, Vec<MemoryId>)> = Vec::new();
        let mut query = ChangeQuery {
            space: self.caller.space.clone(),
            limit: PAGE,
            ..ChangeQuery::default()
        };
        loop {
            let page = self.store.changes(&query)?;
            let ids: Vec<MemoryId> = page.iter().map(|version| version.memory.clone()).collect();
            let readable = self
                .access
                .all_readable_of(&ids, &Tier::ALL, Forgotten::Show)?;
            let owners: HashMap<&MemoryId, Option<&str>> = readable
                .iter()
                .map(|memory| (&memory.id, memory.owner.as_deref()))
                .collect();
            for version in &page {
                let (Some(mark), Some(owner)) = (&version.change, owners.get(&version.memory))
                else {
                    continue;
                };
                let is_full = calls.len() == limit;
                let known = calls.iter_mut().find(|(note, _)| note.call == mark.call);
                match known {
                    Some((_, memories)) if memories.contains(&version.memory) => {}
                    Some((_, memories)) => memories.push(version.memory.clone()),
                    None if is_full => return Ok(calls),
                    None => {
                        let note = self.change_note(mark, *owner);
                        calls.push((note, vec![version.memory.clone()]));
                    }
                }
            }
            match after(&page) {
                Some(place) => query.after = Some(place),
                None => return Ok(calls),
            }
        }
    }

    /// Returns the memories with changes that are meant.
    fn changes_meant(&self, meant: &ChangesMeant) -> Result<Matching> {
        let mut query = ChangeQuery {
            limit: PAGE,
            ..meant.query(&self.caller.space)
        };
        let mut matching = Matching::default();
        let mut count = 0;
        loop {
            let page = self.store.changes(&query)?;
            for version in &page {
                let Matching { ids, revisions } = &mut matching;
                let of_memory = revisions.entry(version.memory.clone());
                let of_memory = of_memory.or_insert_with_key(|id| {
                    ids.push(id.clone());
                    HashSet::new()
                });
                of_memory.insert(version.revision);
            }
            count += page.len();
            if count > CHANGES_MAX {
                return Err(too_many());
            }
            match after(&page) {
                Some(place) => query.after = Some(place),
                None => return Ok(matching),
            }
        }
    }

    fn take_back_of(
        &self,
        id: &MemoryId,
        matching: &HashSet<u64>,
        is_dry_run: bool,
        taken: &mut TakenBack,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            let ids = std::slice::from_ref(id);
            let memory = self
                .access
                .all_readable_of(ids, &Tier::ALL, Forgotten::Show)?
                .pop();
            // It was deleted in the meantime, or the caller may not read it.
            let Some(memory) = memory else { return Ok(()) };
            let versions = self.store.versions(&memory.space, id)?;
            let target = match self.step(&memory, versions, matching) {
                Step::Stand(later, reason) => {
                    taken.stands.push(StandingMemory {
                        memory,
                        later,
                        reason,
                    });
                    return Ok(());
                }
                Step::Forget if memory.forgotten_at.is_some() => {
                    taken.unchanged.push(id.clone());
                    return Ok(());
                }
                Step::Forget => Memory {
                    forgotten_at: Some(self.clock.now()),
                    ..memory.clone()
                },
                Step::Restore(target) => *target,
            };
            let goes = target.forgotten_at.is_some() && memory.forgotten_at.is_none();
            if !is_dry_run {
                let Some(after) = self.bring_to(&memory, &target, false)? else {
                    continue;
                };
                if after.revision == memory.revision {
                    taken.unchanged.push(id.clone());
                    return Ok(());
                }
            }
            if goes {
                taken.forgotten.push(id.clone());
            } else {
                taken.restored.push(id.clone());
            }
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::Conflict,
            format!("other writers keep changing {id}; try again"),
        ))
    }

    /// Returns what is to be done with a memory, of whose versions these match.
    fn step(&self, memory: &Memory, versions: Vec<Version>, matching: &HashSet<u64>) -> Step {
        if !self.caller.may_write(memory) {
            return Step::Stand(None, "you may only read it".to_owned());
        }
        let versions = with_texts(memory, versions);
        let latest = versions
            .iter()
            .take_while(|version| matching.contains(&version.revision));
        let count = latest.count();
        let Some(target) = count.checked_sub(1).and_then(|last| versions.get(last)) else {
            let later = versions.first().and_then(|version| version.change.as_ref());
            let later = later.map(|mark| self.change_note(mark, memory.owner.as_deref()));
            return Step::Stand(later, "it was changed later".to_owned());
        };
        if target.is_before_all() {
            return Step::Forget;
        }
        let state = versions[..count]
            .iter()
            .fold(memory.clone(), |state, version| version.applied_to(&state));
        Step::Restore(Box::new(state))
    }
}

/// Returns the place after which the next page starts; `None` after the last one.
fn after(page: &[Version]) -> Option<(Timestamp, MemoryId, u64)> {
    let last = page.last().filter(|_| page.len() == PAGE)?;
    let at = last.change.as_ref()?.at;
    Some((at, last.memory.clone(), last.revision))
}
