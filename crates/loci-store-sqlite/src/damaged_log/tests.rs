use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Memory, Store};
use loci_testkit::contract::{filter, memory, passage, put};
use rusqlite::Connection;

use crate::connection::checkpoint;
use crate::{Options, SqliteStore};

/// Bytes of a page in the log and what comes before it.
const FRAME: usize = 24 + 4_096;

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, Options::default()).unwrap()
}

fn ids(store: &SqliteStore) -> usize {
    let page = loci_core::Page {
        offset: 0,
        limit: 100,
    };
    store.list(&filter(), page).unwrap().len()
}

/// Files of a store with commits in its log, of which the database may have all.
fn files(folder: &Path, is_copied: bool) -> [(PathBuf, Vec<u8>); 2] {
    let store = open(folder);
    for number in 0..20 {
        let memory = Memory {
            content: "word ".repeat(100 * number + 1),
            ..memory(&number.to_string())
        };
        store.commit(put(&memory, vec![passage("word")])).unwrap();
    }
    if is_copied {
        checkpoint(&Connection::open(folder.join("loci.db")).unwrap()).unwrap();
    }
    let files = ["loci.db", "loci.db-wal"].map(|name| folder.join(name));
    let files = files.map(|path| (path.clone(), fs::read(path).unwrap()));
    drop(store);
    files
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("backups")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_damaged_log_is_kept_and_what_the_database_has_goes_on() {
    for is_copied in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let [(database, bytes), (log, mut logged)] = files(folder.path(), is_copied);
        let middle = 32 + logged.len() / FRAME / 2 * FRAME;
        logged[middle + 100] ^= 1;
        fs::write(&database, &bytes).unwrap();
        fs::write(&log, &logged).unwrap();
        let store = open(folder.path());
        let found = ids(&store);
        assert!(
            if is_copied {
                found == 20
            } else {
                (1..20).contains(&found)
            },
            "{is_copied}: {found}"
        );
        assert_eq!(store.structure_check().unwrap(), []);
        let [kept_in] = kept(folder.path()).try_into().unwrap();
        assert!(fs::read(kept_in.join("loci.db")).unwrap() == bytes);
        assert!(fs::read(kept_in.join("loci.db-wal")).unwrap() == logged);
        // It is made good: nothing more is kept, with or without an end of the first.
        let second = open(folder.path());
        drop((store, second));
        assert_eq!(ids(&open(folder.path())), found);
        assert_eq!(kept(folder.path()), [kept_in]);
    }
}

#[test]
fn a_write_that_was_cut_off_is_nothing_to_keep() {
    let folder = tempfile::tempdir().unwrap();
    let [(database, bytes), (log, logged)] = files(folder.path(), false);
    for cut in [logged.len() - FRAME, logged.len() - 1, 40, 3] {
        fs::write(&database, &bytes).unwrap();
        fs::write(&log, &logged[..cut]).unwrap();
        drop(open(folder.path()));
        assert_eq!(kept(folder.path()), Vec::<PathBuf>::new(), "{cut}");
    }
}

#[test]
fn no_database_is_made_over_a_log_or_what_is_left_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let [(database, bytes), (log, logged)] = files(folder.path(), false);
    for (left, mark) in [
        (None, "made\n"),
        (Some(0), ""),
        (Some(1), ""),
        (Some(511), "made\n"),
    ] {
        fs::write(folder.path().join("loci.lock"), mark).unwrap();
        let _ = fs::remove_file(&database);
        if let Some(left) = left {
            fs::write(&database, &bytes[..left]).unwrap();
        }
        fs::write(&log, &logged).unwrap();
        let refused = SqliteStore::open(folder.path(), Options::default())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("is missing") || refused.contains("is damaged"),
            "{left:?}: {refused}"
        );
        assert!(fs::read(&log).unwrap() == logged, "{left:?}");
    }
}

#[test]
fn what_a_killed_write_left_is_no_damage() {
    let (running, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(running.path());
    for number in 0..20 {
        store
            .commit(put(&memory(&number.to_string()), vec![passage("word")]))
            .unwrap();
    }
    for name in ["loci.db", "loci.db-wal", "loci.db-shm", "loci.lock"] {
        fs::copy(running.path().join(name), killed.path().join(name)).unwrap();
    }
    let log = killed.path().join("loci.db-wal");
    let committed = fs::read(&log).unwrap();
    // One that was cut off, over the frames of a longer one that was cut off before it: these
    // follow each other as those of a commit do.
    let mut cut_off = vec![7; FRAME];
    cut_off[8..16].copy_from_slice(&committed[16..24]);
    let before = &committed[committed.len() - 3 * FRAME..];
    fs::write(&log, [&committed, &cut_off, before].concat()).unwrap();
    let state = crate::look_at_log(&killed.path().join("loci.db")).unwrap();
    assert!(!state.is_damaged() && state.unread > 0, "{state:?}");
    assert_eq!(ids(&open(killed.path())), 20);
    assert_eq!(kept(killed.path()), Vec::<PathBuf>::new());

    // Without the index, which a loss of power takes, it looks like damage: nothing is lost, and
    // both are kept.
    fs::remove_file(killed.path().join("loci.db-shm")).unwrap_or_default();
    fs::copy(
        running.path().join("loci.db"),
        killed.path().join("loci.db"),
    )
    .unwrap();
    fs::write(&log, [&committed, &cut_off, before].concat()).unwrap();
    assert_eq!(ids(&open(killed.path())), 20);
    assert_eq!(kept(killed.path()).len(), 1);

    // Commits that the index knows of and the log has no more are missing, wherever it was cut off.
    for name in ["loci.db", "loci.db-wal", "loci.db-shm"] {
        fs::copy(running.path().join(name), killed.path().join(name)).unwrap();
    }
    fs::write(
        &log,
        &committed[..32 + (committed.len() - 32) / FRAME / 2 * FRAME],
    )
    .unwrap();
    assert!(
        crate::look_at_log(&killed.path().join("loci.db"))
            .unwrap()
            .hides_commits
    );
}
