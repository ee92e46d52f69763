//! A process that goes on while a newer loci upgrades the database.

use loci_core::{ErrorCode, Store};
use loci_testkit::contract::{memory, passage, put};
use rusqlite::Connection;

use crate::{all, open};

#[test]
fn nothing_is_written_into_a_database_of_another_version() {
    let rows = [
        ("UPDATE analysis SET version = 99", "a newer loci"),
        ("PRAGMA user_version = 99", "a newer loci"),
        // The newer schema may note its analysis elsewhere.
        ("PRAGMA user_version = 99; DROP TABLE analysis", "a newer loci"),
        ("PRAGMA user_version = 1", "is damaged"),
        ("DELETE FROM analysis", "is damaged"),
    ];
    for (upgrade, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (before, after) = (memory("before"), memory("later"));
        store.commit(put(&before, vec![passage("word")])).unwrap();
        let version = store.version().unwrap();
        let database = Connection::open(folder.path().join("loci.db")).unwrap();
        database.execute_batch(upgrade).unwrap();
        for _ in 0..2 {
            let refused = store.commit(put(&after, vec![passage("word")])).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable, "{upgrade}");
            assert!(refused.message.contains(expected), "{upgrade}: {refused}");
        }
        assert_eq!((all(&store), store.version()), (vec![before.id], Ok(version)), "{upgrade}");
        // The newer loci is not kept from writing.
        database.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
    }
}
