//! Taking changes of memories back: of one call, or all that a session, a program, a token or a user
//! made.

use std::collections::{HashMap, HashSet};

use loci_core::{
    ChangeQuery, Error, ErrorCode, Forgotten, Memory, MemoryId, Result, Tier, Timestamp, Version,
};

use crate::memories::Memories;
use crate::memories::history::ChangeNote;
use crate::memories::versions::with_texts;

/// The changes that are read at once.
const PAGE: usize = 1_000;
/// The most changes that one call takes back.
const CHANGES_MAX: usize = 100_000;
/// Attempts at one memory while other writers change it.
const ATTEMPTS_MAX: usize = 10;

/// The changes to take back, which match all conditions. At least one must be given beside the
/// time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangesMeant {
    /// The changes of the call with this number.
    pub call: Option<u64>,
    /// The changes of this session of a program.
    pub session: Option<String>,
    /// The changes of this program.
    pub program: Option<String>,
    /// The changes by this user; `anonymous` for callers without a name.
    pub by: Option<String>,
    /// The changes with the token of this id.
    pub token: Option<String>,
    /// Only changes at this time or later.
    pub since: Option<Timestamp>,
}

/// The memories whose changes were taken back, or would be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TakenBack {
    /// The number of changes that matched.
    pub changes: usize,
    /// Memories that the changes stored, which are forgotten now: `loci unforget` brings them back.
    pub forgotten: Vec<MemoryId>,
    /// Memories that are again what they were before.
    pub restored: Vec<MemoryId>,
    /// Memories that were in that state already.
    pub unchanged: Vec<MemoryId>,
    /// Memories that stay, because another change came later, or because the caller may not change
    /// them.
    pub stands: Vec<StandingMemory>,
}

/// A memory that stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingMemory {
    /// The memory.
    pub memory: Memory,
    /// The later change; `None` if it is not known.
    pub later: Option<ChangeNote>,
    /// Why it stays, as part of a sentence.
    pub reason: String,
}

/// The memories that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedMemories {
    /// The call, by its last change.
    pub note: ChangeNote,
    /// The memories that the caller may read, the one that was changed last first.
    pub memories: Vec<MemoryId>,
}

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
    /// Takes changes back, the memory that was changed last first: a memory that they stored is
    /// forgotten, another one gets the state from before the first of the latest changes that match.
    /// A memory that was changed later stands and is named. Deleted memories, and changes that are not kept
    /// any more, are left out. Each memory is a change of its own, which can be taken back in turn;
    /// with `is_dry_run` nothing is changed.
    ///
    /// # Errors
    /// `invalid_argument` without a condition, or for more than 100,000 changes; `not_found` if
    /// no change matches; `conflict` if other writers keep changing a memory; `unavailable` if the store
    /// or the folder of notes cannot be written: then some memories are changed, and the next call goes
    /// on.
    pub fn take_back(&self, meant: &ChangesMeant, is_dry_run: bool) -> Result<TakenBack> {
        let Matching { ids, revisions } = self.changes_meant(meant)?;
        let mut taken = TakenBack {
            changes: revisions.values().map(HashSet::len).sum(),
            ..TakenBack::default()
        };
        for id in ids {
            if let Some(of_memory) = revisions.get(&id) {
                self.take_back_of(&id, of_memory, is_dry_run, &mut taken)?;
            }
        }
        Ok(taken)
    }

    /// Returns the calls that changed memories which the caller may read, the last one first, as far as
    /// versions are kept.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn last_changes(&self, limit: usize) -> Result<Vec<ChangedMemories>> {
        let mut calls: Vec<ChangedMemories> = Vec::new();
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
                let known = calls.iter_mut().find(|call| call.note.call == mark.call);
                match known {
                    Some(call) if call.memories.contains(&version.memory) => {}
                    Some(call) => call.memories.push(version.memory.clone()),
                    None if is_full => return Ok(calls),
                    None => calls.push(ChangedMemories {
                        note: self.change_note(mark, *owner),
                        memories: vec![version.memory.clone()],
                    }),
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
        let ChangesMeant {
            call,
            session,
            program,
            by,
            token,
            since,
        } = meant.clone();
        if call.is_none()
            && [&session, &program, &by, &token]
                .iter()
                .all(|it| it.is_none())
        {
            let message =
                "name what to take back: a change, a session, a program, a user or a token";
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        let mut query = ChangeQuery {
            space: self.caller.space.clone(),
            since,
            by,
            program,
            session,
            token,
            call,
            after: None,
            limit: PAGE,
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
                let message = format!(
                    "more than {CHANGES_MAX} changes match; take them back in parts, with a later time"
                );
                return Err(Error::about_argument(
                    ErrorCode::InvalidArgument,
                    "since",
                    message,
                ));
            }
            match after(&page) {
                Some(place) => query.after = Some(place),
                None => break,
            }
        }
        if matching.ids.is_empty() {
            let message = "no change that is kept matches; `loci history` lists the last ones";
            return Err(Error::not_found(message));
        }
        Ok(matching)
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
