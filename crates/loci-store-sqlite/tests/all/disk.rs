//! Disks that are full, read-only or of another user. Where the system does not let us make one,
//! the test says so on stderr and passes.

#![cfg(target_os = "linux")]
use loci_core::Maintenance;
use loci_core::StoreFiles;
use loci_store_sqlite::SqliteFiles;

use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use loci_core::{Error, ErrorCode, Memory, Store, StoreFault};
use loci_store_sqlite::{OpenError, Options, SqliteStore};
use loci_testkit::contract::{filter, memory, passage, put};

use crate::{all, open, search};

/// A small file system in memory, gone at the end of the test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = SmallDisk(folder);
        if disk.run(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size},mode=700"),
                "tmpfs",
            ],
        ) {
            return Some(disk);
        }
        skip("no small disk could be mounted, which takes root");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, option: &str) -> bool {
        self.run("mount", &["-o", &format!("remount,{option}")])
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(self.path())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}

fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}

/// Writes memories of that many bytes until it fails; adds the ids to `acknowledged`.
fn fill(store: &SqliteStore, bytes: usize, acknowledged: &mut Vec<Memory>) -> Error {
    for _ in 0..10_000 {
        let id = format!("{:05}", acknowledged.len());
        let written = Memory {
            content: "x".repeat(bytes),
            ..memory(&id)
        };
        match store.commit(put(&written, vec![passage("word")])) {
            Ok(()) => acknowledged.push(written),
            Err(error) => return error,
        }
    }
    panic!("the disk does not fill up");
}

#[test]
fn a_full_disk_loses_nothing_and_recovers() {
    let Some(disk) = SmallDisk::mount("4m") else {
        return;
    };
    // Without it there is room for the database and its log, which hold the same at the end.
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 2 << 20]).unwrap();
    let folder = disk.path().join("store");
    let store = open(&folder);
    let mut acknowledged = Vec::new();
    for bytes in [100_000, 1_000, 10] {
        let error = fill(&store, bytes, &mut acknowledged);
        assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
        assert!(error.message.contains("the disk is full"), "{error}");
    }
    let check = |store: &SqliteStore, acknowledged: &[Memory]| {
        assert_eq!(
            all(store).len(),
            acknowledged.len(),
            "neither less nor more than was acknowledged"
        );
        assert_eq!(search(store, &filter(), "word").len(), acknowledged.len());
        for written in acknowledged {
            assert_eq!(
                store.get(&written.space, &written.id),
                Ok(Some(written.clone()))
            );
        }
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    };
    check(&store, &acknowledged);
    fs::remove_file(&ballast).unwrap();
    let written = memory(&format!("{:05}", acknowledged.len()));
    store.commit(put(&written, vec![passage("word")])).unwrap();
    acknowledged.push(written);
    check(&store, &acknowledged);
    drop(store);
    check(&open(&folder), &acknowledged);
}

#[test]
fn a_new_store_on_a_full_disk_is_refused() {
    let Some(disk) = SmallDisk::mount("64k") else {
        return;
    };
    let _ = fs::write(disk.path().join("ballast"), vec![0; 1 << 20]);
    let refused = SqliteStore::open(&disk.path().join("store"), Options::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Full { .. }), "{refused:?}");
}

#[test]
fn a_read_only_disk_is_refused() {
    let Some(disk) = SmallDisk::mount("3m") else {
        return;
    };
    let folder = disk.path().join("store");
    drop(open(&folder));
    if !disk.remount("ro") {
        return skip("the disk cannot be made read-only");
    }
    for folder in [folder, disk.path().join("new")] {
        let refused = SqliteStore::open(&folder, Options::default()).unwrap_err();
        assert!(matches!(refused, OpenError::ReadOnly { .. }), "{refused:?}");
        assert!(refused.to_string().contains("--data"), "{refused}");
    }
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    if chown(folder.path(), Some(12_345), None).is_err() {
        return skip("no folder can be given to another user, which takes root");
    }
    let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NotOwner { uid: 12_345, .. }),
        "{refused:?}"
    );
}

/// The files of a folder, with their bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap_or_default(),
            )
        })
        .collect();
    files.sort();
    files
}

/// Reads a store that cannot be written, which has this memory and finds it by `word`.
fn check_read_only(store: &SqliteStore, written: &Memory) {
    assert!(store.is_read_only());
    assert_eq!(
        store.get(&written.space, &written.id),
        Ok(Some(written.clone()))
    );
    assert_eq!(
        search(store, &filter(), "word"),
        std::slice::from_ref(&written.id)
    );
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    let copy = tempfile::NamedTempFile::new().unwrap();
    store.snapshot().unwrap().copy_to(copy.path()).unwrap();
    assert_eq!(
        SqliteFiles::new(Path::new(""))
            .inspect(copy.path())
            .unwrap()
            .memories,
        1
    );
    let refused = store
        .commit(put(&memory("other"), vec![passage("word")]))
        .unwrap_err();
    assert!(
        refused.code == ErrorCode::Unavailable && refused.message.contains("read-only"),
        "{refused}"
    );
    assert!(store.check_write().is_err());
    let refused = store.check_writable().unwrap_err();
    assert_eq!(
        refused.store_fault(),
        Some(StoreFault::ReadOnly),
        "{refused}"
    );
}

#[test]
fn a_store_on_a_read_only_disk_is_read_as_it_is() {
    let Some(disk) = SmallDisk::mount("3m") else {
        return;
    };
    // Its name has what means something in a URI.
    let folder = disk.path().join("store%20?#");
    let written = memory("written");
    open(&folder)
        .commit(put(&written, vec![passage("word")]))
        .unwrap();
    if !disk.remount("ro") {
        return skip("the disk cannot be made read-only");
    }
    let before = files(&folder);
    let store = SqliteStore::open_read_only(&folder, Options::default()).unwrap();
    check_read_only(&store, &written);
    assert_eq!(store.copy(), None);
    // As many as like to.
    check_read_only(
        &SqliteStore::open_read_only(&folder, Options::default()).unwrap(),
        &written,
    );
    drop(store);
    assert!(files(&folder) == before);
    let refused =
        SqliteStore::open_read_only(&disk.path().join("new"), Options::default()).unwrap_err();
    assert!(matches!(refused, OpenError::ReadOnly { .. }), "{refused:?}");
}

/// The process that wrote was killed, so that its commits are only in the log.
#[test]
fn what_is_in_the_log_alone_is_read_from_a_copy() {
    let (folder, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let written = memory("written");
    let store = open(folder.path());
    store.commit(put(&written, vec![passage("word")])).unwrap();
    for name in ["loci.db", "loci.db-wal", "loci.lock"] {
        fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
    }
    drop(store);
    let before = files(left.path());
    let store = SqliteStore::open_read_only(left.path(), Options::default()).unwrap();
    let copy = store.copy().unwrap();
    assert!(copy.exists());
    check_read_only(&store, &written);
    drop(store);
    assert!(!copy.exists() && files(left.path()) == before);
}

/// As where a container has the folder of a server mounted read-only.
#[test]
fn what_another_process_writes_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path());
    let reader = SqliteStore::open_read_only(folder.path(), Options::default()).unwrap();
    let written = memory("written");
    writer.commit(put(&written, vec![passage("word")])).unwrap();
    check_read_only(&reader, &written);
    assert_eq!(reader.copy(), None);
}

/// A process that was there first leaves, or the disk gets room, while others read.
#[test]
fn a_store_on_a_full_disk_is_read_and_then_written() {
    let Some(disk) = SmallDisk::mount("8m") else {
        return;
    };
    let (folder, ballast) = (disk.path().join("store"), disk.path().join("ballast"));
    let written = memory("written");
    open(&folder)
        .commit(put(&written, vec![passage("word")]))
        .unwrap();
    let mut file = fs::File::create(&ballast).unwrap();
    for bytes in [1 << 16, 1] {
        while file.write_all(&vec![1; bytes]).is_ok() {}
    }
    let refused = SqliteStore::open(&folder, Options::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Full { .. }), "{refused:?}");
    let stores =
        [(); 2].map(|()| SqliteStore::open_on_full_disk(&folder, Options::default()).unwrap());
    for store in &stores {
        assert!(store.is_read_only());
        assert_eq!(
            search(store, &filter(), "word"),
            std::slice::from_ref(&written.id)
        );
        for error in [
            store
                .commit(put(&memory("other"), vec![passage("word")]))
                .unwrap_err(),
            store.check_writable().unwrap_err(),
            store.check_write().unwrap_err(),
        ] {
            assert!(error.is_disk_full(), "{error}");
        }
    }
    drop(file);
    fs::remove_file(&ballast).unwrap();
    let [one, other] = &stores;
    one.check_writable().unwrap();
    one.commit(put(&memory("later"), vec![passage("word")]))
        .unwrap();
    assert!(!one.is_read_only());
    // It sees at once that the other one wrote.
    assert_eq!(all(other).len(), 2);
    assert_eq!(search(other, &filter(), "word").len(), 2);
}
