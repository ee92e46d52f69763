//! The history of a fact or a tunnel: what it was between two changes, and the way back to that.

use loci_core::{
    Change, Error, ErrorCode, Fact, RecordKind, RecordState, RecordVerb, RecordVersion, Result,
    Scope, SettingState, Tunnel,
};

use crate::changes::taken_back::RecordOutcome;
use crate::graph::Graph;
use crate::graph::knowledge_graph::is_retracted;
use crate::graph::tunnels::{place, shown};
use crate::memories::history::{ChangeNote, change_note};

/// A state of a fact or a tunnel, from one change to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptState {
    /// The record as it was; `None` while it was deleted.
    pub state: Option<RecordState>,
    /// The number by which the state is named.
    pub number: u64,
    /// The change that began it; `None` if that is not kept.
    pub began: Option<ChangeNote>,
    /// The fields that the change changed, in the words of the history; empty for the first state that
    /// is kept.
    pub changed: Vec<&'static str>,
    /// True if that change stored the record.
    pub is_first: bool,
}

impl KeptState {
    /// Returns what differs in a later state, in the words of the history.
    pub fn changes_to(&self, later: &KeptState) -> Vec<&'static str> {
        changes_between(self.state.as_ref(), later.state.as_ref())
    }
}

impl Graph<'_> {
    /// Returns the kind of the record with this id, which is there or has versions that are kept, and
    /// which the caller may read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn record_kind(&self, id: &str) -> Result<Option<RecordKind>> {
        for kind in RecordKind::ALL {
            if self.kept(kind, id)?.is_some() {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    /// Returns the states of a fact or a tunnel that are kept, the present one first. A tunnel may be
    /// deleted by now.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such record; `unavailable` if the store cannot be read.
    pub fn record_history(&self, kind: RecordKind, id: &str) -> Result<Vec<KeptState>> {
        let (now, versions) = self.kept(kind, id)?.ok_or_else(|| unknown(kind, id))?;
        self.caller.note_record(RecordVerb::Read, id, Some(false));
        let mut states = Vec::with_capacity(versions.len() + 1);
        let mut state = KeptState {
            state: now,
            number: versions.first().map_or(1, |version| version.number + 1),
            began: None,
            changed: Vec::new(),
            is_first: false,
        };
        let last = versions.len();
        for (place, version) in versions.into_iter().enumerate() {
            state.began = Some(change_note(&self.caller, &version.change, None));
            let is_first = version.state.is_none() && place + 1 == last;
            state.is_first = is_first;
            if !is_first {
                state.changed = changes_between(version.state.as_ref(), state.state.as_ref());
            }
            states.push(state);
            state = KeptState {
                state: version.state,
                number: version.number,
                began: None,
                changed: Vec::new(),
                is_first: false,
            };
        }
        if state.state.is_some() {
            states.push(state);
        }
        Ok(states)
    }

    /// Brings the state of a fact or a tunnel back that has this number: the end of a fact, and whether
    /// it was taken back; the label and the memories of a tunnel, and whether it was there. The change
    /// is one like any other: it keeps the version before. Durable when it returns; changes nothing if
    /// the record is in that state.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such record; `forbidden` without the scope `write`;
    /// `invalid_argument` if no state with this number is kept; `conflict` if a fact that says the same
    /// holds already; `unavailable` if the store cannot be written.
    pub fn restore_record(&self, kind: RecordKind, id: &str, number: u64) -> Result<KeptState> {
        if !self.caller.principal.scopes.allow(Scope::Write) {
            let message = "to bring a former state back needs a token with the scope `write`";
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        let states = self.record_history(kind, id)?;
        let Some(state) = states.iter().find(|it| it.number == number) else {
            let kept: Vec<String> = states.iter().map(|it| it.number.to_string()).collect();
            let problem = format!(
                "is no version of this {} that is kept; these are: {}",
                kind.name(),
                kept.join(", ")
            );
            return Err(Error::invalid("version", problem));
        };
        match self.bring_record_to(kind, id, state.state.as_ref(), None)? {
            Some(RecordOutcome::Stands { reason, .. }) => {
                let message = format!("the {} {id} stays: {reason}", kind.name());
                Err(Error::new(ErrorCode::Conflict, message))
            }
            Some(_) => {
                let states = self.record_history(kind, id)?;
                states.into_iter().next().ok_or_else(|| unknown(kind, id))
            }
            None => Err(unknown(kind, id)),
        }
    }

    /// Removes a fact or a tunnel for good, with all of its versions, or the versions of a tunnel that
    /// was deleted. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such record; `forbidden` without the scope `write`;
    /// `unavailable` if the store cannot be written.
    pub fn remove_record(&self, kind: RecordKind, id: &str) -> Result<()> {
        if !self.caller.principal.scopes.allow(Scope::Write) {
            let message = "to remove something for good needs a token with the scope `write`";
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        self.change_tunnels(|| {
            let (now, _) = self.kept(kind, id)?.ok_or_else(|| unknown(kind, id))?;
            let id = self.record_id(kind, id);
            let removal = now.map(|now| match now {
                RecordState::Fact(fact) => Change::DeleteFacts {
                    facts: vec![(id.clone(), fact.valid_to)],
                },
                RecordState::Tunnel(_) => Change::DeleteTunnel { id: id.clone() },
                RecordState::Setting(setting) => {
                    let (name, owner) = SettingState::name_and_owner(&setting.id);
                    Change::DeleteSetting {
                        owner: owner.map(str::to_owned),
                        name: name.to_owned(),
                    }
                }
            });
            let versions = Change::DeleteRecordVersions {
                kind,
                id: id.clone(),
            };
            let changes = removal.into_iter().chain([versions]).collect();
            // Without a version of what goes.
            self.access.commit_filed(Vec::new(), changes)?;
            self.caller
                .note_record(RecordVerb::Deleted, &id, Some(false));
            Ok(())
        })
    }

    /// Returns a record as it is, if it is there, and its versions; `None` if there are neither, or the
    /// caller may not read them.
    pub(super) fn kept(
        &self,
        kind: RecordKind,
        id: &str,
    ) -> Result<Option<(Option<RecordState>, Vec<RecordVersion>)>> {
        let space = &self.caller.space;
        // No store holds an id with NUL, and not every store can be asked for one.
        if !self.caller.principal.scopes.allow(Scope::Read) || id.contains('\0') {
            return Ok(None);
        }
        let id = &self.record_id(kind, id);
        let now = self.record(kind, id)?;
        let versions = self.store.record_versions(space, kind, id)?;
        // A value without a version is what a program noted for itself.
        if kind == RecordKind::Setting && versions.is_empty() {
            return Ok(None);
        }
        let mut known = now
            .iter()
            .chain(versions.iter().filter_map(|it| it.state.as_ref()));
        let is_seen = match known.next() {
            Some(state) => self.sees_record(state),
            None => kind == RecordKind::Setting && self.sees_setting(id),
        };
        Ok(is_seen.then_some((now, versions)))
    }

    /// Returns the id of the record that an id names: a name of a setting is one of the caller's.
    fn record_id(&self, kind: RecordKind, id: &str) -> String {
        if kind == RecordKind::Setting && !id.contains('@') {
            SettingState::id_of(id, self.caller.principal.subject.as_deref())
        } else {
            id.to_owned()
        }
    }

    /// Returns a record as it is, for any reader.
    pub(super) fn record(&self, kind: RecordKind, id: &str) -> Result<Option<RecordState>> {
        let space = &self.caller.space;
        Ok(match kind {
            RecordKind::Fact => {
                let ids = [id.to_owned()];
                let mut found = self.store.facts_with_ids(space, &ids)?;
                found.pop().map(RecordState::Fact)
            }
            RecordKind::Deletion => None,
            RecordKind::Setting => {
                let (name, owner) = SettingState::name_and_owner(id);
                let value = self.store.setting(space, owner, name)?;
                value.map(|value| {
                    RecordState::Setting(SettingState {
                        space: space.clone(),
                        id: id.to_owned(),
                        owner: owner.map(str::to_owned),
                        value,
                    })
                })
            }
            RecordKind::Tunnel => {
                let mut found = self.store.tunnels(space)?.into_iter();
                found
                    .find(|tunnel| tunnel.id == id)
                    .map(RecordState::Tunnel)
            }
        })
    }

    /// Returns true if the caller sees a record: facts are common to everyone.
    pub(super) fn sees_record(&self, state: &RecordState) -> bool {
        match state {
            RecordState::Fact(_) => true,
            RecordState::Tunnel(tunnel) => self.sees(tunnel),
            RecordState::Setting(setting) => self.sees_setting(&setting.id),
        }
    }

    /// Returns true if a setting is the caller's own.
    fn sees_setting(&self, id: &str) -> bool {
        let (_, owner) = SettingState::name_and_owner(id);
        !self.caller.is_claimed && owner == self.caller.principal.subject.as_deref()
    }
}

/// Returns a fact or a tunnel in few words, for a person: `Ada knows Bob`, `garden/bees ↔ kitchen/honey`.
pub fn record_label(state: &RecordState) -> String {
    match state {
        RecordState::Fact(Fact {
            subject,
            predicate,
            object,
            ..
        }) => format!(
            "{} {} {}",
            subject.spelling, predicate.spelling, object.spelling
        ),
        RecordState::Tunnel(Tunnel { source, target, .. }) => {
            format!("{} ↔ {}", shown(place(source)), shown(place(target)))
        }
        RecordState::Setting(setting) => {
            let (name, _) = SettingState::name_and_owner(&setting.id);
            name.to_owned()
        }
    }
}

fn unknown(kind: RecordKind, id: &str) -> Error {
    Error::not_found(format!("there is no {} with the id {id}", kind.name()))
}

/// Returns what differs between two states, in the words of the history.
fn changes_between(former: Option<&RecordState>, later: Option<&RecordState>) -> Vec<&'static str> {
    match (former, later) {
        (Some(RecordState::Fact(former)), Some(RecordState::Fact(later))) => {
            let word = match (is_retracted(former), is_retracted(later)) {
                (false, true) => Some("taken back"),
                (true, false) => Some("brought back"),
                _ => match (former.valid_to, later.valid_to) {
                    (None, Some(_)) => Some("ended"),
                    (Some(_), None) => Some("open again"),
                    (former, later) => (former != later).then_some("end"),
                },
            };
            Vec::from_iter(word)
        }
        (Some(RecordState::Tunnel(former)), Some(RecordState::Tunnel(later))) => {
            let memories = |tunnel: &Tunnel| {
                let (source, target) = (&tunnel.source.memory, &tunnel.target.memory);
                (source.clone(), target.clone())
            };
            let label = (former.label != later.label).then_some("label");
            let memory = (memories(former) != memories(later)).then_some("memories");
            label.into_iter().chain(memory).collect()
        }
        (Some(RecordState::Setting(former)), Some(RecordState::Setting(later))) => {
            Vec::from_iter((former.value != later.value).then_some("value"))
        }
        (None, Some(_)) => vec!["created again"],
        (Some(_), None) => vec!["deleted"],
        _ => Vec::new(),
    }
}
