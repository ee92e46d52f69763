//! Tests of query plans: no statement on a caller's path scans all that the store holds.

use loci_core::{
    AuditQuery, CollectionFilter, Delivery, Direction, FactQuery, FilingOrder, Filter, Forgotten,
    MemoryId, OwnerFilter, Period, Reader, Space, Superseded, Sweep, Tier, Timestamp,
};
use rusqlite::Connection;

use crate::integrity::checksum;
use crate::opening::schema;
use crate::statements::filter_sql::Conditions;
use crate::statements::{
    answers, audit, counts, daily, facts, filed, idempotent_replies, jobs, note_files, open_items,
    read, record_versions, remove, source_files, tombstones, versions, wipes,
};

fn fresh() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    checksum::register(&connection).unwrap();
    schema::migrate(&mut connection, &schema::migrations().unwrap()).unwrap();
    connection
}

/// The steps by which a fresh database would run a statement. Without statistics, which loci never
/// gathers, they do not depend on the data.
fn plan(sql: &str) -> Vec<String> {
    let connection = fresh();
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let steps = statement.raw_query().mapped(|row| row.get("detail"));
    steps.collect::<rusqlite::Result<_>>().unwrap()
}

fn of_owner() -> Filter {
    let owner = OwnerFilter::Only("ann".to_owned());
    Filter {
        owner,
        ..Filter::of(Space::default(), Reader::of(Some("ann")), Timestamp::MIN)
    }
}

/// Filters for the memories of one dialect in one location, with an owner and without.
fn of_places() -> [Filter; 2] {
    let origin = Some("engram".to_owned());
    let strict = Reader {
        shared: false,
        own_origin: origin.clone(),
        ..Reader::of(Some("ann"))
    };
    let of_ann = Filter {
        reader: strict,
        origins: origin.into_iter().collect(),
        tiers: vec![Tier::LongTerm, Tier::Unlisted],
        collections: CollectionFilter::Only("project".to_owned()),
        superseded: Superseded::Hide,
        ..of_owner()
    };
    [
        Filter {
            owner: OwnerFilter::Nobody,
            ..of_ann.clone()
        },
        of_ann,
    ]
}

#[test]
fn what_is_done_for_one_user_or_one_moment_reads_no_whole_table() {
    let moment = Timestamp::MIN;
    let sweep = Sweep {
        expired_at: moment,
        deleted_until: moment,
        audited_before: moment,
        wiped_before: moment,
        counted_before: 0,
        changed_before: moment,
    };
    let narrow = Filter {
        tags: vec!["a".to_owned()],
        created_from: Some(moment),
        created_until: Some(moment),
        ..of_owner()
    };
    let id = MemoryId::new("a");
    let mut statements = vec![
        read::CENSUS.to_owned(),
        read::THREAD_END.to_owned(),
        read::MADE_FROM.to_owned(),
        remove::WIPED.to_owned(),
        remove::REWRITTEN.to_owned(),
        versions::REWRITTEN.to_owned(),
        versions::WIPED_DAMAGE.to_owned(),
        versions::CHANGES_REWRITTEN.to_owned(),
        versions::WIPED_DAMAGED_CHANGES.to_owned(),
        versions::LEFT_BY_OWNER.to_owned(),
        versions::of_memory_sql(),
        remove::PSEUDONYMISED_CALLS.to_owned(),
        remove::PSEUDONYMISED_RECORDS.to_owned(),
        remove::PSEUDONYMISED_COUNTS.to_owned(),
        wipes::LAST_WIPE.to_owned(),
        remove::deletable_sql(&remove::chosen(&of_owner(), None)),
        remove::deletable_sql(&remove::chosen(&narrow, None)),
        remove::deletable_sql(&remove::chosen(&narrow, Some(&id))),
        remove::OFFSPRING.to_owned(),
        remove::TRIM.to_owned(),
        jobs::DUE.to_owned(),
        jobs::NEXT.to_owned(),
        answers::LIVE.to_owned(),
        idempotent_replies::find_sql(),
        idempotent_replies::IS_GONE.to_owned(),
        idempotent_replies::EXCEEDS.to_owned(),
        idempotent_replies::REMOVE_OLDEST.to_owned(),
        note_files::all_sql(),
        note_files::of_memory_sql(),
        note_files::among_sql(&Conditions::of(&of_owner())),
        facts::ENDED.to_owned(),
        facts::TO_COME.to_owned(),
        facts::SAME.to_owned(),
        facts::DISOWNED.to_owned(),
        facts::UNUSED.to_owned(),
        record_versions::EVICT.to_owned(),
        record_versions::REMOVE.to_owned(),
        record_versions::DISOWNED.to_owned(),
        record_versions::CHANGES_DISOWNED.to_owned(),
        record_versions::of_record_sql(),
        facts::with_id(),
        source_files::of_collection_sql(),
        source_files::pending_sql(),
        daily::WIPED.to_owned(),
        daily::select(true),
        daily::select(false),
        tombstones::NEXT_SALT.to_owned(),
        tombstones::EVICT.to_owned(),
        tombstones::of_text_sql(),
        tombstones::page_sql(),
    ];
    statements.extend(
        remove::WIPES
            .into_iter()
            .chain(remove::WIPES_OF_ALL)
            .map(str::to_owned),
    );
    let of_wipes = [
        remove::WIPED_ANSWERS,
        remove::WIPED_CALLS,
        remove::WIPED_DAMAGE,
        remove::WIPED_NOTE,
        remove::UNNAME,
    ];
    statements.extend(of_wipes.map(str::to_owned));
    let [of_nobody, of_ann] = of_places();
    statements.push(remove::deletable_sql(&remove::chosen(&of_ann, None)));
    for filter in [of_nobody, of_ann] {
        let conditions = Conditions::of(&filter);
        statements.extend([
            read::list_sql(&filter, &conditions),
            counts::by_location_sql(&counts::recounted_rows_sql(&filter, &conditions)),
        ]);
    }
    statements.extend(
        remove::DueRows::all(&sweep)
            .iter()
            .map(remove::DueRows::sql),
    );
    for sql in statements {
        let steps = plan(&sql);
        // A list in an argument is no table, and a constant no row of one.
        let scans = steps.iter().filter(|step| step.starts_with("SCAN"));
        let scans: Vec<_> = scans
            .filter(|step| !step.contains("VIRTUAL TABLE") && !step.contains("CONSTANT ROW"))
            .collect();
        assert_eq!(scans, Vec::<&String>::new(), "{sql}");
        assert!(
            !steps.iter().any(|step| step.contains("ORDER BY")),
            "{sql}: {steps:?}"
        );
    }
}

/// So that the last changes cost by their number, whatever else is kept.
#[test]
fn changes_are_read_in_the_order_of_an_index() {
    let steps = plan(&versions::changes_sql());
    assert!(
        steps[0].starts_with("SEARCH v USING INDEX version_by_change (changed_at"),
        "{steps:?}"
    );
    let of_records = plan(&record_versions::changes_sql());
    assert!(
        of_records[0].starts_with("SEARCH v USING INDEX record_version_by_change (changed_at"),
        "{of_records:?}"
    );
    // Only changes of one moment are sorted.
    assert!(
        steps.contains(&"USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY".to_owned()),
        "{steps:?}"
    );
}

/// So that a round of embedding costs by what it embeds, whatever else waits.
#[test]
fn what_waits_for_a_model_is_read_in_the_order_of_an_index() {
    for order in [FilingOrder::FirstFirst, FilingOrder::LastFirst] {
        for range in read::WITHOUT_MODEL {
            let steps = plan(&read::without_vector_sql(range, order));
            assert!(
                steps[0].starts_with("SEARCH p USING COVERING INDEX passage_by_model (model"),
                "{steps:?}"
            );
            assert!(
                !steps.iter().any(|step| step.contains("TEMP B-TREE")),
                "{steps:?}"
            );
        }
    }
}

#[test]
fn the_ends_of_the_log_are_found_without_reading_it() {
    let steps = plan(open_items::LOG_ENDS);
    assert!(
        steps.iter().all(|step| !step.starts_with("SCAN change")),
        "{steps:?}"
    );
}

#[test]
fn a_census_reads_an_index_alone() {
    let searches: Vec<_> = plan(read::CENSUS)
        .into_iter()
        .filter(|step| step.starts_with("SEARCH"))
        .collect();
    assert_eq!(searches.len(), 2);
    for search in searches {
        assert!(
            search.contains("USING COVERING INDEX memory_by_owner (space=? AND owner=? AND tier="),
            "{search}"
        );
    }
}

#[test]
fn what_is_read_of_all_that_one_owner_has_is_found_by_the_owner() {
    let in_collection = Filter {
        collections: CollectionFilter::Only("project".to_owned()),
        ..of_owner()
    };
    let [_, of_ann] = of_places();
    let cleared = Filter {
        superseded: Superseded::Show,
        created_until: Some(Timestamp::MIN),
        ..of_ann
    };
    for filter in [of_owner(), in_collection, cleared] {
        let conditions = Conditions::of(&filter);
        for sql in [
            counts::by_location_sql(&counts::recounted_rows_sql(&filter, &conditions)),
            read::revisions_sql(&filter, &conditions),
        ] {
            let steps = plan(&sql);
            assert!(
                steps[0].contains("SEARCH m USING INDEX memory_by_owner (space=? AND owner=?"),
                "{steps:?}"
            );
        }
    }
}

#[test]
fn what_is_checked_again_before_a_soft_deletion_is_found_by_its_row() {
    let steps = plan(&remove::still_chosen_sql(&remove::chosen(
        &of_owner(),
        None,
    )));
    assert!(
        steps
            .iter()
            .any(|step| step.starts_with("SEARCH m USING INTEGER PRIMARY KEY")),
        "{steps:?}"
    );
}

#[test]
fn the_audit_entries_of_one_user_are_read_in_their_order() {
    for after in [None, Some(7)] {
        let query = AuditQuery {
            user: Some("ann".to_owned()),
            after,
            since: Some(Timestamp::MIN),
            ..AuditQuery::default()
        };
        let steps = plan(&audit::select(&query).0);
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(
            steps[0].contains("USING INDEX audit_by_user (user=?"),
            "{steps:?}"
        );
    }
}

#[test]
fn what_is_asked_of_notes_and_of_keys_is_found_by_index() {
    let of = |filter: &Filter| note_files::among_sql(&Conditions::of(filter));
    let hiding = Filter {
        superseded: Superseded::Hide,
        forgotten: Forgotten::Hide,
        ..of_owner()
    };
    let rows = [
        (
            note_files::of_memory_sql(),
            "SEARCH note_file USING INDEX note_file_by_memory (space=? AND memory=?)",
        ),
        (
            of(&of_owner()),
            "SEARCH n USING COVERING INDEX note_file_by_memory (space=?)",
        ),
        (
            of(&hiding),
            "SEARCH n USING COVERING INDEX note_file_by_memory (space=?)",
        ),
        (
            idempotent_replies::find_sql(),
            "SEARCH keyed_answer USING INDEX keyed_answer_by_key (space=? AND <expr>=? AND operation=? AND key=?)",
        ),
        (
            idempotent_replies::EXCEEDS.to_owned(),
            "SEARCH keyed_answer_total USING PRIMARY KEY (space=? AND owner=?)",
        ),
        (
            idempotent_replies::REMOVE_OLDEST.to_owned(),
            "SEARCH keyed_answer USING COVERING INDEX keyed_answer_by_age (space=? AND <expr>=?)",
        ),
        (
            remove::WIPED_ANSWERS.to_owned(),
            "SEARCH keyed_answer USING INDEX keyed_answer_by_age (space=? AND <expr>=?)",
        ),
    ];
    for (sql, expected) in rows {
        let steps = plan(&sql);
        assert!(steps.iter().any(|step| step == expected), "{steps:?}");
        assert!(
            !steps.iter().any(|step| step.contains("TEMP B-TREE")),
            "{steps:?}"
        );
    }
}

#[test]
fn a_listing_reads_in_the_order_of_its_index() {
    // Without the look for successors, which sorts the few that each memory has.
    let one_tier = Filter {
        owner: OwnerFilter::Any,
        tiers: vec![Tier::LongTerm],
        superseded: Superseded::Hide,
        ..of_owner()
    };
    let tiers = Filter {
        tiers: Tier::OF_CONVERSATIONS.to_vec(),
        ..one_tier.clone()
    };
    let by_update = [one_tier, tiers].map(|filter| (filter, "memory_by_update (space=?"));
    let by_place =
        of_places().map(|filter| (filter, "memory_by_collection (space=? AND collection=?"));
    let [_, of_project] = of_places();
    let of_bootstrap = [by_update[0].0.clone(), of_project].map(|filter| {
        let filter = Filter {
            delivery: Some(Delivery::Bootstrap),
            ..filter
        };
        (filter, "memory_of_bootstrap (space=?)")
    });
    let indexes: Vec<_> = by_update
        .into_iter()
        .chain(by_place)
        .chain(of_bootstrap)
        .collect();
    let hiding = indexes.iter().map(|(filter, index)| {
        (
            Filter {
                forgotten: Forgotten::Hide,
                ..filter.clone()
            },
            *index,
        )
    });
    for (filter, index) in indexes.iter().cloned().chain(hiding) {
        let steps = plan(&read::list_sql(&filter, &Conditions::of(&filter)));
        assert!(
            steps[0].contains(&format!("SEARCH m USING INDEX {index}")),
            "{steps:?}"
        );
        assert!(
            !steps.iter().any(|step| step.contains("FOR ORDER BY")),
            "{steps:?}"
        );
        if !matches!(filter.owner, OwnerFilter::Only(_)) && filter.delivery.is_none() {
            let revisions = plan(&read::revisions_sql(&filter, &Conditions::of(&filter)));
            assert_eq!(revisions[0], steps[0]);
            assert!(
                !revisions.iter().any(|step| step.contains("FOR ORDER BY")),
                "{revisions:?}"
            );
        }
    }
}

/// Returns the filter of a palace for these collections and sections.
fn of_palace(collections: CollectionFilter, sections: &[&str]) -> Filter {
    Filter {
        tiers: vec![Tier::LongTerm, Tier::Unlisted],
        unlisted_origin: Some("mempalace".to_owned()),
        collections,
        sections: sections
            .iter()
            .map(|section| (*section).to_owned())
            .collect(),
        forgotten: Forgotten::Hide,
        ..Filter::of(Space::default(), Reader::of(Some("ann")), Timestamp::MIN)
    }
}

#[test]
fn a_page_in_the_order_of_filing_is_found_in_the_order_of_an_index() {
    let wing = || CollectionFilter::Only("wing".to_owned());
    let rows = [
        (
            of_palace(CollectionFilter::Any, &["room"]),
            "memory_filed (space=?)",
        ),
        (
            of_palace(CollectionFilter::Any, &[]),
            "memory_filed (space=?)",
        ),
        (
            of_palace(CollectionFilter::AnyNamed, &["room"]),
            "memory_filed (space=?)",
        ),
        (
            of_palace(CollectionFilter::GlobalAnd("wing".to_owned()), &["a", "b"]),
            "memory_filed (space=?)",
        ),
        (
            of_palace(wing(), &[]),
            "memory_filed_in_collection (space=? AND collection=?)",
        ),
        (
            of_palace(wing(), &["a", "b"]),
            "memory_filed_in_collection (space=? AND collection=?)",
        ),
        (
            of_palace(CollectionFilter::Global, &[]),
            "memory_filed_in_collection (space=? AND collection=?)",
        ),
        (
            of_palace(wing(), &["room"]),
            "memory_filed_in_section (space=? AND collection=? AND section=?)",
        ),
        (
            Filter {
                kinds: vec!["decision".to_owned()],
                ..of_palace(wing(), &["room"])
            },
            "memory_filed_in_section (space=? AND collection=? AND section=?)",
        ),
        (
            of_palace(CollectionFilter::Global, &["room"]),
            "memory_filed_in_section (space=? AND collection=? AND section=?)",
        ),
    ];
    for (filter, index) in rows {
        for order in [FilingOrder::FirstFirst, FilingOrder::LastFirst] {
            for reader in [filter.reader.clone(), Reader::everything()] {
                let f = Filter {
                    reader,
                    ..filter.clone()
                };
                // What goes on from a number finds it in the index, and skips nothing.
                let steps = plan(&filed::filed_beyond_sql(&f, order).0);
                assert_eq!(steps[0], "CO-ROUTINE page");
                assert!(steps[1].starts_with("SEARCH m USING"), "{steps:?}");
                let page = steps.iter().position(|step| step == "SCAN page").unwrap();
                let sorts = |step: &String| step.contains("TEMP B-TREE");
                assert!(!steps[..page].iter().any(sorts), "{steps:?}");
                let steps = plan(&filed::filed_sql(&f, order).0);
                assert_eq!(
                    steps[..2],
                    [
                        "CO-ROUTINE page".to_owned(),
                        format!("SEARCH m USING INDEX {index}")
                    ]
                );
                // Only the page is sorted, for the join.
                let page = steps.iter().position(|step| step == "SCAN page").unwrap();
                assert!(
                    !steps[..page]
                        .iter()
                        .any(|step| step.contains("TEMP B-TREE")),
                    "{steps:?}"
                );
            }
        }
    }
}

#[test]
fn a_page_of_several_collections_is_found_in_the_order_of_each() {
    let names = [Some("a"), None, Some("repo:a")];
    let collections = CollectionFilter::AnyOf(names.map(|name| name.map(str::to_owned)).into());
    for (sections, index) in [
        (
            &["room"][..],
            "SEARCH m USING INDEX memory_filed_in_section (space=? AND collection=? AND section=?)",
        ),
        (
            &[],
            "SEARCH m USING INDEX memory_filed_in_collection (space=? AND collection=?)",
        ),
    ] {
        let filter = of_palace(collections.clone(), sections);
        for order in [FilingOrder::FirstFirst, FilingOrder::LastFirst] {
            let steps = plan(&filed::filed_sql(&filter, order).0);
            let of_index = steps.iter().filter(|step| *step == index);
            assert_eq!(of_index.count(), names.len(), "{steps:?}");
            // No further number is looked at in any of them.
            let steps = plan(&filed::filed_beyond_sql(&filter, order).0);
            let searches = steps
                .iter()
                .filter(|step| step.starts_with("SEARCH m USING INDEX memory_filed"));
            assert_eq!(searches.count(), names.len(), "{steps:?}");
        }
    }
}

#[test]
fn what_is_in_a_thread_is_found_by_it() {
    let filter = Filter {
        thread: Some("talk".to_owned()),
        ..of_palace(CollectionFilter::Only("wing".to_owned()), &["room"])
    };
    for owner in [OwnerFilter::Any, OwnerFilter::Only("ann".to_owned())] {
        let filter = Filter {
            owner,
            ..filter.clone()
        };
        let conditions = Conditions::of(&filter);
        for sql in [
            read::list_sql(&filter, &conditions),
            read::revisions_sql(&filter, &conditions),
            filed::filed_sql(&filter, FilingOrder::FirstFirst).0,
            counts::by_location_sql(&counts::recounted_rows_sql(&filter, &conditions)),
        ] {
            let steps = plan(&sql);
            let of_thread =
                "SEARCH memory USING COVERING INDEX memory_by_thread (space=? AND thread=?)";
            assert!(steps.iter().any(|step| step == of_thread), "{steps:?}");
            let reads = steps.iter().filter(|step| step.starts_with("SEARCH m "));
            assert!(reads.clone().count() > 0, "{steps:?}");
            for step in reads {
                assert_eq!(
                    step, "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)",
                    "{sql}"
                );
            }
        }
    }
}

#[test]
fn counts_of_places_are_read_as_far_as_the_caller_reaches() {
    let filter = of_palace(CollectionFilter::Any, &[]);
    let strict = Reader {
        shared: false,
        own_origin: Some("engram".to_owned()),
        ..Reader::of(Some("ann"))
    };
    let counts = |columns: &str| format!("SEARCH place_count USING PRIMARY KEY ({columns})");
    let (every, all, own) = (
        counts("space=?"),
        counts("space=? AND visibility=?"),
        counts("space=? AND visibility=? AND owner=?"),
    );
    let rows = [
        (Reader::everything(), vec![&every]),
        (Reader::of(Some("ann")), vec![&all, &all, &own]),
        (strict, vec![&all, &own, &own]),
    ];
    for (reader, expected) in rows {
        let filter = Filter {
            reader,
            ..filter.clone()
        };
        let rows = counts::counted_rows_sql(&filter, &Conditions::of(&filter));
        let steps = plan(&counts::by_location_sql(&rows));
        let found: Vec<_> = steps
            .iter()
            .filter(|step| step.contains("place_count"))
            .collect();
        assert_eq!(found, expected);
        // Expiring memories only of these tiers.
        let expiring = "SEARCH m USING INDEX memory_expiring (space=? AND tier=? AND expires_at>?)";
        assert!(steps.iter().any(|step| step == expiring), "{steps:?}");
        assert!(
            !steps.iter().any(|step| step.starts_with("SCAN memory")),
            "{steps:?}"
        );
    }
}

#[test]
fn facts_are_found_by_what_they_are_about_or_read_in_their_order() {
    let triple = ["a", "b", "c"].map(str::to_owned);
    let by_subject = "SEARCH fact USING COVERING INDEX fact_by_subject (space=? AND subject=?)";
    let by_object = "SEARCH fact USING COVERING INDEX fact_by_object (space=? AND object=?)";
    let by_triple = "SEARCH fact USING COVERING INDEX fact_by_subject (space=? AND subject=? AND predicate=? AND object=?)";
    let relation = ["a", "b"].map(str::to_owned);
    let by_relation =
        "SEARCH fact USING COVERING INDEX fact_by_subject (space=? AND subject=? AND predicate=?)";
    let rows = [
        (
            None,
            None,
            None,
            vec!["SEARCH f USING INDEX fact_by_beginning (space=?)"],
        ),
        (Some(Direction::Outgoing), None, None, vec![by_subject]),
        (Some(Direction::Incoming), None, None, vec![by_object]),
        (
            Some(Direction::Both),
            None,
            None,
            vec![by_subject, by_object],
        ),
        (None, Some(triple), None, vec![by_triple]),
        (None, None, Some(relation), vec![by_relation]),
    ];
    let period = Period {
        first: Timestamp::MIN,
        last: Timestamp::MIN,
    };
    for (direction, triple, relation, expected) in rows {
        for as_of in [None, Some(period)] {
            let entity = direction.map(|direction| ("a".to_owned(), direction));
            let (triple, relation) = (triple.clone(), relation.clone());
            let query = FactQuery {
                space: Space::default(),
                entity,
                triple,
                relation,
                as_of,
                beyond: None,
                offset: 0,
                limit: 1,
            };
            let steps = plan(&facts::select(&query).0);
            let searches = steps
                .iter()
                .filter(|step| step.starts_with("SEARCH f") && !step.contains("rowid"));
            assert_eq!(searches.collect::<Vec<_>>(), expected, "{steps:?}");
        }
    }
}

#[test]
fn what_every_change_of_a_memory_sets_off_is_found_by_its_key() {
    let connection = fresh();
    let mut triggers = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap();
    let triggers = triggers
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let mut statements = 0;
    for trigger in triggers {
        let (name, sql): (String, String) = trigger.unwrap();
        let body = &sql[sql.find("BEGIN").unwrap() + 5..sql.rfind("END").unwrap()];
        for statement in body
            .split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
        {
            // Parameters in the place of the row that changes; a list in one of its columns is no
            // table.
            for step in plan(&statement.replace("new.", ":new_").replace("old.", ":old_")) {
                let is_scan = step.starts_with("SCAN") && !step.contains("VIRTUAL TABLE");
                let by_key = !is_scan && !step.ends_with("(space=?)");
                assert!(by_key || step == "SCALAR SUBQUERY 1", "{name}: {step}");
                statements += 1;
            }
        }
    }
    assert!(statements > 9, "{statements}");
}
