//! The index follows changes as if it were rebuilt.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{
    CandidateQuery, Candidates, CollectionFilter, Filter, Forgotten, Location, Memory, MemoryId,
    OwnerFilter, Provenance, QueryVector, Reader, Space, Superseded, Thread, ThreadPosition,
    ThreadScore,
};
use loci_testkit::Random;

use crate::structures::segment::{SectionWriter, Sections};

use super::selection::Selection;
use super::views::View;
use super::*;

const SEEDS: u64 = 40;
const ROUNDS: usize = 40;
const IDS: usize = 30;
const DIMENSIONS: usize = 24;
const NAMES: [&str; 3] = ["ann", "bob", "cid"];
const WORDS: [&str; 4] = ["ant", "bee", "cat", "dog"];

fn moment(random: &mut Random) -> Timestamp {
    Timestamp::from_microseconds(random.below(12) as i64)
}

fn name(random: &mut Random) -> Option<String> {
    random.chance(70).then(|| random.pick(&NAMES).to_owned())
}

fn some_names(random: &mut Random, percent: usize) -> Vec<String> {
    NAMES
        .iter()
        .filter(|_| random.chance(percent))
        .map(|name| (*name).to_owned())
        .collect()
}

fn space(random: &mut Random) -> Space {
    Space::parse("space", random.pick(&["main", "other"])).unwrap()
}

/// The memory as the database holds it.
fn stored(memory: &Memory, replaces: Option<i64>) -> StoredMemory<'_> {
    StoredMemory {
        space: memory.space.as_str(),
        id: memory.id.as_str(),
        collection: memory.location.collection.as_deref(),
        section: &memory.location.section,
        kind: &memory.kind,
        tags: memory.tags.clone(),
        weight: memory.weight,
        delivery: memory.delivery,
        origin: &memory.origin,
        program: memory.provenance.program.as_deref(),
        owner: memory.owner.as_deref(),
        visibility: memory.visibility,
        supersedes: memory.supersedes.as_ref().map(MemoryId::as_str),
        replaces,
        expires_at: memory.expires_at,
        is_forgotten: memory.forgotten_at.is_some(),
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        tier: memory.tier,
        source: None,
        thread: memory
            .thread
            .as_ref()
            .map(|thread| (&*thread.name, thread.position)),
    }
}

fn with_models() -> Index {
    let mut index = Index::default();
    (0..2).for_each(|row| index.add_model(row, ModelId::new(row.to_string())));
    index
}

/// The candidates by id, with the score of the thread of each; threads have no order of their own.
fn sorted(index: &Index, query: &CandidateQuery<'_>) -> (Candidates, Vec<Option<ThreadScore>>) {
    let mut found = index.candidates(query);
    found.hits.sort_by(|left, right| left.id.cmp(&right.id));
    let threads = std::mem::take(&mut found.threads);
    let places = found
        .hits
        .iter_mut()
        .map(|hit| hit.place_in_thread.as_mut());
    let of_thread = |place: Option<&mut ThreadPosition>| {
        place.map(|place| threads[std::mem::take(&mut place.thread)])
    };
    let of_threads = places.map(of_thread).collect();
    (found, of_threads)
}

/// An index and what was put into it, under the rows.
struct World {
    index: Index,
    /// The same index, never in a segment.
    twin: Index,
    rows: BTreeMap<i64, Memory>,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        World {
            index: with_models(),
            twin: with_models(),
            rows: BTreeMap::new(),
            random: Random::new(seed),
        }
    }

    /// Takes some memories away and adds some, in old rows and new ones, as a follower of the
    /// database does.
    fn change(&mut self) {
        let rows: Vec<i64> = (0..=self.random.below(5))
            .map(|_| self.random.below(60) as i64)
            .collect();
        for row in &rows {
            self.index.remove(*row);
            self.twin.remove(*row);
            self.rows.remove(row);
        }
        for row in rows.iter().copied().filter(|row| row % 4 != 3) {
            let id = MemoryId::new(self.random.below(IDS).to_string());
            if !self.rows.contains_key(&row) && !self.rows.values().any(|other| other.id == id) {
                self.insert(row, id);
            }
        }
        self.index.settle();
        self.twin.settle();
    }

    /// Goes on with an index that lies in a segment, as another process does.
    fn write_and_open(&mut self) {
        self.index = reopened(&self.index);
    }

    fn insert(&mut self, row: i64, id: MemoryId) {
        let random = &mut self.random;
        let memory = Memory {
            location: Location {
                collection: name(random),
                section: random.pick(&NAMES).to_owned(),
            },
            tags: some_names(random, 40),
            tier: random.pick(&Tier::ALL),
            thread: name(random).map(|name| Thread {
                name,
                position: random.below(5) as u64,
            }),
            delivery: random.pick(&[Delivery::OnDemand, Delivery::Bootstrap]),
            origin: random.pick(&NAMES).to_owned(),
            provenance: Provenance {
                program: random.chance(60).then(|| random.pick(&NAMES).to_owned()),
                ..Provenance::default()
            },
            owner: name(random),
            visibility: random.pick(&[Visibility::Private, Visibility::Shared, Visibility::Common]),
            supersedes: random
                .chance(40)
                .then(|| MemoryId::new(random.below(IDS).to_string())),
            expires_at: random.chance(50).then(|| moment(random)),
            forgotten_at: random.chance(25).then(|| moment(random)),
            ..Memory::new(space(random), id, "", random.pick(&NAMES), moment(random))
        };
        self.rows.insert(row, memory.clone());
        let is_target = |other: &Memory| {
            other.space == memory.space && memory.supersedes.as_ref() == Some(&other.id)
        };
        let replaces = self
            .rows
            .iter()
            .find(|(_, other)| is_target(other))
            .map(|(row, _)| *row);
        self.index.insert(row, &stored(&memory, replaces));
        self.twin.insert(row, &stored(&memory, replaces));
        for _ in 0..self.random.below(4) {
            let terms: Vec<(&str, u32)> = WORDS
                .iter()
                .map(|word| (*word, self.random.below(3) as u32))
                .collect();
            let values: Vec<i8> = (0..DIMENSIONS)
                .map(|_| self.random.below(255) as u8 as i8)
                .collect();
            let models: Vec<i64> = (0..2).filter(|_| self.random.chance(60)).collect();
            for index in [&mut self.index, &mut self.twin] {
                let vectors = models.iter().map(|model| StoredVector {
                    model: *model,
                    scale: 0.01,
                    values: &values,
                });
                index.add_passage(
                    row,
                    StoredPassage {
                        terms: terms.clone(),
                        vectors: vectors.collect(),
                    },
                );
            }
        }
    }

    fn filter(&mut self) -> Filter {
        let random = &mut self.random;
        let some_name = |random: &mut Random| {
            random
                .pick(&[NAMES[0], NAMES[1], NAMES[2], "never"])
                .to_owned()
        };
        let reader = Reader {
            subject: name(random),
            everything: random.chance(20),
            shared: random.chance(60),
            own_origin: random.chance(30).then(|| some_name(random)),
        };
        Filter {
            owner: match random.below(8) {
                0 => OwnerFilter::Only(some_name(random)),
                1 => OwnerFilter::Nobody,
                2 => OwnerFilter::AnyOf(vec![None, Some(some_name(random))]),
                _ => OwnerFilter::Any,
            },
            origins: Vec::from_iter(random.chance(20).then(|| some_name(random))),
            programs: Vec::from_iter(random.chance(20).then(|| some_name(random))),
            tiers: if random.chance(40) {
                vec![random.pick(&Tier::ALL), random.pick(&Tier::ALL)]
            } else {
                Vec::new()
            },
            unlisted_origin: random.chance(30).then(|| some_name(random)),
            thread: random.chance(20).then(|| some_name(random)),
            created_from: random.chance(20).then(|| moment(random)),
            created_until: random.chance(20).then(|| moment(random)),
            collections: if random.chance(30) {
                CollectionFilter::GlobalAnd(random.pick(&NAMES).to_owned())
            } else {
                CollectionFilter::Any
            },
            sections: if random.chance(20) {
                vec!["ann".to_owned(), "never".to_owned()]
            } else {
                Vec::new()
            },
            kinds: if random.chance(20) {
                vec!["never".to_owned(), "ann".to_owned()]
            } else {
                Vec::new()
            },
            tags: some_names(random, 15),
            delivery: random.chance(20).then_some(Delivery::Bootstrap),
            superseded: random.pick(&[Superseded::Hide, Superseded::Hide, Superseded::Show]),
            forgotten: match random.below(12) {
                0 => Forgotten::Only,
                1..5 => Forgotten::Hide,
                _ => Forgotten::Show,
            },
            ..Filter::of(space(random), reader, Timestamp::MIN)
        }
    }

    /// The rows of the memories that the rule itself admits.
    fn admitted(&self, filter: &Filter) -> Vec<i64> {
        let hides = |memory: &Memory| {
            let supersedes = |other: &Memory| other.supersedes.as_ref() == Some(&memory.id);
            self.rows
                .values()
                .any(|other| supersedes(other) && filter.is_live_successor(other))
        };
        let admits = |memory: &Memory| {
            filter.admits(memory) && (filter.superseded == Superseded::Show || !hides(memory))
        };
        self.rows
            .iter()
            .filter(|(_, memory)| admits(memory))
            .map(|(row, _)| *row)
            .collect()
    }

    /// The rows of the memories in the view.
    fn viewed(&self, view: &View) -> Vec<i64> {
        let is_in = |row: i64| {
            self.index
                .number_of(row)
                .is_some_and(|number| view.memories.contains(number))
        };
        self.rows
            .keys()
            .copied()
            .filter(|row| is_in(*row))
            .collect()
    }
}

/// The index from its segment.
pub(crate) fn reopened(index: &Index) -> Index {
    let mut out = SectionWriter::new(tempfile::tempfile().unwrap(), Arc::default()).unwrap();
    index.write(&mut out).unwrap();
    let reopened = Index::open(Sections::open(&out.finish().unwrap()).unwrap()).unwrap();
    // The pages that were read are read once more.
    reopened.release();
    reopened
}

fn anew(index: &Index, filter: &Filter) -> View {
    let selection = Selection::compile(filter, &index.names);
    selection
        .map(|selection| index.evaluate(&selection, filter))
        .unwrap_or_default()
}

#[test]
fn views_that_follow_changes_and_time_are_those_evaluated_anew() {
    let mut admitted = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let filters: Vec<Filter> = (0..8).map(|_| world.filter()).collect();
        for round in 0..ROUNDS {
            world.change();
            if world.random.chance(15) {
                world.write_and_open();
            }
            for filter in &filters {
                let filter = Filter {
                    live_at: moment(&mut world.random),
                    ..filter.clone()
                };
                let view = world.index.view(&filter);
                assert_eq!(
                    *view,
                    anew(&world.index, &filter),
                    "seed {seed}, round {round}, {filter:?}"
                );
                assert_eq!(
                    world.viewed(&view),
                    world.admitted(&filter),
                    "seed {seed}, round {round}, {filter:?}"
                );
                admitted += view.slots.count();
            }
        }
    }
    assert!(admitted > 7_500, "filters admit something: {admitted}");
}

#[test]
fn an_index_in_a_segment_finds_what_one_in_memory_finds() {
    let mut hits = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for round in 0..ROUNDS {
            world.change();
            if world.random.chance(20) {
                world.write_and_open();
            }
            for _ in 0..8 {
                let filter = world.filter();
                let filter = Filter {
                    live_at: moment(&mut world.random),
                    ..filter
                };
                let terms: Vec<String> = WORDS
                    .iter()
                    .filter(|_| world.random.chance(60))
                    .map(|word| (*word).into())
                    .collect();
                let values = (0..DIMENSIONS)
                    .map(|_| world.random.signed_unit())
                    .collect();
                let vector = QueryVector {
                    model: ModelId::new(world.random.pick(&["0", "1", "2"])),
                    values,
                };
                let query = CandidateQuery {
                    terms: &terms,
                    required: if world.random.chance(30) {
                        &terms[..terms.len().min(1)]
                    } else {
                        &[]
                    },
                    marks: &terms[terms.len().min(1)..],
                    vector: world.random.chance(80).then_some(&vector),
                    with_context: world.random.chance(50),
                    ..CandidateQuery::of(&filter, 1 + world.random.below(20))
                };
                let found = sorted(&world.index, &query);
                assert_eq!(
                    found,
                    sorted(&world.twin, &query),
                    "seed {seed}, round {round}, {query:?}"
                );
                assert_eq!(world.index.memories(), world.rows.len());
                hits += found.0.hits.len();
            }
        }
    }
    assert!(hits > 3_500, "something is found: {hits}");
}

#[test]
fn nothing_of_what_is_gone_is_in_a_segment() {
    let mut index = with_models();
    let memory = |id: &str, tag: &str| Memory {
        tags: vec![tag.to_owned()],
        ..Memory::new(
            Space::default(),
            MemoryId::new(id),
            "",
            "kind",
            Timestamp::MIN,
        )
    };
    for (row, (id, word)) in [
        ("an id that stays", "staying"),
        ("an id that goes", "quokka"),
    ]
    .into_iter()
    .enumerate()
    {
        index.insert(row as i64, &stored(&memory(id, word), None));
        index.add_passage(
            row as i64,
            StoredPassage {
                terms: vec![(word, 1)],
                vectors: Vec::new(),
            },
        );
    }
    let occurrences = |index: &Index, text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut out =
            SectionWriter::new(file.as_file_mut().try_clone().unwrap(), Arc::default()).unwrap();
        index.write(&mut out).unwrap();
        out.finish().unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        bytes
            .windows(text.len())
            .filter(|part| *part == text.as_bytes())
            .count()
    };
    assert_eq!(
        ["staying", "quokka", "an id that goes"].map(|text| occurrences(&index, text)),
        [2, 2, 1]
    );
    let mut index = reopened(&index);
    index.remove(1);
    assert_eq!(
        ["staying", "quokka", "an id that goes"].map(|text| occurrences(&index, text)),
        [2, 0, 0]
    );
}

#[test]
fn the_views_that_are_kept_are_those_used_last() {
    let mut world = World::new(7);
    (0..30).for_each(|_| world.change());
    let base = Filter::of(Space::default(), Reader::everything(), Timestamp::MIN);
    let of = |number: usize| Filter {
        tags: vec![number.to_string()],
        ..base.clone()
    };
    let kept = |index: &Index| index.views.lock().unwrap().len();
    let first = world.index.view(&base);
    for number in 0..200 {
        world.index.view(&of(number));
        assert!(
            Arc::ptr_eq(&first, &world.index.view(&base)),
            "what is used stays"
        );
    }
    assert_eq!(kept(&world.index), 64);
    world.index.view(&of(199));
    assert_eq!(kept(&world.index), 64);
}

#[test]
fn slots_are_given_again_once_they_are_purged() {
    let mut world = World::new(1);
    let filter = Filter::of(Space::default(), Reader::everything(), Timestamp::MIN);
    for round in 0..2_000 {
        world.change();
        let terms = [WORDS[round % WORDS.len()].to_owned()];
        let found = world.index.candidates(&CandidateQuery {
            terms: &terms,
            ..CandidateQuery::of(&filter, 100)
        });
        let view = anew(&world.index, &filter);
        assert_eq!(found.passages, view.slots.count());
        assert!(found.hits.len() <= view.memories.count());
    }
    assert!(
        world.index.slots.len() < 3 * DEAD_MIN,
        "{}",
        world.index.slots.len()
    );
    assert!(world.index.bytes() < 1 << 20);
}

#[test]
fn what_a_new_view_looks_at_is_small() {
    assert_eq!(size_of::<Traits>(), 48);
}
