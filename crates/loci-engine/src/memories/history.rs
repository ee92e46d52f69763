//! The history of a memory: what it was between two changes, and the way back to that.

use loci_core::{
    Caller, ChangeMark, Delivery, Error, ErrorCode, Forgotten, Memory, MemoryId, RecordKind,
    RecordVerb, Redactions, Result, STANDS_BEHIND, Scope, SoftDeleted, Tier, Timestamp, Version,
    Visibility,
};
use loci_text::indexed;

use crate::authors::shown_name;
use crate::memories::Memories;
use crate::memories::refile::Refile;
use crate::memories::remember::Embedding;
use crate::memories::update::{changed_meanwhile, put_next};
use crate::memories::versions::with_texts;
use crate::notes::not_note;

/// A state of a memory, from one change to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryState {
    /// The memory as it was. Its links, its thread and its access count are as they are now.
    pub memory: Memory,
    /// The number by which it is named: the last revision in this state.
    pub revision: u64,
    /// The change that began it; `None` if that is not kept.
    pub began: Option<ChangeNote>,
    /// The fields that the change changed, in the words of the history; empty for the first state that is kept.
    pub changed: Vec<&'static str>,
    /// True if that change stored the memory.
    pub is_first: bool,
    /// True if that change deleted the memory softly; `loci unforget` brings it back.
    pub is_deleted: bool,
}

impl MemoryState {
    /// Returns what differs in a later state, in the words of the history.
    pub fn changes_to(&self, later: &MemoryState) -> Vec<&'static str> {
        changes_between(&self.memory, &later.memory, true)
    }
}

/// A change of a memory, as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeNote {
    /// The time.
    pub at: Timestamp,
    /// The number of the call, by which all its changes are taken back.
    pub call: u64,
    /// The name of the user who made it; `None` if that is the reader.
    pub by: Option<String>,
    /// The tool; empty for an edit in the folder of notes.
    pub tool: String,
    /// The program.
    pub program: Option<String>,
    /// The session of the program, if the reader made the change, or is an `admin`.
    pub session: Option<String>,
    /// The id of the token, under the same condition.
    pub token: Option<String>,
}

impl Memories<'_> {
    /// Returns the states of a memory that are kept, the present one first. The caller must be able
    /// to read it now; it may be forgotten, or be deleted softly: then the deletion is the first state.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory; `unavailable` if the store cannot be read.
    pub fn history(&self, id: &MemoryId) -> Result<Vec<MemoryState>> {
        let memory = match self.access.readable_of(id, &Tier::ALL, Forgotten::Show) {
            Err(error) if error.code == ErrorCode::NotFound => {
                return self.history_of_deleted(id)?.ok_or(error);
            }
            memory => memory?,
        };
        let versions = self.store.versions(&memory.space, &memory.id)?;
        Ok(self.states(memory, versions))
    }

    /// Returns the same of a memory that is deleted softly; `None` if the caller could read no such one.
    fn history_of_deleted(&self, id: &MemoryId) -> Result<Option<Vec<MemoryState>>> {
        let Some(SoftDeleted { mut memory, .. }) = self.access.soft_deleted(id)? else {
            return Ok(None);
        };
        self.access.hide_references([&mut memory])?;
        let (space, id) = (&memory.space, memory.id.as_str());
        let deletions = self
            .store
            .record_versions(space, RecordKind::Deletion, id)?;
        let began = deletions.first().map(|it| &it.change);
        let deleted = MemoryState {
            began: began.map(|mark| change_note(&self.caller, mark, None)),
            revision: memory.revision + 1,
            memory: memory.clone(),
            changed: vec!["deleted"],
            is_first: false,
            is_deleted: true,
        };
        let versions = self.store.versions(&memory.space, &memory.id)?;
        let mut states = vec![deleted];
        states.extend(self.states(memory, versions));
        Ok(Some(states))
    }

    fn states(&self, memory: Memory, versions: Vec<Version>) -> Vec<MemoryState> {
        let versions = with_texts(&memory, versions);
        let owner = memory.owner.clone();
        let mut states: Vec<MemoryState> = Vec::with_capacity(versions.len() + 1);
        let mut state = MemoryState {
            revision: memory.revision,
            memory,
            began: None,
            changed: Vec::new(),
            is_first: false,
            is_deleted: false,
        };
        for version in versions {
            state.began = version
                .change
                .as_ref()
                .map(|mark| self.change_note(mark, owner.as_deref()));
            if version.is_before_all() {
                state.is_first = true;
                break;
            }
            let former = version.applied_to(&state.memory);
            state.changed = changes_between(&former, &state.memory, version.properties.is_some());
            states.push(std::mem::replace(
                &mut state,
                MemoryState {
                    revision: version.revision,
                    memory: former,
                    began: None,
                    changed: Vec::new(),
                    is_first: false,
                    is_deleted: false,
                },
            ));
        }
        states.push(state);
        states
    }

    /// Returns a change as the caller may see it.
    pub(crate) fn change_note(&self, mark: &ChangeMark, owner: Option<&str>) -> ChangeNote {
        change_note(&self.caller, mark, owner)
    }

    /// Brings the state of a memory back that has this revision: text, title, tags, place and
    /// properties; of a note, what its file says. The change is one like any other: it keeps the
    /// version before, and its text has the caller as its writer. An expiry that has passed stays as
    /// it is now. A memory that is deleted softly comes back with what was deleted along with it. Durable
    /// when it returns; changes nothing if the memory is in that state.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory; `forbidden` if it may only read it;
    /// `invalid_argument` if no state with this revision is kept; `conflict` if other writers keep
    /// changing the memory; `unavailable` if the store or the folder of notes cannot be written.
    pub fn restore(&self, id: &MemoryId, revision: u64) -> Result<Memory> {
        let mut states = self.history(id)?;
        let is_deleted = states.first().is_some_and(|state| state.is_deleted);
        if is_deleted {
            // To be deleted is no state to go back to.
            states.remove(0);
        }
        let now = states.first().map(|state| &state.memory);
        let (Some(now), Some(state)) = (now, states.iter().find(|it| it.revision == revision))
        else {
            let kept: Vec<String> = states.iter().map(|it| it.revision.to_string()).collect();
            let problem = format!(
                "is no version of this memory that is kept; these are: {}",
                kept.join(", ")
            );
            return Err(Error::invalid("version", problem));
        };
        let back = if is_deleted {
            self.undelete(&now.id)?
        } else {
            None
        };
        self.bring_to(back.as_ref().unwrap_or(now), &state.memory, true)?
            .ok_or_else(changed_meanwhile)
    }

    /// Changes a memory that is in the state `now` to another state. Returns `None` if another writer
    /// changed it since. With `remembers`, a memory that goes out of sight leaves tombstones.
    ///
    /// # Errors
    /// As for [`restore`](Self::restore).
    pub(crate) fn bring_to(
        &self,
        now: &Memory,
        target: &Memory,
        remembers: bool,
    ) -> Result<Option<Memory>> {
        if !self.caller.may_write(now) {
            return Err(Error::about(
                ErrorCode::Forbidden,
                "memory",
                format!("{} belongs to someone else and can only be read", now.id),
            ));
        }
        if self.notes.is_note(now)? {
            return self.bring_note_to(now, target).map(Some);
        }
        let moment = self.clock.now();
        let next = self.next_state(now, target, moment);
        if next == *now {
            return Ok(Some(next));
        }
        let is_new_text = (&next.content, &next.title) != (&now.content, &now.title);
        let mut embedding = Embedding::Done;
        let passages = (is_new_text || next.metadata() != now.metadata()).then(|| {
            let mut passages = indexed::passages(&next);
            let title = next.title.as_deref();
            (embedding, _) = self
                .models
                .embed_at_once(title, &next.content, &mut passages);
            passages
        });
        let done = self.locks.change(&now.id, || {
            let ids = std::slice::from_ref(&now.id);
            let stored = self
                .access
                .all_readable_of(ids, &Tier::ALL, Forgotten::Show)?
                .pop();
            let Some(stored) = stored.filter(|stored| stored.revision == now.revision) else {
                return Ok(None);
            };
            let mut changes = Vec::from_iter(self.access.kept(Some(&stored), &next));
            let (put, next) = put_next(next.clone(), passages.clone());
            changes.push(put);
            changes.extend(match (stored.forgotten_at, next.forgotten_at) {
                (None, Some(_)) if remembers => self.tombstones.put([&stored], false)?,
                (Some(_), None) => self.tombstones.lift(std::slice::from_ref(&stored))?,
                _ => None,
            });
            let not_note = not_note(&self.caller.space, &now.id);
            self.access.commit_if(Vec::from_iter(not_note), changes)?;
            Ok(Some(next))
        })?;
        self.models.embed_soon(&embedding);
        done.map(|memory| self.access.without_hidden(memory))
            .transpose()
    }

    /// Returns the state that follows when a memory is brought to a former one: with what decides who
    /// wrote and who may read it as the rules of now have it.
    fn next_state(&self, now: &Memory, target: &Memory, moment: Timestamp) -> Memory {
        let is_new_text = (&target.content, &target.title) != (&now.content, &now.title);
        let is_common = |memory: &Memory| memory.visibility == Visibility::Common;
        let mut next = Memory {
            updated_by: now.updated_by.clone(),
            updated_at: now.updated_at,
            by_admin: now.by_admin,
            provenance: now.provenance.clone(),
            expires_at: target
                .expires_at
                .filter(|at| *at > moment)
                .or(now.expires_at.filter(|_| target.expires_at.is_some())),
            visibility: if is_common(now) == is_common(target) {
                target.visibility
            } else {
                now.visibility
            },
            revision: now.revision,
            access: now.access,
            superseded_by: now.superseded_by.clone(),
            ..target.clone()
        };
        if is_new_text {
            next.updated_at = now.updated_at.max(moment);
            next.provenance.said_by = target.provenance.said_by;
            next.set_writer(&self.caller);
        }
        next
    }

    /// Changes the file of a note, as far as a file says what the state has.
    fn bring_note_to(&self, now: &Memory, target: &Memory) -> Result<Memory> {
        let differs = Refile {
            content: (target.content != now.content).then(|| target.content.clone()),
            collection: (target.location.collection != now.location.collection)
                .then(|| target.location.collection.clone()),
            section: (target.location.section != now.location.section)
                .then(|| target.location.section.clone()),
            tags: (target.tags != now.tags).then(|| target.tags.clone()),
            delivery: (target.delivery != now.delivery).then_some(target.delivery),
        };
        let mut note = now.clone();
        if note.forgotten_at.is_some() {
            (note, _) = self.mark(&now.id, None)?;
        }
        if differs != Refile::default() {
            (note, _) = self.revise(&note, &differs, None, &Redactions::default(), None)?;
        }
        if target.forgotten_at.is_some() {
            (note, _) = self.mark(&now.id, target.forgotten_at)?;
        }
        self.caller.note(RecordVerb::Changed, &note);
        self.access.without_hidden(note)
    }
}

/// Returns a change as a caller may see it, of a record with this owner.
pub(crate) fn change_note(caller: &Caller, mark: &ChangeMark, owner: Option<&str>) -> ChangeNote {
    let subject = mark.subject(owner);
    let is_own = caller.principal.subject.as_deref() == Some(subject);
    let knows = is_own || caller.principal.scopes.allow(Scope::Admin);
    ChangeNote {
        at: mark.at,
        call: mark.call,
        by: (!is_own).then(|| shown_name(subject)),
        tool: mark.tool.clone(),
        program: mark.program.clone(),
        session: mark.session.clone().filter(|_| knows),
        token: mark.token.clone().filter(|_| knows),
    }
}

/// Returns what differs between two states, in the words of the history. Without `knows_all`, only
/// the text, the title, the tags and the place of the former one are known.
fn changes_between(former: &Memory, later: &Memory, knows_all: bool) -> Vec<&'static str> {
    let mut changed = Vec::new();
    let mut note = |differs: bool, word: &'static str| {
        if differs {
            changed.push(word);
        }
    };
    note(former.content != later.content, "text");
    note(former.title != later.title, "title");
    note(former.tags != later.tags, "tags");
    note(
        former.location.collection != later.location.collection,
        "project",
    );
    note(former.location.section != later.location.section, "type");
    if !knows_all {
        return changed;
    }
    note(
        former.kind != later.kind && former.location.section == later.location.section,
        "kind",
    );
    let begins_sessions = |memory: &Memory| memory.delivery == Delivery::Bootstrap;
    match (begins_sessions(former), begins_sessions(later)) {
        (false, true) => note(true, "pinned"),
        (true, false) => note(true, "unpinned"),
        _ => {}
    }
    note(former.visibility != later.visibility, "visibility");
    note(former.expires_at != later.expires_at, "expiry");
    match (former.forgotten_at, later.forgotten_at) {
        (None, Some(_)) => note(true, "forgotten"),
        (Some(_), None) => note(true, "brought back"),
        _ => {}
    }
    note(former.supersedes != later.supersedes, "replaces");
    #[expect(clippy::float_cmp, reason = "a weight is set, not computed")]
    note(former.weight != later.weight, "weight");
    note(former.summary != later.summary, "summary");
    note(former.citations != later.citations, "sources");
    let others = |memory: &Memory| {
        let mut others = memory.attributes.clone();
        others.remove(STANDS_BEHIND);
        others
    };
    let is_behind = |memory: &Memory| memory.attributes.contains_key(STANDS_BEHIND);
    match (is_behind(former), is_behind(later)) {
        (false, true) => note(true, "stands behind another"),
        (true, false) => note(true, "in sight again"),
        _ => {}
    }
    note(others(former) != others(later), "attributes");
    changed
}
