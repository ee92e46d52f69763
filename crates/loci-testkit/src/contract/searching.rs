//! The contract of candidates.

use std::f32::consts::LN_2;

use loci_core::{
    Candidate, CandidateQuery, Candidates, FilingOrder, Filter, Location, Memory, MemoryId,
    ModelId, Passage, QueryVector, Visibility,
};

use super::examples::{
    NOW, delete, filter, memory, passage, put, reader, replace, space, vector, with_vector, words,
};
use super::partitions::without_vector;
use super::{MakeStore, StoreAndTokens};

fn candidates(
    store: &dyn StoreAndTokens,
    filter: &Filter,
    terms: &[&str],
    vector: Option<&[f32]>,
    limit: usize,
) -> Candidates {
    let vector = vector.map(|values| QueryVector {
        model: ModelId::new("test"),
        values: values.to_vec(),
    });
    ask(
        store,
        &CandidateQuery {
            terms: &words(terms),
            vector: vector.as_ref(),
            ..CandidateQuery::of(filter, limit)
        },
    )
}

/// Returns the store's answer, with its hits in the order of ids.
pub(super) fn ask(store: &dyn StoreAndTokens, query: &CandidateQuery<'_>) -> Candidates {
    let mut found = store.candidates(query).expect("the store can be read");
    found.hits.sort_by(|left, right| left.id.cmp(&right.id));
    found
}

/// Returns the ids that a search for these words finds, sorted.
pub(super) fn search(store: &dyn StoreAndTokens, filter: &Filter, terms: &[&str]) -> Vec<String> {
    ids(&candidates(store, filter, terms, None, 1_000))
}

pub(super) fn ids(candidates: &Candidates) -> Vec<String> {
    candidates
        .hits
        .iter()
        .map(|hit| hit.id.to_string())
        .collect()
}

pub(super) fn add(store: &dyn StoreAndTokens, id: &str, passages: Vec<Passage>) {
    store
        .commit(put(&memory(id), passages))
        .expect("the commit succeeds");
}

pub(super) fn near(left: f32, right: f32) {
    assert!((left - right).abs() < 1e-4, "{left} is not {right}");
}

pub(super) fn words_are_scored_by_bm25_over_what_the_filter_admits(make: MakeStore<'_>) {
    let store = make();
    let placed = Memory {
        location: Location {
            collection: Some("a".to_owned()),
            section: "fact".to_owned(),
        },
        weight: 0.75,
        source: Some(MemoryId::new("message")),
        ..memory("cat")
    };
    store
        .commit(put(&placed, vec![passage("tree"), passage("cat")]))
        .expect("the commit succeeds");
    let found = candidates(&*store, &filter(), &["cat", "absent"], None, 10);
    // Two passages of equal length, one with the word: the idf is ln(1 + 1.5 / 1.5), and the rest
    // cancels out.
    let expected = Candidate {
        id: placed.id.clone(),
        bm25: LN_2,
        matched: 0.0,
        cosine: None,
        passage: 1,
        collection: Some("a".into()),
        source: placed.source,
        weight: 0.75,
        marks: 0,
        place_in_thread: None,
        created_at: placed.created_at,
        updated_at: placed.updated_at,
    };
    near(found.hits[0].bm25, LN_2);
    let Candidate { bm25, matched, .. } = found.hits[0];
    assert_eq!(
        found.hits,
        [Candidate {
            bm25,
            matched,
            ..expected
        }]
    );
    // The word without a passage is rarer: its idf is ln(1 + 2.5 / 0.5).
    near(matched, LN_2 / (LN_2 + 6.0_f32.ln()));
    assert_eq!((found.passages, found.passages_without_vector), (2, 0));
    let hidden = Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        ..memory("hidden")
    };
    let long = passage("cat cat cat dog mouse bird fish");
    store
        .commit(put(&hidden, vec![long]))
        .expect("the commit succeeds");
    let bob = Filter {
        reader: reader(Some("bob")),
        ..filter()
    };
    let seen_by_bob = candidates(&*store, &bob, &["cat"], None, 10);
    near(seen_by_bob.hits[0].bm25, LN_2);
    assert_eq!(
        seen_by_bob.passages, 2,
        "what may not be read counts for nothing"
    );
    let seen_by_all = candidates(&*store, &filter(), &["cat"], None, 10);
    assert_eq!(ids(&seen_by_all), ["cat", "hidden"]);
    // Three passages, two with the word, mean length 3.
    let idf = (1.0_f32 + 1.5 / 2.5).ln();
    near(
        seen_by_all.hits[0].bm25,
        idf * 1.9 / (1.0 + 0.9 * (0.6 + 0.4 / 3.0)),
    );
    near(
        seen_by_all.hits[1].bm25,
        idf * 3.0 * 1.9 / (3.0 + 0.9 * (0.6 + 0.4 * 7.0 / 3.0)),
    );
}

pub(super) fn meaning_is_scored_by_cosine_of_the_same_model(make: MakeStore<'_>) {
    let store = make();
    add(
        &*store,
        "east",
        vec![
            with_vector(passage("x"), &[-127, 0]),
            with_vector(passage("x"), &[127, 0]),
        ],
    );
    add(&*store, "north", vec![with_vector(passage("x"), &[0, 127])]);
    add(&*store, "unread", vec![passage("x")]);
    let foreign = Passage {
        vector: Some(vector("foreign", &[127, 0])),
        ..passage("x")
    };
    add(&*store, "foreign", vec![foreign]);
    let found = candidates(&*store, &filter(), &[], Some(&[0.6, 0.8]), 10);
    assert_eq!(ids(&found), ["east", "north"]);
    near(found.hits[0].cosine.expect("it has a vector"), 0.6);
    near(found.hits[1].cosine.expect("it has a vector"), 0.8);
    assert_eq!(found.hits[0].passage, 1);
    assert_eq!((found.passages, found.passages_without_vector), (5, 2));
    let by_both = candidates(&*store, &filter(), &["x"], Some(&[0.6, 0.8]), 10);
    assert_eq!(ids(&by_both), ["east", "foreign", "north", "unread"]);
    assert_eq!(by_both.hits[1].cosine, None);
    assert_eq!(by_both.hits[3].cosine, None);
    assert!(by_both.hits.iter().all(|hit| hit.bm25 > 0.0));
}

pub(super) fn both_halves_are_united_and_limited(make: MakeStore<'_>) {
    let store = make();
    add(
        &*store,
        "a-wordy",
        vec![with_vector(passage("cat"), &[-127, 0])],
    );
    add(
        &*store,
        "b-wordy",
        vec![with_vector(passage("cat dog dog dog dog dog"), &[-100, 0])],
    );
    add(
        &*store,
        "c-near",
        vec![with_vector(passage("dog"), &[127, 0])],
    );
    add(
        &*store,
        "d-near",
        vec![with_vector(passage("dog"), &[100, 0])],
    );
    let found = candidates(&*store, &filter(), &["cat"], Some(&[1.0, 0.0]), 1);
    assert_eq!(ids(&found), ["a-wordy", "c-near"]);
    near(found.hits[0].cosine.expect("both scores are given"), -1.0);
    near(found.hits[1].bm25, 0.0);
    assert_eq!(found.passages, 4);
    let none = candidates(&*store, &filter(), &["cat"], Some(&[1.0, 0.0]), 0);
    assert_eq!(ids(&none), Vec::<String>::new());
    let all = candidates(&*store, &filter(), &["cat"], Some(&[1.0, 0.0]), usize::MAX);
    assert_eq!(all.hits.len(), 4);
}

pub(super) fn ties_break_by_id_and_by_position(make: MakeStore<'_>) {
    let store = make();
    let passages = || {
        vec![
            with_vector(passage("tree"), &[0, 127]),
            with_vector(passage("cat"), &[127, 0]),
            with_vector(passage("cat"), &[127, 0]),
        ]
    };
    for id in ["d", "b", "e", "a", "c"] {
        add(&*store, id, passages());
    }
    let by_words = candidates(&*store, &filter(), &["cat"], None, 3);
    assert_eq!(ids(&by_words), ["a", "b", "c"]);
    assert!(by_words.hits.iter().all(|hit| hit.passage == 1));
    let by_meaning = candidates(&*store, &filter(), &[], Some(&[1.0, 0.0]), 3);
    assert_eq!(ids(&by_meaning), ["a", "b", "c"]);
    assert!(by_meaning.hits.iter().all(|hit| hit.passage == 1));
}

pub(super) fn a_query_of_nothing_finds_nothing(make: MakeStore<'_>) {
    let store = make();
    let found = candidates(&*store, &filter(), &["word"], Some(&[1.0, 0.0]), 10);
    assert_eq!(
        found,
        Candidates {
            bm25_bound: found.bm25_bound,
            ..Candidates::default()
        }
    );
    add(&*store, "a", vec![with_vector(passage("word"), &[127, 0])]);
    add(&*store, "b", Vec::new());
    let found = candidates(&*store, &filter(), &[], None, 10);
    assert_eq!(
        found,
        Candidates {
            passages: 1,
            ..Candidates::default()
        }
    );
    let other_length = candidates(&*store, &filter(), &["absent"], Some(&[1.0]), 10);
    let bm25_bound = other_length.bm25_bound;
    let expected = Candidates {
        bm25_bound,
        passages: 1,
        passages_without_vector: 1,
        ..Candidates::default()
    };
    assert_eq!(other_length, expected);
}

pub(super) fn every_write_is_found_by_the_next_search(make: MakeStore<'_>) {
    let store = make();
    for number in 0..50 {
        let id = format!("{number:02}");
        add(&*store, &id, vec![passage(&format!("all n{number}"))]);
        assert_eq!(search(&*store, &filter(), &[&format!("n{number}")]), [id]);
    }
    let changed = Memory {
        revision: 2,
        ..memory("07")
    };
    store
        .commit(replace(&changed, Some(vec![passage("all changed")])))
        .expect("the commit succeeds");
    assert_eq!(search(&*store, &filter(), &["n7"]), Vec::<String>::new());
    assert_eq!(search(&*store, &filter(), &["changed"]), ["07"]);
    store.commit(delete(&changed)).expect("the commit succeeds");
    assert_eq!(search(&*store, &filter(), &["all"]).len(), 49);
}

pub(super) fn vectors_come_back_whole_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let both = [&[1, -2][..], &[3, 127]].map(|values| with_vector(passage("x"), values));
    add(&*store, "read", both.to_vec());
    add(&*store, "half", vec![both[0].clone(), passage("x")]);
    add(&*store, "gone", both.to_vec());
    let filter = filter();
    store
        .soft_delete(&filter, Some(&MemoryId::new("gone")), NOW, 1)
        .expect("the memory is deleted");
    let of = |id: &str, model: &str| {
        store
            .vectors(&filter.space, &MemoryId::new(id), &ModelId::new(model))
            .expect("the store can be read")
    };
    assert_eq!(
        of("read", "test"),
        both.map(|passage| passage.vector.expect("it has one"))
    );
    for (id, model) in [
        ("read", "foreign"),
        ("half", "test"),
        ("gone", "test"),
        ("never", "test"),
    ] {
        assert_eq!(of(id, model), [], "{id} {model}");
    }
    let elsewhere = store.vectors(
        &space("other"),
        &MemoryId::new("read"),
        &ModelId::new("test"),
    );
    assert_eq!(elsewhere, Ok(Vec::new()));
}

pub(super) fn memories_without_a_vector_are_named(make: MakeStore<'_>) {
    let store = make();
    add(&*store, "read", vec![with_vector(passage("x"), &[1])]);
    add(
        &*store,
        "half",
        vec![with_vector(passage("x"), &[1]), passage("x"), passage("x")],
    );
    add(&*store, "unread", vec![passage("x")]);
    let foreign = Passage {
        vector: Some(vector("foreign", &[1])),
        ..passage("x")
    };
    add(&*store, "foreign", vec![foreign]);
    let named = |model: &str, limit| {
        let found = without_vector(
            &*store,
            &ModelId::new(model),
            FilingOrder::FirstFirst,
            limit,
        )
        .expect("the store can be read");
        let mut ids: Vec<_> = found.into_iter().map(|(_, id)| id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(named("test", 10), ["foreign", "half", "unread"]);
    assert_eq!(named("foreign", 10), ["half", "read", "unread"]);
    assert_eq!(named("unknown", 10), ["foreign", "half", "read", "unread"]);
    assert_eq!(named("test", 2).len(), 2);
}
