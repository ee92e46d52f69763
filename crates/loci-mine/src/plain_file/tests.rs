//! The same hostile files, given to every reader.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use loci_core::limits::SOURCE_FILE_BYTES_MAX;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::geteuid;

use super::*;
use crate::GitTree;
use crate::conversation::{self, Mark};
use crate::project::{PLAN_FILE, Unread, read_plan, walk_with};
use loci_core::{SourceState, SourceTree};

/// More than any reader of whole files takes; it has no blocks on the disk.
const LARGE: u64 = 5 << 30;

/// Puts a hostile file at a path. The socket is kept until the test ends.
type Put = fn(&Path) -> Option<UnixListener>;

/// Hostile files in the place of a plain one, and whether each is a link.
const HOSTILE: [(&str, bool, Put); 6] = [
    ("a link to a device without an end", true, |path| {
        link("/dev/zero", path)
    }),
    ("a link to a file outside", true, |path| {
        let outside = path.with_file_name("outside");
        fs::write(&outside, "wing = \"outside\"\n*\n").unwrap();
        link(outside.to_str().unwrap(), path)
    }),
    ("a link to nothing", true, |path| link("nothing", path)),
    ("a pipe into which no program writes", false, |path| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        None
    }),
    ("a socket", false, |path| {
        Some(UnixListener::bind(path).unwrap())
    }),
    ("a folder", false, |path| {
        fs::create_dir(path).unwrap();
        None
    }),
];

fn link(to: &str, path: &Path) -> Option<UnixListener> {
    symlink(to, path).unwrap();
    None
}

/// A file of that size that takes no room on the disk.
fn sparse(path: &Path, beginning: &str, bytes: u64) {
    fs::write(path, beginning).unwrap();
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(bytes)
        .unwrap();
}

fn refusal<T: fmt::Debug>(read: io::Result<T>) -> Option<Refusal> {
    Refusal::of(&read.unwrap_err())
}

/// Calls a check with each hostile file at a path of that name.
fn each(name: &str, check: impl Fn(&str, bool, PathBuf)) {
    for (what, is_link, put) in HOSTILE {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _socket = put(&path);
        check(what, is_link, path);
    }
}

#[test]
fn only_plain_files_are_opened() {
    each("file", |what, is_link, path| {
        let expected = Some(if is_link {
            Refusal::Link
        } else {
            Refusal::NotPlain
        });
        assert_eq!(refusal(read(&path, Links::Refused, 10)), expected, "{what}");
        assert_eq!(refusal(read_own(&path, 10)), expected, "{what}");
        if what == "a link to a device without an end" {
            assert_eq!(
                refusal(read(&path, Links::Followed, 10)),
                Some(Refusal::NotPlain),
                "{what}"
            );
        }
    });
}

#[test]
fn no_more_is_read_than_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "four").unwrap();
    assert_eq!(read(&path, Links::Refused, 4).unwrap(), b"four");
    assert_eq!(
        refusal(read(&path, Links::Refused, 3)),
        Some(Refusal::TooLarge(3))
    );
    // Files of the kernel say that they are empty.
    let endless = Path::new("/proc/kallsyms");
    if endless.exists() {
        assert_eq!(
            refusal(read(endless, Links::Refused, 1_000)),
            Some(Refusal::TooLarge(1_000))
        );
    }
    sparse(&path, "", LARGE);
    assert_eq!(
        refusal(read_own(&path, 1_000)),
        Some(Refusal::TooLarge(1_000))
    );
    assert_eq!(
        read(&path, Links::Refused, 1_000).unwrap_err().kind(),
        ErrorKind::FileTooLarge
    );
    fs::write(&path, "four").unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    assert_eq!(
        read(&folder.path().join("link"), Links::Followed, 4).unwrap(),
        b"four"
    );
    assert_eq!(
        read(&folder.path().join("gone"), Links::Followed, 4)
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_file_that_decides_is_of_the_user_or_root_and_no_other_may_write_it() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("folder");
    let path = folder.join("file");
    fs::create_dir(&folder).unwrap();
    fs::write(&path, "text").unwrap();
    let modes = |of_folder: u32, of_file: u32| {
        fs::set_permissions(&path, Permissions::from_mode(of_file)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(of_folder)).unwrap();
        read_own(&path, 10).map_err(|error| Refusal::of(&error))
    };
    for (of_folder, of_file, expected) in [
        (0o700, 0o600, Ok(b"text".to_vec())),
        (0o755, 0o664, Ok(b"text".to_vec())),
        (0o755, 0o666, Err(Some(Refusal::WritableByOthers))),
        (0o777, 0o600, Err(Some(Refusal::WritableByOthers))),
        (0o1777, 0o600, Err(Some(Refusal::WritableByOthers))),
    ] {
        assert_eq!(
            modes(of_folder, of_file),
            expected,
            "{of_folder:o} {of_file:o}"
        );
    }
    modes(0o755, 0o644).unwrap();
    // Only root can give a file to another user.
    let other = (fs::metadata(&path).unwrap().uid() + 12_345, None);
    if geteuid().is_root() {
        for owned in [&path, &folder] {
            std::os::unix::fs::chown(owned, Some(other.0), other.1).unwrap();
            assert_eq!(
                refusal(read_own(&path, 10)),
                Some(Refusal::OtherOwner),
                "{}",
                owned.display()
            );
            std::os::unix::fs::chown(owned, Some(0), None).unwrap();
        }
    } else {
        assert_eq!(modes(0o755, 0o000), Err(None), "the system refuses");
    }
}

#[test]
fn a_plan_is_a_plain_file() {
    each(PLAN_FILE, |what, is_link, path| {
        let expected = Some(if is_link {
            Refusal::Link
        } else {
            Refusal::NotPlain
        });
        assert_eq!(
            refusal(read_plan(path.parent().unwrap())),
            expected,
            "{what}"
        );
    });
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read_plan(folder.path()).unwrap(), None);
    sparse(&folder.path().join(PLAN_FILE), "wing = \"a\"\n", LARGE);
    assert!(matches!(
        refusal(read_plan(folder.path())),
        Some(Refusal::TooLarge(_))
    ));
}

/// Git reads no such file either; see gitignore(5).
#[test]
fn rules_that_are_no_plain_file_exclude_nothing() {
    for name in [
        ".gitignore",
        ".git/info/exclude",
        ".git/config",
        ".git",
        "users",
    ] {
        each(name, |what, _, path| {
            let is_followed =
                what == "a link to a file outside" && matches!(name, ".git/info/exclude" | "users");
            let root = path.ancestors().nth(name.split('/').count()).unwrap();
            fs::write(root.join("a.txt"), "text").unwrap();
            let walked = walk_with(root, Some(&root.join("users")), None).unwrap();
            let is_read = walked.files.iter().any(|(path, _)| path.ends_with("a.txt"));
            assert_eq!(is_read, !is_followed, "{name}: {what}");
            if name != "users" {
                let (root, file) = (root.to_str().unwrap(), root.join("a.txt"));
                let expected = if is_followed {
                    SourceState::Ignored
                } else {
                    SourceState::Kept
                };
                assert_eq!(
                    GitTree.states(root, &[file.to_str().unwrap()]).unwrap(),
                    [expected],
                    "{name}: {what}"
                );
            }
        });
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git/info")).unwrap();
    sparse(&folder.path().join(".git/info/exclude"), "a\n", LARGE);
    assert_eq!(
        walk_with(folder.path(), None, None).unwrap_err().kind(),
        ErrorKind::FileTooLarge
    );
}

#[test]
fn a_source_file_is_a_plain_file() {
    each("a.txt", |what, _, path| {
        let unread = crate::project::read(&path).unwrap().unwrap_err();
        assert!(
            matches!(unread, Unread::Link | Unread::NotAFile),
            "{what}: {unread:?}"
        );
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    sparse(&path, "", SOURCE_FILE_BYTES_MAX + 1);
    assert_eq!(crate::project::read(&path).unwrap(), Err(Unread::TooLarge));
}

#[test]
fn a_transcript_is_a_plain_file() {
    let event = "{\"type\":\"user\",\"message\":{\"content\":\"Hm?\"},\"sessionId\":\"s\"}\n";
    each("session.jsonl", |what, _, path| {
        assert_eq!(
            conversation::read(&path, None, 100).unwrap(),
            None,
            "{what}"
        );
        assert_eq!(conversation::folder(&path).unwrap(), None, "{what}");
        assert_eq!(conversation::last_answer(&path, 0).unwrap(), None, "{what}");
        for format in conversation::Format::ALL {
            assert!(
                !conversation::goes_on(&path, format, Mark::start()).unwrap(),
                "{what}"
            );
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session");
    for beginning in [event, "[", "{"] {
        sparse(&path, beginning, LARGE);
        let error = conversation::read(&path, None, 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{beginning}");
    }
    // A large file of another kind is no transcript.
    sparse(&path, "", LARGE);
    assert_eq!(conversation::read(&path, None, 100).unwrap(), None);
}

#[test]
fn what_stands_beside_a_transcript_is_a_plain_file() {
    let said = r#"[{"type": "message", "user": "U1", "ts": "1.0", "text": "Hm?"}]"#;
    each("export/users.json", |what, _, path| {
        let day = path.with_file_name("general").join("2026-01-01.json");
        fs::create_dir(day.parent().unwrap()).unwrap();
        fs::write(&day, said).unwrap();
        let reading = conversation::read(&day, None, 100).unwrap().unwrap();
        assert_eq!(
            reading.transcript.conversations[0].messages[0].speaker, "U1",
            "{what}"
        );
    });
    each("tmp/project/.project_root", |what, _, path| {
        let session = path.with_file_name("chats").join("session.json");
        fs::create_dir(session.parent().unwrap()).unwrap();
        fs::write(&session, "{}").unwrap();
        assert_eq!(conversation::folder(&session).unwrap(), None, "{what}");
        fs::write(
            path.ancestors().nth(3).unwrap().join("projects.json"),
            r#"{"projects": {"/srv/a": "project"}}"#,
        )
        .unwrap();
        assert_eq!(
            conversation::folder(&session).unwrap().as_deref(),
            Some("/srv/a"),
            "{what}"
        );
    });
}
