//! The contract of the cache of answers.

use loci_core::{
    Batch, CacheEntry, Change, ErrorCode, ModelId, QueryVector, Record, Space, Timestamp, Vector,
};

use super::examples::{NOW, cache_entry, memory, space, vector};
use super::reading::id;
use super::{MakeStore, StoreAndTokens};

fn add(store: &dyn StoreAndTokens, entry: &CacheEntry) {
    store.put_cache_entry(entry, 0).expect("the entry is added");
}

fn with_vector(values: &[i8], entry: CacheEntry) -> CacheEntry {
    CacheEntry {
        vector: Some(vector("test", values)),
        ..entry
    }
}

fn query_vector(values: &[f32]) -> QueryVector {
    QueryVector {
        model: ModelId::new("test"),
        values: values.to_vec(),
    }
}

/// Returns ann's nearest entry at that time.
fn nearest_at(
    store: &dyn StoreAndTokens,
    query: &str,
    vector: Option<&[f32]>,
    now: Timestamp,
) -> Option<(CacheEntry, f32)> {
    let vector = vector.map(query_vector);
    let space = memory("a").space;
    let found = store.nearest_cache_entries(&space, "ann", query, vector.as_ref(), now, 1);
    found.expect("the store can be read").pop()
}

/// Returns the id of ann's nearest entry now.
fn nearest(store: &dyn StoreAndTokens, query: &str, vector: Option<&[f32]>) -> Option<String> {
    nearest_at(store, query, vector, NOW).map(|(entry, _)| entry.id.to_string())
}

pub(super) fn the_nearest_answer_is_found(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(nearest(&*store, "anything", Some(&[1.0, 0.0])), None);
    let east = with_vector(&[127, 0], cache_entry("ann", "east"));
    let unread = CacheEntry {
        query: "naïve 日本?".to_owned(),
        response: "\u{1} ü".to_owned(),
        ..cache_entry("ann", "u")
    };
    let foreign = Some(Vector {
        model: ModelId::new("foreign"),
        ..vector("test", &[76, 102])
    });
    add(&*store, &east);
    add(
        &*store,
        &with_vector(&[0, 127], cache_entry("ann", "north")),
    );
    add(
        &*store,
        &CacheEntry {
            vector: foreign,
            ..cache_entry("ann", "foreign")
        },
    );
    add(
        &*store,
        &with_vector(&[76, 102, 0], cache_entry("ann", "longer")),
    );
    add(&*store, &unread);
    let scored = |query: &str, vector: Option<&[f32]>| {
        let (entry, cosine) = nearest_at(&*store, query, vector, NOW).expect("there is one");
        (entry, (cosine * 1_000.0).round() as i32)
    };
    assert_eq!(scored("anything", Some(&[0.8, 0.6])), (east.clone(), 800));
    assert_eq!(
        scored("anything", Some(&[-0.8, -0.6])).1,
        -600,
        "even what is far may be the nearest"
    );
    assert_eq!(
        scored("naïve 日本?", None),
        (unread.clone(), 1_000),
        "the same words need no vector"
    );
    assert_eq!(
        scored("naïve 日本?", Some(&[1.0, 0.0])),
        (unread, 1_000),
        "nothing is nearer than the same words"
    );
    assert_eq!(scored(&east.query, Some(&[0.0, 1.0])), (east, 1_000));
    assert_eq!(nearest(&*store, "NAÏVE 日本?", None), None);
    assert_eq!(nearest(&*store, "anything", None), None);
    assert_eq!(nearest(&*store, "anything", Some(&[1.0])), None);
}

pub(super) fn equally_near_answers_come_newest_first(make: MakeStore<'_>) {
    let store = make();
    for (name, seconds) in [("d", 0), ("c", 2), ("a", 1), ("b", 2)] {
        let entry = CacheEntry {
            created_at: NOW.plus_seconds(seconds),
            ..cache_entry("ann", name)
        };
        let entry = with_vector(
            &[127, 0],
            CacheEntry {
                query: "same".to_owned(),
                ..entry
            },
        );
        // Only an import stores several entries for one question.
        let record = Box::new(Record::CacheEntry(Box::new(entry.clone())));
        let change = Change::Import {
            record,
            passages: Vec::new(),
            since: 0,
            now: NOW,
        };
        store
            .commit(Batch {
                space: entry.space,
                changes: vec![change],
            })
            .expect("the entry is added");
    }
    assert_eq!(nearest(&*store, "same", None), Some("b".to_owned()));
    assert_eq!(
        nearest(&*store, "other", Some(&[0.6, 0.8])),
        Some("b".to_owned())
    );
    let nearer = CacheEntry {
        created_at: NOW.plus_seconds(-9),
        ..cache_entry("ann", "nearer")
    };
    add(&*store, &with_vector(&[76, 102], nearer));
    assert_eq!(
        nearest(&*store, "other", Some(&[0.6, 0.8])),
        Some("nearer".to_owned())
    );
    let all = |query: &str, limit| {
        let (space, vector) = (memory("a").space, query_vector(&[0.6, 0.8]));
        let found = store.nearest_cache_entries(&space, "ann", query, Some(&vector), NOW, limit);
        found
            .expect("the store can be read")
            .into_iter()
            .map(|(entry, _)| entry.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(all("other", 9), ["nearer", "b", "c", "a", "d"]);
    assert_eq!(all("same", 9), ["b", "c", "a", "d", "nearer"]);
    assert_eq!(all("other", 2), ["nearer", "b"]);
    assert_eq!(all("other", 0), [""; 0]);
}

pub(super) fn an_answer_is_for_its_owner_alone_until_it_expires(make: MakeStore<'_>) {
    let store = make();
    let expires_at = NOW.plus_seconds(5);
    let entry = |owner: &str, name: &str| {
        let query = "the same question".to_owned();
        with_vector(
            &[127, 0],
            CacheEntry {
                expires_at,
                query,
                ..cache_entry(owner, name)
            },
        )
    };
    add(&*store, &entry("bob", "bobs"));
    add(
        &*store,
        &CacheEntry {
            space: space("other"),
            ..entry("ann", "elsewhere")
        },
    );
    assert_eq!(
        nearest(&*store, "the same question", Some(&[1.0, 0.0])),
        None
    );
    assert_eq!(
        store.cached_queries(&memory("a").space, "ann", NOW),
        Ok(Vec::new())
    );
    add(&*store, &entry("ann", "anns"));
    let at = |seconds| {
        nearest_at(
            &*store,
            "the same question",
            Some(&[1.0, 0.0]),
            NOW.plus_seconds(seconds),
        )
    };
    assert_eq!(at(4), Some((entry("ann", "anns"), 1.0)));
    assert_eq!(at(5), None);
    let named = |owner: &str, seconds| {
        let named = store.cached_queries(&memory("a").space, owner, NOW.plus_seconds(seconds));
        named.expect("the store can be read").len()
    };
    assert_eq!(
        (named("ann", 4), named("ann", 5), named("bob", 4)),
        (1, 0, 1)
    );
}

pub(super) fn an_answer_is_added_once(make: MakeStore<'_>) {
    let store = make();
    let first = CacheEntry {
        expires_at: NOW,
        ..cache_entry("ann", "a")
    };
    add(&*store, &first);
    for taken in [cache_entry("ann", "a"), cache_entry("bob", "a")] {
        assert_eq!(
            store
                .put_cache_entry(&taken, 0)
                .expect_err("it is taken")
                .code,
            ErrorCode::Conflict
        );
    }
    assert_eq!(
        nearest_at(&*store, &first.query, None, NOW.plus_seconds(-1)),
        Some((first, 1.0))
    );
    add(
        &*store,
        &CacheEntry {
            space: space("other"),
            ..cache_entry("ann", "a")
        },
    );
}

pub(super) fn an_answer_to_the_same_question_replaces_the_one_before(make: MakeStore<'_>) {
    let store = make();
    let asked = |owner: &str, name: &str, query: &str| CacheEntry {
        query: query.to_owned(),
        ..cache_entry(owner, name)
    };
    add(
        &*store,
        &CacheEntry {
            expires_at: NOW,
            ..asked("ann", "expired", "why?")
        },
    );
    let first = asked("ann", "a", "why?");
    let others = [
        asked("ann", "b", "why"),
        asked("ann", "c", "WHY?"),
        asked("bob", "d", "why?"),
    ];
    let elsewhere = CacheEntry {
        space: space("other"),
        ..asked("ann", "e", "why?")
    };
    for entry in [&first, &elsewhere].into_iter().chain(&others) {
        add(&*store, entry);
    }
    // A refused entry removes nothing.
    let taken = store
        .put_cache_entry(&asked("ann", "d", "why?"), 0)
        .expect_err("it is taken");
    assert_eq!(
        (taken.code, nearest(&*store, "why?", None)),
        (ErrorCode::Conflict, Some("a".to_owned()))
    );
    // The order of insertion decides, not the clock.
    let second = CacheEntry {
        created_at: NOW.plus_seconds(-9),
        response: "newer".to_owned(),
        ..asked("ann", "f", "why?")
    };
    add(&*store, &second);
    assert_eq!(nearest_at(&*store, "why?", None, NOW), Some((second, 1.0)));
    let named = |space: &Space, owner: &str| {
        let ever = Timestamp::MIN;
        let named = store
            .cached_queries(space, owner, ever)
            .expect("the store can be read");
        named
            .into_iter()
            .map(|(id, _)| id.to_string())
            .collect::<Vec<_>>()
    };
    let here = memory("a").space;
    assert_eq!(
        (named(&here, "ann"), named(&here, "bob")),
        (
            vec!["b".to_owned(), "c".to_owned(), "f".to_owned()],
            vec!["d".to_owned()]
        )
    );
    assert_eq!(named(&space("other"), "ann"), ["e"]);
}

pub(super) fn answers_are_named_and_deleted(make: MakeStore<'_>) {
    let store = make();
    let space = memory("a").space;
    for name in ["b", "d", "a", "c"] {
        add(&*store, &cache_entry("ann", name));
    }
    add(&*store, &cache_entry("bob", "bobs"));
    let expired = CacheEntry {
        expires_at: NOW,
        ..cache_entry("ann", "expired")
    };
    add(&*store, &expired);
    let named = |owner: &str| {
        let named = store
            .cached_queries(&space, owner, NOW)
            .expect("the store can be read");
        assert!(
            named
                .iter()
                .all(|(id, query)| *query == format!("the query of {id}"))
        );
        named
            .into_iter()
            .map(|(id, _)| id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(named("ann"), ["a", "b", "c", "d"]);
    let delete = |ids: &[&str]| {
        let ids: Vec<_> = ids.iter().map(|name| id(name)).collect();
        store
            .delete_cache_entries(&space, "ann", &ids)
            .expect("the store can be written")
    };
    assert_eq!(delete(&[]), 0);
    assert_eq!(delete(&["bobs", "missing", "a", "c", "expired"]), 3);
    assert_eq!(
        (named("ann"), named("bob")),
        (
            vec!["b".to_owned(), "d".to_owned()],
            vec!["bobs".to_owned()]
        )
    );
    assert_eq!(delete(&["a", "c", "expired"]), 0);
}

pub(super) fn many_large_answers_are_deleted(make: MakeStore<'_>) {
    const ENTRIES: usize = 40;
    let store = make();
    let mut ids = vec![id("missing")];
    for number in 0..ENTRIES {
        let entry = CacheEntry {
            response: "x".repeat(256 << 10),
            ..cache_entry("ann", &number.to_string())
        };
        add(&*store, &entry);
        ids.extend([entry.id.clone(), entry.id]);
    }
    add(&*store, &cache_entry("ann", "kept"));
    let space = memory("a").space;
    assert_eq!(
        store.delete_cache_entries(&space, "ann", &ids),
        Ok(ENTRIES as u64),
        "an id that is there twice counts once"
    );
    assert_eq!(
        store
            .cached_queries(&space, "ann", NOW)
            .map(|left| left.len()),
        Ok(1)
    );
}
