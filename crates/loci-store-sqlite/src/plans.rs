//! What must not cost by everything that the store holds does not: the plans of its statements.

use loci_core::{
    AuditQuery, CollectionFilter, Filter, Forgotten, MemoryId, OwnerFilter, Reader, Space, Superseded, Sweep, Tier,
    Timestamp,
};
use rusqlite::Connection;

use crate::filter_sql::Conditions;
use crate::{answers, audit, jobs, keyed_answers, note_files, read, remove, schema};

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
    let owner = OwnerFilter::Only("ann".to_owned());
    Filter { owner, ..Filter::of(Space::default(), Reader::of(Some("ann")), Timestamp::MIN) }
}

/// What came in through one tool set and is filed in one place, of an owner and of nobody.
fn of_places() -> [Filter; 2] {
    let origin = Some("engram".to_owned());
    let strict = Reader { shared: false, own_origin: origin.clone(), ..Reader::of(Some("ann")) };
    let of_ann = Filter {
        reader: strict,
        origin,
        tiers: vec![Tier::LongTerm, Tier::Apart],
        collections: CollectionFilter::Only("project".to_owned()),
        superseded: Superseded::Hide,
        ..of_owner()
    };
    [Filter { owner: OwnerFilter::Nobody, ..of_ann.clone() }, of_ann]
}

#[test]
fn what_is_done_for_one_user_or_one_moment_reads_no_whole_table() {
    let moment = Timestamp::MIN;
    let sweep = Sweep { expired_at: moment, deleted_until: moment, audited_before: moment, wiped_before: moment };
    let narrow =
        Filter { tags: vec!["a".to_owned()], created_from: Some(moment), created_until: Some(moment), ..of_owner() };
    let id = MemoryId::new("a");
    let mut statements = vec![
        read::CENSUS.to_owned(),
        read::THREAD_END.to_owned(),
        remove::WIPED.to_owned(),
        remove::LAST_WIPE.to_owned(),
        remove::deletable_sql(&remove::chosen(&of_owner(), None)),
        remove::deletable_sql(&remove::chosen(&narrow, None)),
        remove::deletable_sql(&remove::chosen(&narrow, Some(&id))),
        remove::OFFSPRING.to_owned(),
        remove::TRIM.to_owned(),
        jobs::DUE.to_owned(),
        jobs::NEXT.to_owned(),
        answers::LIVE.to_owned(),
        keyed_answers::find_sql(),
        keyed_answers::EXCEEDS.to_owned(),
        keyed_answers::REMOVE_OLDEST.to_owned(),
        note_files::all_sql(),
        note_files::of_memory_sql(),
        note_files::among_sql(&Conditions::of(&of_owner())),
    ];
    statements.extend(remove::WIPES.map(str::to_owned));
    statements.extend([remove::WIPED_ANSWERS, remove::WIPED_CALLS, remove::UNNAME].map(str::to_owned));
    let [of_nobody, of_ann] = of_places();
    statements.push(remove::deletable_sql(&remove::chosen(&of_ann, None)));
    for filter in [of_nobody, of_ann] {
        let conditions = Conditions::of(&filter);
        statements.extend([read::list_sql(&conditions), read::tally_sql(&filter, &conditions)]);
    }
    statements.extend(remove::Due::all(&sweep).iter().map(remove::Due::sql));
    for sql in statements {
        let steps = plan(&sql);
        // A list in an argument is no table, and a constant no row of one.
        let scans = steps.iter().filter(|step| step.starts_with("SCAN"));
        let scans: Vec<_> =
            scans.filter(|step| !step.contains("VIRTUAL TABLE") && !step.contains("CONSTANT ROW")).collect();
        assert_eq!(scans, Vec::<&String>::new(), "{sql}");
        assert!(!steps.iter().any(|step| step.contains("ORDER BY")), "{sql}: {steps:?}");
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
fn what_is_read_of_all_that_one_owner_has_is_found_by_the_owner() {
    let in_collection = Filter { collections: CollectionFilter::Only("project".to_owned()), ..of_owner() };
    let [_, of_ann] = of_places();
    let cleared = Filter { superseded: Superseded::Show, created_until: Some(Timestamp::MIN), ..of_ann };
    for filter in [of_owner(), in_collection, cleared] {
        let conditions = Conditions::of(&filter);
        for sql in [read::tally_sql(&filter, &conditions), read::revisions_sql(&filter, &conditions)] {
            let steps = plan(&sql);
            assert!(steps[0].contains("SEARCH m USING INDEX memory_by_owner (space=? AND owner=?"), "{steps:?}");
        }
    }
}

#[test]
fn what_is_checked_again_before_a_soft_deletion_is_found_by_its_row() {
    let steps = plan(&remove::still_chosen_sql(&remove::chosen(&of_owner(), None)));
    assert!(steps.iter().any(|step| step.starts_with("SEARCH m USING INTEGER PRIMARY KEY")), "{steps:?}");
}

#[test]
fn the_audit_entries_of_one_user_are_read_in_their_order() {
    for after in [None, Some(7)] {
        for space in [None, Some(Space::default())] {
            let since = Some(Timestamp::MIN);
            let query = AuditQuery { space, user: Some("ann".to_owned()), after, since, ..AuditQuery::default() };
            let steps = plan(&audit::select(&query).0);
            assert_eq!(steps.len(), 1, "{steps:?}");
            assert!(steps[0].contains("USING INDEX audit_by_user (user=?"), "{steps:?}");
        }
    }
}

#[test]
fn what_is_asked_of_notes_and_of_keys_is_found_by_index() {
    let of = |filter: &Filter| note_files::among_sql(&Conditions::of(filter));
    let hiding = Filter { superseded: Superseded::Hide, forgotten: Forgotten::Hide, ..of_owner() };
    let rows = [
        (
            note_files::of_memory_sql(),
            "SEARCH note_file USING INDEX note_file_by_memory (space=? AND memory=? AND missing_since=?)",
        ),
        (of(&of_owner()), "SEARCH n USING COVERING INDEX note_file_by_memory (space=? AND memory>?)"),
        (of(&hiding), "SEARCH n USING COVERING INDEX note_file_by_memory (space=? AND memory>?)"),
        (
            keyed_answers::find_sql(),
            "SEARCH keyed_answer USING INDEX keyed_answer_by_key (space=? AND <expr>=? AND operation=? AND key=?)",
        ),
        (keyed_answers::EXCEEDS.to_owned(), "SEARCH keyed_answer_total USING PRIMARY KEY (space=? AND owner=?)"),
        (
            keyed_answers::REMOVE_OLDEST.to_owned(),
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
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
    }
}

#[test]
fn a_listing_reads_in_the_order_of_its_index() {
    // Without the look for successors, which sorts the few that each memory has.
    let one_tier =
        Filter { owner: OwnerFilter::Any, tiers: vec![Tier::LongTerm], superseded: Superseded::Hide, ..of_owner() };
    let tiers = Filter { tiers: Tier::OF_CONVERSATIONS.to_vec(), ..one_tier.clone() };
    let by_update = [one_tier, tiers].map(|filter| (filter, "memory_by_update (space=?"));
    let by_place = of_places().map(|filter| (filter, "memory_by_collection (space=? AND collection=?"));
    let indexes: Vec<_> = by_update.into_iter().chain(by_place).collect();
    let hiding =
        indexes.iter().map(|(filter, index)| (Filter { forgotten: Forgotten::Hide, ..filter.clone() }, *index));
    for (filter, index) in indexes.iter().cloned().chain(hiding) {
        let steps = plan(&read::list_sql(&Conditions::of(&filter)));
        assert!(steps[0].contains(&format!("SEARCH m USING INDEX {index}")), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("FOR ORDER BY")), "{steps:?}");
        if !matches!(filter.owner, OwnerFilter::Only(_)) {
            let revisions = plan(&read::revisions_sql(&filter, &Conditions::of(&filter)));
            assert_eq!(revisions[0], steps[0]);
            assert!(!revisions.iter().any(|step| step.contains("FOR ORDER BY")), "{revisions:?}");
        }
    }
}
