//! Disks that are full, read-only or missing. If the system does not allow creating one, the test
//! says so on stderr and passes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use loci_core::{Error, ErrorCode, FileProblemKind, Note, NoteFolder};
use loci_vault::VaultFolder;

use crate::processes::{as_child, child, skip};
use crate::{create, files, note, read, said, vault};

/// A mount at a folder, until the end of the test.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(path: &'a Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        if run("mount", arguments, path) {
            return Some(Mounted(path));
        }
        skip("nothing could be mounted, which takes root");
        None
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        run("umount", &["-l"], self.0);
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .arg(path)
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Checks that neither a new note nor a change of this one can be written, that nothing is changed,
/// and that no file is left.
fn assert_refused(place: &Path, vault: &VaultFolder, path: &str, body: &str, says: &str) {
    let before = (files(place), read(vault, path));
    let created = vault.create(&note(99, "refused", body), false).map(drop);
    let changed = Note {
        body: body.to_owned(),
        ..said(&before.1).clone()
    };
    let rewritten = vault.rewrite(path, &before.1.hash, &changed).map(drop);
    for refused in [created, rewritten] {
        let Error { code, message, .. } = refused.unwrap_err();
        assert_eq!(code, ErrorCode::Unavailable, "{message}");
        assert!(message.contains(says), "{message}");
    }
    assert_eq!((files(place), read(vault, path)), before);
}

#[test]
fn a_full_disk_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let notes = place.path().join("notes");
    let Some(_disk) = Mounted::new(&notes, &["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
    else {
        return;
    };
    let vault = vault(place.path());
    create(&vault, &note(1, "tea", "green"));
    let ballast = notes.join("ballast");
    let _ = fs::write(&ballast, vec![0; 2 << 20]);
    // Not even the first byte fits, or only the last does not.
    assert_refused(place.path(), &vault, "tea.md", "black", "the disk is full");
    fs::OpenOptions::new()
        .write(true)
        .open(&ballast)
        .unwrap()
        .set_len((1 << 20) - (64 << 10))
        .unwrap();
    assert_refused(
        place.path(),
        &vault,
        "tea.md",
        &"black ".repeat(50_000),
        "the disk is full",
    );
    fs::remove_file(&ballast).unwrap();
    create(&vault, &note(2, "cups", &"white ".repeat(50_000)));
    let read = read(&vault, "tea.md");
    vault
        .rewrite("tea.md", &read.hash, &note(1, "tea", "black"))
        .unwrap();
    assert_eq!(files(place.path()), ["cups.md", "tea.md"]);
}

#[test]
fn a_limit_of_the_size_of_files_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    // A limit of some kilobytes; without the signal that would end the process.
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    let child = child(shell, "disk::child_that_writes_too_much", place.path(), "");
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(files(place.path()), ["tea.md"]);
}

#[test]
fn child_that_writes_too_much() {
    let Some((place, _)) = as_child() else { return };
    let vault = vault(&place);
    create(&vault, &note(1, "tea", "green"));
    assert_refused(
        &place,
        &vault,
        "tea.md",
        &"black ".repeat(20_000),
        "the disk is full",
    );
    let read = read(&vault, "tea.md");
    vault
        .rewrite("tea.md", &read.hash, &note(1, "tea", "black"))
        .unwrap();
}

#[test]
fn a_read_only_folder_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let notes = place.path().join("notes");
    let vault = vault(place.path());
    if rustix::process::geteuid().is_root() {
        // Root ignores file modes.
        let Some(_disk) = Mounted::new(&notes, &["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
        else {
            return;
        };
        create(&vault, &note(1, "tea", "green"));
        assert!(run("mount", &["-o", "remount,ro"], &notes));
        assert_refused(
            place.path(),
            &vault,
            "tea.md",
            "black",
            "the disk is read-only",
        );
        assert!(run("mount", &["-o", "remount,rw"], &notes));
        create(&vault, &note(2, "cups", "white"));
        return;
    }
    create(&vault, &note(1, "tea", "green"));
    let mode = |mode| fs::set_permissions(&notes, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    assert_refused(
        place.path(),
        &vault,
        "tea.md",
        "black",
        "permission is denied",
    );
    mode(0o700);
    create(&vault, &note(2, "cups", "white"));
    let secret = notes.join("tea.md");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o0)).unwrap();
    assert_eq!(
        read(&vault, "tea.md").problem.map(|problem| problem.kind),
        Some(FileProblemKind::Unreadable)
    );
    let folder = notes.join("sub");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o0)).unwrap();
    assert_eq!(vault.scan().unwrap().unreadable_folders, ["sub"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_drive_that_is_unmounted_and_comes_back_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (drive, notes) = (place.path().join("drive"), place.path().join("notes"));
    fs::create_dir(&drive).unwrap();
    let bind = ["--bind", drive.to_str().unwrap()];
    let Some(disk) = Mounted::new(&notes, &bind) else {
        return;
    };
    let vault = vault(place.path());
    create(&vault, &note(1, "tea", "green"));
    let (scan, tea) = (vault.scan().unwrap(), read(&vault, "tea.md"));
    drop(disk);
    // In its place is an empty folder, not the one that was scanned.
    let error = vault
        .rewrite("tea.md", &tea.hash, &note(1, "tea", "black"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
    assert_eq!(
        read(&vault, "tea.md").problem.map(|problem| problem.kind),
        Some(FileProblemKind::Unreadable)
    );
    let empty = vault.scan().unwrap();
    assert!(empty.files.is_empty() && empty.identity != scan.identity);
    let _disk = Mounted::new(&notes, &bind).unwrap();
    assert_eq!(vault.scan().unwrap(), scan);
    assert_eq!(read(&vault, "tea.md"), tea);
}
