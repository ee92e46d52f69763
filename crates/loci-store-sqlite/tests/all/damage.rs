//! Files that are no good are refused in words, never with a panic.
use loci_core::Maintenance;

use std::fs;

use loci_core::{
    AuditQuery, AuditStore, CacheStore, CandidateQuery, ErrorCode, FactQuery, FactStore,
    FilingOrder, IdempotencyStore, JobStore, ModelId, NoteStore, Page, Partition, SettingStore,
    SourceStore, Space, Store, TokenStore, TunnelStore, Work,
};
use loci_store_sqlite::{OpenError, Options, SqliteStore};
use loci_testkit::Random;
use loci_testkit::contract::{filter, memory, passage, put, sweep_of_expired};
use rusqlite::Connection;

use crate::open;

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let database = Connection::open(folder.path().join("loci.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::Newer { found: 99, .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("update loci"), "{refused}");
    let version: i64 = database
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_file_that_is_no_database_of_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loci.db");
    let text =
        "This is a text, and it is longer than the header of a database, which is 100 bytes long. "
            .repeat(20);
    fs::write(&path, &text).unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NotADatabase { .. }),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    fs::remove_file(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE somebodys (data TEXT)")
        .unwrap();
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NotADatabase { .. }),
        "{refused}"
    );
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    let refused = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(refused.to_string().contains("file"), "{refused}");
}

#[test]
fn a_damaged_database_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for number in 0..50 {
        let passages = vec![
            passage("some words of a passage"),
            passage("some more words"),
        ];
        store
            .commit(put(&memory(&number.to_string()), passages))
            .unwrap();
    }
    drop(store);
    let path = folder.path().join("loci.db");
    let whole = fs::read(&path).unwrap();
    let mut failures = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut damaged = whole.clone();
        for _ in 0..40 {
            let place = random.below(damaged.len());
            damaged[place] = random.bits() as u8;
        }
        if random.chance(30) {
            damaged.truncate(random.below(damaged.len()));
        }
        let _ = fs::remove_file(folder.path().join("loci.db-wal"));
        let _ = fs::remove_file(folder.path().join("loci.db-shm"));
        fs::write(&path, damaged).unwrap();
        failures += usize::from(!survives(folder.path()));
    }
    assert!(failures > 10, "so much damage is seen: {failures}");
}

/// Uses a damaged store in every way; whether nothing failed.
fn survives(folder: &std::path::Path) -> bool {
    let Ok(store) = SqliteStore::open(folder, Options::default()) else {
        return false;
    };
    let (terms, everything) = (["words".to_owned()], filter());
    let query = CandidateQuery {
        terms: &terms,
        ..CandidateQuery::of(&everything, 10)
    };
    let page = Page {
        offset: 0,
        limit: 100,
    };
    let (space, now) = (Space::default(), filter().live_at);
    let facts = FactQuery {
        space: space.clone(),
        entity: None,
        triple: None,
        relation: None,
        as_of: None,
        beyond: None,
        offset: 0,
        limit: 10,
    };
    let whole = store
        .structure_check()
        .is_ok_and(|findings| findings.is_empty());
    let answers = [
        store.list(&filter(), page).err(),
        store
            .list_by_insertion(&filter(), FilingOrder::LastFirst, page)
            .err(),
        store.count_by_location(&filter()).err(),
        store.count_uncached(&filter()).err(),
        store.facts(&facts).err(),
        store.fact_counts(&space, now).err(),
        store.tunnels(&space).err(),
        store.setting(&space, None, "name").err(),
        store.source_file(&space, "", None, "path").err(),
        store.source_files(&space, "", None).err(),
        store.pending_sources(&space, "", 10).err(),
        store.candidates(&query).err(),
        store
            .without_vector(
                &Partition::Whole,
                &ModelId::new("none"),
                FilingOrder::FirstFirst,
                100,
            )
            .err(),
        store.tokens().err(),
        store.size().err(),
        store.count_by_status(&space, "ann", now).err(),
        store.lease_jobs(now, now, "lease", 10).err(),
        store
            .partitions_with(Work::Sweep(&sweep_of_expired(now)), None, 1)
            .err(),
        store
            .nearest_cache_entries(&space, "ann", "query", None, now, 1)
            .err(),
        store.note_files(&space).err(),
        store.note_file_of(&space, &memory("0").id).err(),
        store.notes_among(&filter(), 10).err(),
        store.note_folder(&space).err(),
        store
            .idempotent_reply(&space, Some("ann"), "operation", "key", now)
            .err(),
        store.secret().err(),
        store
            .audit(&AuditQuery {
                limit: 10,
                ..AuditQuery::default()
            })
            .err(),
        store.soft_delete(&filter(), None, now, 10).err(),
        store
            .sweep(&Partition::Whole, &sweep_of_expired(now), 10)
            .err(),
        store.wipe(&space, "ann", None, None, now).err(),
        store
            .commit(put(&memory("new"), vec![passage("words")]))
            .err(),
    ];
    for error in answers.iter().flatten() {
        assert!(
            matches!(
                error.code,
                ErrorCode::Corrupt | ErrorCode::Unavailable | ErrorCode::Internal
            ),
            "{error:?}"
        );
    }
    whole && answers.iter().all(Option::is_none)
}
