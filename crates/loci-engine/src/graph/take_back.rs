//! Taking changes of facts and tunnels back.

use std::collections::{HashMap, HashSet};

use loci_core::{
    Change, ChangeQuery, Condition, Error, Fact, RecordKind, RecordState, RecordVersion, Result,
    Scope, SettingState, Tunnel, TunnelEnd,
};

use crate::changes::taken_back::{
    CHANGES_MAX, ChangedRecord, ChangesMeant, RecordOutcome, TakenRecord, too_many,
};
use crate::graph::Graph;
use crate::graph::history::record_label;
use crate::graph::knowledge_graph::{RETRACTED, triple_of};
use crate::memories::history::{ChangeNote, change_note};

/// The last changes of facts and tunnels that are read for a list of calls.
const LAST_READ: usize = 10_000;

/// A record with changes that are meant.
struct RecordTarget {
    record: ChangedRecord,
    /// The state from before these changes.
    target: Option<RecordState>,
    /// The change that came later, if one did.
    later: Option<ChangeNote>,
}

impl Graph<'_> {
    /// Takes changes of facts and tunnels back: what they stored goes first, then the others get the
    /// state from before the first of the latest changes that match. A record that was changed later
    /// stands. Returns the number of changes, and each record that the caller sees.
    ///
    /// # Errors
    /// As for [`Changes::take_back`](crate::Changes::take_back), but for `not_found`.
    pub(crate) fn take_back(
        &self,
        meant: &ChangesMeant,
        is_dry_run: bool,
    ) -> Result<(usize, Vec<TakenRecord>)> {
        let (count, records) = self.records_meant(meant)?;
        // A fact that is right goes before the wrong one that it replaced comes back.
        let (goes, returns): (Vec<RecordTarget>, Vec<RecordTarget>) = records
            .into_iter()
            .partition(|it| it.target.is_none() && it.later.is_none());
        let gone: HashSet<String> = goes.iter().map(|it| it.record.id.clone()).collect();
        let may_write = self.caller.principal.scopes.allow(Scope::Write);
        let mut taken = Vec::new();
        for RecordTarget {
            record,
            target,
            later,
        } in goes.into_iter().chain(returns)
        {
            let stands = |later, reason: &str| RecordOutcome::Stands {
                later,
                reason: reason.to_owned(),
            };
            let outcome = if later.is_some() {
                Some(stands(later, "it was changed later"))
            } else if !may_write {
                Some(stands(None, "you may only read it"))
            } else {
                let preview = is_dry_run.then_some(&gone);
                self.bring_record_to(record.kind, &record.id, target.as_ref(), preview)?
            };
            taken.extend(outcome.map(|outcome| TakenRecord { record, outcome }));
        }
        Ok((count, taken))
    }

    /// Returns the calls that changed facts, tunnels and settings that the caller sees, the last one first;
    /// only of one kind, if it is given.
    pub(crate) fn last_changes(
        &self,
        only: Option<RecordKind>,
        limit: usize,
    ) -> Result<Vec<(ChangeNote, Vec<ChangedRecord>)>> {
        let versions = self.store.record_changes(&ChangeQuery {
            space: self.caller.space.clone(),
            limit: LAST_READ,
            ..ChangeQuery::default()
        })?;
        let of_kind = |it: &&RecordVersion| only.is_none_or(|kind| it.kind == kind);
        let versions: Vec<&RecordVersion> = versions.iter().filter(of_kind).collect();
        let keys = versions.iter().map(|it| (it.kind, it.id.clone()));
        let labels = self.labels(keys)?;
        let mut calls: Vec<(ChangeNote, Vec<ChangedRecord>)> = Vec::new();
        for version in versions {
            let Some(label) = labels.get(&(version.kind, version.id.clone())) else {
                continue;
            };
            let record = ChangedRecord {
                kind: version.kind,
                id: version.id.clone(),
                label: label.clone(),
            };
            let known = calls
                .iter()
                .position(|(note, _)| note.call == version.change.call);
            match known {
                Some(place) if calls[place].1.contains(&record) => {}
                Some(place) => calls[place].1.push(record),
                None if calls.len() == limit => break,
                None => {
                    let note = change_note(&self.caller, &version.change, None);
                    calls.push((note, vec![record]));
                }
            }
        }
        Ok(calls)
    }

    /// Returns the number of changes that are meant, and their records that the caller sees, the one
    /// that was changed last first.
    fn records_meant(&self, meant: &ChangesMeant) -> Result<(usize, Vec<RecordTarget>)> {
        let query = ChangeQuery {
            limit: CHANGES_MAX + 1,
            ..meant.query(&self.caller.space)
        };
        let changes = self.store.record_changes(&query)?;
        if changes.len() > CHANGES_MAX {
            return Err(too_many());
        }
        let mut order: Vec<(RecordKind, String)> = Vec::new();
        let mut numbers: HashMap<(RecordKind, String), HashSet<u64>> = HashMap::new();
        for version in &changes {
            let key = (version.kind, version.id.clone());
            let of_record = numbers.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                HashSet::new()
            });
            of_record.insert(version.number);
        }
        let labels = self.labels(order.iter().cloned())?;
        let (mut records, mut count) = (Vec::new(), 0);
        for (kind, id) in order {
            let key = (kind, id);
            let (Some(label), Some(matching)) = (labels.get(&key), numbers.get(&key)) else {
                continue;
            };
            let (kind, id) = key.clone();
            count += matching.len();
            let versions = self.store.record_versions(&self.caller.space, kind, &id)?;
            let first = versions.iter().position(|it| matching.contains(&it.number));
            // Later changes that took each other back leave the record as this change made it.
            let is_as_made = |first: &usize| match first.checked_sub(1) {
                None => Ok(true),
                Some(next) => {
                    let now = self.record(kind, &id)?;
                    Ok::<bool, Error>(is_same(now.as_ref(), versions[next].state.as_ref()))
                }
            };
            let first = match first {
                Some(first) if is_as_made(&first)? => Some(first),
                _ => None,
            };
            let latest = versions
                .iter()
                .skip(first.unwrap_or(versions.len()))
                .take_while(|it| matching.contains(&it.number));
            let target = latest.last();
            let later = versions.first().filter(|_| target.is_none());
            records.push(RecordTarget {
                target: target.and_then(|version| version.state.clone()),
                later: later.map(|it| change_note(&self.caller, &it.change, None)),
                record: ChangedRecord {
                    kind,
                    id,
                    label: label.clone(),
                },
            });
        }
        Ok((count, records))
    }

    /// Returns the records among these that the caller sees, in few words.
    fn labels(
        &self,
        records: impl Iterator<Item = (RecordKind, String)>,
    ) -> Result<HashMap<(RecordKind, String), String>> {
        let space = &self.caller.space;
        let mut labels = HashMap::new();
        if !self.caller.principal.scopes.allow(Scope::Read) {
            return Ok(labels);
        }
        let (facts, tunnels): (HashSet<_>, HashSet<_>) = records
            .filter(|(kind, _)| *kind != RecordKind::Deletion)
            .partition(|(kind, _)| *kind == RecordKind::Fact);
        let facts: Vec<String> = facts.into_iter().map(|(_, id)| id).collect();
        for fact in self.store.facts_with_ids(space, &facts)? {
            let key = (RecordKind::Fact, fact.id.clone());
            labels.insert(key, record_label(&RecordState::Fact(fact)));
        }
        for (kind, id) in tunnels {
            let kept = self.kept(kind, &id)?;
            let known = kept.and_then(|(now, versions)| {
                now.or_else(|| versions.into_iter().find_map(|version| version.state))
            });
            labels.extend(known.map(|state| ((kind, id), record_label(&state))));
        }
        Ok(labels)
    }

    /// Brings a fact or a tunnel to a state; `None` stands for the time before it was stored. With
    /// `preview`, which has the ids of what would be gone by then, nothing is changed. Returns `None`
    /// if the fact was deleted for good, or the caller does not see the tunnel.
    pub(super) fn bring_record_to(
        &self,
        kind: RecordKind,
        id: &str,
        target: Option<&RecordState>,
        preview: Option<&HashSet<String>>,
    ) -> Result<Option<RecordOutcome>> {
        match (kind, target) {
            (RecordKind::Fact, Some(RecordState::Fact(fact))) => {
                self.bring_fact_to(id, Some(fact), preview)
            }
            (RecordKind::Fact, _) => self.bring_fact_to(id, None, preview),
            (RecordKind::Tunnel, Some(RecordState::Tunnel(tunnel))) => {
                self.bring_tunnel_to(id, Some(tunnel), preview)
            }
            (RecordKind::Tunnel, _) => self.bring_tunnel_to(id, None, preview),
            (RecordKind::Setting, Some(RecordState::Setting(setting))) => {
                self.bring_setting_to(id, Some(&setting.value), preview.is_some())
            }
            (RecordKind::Setting, _) => self.bring_setting_to(id, None, preview.is_some()),
            (RecordKind::Deletion, _) => Ok(None),
        }
    }

    fn bring_fact_to(
        &self,
        id: &str,
        target: Option<&Fact>,
        preview: Option<&HashSet<String>>,
    ) -> Result<Option<RecordOutcome>> {
        let Some(RecordState::Fact(known)) = self.record(RecordKind::Fact, id)? else {
            return Ok(None);
        };
        let triple = triple_of(&known);
        self.locks.change(&(&self.caller.space, &triple), || {
            let Some(RecordState::Fact(now)) = self.record(RecordKind::Fact, id)? else {
                return Ok(None);
            };
            let valid_to = target.map_or(Some(RETRACTED), |fact| fact.valid_to);
            if now.valid_to == valid_to {
                return Ok(Some(RecordOutcome::Unchanged));
            }
            let returns = valid_to != Some(RETRACTED);
            let next = Fact {
                valid_to,
                ..now.clone()
            };
            let same = if returns {
                self.same_fact(&triple, &next)?
            } else {
                None
            };
            let is_left = |same: &Fact| preview.is_none_or(|gone| !gone.contains(&same.id));
            if let Some(same) = same.filter(is_left) {
                let reason = format!("the fact {} says the same", same.id);
                return Ok(Some(RecordOutcome::Stands {
                    later: None,
                    reason,
                }));
            }
            if preview.is_none() {
                let end = Change::EndFact {
                    id: id.to_owned(),
                    before: now.valid_to,
                    valid_to,
                };
                self.access.commit(vec![end])?;
            }
            Ok(Some(if target.is_some() {
                RecordOutcome::Restored
            } else {
                RecordOutcome::Removed
            }))
        })
    }

    fn bring_tunnel_to(
        &self,
        id: &str,
        target: Option<&Tunnel>,
        preview: Option<&HashSet<String>>,
    ) -> Result<Option<RecordOutcome>> {
        self.change_tunnels(|| {
            let since = self.store.version(&self.caller.space)?;
            let now = match self.record(RecordKind::Tunnel, id)? {
                Some(RecordState::Tunnel(tunnel)) => Some(tunnel),
                _ => None,
            };
            if !now.as_ref().or(target).is_none_or(|it| self.sees(it)) {
                return Ok(None);
            }
            let Some(target) = target else {
                if now.is_none() {
                    return Ok(Some(RecordOutcome::Unchanged));
                }
                if preview.is_none() {
                    let id = id.to_owned();
                    self.access.commit(vec![Change::DeleteTunnel { id }])?;
                }
                return Ok(Some(RecordOutcome::Removed));
            };
            let mut next = Tunnel {
                updated_at: self.clock.now(),
                ..target.clone()
            };
            for end in [&mut next.source, &mut next.target] {
                self.forget_missing(end)?;
            }
            let [known, wanted] =
                [now.clone(), Some(next.clone())].map(|tunnel| tunnel.map(RecordState::Tunnel));
            if is_same(known.as_ref(), wanted.as_ref()) {
                return Ok(Some(RecordOutcome::Unchanged));
            }
            if preview.is_none() {
                let conditions: Option<Condition> = self.not_wiped(&next, since);
                let put = Change::PutTunnel {
                    tunnel: Box::new(next),
                    expect: now.map(Box::new),
                };
                self.access
                    .commit_if(Vec::from_iter(conditions), vec![put])?;
            }
            Ok(Some(RecordOutcome::Restored))
        })
    }

    fn bring_setting_to(
        &self,
        id: &str,
        target: Option<&str>,
        is_preview: bool,
    ) -> Result<Option<RecordOutcome>> {
        let own = self.caller.principal.subject.as_deref();
        let (name, owner) = SettingState::name_and_owner(id);
        let (name, owner) = (name.to_owned(), owner.or(own).map(str::to_owned));
        let key = ("settings", &self.caller.space, &owner);
        self.locks.change(&key, || {
            let now = self
                .store
                .setting(&self.caller.space, owner.as_deref(), &name)?;
            let states = (now.as_deref(), target);
            let Some(version) = self.access.setting_version(&name, owner.as_deref(), states) else {
                return Ok(Some(RecordOutcome::Unchanged));
            };
            if !is_preview {
                let (owner, name) = (owner.clone(), name.clone());
                let as_read = Condition::SettingIs {
                    owner: owner.clone(),
                    name: name.clone(),
                    value: now.clone(),
                };
                let change = match target {
                    Some(value) => Change::PutSetting {
                        owner,
                        name,
                        value: value.to_owned(),
                    },
                    None => Change::DeleteSetting { owner, name },
                };
                self.access
                    .commit_filed(vec![as_read], vec![change, version])?;
            }
            Ok(Some(match target {
                Some(_) => RecordOutcome::Restored,
                None => RecordOutcome::Removed,
            }))
        })
    }

    /// Takes the memory from an end of a tunnel if it is gone by now.
    fn forget_missing(&self, end: &mut TunnelEnd) -> Result<()> {
        if let Some(id) = &end.memory
            && self.store.get(&self.caller.space, id)?.is_none()
        {
            end.memory = None;
        }
        Ok(())
    }
}

/// Returns true if two states differ in nothing but the time of the last change of a tunnel.
fn is_same(one: Option<&RecordState>, other: Option<&RecordState>) -> bool {
    match (one, other) {
        (Some(RecordState::Tunnel(one)), Some(RecordState::Tunnel(other))) => {
            let one = Tunnel {
                updated_at: other.updated_at,
                ..one.clone()
            };
            one == *other
        }
        (one, other) => one == other,
    }
}
