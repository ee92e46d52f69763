//! The batches of each subject. Most changes are made to succeed, by what the naive store holds.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{
    Batch, Change, Condition, Expect, Fact, FactQuery, FactStore, Memory, MemoryId, NoteFile,
    Record, RecordState, RecordVersion, SettingState, SettingStore, SourceStore, Space, Store,
    Tier, Timestamp, Tunnel, TunnelStore, Version,
};

use super::comparison::{Comparison, Subject};
use super::generator::{ORIGINS, OWNER_NAMES};

impl Comparison<'_> {
    pub(super) fn batch(&mut self, subject: Subject) -> Batch {
        let space = self.random.space();
        let most = self.random.pick(&[1, 5]);
        let conditions = self.conditions(subject, &space);
        let mut changes: Vec<Change> = (0..=self.random.below(most))
            .map(|_| self.change(subject, &space))
            .collect();
        let id = self.random.id();
        if let (Some(memory), true) = (self.known(&space, &id).0, self.random.chance(5)) {
            // More than a store keeps.
            changes.extend(
                (0..=VERSIONS_MAX)
                    .rev()
                    .map(|revision| self.former(&memory, revision)),
            );
        }
        Batch {
            space,
            conditions,
            changes,
        }
    }

    fn conditions(&mut self, subject: Subject, space: &Space) -> Vec<Condition> {
        let mut conditions = Vec::new();
        if self.random.chance(8) {
            conditions.push(Condition::NotWiped {
                owner: self.random.pick(&OWNER_NAMES).to_owned(),
                origin: self.random.pick(&ORIGINS).to_owned(),
                since: 0,
            });
        }
        let notes_percent = if subject == Subject::Notes { 20 } else { 4 };
        if self.random.chance(notes_percent) {
            let id = self.random.id();
            let known = self.known(space, &id).0;
            conditions.extend(known.map(|memory| Condition::NotNote { id: memory.id }));
        }
        let settings_percent = if subject == Subject::Graph { 20 } else { 4 };
        if self.random.chance(settings_percent) {
            let (owner, name) = self.random.setting();
            let value = self.model.setting(space, owner.as_deref(), name);
            let value = value.expect("the naive store can be read");
            conditions.push(Condition::SettingIs {
                owner,
                name: name.to_owned(),
                value: value.filter(|_| !self.random.chance(20)),
            });
        }
        conditions
    }

    fn change(&mut self, subject: Subject, space: &Space) -> Change {
        match subject {
            Subject::Graph => self.change_beside_memories(space),
            Subject::Archives if self.random.chance(70) => self.import(space),
            Subject::Users if self.random.chance(50) => {
                let reply = self.random.idempotent_reply(space);
                Change::PutIdempotentReply(Box::new(reply))
            }
            Subject::Notes if self.random.chance(50) => self.change_of_notes(space),
            _ => self.change_of_memories(space, subject == Subject::Work),
        }
    }

    /// Returns the memory with this id in the naive store, and its revision or, sometimes, another
    /// one.
    fn known(&mut self, space: &Space, id: &MemoryId) -> (Option<Memory>, u64) {
        let known = self.model.get(space, id);
        let known = known.expect("the naive store can be read");
        let revision = match &known {
            Some(memory) if !self.random.chance(5) => memory.revision,
            _ => 77,
        };
        (known, revision)
    }

    fn change_of_memories(&mut self, space: &Space, is_work: bool) -> Change {
        let id = self.random.id();
        let (known, revision) = self.known(space, &id);
        let is_known = known.is_some();
        match self.random.below(if is_work { 30 } else { 20 }) {
            0 | 1 if is_known => Change::Delete { id, revision },
            2..=4 | 20..=22 if is_known => {
                let key = (space.clone(), id.clone());
                let count = self.model.state().records[&key].passages.len();
                Change::Embed {
                    id,
                    revision,
                    vectors: (0..count).map(|_| self.random.vector()).collect(),
                }
            }
            5 | 6 | 23..=25 if is_known => Change::Enqueue {
                memory: id,
                due_at: self.due_at(),
            },
            7 | 8 | 26..30 if self.leased.iter().any(|job| job.space == *space) => {
                let jobs = self.leased.iter().filter(|job| job.space == *space);
                let jobs: Vec<_> = jobs.collect();
                // Mostly one of the last jobs, whose lease may still hold.
                let back = self.random.below(jobs.len().min(4));
                let (job, due_at) = (jobs[jobs.len() - 1 - back].clone(), self.due_at());
                Change::Settle {
                    job,
                    outcome: self.random.outcome(due_at),
                }
            }
            9..=11 => match known {
                Some(memory) if self.random.chance(40) => self.change_of_versions(memory),
                Some(memory) => self.forget_or_move(memory, revision),
                None => self.change_of_notes(space),
            },
            12 if self.random.chance(50) => self.undelete(space, id),
            12 => self.change_of_notes(space),
            13 => self.change_beside_memories(space),
            _ => self.put(space, id, known, revision),
        }
    }

    /// Takes a soft deletion back: one that there is, if there are some, mostly of its time.
    fn undelete(&mut self, space: &Space, id: MemoryId) -> Change {
        let state = self.model.state();
        let deleted = state.records.values().filter_map(|record| {
            let deleted_at = record.deleted_at?;
            let is_here = record.memory.space == *space;
            is_here.then(|| (record.memory.id.clone(), deleted_at))
        });
        let deleted: Vec<_> = deleted.collect();
        drop(state);
        let moment = self.random.moment();
        let place = self.random.below(deleted.len().max(1));
        let (id, deleted_at) = deleted.get(place).cloned().unwrap_or((id, moment));
        let count = self.random.below(4);
        Change::Undelete {
            id,
            deleted_at: if self.random.chance(5) {
                moment
            } else {
                deleted_at
            },
            passages: (0..count).map(|_| self.random.passage()).collect(),
        }
    }

    fn put(&mut self, space: &Space, id: MemoryId, known: Option<Memory>, revision: u64) -> Change {
        let is_known = known.is_some();
        let keeps = self.random.chance(if is_known { 30 } else { 5 });
        let memory = match known {
            // A change of few fields, e.g. only of the owner.
            Some(before) if self.random.chance(50) => {
                let other = self.random.memory(space, id);
                Memory {
                    owner: other.owner,
                    visibility: other.visibility,
                    expires_at: other.expires_at,
                    forgotten_at: other.forgotten_at,
                    ..before
                }
            }
            _ => self.new_memory(space, id),
        };
        let passages = (!keeps).then(|| {
            let count = self.random.below(4);
            (0..count).map(|_| self.random.passage()).collect()
        });
        Change::Put {
            memory: Box::new(Memory {
                revision: revision.wrapping_add(1),
                ..memory
            }),
            passages,
            expect: if is_known {
                Expect::Revision(revision)
            } else {
                Expect::Absent
            },
        }
    }

    /// Creates a memory, often as one that was made from another of the same owner.
    fn new_memory(&mut self, space: &Space, id: MemoryId) -> Memory {
        let memory = self.random.memory(space, id);
        let source = self.random.id();
        match self.known(space, &source).0 {
            Some(source) if self.random.chance(40) => Memory {
                owner: source.owner,
                tier: Tier::LongTerm,
                thread: None,
                source: Some(source.id),
                ..memory
            },
            _ => memory,
        }
    }

    /// Returns when a job is due: seldom at the same time as another one, since then a store may
    /// choose which it leases first.
    fn due_at(&mut self) -> Timestamp {
        self.jobs += 1;
        let moment = self.random.moment();
        Timestamp::from_microseconds(moment.microseconds() + self.jobs)
    }

    fn change_of_notes(&mut self, space: &Space) -> Change {
        let id = self.random.id();
        let (known, revision) = self.known(space, &id);
        let file = Box::new(self.random.note_file());
        match (self.random.below(10), known) {
            (0..=3, Some(memory)) => Change::ExpectNoteFile {
                file: Box::new(NoteFile {
                    memory: Some(memory.id),
                    ..*file
                }),
                expect: Expect::Revision(revision),
            },
            (4, _) => Change::DeleteNoteFile {
                path: self.random.note_path(),
            },
            (5, _) => Change::PutNoteFolder {
                identity: format!("folder {}", self.random.below(9)),
            },
            _ => Change::PutNoteFile(file),
        }
    }

    /// Keeps a former version of the memory, or removes the kept versions.
    fn change_of_versions(&mut self, memory: Memory) -> Change {
        if self.random.chance(10) {
            return Change::DeleteVersions { id: memory.id };
        }
        let end = self.random.pick(&[3, 2 * VERSIONS_MAX]);
        let revision = self.random.below(end);
        self.former(&memory, revision)
    }

    fn former(&mut self, memory: &Memory, revision: usize) -> Change {
        let other = self.random.memory(&memory.space, memory.id.clone());
        let of = Version::of(&other);
        Change::PutVersion(Box::new(Version {
            revision: revision as u64,
            content: of.content.filter(|_| self.random.chance(70)),
            properties: of.properties.filter(|_| self.random.chance(80)),
            change: self.random.chance(80).then(|| self.random.change_mark()),
            ..Version::of(&other)
        }))
    }

    /// Changes only whether the memory is forgotten, or its location.
    fn forget_or_move(&mut self, memory: Memory, revision: u64) -> Change {
        let is_moved = self.random.chance(50);
        let other = self.random.memory(&memory.space, memory.id.clone());
        let memory = if is_moved {
            Memory {
                location: other.location,
                ..memory
            }
        } else {
            let forgotten_at = memory.forgotten_at.is_none().then(|| self.random.moment());
            Memory {
                forgotten_at,
                ..memory
            }
        };
        Change::Put {
            memory: Box::new(Memory {
                revision: revision.wrapping_add(1),
                ..memory
            }),
            passages: None,
            expect: Expect::Revision(revision),
        }
    }

    /// Creates a change of facts, tunnels, settings, source files or tombstones.
    fn change_beside_memories(&mut self, space: &Space) -> Change {
        match self.random.below(9) {
            0..4 => self.change_of_facts(space),
            4 | 5 => self.change_of_tunnels(space),
            6 => self.change_of_sources(space),
            7 => self.change_of_tombstones(),
            _ => {
                let (owner, name) = self.random.setting();
                let name = name.to_owned();
                if self.random.chance(20) {
                    return Change::DeleteSetting { owner, name };
                }
                let number = self.random.below(9);
                let value = format!("value {number}");
                if number == 8 {
                    return self.former_record(RecordState::Setting(SettingState {
                        space: space.clone(),
                        id: SettingState::id_of(&name, owner.as_deref()),
                        owner,
                        value,
                    }));
                }
                Change::PutSetting { owner, name, value }
            }
        }
    }

    fn change_of_facts(&mut self, space: &Space) -> Change {
        let known = self.model.facts(&all_facts(space));
        let known = known.expect("the naive store can be read");
        if known.is_empty() || self.random.chance(60) {
            let new = self.random.fact(space);
            let like = self
                .random
                .chance(30)
                .then(|| self.random.below(known.len() + 1));
            // Often like another one, but for a time.
            let new = match like.and_then(|like| known.get(like)) {
                Some(like) => Fact {
                    id: new.id,
                    valid_from: self.random.near(like.valid_from),
                    valid_to: self.random.near(like.valid_to),
                    ..like.clone()
                },
                None => new,
            };
            return Change::PutFact(Box::new(new));
        }
        let first = self.random.below(known.len());
        let Fact { id, valid_to, .. } = known[first].clone();
        let before = if self.random.chance(5) {
            Some(self.random.period())
        } else {
            valid_to
        };
        // Chosen by the id, because one more random number would change what every seed does.
        let digits: usize = id.bytes().map(usize::from).sum();
        if digits.is_multiple_of(3) {
            let further = known.iter().skip(first + 1).take(digits % 4);
            let further = further.map(|fact| (fact.id.clone(), fact.valid_to));
            return Change::DeleteFacts {
                facts: [(id, before)].into_iter().chain(further).collect(),
            };
        }
        if digits % 3 == 1 {
            return self.former_record(RecordState::Fact(known[first].clone()));
        }
        Change::EndFact {
            id,
            before,
            valid_to: (!digits.is_multiple_of(5)).then(|| self.random.period()),
        }
    }

    /// Keeps a former state of a fact or a tunnel.
    fn former_record(&mut self, state: RecordState) -> Change {
        let change = self.random.change_mark();
        if change.call == 0 {
            return Change::DeleteRecordVersions {
                kind: state.kind(),
                id: state.id().to_owned(),
            };
        }
        let number = self.random.below(2 * VERSIONS_MAX) as u64;
        let version = if self.random.chance(30) {
            RecordVersion::before(&state, change)
        } else {
            RecordVersion::of(state, change)
        };
        Change::PutRecordVersion(Box::new(RecordVersion {
            number: if self.random.chance(80) { 0 } else { number },
            ..version
        }))
    }

    fn change_of_tunnels(&mut self, space: &Space) -> Change {
        let known = self.model.tunnels(space);
        let known = known.expect("the naive store can be read");
        let tunnel = self.tunnel(space);
        let before = known.into_iter().find(|other| other.id == tunnel.id);
        if self.random.chance(20) && before.is_some() || self.random.chance(3) {
            return Change::DeleteTunnel { id: tunnel.id };
        }
        if let Some(before) = before.clone()
            && before.created_at.microseconds() % 3 == 0
        {
            return self.former_record(RecordState::Tunnel(before));
        }
        let expect = if self.random.chance(5) {
            Some(self.random.tunnel(space))
        } else {
            before
        };
        Change::PutTunnel {
            tunnel: Box::new(tunnel),
            expect: expect.map(Box::new),
        }
    }

    /// Creates a tunnel, mostly between existing memories.
    fn tunnel(&mut self, space: &Space) -> Tunnel {
        let mut tunnel = self.random.tunnel(space);
        if self.random.chance(95) {
            let state = self.model.state();
            for end in [&mut tunnel.source, &mut tunnel.target] {
                end.memory
                    .take_if(|id| !state.records.contains_key(&(space.clone(), id.clone())));
            }
        }
        tunnel
    }

    fn change_of_sources(&mut self, space: &Space) -> Change {
        let file = Box::new(self.random.source_file());
        let collection = file.collection.as_deref();
        let known = self
            .model
            .source_file(space, &file.machine, collection, &file.path);
        let known = known.expect("the naive store can be read").map(Box::new);
        let expect = if self.random.chance(5) {
            Some(Box::new(self.random.source_file()))
        } else {
            known
        };
        match expect {
            Some(expect) if self.random.chance(20) => Change::DeleteSourceFile { expect },
            expect => Change::PutSourceFile { file, expect },
        }
    }

    fn change_of_tombstones(&mut self) -> Change {
        let count = self.random.below(4);
        if self.random.chance(70) {
            Change::PutTombstones((0..count).map(|_| self.random.tombstone()).collect())
        } else {
            let texts = (0..count).map(|_| self.random.hash()).collect();
            Change::DeleteTombstones { texts }
        }
    }

    fn import(&mut self, space: &Space) -> Change {
        let passages = (0..self.random.below(3)).map(|_| self.random.passage());
        let passages = passages.collect();
        let record = match self.random.below(10) {
            0..3 => {
                let id = self.random.id();
                let mut memory = self.random.memory(space, id);
                memory.access = self.random.access();
                Record::Memory(Box::new(memory))
            }
            3 => match self.random.below(2) {
                0 => Record::NoteFolder(format!("folder {}", self.random.below(9))),
                _ => Record::Tombstone(Box::new(self.random.tombstone())),
            },
            4 => Record::NoteFile(Box::new(self.random.note_file())),
            5 => match self.random.below(2) {
                0 => Record::Fact(Box::new(self.random.fact(space))),
                _ => Record::Tunnel(Box::new(self.tunnel(space))),
            },
            6 => {
                let (owner, name) = self.random.setting();
                Record::Setting {
                    owner,
                    name: name.to_owned(),
                    value: format!("value {}", self.random.below(9)),
                }
            }
            7 => match self.random.below(2) {
                0 => Record::SourceFile(Box::new(self.random.source_file())),
                _ => Record::IdempotentReply(Box::new(self.random.idempotent_reply(space))),
            },
            8 => Record::CacheEntry(Box::new(self.random.cache_entry(space))),
            _ => Record::Decision(Box::new(self.random.decision(space))),
        };
        Change::Import {
            record: Box::new(record),
            passages,
            since: 0,
            now: self.random.moment(),
        }
    }
}

pub(super) fn all_facts(space: &Space) -> FactQuery {
    FactQuery {
        space: space.clone(),
        entity: None,
        triple: None,
        relation: None,
        as_of: None,
        beyond: None,
        offset: 0,
        limit: 1_000,
    }
}
