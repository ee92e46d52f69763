use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::limits::VERSIONS_MAX;
use loci_core::{
    Access, AccessIncrement, AuditEntry, Batch, CacheEntry, CandidateQuery, Candidates, Change,
    ChangeQuery, Condition, DailyCount, Decision, Error, ErrorCode, Expect, FacetCounts,
    FilingOrder, Filter, IdempotentReply, Location, LocationCount, Memory, MemoryId, ModelId,
    NoteFile, OpenItem, Page, Partition, Passage, RecordKind, RecordVersion, Result, SoftDeleted,
    SortKey, Sorting, SourceFile, Space, StatusCount, Store, StoreSize, Superseded, Sweep,
    SweepClock, Tier, Timestamp, Token, Tombstone, Vector, Version, VersionStore, WipeCounts, Work,
    check_lease, check_texts, day_of, is_pseudonym, lease_end_max, start_of_day,
};

use crate::naive_graph::{Graph, VersionKey};
use crate::naive_jobs::NaiveJob;
use crate::naive_search;
use crate::naive_sources::{SettingKey, SourceKey};
use crate::naive_tombstones::TombstoneKey;
use crate::naive_users::{AnswerKey, CountKey, Wipe, is_withdrawn};

/// A store in maps that computes each answer from scratch in the most obvious way.
#[derive(Debug)]
pub struct NaiveStore {
    state: Mutex<State>,
    secret: [u8; 32],
}

pub(crate) type Key = (Space, MemoryId);

#[derive(Debug, Default, Clone)]
pub(crate) struct State {
    pub(crate) records: BTreeMap<Key, Record>,
    pub(crate) jobs: BTreeMap<Key, NaiveJob>,
    /// The former versions of each memory, by revision.
    pub(crate) versions: BTreeMap<Key, BTreeMap<u64, Version>>,
    /// By name: the holder and the end of the lease.
    leases: BTreeMap<String, (String, Timestamp)>,
    sweep_clock: Option<SweepClock>,
    pub(crate) cache: BTreeMap<Key, CacheEntry>,
    /// By space, owner and key.
    pub(crate) decisions: BTreeMap<(Space, String, String), Decision>,
    pub(crate) answers: BTreeMap<AnswerKey, IdempotentReply>,
    /// By space and path.
    pub(crate) note_files: BTreeMap<(Space, String), NoteFile>,
    /// The identity of the folder of each space.
    pub(crate) note_folders: BTreeMap<Space, String>,
    pub(crate) graph: Graph,
    pub(crate) settings: BTreeMap<SettingKey, String>,
    pub(crate) source_files: BTreeMap<SourceKey, SourceFile>,
    pub(crate) tombstones: BTreeMap<TombstoneKey, Tombstone>,
    pub(crate) audit: BTreeMap<u64, AuditEntry>,
    pub(crate) daily: BTreeMap<CountKey, DailyCount>,
    /// By space and key.
    pub(crate) open_items: BTreeMap<(Space, String), OpenItem>,
    /// The rules by which each memory was examined, and as what.
    pub(crate) examined: BTreeMap<Key, (u32, Record)>,
    pub(crate) last_audit_number: u64,
    /// The last wipe of each space, owner and, if it was of only one, tool set.
    pub(crate) wipes: BTreeMap<(Space, String, Option<String>), Wipe>,
    pub(crate) tokens: Vec<Token>,
    /// The number of memories ever stored.
    filings: u64,
    pub(crate) version: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) memory: Memory,
    /// Without their vectors.
    pub(crate) passages: Vec<Passage>,
    /// For each passage, one vector of each model that has embedded it.
    pub(crate) vectors: Vec<BTreeMap<ModelId, Vector>>,
    pub(crate) deleted_at: Option<Timestamp>,
    /// Its number in the order of insertion.
    pub(crate) filing: u64,
}

/// Returns the number of memories by place and kind.
fn by_location(records: &[&Record]) -> Vec<LocationCount> {
    let mut counts = BTreeMap::new();
    for record in records {
        let Memory {
            location: place,
            kind,
            ..
        } = record.memory.clone();
        *counts
            .entry((place.collection, place.section, kind))
            .or_insert(0) += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|((collection, section, kind), memories)| LocationCount {
            collection,
            section,
            kind,
            memories,
        })
        .collect()
}

impl State {
    /// Returns the memories that match the filter, including the rule on superseded memories, in
    /// the order of ids.
    pub(crate) fn admitted(&self, filter: &Filter) -> Vec<&Record> {
        self.admitted_among(filter, self.shown())
    }

    /// Returns the same among these memories.
    fn admitted_among<'a>(
        &'a self,
        filter: &Filter,
        records: impl Iterator<Item = &'a Record>,
    ) -> Vec<&'a Record> {
        let hidden = |memory: &Memory| {
            filter.superseded == Superseded::Hide
                && self
                    .successors(memory)
                    .any(|successor| filter.is_live_successor(successor))
        };
        records
            .filter(|record| filter.admits(&record.memory) && !hidden(&record.memory))
            .collect()
    }

    /// Returns the spaces that have anything to sweep or to embed.
    fn spaces(&self) -> BTreeSet<Space> {
        let of_memories = self.records.keys().map(|(space, _)| space);
        let of_entries = self.cache.keys().map(|(space, _)| space);
        let of_decisions = self.decisions.keys().map(|(space, ..)| space);
        let of_answers = self.answers.keys().map(|(space, ..)| space);
        let of_calls = self.audit.values().map(|entry| &entry.space);
        let of_wipes = self.wipes.keys().map(|(space, ..)| space);
        let of_versions = self.graph.versions().map(|version| &version.space);
        of_memories
            .chain(of_entries)
            .chain(of_decisions)
            .chain(of_answers)
            .chain(of_calls)
            .chain(of_wipes)
            .chain(of_versions)
            .cloned()
            .collect()
    }

    /// Returns the memories that are not soft-deleted.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Record> {
        self.records
            .values()
            .filter(|record| record.deleted_at.is_none())
    }

    fn successors<'a>(&'a self, memory: &'a Memory) -> impl Iterator<Item = &'a Memory> {
        self.shown().map(|record| &record.memory).filter(|other| {
            other.space == memory.space && other.supersedes.as_ref() == Some(&memory.id)
        })
    }

    fn with_successor(&self, memory: &Memory, counts: impl Fn(&Memory) -> bool) -> Memory {
        let newest = self
            .successors(memory)
            .filter(|successor| counts(successor))
            .min_by(|left, right| {
                right
                    .created_at
                    .cmp(&left.created_at)
                    .then_with(|| left.id.cmp(&right.id))
            });
        Memory {
            superseded_by: newest.map(|successor| successor.id.clone()),
            ..memory.clone()
        }
    }

    /// Returns a page of the admitted memories, with their visible successors.
    fn page(&self, admitted: Vec<&Record>, filter: &Filter, page: Page) -> Vec<Memory> {
        let page = admitted.into_iter().skip(page.offset).take(page.limit);
        let is_successor = |successor: &Memory| filter.is_live_successor(successor);
        page.map(|record| self.with_successor(&record.memory, is_successor))
            .collect()
    }

    fn check(&self, space: &Space, condition: &Condition) -> Result<()> {
        match condition {
            Condition::NotWiped {
                owner,
                origin,
                since,
            } => self.not_wiped(space, owner, Some(origin), *since),
            Condition::NotNote { id } => self.not_note(space, id),
            Condition::SettingIs { owner, name, value } => {
                let key = (space.clone(), owner.clone(), name.clone());
                if self.settings.get(&key) == value.as_ref() {
                    Ok(())
                } else {
                    Err(conflict(format!("the setting `{name}` changed")))
                }
            }
        }
    }

    fn apply(&mut self, space: &Space, change: &Change) -> Result<()> {
        match change {
            Change::Put {
                memory,
                passages,
                expect,
            } => self.put(space, memory, passages.as_ref(), *expect),
            Change::Delete { id, revision } => {
                let key = (space.clone(), id.clone());
                self.expect(&key, Expect::Revision(*revision))?;
                self.remove(&key);
                Ok(())
            }
            Change::Undelete {
                id,
                deleted_at,
                passages,
            } => self.undelete(&(space.clone(), id.clone()), *deleted_at, passages),
            Change::PutVersion(version) => {
                self.put_version((space.clone(), version.memory.clone()), version);
                Ok(())
            }
            Change::DeleteVersions { id } => {
                self.versions.remove(&(space.clone(), id.clone()));
                Ok(())
            }
            Change::Embed {
                id,
                revision,
                vectors,
            } => self.embed(&(space.clone(), id.clone()), *revision, vectors),
            Change::Enqueue { memory, due_at } => {
                self.enqueue((space.clone(), memory.clone()), *due_at)
            }
            Change::Settle { job, outcome } => self.settle(space, job, outcome),
            Change::ExpectNoteFile { file, expect } => self.expect_note_file(space, file, *expect),
            Change::PutNoteFile(file) => {
                self.note_files
                    .insert((space.clone(), file.path.clone()), (**file).clone());
                Ok(())
            }
            Change::DeleteNoteFile { path } => {
                self.note_files.remove(&(space.clone(), path.clone()));
                Ok(())
            }
            Change::PutNoteFolder { identity } => {
                self.note_folders.insert(space.clone(), identity.clone());
                Ok(())
            }
            Change::PutIdempotentReply(answer) => self.put_reply(space, answer),
            Change::PutFact(fact) => self.put_fact(space, fact),
            Change::EndFact {
                id,
                before,
                valid_to,
            } => self.end_fact(space, id, *before, *valid_to),
            Change::DeleteFacts { facts } => self.delete_facts(space, facts),
            Change::PutTunnel { tunnel, expect } => {
                self.put_tunnel(space, tunnel, expect.as_deref())
            }
            Change::DeleteTunnel { id } => self.delete_tunnel(space, id),
            Change::DeleteRecordVersions { kind, id } => {
                self.graph.remove_versions(space, *kind, id);
                Ok(())
            }
            Change::PutRecordVersion(version) => self.put_record_version(space, version),
            Change::PutSetting { owner, name, value } => {
                self.settings
                    .insert((space.clone(), owner.clone(), name.clone()), value.clone());
                Ok(())
            }
            Change::DeleteSetting { owner, name } => {
                let key = (space.clone(), owner.clone(), name.clone());
                self.settings.remove(&key);
                Ok(())
            }
            Change::PutSourceFile { file, expect } => {
                self.put_source_file(space, file, expect.as_deref())
            }
            Change::DeleteSourceFile { expect } => self.delete_source_file(space, expect),
            Change::PutTombstones(tombstones) => {
                self.put_tombstones(space, tombstones);
                Ok(())
            }
            Change::DeleteTombstones { texts } => {
                self.delete_tombstones(space, texts);
                Ok(())
            }
            Change::Import {
                record,
                passages,
                since,
                now,
            } => self.bring_back(space, record, passages, *since, *now),
        }
    }

    pub(crate) fn put(
        &mut self,
        space: &Space,
        memory: &Memory,
        passages: Option<&Vec<Passage>>,
        expect: Expect,
    ) -> Result<()> {
        of_batch(space, &memory.space, "a memory")?;
        let key = (space.clone(), memory.id.clone());
        self.expect(&key, expect)?;
        if self
            .records
            .values()
            .any(|record| have_same_position(&record.memory, memory))
        {
            return Err(conflict(
                "another message has this position of the conversation; take the next one",
            ));
        }
        let mut memory = Memory {
            superseded_by: None,
            access: Access::default(),
            ..memory.clone()
        };
        let (mut stored, mut vectors) = without_vectors(passages.map_or(&[], Vec::as_slice));
        let mut filing = self.filings;
        if let Some(before) = self.records.remove(&key) {
            if memory.forgotten_at.is_some() {
                self.end_answers(&key, None);
            } else if is_withdrawn(&before.memory, &memory) {
                self.end_answers(&key, memory.owner.as_deref());
            }
            filing = before.filing;
            memory.access = before.memory.access;
            if passages.is_none() {
                memory.content = before.memory.content;
                (stored, vectors) = (before.passages, before.vectors);
            }
        }
        self.filings += 1;
        self.records.insert(
            key,
            Record {
                memory,
                passages: stored,
                vectors,
                deleted_at: None,
                filing,
            },
        );
        Ok(())
    }

    fn undelete(&mut self, key: &Key, deleted_at: Timestamp, passages: &[Passage]) -> Result<()> {
        let found = self.records.get_mut(key);
        let Some(record) = found.filter(|record| record.deleted_at == Some(deleted_at)) else {
            return Err(memory_conflict(&key.1, "is not deleted any more"));
        };
        record.deleted_at = None;
        (record.passages, record.vectors) = without_vectors(passages);
        Ok(())
    }

    fn put_version(&mut self, key: Key, version: &Version) {
        let is_there = |record: &Record| record.deleted_at.is_none();
        if !self.records.get(&key).is_some_and(is_there) {
            return;
        }
        let versions = self.versions.entry(key).or_default();
        versions.insert(version.revision, version.clone());
        // The time before a memory was stored is its first version.
        while !version.is_before_all() && versions.len() > VERSIONS_MAX {
            versions.pop_first();
        }
    }

    fn embed(&mut self, key: &Key, revision: u64, vectors: &[Vector]) -> Result<()> {
        if self.expect(key, Expect::Revision(revision)).is_err() {
            return Ok(());
        }
        let Some(record) = self.records.get_mut(key) else {
            return Ok(());
        };
        if vectors.len() != record.passages.len() {
            return Err(Error::internal(
                "an embedding must bring one vector for each passage",
            ));
        }
        for (of_passage, vector) in record.vectors.iter_mut().zip(vectors) {
            of_passage.extend([named(vector.clone())]);
        }
        Ok(())
    }

    fn retire_model(&mut self, partition: &Partition, model: &ModelId, limit: usize) -> usize {
        let passages = self
            .records
            .values_mut()
            .filter(|record| partition.contains(&record.memory.space))
            .flat_map(|record| &mut record.vectors);
        let retired = passages
            .filter(|of_passage| of_passage.contains_key(model))
            .take(limit);
        let retired = retired.map(|of_passage| of_passage.remove(model)).count();
        self.version += u64::from(retired > 0);
        retired
    }

    pub(crate) fn expect(&self, key: &Key, expect: Expect) -> Result<()> {
        let found = self.records.get(key);
        let holds = match expect {
            Expect::Absent => found.is_none(),
            Expect::Revision(revision) => found.is_some_and(|record| {
                record.deleted_at.is_none() && record.memory.revision == revision
            }),
        };
        if holds {
            return Ok(());
        }
        Err(memory_conflict(
            &key.1,
            "changed meanwhile; read it again and retry",
        ))
    }

    /// Removes a memory permanently, with its job and the stored replies that contain its text, and
    /// clears the tunnel ends that name it.
    pub(crate) fn remove(&mut self, key: &Key) {
        self.records.remove(key);
        self.jobs.remove(key);
        self.versions.remove(key);
        self.graph.forget_memory(&key.0, &key.1);
        self.examined.remove(key);
        self.close_items(key);
        self.end_answers(key, None);
    }

    fn soft_delete(
        &mut self,
        filter: &Filter,
        id: Option<&MemoryId>,
        now: Timestamp,
        limit: usize,
    ) -> usize {
        let passing = self
            .admitted(filter)
            .into_iter()
            .map(|record| record.memory.clone());
        let passing =
            passing.filter(|memory| self.note_file_of(&memory.space, &memory.id).is_none());
        let mut chosen: Vec<Memory> = passing
            .filter(|memory| id.is_none_or(|id| memory.id == *id))
            .collect();
        chosen.sort_by_key(|memory| memory.tier == Tier::ShortTerm);
        chosen.truncate(limit);
        let goes_with = |memory: &Memory, chosen: &Memory| {
            let is_offspring =
                memory.source.as_ref() == Some(&chosen.id) && memory.owner == chosen.owner;
            memory.space == chosen.space && (memory.id == chosen.id || is_offspring)
        };
        let mut hidden = Vec::new();
        for (key, record) in &mut self.records {
            if record.deleted_at.is_none()
                && chosen
                    .iter()
                    .any(|chosen| goes_with(&record.memory, chosen))
            {
                record.deleted_at = Some(now);
                self.jobs.remove(key);
                hidden.push(key.clone());
            }
        }
        for key in &hidden {
            self.examined.remove(key);
            self.close_items(key);
            self.end_answers(key, None);
        }
        self.version += u64::from(!chosen.is_empty());
        chosen.len()
    }

    fn sweep(&mut self, partition: &Partition, sweep: &Sweep, limit: usize) -> usize {
        let mut left = limit;
        let records = || {
            let all = self.records.iter();
            all.filter(|((space, _), _)| partition.contains(space))
        };
        let expired = records().filter_map(|(key, record)| Some((record.memory.expires_at?, key)));
        let mut memories = earliest(&mut left, expired.filter(|(at, _)| *at <= sweep.expired_at));
        let deleted = records().filter_map(|(key, record)| Some((record.deleted_at?, key)));
        let deleted =
            deleted.filter(|(at, key)| *at <= sweep.deleted_until && !memories.contains(key));
        memories.extend(earliest(&mut left, deleted));
        // Memories come first, since their replies go with them.
        for key in &memories {
            self.remove(key);
        }
        let cached = self
            .cache
            .iter()
            .filter(|(_, entry)| partition.contains(&entry.space))
            .map(|(key, entry)| (entry.expires_at, key));
        let cached = earliest(&mut left, cached.filter(|(at, _)| *at <= sweep.expired_at));
        let decided = self
            .decisions
            .iter()
            .filter(|(_, decision)| partition.contains(&decision.space))
            .filter_map(|(key, decision)| Some((decision.expires_at?, key)));
        let decided = earliest(&mut left, decided.filter(|(at, _)| *at <= sweep.expired_at));
        let answered = self
            .answers
            .iter()
            .filter(|(_, answer)| partition.contains(&answer.space))
            .map(|(key, answer)| (answer.expires_at, key));
        let answered = earliest(
            &mut left,
            answered.filter(|(at, _)| *at <= sweep.expired_at),
        );
        let is_kept = |entry: &AuditEntry| entry.user.as_deref().is_some_and(is_pseudonym);
        let audited = self.audit.iter();
        let audited =
            audited.filter(|(_, entry)| partition.contains(&entry.space) && !is_kept(entry));
        let audited = audited.map(|(number, entry)| (entry.at, number));
        let audited = earliest(
            &mut left,
            audited.filter(|(at, _)| *at < sweep.audited_before),
        );
        let wiped = self.wipes.iter();
        let wiped = wiped.filter(|((space, ..), _)| partition.contains(space));
        let wiped = wiped.map(|(key, wipe)| (wipe.at, key));
        let wiped = earliest(&mut left, wiped.filter(|(at, _)| *at < sweep.wiped_before));
        let counted = self.daily.keys();
        let counted = counted
            .filter(|(space, day, _)| partition.contains(space) && *day < sweep.counted_before);
        let counted = counted.map(|key| (start_of_day(key.1), key));
        let counted = earliest(&mut left, counted);
        let changed: Vec<(Timestamp, (Key, u64))> = self
            .versions
            .iter()
            .filter(|((space, _), _)| partition.contains(space))
            .flat_map(|(key, versions)| {
                // One between two others stays, because an older one may have its text.
                let mut latest = Timestamp::MIN;
                let of_key = move |version: &Version| {
                    let at = version.change.as_ref()?.at;
                    let is_in_turn = latest <= at;
                    latest = latest.max(at);
                    is_in_turn.then(|| (at, (key.clone(), version.revision)))
                };
                versions.values().filter_map(of_key)
            })
            .filter(|(at, _)| *at < sweep.changed_before)
            .collect();
        let changed = earliest(&mut left, changed.iter().map(|(at, key)| (*at, key)));
        for (key, revision) in &changed {
            if let Some(versions) = self.versions.get_mut(key) {
                versions.remove(revision);
                if versions.is_empty() {
                    self.versions.remove(key);
                }
            }
        }
        let records: Vec<(Timestamp, VersionKey)> = self
            .graph
            .versions_in_turn()
            .filter(|it| partition.contains(&it.space) && it.change.at < sweep.changed_before)
            .map(|it| {
                let key = (it.space.clone(), it.kind, it.id.clone(), it.number);
                (it.change.at, key)
            })
            .collect();
        let records = earliest(&mut left, records.iter().map(|(at, key)| (*at, key)));
        for key in &records {
            self.graph.remove_version(key);
        }
        self.cache.retain(|key, _| !cached.contains(key));
        self.decisions.retain(|key, _| !decided.contains(key));
        self.answers.retain(|key, _| !answered.contains(key));
        self.audit.retain(|number, _| !audited.contains(number));
        self.wipes.retain(|key, _| !wiped.contains(key));
        self.daily.retain(|key, _| !counted.contains(key));
        self.version += u64::from(!memories.is_empty());
        limit - left
    }
}

/// Returns the keys of the earliest due records, at most `left`, and subtracts their number from
/// `left`.
fn earliest<'a, K: Ord + Clone + 'a>(
    left: &mut usize,
    due: impl Iterator<Item = (Timestamp, &'a K)>,
) -> Vec<K> {
    let mut due: Vec<_> = due.collect();
    due.sort();
    due.truncate(*left);
    *left -= due.len();
    due.into_iter().map(|(_, key)| key.clone()).collect()
}

/// Pairs a vector with its model.
fn named(vector: Vector) -> (ModelId, Vector) {
    (vector.model.clone(), vector)
}

/// Returns true if these are two short-term memories at one position of an owner's thread.
fn have_same_position(left: &Memory, right: &Memory) -> bool {
    let place = |memory: &Memory| {
        (
            memory.space.clone(),
            memory.owner.clone(),
            memory.thread.clone(),
        )
    };
    left.id != right.id
        && left.owner.is_some()
        && left.thread.is_some()
        && (left.tier, right.tier) == (Tier::ShortTerm, Tier::ShortTerm)
        && place(left) == place(right)
}

pub(crate) fn conflict(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::Conflict, message)
}

/// An error unless something is in the space of its batch.
pub(crate) fn of_batch(batch: &Space, space: &Space, what: &str) -> Result<()> {
    if space == batch {
        return Ok(());
    }
    let problem = format!("{what} must be in the space of its batch");
    Err(Error::internal(problem))
}

/// A conflict about one memory.
pub(crate) fn memory_conflict(memory: &MemoryId, problem: &str) -> Error {
    let problem = format!("`{memory}` {problem}");
    Error::about(ErrorCode::Conflict, "memory", problem)
}

/// Returns random bytes from the seed of hash maps, the only randomness in the standard library.
fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    for part in bytes.chunks_exact_mut(8) {
        part.copy_from_slice(&RandomState::new().hash_one(()).to_le_bytes());
    }
    bytes
}

impl Default for NaiveStore {
    fn default() -> Self {
        NaiveStore {
            state: Mutex::default(),
            secret: random_bytes(),
        }
    }
}

impl NaiveStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        NaiveStore::default()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns passages without their vectors, and for each its vectors by model.
fn without_vectors(passages: &[Passage]) -> (Vec<Passage>, Vec<BTreeMap<ModelId, Vector>>) {
    let mut passages = passages.to_vec();
    let read = |passage: &mut Passage| passage.vector.take().into_iter().map(named).collect();
    let vectors = passages.iter_mut().map(read).collect();
    (passages, vectors)
}

impl VersionStore for NaiveStore {
    fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>> {
        let state = self.state();
        let key = (space.clone(), id.clone());
        let is_there = state.records.contains_key(&key);
        let versions = state.versions.get(&key).filter(|_| is_there);
        Ok(versions.map_or_else(Vec::new, |versions| {
            versions.values().rev().cloned().collect()
        }))
    }

    fn ids_with_versions(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>> {
        let state = self.state();
        let admitted = state.admitted(filter).into_iter();
        let ids = admitted.map(|record| &record.memory.id).filter(|id| {
            let key = (filter.space.clone(), (*id).clone());
            state.versions.contains_key(&key) && after.is_none_or(|after| *id > after)
        });
        Ok(ids.take(limit).cloned().collect())
    }

    fn changes(&self, query: &ChangeQuery) -> Result<Vec<Version>> {
        let state = self.state();
        let mut found = Vec::new();
        for (key, versions) in &state.versions {
            let Some(record) = state.records.get(key).filter(|it| it.deleted_at.is_none()) else {
                continue;
            };
            let owner = record.memory.owner.as_deref();
            let is_meant = |version: &&Version| {
                let Some(change) = &version.change else {
                    return false;
                };
                let same = |wanted: &Option<String>, is: Option<&str>| {
                    wanted.is_none() || wanted.as_deref() == is
                };
                let place = (change.at, version.memory.clone(), version.revision);
                query.since.is_none_or(|since| change.at >= since)
                    && same(&query.by, Some(change.subject(owner)))
                    && same(&query.program, change.program.as_deref())
                    && same(&query.session, change.session.as_deref())
                    && same(&query.token, change.token.as_deref())
                    && query.call.is_none_or(|call| change.call == call)
                    && query.after.as_ref().is_none_or(|after| place < *after)
            };
            if key.0 == query.space {
                found.extend(versions.values().filter(is_meant).cloned());
            }
        }
        let place = |it: &Version| {
            let at = it.change.as_ref().map(|change| change.at);
            (at, it.memory.clone(), it.revision)
        };
        found.sort_by_key(|it| Reverse(place(it)));
        found.truncate(query.limit);
        Ok(found)
    }

    fn record_versions(
        &self,
        space: &Space,
        kind: RecordKind,
        id: &str,
    ) -> Result<Vec<RecordVersion>> {
        let state = self.state();
        let of_record = |it: &&RecordVersion| it.space == *space && it.kind == kind && it.id == id;
        let mut found: Vec<RecordVersion> =
            state.graph.versions().filter(of_record).cloned().collect();
        found.reverse();
        Ok(found)
    }

    fn record_changes(&self, query: &ChangeQuery) -> Result<Vec<RecordVersion>> {
        let state = self.state();
        let is_meant = |it: &&RecordVersion| {
            let change = &it.change;
            let same = |wanted: &Option<String>, is: Option<&str>| {
                wanted.is_none() || wanted.as_deref() == is
            };
            it.space == query.space
                && query.since.is_none_or(|since| change.at >= since)
                && same(&query.by, Some(change.subject(None)))
                && same(&query.program, change.program.as_deref())
                && same(&query.session, change.session.as_deref())
                && same(&query.token, change.token.as_deref())
                && query.call.is_none_or(|call| change.call == call)
        };
        let mut found: Vec<RecordVersion> =
            state.graph.versions().filter(is_meant).cloned().collect();
        found.sort_by_key(|it| Reverse((it.change.at, it.kind.name(), it.id.clone(), it.number)));
        found.truncate(query.limit);
        Ok(found)
    }
}

impl Store for NaiveStore {
    fn commit(&self, batch: Batch) -> Result<()> {
        batch.check()?;
        let mut state = self.state();
        let mut after = state.clone();
        for condition in &batch.conditions {
            after.check(&batch.space, condition)?;
        }
        for change in &batch.changes {
            after.apply(&batch.space, change)?;
        }
        // A stored reply changes nothing that callers read.
        let keeps = |change: &Change| {
            matches!(
                change,
                Change::PutIdempotentReply(_)
                    | Change::PutVersion(_)
                    | Change::PutRecordVersion(_)
                    | Change::DeleteRecordVersions { .. }
                    | Change::DeleteVersions { .. }
            )
        };
        // An empty batch stands for a change of another process.
        let is_empty = batch.conditions.is_empty() && batch.changes.is_empty();
        after.version += u64::from(is_empty || !batch.changes.iter().all(keeps));
        *state = after;
        Ok(())
    }

    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        let state = self.state();
        let admitted = state.admitted(filter);
        let found = ids
            .iter()
            .filter_map(|id| admitted.iter().find(|record| record.memory.id == *id));
        let successor = |memory: &Memory| filter.is_live_successor(memory);
        Ok(found
            .map(|record| state.with_successor(&record.memory, successor))
            .collect())
    }

    fn locations_of(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<(MemoryId, Location)>> {
        Ok(self
            .get_all(filter, ids)?
            .into_iter()
            .map(|memory| (memory.id, memory.location))
            .collect())
    }

    fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>> {
        let state = self.state();
        let ids = state
            .admitted(filter)
            .into_iter()
            .map(|record| record.memory.id.clone());
        let mut ids: Vec<_> = ids
            .filter(|id| id.as_str().starts_with(part) || id.as_str().ends_with(part))
            .collect();
        ids.sort();
        ids.truncate(limit);
        Ok(ids)
    }

    fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>> {
        let mut values: BTreeMap<String, u64> = BTreeMap::new();
        for record in self.state().admitted(filter) {
            if let Some(value) = record.memory.attributes.get(name) {
                *values.entry(value.clone()).or_default() += 1;
            }
        }
        Ok(values.into_iter().collect())
    }

    fn ids_of_texts(&self, filter: &Filter, texts: &[&str]) -> Result<Vec<MemoryId>> {
        let state = self.state();
        let admitted = state.admitted(filter).into_iter();
        let memories = admitted.map(|record| &record.memory);
        Ok(memories
            .filter(|memory| texts.contains(&&*memory.content))
            .map(|memory| memory.id.clone())
            .collect())
    }

    fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>> {
        let listed = self.list(filter, Page { offset: 0, limit })?;
        Ok(listed
            .into_iter()
            .map(|memory| (memory.id, memory.revision))
            .collect())
    }

    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.sort_by(|left, right| {
            let (left, right) = (&left.memory, &right.memory);
            right
                .updated_at
                .cmp(&left.updated_at)
                .then_with(|| left.id.cmp(&right.id))
        });
        Ok(state.page(admitted, filter, page))
    }

    fn list_by_insertion(
        &self,
        filter: &Filter,
        order: FilingOrder,
        page: Page,
    ) -> Result<Vec<Memory>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.sort_by_key(|record| record.filing);
        if order == FilingOrder::LastFirst {
            admitted.reverse();
        }
        Ok(state.page(admitted, filter, page))
    }

    fn list_sorted(&self, filter: &Filter, sorting: Sorting, page: Page) -> Result<Vec<Memory>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.sort_by_key(|record| Reverse(record.filing));
        admitted.sort_by(|left, right| {
            let (left, right) = (&left.memory, &right.memory);
            let order = match sorting.key {
                SortKey::Uses => left.access.count.cmp(&right.access.count),
                SortKey::LastUse => left.access.last.cmp(&right.access.last),
                SortKey::Size => left.content.len().cmp(&right.content.len()),
                SortKey::Kind => left.kind.cmp(&right.kind),
                SortKey::Program => left.provenance.program.cmp(&right.provenance.program),
                SortKey::Update => left.updated_at.cmp(&right.updated_at),
            };
            if sorting.is_descending {
                order.reverse()
            } else {
                order
            }
        });
        Ok(state.page(admitted, filter, page))
    }

    fn facet_counts(&self, filter: &Filter) -> Result<FacetCounts> {
        let state = self.state();
        let mut counts = FacetCounts::default();
        for record in state.admitted(filter) {
            let memory = record.memory.clone();
            let place = memory.location;
            counts.memories += 1;
            *counts.collections.entry(place.collection).or_default() += 1;
            *counts.sections.entry(place.section).or_default() += 1;
            *counts.kinds.entry(memory.kind).or_default() += 1;
            *counts.owners.entry(memory.owner).or_default() += 1;
            *counts.origins.entry(memory.origin).or_default() += 1;
            if let Some(program) = memory.provenance.program {
                *counts.programs.entry(program).or_default() += 1;
            }
            *counts.days.entry(day_of(memory.created_at)).or_default() += 1;
            for tag in memory.tags {
                *counts.tags.entry(tag).or_default() += 1;
            }
        }
        Ok(counts)
    }

    fn list_beyond(
        &self,
        filter: &Filter,
        order: FilingOrder,
        beyond: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(u64, Memory)>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.sort_by_key(|record| record.filing);
        if order == FilingOrder::LastFirst {
            admitted.reverse();
        }
        admitted.retain(|record| match (beyond, order) {
            (None, _) => true,
            (Some(beyond), FilingOrder::FirstFirst) => record.filing > beyond,
            (Some(beyond), FilingOrder::LastFirst) => record.filing < beyond,
        });
        let numbers: Vec<u64> = admitted.iter().map(|record| record.filing).collect();
        let page = Page { offset: 0, limit };
        Ok(numbers
            .into_iter()
            .zip(state.page(admitted, filter, page))
            .collect())
    }

    fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        let state = self.state();
        Ok(by_location(&state.admitted(filter)))
    }

    fn count_used(&self, filter: &Filter, since: Timestamp) -> Result<Vec<LocationCount>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.retain(|record| record.memory.access.last.is_some_and(|last| last >= since));
        Ok(by_location(&admitted))
    }

    fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        self.count_by_location(filter)
    }

    fn reload(&self) -> Result<()> {
        Ok(())
    }

    fn prepare_search(&self, _wait: Duration) -> Result<()> {
        Ok(())
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        Ok(naive_search::candidates(&self.state(), query))
    }

    fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>> {
        let state = self.state();
        let found = state
            .shown()
            .find(|record| record.memory.space == *space && record.memory.id == *id);
        let vectors = |record: &Record| {
            record
                .vectors
                .iter()
                .map(|of_passage| of_passage.get(model).cloned())
                .collect()
        };
        Ok(found.and_then(vectors).unwrap_or_default())
    }

    fn passage_range(
        &self,
        space: &Space,
        id: &MemoryId,
        passage: u32,
    ) -> Result<Option<Range<usize>>> {
        let state = self.state();
        let found = state
            .shown()
            .find(|record| record.memory.space == *space && record.memory.id == *id);
        Ok(found.and_then(|record| Some(record.passages.get(passage as usize)?.range.clone())))
    }

    fn partition_of(&self, space: &Space) -> Partition {
        Partition::Space(space.clone())
    }

    fn partitions_with(
        &self,
        work: Work<'_>,
        after: Option<&Partition>,
        limit: usize,
    ) -> Result<Vec<Partition>> {
        let state = self.state().clone();
        let mut partitions: BTreeSet<Partition> =
            state.spaces().into_iter().map(Partition::Space).collect();
        partitions.retain(|partition| match work {
            Work::Embed(model) => {
                let order = FilingOrder::FirstFirst;
                !naive_search::without_vector(&state, partition, model, order).is_empty()
            }
            Work::Retire(model) => state.clone().retire_model(partition, model, 1) > 0,
            Work::Sweep(sweep) => state.clone().sweep(partition, sweep, 1) > 0,
            Work::Examine(rules) => !state.unexamined(partition, rules).is_empty(),
        });
        let (first, last): (Vec<Partition>, Vec<Partition>) = partitions
            .into_iter()
            .partition(|partition| after.is_none_or(|after| partition > after));
        Ok(first.into_iter().chain(last).take(limit).collect())
    }

    fn background_pause(&self, _: Duration) -> Duration {
        Duration::ZERO
    }

    fn without_vector(
        &self,
        partition: &Partition,
        model: &ModelId,
        order: FilingOrder,
        limit: usize,
    ) -> Result<Vec<(Space, MemoryId)>> {
        let mut named = naive_search::without_vector(&self.state(), partition, model, order);
        named.truncate(limit);
        Ok(named)
    }

    fn pending_embeddings(&self, model: &ModelId, count_max: usize) -> Result<usize> {
        let (all, order) = (Partition::Whole, FilingOrder::FirstFirst);
        Ok(self.without_vector(&all, model, order, count_max)?.len())
    }

    fn models(&self) -> Result<Vec<(ModelId, u64)>> {
        let mut counts = BTreeMap::new();
        for model in self
            .state()
            .records
            .values()
            .flat_map(|record| &record.vectors)
            .flat_map(BTreeMap::keys)
        {
            *counts.entry(model.clone()).or_insert(0) += 1;
        }
        let mut models: Vec<_> = counts.into_iter().collect();
        models.sort_by_key(|(_, passages)| Reverse(*passages));
        Ok(models)
    }

    fn retire_model(&self, partition: &Partition, model: &ModelId, limit: usize) -> Result<usize> {
        Ok(self.state().retire_model(partition, model, limit))
    }

    fn has_other_dimensions(
        &self,
        partition: &Partition,
        model: &ModelId,
        dimensions: usize,
    ) -> Result<bool> {
        let state = self.state();
        let records = state.records.values();
        let own = records.filter(|record| partition.contains(&record.memory.space));
        let mut vectors = own.flat_map(|record| &record.vectors);
        Ok(vectors.any(|of_passage| {
            of_passage
                .get(model)
                .is_some_and(|vector| vector.values.len() != dimensions)
        }))
    }

    fn soft_delete(
        &self,
        filter: &Filter,
        id: Option<&MemoryId>,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize> {
        Ok(self.state().soft_delete(filter, id, now, limit))
    }

    fn soft_deleted(
        &self,
        filter: &Filter,
        part: Option<&str>,
        deleted_from: Timestamp,
        page: Page,
    ) -> Result<Vec<SoftDeleted>> {
        let state = self.state();
        let deleted = state.records.values().filter(|record| {
            let id = record.memory.id.as_str();
            record.deleted_at.is_some_and(|at| at >= deleted_from)
                && part.is_none_or(|part| id.starts_with(part) || id.ends_with(part))
        });
        let mut admitted = state.admitted_among(filter, deleted);
        admitted.sort_by_key(|record| (Reverse(record.deleted_at), record.memory.id.clone()));
        let page = admitted.into_iter().skip(page.offset).take(page.limit);
        let successor = |memory: &Memory| filter.is_live_successor(memory);
        let deleted = page.filter_map(|record| {
            Some(SoftDeleted {
                memory: state.with_successor(&record.memory, successor),
                deleted_at: record.deleted_at?,
            })
        });
        Ok(deleted.collect())
    }

    fn made_from(&self, space: &Space, owner: &str, sources: &[MemoryId]) -> Result<Vec<MemoryId>> {
        Ok(self.state().made_from(space, owner, sources))
    }

    fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64> {
        let state = self.state();
        let memories = state.records.values().map(|record| &record.memory);
        let owned = memories
            .filter(|memory| memory.space == *space && memory.owner.as_deref() == Some(owner));
        let threads = owned
            .filter_map(|memory| memory.thread.as_ref())
            .filter(|other| other.name == thread);
        Ok(threads.map(|thread| thread.position + 1).max().unwrap_or(0))
    }

    fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>> {
        let state = self.state();
        let count = |id: &MemoryId| {
            state
                .records
                .get(&(space.clone(), id.clone()))
                .map_or(0, |record| record.memory.access.count)
        };
        Ok(ids.iter().map(count).collect())
    }

    fn touch(&self, touches: &[AccessIncrement]) -> Result<()> {
        let mut state = self.state();
        for touch in touches {
            if let Some(record) = state
                .records
                .get_mut(&(touch.space.clone(), touch.id.clone()))
            {
                let access = &mut record.memory.access;
                access.count += touch.access.count;
                access.last = access.last.max(touch.access.last);
            }
        }
        Ok(())
    }

    fn count_by_status(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<StatusCount>> {
        Ok(self.state().census(space, owner, now))
    }

    fn wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> Result<WipeCounts> {
        check_texts([
            ("owner", Some(owner)),
            ("origin", origin),
            ("pseudonym", pseudonym),
        ])?;
        Ok(self.state().wipe(space, owner, origin, pseudonym, now))
    }

    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
        check_lease(now, until)?;
        check_texts([("name", Some(name)), ("holder", Some(holder))])?;
        let mut state = self.state();
        let lasts = |until: Timestamp| until > now && until <= lease_end_max(now);
        let is_anothers = |(other, until): &(String, Timestamp)| other != holder && lasts(*until);
        if state.leases.get(name).is_some_and(is_anothers) {
            return Ok(false);
        }
        state
            .leases
            .insert(name.to_owned(), (holder.to_owned(), until));
        Ok(true)
    }

    fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<String>> {
        let state = self.state();
        let lasts = |until: Timestamp| until > now && until <= lease_end_max(now);
        let held = state.leases.get(name).filter(|(_, until)| lasts(*until));
        Ok(held.map(|(holder, _)| holder.clone()))
    }

    fn sweep(&self, partition: &Partition, sweep: &Sweep, limit: usize) -> Result<usize> {
        Ok(self.state().sweep(partition, sweep, limit))
    }

    fn sweep_clock(&self) -> Result<Option<SweepClock>> {
        Ok(self.state().sweep_clock)
    }

    fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()> {
        self.state().sweep_clock = Some(*clock);
        Ok(())
    }

    fn secret(&self) -> Result<[u8; 32]> {
        Ok(self.secret)
    }

    fn version(&self, _: &Space) -> Result<u64> {
        Ok(self.state().version)
    }

    fn size(&self) -> Result<StoreSize> {
        let state = self.state();
        let passages = state
            .records
            .values()
            .map(|record| record.passages.len() as u64)
            .sum();
        Ok(StoreSize {
            memories: state.records.len() as u64,
            passages,
            ..StoreSize::default()
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(0)
    }
}
