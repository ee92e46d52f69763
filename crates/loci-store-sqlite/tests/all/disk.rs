//! Disks that are full, read-only or somebody else's. Where the system does not let us make one,
//! the test says so on stderr and passes.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use loci_core::{Error, ErrorCode, Memory, Store};
use loci_store_sqlite::{OpenError, Options, SqliteStore};
use loci_testkit::contract::{filter, memory, passage, put};

use crate::{all, open, search};

/// A small file system in memory, gone at the end of the test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = SmallDisk(folder);
        if disk.run("mount", &["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]) {
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
        command.args(arguments).arg(self.path()).stderr(Stdio::null());
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
        let written = Memory { content: "x".repeat(bytes), ..memory(&id) };
        match store.commit(put(&written, vec![passage("word")])) {
            Ok(()) => acknowledged.push(written),
            Err(error) => return error,
        }
    }
    panic!("the disk does not fill up");
}

#[test]
fn a_full_disk_loses_nothing_and_recovers() {
    let Some(disk) = SmallDisk::mount("3m") else { return };
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let folder = disk.path().join("store");
    let store = open(&folder);
    let mut acknowledged = Vec::new();
    for bytes in [100_000, 1_000, 10] {
        let error = fill(&store, bytes, &mut acknowledged);
        assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
        assert!(error.message.contains("the disk is full"), "{error}");
    }
    let check = |store: &SqliteStore, acknowledged: &[Memory]| {
        assert_eq!(all(store).len(), acknowledged.len(), "neither less nor more than was acknowledged");
        assert_eq!(search(store, &filter(), "word").len(), acknowledged.len());
        for written in acknowledged {
            assert_eq!(store.get(&written.space, &written.id), Ok(Some(written.clone())));
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
    let Some(disk) = SmallDisk::mount("64k") else { return };
    let _ = fs::write(disk.path().join("ballast"), vec![0; 1 << 20]);
    let refused = SqliteStore::open(&disk.path().join("store"), Options::default()).unwrap_err();
    assert!(matches!(refused, OpenError::Full { .. }), "{refused:?}");
}

#[test]
fn a_read_only_disk_is_refused() {
    let Some(disk) = SmallDisk::mount("3m") else { return };
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
    assert!(matches!(refused, OpenError::NotOwner { uid: 12_345, .. }), "{refused:?}");
}
