//! The contract of vectors of several models, while one model replaces another.

use loci_core::{
    CandidateQuery, FilingOrder, Memory, MemoryId, ModelId, Passage, QueryVector, Vector,
};

use super::examples::{
    NOW, delete, embed, filter, memory, passage, private, put, replace, sweep_of_expired, vector,
    with_vector,
};
use super::partitions::{retire_model, version_now, without_vector};
use super::searching::{add, ask};
use super::sweeping::sweep_all;
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};

fn model(name: &str) -> ModelId {
    ModelId::new(name)
}

fn models(store: &dyn StoreAndTokens) -> Vec<(String, u64)> {
    let models = store.models().expect("the store can be read");
    models
        .into_iter()
        .map(|(model, passages)| (model.to_string(), passages))
        .collect()
}

fn counts(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts
        .iter()
        .map(|(model, passages)| ((*model).to_owned(), *passages))
        .collect()
}

fn vectors(store: &dyn StoreAndTokens, id: &str, name: &str) -> Vec<Vector> {
    store
        .vectors(&filter().space, &MemoryId::new(id), &model(name))
        .expect("the store can be read")
}

/// Returns the matches of a vector of this model: ids with their cosines in hundredths, in the
/// order of ids, and the number of passages without a vector.
fn nearest(store: &dyn StoreAndTokens, name: &str, values: &[f32]) -> (Vec<(String, i32)>, usize) {
    let vector = QueryVector {
        model: model(name),
        values: values.to_vec(),
    };
    let filter = filter();
    let found = ask(
        store,
        &CandidateQuery {
            vector: Some(&vector),
            ..CandidateQuery::of(&filter, 100)
        },
    );
    let hundredths = |cosine: f32| (cosine * 100.0).round() as i32;
    let hits = found
        .hits
        .iter()
        .filter_map(|hit| Some((hit.id.to_string(), hundredths(hit.cosine?))));
    (hits.collect(), found.passages_without_vector)
}

fn hit(id: &str, hundredths: i32) -> (String, i32) {
    (id.to_owned(), hundredths)
}

fn retire(store: &dyn StoreAndTokens, name: &str, limit: usize) -> usize {
    retire_model(store, &model(name), limit).expect("the store can be written")
}

fn pending(store: &dyn StoreAndTokens, name: &str) -> usize {
    store
        .pending_embeddings(&model(name), usize::MAX)
        .expect("the store can be read")
}

/// Adds a memory of two passages with vectors of the model `test`.
fn read(store: &dyn StoreAndTokens, id: &str) -> Memory {
    add(
        store,
        id,
        vec![
            with_vector(passage("x"), &[127, 0]),
            with_vector(passage("y"), &[0, 127]),
        ],
    );
    memory(id)
}

pub(super) fn vectors_of_several_models_stand_beside_each_other(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(models(&*store), []);
    let both = read(&*store, "both");
    read(&*store, "one");
    assert_eq!(
        nearest(&*store, "test", &[1.0, 0.0]),
        (vec![hit("both", 100), hit("one", 100)], 0)
    );
    assert_eq!(
        (pending(&*store, "test"), pending(&*store, "other")),
        (0, 2)
    );

    // Vectors with other dimensions and another order of similarity.
    let others = vec![vector("other", &[0, 0, 127]), vector("other", &[0, 127, 0])];
    commit(&*store, embed(&both, others.clone()));
    assert_eq!(models(&*store), counts(&[("test", 4), ("other", 2)]));
    assert_eq!(
        (pending(&*store, "test"), pending(&*store, "other")),
        (0, 1)
    );
    assert_eq!(
        without_vector(&*store, &model("other"), FilingOrder::FirstFirst, 9).map(|rows| rows.len()),
        Ok(1)
    );
    assert_eq!(
        vectors(&*store, "both", "test"),
        [vector("test", &[127, 0]), vector("test", &[0, 127])]
    );
    assert_eq!(vectors(&*store, "both", "other"), others);
    assert_eq!(vectors(&*store, "one", "other"), []);
    assert_eq!(
        nearest(&*store, "test", &[1.0, 0.0]),
        (vec![hit("both", 100), hit("one", 100)], 0)
    );
    assert_eq!(
        nearest(&*store, "other", &[0.0, 0.6, 0.8]),
        (vec![hit("both", 80)], 2)
    );

    // Each model replaces only its own vectors, regardless of the order.
    commit(
        &*store,
        embed(
            &both,
            vec![vector("test", &[0, 127]), vector("test", &[0, 127])],
        ),
    );
    commit(
        &*store,
        embed(
            &both,
            vec![vector("third", &[127]), vector("other", &[127, 0, 0])],
        ),
    );
    assert_eq!(
        models(&*store),
        counts(&[("test", 4), ("other", 2), ("third", 1)])
    );
    assert_eq!(
        nearest(&*store, "test", &[1.0, 0.0]),
        (vec![hit("both", 0), hit("one", 100)], 0)
    );
    assert_eq!(
        nearest(&*store, "other", &[0.6, 0.0, 0.8]),
        (vec![hit("both", 80)], 2)
    );
    assert_eq!(
        vectors(&*store, "both", "third"),
        [],
        "a passage has none of it"
    );
    assert_eq!(pending(&*store, "third"), 2);
    refused(&*store, embed(&both, vec![vector("other", &[127, 0, 0])]));
}

pub(super) fn what_waits_for_a_model_comes_in_the_order_of_filing(make: MakeStore<'_>) {
    let store = make();
    read(&*store, "read first");
    for id in ["b", "a"] {
        add(&*store, id, vec![passage("x"), passage("y")]);
    }
    read(&*store, "read last");
    add(
        &*store,
        "c",
        vec![with_vector(passage("x"), &[127, 0]), passage("y")],
    );
    let named = |name: &str, order, limit| {
        let found =
            without_vector(&*store, &model(name), order, limit).expect("the store can be read");
        found
            .into_iter()
            .map(|(_, id)| id.to_string())
            .collect::<Vec<_>>()
    };
    let (first, last) = (FilingOrder::FirstFirst, FilingOrder::LastFirst);
    assert_eq!(named("test", first, 9), ["b", "a", "c"]);
    assert_eq!(named("test", last, 9), ["c", "a", "b"]);
    assert_eq!(named("test", last, 2), ["c", "a"]);
    // A text that no model has embedded comes before one that another model has.
    assert_eq!(
        named("other", first, 9),
        ["b", "a", "c", "read first", "read last"]
    );
    assert_eq!(named("other", last, 4), ["c", "a", "b", "read last"]);
    assert_eq!(named("other", last, 0), Vec::<String>::new());
}

pub(super) fn new_passages_have_no_vectors_of_the_old(make: MakeStore<'_>) {
    let store = make();
    let first = read(&*store, "a");
    commit(
        &*store,
        embed(
            &first,
            vec![vector("other", &[127]), vector("other", &[127])],
        ),
    );
    // A change of other fields changes neither the passages nor their vectors.
    let moved = Memory {
        revision: 2,
        kind: "moved".to_owned(),
        ..first
    };
    commit(&*store, replace(&moved, None));
    assert_eq!(models(&*store), counts(&[("other", 2), ("test", 2)]));
    let changed = Memory {
        revision: 3,
        content: "new".to_owned(),
        ..moved
    };
    let passages = vec![with_vector(passage("new"), &[127, 0]), passage("text")];
    commit(&*store, replace(&changed, Some(passages)));
    assert_eq!(models(&*store), counts(&[("test", 1)]));
    assert_eq!(
        (pending(&*store, "test"), pending(&*store, "other")),
        (1, 1)
    );
    assert_eq!(nearest(&*store, "other", &[1.0]), (Vec::new(), 2));
}

pub(super) fn a_model_is_retired_in_steps(make: MakeStore<'_>) {
    let store = make();
    for id in ["a", "b", "c"] {
        let both = read(&*store, id);
        commit(
            &*store,
            embed(&both, vec![vector("other", &[127]), vector("other", &[0])]),
        );
    }
    read(&*store, "d");
    assert_eq!(
        (retire(&*store, "unknown", 9), retire(&*store, "test", 0)),
        (0, 0)
    );
    let before = version_now(&*store);
    assert_eq!(retire(&*store, "test", 3), 3);
    assert!(version_now(&*store) > before);
    assert_eq!(models(&*store), counts(&[("other", 6), ("test", 5)]));
    assert_eq!(
        nearest(&*store, "other", &[1.0]).0.len(),
        3,
        "another one's stay"
    );
    assert_eq!(retire(&*store, "test", 100), 5);
    assert_eq!(retire(&*store, "test", 100), 0);
    assert_eq!(models(&*store), counts(&[("other", 6)]));
    assert_eq!(
        (pending(&*store, "test"), pending(&*store, "other")),
        (4, 1)
    );
    assert_eq!(nearest(&*store, "test", &[1.0, 0.0]), (Vec::new(), 8));
    assert_eq!(
        nearest(&*store, "other", &[1.0]),
        (vec![hit("a", 100), hit("b", 100), hit("c", 100)], 2)
    );
    assert_eq!(
        vectors(&*store, "a", "other"),
        [vector("other", &[127]), vector("other", &[0])]
    );
    // The model may be used again.
    commit(
        &*store,
        embed(
            &memory("d"),
            vec![vector("test", &[127, 0]), vector("test", &[0, 127])],
        ),
    );
    assert_eq!(
        nearest(&*store, "test", &[1.0, 0.0]),
        (vec![hit("d", 100)], 6)
    );
}

pub(super) fn other_dimensions_of_a_model_are_seen(make: MakeStore<'_>) {
    let store = make();
    let own = store.partition_of(&memory("a").space);
    let has_other = |name, dimensions| {
        store
            .has_other_dimensions(&own, &model(name), dimensions)
            .expect("the store can be read")
    };
    assert!(!has_other("test", 3));
    let both = read(&*store, "a");
    assert_eq!(
        [1, 2, 3].map(|dimensions| has_other("test", dimensions)),
        [true, false, true]
    );
    assert!(!has_other("other", 1));
    // Vectors of other models do not count.
    commit(
        &*store,
        embed(
            &both,
            vec![vector("other", &[127]), vector("other", &[127])],
        ),
    );
    assert_eq!((has_other("test", 2), has_other("test", 1)), (false, true));
    assert_eq!(
        (has_other("other", 1), has_other("other", 2)),
        (false, true)
    );
    // Vectors of different dimensions are not compared with each other.
    let second = read(&*store, "b");
    commit(
        &*store,
        embed(
            &second,
            vec![vector("test", &[127, 0, 0]), vector("test", &[0, 127, 0])],
        ),
    );
    assert_eq!(
        [1, 2, 3].map(|dimensions| has_other("test", dimensions)),
        [true; 3]
    );
    assert_eq!(
        nearest(&*store, "test", &[1.0, 0.0]),
        (vec![hit("a", 100)], 2)
    );
}

/// The same, regardless of which model came first.
pub(super) fn retiring_the_newer_model_leaves_the_older(make: MakeStore<'_>) {
    let store = make();
    let both = read(&*store, "a");
    commit(
        &*store,
        embed(
            &both,
            vec![vector("other", &[127]), vector("other", &[127])],
        ),
    );
    commit(
        &*store,
        embed(&both, vec![vector("third", &[127]), vector("third", &[0])]),
    );
    for (retired, left) in [
        ("third", &[("other", 2), ("test", 2)][..]),
        ("other", &[("test", 2)]),
    ] {
        assert_eq!(retire(&*store, retired, 100), 2);
        assert_eq!(models(&*store), counts(left));
        assert_eq!(
            nearest(&*store, "test", &[1.0, 0.0]),
            (vec![hit("a", 100)], 0)
        );
        assert_eq!(
            vectors(&*store, "a", "test"),
            [vector("test", &[127, 0]), vector("test", &[0, 127])]
        );
    }
}

pub(super) fn what_is_removed_takes_the_vectors_of_all_models(make: MakeStore<'_>) {
    let store = make();
    let large = |passages| {
        (0..passages)
            .map(|_| with_vector(passage("x"), &[127]))
            .collect::<Vec<Passage>>()
    };
    let read_by_both = |memory: &Memory, passages| {
        commit(&*store, put(memory, large(passages)));
        commit(
            &*store,
            embed(memory, vec![vector("other", &[127]); passages]),
        );
    };
    let [deleted, wiped] = [memory("deleted"), private("ann", memory("wiped"))];
    let swept = Memory {
        expires_at: Some(NOW),
        ..memory("swept")
    };
    let softly = memory("softly");
    // More vectors than a sweep removes at once.
    for (memory, passages) in [(&deleted, 2), (&wiped, 2), (&swept, 150), (&softly, 2)] {
        read_by_both(memory, passages);
    }
    let mut left = 156;
    let mut loses = |passages: u64, what: &str| {
        left -= passages;
        assert_eq!(
            models(&*store),
            counts(&[("other", left), ("test", left)]),
            "{what}"
        );
    };
    store.commit(delete(&deleted)).expect("the commit succeeds");
    loses(2, "deleted");
    store
        .wipe(&wiped.space, "ann", None, None, NOW)
        .expect("the data is wiped");
    loses(2, "wiped");
    sweep_all(&*store, &sweep_of_expired(NOW));
    loses(150, "swept");
    // A soft-deleted memory keeps its vectors until it is removed permanently, and needs no others.
    store
        .soft_delete(&filter(), Some(&softly.id), NOW, 1)
        .expect("the memory is deleted");
    loses(0, "softly deleted");
    assert_eq!(
        (pending(&*store, "third"), nearest(&*store, "test", &[1.0])),
        (0, (Vec::new(), 0))
    );
    assert_eq!(
        (retire(&*store, "other", 9), retire(&*store, "test", 9)),
        (2, 2)
    );
}

pub(super) fn passages_have_their_ranges(make: MakeStore<'_>) {
    let store = make();
    let passages = [0..3, 2..7].map(|range| Passage {
        range,
        ..passage("x")
    });
    store
        .commit(put(&memory("two"), passages.to_vec()))
        .expect("the commit succeeds");
    add(&*store, "one", vec![passage("x")]);
    let space = filter().space;
    let range = |id: &str, passage| {
        store
            .passage_range(&space, &MemoryId::new(id), passage)
            .expect("the store can be read")
    };
    assert_eq!(
        [range("two", 0), range("two", 1), range("two", 2)],
        [Some(0..3), Some(2..7), None]
    );
    // A large number never reaches a passage of another memory.
    assert_eq!(
        [
            range("two", 1 << 20),
            range("two", u32::MAX),
            range("three", 0)
        ],
        [None, None, None]
    );
    store
        .commit(delete(&memory("two")))
        .expect("the commit succeeds");
    assert_eq!(range("two", 0), None);
}
