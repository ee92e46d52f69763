//! Random operations, made on a store and on the naive one, give the same answers.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loci_core::{
    Batch, Candidate, CandidateQuery, Candidates, Change, CollectionFilter, Delivery, Expect, Filter, Memory, MemoryId,
    ModelId, Page, Passage, Place, QueryVector, Reader, Space, Store, Superseded, Term, Timestamp, Vector, Visibility,
};

use super::examples::{NOW, memory, space, words};
use super::{MakeStore, StoreAndTokens};
use crate::naive_search::{self, PassageScore};
use crate::{NaiveStore, Random, quantise};

const SEEDS: u64 = 6;
const STEPS: usize = 60;
const TOLERANCE: f32 = 1e-4;
const DIMENSIONS: usize = 24;
const SPACES: [&str; 2] = ["main", "other"];
const OWNERS: [Option<&str>; 3] = [None, Some("ann"), Some("bob")];
const COLLECTIONS: [Option<&str>; 3] = [None, Some("a"), Some("b")];
const SECTIONS: [&str; 3] = ["x", "y", "z"];
const TAGS: [&str; 3] = ["one", "two", "three"];
const WORDS: [&str; 12] = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "猫"];
const MODELS: [&str; 2] = ["first", "second"];

pub(super) fn random_operations_agree_with_the_naive_store(make: MakeStore<'_>) {
    for seed in 0..SEEDS {
        agrees_with_the_naive_store(&*make(), seed, STEPS);
    }
}

/// Makes `steps` random batches and sweeps on the empty `store` and on a naive store, and compares
/// every kind of read after each. A failure names the seed, which repeats it.
pub fn agrees_with_the_naive_store(store: &dyn StoreAndTokens, seed: u64, steps: usize) {
    let mut comparison = Comparison { store, model: NaiveStore::new(), random: Random::new(seed) };
    for step in 0..steps {
        let outcome = catch_unwind(AssertUnwindSafe(|| comparison.step()));
        if let Err(panic) = outcome {
            let message = panic.downcast_ref::<String>().map_or("", String::as_str);
            resume_unwind(Box::new(format!("seed {seed}, step {step}: {message}")));
        }
    }
}

struct Comparison<'a> {
    store: &'a dyn StoreAndTokens,
    model: NaiveStore,
    random: Random,
}

impl Comparison<'_> {
    fn step(&mut self) {
        if self.random.chance(5) {
            let now = self.moment();
            assert_eq!(self.store.sweep(now, 1_000), self.model.sweep(now, 1_000));
        } else {
            let batch = self.batch();
            let outcome = self.store.commit(batch.clone()).map_err(|error| error.code);
            assert_eq!(outcome, self.model.commit(batch).map_err(|error| error.code));
        }
        for _ in 0..4 {
            self.compare_reads();
        }
    }

    fn compare_reads(&mut self) {
        let filter = self.filter();
        let page = Page { offset: self.random.below(4), limit: self.random.below(30) };
        assert_eq!(self.store.list(&filter, page), self.model.list(&filter, page), "{filter:?}");
        assert_eq!(self.store.tally(&filter), self.model.tally(&filter), "{filter:?}");
        let id = self.id();
        assert_eq!(self.store.get(&filter.space, &id), self.model.get(&filter.space, &id));
        let mut ids: Vec<MemoryId> = (0..5).map(|_| self.id()).collect();
        ids.dedup();
        assert_eq!(self.store.get_all(&filter, &ids), self.model.get_all(&filter, &ids), "{filter:?}");
        let model = ModelId::new(self.random.pick(&MODELS));
        let waiting = |store: &dyn Store| -> BTreeSet<_> {
            store.without_vector(&model, 1_000).expect("the store can be read").into_iter().collect()
        };
        assert_eq!(waiting(self.store), waiting(&self.model));
        self.compare_candidates(&filter);
    }

    fn compare_candidates(&mut self, filter: &Filter) {
        let mut terms: Vec<String> = Vec::new();
        for _ in 0..self.random.below(4) {
            let term = self.random.pick(&WORDS).to_owned();
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        let vector = self
            .random
            .chance(70)
            .then(|| QueryVector { model: ModelId::new(self.random.pick(&MODELS)), values: self.unit_vector() });
        let query = CandidateQuery { filter, terms: &terms, vector: vector.as_ref(), limit: self.random.below(9) };
        let found = self.store.candidates(&query).expect("the store can be read");
        let everything = CandidateQuery { limit: usize::MAX, ..query.clone() };
        let expected = self.model.candidates(&everything).expect("the naive store can be read");
        let passages = naive_search::scores(&self.model.state(), &query);
        check_candidates(&query, &found, &expected, |id| passages[id].as_slice());
    }

    fn batch(&mut self) -> Batch {
        let space = space(self.random.pick(&SPACES));
        let changes = (0..=self.random.below(4)).map(|_| self.change(&space)).collect();
        Batch { space, changes }
    }

    fn change(&mut self, space: &Space) -> Change {
        let id = self.id();
        let found = self.model.get(space, &id).expect("the naive store can be read");
        // Now and then an expectation that does not hold.
        let revision = match &found {
            Some(memory) if !self.random.chance(5) => memory.revision,
            _ => 77,
        };
        match self.random.below(10) {
            0 | 1 if found.is_some() => Change::Delete { id, revision },
            2..=4 if found.is_some() => {
                let key = (space.clone(), id.clone());
                let count = self.model.state().records[&key].passages.len();
                Change::Embed { id, revision, vectors: (0..count).map(|_| self.vector()).collect() }
            }
            _ => {
                let keeps = found.is_some() && self.random.chance(30);
                let expect = if found.is_some() { Expect::Revision(revision) } else { Expect::Absent };
                let memory = Memory { revision: revision.wrapping_add(1), ..self.memory(space, id) };
                let passages = (!keeps).then(|| (0..=self.random.below(3)).map(|_| self.passage()).collect());
                Change::Put { memory: Box::new(memory), passages, expect }
            }
        }
    }

    fn memory(&mut self, space: &Space, id: MemoryId) -> Memory {
        let random = &mut self.random;
        Memory {
            space: space.clone(),
            content: format!("content {}", random.below(1_000)),
            place: Place {
                collection: random.pick(&COLLECTIONS).map(str::to_owned),
                section: random.pick(&SECTIONS).to_owned(),
            },
            tags: TAGS.iter().filter(|_| random.chance(40)).map(|tag| (*tag).to_owned()).collect(),
            weight: random.below(11) as f64 / 10.0,
            delivery: random.pick(&[Delivery::OnDemand, Delivery::Bootstrap]),
            owner: random.pick(&OWNERS).map(str::to_owned),
            visibility: random.pick(&[Visibility::Private, Visibility::Shared, Visibility::Common]),
            supersedes: random.chance(25).then(|| MemoryId::new(random.below(24).to_string())),
            expires_at: random.chance(30).then(|| NOW.plus_seconds(random.below(6) as i64)),
            created_at: NOW.plus_seconds(random.below(5) as i64),
            updated_at: NOW.plus_seconds(random.below(5) as i64),
            id,
            ..memory("template")
        }
    }

    fn passage(&mut self) -> Passage {
        let mut terms: Vec<Term> = Vec::new();
        for word in WORDS {
            if self.random.chance(30) {
                terms.push(Term { text: word.to_owned(), count: 1 + self.random.below(4) as u32 });
            }
        }
        let start = self.random.below(10);
        let vector = self.random.chance(50).then(|| self.vector());
        Passage { range: start..start + 5, terms, vector }
    }

    fn vector(&mut self) -> Vector {
        let model = ModelId::new(self.random.pick(&MODELS));
        quantise(&model, &self.unit_vector())
    }

    fn unit_vector(&mut self) -> Vec<f32> {
        let values: Vec<f32> = (0..DIMENSIONS).map(|_| self.random.signed_unit()).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }

    fn filter(&mut self) -> Filter {
        let random = &mut self.random;
        let name = random.pick(&["a", "b", "unknown"]).to_owned();
        Filter {
            space: space(random.pick(&SPACES)),
            reader: Reader { subject: random.pick(&OWNERS).map(str::to_owned), everything: random.chance(20) },
            collections: match random.below(8) {
                0 => CollectionFilter::Global,
                1 => CollectionFilter::AnyNamed,
                2 => CollectionFilter::Only(name),
                3 => CollectionFilter::GlobalAnd(name),
                _ => CollectionFilter::Any,
            },
            sections: if random.chance(25) { words(&["x", "unknown", "z"]) } else { Vec::new() },
            tags: TAGS.iter().filter(|_| random.chance(10)).map(|tag| (*tag).to_owned()).collect(),
            delivery: random.chance(15).then(|| random.pick(&[Delivery::OnDemand, Delivery::Bootstrap])),
            superseded: random.pick(&[Superseded::Hide, Superseded::Show]),
            live_at: self.moment(),
        }
    }

    fn id(&mut self) -> MemoryId {
        MemoryId::new(self.random.below(24).to_string())
    }

    fn moment(&mut self) -> Timestamp {
        NOW.plus_seconds(self.random.below(7) as i64 - 1)
    }
}

/// Checks the candidates of a store against all candidates of the naive one. Scores may differ by
/// rounding, so that near the limit either of two near ties may be returned.
fn check_candidates<'a>(
    query: &CandidateQuery<'_>,
    found: &Candidates,
    all: &Candidates,
    passages: impl Fn(&MemoryId) -> &'a [PassageScore],
) {
    assert_eq!(found.passages, all.passages, "{query:?}");
    assert_eq!(found.passages_without_vector, all.passages_without_vector, "{query:?}");
    let word_floor = floor(all.hits.iter().map(|hit| hit.bm25).filter(|bm25| *bm25 > 0.0), query.limit);
    let meaning_floor = floor(all.hits.iter().filter_map(|hit| hit.cosine), query.limit);
    let within = |hit: &Candidate, slack: f32| {
        (hit.bm25 > 0.0 && hit.bm25 >= word_floor + slack)
            || hit.cosine.is_some_and(|cosine| cosine >= meaning_floor + slack)
    };
    for expected in all.hits.iter().filter(|hit| within(hit, TOLERANCE)) {
        assert!(found.hits.iter().any(|hit| hit.id == expected.id), "{expected:?} is missing for {query:?}");
    }
    let ids: BTreeSet<_> = found.hits.iter().map(|hit| &hit.id).collect();
    assert_eq!(ids.len(), found.hits.len(), "a memory is there twice");
    assert!(found.hits.len() <= query.limit.saturating_mul(2));
    for hit in &found.hits {
        let expected = all.hits.iter().find(|expected| expected.id == hit.id);
        let expected = expected.unwrap_or_else(|| panic!("{hit:?} is no candidate for {query:?}"));
        assert!(within(expected, -TOLERANCE), "{hit:?} is beyond the limit of {query:?}");
        check_hit(hit, expected, passages(&hit.id));
    }
}

fn check_hit(hit: &Candidate, expected: &Candidate, passages: &[PassageScore]) {
    let same = Candidate { bm25: hit.bm25, cosine: hit.cosine, passage: hit.passage, ..expected.clone() };
    assert_eq!(*hit, same);
    assert!((hit.bm25 - expected.bm25).abs() < TOLERANCE, "{hit:?} {expected:?}");
    assert_eq!(hit.cosine.is_some(), expected.cosine.is_some());
    let chosen = passages[hit.passage as usize];
    match expected.cosine {
        Some(cosine) => {
            assert!((hit.cosine.unwrap_or(f32::NAN) - cosine).abs() < TOLERANCE, "{hit:?} {expected:?}");
            assert!(chosen.cosine.is_some_and(|chosen| chosen > cosine - TOLERANCE), "{hit:?}");
        }
        None => assert!(chosen.bm25 > expected.bm25 - TOLERANCE, "{hit:?}"),
    }
}

/// The lowest of the `limit` highest scores; infinity if there is no place at all.
fn floor(scores: impl Iterator<Item = f32>, limit: usize) -> f32 {
    let mut scores: Vec<f32> = scores.collect();
    scores.sort_by(|left, right| right.total_cmp(left));
    scores.truncate(limit);
    scores.last().copied().unwrap_or(f32::INFINITY)
}
