//! What must not cost by everything that the store holds does not: the plans of its statements.

use loci_core::{Filter, Reader, Space, Superseded, Sweep, Tier, Timestamp};
use rusqlite::Connection;

use crate::filter_sql::Conditions;
use crate::{answers, jobs, read, remove, schema};

/// The steps by which a fresh database would run a statement. Without statistics, which loci never
/// gathers, they do not depend on the data.
fn plan(sql: &str) -> Vec<String> {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::migrate(&mut connection, &schema::migrations().unwrap()).unwrap();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.raw_query().mapped(|row| row.get("detail"));
    steps.collect::<rusqlite::Result<_>>().unwrap()
}

fn of_owner() -> Filter {
    let reader = Reader { subject: Some("ann".to_owned()), everything: false };
    Filter { owner: Some("ann".to_owned()), ..Filter::of(Space::default(), reader, Timestamp::MIN) }
}

#[test]
fn what_is_done_for_one_user_or_one_moment_reads_no_whole_table() {
    let moment = Timestamp::MIN;
    let sweep = Sweep { expired_at: moment, deleted_until: moment, audited_before: moment, wiped_before: moment };
    let narrow = Conditions::of(&Filter {
        tags: vec!["a".to_owned()],
        created_from: Some(moment),
        created_until: Some(moment),
        ..of_owner()
    });
    let mut statements = vec![
        read::CENSUS.to_owned(),
        read::THREAD_END.to_owned(),
        remove::WIPED.to_owned(),
        remove::soft_delete_sql(&Conditions::of(&of_owner()), false),
        remove::soft_delete_sql(&narrow, false),
        remove::soft_delete_sql(&narrow, true),
        remove::OFFSPRING.to_owned(),
        remove::TRIM.to_owned(),
        jobs::DUE.to_owned(),
        jobs::NEXT.to_owned(),
        answers::LIVE.to_owned(),
    ];
    statements.extend(remove::WIPES.map(str::to_owned));
    statements.extend(remove::Due::all(&sweep).iter().map(remove::Due::sql));
    for sql in statements {
        let steps = plan(&sql);
        // A list in an argument is no table, and a constant no row of one.
        let scans = steps.iter().filter(|step| step.starts_with("SCAN"));
        let scans: Vec<_> =
            scans.filter(|step| !step.contains("VIRTUAL TABLE") && !step.contains("CONSTANT ROW")).collect();
        assert_eq!(scans, Vec::<&String>::new(), "{sql}");
        // What is sorted by its last terms alone is the few that have one moment.
        assert!(!steps.iter().any(|step| step.contains("FOR ORDER BY")), "{sql}: {steps:?}");
    }
}

#[test]
fn a_census_reads_an_index_alone() {
    let searches: Vec<_> = plan(read::CENSUS).into_iter().filter(|step| step.starts_with("SEARCH")).collect();
    assert_eq!(searches.len(), 2);
    for search in searches {
        assert!(search.contains("USING COVERING INDEX memory_by_owner (space=? AND owner=? AND tier="), "{search}");
    }
}

#[test]
fn a_listing_reads_in_the_order_of_its_index() {
    // Without the look for successors, which sorts the few that each memory has.
    let filter = Filter { owner: None, tier: Some(Tier::LongTerm), superseded: Superseded::Hide, ..of_owner() };
    let steps = plan(&read::list_sql(&Conditions::of(&filter)));
    assert!(steps.iter().any(|step| step.contains("USING INDEX memory_by_update")), "{steps:?}");
    assert!(!steps.iter().any(|step| step.contains("FOR ORDER BY")), "{steps:?}");
}
