//! The access rules: what a caller may read and write.

pub(crate) mod past;
mod representatives;

use std::collections::BTreeSet;

use loci_core::{
    ANONYMOUS, Batch, Caller, Change, ChangeMark, Clock, CollectionFilter, Condition, Error,
    ErrorCode, Expect, Filter, Forgotten, Memory, MemoryId, OwnerFilter, Page, RecordState,
    RecordVerb, RecordVersion, Result, Scope, SettingState, SoftDeleted, Store, Tier, Timestamp,
    Version,
};

use crate::actor::Actor;
use crate::engine::Engine;
use crate::memories::versions::former;

pub(crate) use self::representatives::mark_key;

/// The tiers whose memories are read by their ids.
pub(crate) const TIERS_BY_ID: [Tier; 2] = [Tier::LongTerm, Tier::Unlisted];

/// The least characters of a part of an id, which must belong to a single id.
pub(crate) const ID_PART_CHARACTERS_MIN: usize = 8;
/// The soft-deleted memories that are looked at to find one by a part of its id.
const NAMESAKES_MAX: usize = 256;

/// The access rules: what a caller may read and write.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    /// The time for which former states are kept; 0 for ever.
    history_seconds: u64,
}

impl Engine {
    /// Returns the access rules: what a caller may read and write.
    pub(crate) fn access<'a>(&'a self, caller: Actor<'a>) -> Access<'a> {
        Access {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            history_seconds: self.policy.history_seconds,
        }
    }
}

impl Access<'_> {
    /// Commits changes in the space of the caller, and adds their records to its trail.
    ///
    /// # Errors
    /// As for [`Store::commit`]. Then the trail stays as it was.
    pub(crate) fn commit(&self, changes: Vec<Change>) -> Result<()> {
        self.commit_if(Vec::new(), changes)
    }

    /// Does the same, if these conditions hold. Each change of a memory, a fact or a tunnel keeps the
    /// version before, with the change's mark.
    ///
    /// # Errors
    /// As for [`Store::commit`]. Then the trail stays as it was.
    pub(crate) fn commit_if(&self, conditions: Vec<Condition>, changes: Vec<Change>) -> Result<()> {
        let records = self.record_versions(&changes)?;
        let mut changes = self.with_versions(changes)?;
        changes.extend(records);
        self.commit_filed(conditions, changes)
    }

    /// Does the same without a version: for what is filed from files and imports, which keep or note
    /// for themselves what they replace.
    ///
    /// # Errors
    /// As for [`Store::commit`]. Then the trail stays as it was.
    pub(crate) fn commit_filed(
        &self,
        conditions: Vec<Condition>,
        changes: Vec<Change>,
    ) -> Result<()> {
        let noted: Vec<(RecordVerb, String, Option<bool>)> = changes
            .iter()
            .filter_map(|change| touched(&self.caller, change))
            .map(|(verb, id, is_own)| (verb, id.to_owned(), is_own))
            .collect();
        self.store.commit(Batch {
            space: self.caller.space.clone(),
            conditions,
            changes,
        })?;
        for (verb, id, is_own) in noted {
            self.caller.note_record(verb, &id, is_own);
        }
        Ok(())
    }

    /// Returns the changes with the versions before them, but for memories whose version is among them.
    fn with_versions(&self, changes: Vec<Change>) -> Result<Vec<Change>> {
        let brought: BTreeSet<MemoryId> = changes
            .iter()
            .filter_map(|change| match change {
                Change::PutVersion(version) => Some(version.memory.clone()),
                _ => None,
            })
            .collect();
        let mut all = Vec::with_capacity(2 * changes.len());
        all.extend(self.summaries_to_remove(&changes)?);
        for change in changes {
            let mut after = None;
            if let Change::Put { memory, expect, .. } = &change
                && !brought.contains(&memory.id)
            {
                match expect {
                    Expect::Absent => after = self.kept(None, memory),
                    Expect::Revision(revision) => {
                        let before = self.store.get(&memory.space, &memory.id)?;
                        let before = before.filter(|before| before.revision == *revision);
                        all.extend(before.and_then(|before| self.kept(Some(&before), memory)));
                    }
                }
            }
            all.push(change);
            all.extend(after);
        }
        Ok(all)
    }

    /// Returns the changes that keep what facts and tunnels are before these changes.
    fn record_versions(&self, changes: &[Change]) -> Result<Vec<Change>> {
        let space = &self.caller.space;
        let ended = changes.iter().filter_map(|change| match change {
            Change::EndFact { id, .. } => Some(id.clone()),
            _ => None,
        });
        let ended: Vec<String> = ended.collect();
        let facts = match ended[..] {
            [] => Vec::new(),
            _ => self.store.facts_with_ids(space, &ended)?,
        };
        let goes = |change: &Change| matches!(change, Change::DeleteTunnel { .. });
        let tunnels = if changes.iter().any(goes) {
            self.store.tunnels(space)?
        } else {
            Vec::new()
        };
        // If another writer changed the state since, the commit fails.
        let version = |change: &Change| match change {
            Change::PutFact(fact) => {
                let stored = RecordState::Fact((**fact).clone());
                Some(RecordVersion::before(&stored, self.record_mark()))
            }
            Change::EndFact { id, before, .. } => {
                let mut facts = facts.iter();
                let fact = facts.find(|fact| fact.id == *id && fact.valid_to == *before)?;
                let former = RecordState::Fact(fact.clone());
                Some(RecordVersion::of(former, self.record_mark()))
            }
            Change::PutTunnel { tunnel, expect } => {
                let stored = || RecordState::Tunnel((**tunnel).clone());
                let former = expect.as_deref().cloned().map(RecordState::Tunnel);
                let mark = self.record_mark();
                Some(match former {
                    Some(former) => RecordVersion::of(former, mark),
                    None => RecordVersion::before(&stored(), mark),
                })
            }
            Change::DeleteTunnel { id } => {
                let tunnel = tunnels.iter().find(|tunnel| tunnel.id == *id)?;
                let former = RecordState::Tunnel(tunnel.clone());
                Some(RecordVersion::of(former, self.record_mark()))
            }
            _ => None,
        };
        let versions = changes.iter().filter_map(version).map(Box::new);
        Ok(versions.map(Change::PutRecordVersion).collect())
    }

    /// Returns the change that keeps the version before a change of a memory, or the time before it
    /// was stored; `None` if nothing changed that people change. It comes after the one that stores a
    /// new memory.
    pub(crate) fn kept(&self, before: Option<&Memory>, after: &Memory) -> Option<Change> {
        let version = match before {
            None => Version::before(after),
            Some(before) => former(before, after)?,
        };
        let owner = before.map_or(&after.owner, |before| &before.owner);
        Some(Change::PutVersion(Box::new(Version {
            change: Some(self.mark(owner.as_ref())),
            ..version
        })))
    }

    /// Returns the mark of a change that the caller makes now, of a memory with this owner.
    fn mark(&self, owner: Option<&String>) -> ChangeMark {
        let now = self.clock.now();
        let subject = &self.caller.principal.subject;
        let is_owner = owner == subject.as_ref();
        let named = || subject.clone().unwrap_or_else(|| ANONYMOUS.to_owned());
        ChangeMark {
            at: now,
            by: (!is_owner).then(named),
            tool: self.caller.trail.tool().to_owned(),
            program: self.caller.client.clone(),
            session: self.caller.session.clone(),
            token: self.caller.token.clone(),
            call: self.caller.trail.call(now),
        }
    }

    /// Returns the mark of a change of a fact or a tunnel, which names the caller whoever owns that.
    pub(crate) fn record_mark(&self) -> ChangeMark {
        let subject = self.caller.principal.subject.clone();
        ChangeMark {
            by: Some(subject.unwrap_or_else(|| ANONYMOUS.to_owned())),
            ..self.mark(None)
        }
    }

    /// Returns the change that keeps what a setting is before another one; `None` if nothing changes.
    pub(crate) fn setting_version(
        &self,
        name: &str,
        owner: Option<&str>,
        (before, after): (Option<&str>, Option<&str>),
    ) -> Option<Change> {
        if before == after {
            return None;
        }
        let state = |value: &str| {
            RecordState::Setting(SettingState {
                space: self.caller.space.clone(),
                id: SettingState::id_of(name, owner),
                owner: owner.map(str::to_owned),
                value: value.to_owned(),
            })
        };
        let mark = self.record_mark();
        let version = match before {
            Some(before) => RecordVersion::of(state(before), mark),
            None => RecordVersion::before(&state(""), mark),
        };
        Some(Change::PutRecordVersion(Box::new(version)))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the filter with which every read by this caller starts. It hides short-term,
    /// unlisted and forgotten memories; a call that requests unlisted ones gets only the memories
    /// of the caller's own tool set.
    pub(crate) fn filter(&self, collections: CollectionFilter) -> Filter {
        let filter = Filter::of(
            self.caller.space.clone(),
            self.caller.reader(),
            self.clock.now(),
        );
        let unlisted_origin = Some(self.caller.origin.to_owned());
        Filter {
            collections,
            tiers: vec![Tier::LongTerm],
            unlisted_origin,
            forgotten: Forgotten::Hide,
            ..filter
        }
    }

    /// Returns the live memory with this id, long-term or unlisted, if the caller may read it.
    pub(crate) fn readable(&self, id: &MemoryId) -> Result<Memory> {
        self.readable_among(id, Forgotten::Hide)
    }

    /// Returns the same, with forgotten memories if `forgotten` shows them. A caller without the
    /// scope `read` gets only memories that it stored itself, through the same query of the store.
    pub(crate) fn readable_among(&self, id: &MemoryId, forgotten: Forgotten) -> Result<Memory> {
        self.readable_of(id, &TIERS_BY_ID, forgotten)
    }

    /// Returns the same only for these tiers.
    pub(crate) fn readable_of(
        &self,
        id: &MemoryId,
        tiers: &[Tier],
        forgotten: Forgotten,
    ) -> Result<Memory> {
        let ids = std::slice::from_ref(id);
        let mut found = self.all_readable_of(ids, tiers, forgotten)?;
        found.pop().ok_or_else(|| unknown(id))
    }

    /// Returns the memory with this id, if the caller may read it, of any tier, and also if it is
    /// forgotten, or expired and not yet removed.
    pub(crate) fn readable_ever(&self, id: &MemoryId) -> Result<Memory> {
        let live = Filter {
            tiers: Vec::new(),
            unlisted_origin: None,
            forgotten: Forgotten::Show,
            ..self.filter(CollectionFilter::Any)
        };
        // A memory that has not expired comes from the first read, because a successor that has
        // expired replaces it no more.
        let ever = Filter {
            live_at: Timestamp::MIN,
            ..live.clone()
        };
        for filter in [live, ever] {
            let mut found = self.store.get_all(&filter, std::slice::from_ref(id))?;
            if let Some(memory) = found.pop() {
                self.caller.note(RecordVerb::Read, &memory);
                return Ok(memory);
            }
        }
        Err(unknown(id))
    }

    /// Returns the soft-deleted memory with this id, or with the only id that begins or ends with it,
    /// if the caller could read it.
    ///
    /// # Errors
    /// `invalid_argument` for a part of several ids; `unavailable` if the store cannot be read.
    pub(crate) fn soft_deleted(&self, id: &MemoryId) -> Result<Option<SoftDeleted>> {
        let (filter, part) = (self.deleted_filter(), id.as_str());
        let page = Page {
            offset: 0,
            limit: NAMESAKES_MAX,
        };
        let mut found = self
            .store
            .soft_deleted(&filter, Some(part), Timestamp::MIN, page)?;
        if let Some(place) = found.iter().position(|found| found.memory.id == *id) {
            return Ok(Some(found.swap_remove(place)));
        }
        if part.chars().count() < ID_PART_CHARACTERS_MIN {
            return Ok(None);
        }
        if found.len() > 1 {
            let problem = "is a part of the ids of several deleted memories; give a longer part";
            return Err(Error::invalid("id", problem));
        }
        Ok(found.pop())
    }

    /// Returns the filter for what is soft-deleted and the caller could read.
    pub(crate) fn deleted_filter(&self) -> Filter {
        let owner = if self.caller.principal.scopes.allow(Scope::Read) {
            OwnerFilter::Any
        } else {
            OwnerFilter::of(self.caller.principal.subject.as_deref())
        };
        Filter {
            owner,
            tiers: Tier::OF_CONVERSATIONS.to_vec(),
            forgotten: Forgotten::Show,
            ..self.filter(CollectionFilter::Any)
        }
    }

    /// Returns the memories with these ids, as far as the caller may read them, in the order of the
    /// ids.
    pub(crate) fn all_readable_of(
        &self,
        ids: &[MemoryId],
        tiers: &[Tier],
        forgotten: Forgotten,
    ) -> Result<Vec<Memory>> {
        let filter = self.filter(CollectionFilter::Any);
        let owner = if self.caller.principal.scopes.allow(Scope::Read) {
            OwnerFilter::Any
        } else {
            OwnerFilter::of(self.caller.principal.subject.as_deref())
        };
        let filter = Filter {
            tiers: tiers.to_vec(),
            unlisted_origin: None,
            owner,
            forgotten,
            ..filter
        };
        let found = self.store.get_all(&filter, ids)?;
        for memory in &found {
            self.caller.note(RecordVerb::Read, memory);
        }
        Ok(found)
    }

    /// Returns the live memory with this id, if the caller may change it.
    pub(crate) fn writable(&self, id: &MemoryId) -> Result<Memory> {
        self.writable_among(id, Forgotten::Hide)
    }

    /// Returns the same, with forgotten memories if `forgotten` shows them.
    pub(crate) fn writable_among(&self, id: &MemoryId, forgotten: Forgotten) -> Result<Memory> {
        let memory = self.readable_among(id, forgotten)?;
        if self.caller.may_write(&memory) {
            return Ok(memory);
        }
        Err(Error::about(
            ErrorCode::Forbidden,
            "memory",
            format!("{id} belongs to someone else and can only be read"),
        ))
    }

    /// Returns the filter of [`places`](crate::Listings::places).
    pub(crate) fn places_filter(&self) -> Filter {
        let filter = self.filter(CollectionFilter::Any);
        Filter {
            tiers: vec![Tier::LongTerm, Tier::Unlisted],
            ..filter
        }
    }

    /// Removes links and superseded ids from the memories if the caller may not read the other
    /// memory, or it is deleted or forgotten. Every operation that returns memories to a caller
    /// calls this, so that no tool can forget it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn hide_references<'a>(
        &self,
        memories: impl IntoIterator<Item = &'a mut Memory>,
    ) -> Result<()> {
        let mut memories: Vec<&mut Memory> = memories.into_iter().collect();
        let named = memories.iter().flat_map(|memory| {
            memory
                .links
                .iter()
                .map(|link| &link.target)
                .chain(&memory.supersedes)
                .cloned()
        });
        let named: Vec<MemoryId> = named.collect::<BTreeSet<_>>().into_iter().collect();
        if named.is_empty() {
            return Ok(());
        }
        let found = self.store.locations_of(&self.places_filter(), &named)?;
        let found: BTreeSet<MemoryId> = found.into_iter().map(|(id, _)| id).collect();
        for memory in &mut memories {
            memory.links.retain(|link| found.contains(&link.target));
            memory.supersedes.take_if(|id| !found.contains(id));
        }
        Ok(())
    }

    /// Returns the results of a search to the caller: without references that it may not follow,
    /// and on its trail.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn return_found<'a>(
        &self,
        found: impl IntoIterator<Item = &'a mut Memory>,
    ) -> Result<()> {
        let found: Vec<&mut Memory> = found.into_iter().collect();
        for memory in &found {
            self.caller.note(RecordVerb::Returned, memory);
        }
        self.hide_references(found)
    }

    /// Returns the memory without references that the caller may not follow.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn without_hidden(&self, mut memory: Memory) -> Result<Memory> {
        self.hide_references([&mut memory])?;
        Ok(memory)
    }
}

/// The error for an id of no memory that the caller may read.
fn unknown(id: &MemoryId) -> Error {
    Error::not_found(format!(
        "there is no memory with the id {id}; list or recall shows the ids"
    ))
}

/// Returns the act of a change on a record, for the audit log: the verb, the id, and whether a wipe
/// of the caller would remove the record.
fn touched<'a>(caller: &Caller, change: &'a Change) -> Option<(RecordVerb, &'a str, Option<bool>)> {
    match change {
        Change::Put { memory, expect, .. } => {
            let verb = match expect {
                Expect::Absent => RecordVerb::Stored,
                Expect::Revision(_) if memory.forgotten_at.is_some() => RecordVerb::Deleted,
                Expect::Revision(_) => RecordVerb::Changed,
            };
            Some((verb, memory.id.as_str(), Some(caller.owns(memory))))
        }
        Change::Delete { id, .. } => Some((RecordVerb::Deleted, id.as_str(), None)),
        Change::Undelete { id, .. } => Some((RecordVerb::Changed, id.as_str(), None)),
        Change::PutFact(fact) => Some((RecordVerb::Stored, &fact.id, Some(false))),
        Change::EndFact { id, .. } => Some((RecordVerb::Changed, id, Some(false))),
        Change::PutTunnel { tunnel, expect } => {
            let verb = if expect.is_some() {
                RecordVerb::Changed
            } else {
                RecordVerb::Stored
            };
            Some((
                verb,
                &tunnel.id,
                Some(tunnel.owner == caller.principal.subject && !tunnel.is_common),
            ))
        }
        Change::DeleteTunnel { id } => Some((RecordVerb::Deleted, id, None)),
        _ => None,
    }
}
