//! The contract of the context of candidates: neighbours in threads, and threads as a whole.

use loci_core::{
    CandidateQuery, Candidates, Filter, Memory, MemoryId, ModelId, OwnerFilter, QueryVector,
    Superseded, Thread, ThreadPosition, ThreadScore, Tier, Visibility,
};

use super::examples::{
    NOW, delete, filter, memory, message, passage, put, reader, replace, space, with_vector, words,
};
use super::searching::{ask, ids, near};
use super::{MakeStore, StoreAndTokens};

const NO_THREADS: &[ThreadScore] = &[];

fn store_as(store: &dyn StoreAndTokens, memory: &Memory, content: &str) {
    store
        .commit(put(memory, vec![passage(content)]))
        .expect("the commit succeeds");
}

fn with_context(
    store: &dyn StoreAndTokens,
    filter: &Filter,
    terms: &[&str],
    required: &[&str],
) -> Candidates {
    let (terms, required) = (words(terms), words(required));
    let query = CandidateQuery {
        terms: &terms,
        required: &required,
        ..CandidateQuery::of(filter, 100)
    };
    ask(
        store,
        &CandidateQuery {
            with_context: true,
            ..query
        },
    )
}

fn found(store: &dyn StoreAndTokens, filter: &Filter, term: &str) -> Vec<String> {
    ids(&with_context(store, filter, &[term], &[]))
}

fn named(id: &str, memory: Memory) -> Memory {
    Memory {
        id: MemoryId::new(id),
        ..memory
    }
}

fn in_thread(name: &str, memory: Memory) -> Memory {
    let thread = memory.thread.map(|thread| Thread {
        name: name.to_owned(),
        ..thread
    });
    Memory { thread, ..memory }
}

/// Returns the place of a hit.
fn place(found: &Candidates, id: &str) -> ThreadPosition {
    let hit = found
        .hits
        .iter()
        .find(|hit| hit.id.as_str() == id)
        .expect("it is found");
    hit.place_in_thread.expect("it has a place")
}

/// Returns the BM25 score of the thread of a hit.
fn thread_score(found: &Candidates, id: &str) -> f32 {
    found.threads[place(found, id).thread].bm25
}

/// Returns the BM25 score of one term.
fn part(idf: f32, count: f32, length: f32, mean_length: f32) -> f32 {
    idf * count * 1.9 / (count + 0.9 * (0.6 + 0.4 * length / mean_length))
}

pub(super) fn neighbours_come_along(make: MakeStore<'_>) {
    let store = make();
    for position in [
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        u64::MAX - 2,
        u64::MAX - 1,
        u64::MAX,
    ] {
        let passages = vec![with_vector(passage(&format!("n{position}")), &[127, 0])];
        store
            .commit(put(&message("ann", position), passages))
            .expect("the commit succeeds");
    }
    store_as(&*store, &memory("alone"), "n0");
    for (position, expected) in [
        (0, &[0, 1, 2][..]),
        (1, &[0, 1, 2, 3]),
        (5, &[3, 4, 5, 7]),
        (9, &[7, 8, 9]),
        (u64::MAX, &[u64::MAX - 2, u64::MAX - 1, u64::MAX]),
    ] {
        let found = with_context(&*store, &filter(), &[&format!("n{position}")], &[]);
        let hits = found.hits.iter().filter(|hit| hit.id.as_str() != "alone");
        let places: Vec<_> = hits.clone().map(|hit| hit.place_in_thread).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|position| ThreadPosition {
                thread: 0,
                position: *position,
            })
            .collect();
        assert_eq!(
            places,
            expected.iter().copied().map(Some).collect::<Vec<_>>()
        );
        assert_eq!(
            hits.filter(|hit| hit.bm25 > 0.0).count(),
            1,
            "a neighbour needs no word"
        );
        assert_eq!(found.threads.len(), 1);
    }
    let found = with_context(&*store, &filter(), &["n0"], &[]);
    assert_eq!(ids(&found), ["alone", "ann-0", "ann-1", "ann-2"]);
    assert_eq!(found.hits[0].place_in_thread, None);
    let (filter, terms, marks) = (filter(), words(&["n5", "n0"]), words(&["n4"]));
    let vector = QueryVector {
        model: ModelId::new("other"),
        values: vec![1.0, 0.0],
    };
    let query = CandidateQuery {
        terms: &terms,
        marks: &marks,
        ..CandidateQuery::of(&filter, 1)
    };
    let query = CandidateQuery {
        with_context: true,
        vector: Some(&vector),
        required: &terms[..1],
        ..query
    };
    let found = ask(&*store, &query);
    assert_eq!(
        ids(&found),
        ["ann-3", "ann-4", "ann-5", "ann-7"],
        "neighbours need no required term and count in no limit"
    );
    assert_eq!(
        found.hits.iter().map(|hit| hit.marks).collect::<Vec<_>>(),
        [0, 1, 0, 0]
    );
    assert!(found.hits.iter().all(|hit| hit.cosine.is_none()));
    let of_model = QueryVector {
        model: ModelId::new("test"),
        ..vector.clone()
    };
    let found = ask(
        &*store,
        &CandidateQuery {
            vector: Some(&of_model),
            ..query.clone()
        },
    );
    for hit in &found.hits {
        near(hit.cosine.expect("both scores are given"), 1.0);
    }
    let nothing = ask(
        &*store,
        &CandidateQuery {
            limit: 0,
            ..query.clone()
        },
    );
    assert_eq!((ids(&nothing), &*nothing.threads), (Vec::new(), NO_THREADS));
    let without = ask(
        &*store,
        &CandidateQuery {
            with_context: false,
            ..query
        },
    );
    assert_eq!(
        (ids(&without), &*without.threads),
        (vec!["ann-5".to_owned()], NO_THREADS)
    );
    assert_eq!(without.hits[0].place_in_thread, None);
}

pub(super) fn a_thread_is_one_owners_in_one_space(make: MakeStore<'_>) {
    let store = make();
    let nobodys = |position| Memory {
        owner: None,
        visibility: Visibility::Common,
        ..message("ann", position)
    };
    let all = [
        message("ann", 0),
        message("ann", 1),
        message("bob", 0),
        message("bob", 1),
        in_thread("another talk", named("chat-0", message("ann", 0))),
        in_thread("another talk", named("chat-1", message("ann", 1))),
        named("nobody-1", nobodys(1)),
        Memory {
            tier: Tier::LongTerm,
            ..named("nobody-2", nobodys(2))
        },
    ];
    for memory in &all {
        store_as(&*store, memory, &format!("word {}", memory.id));
    }
    for position in [0, 1] {
        let elsewhere = Memory {
            space: space("other"),
            ..message("ann", position)
        };
        store_as(&*store, &elsewhere, &format!("word {}", elsewhere.id));
    }
    let pairs: Vec<_> = all
        .chunks(2)
        .map(|pair| [pair[0].id.to_string(), pair[1].id.to_string()])
        .collect();
    for pair in &pairs {
        assert_eq!(found(&*store, &filter(), &pair[0]), *pair);
    }
    let elsewhere = Filter {
        space: space("other"),
        ..filter()
    };
    assert_eq!(found(&*store, &elsewhere, "ann-0"), ["ann-0", "ann-1"]);
    let found = with_context(&*store, &filter(), &["word", "ann-0"], &[]);
    assert_eq!((found.hits.len(), found.threads.len()), (8, 4));
    let mut numbers: Vec<_> = pairs
        .iter()
        .map(|pair| place(&found, &pair[0]).thread)
        .collect();
    assert_eq!(
        numbers,
        pairs
            .iter()
            .map(|pair| place(&found, &pair[1]).thread)
            .collect::<Vec<_>>()
    );
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
    // One of eight passages contains `ann-0`, and its thread, of the mean length, scores for it.
    let idf = (1.0_f32 + 7.5 / 1.5).ln();
    near(
        thread_score(&found, "ann-1") - thread_score(&found, "bob-1"),
        part(idf, 1.0, 4.0, 4.0),
    );
}

pub(super) fn what_the_filter_leaves_out_never_comes_along(make: MakeStore<'_>) {
    let store = make();
    let shared = |position| Memory {
        visibility: Visibility::Shared,
        ..message("ann", position)
    };
    let later = NOW.plus_seconds(1);
    for memory in [
        message("ann", 0),
        Memory {
            tags: words(&["red"]),
            ..shared(1)
        },
        Memory {
            tags: words(&["red"]),
            ..shared(2)
        },
        Memory {
            expires_at: Some(later),
            ..shared(3)
        },
        Memory {
            tier: Tier::Unlisted,
            ..shared(4)
        },
    ] {
        store_as(&*store, &memory, &format!("at-{}", memory.id));
    }
    let heir = Memory {
        supersedes: Some(MemoryId::new("ann-1")),
        visibility: Visibility::Shared,
        ..memory("heir")
    };
    store_as(&*store, &heir, "heir");
    let of = |subject: &str| Filter {
        reader: reader(Some(subject)),
        ..filter()
    };
    for (filter, expected) in [
        (filter(), &[0, 1, 2, 3, 4][..]),
        (of("ann"), &[0, 1, 2, 3, 4]),
        (of("bob"), &[1, 2, 3, 4]),
        (
            Filter {
                live_at: later,
                ..filter()
            },
            &[0, 1, 2, 4],
        ),
        (
            Filter {
                superseded: Superseded::Hide,
                ..filter()
            },
            &[0, 2, 3, 4],
        ),
        (
            Filter {
                tiers: Tier::OF_CONVERSATIONS.to_vec(),
                ..filter()
            },
            &[0, 1, 2, 3],
        ),
        (
            Filter {
                tiers: vec![Tier::Unlisted, Tier::ShortTerm],
                ..of("bob")
            },
            &[1, 2, 3, 4],
        ),
        (
            Filter {
                tags: words(&["red"]),
                ..filter()
            },
            &[1, 2],
        ),
        (
            Filter {
                owner: OwnerFilter::of(Some("ann")),
                ..of("bob")
            },
            &[1, 2, 3, 4],
        ),
    ] {
        let found = with_context(&*store, &filter, &["at-ann-2", "at-ann-0"], &["at-ann-2"]);
        let expected: Vec<_> = expected
            .iter()
            .map(|position| format!("ann-{position}"))
            .collect();
        assert_eq!(ids(&found), expected, "{filter:?}");
        let admitted = with_context(&*store, &filter, &["at-ann-0"], &[])
            .hits
            .len();
        let passages = found.passages as f32;
        let idf = |containing: f32| (1.0 + (passages - containing + 0.5) / (containing + 0.5)).ln();
        // The only thread has the mean length; each word occurs once, in an admitted memory.
        let first = if admitted > 0 {
            part(idf(1.0), 1.0, 1.0, 1.0)
        } else {
            0.0
        };
        near(
            thread_score(&found, "ann-2"),
            part(idf(1.0), 1.0, 1.0, 1.0) + first,
        );
    }
    assert_eq!(
        store.soft_delete(&filter(), Some(&MemoryId::new("ann-3")), NOW, 1),
        Ok(1)
    );
    assert_eq!(
        found(&*store, &of("bob"), "at-ann-2"),
        ["ann-1", "ann-2", "ann-4"]
    );
}

pub(super) fn a_thread_is_scored_as_one_text(make: MakeStore<'_>) {
    let store = make();
    store_as(&*store, &message("ann", 0), "first cat");
    let two = vec![passage("cat tree"), passage("cat cat fish")];
    store
        .commit(put(&message("ann", 90), two))
        .expect("the commit succeeds");
    store_as(&*store, &message("bob", 0), "first");
    store_as(&*store, &message("bob", 3), "dog dog");
    store_as(
        &*store,
        &message("carl", 0),
        "cat dog dog dog dog dog dog dog dog",
    );
    store_as(&*store, &memory("alone"), "first");
    let found = with_context(&*store, &filter(), &["cat", "first"], &["first"]);
    assert_eq!(ids(&found), ["alone", "ann-0", "bob-0"]);
    assert_eq!((found.threads.len(), found.passages), (2, 7));
    // Of seven passages four have `cat` and three `first`. The threads of the hits have 7 and 3
    // words.
    let (cat, first) = ((1.0_f32 + 3.5 / 4.5).ln(), (1.0_f32 + 4.5 / 3.5).ln());
    near(
        thread_score(&found, "ann-0"),
        part(cat, 4.0, 7.0, 5.0) + part(first, 1.0, 7.0, 5.0),
    );
    near(thread_score(&found, "bob-0"), part(first, 1.0, 3.0, 5.0));
    let by_ann = Filter {
        owner: OwnerFilter::of(Some("ann")),
        ..filter()
    };
    let found = with_context(&*store, &by_ann, &["first", "absent"], &[]);
    // Three passages, one with the word; the only thread has the mean length.
    near(
        found.threads[0].bm25,
        part((1.0_f32 + 2.5 / 1.5).ln(), 1.0, 7.0, 7.0),
    );
    assert_eq!(found.threads.len(), 1);
    let vectored = vec![with_vector(passage("x"), &[127, 0])];
    store
        .commit(put(&message("dora", 0), vectored))
        .expect("the commit succeeds");
    let vector = QueryVector {
        model: ModelId::new("test"),
        values: vec![1.0, 0.0],
    };
    let filter = filter();
    let query = CandidateQuery {
        vector: Some(&vector),
        with_context: true,
        ..CandidateQuery::of(&filter, 9)
    };
    assert_eq!(
        ask(&*store, &query).threads,
        [ThreadScore {
            bm25: 0.0,
            members: 1
        }],
        "no words, no score"
    );
}

pub(super) fn a_position_counts_once_in_its_thread(make: MakeStore<'_>) {
    let store = make();
    let copy = Memory {
        tier: Tier::LongTerm,
        ..message("ann", 0)
    };
    let first = Memory {
        tags: words(&["red"]),
        ..named("a", copy.clone())
    };
    store_as(&*store, &message("ann", 0), "cat cat dog");
    store_as(&*store, &named("z", copy), "cat cat cat cat dog");
    store_as(&*store, &first, "cat dog");
    store_as(&*store, &message("ann", 2), "tree");
    let score = |filter: &Filter, expected_ids: &[&str]| {
        let found = with_context(&*store, filter, &["tree", "cat"], &["tree"]);
        assert_eq!(ids(&found), expected_ids, "all of a position come along");
        assert_eq!(found.threads.len(), 1);
        assert_eq!(found.threads[0].members, 2, "a position counts once");
        found.threads[0].bm25
    };
    // The only thread has the mean length, regardless of its length.
    let expected = |passages: f32, counts: f32| {
        let idf = |containing: f32| (1.0 + (passages - containing + 0.5) / (containing + 0.5)).ln();
        part(idf(passages - 1.0), counts, 1.0, 1.0) + part(idf(1.0), 1.0, 1.0, 1.0)
    };
    near(
        score(&filter(), &["a", "ann-0", "ann-2", "z"]),
        expected(4.0, 1.0),
    );
    let short = Filter {
        tiers: vec![Tier::ShortTerm],
        ..filter()
    };
    near(score(&short, &["ann-0", "ann-2"]), expected(2.0, 2.0));
    store.commit(delete(&first)).expect("the commit succeeds");
    near(
        score(&filter(), &["ann-0", "ann-2", "z"]),
        expected(3.0, 2.0),
    );
    store
        .commit(delete(&message("ann", 0)))
        .expect("the commit succeeds");
    near(score(&filter(), &["ann-2", "z"]), expected(2.0, 4.0));
}

pub(super) fn threads_follow_every_write(make: MakeStore<'_>) {
    let store = make();
    let fact = |owner: &str, position| {
        let message = message(owner, position);
        Memory {
            tier: Tier::LongTerm,
            visibility: Visibility::Common,
            ..message
        }
    };
    for memory in [
        fact("ann", 0),
        fact("ann", 1),
        fact("bob", 2),
        fact("bob", 9),
    ] {
        store_as(&*store, &memory, memory.id.as_str());
    }
    let near_first = || found(&*store, &filter(), "ann-0");
    assert_eq!(near_first(), ["ann-0", "ann-1"]);
    let moved = Memory {
        id: MemoryId::new("ann-1"),
        revision: 2,
        ..fact("ann", 3)
    };
    store
        .commit(replace(&moved, None))
        .expect("the commit succeeds");
    assert_eq!(near_first(), ["ann-0"]);
    let back = Memory {
        id: MemoryId::new("ann-1"),
        revision: 3,
        ..in_thread("another talk", fact("ann", 2))
    };
    store
        .commit(replace(&back, None))
        .expect("the commit succeeds");
    assert_eq!(near_first(), ["ann-0"]);
    let back = Memory {
        revision: 4,
        ..in_thread("talk", back)
    };
    store
        .commit(replace(&back, Some(vec![passage("changed")])))
        .expect("the commit succeeds");
    assert_eq!(near_first(), ["ann-0", "ann-1"]);
    assert_eq!(
        place(&with_context(&*store, &filter(), &["ann-0"], &[]), "ann-1").position,
        2
    );
    for owner in ["ann", "bob"] {
        store
            .wipe(&memory("any").space, owner, None, None, NOW)
            .expect("the wipe succeeds");
    }
    assert_eq!(
        near_first(),
        ["ann-0", "ann-1", "bob-2"],
        "what is nobody's shares a thread"
    );
    store
        .commit(delete(&Memory {
            revision: 5,
            ..back
        }))
        .expect("the commit succeeds");
    assert_eq!(near_first(), ["ann-0", "bob-2"]);
    let gone = Memory {
        thread: None,
        owner: None,
        revision: 3,
        ..fact("bob", 2)
    };
    store
        .commit(replace(&gone, None))
        .expect("the commit succeeds");
    assert_eq!(near_first(), ["ann-0"]);
}
