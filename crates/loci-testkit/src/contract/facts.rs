//! The contract of the knowledge graph.

use std::thread;

use loci_core::{
    Batch, Change, Direction, ErrorCode, Fact, FactCounts, FactQuery, Memory, Name, Period, Record,
    Space, Store, Timestamp,
};

use super::examples::{
    NOW, ODD_TEXTS, change, fact, memory, name, period, put, put_fact, space, words,
};
use super::partitions::version_now;
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

/// Queries all facts of the default space.
fn everything() -> FactQuery {
    FactQuery {
        space: Space::default(),
        entity: None,
        triple: None,
        relation: None,
        as_of: None,
        offset: 0,
        limit: usize::MAX,
    }
}

fn about(entity: &str, direction: Direction) -> FactQuery {
    FactQuery {
        entity: Some((entity.to_owned(), direction)),
        ..everything()
    }
}

fn facts(store: &dyn StoreAndTokens, query: &FactQuery) -> Vec<Fact> {
    store.facts(query).expect("the store can be read")
}

fn ids(store: &dyn StoreAndTokens, query: &FactQuery) -> Vec<String> {
    facts(store, query)
        .into_iter()
        .map(|fact| fact.id)
        .collect()
}

/// Creates a batch that ends the fact and expects its current end.
fn end_of(fact: &Fact, valid_to: Period) -> Batch {
    let end = Change::EndFact {
        id: fact.id.clone(),
        before: fact.valid_to,
        valid_to,
    };
    Batch {
        space: fact.space.clone(),
        changes: vec![end],
    }
}

fn ended(fact: Fact, valid_to: Period) -> Fact {
    Fact {
        valid_to: Some(valid_to),
        ..fact
    }
}

fn spelled(key: &str, spelling: &str) -> Name {
    Name {
        spelling: spelling.to_owned(),
        ..name(key)
    }
}

fn counts(store: &dyn StoreAndTokens, now: Timestamp) -> FactCounts {
    store
        .fact_counts(&Space::default(), now)
        .expect("the store can be read")
}

pub(super) fn a_fact_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(facts(&*store, &everything()), []);
    let odd = ODD_TEXTS.into_iter().map(|text| Fact {
        // Things and relations have separate spellings, so that one key may be both.
        subject: spelled(text, &format!("the spelling of {text}")),
        predicate: spelled(text, text),
        object: spelled(&format!("object {text}"), text),
        source: Some(text.to_owned()),
        ..fact(text, ["", "", ""])
    });
    let of = |id: &str| fact(id, [id, "is", "there"]);
    let at = Timestamp::from_microseconds;
    let one_by_one = [
        of("plain"),
        Fact {
            created_at: at(i64::MAX),
            ..of("made last")
        },
        Fact {
            created_at: at(i64::MIN),
            ..of("made first")
        },
        Fact {
            valid_from: Some(period(-5, 5)),
            valid_to: Some(period(5, 5)),
            ..of("around 1970")
        },
        Fact {
            valid_from: Some(period(0, 0)),
            ..of("from 1970")
        },
        Fact {
            valid_to: Some(period(0, 0)),
            ..of("to 1970")
        },
        Fact {
            valid_from: Some(period(i64::MIN, i64::MIN)),
            ..of("from the first moment")
        },
        Fact {
            valid_to: Some(period(i64::MIN, i64::MAX)),
            ..of("to the last moment")
        },
        Fact {
            valid_to: Some(period(i64::MIN, i64::MIN)),
            ..of("to the first moment")
        },
        fact("of itself", ["self", "self", "self"]),
    ];
    let mut all: Vec<Fact> = odd.chain(one_by_one).collect();
    let changes = all
        .iter()
        .map(|fact| Change::PutFact(Box::new(fact.clone())));
    commit(
        &*store,
        Batch {
            space: Space::default(),
            changes: changes.collect(),
        },
    );
    all.sort_by_key(|fact| {
        (
            fact.valid_from.map(|from| from.first),
            fact.created_at,
            fact.id.clone(),
        )
    });
    assert_eq!(facts(&*store, &everything()), all);
    for fact in &all {
        let keys = [&fact.subject, &fact.predicate, &fact.object].map(|name| name.key.clone());
        let query = FactQuery {
            triple: Some(keys),
            ..everything()
        };
        assert_eq!(facts(&*store, &query), std::slice::from_ref(fact));
    }
}

pub(super) fn facts_come_in_the_order_of_their_beginnings(make: MakeStore<'_>) {
    let store = make();
    let from = |id: &str, valid_from: Option<Period>, created_at: i64| Fact {
        valid_from,
        created_at: Timestamp::from_microseconds(created_at),
        ..fact(id, ["sun", "rose", id])
    };
    let ordered = [
        from("always 2", None, 3),
        from("always 1", None, 4),
        from("first of all", Some(period(i64::MIN, 90)), 9),
        from("before 1970", Some(period(-7, 100)), 9),
        from("b", Some(period(10, 90)), 5),
        from("A", Some(period(10, 20)), 6),
        from("a", Some(period(10, 10)), 6),
        from("last", Some(period(11, 11)), 1),
    ];
    for fact in ordered.iter().rev() {
        commit(&*store, put_fact(fact));
    }
    let elsewhere = Fact {
        space: space("other"),
        ..from("elsewhere", None, 0)
    };
    commit(&*store, put_fact(&elsewhere));
    let queries = [
        everything(),
        about("sun", Direction::Outgoing),
        about("sun", Direction::Both),
    ];
    for query in queries {
        for limit in [0, 1, 5, ordered.len(), 100, usize::MAX] {
            let found = facts(
                &*store,
                &FactQuery {
                    limit,
                    ..query.clone()
                },
            );
            assert_eq!(
                found,
                ordered[..limit.min(ordered.len())],
                "{limit} of {query:?}"
            );
            for offset in [1, 4, ordered.len(), usize::MAX] {
                let found = facts(
                    &*store,
                    &FactQuery {
                        limit,
                        offset,
                        ..query.clone()
                    },
                );
                let expected: Vec<Fact> =
                    ordered.iter().skip(offset).take(limit).cloned().collect();
                assert_eq!(found, expected, "{limit} from {offset} on of {query:?}");
            }
        }
        assert_eq!(
            ids(
                &*store,
                &FactQuery {
                    space: space("other"),
                    ..query.clone()
                }
            ),
            ["elsewhere"]
        );
        assert_eq!(
            facts(
                &*store,
                &FactQuery {
                    space: space("empty"),
                    ..query
                }
            ),
            []
        );
    }
}

pub(super) fn facts_are_found_by_things_and_triples(make: MakeStore<'_>) {
    use Direction::{Both, Incoming, Outgoing};
    let store = make();
    for fact in [
        fact("1", ["ann", "knows", "bob"]),
        fact("2", ["bob", "knows", "ann"]),
        fact("3", ["ann", "knows", "ann"]),
        fact("4", ["bob", "ann", "carl"]),
        fact("5", ["ANN", "knows", "ann "]),
        ended(fact("6", ["ann", "knows", "bob"]), period(5, 9)),
        Fact {
            space: space("other"),
            ..fact("7", ["ann", "knows", "bob"])
        },
    ] {
        commit(&*store, put_fact(&fact));
    }
    for (entity, direction, expected) in [
        ("ann", Outgoing, &["1", "3", "6"][..]),
        ("ann", Incoming, &["2", "3"]),
        ("ann", Both, &["1", "2", "3", "6"]),
        ("carl", Outgoing, &[]),
        ("carl", Incoming, &["4"]),
        ("carl", Both, &["4"]),
        ("knows", Both, &[]),
        ("ANN", Both, &["5"]),
        ("ann ", Incoming, &["5"]),
        ("dora", Both, &[]),
    ] {
        assert_eq!(
            ids(&*store, &about(entity, direction)),
            expected,
            "{entity} {direction:?}"
        );
    }
    let says = |keys: [&str; 3]| FactQuery {
        triple: Some(keys.map(str::to_owned)),
        ..everything()
    };
    let knows = says(["ann", "knows", "bob"]);
    assert_eq!(ids(&*store, &knows), ["1", "6"]);
    assert_eq!(
        ids(
            &*store,
            &FactQuery {
                limit: 1,
                ..knows.clone()
            }
        ),
        ["1"]
    );
    assert_eq!(
        ids(
            &*store,
            &FactQuery {
                space: space("other"),
                ..knows.clone()
            }
        ),
        ["7"]
    );
    assert_eq!(
        ids(&*store, &says(["bob", "knows", "bob"])),
        Vec::<String>::new()
    );
    let relates = |keys: [&str; 2]| FactQuery {
        relation: Some(keys.map(str::to_owned)),
        ..everything()
    };
    let knowing = relates(["ann", "knows"]);
    assert_eq!(ids(&*store, &knowing), ["1", "3", "6"]);
    assert_eq!(
        ids(
            &*store,
            &FactQuery {
                triple: knows.triple.clone(),
                ..knowing.clone()
            }
        ),
        ["1", "6"]
    );
    assert_eq!(
        ids(
            &*store,
            &FactQuery {
                as_of: Some(period(10, 10)),
                ..knowing.clone()
            }
        ),
        ["1", "3"]
    );
    assert_eq!(
        ids(
            &*store,
            &FactQuery {
                space: space("other"),
                ..knowing
            }
        ),
        ["7"]
    );
    assert_eq!(ids(&*store, &relates(["ann", "bob"])), Vec::<String>::new());
    for (entity, direction, as_of, expected) in [
        ("ann", Outgoing, period(0, 9), &["1", "6"][..]),
        ("bob", Incoming, period(10, 10), &["1"]),
        ("bob", Outgoing, period(0, 9), &[]),
        ("carl", Both, period(0, 9), &[]),
    ] {
        let query = FactQuery {
            as_of: Some(as_of),
            triple: knows.triple.clone(),
            ..about(entity, direction)
        };
        assert_eq!(
            ids(&*store, &query),
            expected,
            "all conditions of {query:?} hold together"
        );
    }
}

pub(super) fn a_fact_holds_from_its_first_moment_to_its_last(make: MakeStore<'_>) {
    let store = make();
    let (from, to) = (Some(period(10, 19)), Some(period(30, 39)));
    for (id, valid_from, valid_to) in [
        ("always", None, None),
        ("ends", None, to),
        ("goes on", from, None),
        ("is over", from, to),
        ("moment", Some(period(39, 39)), Some(period(39, 39))),
    ] {
        commit(
            &*store,
            put_fact(&Fact {
                valid_from,
                valid_to,
                ..fact(id, ["sun", "is", id])
            }),
        );
    }
    for (as_of, expected) in [
        (period(i64::MIN, i64::MIN), &["always", "ends"][..]),
        (period(0, 9), &["always", "ends"]),
        (period(0, 10), &["always", "ends", "goes on", "is over"]),
        (period(10, 10), &["always", "ends", "goes on", "is over"]),
        (period(20, 29), &["always", "ends", "goes on", "is over"]),
        (period(38, 38), &["always", "ends", "goes on", "is over"]),
        (
            period(39, 39),
            &["always", "ends", "goes on", "is over", "moment"],
        ),
        (
            period(39, i64::MAX),
            &["always", "ends", "goes on", "is over", "moment"],
        ),
        (
            period(i64::MIN, i64::MAX),
            &["always", "ends", "goes on", "is over", "moment"],
        ),
        (period(40, 40), &["always", "goes on"]),
        (period(i64::MAX, i64::MAX), &["always", "goes on"]),
    ] {
        for query in [
            everything(),
            about("sun", Direction::Outgoing),
            about("sun", Direction::Both),
        ] {
            let query = FactQuery {
                as_of: Some(as_of),
                ..query
            };
            assert_eq!(ids(&*store, &query), expected, "{query:?}");
        }
    }
}

pub(super) fn a_fact_with_an_open_end_is_there_once(make: MakeStore<'_>) {
    let store = make();
    let first = fact("1", ["ann", "knows", "bob"]);
    let again = |id: &str| Fact {
        id: id.to_owned(),
        ..first.clone()
    };
    commit(&*store, put_fact(&first));
    for taken in [
        again("2"),
        Fact {
            valid_from: Some(period(5, 9)),
            source: Some("a letter".to_owned()),
            ..again("2")
        },
        Fact {
            subject: spelled("ann", "Ann"),
            ..again("2")
        },
        fact("1", ["another", "fact", "altogether"]),
        ended(fact("1", ["another", "fact", "altogether"]), period(5, 9)),
    ] {
        let mut batch = put(&memory("new"), Vec::new());
        batch.changes.extend(put_fact(&taken).changes);
        assert_eq!(
            refused(&*store, batch).code,
            ErrorCode::Conflict,
            "{taken:?}"
        );
        assert_eq!(
            facts(&*store, &everything()),
            std::slice::from_ref(&first),
            "nothing changed"
        );
        assert_eq!(
            (
                found(&*store, &memory("new")),
                counts(&*store, NOW).entities
            ),
            (None, 2)
        );
    }
    let far = ended(again("far"), period(5, i64::MAX));
    let others = [
        far.clone(),
        ended(again("near"), period(5, 9)),
        fact("other subject", ["Ann", "knows", "bob"]),
        fact("other relation", ["ann", "likes", "bob"]),
        fact("other way round", ["bob", "knows", "ann"]),
    ];
    for other in &others {
        commit(&*store, put_fact(other));
    }
    commit(
        &*store,
        put_fact(&Fact {
            space: space("other"),
            ..first.clone()
        }),
    );
    assert_eq!(facts(&*store, &everything()).len(), 1 + others.len());
    let mut batch = end_of(&first, period(1, 2));
    batch.changes.extend(put_fact(&again("5")).changes);
    let mut too_much = batch.clone();
    too_much.changes.extend(put_fact(&again("6")).changes);
    assert_eq!(
        refused(&*store, too_much).code,
        ErrorCode::Conflict,
        "the first of a batch takes it as well"
    );
    commit(&*store, batch);
    assert_eq!(
        refused(&*store, put_fact(&again("6"))).code,
        ErrorCode::Conflict
    );
    commit(&*store, end_of(&far, period(1, 2)));
    let open = facts(&*store, &everything())
        .into_iter()
        .filter(|fact| fact.valid_to.is_none());
    assert_eq!(
        open.filter(|fact| fact.predicate.key == "knows" && fact.subject.key == "ann")
            .count(),
        1
    );
}

pub(super) fn a_fact_with_the_same_beginning_and_end_is_there_once(make: MakeStore<'_>) {
    let store = make();
    let (from, to) = (period(1, 2), period(5, 9));
    let of = |id: &str, valid_from: Option<Period>, valid_to: Period| {
        ended(
            Fact {
                valid_from,
                ..fact(id, ["ann", "knows", "bob"])
            },
            valid_to,
        )
    };
    let there = [of("always", None, to), of("from then", Some(from), to)];
    for fact in &there {
        commit(&*store, put_fact(fact));
    }
    for taken in [
        of("new", None, to),
        of("new", Some(from), to),
        Fact {
            source: Some("a letter".to_owned()),
            created_at: Timestamp::from_microseconds(7),
            ..of("new", None, to)
        },
        Fact {
            subject: spelled("ann", "Ann"),
            ..of("new", None, to)
        },
    ] {
        let mut batch = put(&memory("new"), Vec::new());
        batch.changes.extend(put_fact(&taken).changes);
        assert_eq!(
            refused(&*store, batch).code,
            ErrorCode::Conflict,
            "{taken:?}"
        );
        assert_eq!(
            (
                facts(&*store, &everything()).len(),
                found(&*store, &memory("new"))
            ),
            (2, None)
        );
        let back = Change::Import {
            record: Box::new(Record::Fact(Box::new(taken))),
            passages: Vec::new(),
            since: version_now(&*store),
            now: NOW,
        };
        assert_eq!(refused(&*store, change(back)).code, ErrorCode::Conflict);
    }
    let open = Fact {
        valid_from: Some(from),
        ..fact("open", ["ann", "knows", "bob"])
    };
    let others = [
        of("begins sooner", Some(period(0, 2)), to),
        of("begins longer", Some(period(1, 3)), to),
        of("ends later", Some(from), period(5, 10)),
        of("ends longer", Some(from), period(4, 9)),
        ended(fact("another", ["ann", "knows", "carl"]), to),
        Fact {
            space: space("other"),
            ..of("elsewhere", None, to)
        },
        open.clone(),
    ];
    for other in &others {
        commit(&*store, put_fact(other));
    }
    let mut twice = put_fact(&of("3", None, period(6, 6)));
    twice
        .changes
        .extend(put_fact(&of("4", None, period(6, 6))).changes);
    assert_eq!(
        refused(&*store, twice).code,
        ErrorCode::Conflict,
        "the first of a batch takes it as well"
    );
    // The new end applies, and facts that are equal with it conflict.
    commit(&*store, end_of(&open, to));
    assert_eq!(
        refused(&*store, put_fact(&of("new", Some(from), to))).code,
        ErrorCode::Conflict
    );
    commit(
        &*store,
        put_fact(&Fact {
            id: "open again".to_owned(),
            ..open
        }),
    );
    assert_eq!(
        facts(&*store, &everything()).len(),
        there.len() + others.len()
    );
}

pub(super) fn one_of_concurrent_facts_is_kept(make: MakeStore<'_>) {
    const WRITERS: usize = 4;
    const FACTS: usize = 20;
    let store = make();
    let shared: &dyn Store = &*store;
    let write = |writer: usize| {
        let note = |number: usize| {
            fact(
                &format!("{writer}-{number}"),
                ["ann", "counts", &number.to_string()],
            )
        };
        let refused = (0..FACTS).filter_map(|number| shared.commit(put_fact(&note(number))).err());
        refused
            .inspect(|error| assert_eq!(error.code, ErrorCode::Conflict, "{error}"))
            .count()
    };
    let refused: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(writer)))
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().expect("no writer panics"))
            .sum()
    });
    assert_eq!(refused, (WRITERS - 1) * FACTS);
    let mut objects: Vec<String> = facts(&*store, &everything())
        .into_iter()
        .map(|fact| fact.object.key)
        .collect();
    objects.sort();
    let mut expected: Vec<String> = (0..FACTS).map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!(objects, expected);
}

pub(super) fn an_end_replaces_the_one_that_is_expected(make: MakeStore<'_>) {
    let store = make();
    let open = Fact {
        valid_from: Some(period(1, 2)),
        source: Some("a letter".to_owned()),
        ..fact("1", ["ann", "knows", "bob"])
    };
    let bystander = fact("2", ["ann", "knows", "carl"]);
    let elsewhere = Fact {
        space: space("other"),
        ..open.clone()
    };
    for fact in [&open, &bystander, &elsewhere] {
        commit(&*store, put_fact(fact));
    }
    let there = |fact: &Fact| {
        let query = FactQuery {
            space: fact.space.clone(),
            ..everything()
        };
        assert!(facts(&*store, &query).contains(fact), "{fact:?}");
    };
    let (first, second, third) = (period(5, 9), period(3, 9), period(5, i64::MAX));
    let conflicts = |fact: &Fact| {
        let new = Memory {
            space: fact.space.clone(),
            ..memory("new")
        };
        let mut batch = put(&new, Vec::new());
        batch.changes.extend(end_of(fact, third).changes);
        assert_eq!(
            refused(&*store, batch).code,
            ErrorCode::Conflict,
            "{fact:?}"
        );
        assert_eq!(found(&*store, &new), None);
    };
    conflicts(&ended(open.clone(), first));
    conflicts(&fact("unknown", ["ann", "knows", "bob"]));
    there(&open);
    commit(&*store, end_of(&open, first));
    let closed = ended(open.clone(), first);
    there(&closed);
    for stale in [
        &open,
        &ended(open.clone(), second),
        &ended(open.clone(), period(5, 8)),
    ] {
        conflicts(stale);
    }
    conflicts(&Fact {
        space: space("empty"),
        ..closed.clone()
    });
    there(&closed);
    let mut batch = end_of(&closed, second);
    batch
        .changes
        .extend(end_of(&ended(open.clone(), second), third).changes);
    commit(&*store, batch);
    there(&ended(open, third));
    there(&bystander);
    there(&elsewhere);
    let query = FactQuery {
        as_of: Some(period(10, 10)),
        ..everything()
    };
    assert_eq!(ids(&*store, &query), ["2", "1"]);
}

pub(super) fn names_are_spelled_as_they_came_first(make: MakeStore<'_>) {
    let store = make();
    let first = Fact {
        subject: spelled("ann", "Ann"),
        object: spelled("bob", "BOB"),
        ..fact("1", ["", "ann", ""])
    };
    let mut batch = put_fact(&Fact {
        subject: spelled("ann", "refused"),
        ..fact("0", ["", "refused", "refused"])
    });
    batch.changes.extend(
        change(Change::DeleteTunnel {
            id: "unknown".to_owned(),
        })
        .changes,
    );
    assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
    commit(
        &*store,
        put_fact(&Fact {
            space: space("other"),
            subject: spelled("ann", "elsewhere"),
            ..first.clone()
        }),
    );
    commit(&*store, put_fact(&first));
    let second = Fact {
        subject: spelled("bob", "bob"),
        predicate: spelled("ann", "second"),
        object: spelled("ann", "ANN"),
        ..fact("2", ["", "", ""])
    };
    commit(&*store, put_fact(&second));
    let both = Fact {
        subject: spelled("new", "New"),
        object: spelled("new", "NEW"),
        ..fact("3", ["", "bob", ""])
    };
    commit(&*store, put_fact(&both));
    let expected = [
        first,
        Fact {
            subject: spelled("bob", "BOB"),
            predicate: name("ann"),
            object: spelled("ann", "Ann"),
            ..second
        },
        Fact {
            object: spelled("new", "New"),
            ..both
        },
    ];
    assert_eq!(facts(&*store, &everything()), expected);
    assert_eq!(
        counts(&*store, NOW).predicates,
        ["ann", "bob"],
        "relations are spelled apart from things"
    );
    let of_other = facts(
        &*store,
        &FactQuery {
            space: space("other"),
            ..everything()
        },
    );
    assert_eq!(of_other[0].subject, spelled("ann", "elsewhere"));
    commit(&*store, end_of(&expected[0], period(1, 2)));
    commit(&*store, put_fact(&fact("4", ["ann", "ann", "bob"])));
    let last = facts(
        &*store,
        &FactQuery {
            limit: 4,
            ..everything()
        },
    )
    .pop()
    .expect("there are four");
    assert_eq!(
        [last.subject, last.object],
        [spelled("ann", "Ann"), spelled("bob", "BOB")],
        "even if it is over"
    );
}

pub(super) fn facts_are_counted(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(counts(&*store, NOW), FactCounts::default());
    for fact in [
        fact("1", ["ann", "z", "bob"]),
        ended(fact("2", ["ann", "z", "bob"]), period(30, 39)),
        ended(
            Fact {
                predicate: spelled("a", "Zzz"),
                ..fact("3", ["bob", "", "ann"])
            },
            period(40, 49),
        ),
        Fact {
            valid_from: Some(period(90, 99)),
            ..fact("4", ["carl", "日", "carl"])
        },
        ended(fact("5", ["Ann", "Z", "z"]), period(i64::MIN, i64::MIN)),
        Fact {
            space: space("other"),
            ..fact("1", ["dora", "elsewhere", "ann"])
        },
    ] {
        commit(&*store, put_fact(&fact));
    }
    let moments = [
        (i64::MIN, 4, 1),
        (0, 4, 1),
        (38, 4, 1),
        (39, 3, 1),
        (40, 3, 1),
        (48, 3, 1),
        (49, 2, 1),
    ];
    for (now, open, to_come) in
        moments
            .into_iter()
            .chain([(89, 2, 1), (90, 2, 0), (i64::MAX, 2, 0)])
    {
        let predicates = words(&["Z", "Zzz", "z", "日"]);
        let expected = FactCounts {
            entities: 5,
            facts: 5,
            open,
            to_come,
            predicates,
        };
        assert_eq!(
            counts(&*store, Timestamp::from_microseconds(now)),
            expected,
            "at {now}"
        );
    }
    assert_eq!(
        store.fact_counts(&space("empty"), NOW),
        Ok(FactCounts::default())
    );
    let mut elsewhere = store
        .fact_counts(&space("other"), NOW)
        .expect("the store can be read");
    assert_eq!(std::mem::take(&mut elsewhere.predicates), ["elsewhere"]);
    assert_eq!(
        (elsewhere.entities, elsewhere.facts, elsewhere.open),
        (2, 1, 1)
    );
}

pub(super) fn facts_belong_to_nobody_in_their_space(make: MakeStore<'_>) {
    let store = make();
    let all = [
        fact("1", ["ann", "knows", "bob"]),
        ended(fact("2", ["bob", "knows", "ann"]), period(1, 2)),
    ];
    for fact in &all {
        commit(&*store, put_fact(fact));
    }
    for owner in ["ann", "bob"] {
        store
            .wipe(&Space::default(), owner, None, None, NOW)
            .expect("the data is wiped");
        assert_eq!(facts(&*store, &everything()), all);
    }
    assert_eq!(counts(&*store, NOW).facts, 2);
}
