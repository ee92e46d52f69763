//! The contract of forgotten memories: they stay, and only queries that ask for them return them.

use loci_core::{
    CandidateQuery, EnrichmentStatus, ErrorCode, FilingOrder, Filter, Forgotten, JobCounts, Memory,
    ModelId, StatusCount, Superseded, Thread, Tier, Timestamp, Wiped,
};

use super::examples::{
    NOW, delete, embed, enqueue, filter, forgotten, memory, message, passage, pending_offspring,
    private, put, replace, space, sweep_of_expired, vector, words,
};
use super::partitions::{sweep_some, without_vector};
use super::reading::{ALL, add, admitted, findable, id};
use super::searching::{ask, ids, search};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

/// Hides forgotten memories.
fn hiding() -> Filter {
    Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    }
}

/// Returns the matching ids without forgotten ones, and with them.
fn hidden_and_shown(store: &dyn StoreAndTokens) -> [Vec<String>; 2] {
    [hiding(), filter()].map(|filter| admitted(store, &filter))
}

pub(super) fn a_forgotten_memory_shows_to_those_alone_who_ask(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &memory("kept"));
    add(&*store, &private("ann", memory("kept by ann")));
    // The time does not matter: the memory is forgotten now and at any other time.
    let moments =
        [i64::MIN, -5, 0, 1, NOW.microseconds(), i64::MAX].map(Timestamp::from_microseconds);
    for (number, moment) in moments.into_iter().enumerate() {
        let written = Memory {
            forgotten_at: Some(moment),
            ..memory(&format!("forgotten {number}"))
        };
        add(&*store, &written);
        assert_eq!(found(&*store, &written).as_ref(), Some(&written));
        assert_eq!(
            store.get_all(&filter(), std::slice::from_ref(&written.id)),
            Ok(vec![written.clone()])
        );
        assert_eq!(store.get_all(&hiding(), &[written.id]), Ok(Vec::new()));
    }
    let [hidden, shown] = hidden_and_shown(&*store);
    assert_eq!(
        (hidden, shown.len()),
        (words(&["kept", "kept by ann"]), 2 + moments.len())
    );
    let only = Filter {
        forgotten: Forgotten::Only,
        ..filter()
    };
    let forgotten_ids: Vec<String> = (0..moments.len())
        .map(|number| format!("forgotten {number}"))
        .collect();
    assert_eq!(admitted(&*store, &only), forgotten_ids);
    for counts in [store.count_by_location(&only), store.count_uncached(&only)] {
        let counts = counts.expect("the store can be read");
        let counted: u64 = counts.iter().map(|count| count.memories).sum();
        assert_eq!(counted, moments.len() as u64);
    }
    for live_at in [Timestamp::MIN, NOW.plus_seconds(100)] {
        assert_eq!(
            admitted(
                &*store,
                &Filter {
                    live_at,
                    ..hiding()
                }
            ),
            ["kept", "kept by ann"]
        );
    }
    let tally = |filter: &Filter| {
        store
            .count_by_location(filter)
            .expect("the store can be read")[0]
            .memories
    };
    assert_eq!((tally(&hiding()), tally(&filter())), (2, 8));
    let passages = |filter: &Filter| ask(&*store, &CandidateQuery::of(filter, 1)).passages;
    assert_eq!((passages(&hiding()), passages(&filter())), (2, 8));
    let elsewhere = forgotten(Memory {
        space: space("other"),
        ..memory("kept")
    });
    add(&*store, &elsewhere);
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                space: elsewhere.space,
                ..hiding()
            }
        ),
        Vec::<String>::new()
    );
}

pub(super) fn a_forgotten_memory_is_there_for_work_on_nobodys_behalf(make: MakeStore<'_>) {
    let store = make();
    let model = ModelId::new("test");
    let written = forgotten(message("ann", 3));
    commit(&*store, put(&written, vec![passage("word")]));
    assert_eq!(
        refused(&*store, put(&memory("ann-3"), Vec::new())).code,
        ErrorCode::Conflict,
        "its id is taken"
    );
    let same_place = Memory {
        id: id("x"),
        forgotten_at: None,
        ..written.clone()
    };
    assert_eq!(
        refused(&*store, put(&same_place, Vec::new())).code,
        ErrorCode::Conflict,
        "its position is taken"
    );
    assert_eq!(store.thread_end(&written.space, "ann", "talk"), Ok(4));
    let waiting = (written.space.clone(), written.id.clone());
    assert_eq!(
        without_vector(&*store, &model, FilingOrder::FirstFirst, 10),
        Ok(vec![waiting])
    );
    assert_eq!(store.pending_embeddings(&model, 9), Ok(1));
    commit(&*store, embed(&written, vec![vector("test", &[127])]));
    assert_eq!(
        store.vectors(&written.space, &written.id, &model),
        Ok(vec![vector("test", &[127])])
    );
    assert_eq!(store.pending_embeddings(&model, 9), Ok(0));
    commit(&*store, enqueue("ann-3", NOW));
    let leased = store
        .lease_jobs(NOW, NOW.plus_seconds(9), "lease", 9)
        .expect("the store can be written");
    assert_eq!(leased.len(), 1);
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (1, 1));
    let stale = Memory {
        revision: 9,
        ..written.clone()
    };
    assert_eq!(
        refused(&*store, replace(&stale, None)).code,
        ErrorCode::Conflict
    );
    commit(&*store, delete(&written));
    assert_eq!(
        (found(&*store, &written), store.job_counts()),
        (None, Ok(JobCounts::default()))
    );
}

pub(super) fn forgetting_and_bringing_back_change_the_next_search(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &memory("steady"));
    let mut changing = memory("changing");
    add(&*store, &changing);
    for round in 0..6 {
        for (forgotten_at, hidden) in [
            (Some(NOW), &["steady"][..]),
            (None, &["changing", "steady"]),
        ] {
            changing = Memory {
                forgotten_at,
                revision: changing.revision + 1,
                ..changing
            };
            // With and without new passages.
            commit(
                &*store,
                replace(&changing, (round % 2 == 1).then(|| vec![findable()])),
            );
            assert_eq!(
                hidden_and_shown(&*store),
                [words(hidden), words(&["changing", "steady"])],
                "round {round}"
            );
            assert_eq!(found(&*store, &changing).as_ref(), Some(&changing));
        }
    }
    let born_forgotten = forgotten(memory("born forgotten"));
    add(&*store, &born_forgotten);
    assert_eq!(admitted(&*store, &hiding()), ["changing", "steady"]);
    commit(
        &*store,
        replace(
            &Memory {
                forgotten_at: None,
                revision: 2,
                ..born_forgotten
            },
            None,
        ),
    );
    assert_eq!(
        admitted(&*store, &hiding()),
        ["born forgotten", "changing", "steady"]
    );
}

pub(super) fn a_forgotten_successor_hides_nothing(make: MakeStore<'_>) {
    let store = make();
    let successor = Memory {
        supersedes: Some(id("old")),
        ..memory("new")
    };
    add(&*store, &memory("old"));
    add(&*store, &successor);
    let superseded = Superseded::Hide;
    for (revision, forgotten_at, hidden, shown) in [
        (2, Some(NOW), &["old"][..], &["new", "old"][..]),
        (3, None, &["new"], &["new"]),
        (4, Some(NOW.plus_seconds(99)), &["old"], &["new", "old"]),
    ] {
        commit(
            &*store,
            replace(
                &Memory {
                    forgotten_at,
                    revision,
                    ..successor.clone()
                },
                None,
            ),
        );
        assert_eq!(
            admitted(
                &*store,
                &Filter {
                    superseded,
                    ..hiding()
                }
            ),
            hidden,
            "revision {revision}"
        );
        assert_eq!(
            admitted(
                &*store,
                &Filter {
                    superseded,
                    ..filter()
                }
            ),
            shown,
            "whether or not it is shown itself"
        );
        let named = forgotten_at.is_none().then(|| id("new"));
        for filter in [hiding(), filter()] {
            let listed = store.list(&filter, ALL).expect("the store can be read");
            let read = store
                .get_all(&filter, &[id("old")])
                .expect("the store can be read");
            let old = listed
                .into_iter()
                .chain(read)
                .filter(|memory| memory.id == id("old"));
            let of_old: Vec<_> = old.map(|memory| memory.superseded_by).collect();
            assert_eq!(
                of_old,
                [named.clone(), named.clone()],
                "revision {revision}"
            );
        }
        assert_eq!(
            found(&*store, &memory("old")).and_then(|memory| memory.superseded_by),
            named
        );
    }
    // Another successor that is not forgotten still hides it, and so does a successor of a
    // forgotten memory.
    add(
        &*store,
        &Memory {
            supersedes: Some(id("old")),
            ..memory("newest")
        },
    );
    add(
        &*store,
        &Memory {
            supersedes: Some(id("new")),
            ..memory("heir")
        },
    );
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                superseded,
                ..filter()
            }
        ),
        ["heir", "newest"]
    );
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                superseded,
                ..hiding()
            }
        ),
        ["heir", "newest"]
    );
}

pub(super) fn what_is_forgotten_never_comes_along(make: MakeStore<'_>) {
    let store = make();
    for position in 0..4 {
        let written = message("ann", position);
        let written = if position % 2 == 1 {
            forgotten(written)
        } else {
            written
        };
        commit(
            &*store,
            put(&written, vec![passage(&format!("all n{position}"))]),
        );
    }
    let elsewhere = Thread {
        name: "elsewhere".to_owned(),
        position: 0,
    };
    let alone = forgotten(Memory {
        id: id("alone"),
        thread: Some(elsewhere),
        ..message("ann", 0)
    });
    commit(&*store, put(&alone, vec![passage("all")]));
    let found_by = |filter: &Filter, term: &str| {
        let terms = words(&[term]);
        ask(
            &*store,
            &CandidateQuery {
                terms: &terms,
                with_context: true,
                ..CandidateQuery::of(filter, 10)
            },
        )
    };
    assert_eq!(ids(&found_by(&hiding(), "n0")), ["ann-0", "ann-2"]);
    assert_eq!(ids(&found_by(&filter(), "n0")), ["ann-0", "ann-1", "ann-2"]);
    assert_eq!(ids(&found_by(&hiding(), "n1")), Vec::<String>::new());
    assert_eq!(
        ids(&found_by(&filter(), "n1")),
        ["ann-0", "ann-1", "ann-2", "ann-3"]
    );
    let (hidden, shown) = (found_by(&hiding(), "all"), found_by(&filter(), "all"));
    assert_eq!((hidden.hits.len(), hidden.threads.len()), (2, 1));
    assert_eq!((shown.hits.len(), shown.threads.len()), (5, 2));
}

pub(super) fn a_census_counts_nothing_that_was_forgotten(make: MakeStore<'_>) {
    let store = make();
    let census = || {
        store
            .count_by_status(&memory("a").space, "ann", NOW)
            .expect("the store can be read")
    };
    let row = |tier, enrichment, memories| StatusCount {
        tier,
        enrichment,
        memories,
    };
    let done = |name: &str| Memory {
        enrichment: Some(EnrichmentStatus::Completed),
        ..private("ann", memory(name))
    };
    for written in [
        message("ann", 0),
        forgotten(message("ann", 1)),
        forgotten(done("forgotten")),
        done("kept"),
    ] {
        add(&*store, &written);
    }
    let of_tier = [
        row(Tier::LongTerm, Some(EnrichmentStatus::Completed), 1),
        row(Tier::ShortTerm, None, 1),
    ];
    assert_eq!(census(), of_tier);
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..forgotten(done("kept"))
            },
            None,
        ),
    );
    assert_eq!(census(), of_tier[1..]);
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..message("ann", 1)
            },
            None,
        ),
    );
    assert_eq!(census(), [row(Tier::ShortTerm, None, 2)]);
}

pub(super) fn a_soft_deletion_leaves_what_its_filter_hides(make: MakeStore<'_>) {
    let store = make();
    let source = message("ann", 0);
    for written in [
        source.clone(),
        forgotten(pending_offspring("offspring", &source)),
        memory("kept"),
        forgotten(memory("a")),
        forgotten(memory("b")),
    ] {
        add(&*store, &written);
    }
    assert_eq!(store.soft_delete(&hiding(), Some(&id("a")), NOW, 10), Ok(0));
    assert_eq!(store.soft_delete(&hiding(), None, NOW, 10), Ok(2));
    let left = [Vec::new(), words(&["a", "b"])];
    assert_eq!(
        hidden_and_shown(&*store),
        left,
        "what was made from a message goes with it, forgotten or not"
    );
    assert_eq!(store.soft_delete(&filter(), Some(&id("a")), NOW, 10), Ok(1));
    assert_eq!(store.soft_delete(&filter(), None, NOW, 10), Ok(1));
    assert_eq!(found(&*store, &memory("b")), None);
}

pub(super) fn what_is_forgotten_goes_with_the_rest(make: MakeStore<'_>) {
    let store = make();
    let expired = forgotten(Memory {
        expires_at: Some(NOW.plus_seconds(1)),
        ..memory("expired")
    });
    let (anns, common) = (
        private("ann", memory("anns")),
        Memory {
            owner: Some("ann".to_owned()),
            ..memory("common")
        },
    );
    for written in [&expired, &forgotten(anns), &forgotten(common.clone())] {
        add(&*store, written);
    }
    let later = Filter {
        live_at: NOW.plus_seconds(1),
        ..filter()
    };
    assert_eq!(admitted(&*store, &later), ["anns", "common"]);
    assert_eq!(
        sweep_some(&*store, &sweep_of_expired(NOW.plus_seconds(1)), 10),
        Ok(1)
    );
    let wiped = store.wipe(&common.space, "ann", None, None, NOW);
    assert_eq!(
        wiped,
        Ok(Wiped {
            memories: 1,
            ..Wiped::default()
        })
    );
    let nameless = Memory {
        owner: None,
        revision: 2,
        ..forgotten(common)
    };
    assert_eq!(
        found(&*store, &nameless).as_ref(),
        Some(&nameless),
        "it stays forgotten"
    );
    assert_eq!(search(&*store, &hiding(), &["word"]), Vec::<String>::new());
}
