//! Checks that a store and the naive one give the same answers to random operations.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use loci_core::limits::LEASE_SECONDS_MAX;
use loci_core::{
    Access, AuditEntry, AuditQuery, Batch, CandidateQuery, Candidates, Change, Error, Expect, Fact,
    FactQuery, FactStore, FilingOrder, Filter, Job, Memory, MemoryId, ModelId, Nearest, NoteFile,
    Page, QueryVector, Result, SourceStore, Space, Store, Touch, TunnelStore, Version,
};

use super::agreement::check_candidates;
use super::archives::archive;
use super::examples::{ODD_TEXTS, audit_entry, not_wiped, space};
use super::generator::{Generator, MARKS, MODELS, ORIGINS, OWNER_NAMES, SPACES, THREADS, WORDS};
use super::partitions::{needs_sweep, retire_model, without_vector};
use super::sweeping::sweep_through;
use super::{MakeStore, StoreAndTokens};
use crate::NaiveStore;

const SEEDS: u64 = 6;
const STEPS: usize = 140;

pub(super) fn random_operations_agree_with_the_naive_store(make: MakeStore<'_>) {
    // At once, since a store on a server spends most of the time waiting.
    thread::scope(|scope| {
        for seed in 0..SEEDS {
            scope.spawn(move || agrees_with_the_naive_store(&*make(), seed, STEPS));
        }
    });
}

/// Performs `steps` random operations on the empty `store` and on a naive store, and compares every
/// kind of read after each. The message of a failure contains the seed to repeat it.
pub fn agrees_with_the_naive_store(store: &dyn StoreAndTokens, seed: u64, steps: usize) {
    let mut comparison = Comparison::new(store, seed);
    for step in 0..steps {
        let outcome = catch_unwind(AssertUnwindSafe(|| comparison.step()));
        if let Err(panic) = outcome {
            let message = panic.downcast_ref::<String>().map_or("", String::as_str);
            panic!("seed {seed}, step {step}: {message}");
        }
    }
}

/// Makes the same random changes in two empty stores, and asks both the same `queries` random
/// queries in between. They give the same candidates, bit for bit.
pub fn give_the_same_candidates(
    one: &dyn StoreAndTokens,
    other: &dyn StoreAndTokens,
    seed: u64,
    queries: usize,
) {
    let mut comparison = Comparison::new(one, seed);
    let mut hits = 0;
    for number in 0..queries {
        if number % 2 == 0 {
            let batch = comparison.batch();
            let code = |error: Error| error.code;
            let outcome = one.commit(batch.clone()).map_err(code);
            assert_eq!(outcome, other.commit(batch.clone()).map_err(code));
            assert_eq!(outcome, comparison.model.commit(batch).map_err(code));
        }
        let filter = comparison.random.filter();
        let question = comparison.question(filter);
        let candidates = |store: &dyn StoreAndTokens| {
            // Half come with their texts, of these half after a write.
            let found = if number % 4 < 2 {
                store.candidates(&question.query())
            } else {
                let nearest = store.nearest(&question.filter, &[question.query()], 5);
                nearest.map(|mut nearest| nearest.candidates.remove(0))
            };
            in_order_of_ids(found.expect("the store can be read"))
        };
        let found = candidates(one);
        assert_eq!(
            found,
            candidates(other),
            "seed {seed}, query {number}: {question:?}"
        );
        hits += found.hits.len();
    }
    assert!(hits > queries / 2, "{hits} hits of {queries} queries");
}

/// Orders hits by their ids and threads by their first hits, since a store promises no order.
fn in_order_of_ids(mut found: Candidates) -> Candidates {
    found.hits.sort_by(|one, other| one.id.cmp(&other.id));
    let mut order: Vec<usize> = Vec::new();
    for place in found
        .hits
        .iter_mut()
        .filter_map(|hit| hit.place_in_thread.as_mut())
    {
        let known = order.iter().position(|thread| *thread == place.thread);
        let thread = known.unwrap_or(order.len());
        if known.is_none() {
            order.push(place.thread);
        }
        place.thread = thread;
    }
    found.threads = order.iter().map(|thread| found.threads[*thread]).collect();
    found
}

/// A query with all that it refers to.
#[derive(Debug)]
struct Question {
    filter: Filter,
    terms: Vec<String>,
    required: Vec<String>,
    marks: Vec<String>,
    vector: Option<QueryVector>,
    with_context: bool,
    limit: usize,
}

impl Question {
    fn query(&self) -> CandidateQuery<'_> {
        CandidateQuery {
            terms: &self.terms,
            required: &self.required,
            marks: &self.marks,
            vector: self.vector.as_ref(),
            with_context: self.with_context,
            ..CandidateQuery::of(&self.filter, self.limit)
        }
    }
}

struct Comparison<'a> {
    store: &'a dyn StoreAndTokens,
    model: NaiveStore,
    random: Generator,
    /// All jobs that were ever leased.
    leased: Vec<Job>,
    /// The versions of spaces in the two stores after the same operations.
    versions: Vec<(Space, u64, u64)>,
}

impl<'a> Comparison<'a> {
    fn new(store: &'a dyn StoreAndTokens, seed: u64) -> Self {
        Comparison {
            store,
            model: NaiveStore::new(),
            random: Generator::new(seed),
            leased: Vec::new(),
            versions: SPACES.map(|name| (space(name), 0, 0)).to_vec(),
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..5 => {
                let sweep = self.random.sweep();
                self.same(|store| needs_sweep(store, &sweep));
                self.same(|store| sweep_through(store, &sweep));
            }
            5..10 => {
                let (filter, now) = (self.random.filter(), self.random.moment());
                let id = self.random.chance(50).then(|| self.random.id());
                self.same(|store| store.soft_delete(&filter, id.as_ref(), now, 1_000));
            }
            10..12 => {
                let (space, owner, now) = (
                    self.random.space(),
                    self.random.pick(&OWNER_NAMES),
                    self.random.moment(),
                );
                let origin = self.random.origin();
                self.same(|store| store.wipe(&space, owner, origin, None, now));
            }
            12..18 => {
                let touches: Vec<_> = (0..3).map(|_| self.touch()).collect();
                self.same(|store| store.touch(&touches));
            }
            18..26 => self.lease_jobs(),
            26..30 => self.check_for_wipes(),
            30..32 => {
                let model = ModelId::new(self.random.pick(&MODELS));
                self.same(|store| retire_model(store, &model, 1_000));
            }
            _ => {
                let batch = if self.random.chance(20) {
                    self.batch_beside_memories()
                } else {
                    self.batch()
                };
                let is_rebuildable = self.random.chance(30);
                self.same(|store| {
                    let batch = batch.clone();
                    if is_rebuildable {
                        store.commit_rebuildable(batch)
                    } else {
                        store.commit(batch)
                    }
                });
            }
        }
        self.note_versions();
        for _ in 0..4 {
            self.compare_reads();
        }
        let space = self.random.space();
        self.compare_graphs(&space);
        self.compare_settings_and_sources(&space);
        let now = self.random.moment();
        self.same(|store| archive(store, now));
    }

    fn note_versions(&mut self) {
        for space in SPACES.map(space) {
            let own = self.store.version(&space).expect("the store can be read");
            let naive = self.model.version(&space).expect("the store can be read");
            self.versions.push((space, own, naive));
        }
    }

    /// Calls both stores, which must give the same answer, and returns it unless it is an error.
    fn same<T: PartialEq + std::fmt::Debug>(
        &self,
        call: impl Fn(&dyn StoreAndTokens) -> Result<T>,
    ) -> Option<T> {
        let answer = call(self.store).map_err(|error| error.code);
        assert_eq!(answer, call(&self.model).map_err(|error| error.code));
        answer.ok()
    }

    fn lease_jobs(&mut self) {
        let now = self.random.moment();
        // The longest leases are too long for an earlier time; one second more is refused.
        let least = if self.random.chance(20) {
            LEASE_SECONDS_MAX - 2
        } else {
            0
        };
        let until = now.plus_seconds(least + self.random.below(4) as i64);
        let lease = format!("lease {}", self.random.bits());
        let jobs = self.same(|store| {
            let mut jobs = store.lease_jobs(now, until, &lease, 1_000)?;
            jobs.sort_by_key(|job| (job.space.clone(), job.memory.clone()));
            Ok(jobs)
        });
        self.leased.extend(jobs.unwrap_or_default());
    }

    /// Both stores or neither refuse a write that started at an earlier version, and the same holds
    /// for audit entries.
    fn check_for_wipes(&mut self) {
        let (space, owner) = (self.random.space(), self.random.pick(&OWNER_NAMES));
        let origin = self.random.pick(&ORIGINS);
        let of_space = self.versions.iter().filter(|(of, ..)| *of == space);
        let of_space: Vec<(u64, u64)> = of_space.map(|(_, own, naive)| (*own, *naive)).collect();
        let since = self.random.pick(&of_space);
        let guard = |since| Batch {
            space: space.clone(),
            ..not_wiped(owner, origin, since)
        };
        let outcome = self
            .store
            .commit(guard(since.0))
            .map_err(|error| error.code);
        assert_eq!(
            outcome,
            self.model
                .commit(guard(since.1))
                .map_err(|error| error.code)
        );
        let (at, dialect) = (self.random.moment(), origin.to_owned());
        let call = AuditEntry {
            space,
            at,
            dialect,
            ..audit_entry(owner, "tool")
        };
        self.same(|store| store.append_audit(std::slice::from_ref(&call)));
        self.same(|store| {
            let mut logged = Vec::new();
            for space in store.audited_spaces()? {
                let query = AuditQuery {
                    space,
                    limit: 1_000,
                    ..AuditQuery::default()
                };
                logged.extend(store.audit(&query)?.into_iter().map(|(_, entry)| entry));
            }
            Ok(logged)
        });
    }

    fn compare_reads(&mut self) {
        let filter = self.random.filter();
        let page = Page {
            offset: self.random.below(4),
            limit: self.random.below(30),
        };
        assert_eq!(
            self.store.list(&filter, page),
            self.model.list(&filter, page),
            "{filter:?}"
        );
        let order = self
            .random
            .pick(&[FilingOrder::FirstFirst, FilingOrder::LastFirst]);
        let filed = self.model.list_by_insertion(&filter, order, page);
        assert_eq!(
            self.store.list_by_insertion(&filter, order, page),
            filed,
            "{order:?} {filter:?}"
        );
        self.compare_counts(&filter);
        assert_eq!(
            self.store.revisions(&filter, page.limit),
            self.model.revisions(&filter, page.limit),
            "{filter:?}"
        );
        let mut ids: Vec<MemoryId> = (0..5).map(|_| self.random.id()).collect();
        for id in &ids {
            self.same(|store| store.versions(&filter.space, id));
        }
        self.same(|store| store.ids_with_versions(&filter, ids.first(), page.limit));
        ids.dedup();
        assert_eq!(
            self.store.get_all(&filter, &ids),
            self.model.get_all(&filter, &ids),
            "{filter:?}"
        );
        assert_eq!(
            self.store.locations_of(&filter, &ids),
            self.model.locations_of(&filter, &ids),
            "{filter:?}"
        );
        let part = ids[0]
            .as_str()
            .chars()
            .next()
            .map(String::from)
            .unwrap_or_default();
        for part in [part.as_str(), ids[0].as_str(), "%", "_"] {
            let found = self.model.ids_with(&filter, part, page.limit);
            assert_eq!(
                self.store.ids_with(&filter, part, page.limit),
                found,
                "{part:?} {filter:?}"
            );
        }
        for name in ODD_TEXTS {
            self.same(|store| store.attribute_values(&filter, name));
        }
        self.same(|store| store.get(&filter.space, &ids[0]));
        self.same(|store| store.accesses(&filter.space, &ids));
        let model = ModelId::new(self.random.pick(&MODELS));
        self.same(|store| {
            Ok(
                without_vector(store, &model, FilingOrder::FirstFirst, 1_000)?
                    .into_iter()
                    .collect::<BTreeSet<_>>(),
            )
        });
        self.same(|store| {
            Ok((
                store.models()?,
                store.pending_embeddings(&model, usize::MAX)?,
            ))
        });
        for id in &ids {
            self.same(|store| store.vectors(&filter.space, id, &model));
        }
        let (owner, thread) = (self.random.pick(&OWNER_NAMES), self.random.pick(&THREADS));
        self.same(|store| store.count_by_status(&filter.space, owner, filter.live_at));
        self.same(|store| store.thread_end(&filter.space, owner, thread));
        self.same(|store| {
            Ok((
                store.next_job_at(filter.live_at)?,
                store.job_counts()?,
                store.failed_jobs(3)?,
            ))
        });
        self.compare_notes_and_answers(&filter, &ids);
        self.compare_candidates(&filter);
    }

    fn compare_counts(&mut self, filter: &Filter) {
        for filter in [filter, &self.random.counted_filter()] {
            let expected = self.model.count_by_location(filter);
            assert_eq!(self.store.count_by_location(filter), expected, "{filter:?}");
            assert_eq!(
                (self.store.count(filter), self.store.collections(filter)),
                (self.model.count(filter), self.model.collections(filter)),
                "{filter:?}"
            );
            assert_eq!(
                self.store.count_uncached(filter),
                expected,
                "counted afresh, {filter:?}"
            );
        }
    }

    fn compare_graphs(&mut self, space: &Space) {
        let (query, now) = (self.random.fact_query(space), self.random.moment());
        assert_eq!(
            self.store.facts(&query),
            self.model.facts(&query),
            "{query:?}"
        );
        self.same(|store| store.facts(&all_facts(space)));
        self.same(|store| store.fact_counts(space, now));
        self.same(|store| store.tunnels(space));
    }

    fn compare_settings_and_sources(&mut self, space: &Space) {
        let (owner, name) = self.random.setting();
        self.same(|store| store.setting(space, owner.as_deref(), name));
        let like = self.random.source_file();
        let (machine, collection) = (&*like.machine, like.collection.as_deref());
        self.same(|store| store.source_file(space, machine, collection, &like.path));
        self.same(|store| store.source_files(space, machine, collection));
        self.same(|store| store.sources_at(space, machine, &like.path));
        let limit = self.random.below(6);
        self.same(|store| store.pending_sources(space, machine, limit));
    }

    fn compare_notes_and_answers(&mut self, filter: &Filter, ids: &[MemoryId]) {
        self.same(|store| {
            Ok((
                store.note_files(&filter.space)?,
                store.note_folder(&filter.space)?,
            ))
        });
        for id in ids {
            self.same(|store| store.note_file_of(&filter.space, id));
        }
        let limit = self.random.below(6);
        self.same(|store| store.notes_among(filter, limit));
        let (like, now) = (
            self.random.idempotent_reply(&filter.space),
            self.random.moment(),
        );
        self.same(|store| {
            store.idempotent_reply(
                &like.space,
                like.owner.as_deref(),
                &like.operation,
                &like.key,
                now,
            )
        });
    }

    fn compare_candidates(&mut self, filter: &Filter) {
        let question = self.question(filter.clone());
        let query = question.query();
        if self.random.chance(50) {
            let limit = self.random.below(9);
            let mut nearest = self
                .store
                .nearest(filter, std::slice::from_ref(&query), limit)
                .expect("the store can be read");
            let mut ids = Nearest::ids(&nearest.candidates);
            ids.truncate(limit);
            assert_eq!(Ok(nearest.memories), self.model.get_all(filter, &ids));
            assert_eq!(Ok(nearest.version), self.store.version(&filter.space));
            let found = nearest.candidates.pop().expect("one for each query");
            check_candidates(&self.model, &query, &found);
        }
        let found = self
            .store
            .candidates(&query)
            .expect("the store can be read");
        check_candidates(&self.model, &query, &found);
    }

    fn question(&mut self, filter: Filter) -> Question {
        let model = ModelId::new(self.random.pick(&MODELS));
        let has_vector = self.random.chance(70);
        let vector = has_vector.then(|| QueryVector {
            model,
            values: self.random.unit_vector(),
        });
        let terms = self.random.some_of(&WORDS, 3);
        let everything = [&WORDS[..], &MARKS].concat();
        let required = if self.random.chance(30) {
            self.random.some_of(&everything, 2)
        } else {
            Vec::new()
        };
        Question {
            filter,
            terms,
            required,
            marks: self.random.some_of(&everything, 6),
            vector,
            with_context: self.random.chance(60),
            limit: self.random.below(9),
        }
    }

    fn batch(&mut self) -> Batch {
        let space = self.random.space();
        let changes = (0..=self.random.below(4))
            .map(|_| self.change(&space))
            .collect();
        Batch { space, changes }
    }

    /// Creates a batch that changes no memory, and so succeeds more often.
    fn batch_beside_memories(&mut self) -> Batch {
        let space = self.random.space();
        let changes = (0..=self.random.below(5))
            .map(|_| self.change_beside_memories(&space))
            .collect();
        Batch { space, changes }
    }

    fn change(&mut self, space: &Space) -> Change {
        let id = self.random.id();
        let found = self
            .model
            .get(space, &id)
            .expect("the naive store can be read");
        // Sometimes an expectation that does not hold.
        let revision = match &found {
            Some(memory) if !self.random.chance(5) => memory.revision,
            _ => 77,
        };
        match self.random.below(20) {
            0 | 1 if found.is_some() => Change::Delete { id, revision },
            2..=4 if found.is_some() => {
                let key = (space.clone(), id.clone());
                let count = self.model.state().records[&key].passages.len();
                Change::Embed {
                    id,
                    revision,
                    vectors: (0..count).map(|_| self.random.vector()).collect(),
                }
            }
            5 | 6 if found.is_some() => Change::Enqueue {
                memory: id,
                due_at: self.random.moment(),
            },
            7 | 8 if self.leased.iter().any(|job| job.space == *space) => {
                let jobs: Vec<_> = self
                    .leased
                    .iter()
                    .filter(|job| job.space == *space)
                    .collect();
                // Mostly one of the last jobs, whose lease may still hold.
                let back = self.random.below(jobs.len().min(4));
                Change::Settle {
                    job: jobs[jobs.len() - 1 - back].clone(),
                    outcome: self.random.outcome(),
                }
            }
            9 | 10 => match found {
                Some(memory) if self.random.chance(30) => self.change_of_versions(memory),
                Some(memory) => self.forget_or_move(memory, revision),
                None => Change::PutNoteFolder {
                    identity: format!("folder {}", self.random.below(9)),
                },
            },
            11..=13 => {
                let file = Box::new(self.random.note_file());
                match found.filter(|_| self.random.chance(30)) {
                    Some(memory) if self.random.chance(50) => {
                        let file = NoteFile {
                            memory: Some(memory.id),
                            ..*file
                        };
                        Change::ExpectNoteFile {
                            file: Box::new(file),
                            expect: Expect::Revision(revision),
                        }
                    }
                    Some(memory) => Change::NotNote { id: memory.id },
                    None => Change::PutNoteFile(file),
                }
            }
            14 => Change::DeleteNoteFile {
                path: self.random.note_path(),
            },
            15 => Change::PutIdempotentReply(Box::new(self.random.idempotent_reply(space))),
            16 | 17 => self.change_beside_memories(space),
            _ => {
                let keeps = found.is_some() && self.random.chance(30);
                let expect = if found.is_some() {
                    Expect::Revision(revision)
                } else {
                    Expect::Absent
                };
                let memory = Memory {
                    revision: revision.wrapping_add(1),
                    ..self.random.memory(space, id)
                };
                let passages = (!keeps).then(|| {
                    (0..=self.random.below(3))
                        .map(|_| self.random.passage())
                        .collect()
                });
                Change::Put {
                    memory: Box::new(memory),
                    passages,
                    expect,
                }
            }
        }
    }

    /// Keeps a former version of the memory, or removes the kept ones.
    fn change_of_versions(&mut self, memory: Memory) -> Change {
        if self.random.chance(10) {
            return Change::DeleteVersions { id: memory.id };
        }
        let other = self.random.memory(&memory.space, memory.id);
        Change::PutVersion(Box::new(Version {
            revision: self.random.below(30) as u64,
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
        let memory = Memory {
            revision: revision.wrapping_add(1),
            ..memory
        };
        Change::Put {
            memory: Box::new(memory),
            passages: None,
            expect: Expect::Revision(revision),
        }
    }

    /// Creates a change of facts, tunnels, settings or source files.
    fn change_beside_memories(&mut self, space: &Space) -> Change {
        match self.random.below(8) {
            0..4 => self.change_of_facts(space),
            4 | 5 => self.change_of_tunnels(space),
            6 => self.change_of_sources(space),
            _ => {
                let (owner, name) = self.random.setting();
                Change::PutSetting {
                    owner,
                    name: name.to_owned(),
                    value: format!("value {}", self.random.below(9)),
                }
            }
        }
    }

    fn change_of_facts(&mut self, space: &Space) -> Change {
        let known = self
            .model
            .facts(&all_facts(space))
            .expect("the naive store can be read");
        if known.is_empty() || self.random.chance(60) {
            return Change::PutFact(Box::new(self.random.fact(space)));
        }
        let Fact { id, valid_to, .. } = known[self.random.below(known.len())].clone();
        let before = if self.random.chance(5) {
            Some(self.random.period())
        } else {
            valid_to
        };
        Change::EndFact {
            id,
            before,
            valid_to: self.random.period(),
        }
    }

    fn change_of_tunnels(&mut self, space: &Space) -> Change {
        let known = self
            .model
            .tunnels(space)
            .expect("the naive store can be read");
        let mut tunnel = self.random.tunnel(space);
        // Mostly between existing memories.
        if self.random.chance(95) {
            let state = self.model.state();
            for end in [&mut tunnel.source, &mut tunnel.target] {
                end.memory
                    .take_if(|id| !state.records.contains_key(&(space.clone(), id.clone())));
            }
        }
        let before = known.into_iter().find(|other| other.id == tunnel.id);
        if self.random.chance(20) && before.is_some() {
            return Change::DeleteTunnel { id: tunnel.id };
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

    fn touch(&mut self) -> Touch {
        let access = Access {
            count: 1 + self.random.below(3) as u64,
            last: Some(self.random.moment()),
        };
        Touch {
            space: self.random.space(),
            id: self.random.id(),
            access,
        }
    }
}

fn all_facts(space: &Space) -> FactQuery {
    FactQuery {
        space: space.clone(),
        entity: None,
        triple: None,
        relation: None,
        as_of: None,
        offset: 0,
        limit: 1_000,
    }
}
