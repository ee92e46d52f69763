//! The index follows changes as if it were made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{CandidateQuery, CollectionFilter, Filter, Reader, Space, Superseded};
use loci_testkit::Random;

use super::selection::Selection;
use super::views::View;
use super::*;

const SEEDS: u64 = 40;
const ROUNDS: usize = 40;
const IDS: usize = 30;
const NAMES: [&str; 3] = ["ann", "bob", "cid"];
const WORDS: [&str; 4] = ["ant", "bee", "cat", "dog"];

fn moment(random: &mut Random) -> Timestamp {
    Timestamp::from_microseconds(random.below(12) as i64)
}

fn name(random: &mut Random) -> Option<&'static str> {
    random.chance(70).then(|| random.pick(&NAMES))
}

/// An index and what was put into it: under each row the id of its memory.
struct World {
    index: Index,
    rows: BTreeMap<i64, String>,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        World { index: Index::default(), rows: BTreeMap::new(), random: Random::new(seed) }
    }

    /// Takes some memories away and adds some, in old rows and new ones, as a follower of the database
    /// does.
    fn change(&mut self) {
        let rows: Vec<i64> = (0..=self.random.below(5)).map(|_| self.random.below(60) as i64).collect();
        for row in &rows {
            self.index.remove(*row);
            self.rows.remove(row);
        }
        for row in rows.iter().copied().filter(|row| row % 4 != 3) {
            let id = self.random.below(IDS).to_string();
            if !self.rows.contains_key(&row) && !self.rows.values().any(|other| *other == id) {
                self.insert(row, id);
            }
        }
        self.index.settle();
    }

    fn insert(&mut self, row: i64, id: String) {
        let random = &mut self.random;
        let target = random.chance(40).then(|| random.below(IDS).to_string());
        let thread = random.chance(50).then(|| (random.pick(&NAMES), random.below(5) as u64));
        let memory = StoredMemory {
            space: random.pick(&["main", "other"]),
            id: &id,
            collection: name(random),
            section: random.pick(&NAMES),
            tags: NAMES.iter().filter(|_| random.chance(40)).map(|tag| (*tag).to_owned()).collect(),
            weight: 0.5,
            delivery: random.pick(&[Delivery::OnDemand, Delivery::Bootstrap]),
            owner: name(random),
            visibility: random.pick(&[Visibility::Private, Visibility::Common]),
            supersedes: target.as_deref(),
            replaces: None,
            expires_at: random.chance(50).then(|| moment(random)),
            created_at: moment(random),
            updated_at: Timestamp::MIN,
            tier: random.pick(&Tier::ALL),
            source: None,
            thread,
        };
        self.rows.insert(row, id.clone());
        let space = self.index.names.intern(memory.space);
        let is_of_space = |other: i64| {
            let number = self.index.rows.get(other).filter(|_| other != row);
            number.map_or(other == row, |number| self.index.traits[number as usize].space == space)
        };
        let replaced = self.rows.iter().find(|(_, other)| target.as_ref() == Some(*other));
        let replaces = replaced.map(|(row, _)| *row).filter(|row| is_of_space(*row));
        self.index.insert(row, &StoredMemory { replaces, ..memory });
        for _ in 0..self.random.below(4) {
            let terms = WORDS.iter().map(|word| (*word, self.random.below(3) as u32)).collect();
            self.index.add_passage(row, StoredPassage { terms, vector: None });
        }
    }

    fn filter(&mut self) -> Filter {
        let random = &mut self.random;
        let reader = Reader { subject: name(random).map(str::to_owned), everything: random.chance(30) };
        let space = Space::parse("space", random.pick(&["main", "other"])).unwrap();
        Filter {
            owner: random.chance(20).then(|| random.pick(&NAMES).to_owned()),
            tier: random.chance(20).then(|| random.pick(&Tier::ALL)),
            created_from: random.chance(20).then(|| moment(random)),
            created_until: random.chance(20).then(|| moment(random)),
            collections: if random.chance(30) {
                CollectionFilter::GlobalAnd(random.pick(&NAMES).to_owned())
            } else {
                CollectionFilter::Any
            },
            sections: if random.chance(20) { vec!["ann".to_owned(), "never".to_owned()] } else { Vec::new() },
            tags: NAMES.iter().filter(|_| random.chance(15)).map(|tag| (*tag).to_owned()).collect(),
            delivery: random.chance(20).then_some(Delivery::Bootstrap),
            superseded: random.pick(&[Superseded::Hide, Superseded::Hide, Superseded::Show]),
            ..Filter::of(space, reader, Timestamp::MIN)
        }
    }
}

fn anew(index: &Index, filter: &Filter) -> View {
    let selection = Selection::compile(filter, &index.names);
    selection.map(|selection| index.evaluate(&selection, filter)).unwrap_or_default()
}

#[test]
fn views_that_follow_changes_and_time_are_those_evaluated_anew() {
    let mut admitted = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let filters: Vec<Filter> = (0..8).map(|_| world.filter()).collect();
        for round in 0..ROUNDS {
            world.change();
            for filter in &filters {
                let filter = Filter { live_at: moment(&mut world.random), ..filter.clone() };
                let view = world.index.view(&filter);
                assert_eq!(*view, anew(&world.index, &filter), "seed {seed}, round {round}, {filter:?}");
                admitted += view.slots.count();
            }
        }
    }
    assert!(admitted > 10_000, "filters admit something: {admitted}");
}

#[test]
fn the_views_that_are_kept_are_those_used_last() {
    let mut world = World::new(7);
    (0..30).for_each(|_| world.change());
    let everyone = Reader { subject: None, everything: true };
    let base = Filter::of(Space::default(), everyone, Timestamp::MIN);
    let of = |number: usize| Filter { tags: vec![number.to_string()], ..base.clone() };
    let kept = |index: &Index| index.views.lock().unwrap().len();
    let first = world.index.view(&base);
    for number in 0..200 {
        world.index.view(&of(number));
        assert!(Arc::ptr_eq(&first, &world.index.view(&base)), "what is used stays");
    }
    assert_eq!(kept(&world.index), 64);
    world.index.view(&of(199));
    assert_eq!(kept(&world.index), 64);
}

#[test]
fn slots_are_given_again_once_they_are_purged() {
    let mut world = World::new(1);
    let everyone = Reader { subject: None, everything: true };
    let filter = Filter::of(Space::parse("space", "main").unwrap(), everyone, Timestamp::MIN);
    for round in 0..2_000 {
        world.change();
        let terms = [WORDS[round % WORDS.len()].to_owned()];
        let found = world.index.candidates(&CandidateQuery { terms: &terms, ..CandidateQuery::of(&filter, 100) });
        let view = anew(&world.index, &filter);
        assert_eq!(found.passages, view.slots.count());
        assert!(found.hits.len() <= view.memories.count());
    }
    assert!(world.index.slots.len() < 3 * DEAD_MIN, "{}", world.index.slots.len());
    assert!(world.index.bytes() < 1 << 20);
}
