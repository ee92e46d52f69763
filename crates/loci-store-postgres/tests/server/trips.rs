//! The cost of calls in round trips, and calls whose connection is lost.

use std::sync::atomic::Ordering;
use std::thread;

use loci_core::{CandidateQuery, ErrorCode, Memory, Store, Thread, Tier};
use loci_store_postgres::PostgresStore;
use loci_testkit::contract::{filter, memory, passage, put, replace};
use loci_testkit::postgres::plain_server_url;

use crate::{Schemas, named, while_connections_are_cut};

#[test]
fn a_write_costs_two_round_trips_and_a_search_one() {
    let schemas = Schemas::default();
    for row_security in [false, true] {
        let mut options = schemas.options();
        options.url = plain_server_url();
        options.row_security = row_security;
        count_round_trips(&PostgresStore::open(options).unwrap());
    }
}

fn count_round_trips(store: &PostgresStore) {
    let trips = |work: &dyn Fn()| {
        let before = store.round_trips();
        work();
        store.round_trips() - before
    };
    let words = ["word".to_owned()];
    let search = || {
        let filter = filter();
        let query = CandidateQuery {
            terms: &words,
            ..CandidateQuery::of(&filter, 10)
        };
        store.candidates(&query).unwrap().hits.len()
    };
    store
        .commit(put(&memory("a"), vec![passage("word")]))
        .unwrap();
    assert_eq!(search(), 1, "the first one loads the index");

    let mut changed = memory("a");
    changed.revision += 1;
    assert_eq!(
        trips(&|| store
            .commit(put(&memory("b"), vec![passage("word")]))
            .unwrap()),
        2
    );
    assert_eq!(trips(&|| store.commit(replace(&changed, None)).unwrap()), 2);
    assert_eq!(search(), 2, "it brings the index up to date");
    assert_eq!(trips(&|| assert_eq!(search(), 2)), 1);
    let nearest = || {
        let filter = filter();
        let query = CandidateQuery {
            terms: &words,
            ..CandidateQuery::of(&filter, 10)
        };
        let nearest = store.nearest(&filter, &[query], 10).unwrap();
        nearest.memories.len()
    };
    assert_eq!(trips(&|| assert_eq!(nearest(), 2)), 1);
    store
        .commit(put(&memory("c"), vec![passage("word")]))
        .unwrap();
    assert_eq!(
        trips(&|| assert_eq!(nearest(), 3)),
        1,
        "the change comes with its text"
    );
    assert_eq!(
        trips(&|| drop(store.get_all(&filter(), &[memory("a").id]))),
        1
    );
    assert_eq!(trips(&|| drop(store.version(&memory("a").space))), 1);
}

#[test]
fn batches_that_wait_for_a_space_share_transactions() {
    const WRITERS: u64 = 8;
    const BATCHES: u64 = 20;
    let schemas = Schemas::default();
    let store = schemas.open();
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    let before = store.round_trips();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || {
                for batch in 0..BATCHES {
                    let id = format!("{writer} {batch}");
                    store.commit(put(&memory(&id), Vec::new())).unwrap();
                }
            });
        }
    });
    assert_eq!(store.size().unwrap().memories, WRITERS * BATCHES + 1);
    assert!(store.round_trips() - before < WRITERS * BATCHES * 2);
}

/// As from a backup: the numbers that the index has seen are given again.
#[test]
fn a_server_that_went_back_in_time_is_searched_as_it_is() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    let words = ["word".to_owned()];
    let found = || {
        let filter = filter();
        let query = CandidateQuery {
            terms: &words,
            ..CandidateQuery::of(&filter, 10)
        };
        let hits = store.candidates(&query).unwrap().hits;
        let mut ids: Vec<_> = hits.into_iter().map(|hit| hit.id.to_string()).collect();
        ids.sort_unstable();
        ids
    };
    let put_word = |id: &str| {
        store
            .commit(put(&memory(id), vec![passage("word")]))
            .unwrap();
    };
    put_word("kept");
    put_word("lost");
    assert_eq!(found(), ["kept", "lost"]);
    let back = "DELETE FROM @change WHERE number = 2; DELETE FROM @passage WHERE memory = 2; \
        DELETE FROM @memory WHERE row = 2; UPDATE @space SET version = 1, rows = 1 WHERE space = 'main'";
    crate::run_sql(&options, back);
    assert_eq!(found(), ["kept"]);
    put_word("new");
    assert_eq!(found(), ["kept", "new"]);
    // This time the new one comes before a search looks.
    crate::run_sql(&options, back);
    put_word("newer");
    assert_eq!(found(), ["kept", "newer"]);
}

/// Each writer has a store of its own, as a process has, and the space is not there yet.
#[test]
fn the_first_writers_of_a_space_wait_for_each_other() {
    const WRITERS: u64 = 6;
    let schemas = Schemas::default();
    let options = schemas.options();
    let open = || PostgresStore::open(options.clone()).unwrap();
    open().version(&memory("first").space).unwrap();
    for round in 0..10 {
        let space = loci_core::Space::parse("space", &format!("new-{round}")).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (store, space) = (open(), space.clone());
                scope.spawn(move || {
                    let memory = Memory {
                        space: space.clone(),
                        ..memory(&writer.to_string())
                    };
                    let vector = loci_core::Vector {
                        model: loci_core::ModelId::new("model"),
                        scale: 1.0,
                        values: vec![1],
                    };
                    let passage = loci_core::Passage {
                        vector: Some(vector),
                        ..passage("word")
                    };
                    store.commit(put(&memory, vec![passage])).unwrap();
                });
            }
        });
        assert_eq!(open().version(&space), Ok(WRITERS));
    }
}

/// Ends all connections of the server that wait or work in a schema, again and again, while
/// writers go on.
#[test]
fn a_lost_connection_loses_no_write_and_does_none_twice() {
    const WRITES: u64 = 500;
    let schemas = Schemas::default();
    let (options, name) = named(schemas.options());
    let store = PostgresStore::open(options).unwrap();
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    while_connections_are_cut(&name, |steps| {
        for number in 0..WRITES {
            store
                .commit(put(&memory(&number.to_string()), Vec::new()))
                .unwrap();
            steps.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(store.size().unwrap().memories, WRITES + 1);
    assert_eq!(store.version(&memory("first").space), Ok(WRITES + 1));
}

/// Statements after a refused one are refused for its sake: the reason is that of the first.
#[test]
fn a_refusal_has_the_reason_of_the_first_statement() {
    const TRIES: usize = 300;
    let schemas = Schemas::default();
    let store = schemas.open();
    let message = |id: &str| Memory {
        thread: Some(Thread {
            name: "thread".to_owned(),
            position: 1,
        }),
        tier: Tier::ShortTerm,
        owner: Some("ann".to_owned()),
        ..memory(id)
    };
    store.commit(put(&message("first"), Vec::new())).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let (store, message) = (&store, &message);
            scope.spawn(move || {
                for number in 0..TRIES {
                    let other = message(&format!("{writer} {number}"));
                    let refused = store.commit(put(&other, vec![passage("word")]));
                    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
                }
            });
        }
    });
}
