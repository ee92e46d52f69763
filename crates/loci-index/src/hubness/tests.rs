use loci_core::{
    Candidate, CandidateQuery, Delivery, Filter, ModelId, QueryVector, Reader, Space, Tier,
    Timestamp,
};
use loci_testkit::Random;

use super::*;
use crate::tests::reopened;
use crate::{StoredMemory, StoredPassage, StoredVector};

const DIMENSIONS: usize = 96;
const HUB: &str = "hub";

fn memory<'a>(id: &'a str, owner: Option<&'a str>) -> StoredMemory<'a> {
    StoredMemory {
        space: "main",
        id,
        collection: None,
        section: "general",
        kind: "fact",
        tags: Vec::new(),
        weight: 0.5,
        delivery: Delivery::OnDemand,
        origin: "mememory",
        program: None,
        owner,
        visibility: owner.map_or(Visibility::Common, |_| Visibility::Private),
        supersedes: None,
        replaces: None,
        expires_at: None,
        is_forgotten: false,
        created_at: Timestamp::MIN,
        updated_at: Timestamp::MIN,
        tier: Tier::LongTerm,
        source: None,
        thread: None,
    }
}

fn add(index: &mut Index, row: i64, memory: &StoredMemory<'_>, values: &[f32]) {
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    let steps: Vec<i8> = values
        .iter()
        .map(|value| (value / norm * 127.0).round() as i8)
        .collect();
    let vector = StoredVector {
        model: 1,
        scale: 1.0 / 127.0,
        values: &steps,
    };
    index.insert(row, memory);
    let passage = StoredPassage {
        terms: Vec::new(),
        vectors: vec![vector],
    };
    index.add_passage(row, passage);
    index.settle();
}

/// A vector that has something of the direction of all others.
fn ordinary(random: &mut Random) -> Vec<f32> {
    (0..DIMENSIONS)
        .map(|_| random.signed_unit() + 0.3)
        .collect()
}

/// Common texts and a hub, which lies in their middle.
fn index(texts: i64) -> Index {
    let mut index = Index::default();
    index.add_model(1, ModelId::new("model"));
    let mut random = Random::new(3);
    add(&mut index, 0, &memory(HUB, None), &[1.0; DIMENSIONS]);
    for row in 1..texts {
        add(
            &mut index,
            row,
            &memory(&row.to_string(), None),
            &ordinary(&mut random),
        );
    }
    index
}

/// The hubness of a memory.
fn hubness(index: &Index, id: &str) -> Option<Hubness> {
    let is_it = |number: &u32| {
        let record = index.record(*number);
        record.is_some_and(|record| record.id().to_text() == id)
    };
    let number = (0..index.numbers()).find(is_it)?;
    let slot = index.slots_of(number).next();
    index.hubnesses(0, std::iter::once(slot))[0]
}

/// The memories near to a vector, by how a search returns them.
fn found(index: &Index, tag: Option<&str>, values: &[f32]) -> Vec<Candidate> {
    let filter = Filter {
        tags: tag.map(str::to_owned).into_iter().collect(),
        ..Filter::of(Space::default(), Reader::everything(), Timestamp::MIN)
    };
    let vector = QueryVector {
        model: ModelId::new("model"),
        values: values.to_vec(),
    };
    let query = CandidateQuery {
        vector: Some(&vector),
        with_hubness: true,
        ..CandidateQuery::of(&filter, 3 * NEAREST)
    };
    index.candidates(&query).hits
}

#[test]
fn a_hub_is_nearer_to_the_rest_than_others() {
    let index = index(2_000);
    let hub = hubness(&index, HUB).unwrap();
    assert!(hub.weight > 0.999);
    for id in ["1", "77", "1999"] {
        let other = hubness(&index, id).unwrap();
        assert!(hub.cosine > other.cosine + 0.1, "{hub:?} {other:?}");
    }
}

#[test]
fn it_counts_more_the_more_passages_there_are() {
    let weights = [200, 201, 600, 1_000, 1_500].map(|texts| {
        let found = hubness(&index(texts), HUB);
        found.map_or(0.0, |hubness| hubness.weight)
    });
    assert!(weights[0] < 0.001);
    assert!((weights[2] - 0.5).abs() < 0.1, "{weights:?}");
    assert!(
        weights[3..].iter().all(|weight| *weight > 0.999),
        "{weights:?}"
    );
    assert!(weights.is_sorted(), "{weights:?}");
}

#[test]
fn a_fact_that_was_said_five_times_is_no_hub() {
    let mut index = index(1_000);
    let mut random = Random::new(9);
    let fact = ordinary(&mut random);
    let said = |random: &mut Random| -> Vec<f32> {
        fact.iter()
            .map(|value| value + random.signed_unit() * 0.2)
            .collect()
    };
    add(&mut index, 5_000, &memory("fact", None), &fact);
    let before = index.hubness_of("fact");
    for row in 5_001..5_006 {
        let text = said(&mut random);
        add(&mut index, row, &memory(&row.to_string(), None), &text);
    }
    // Neither do equal texts count, however many there are.
    for row in 5_010..5_040 {
        add(&mut index, row, &memory(&row.to_string(), None), &fact);
    }
    *index.hubs.made() = HashMap::new();
    let after = index.hubness_of("fact");
    // The ranks from 6 on are now those from 1 on of before.
    assert!((before - after).abs() < 0.04, "{before} {after}");
}

impl Index {
    fn hubness_of(&self, id: &str) -> f32 {
        hubness(self, id).unwrap().cosine
    }
}

#[test]
fn texts_that_a_reader_may_not_read_change_nothing() {
    let mut alone = index(400);
    let mut shared = index(400);
    let mut random = Random::new(5);
    let mine: Vec<Vec<f32>> = (0..300).map(|_| ordinary(&mut random)).collect();
    for (row, values) in (1_000..).zip(&mine) {
        for index in [&mut alone, &mut shared] {
            add(index, row, &memory(&row.to_string(), Some("ann")), values);
        }
    }
    for row in 2_000..2_500 {
        let values = &mine[row as usize % 300];
        let values: Vec<f32> = values
            .iter()
            .map(|value| value + random.signed_unit() * 0.3)
            .collect();
        add(
            &mut shared,
            row,
            &memory(&row.to_string(), Some("bob")),
            &values,
        );
    }
    let mut differs = false;
    for id in [HUB, "17", "1000", "1299"] {
        assert_eq!(hubness(&alone, id), hubness(&shared, id), "{id}");
        let written = reopened(&shared);
        assert_eq!(hubness(&alone, id), hubness(&written, id), "{id}");
        differs |= hubness(&alone, id) != hubness(&index(400), id);
    }
    assert!(differs, "what ann may read counts for what is ann's");
}

#[test]
fn a_segment_has_what_would_be_made() {
    let made = index(1_200);
    let mut written = reopened(&made);
    for id in [HUB, "3", "1199"] {
        assert_eq!(hubness(&made, id), hubness(&written, id), "{id}");
    }
    assert!(written.hubs.made().is_empty(), "nothing had to be made");
    // A later passage gets its hubness, and keeps it when others go and their slots are given again.
    let mut random = Random::new(8);
    add(
        &mut written,
        3_000,
        &memory("later", None),
        &ordinary(&mut random),
    );
    let later = hubness(&written, "later");
    assert!(later.is_some());
    written.remove(3_000);
    assert_eq!(hubness(&written, "later"), None);
    add(
        &mut written,
        3_001,
        &memory("other", None),
        &[1.0; DIMENSIONS],
    );
    assert!(hubness(&written, "other").unwrap().cosine > later.unwrap().cosine);
}

#[test]
fn every_filter_sees_the_same() {
    let mut index = index(500);
    let text = ordinary(&mut Random::new(2));
    let tagged = StoredMemory {
        tags: vec!["few".to_owned()],
        ..memory("tagged", None)
    };
    add(&mut index, 900, &tagged, &text);
    let among = |tag| {
        let hits = found(&index, tag, &text);
        let hit = hits.into_iter().find(|hit| hit.id.as_str() == "tagged");
        hit.unwrap().hubness
    };
    assert!(among(None).is_some());
    assert_eq!(among(Some("few")), among(None));
}

#[test]
fn the_nearest_candidates_of_a_search_have_one() {
    let hits = found(&index(1_200), None, &ordinary(&mut Random::new(6)));
    assert_eq!(hits.len(), 3 * NEAREST);
    let cosines = |has_one: bool| {
        let of_kind = hits
            .iter()
            .filter(move |hit| hit.hubness.is_some() == has_one);
        of_kind.map(|hit| hit.cosine.unwrap())
    };
    assert_eq!(cosines(true).count(), NEAREST);
    let least = cosines(true).fold(f32::INFINITY, f32::min);
    assert!(cosines(false).all(|cosine| cosine < least));
}

#[test]
fn the_order_of_searches_changes_nothing() {
    let mut random = Random::new(4);
    let first = ordinary(&mut random);
    // Near enough to have candidates in common.
    let second: Vec<f32> = first
        .iter()
        .map(|value| value + random.signed_unit() * 0.5)
        .collect();
    let (forward, backward) = (index(1_500), index(1_500));
    let forward = [&first, &second].map(|values| found(&forward, None, values));
    let mut backward = [&second, &first].map(|values| found(&backward, None, values));
    backward.reverse();
    assert_eq!(forward, backward);
    assert_ne!(forward[0], forward[1]);
}

#[test]
fn two_bytes_keep_what_they_are_given() {
    for (cosine, weight) in [(0.0, 1), (0.45, 15), (1.0, 7), (-0.2, 3)] {
        let Hubness {
            cosine: found,
            weight: share,
        } = unpacked(packed(Some(cosine), weight)).unwrap();
        assert!((found - f32::max(cosine, 0.0)).abs() < 0.000_2);
        assert!((share - f32::from(weight) / 15.0).abs() < f32::EPSILON);
    }
    assert_eq!(unpacked(packed(None, 15)), None);
    assert_eq!(unpacked(packed(Some(0.4), 0)), None);
}
