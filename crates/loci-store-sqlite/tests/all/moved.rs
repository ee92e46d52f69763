//! Files that are moved, deleted or replaced: under an open store nothing is acknowledged then, and
//! no log is laid over a database that it does not belong to.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{CandidateQuery, ErrorCode, MemoryId, Page, Result, Store};
use loci_store_sqlite::{OpenError, Options, SqliteStore};
use loci_testkit::contract::{filter, memory, passage, put};
use tempfile::TempDir;

use super::{all, open};

/// A data folder that can be moved, in a folder of its own.
struct Place {
    above: TempDir,
    store: SqliteStore,
}

impl Place {
    /// With that many memories in its log.
    fn with(memories: usize) -> Self {
        let above = tempfile::tempdir().unwrap();
        let place = Place {
            store: open(&above.path().join("data")),
            above,
        };
        for number in 0..memories {
            place.write(&number.to_string()).unwrap();
        }
        place
    }

    fn data(&self) -> PathBuf {
        self.above.path().join("data")
    }

    fn elsewhere(&self) -> PathBuf {
        self.above.path().join("elsewhere")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    fn write(&self, id: &str) -> Result<()> {
        self.store.commit(put(&memory(id), vec![passage("word")]))
    }

    fn assert_not_writable(&self, context: &str) {
        for _ in 0..2 {
            let refused = self.write("lost").unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable, "{context}: {refused}");
            assert!(
                refused.message.contains("was moved, deleted or replaced"),
                "{context}: {refused}"
            );
            assert!(
                refused.message.contains(
                    self.data()
                        .canonicalize()
                        .unwrap_or_default()
                        .to_str()
                        .unwrap()
                )
            );
            assert_eq!(
                self.store.check_writable().unwrap_err().code,
                ErrorCode::Unavailable,
                "{context}"
            );
        }
    }
}

/// The files as they would be after a kill.
fn left(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = ["loci.db", "loci.db-wal", "loci.identity"];
    files
        .iter()
        .map(|name| ((*name).to_owned(), fs::read(folder.join(name)).unwrap()))
        .collect()
}

fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    for (name, bytes) in left(from) {
        fs::write(to.path().join(name), bytes).unwrap();
    }
    to
}

fn ids(numbers: std::ops::Range<usize>) -> Vec<MemoryId> {
    numbers
        .map(|number| MemoryId::new(number.to_string()))
        .collect()
}

#[test]
fn nothing_is_acknowledged_while_files_are_gone() {
    type Accident = (&'static str, fn(&Place), fn(&Place));
    let accidents: [Accident; 4] = [
        (
            "the folder is moved",
            |place| fs::rename(place.data(), place.elsewhere()).unwrap(),
            |place| fs::rename(place.elsewhere(), place.data()).unwrap(),
        ),
        (
            "the database is moved",
            |place| fs::rename(place.file("loci.db"), place.elsewhere()).unwrap(),
            |place| fs::rename(place.elsewhere(), place.file("loci.db")).unwrap(),
        ),
        (
            "the log is moved",
            |place| {
                fs::rename(place.file("loci.db-wal"), place.elsewhere()).unwrap();
                // So that it cannot be opened again.
                fs::rename(place.file("loci.db"), place.above.path().join("database")).unwrap();
            },
            |place| {
                fs::rename(place.above.path().join("database"), place.file("loci.db")).unwrap();
                fs::rename(place.elsewhere(), place.file("loci.db-wal")).unwrap();
            },
        ),
        (
            "the folder is moved and another is made",
            |place| {
                fs::rename(place.data(), place.elsewhere()).unwrap();
                drop(open(&place.data()));
            },
            |place| {
                fs::remove_dir_all(place.data()).unwrap();
                fs::rename(place.elsewhere(), place.data()).unwrap();
            },
        ),
    ];
    for (accident, happen, undo) in accidents {
        let place = Place::with(3);
        happen(&place);
        place.assert_not_writable(accident);
        assert_eq!(
            all(&place.store),
            ids(0..3),
            "{accident}: what was acknowledged can be read"
        );
        undo(&place);
        place.store.check_writable().unwrap();
        place.write("3").unwrap();
        let data = place.data();
        drop(place.store);
        assert_eq!(all(&open(&data)), ids(0..4), "{accident}");
    }
}

#[test]
fn nothing_is_acknowledged_after_a_deletion() {
    for name in ["", "loci.db"] {
        let place = Place::with(3);
        if name.is_empty() {
            fs::remove_dir_all(place.data()).unwrap();
        } else {
            fs::remove_file(place.file(name)).unwrap();
        }
        place.assert_not_writable(name);
        assert_eq!(all(&place.store), ids(0..3));
        let data = place.data();
        drop(place.store);
        assert!(
            !data.join("loci.db").exists(),
            "nothing is made in its place"
        );
    }
}

#[test]
fn a_log_that_is_deleted_loses_nothing_and_the_store_opens_again() {
    for name in ["loci.db-wal", "loci.db-shm"] {
        let place = Place::with(3);
        fs::remove_file(place.file(name)).unwrap();
        let refused = place.write("not acknowledged").unwrap_err();
        assert!(
            refused.message.contains("was moved, deleted or replaced"),
            "{refused}"
        );
        let killed = tempfile::tempdir().unwrap();
        fs::copy(place.file("loci.db"), killed.path().join("loci.db")).unwrap();
        assert_eq!(all(&open(killed.path())), ids(0..3), "{name}: after a kill");
        place.write("3").unwrap();
        place.store.check_writable().unwrap();
        let killed = copy(&place.data());
        for store in [&place.store, &open(killed.path())] {
            assert_eq!(all(store), ids(0..4), "{name}");
        }
    }
}

#[test]
fn the_same_store_is_opened_again_and_no_other() {
    let place = Place::with(2);
    let (copied, other) = (copy(&place.data()), Place::with(1));
    fs::rename(place.data(), place.elsewhere()).unwrap();
    fs::rename(copy(&other.data()).keep(), place.data()).unwrap();
    let before = left(&place.data());
    place.assert_not_writable("another store");
    assert!(left(&place.data()) == before, "the other is as it was");
    fs::rename(place.data(), place.above.path().join("other")).unwrap();
    fs::rename(copied.path(), place.data()).unwrap();
    place.write("2").unwrap();
    assert_eq!(all(&place.store), ids(0..3));
}

#[test]
fn no_log_is_laid_over_a_foreign_database() {
    type Accident = (&'static str, fn(&Path, &Path));
    let accidents: [Accident; 3] = [
        ("another store", |data, _| {
            let other = Place::with(1);
            let file = other.file("loci.db");
            drop(other.store);
            fs::rename(file, data.join("loci.db")).unwrap();
        }),
        ("an older copy of the same store", |data, older| {
            fs::rename(older, data.join("loci.db")).unwrap();
        }),
        ("a database of another program", |data, older| {
            rusqlite::Connection::open(older.with_extension("other"))
                .unwrap()
                .execute_batch("CREATE TABLE a (b)")
                .unwrap();
            fs::rename(older.with_extension("other"), data.join("loci.db")).unwrap();
        }),
    ];
    for (accident, happen) in accidents {
        let place = Place::with(0);
        let older = place.above.path().join("older");
        fs::copy(place.file("loci.db"), &older).unwrap();
        for number in 0..5 {
            place.write(&number.to_string()).unwrap();
        }
        happen(&place.data(), &older);
        let data = place.data();
        let before = left(&data);
        // More reads at once than there are idle connections: some connections would be new.
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let _ = place.store.candidates(&CandidateQuery::of(&filter(), 1));
                    let _ = place.store.list(
                        &filter(),
                        Page {
                            offset: 0,
                            limit: 9,
                        },
                    );
                });
            }
        });
        assert!(left(&data) == before, "{accident}: reads change nothing");
        place.assert_not_writable(accident);
        drop(place.store);
        assert!(left(&data) == before, "{accident}: its end changes nothing");
        let refused = SqliteStore::open(&data, Options::default()).unwrap_err();
        assert!(
            matches!(refused, OpenError::ForeignLog { .. }),
            "{accident}: {refused}"
        );
        assert!(left(&data) == before, "{accident}: both are kept");
        // The way out that the message names.
        fs::rename(
            data.join("loci.db-wal"),
            place.above.path().join("loci.db-wal"),
        )
        .unwrap();
        let _ = fs::remove_file(data.join("loci.db-shm"));
        match SqliteStore::open(&data, Options::default()) {
            Ok(store) => assert!(all(&store).len() < 5, "{accident}"),
            Err(error) => assert!(
                matches!(error, OpenError::NotADatabase { .. }),
                "{accident}: {error}"
            ),
        }
    }
}

#[test]
fn a_folder_that_was_copied_with_its_log_opens() {
    let place = Place::with(5);
    let copied = copy(&place.data());
    assert!(!left(copied.path())["loci.db-wal"].is_empty());
    assert_eq!(all(&open(copied.path())), ids(0..5));
}
