//! A process that goes on while a newer loci upgrades the database.

use loci_core::{
    AuditQuery, AuditStore, CandidateQuery, ErrorCode, Memory, Page, Result, Space, Store, Tier,
    TokenStore, Visibility,
};
use loci_store_sqlite::SqliteStore;
use loci_testkit::contract::{filter, memory, passage, put};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::{all, open};

/// A connection of a newer loci, whose checksums are others.
fn of_newer(folder: &std::path::Path) -> Connection {
    let database = Connection::open(folder.join("loci.db")).unwrap();
    database
        .create_scalar_function(
            "loci_checksum",
            -1,
            FunctionFlags::SQLITE_DETERMINISTIC,
            |_| Ok(0),
        )
        .unwrap();
    database
}

/// The code of a refusal whose message holds these words.
fn code_of(words: &str) -> ErrorCode {
    if words == "is damaged" {
        ErrorCode::Corrupt
    } else {
        ErrorCode::Unavailable
    }
}

#[test]
fn a_database_of_another_version_is_not_written_and_one_of_a_newer_version_not_read() {
    let rows = [
        ("UPDATE analysis SET version = 99", "a newer loci"),
        ("PRAGMA user_version = 99", "a newer loci"),
        // The newer schema may note its analysis elsewhere.
        (
            "PRAGMA user_version = 99; DROP TABLE analysis",
            "a newer loci",
        ),
        ("PRAGMA user_version = 1", "is damaged"),
        ("DELETE FROM analysis", "is damaged"),
    ];
    for (upgrade, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (before, after) = (memory("before"), memory("later"));
        store.commit(put(&before, vec![passage("word")])).unwrap();
        let version = store.version(&Space::default()).unwrap();
        let found = |store: &SqliteStore| {
            store
                .candidates(&CandidateQuery::of(&filter(), 9))
                .map(drop)
        };
        found(&store).unwrap();
        let database = of_newer(folder.path());
        database.execute_batch(upgrade).unwrap();
        for _ in 0..2 {
            let refused = store
                .commit(put(&after, vec![passage("word")]))
                .unwrap_err();
            assert_eq!(refused.code, code_of(expected), "{upgrade}");
            assert!(refused.message.contains(expected), "{upgrade}: {refused}");
        }
        if expected == "is damaged" {
            assert_eq!(
                (all(&store), store.version(&Space::default())),
                (vec![before.id], Ok(version)),
                "{upgrade}"
            );
        } else {
            for refused in [
                store.version(&Space::default()).map(drop),
                found(&store),
                store.size().map(drop),
                found(&store),
            ] {
                let refused = refused.unwrap_err();
                assert!(refused.message.contains(expected), "{upgrade}: {refused}");
            }
        }
        // The newer loci is not kept from writing.
        database.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
    }
}

/// Values that no version knows yet, each where a column of a fixed set of names is read.
const UNKNOWN: &str = "PRAGMA ignore_check_constraints = ON;
    UPDATE memory SET enrichment = 'beyond' WHERE tier = 'short_term';
    UPDATE memory SET tier = 'beyond' WHERE tier = 'long_term';
    INSERT INTO change (memory) SELECT row FROM memory;
    INSERT INTO audit (space, at, dialect, tool, operation, duration, code)
        VALUES ('main', 0, 'd', 't', 'o', 0, 'beyond');
    INSERT INTO token (id, hash, space, subject, scopes, created_at)
        VALUES ('a', zeroblob(32), 'main', 'ann', 'beyond', 0);";

type Reading = fn(&SqliteStore) -> Result<()>;

const READINGS: [(&str, Reading); 6] = [
    ("list", |store| {
        store
            .list(
                &filter(),
                Page {
                    offset: 0,
                    limit: 9,
                },
            )
            .map(drop)
    }),
    ("get", |store| {
        store.get(&Space::default(), &memory("long").id).map(drop)
    }),
    ("candidates", |store| {
        store
            .candidates(&CandidateQuery::of(&filter(), 9))
            .map(drop)
    }),
    ("census", |store| {
        store
            .count_by_status(&Space::default(), "ann", filter().live_at)
            .map(drop)
    }),
    ("audit", |store| {
        store
            .audit(&AuditQuery {
                limit: 9,
                ..AuditQuery::default()
            })
            .map(drop)
    }),
    ("tokens", |store| store.tokens().map(drop)),
];

/// A store of one long-term and one short-term memory, whose index is loaded.
fn with_two_tiers(folder: &std::path::Path) -> SqliteStore {
    let store = open(folder);
    let (owner, visibility) = (Some("ann".to_owned()), Visibility::Private);
    let message = Memory {
        tier: Tier::ShortTerm,
        owner,
        visibility,
        ..memory("short")
    };
    for written in [memory("long"), message] {
        store.commit(put(&written, vec![passage("word")])).unwrap();
    }
    for (name, read) in READINGS {
        assert_eq!(read(&store), Ok(()), "{name}");
    }
    store
}

#[test]
fn what_a_newer_version_wrote_is_not_called_damaged() {
    let rows = [
        ("", "is damaged"),
        ("PRAGMA user_version = 1", "is damaged"),
        ("UPDATE analysis SET version = 99", "a newer loci"),
        ("PRAGMA user_version = 99", "a newer loci"),
        (
            "PRAGMA user_version = 99; DROP TABLE analysis",
            "a newer loci",
        ),
        // None of our statements fits it.
        (
            "PRAGMA user_version = 99; DROP TABLE content; DROP TABLE change; ALTER TABLE memory RENAME TO m",
            "a newer loci",
        ),
    ];
    for (upgrade, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let store = with_two_tiers(folder.path());
        let database = of_newer(folder.path());
        database
            .execute_batch(&format!("{UNKNOWN}{upgrade}"))
            .unwrap();
        // Twice, because a failure may have left something behind, e.g. half an index.
        for (name, read) in READINGS.iter().chain(&READINGS) {
            let refused = read(&store).unwrap_err();
            assert_eq!(refused.code, code_of(expected), "{name} {upgrade}");
            assert!(
                refused.message.contains(expected),
                "{name} {upgrade}: {refused}"
            );
        }
    }
}
