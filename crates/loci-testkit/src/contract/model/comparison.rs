//! A store beside the naive one, to which the same things happen.

use std::collections::BTreeMap;
use std::fmt::Debug;

use loci_core::{
    Access, Batch, CandidateQuery, Candidates, Change, Condition, Error, ErrorCode, Filter, Job,
    Memory, ModelId, QueryVector, Record, Result, Space, Store, Timestamp,
};

use super::generator::{Generator, MARKS, MODELS, SPACES, WORDS};
use crate::NaiveStore;
use crate::contract::calls::archive;
use crate::contract::examples::space;
use crate::contract::store::StoreAndTokens;

/// The subject of most operations of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Memories, their versions and the search for them.
    Memories,
    /// The index of notes.
    Notes,
    /// Facts, tunnels, settings, source files and tombstones.
    Graph,
    /// The data of users: cache, decisions, kept replies, the audit log, tokens and their wipes.
    Users,
    /// Jobs, embeddings and leases.
    Work,
    /// Imports of archived records.
    Archives,
}

impl Subject {
    /// Every subject.
    pub const ALL: [Subject; 6] = [
        Subject::Memories,
        Subject::Notes,
        Subject::Graph,
        Subject::Users,
        Subject::Work,
        Subject::Archives,
    ];

    /// Returns the name of its promise.
    pub fn promise(self) -> &'static str {
        match self {
            Subject::Memories => "memories_agree_with_the_naive_store",
            Subject::Notes => "notes_agree_with_the_naive_store",
            Subject::Graph => "graphs_agree_with_the_naive_store",
            Subject::Users => "users_agree_with_the_naive_store",
            Subject::Work => "background_work_agrees_with_the_naive_store",
            Subject::Archives => "archives_agree_with_the_naive_store",
        }
    }

    /// Returns its name in the list of seeds.
    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Memories => "memories",
            Subject::Notes => "notes",
            Subject::Graph => "graph",
            Subject::Users => "users",
            Subject::Work => "work",
            Subject::Archives => "archives",
        }
    }
}

/// Makes the same random changes in two empty stores, and asks both the same `queries` random
/// queries meanwhile. They give the same candidates, bit for bit.
pub fn give_the_same_candidates(
    one: &dyn StoreAndTokens,
    other: &dyn StoreAndTokens,
    seed: u64,
    queries: usize,
) {
    let mut comparison = Comparison::new(one, Subject::Memories, seed);
    let mut hits = 0;
    for number in 0..queries {
        if number % 2 == 0 {
            let mut batch = comparison.batch(Subject::Memories);
            // The numbers of wipes differ.
            let is_dated = |condition: &Condition| matches!(condition, Condition::NotWiped { .. });
            batch.conditions.retain(|condition| !is_dated(condition));
            let code = |error: Error| error.code;
            let outcome = one.commit(batch.clone()).map_err(code);
            assert_eq!(outcome, other.commit(batch.clone()).map_err(code));
            assert_eq!(outcome, comparison.model.commit(batch).map_err(code));
        }
        let filter = comparison.random.filter();
        let question = comparison.question(filter);
        let candidates = |store: &dyn StoreAndTokens| {
            // Half come with their texts, and half of these after a write.
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
pub(super) struct Question {
    filter: Filter,
    terms: Vec<String>,
    required: Vec<String>,
    marks: Vec<String>,
    vector: Option<QueryVector>,
    with_context: bool,
    limit: usize,
}

impl Question {
    pub(super) fn query(&self) -> CandidateQuery<'_> {
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

/// One number of each store for the same thing, e.g. the versions of a space after one operation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    pub(super) own: u64,
    pub(super) naive: u64,
}

pub(super) struct Comparison<'a> {
    pub(super) store: &'a dyn StoreAndTokens,
    pub(super) model: NaiveStore,
    pub(super) random: Generator,
    subject: Subject,
    /// The moment counter of jobs: no two are due at the same one.
    pub(super) jobs: i64,
    /// All jobs that were ever leased.
    pub(super) leased: Vec<Job>,
    /// The versions of each space after each operation.
    versions: BTreeMap<Space, Vec<Pair>>,
    /// The highest number of an audit entry in each space.
    pub(super) audited: BTreeMap<Space, u64>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(store: &'a dyn StoreAndTokens, subject: Subject, seed: u64) -> Self {
        let zero = |name| (space(name), vec![Pair::default()]);
        Comparison {
            store,
            model: NaiveStore::new(),
            random: Generator::new(seed),
            subject,
            jobs: 0,
            leased: Vec::new(),
            versions: SPACES.map(zero).into(),
            audited: BTreeMap::new(),
        }
    }

    /// Does one operation on both stores, then compares what they hold.
    pub(super) fn step(&mut self) {
        let before = SPACES.map(|name| self.records(&space(name)));
        let subject = if self.random.chance(75) {
            self.subject
        } else {
            self.random.pick(&Subject::ALL)
        };
        self.operate(subject);
        self.note_versions(&before);
        let read = self.random.pick(&Subject::ALL);
        self.compare(read);
        if read != self.subject {
            self.compare(self.subject);
        }
        self.compare(self.subject);
        self.compare_archives();
    }

    /// Notes the versions after an operation. That of a space grows when its records are others than
    /// before.
    fn note_versions(&mut self, before: &[Vec<Record>]) {
        for (space, before) in SPACES.map(space).into_iter().zip(before) {
            let own = self.version(&space);
            let naive = self.model.version(&space).expect("it is read");
            let is_same = self.records(&space) == *before;
            let versions = self.versions.entry(space).or_default();
            let last = versions.last().copied().unwrap_or_default();
            assert!(
                own > last.own || is_same && own == last.own,
                "the version is {own} after {last:?}"
            );
            versions.push(Pair { own, naive });
        }
    }

    /// Returns the version of the space in the store.
    pub(super) fn version(&self, space: &Space) -> u64 {
        self.store.version(space).expect("the store can be read")
    }

    /// Returns the records of a space, in the naive store, whose changes count in its version.
    fn records(&self, space: &Space) -> Vec<Record> {
        let all = archive(&self.model, Timestamp::MIN).expect("the naive store can be read");
        let of_space = all.into_iter().filter(|archived| archived.space == *space);
        let counted = of_space.filter_map(|archived| match archived.record {
            Record::Memory(memory) => Some(Record::Memory(Box::new(Memory {
                access: Access::default(),
                ..*memory
            }))),
            Record::Fact(_)
            | Record::Tunnel(_)
            | Record::Setting { .. }
            | Record::SourceFile(_)
            | Record::Tombstone(_) => Some(archived.record),
            _ => None,
        });
        counted.collect()
    }

    /// Returns the versions of a space at some moment, mostly now.
    pub(super) fn since(&mut self, space: &Space) -> Pair {
        let versions = &self.versions[space];
        let back = if self.random.chance(70) {
            0
        } else {
            self.random.below(versions.len())
        };
        versions[versions.len() - 1 - back]
    }

    /// Calls both stores, which must give the same answer, and returns it unless it is an error.
    pub(super) fn same<T: PartialEq + Debug>(
        &self,
        call: impl Fn(&dyn StoreAndTokens) -> Result<T>,
    ) -> Option<T> {
        self.same_at(Pair::default(), |store, _| call(store))
    }

    /// Does the same with one number of each store.
    pub(super) fn same_at<T: PartialEq + Debug>(
        &self,
        at: Pair,
        call: impl Fn(&dyn StoreAndTokens, u64) -> Result<T>,
    ) -> Option<T> {
        let of_caller = |error: Error| {
            let is_of_caller = error.code == ErrorCode::InvalidArgument;
            (error.code, error.argument.filter(|_| is_of_caller))
        };
        let answer = call(self.store, at.own).map_err(of_caller);
        let naive = call(&self.model, at.naive).map_err(of_caller);
        assert_eq!(answer, naive, "not as the naive store says");
        answer.ok()
    }

    pub(super) fn question(&mut self, filter: Filter) -> Question {
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

    /// Commits a batch on both stores, in which `since` is the version of the store or, for the
    /// naive one, its own.
    pub(super) fn commit(&mut self, batch: &Batch, since: Pair) {
        let is_rebuildable = self.random.chance(30);
        let is_reply = |change: &Change| matches!(change, Change::PutIdempotentReply(_));
        let is_no_change = !batch.changes.is_empty() && batch.changes.iter().all(is_reply);
        let before = self.version(&batch.space);
        self.same_at(since, |store, number| {
            let mut batch = batch.clone();
            for condition in &mut batch.conditions {
                if let Condition::NotWiped { since, .. } = condition {
                    *since = number;
                }
            }
            for change in &mut batch.changes {
                if let Change::Import { since, .. } = change {
                    *since = number;
                }
            }
            if is_rebuildable {
                store.commit_rebuildable(batch)
            } else {
                store.commit(batch)
            }
        });
        assert!(
            !is_no_change || before == self.version(&batch.space),
            "a reply is no change"
        );
    }
}
