//! The reports of a watch for real changes of real folders.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

use loci_vault::{FolderWatch, WatchEvent, is_watched};
use tempfile::TempDir;

/// The content of each file that is not hidden, by path.
type Files = BTreeMap<PathBuf, String>;

/// The maximum time to wait for an expected report.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time without a report that counts as quiet: longer than the longest burst of changes.
const QUIET: Duration = Duration::from_millis(800);
/// More reports than any change here causes.
const REPORTS_MAX: usize = 30;

fn files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
            } else if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                files.insert(path, text);
            }
        }
    }
    files
}

/// A watch, with the content of the folder at each report.
struct Watching {
    root: PathBuf,
    watch: FolderWatch,
    reports: Receiver<(WatchEvent, Files)>,
}

impl Watching {
    fn start(root: PathBuf, lock_file: PathBuf) -> Self {
        let (sender, reports) = channel();
        let seen = root.clone();
        let report = move |watched| drop(sender.send((watched, files(&seen))));
        Self {
            watch: FolderWatch::start(root.clone(), lock_file, report).unwrap(),
            reports,
            root,
        }
    }

    fn next(&self) -> WatchEvent {
        self.reports.recv_timeout(PATIENCE).unwrap().0
    }

    /// Waits for a report made when the current content of the folder was visible.
    fn sees(&self, change: &str) {
        let expected = files(&self.root);
        for _ in 0..REPORTS_MAX {
            let report = self.reports.recv_timeout(PATIENCE);
            let (watched, files) = report.unwrap_or_else(|_| panic!("not reported: {change}"));
            assert_eq!(watched, WatchEvent::Changed, "{change}");
            if files == expected {
                return;
            }
        }
        panic!("reported again and again, but not in the end: {change}");
    }

    /// Waits until there are no more reports.
    fn settle(&self) {
        let is_quiet = (0..REPORTS_MAX).any(|_| self.reports.recv_timeout(2 * QUIET).is_err());
        assert!(is_quiet, "reported again and again");
    }

    /// Waits until it has reported that another process watches.
    fn waits(&self) {
        let waits = (0..REPORTS_MAX).any(|_| self.next() == WatchEvent::ByAnother);
        assert!(waits, "it watches beside another one");
    }

    /// True if its heartbeat, which it updates every second, is seen.
    fn is_seen_to_watch(&self, lock_file: &Path) -> bool {
        (0..REPORTS_MAX).any(|_| {
            let is_seen = is_watched(lock_file);
            if !is_seen {
                let _ = self.reports.recv_timeout(QUIET);
            }
            is_seen
        })
    }

    fn stays_quiet(&self, change: &str) {
        assert_eq!(
            self.reports.recv_timeout(QUIET),
            Err(RecvTimeoutError::Timeout),
            "reported: {change}"
        );
    }
}

/// The number of attempts for a check that a stall of some seconds spoils: a process without a
/// heartbeat for so long counts as suspended, and others scan the folder themselves. A real error
/// fails each attempt.
const ATTEMPTS: usize = 3;

/// Checks that one watch sees a change to a note, and the other does not.
fn one_alone_sees(one: &Watching, other: &Watching) {
    let is_quiet = (0..ATTEMPTS).any(|attempt| {
        fs::write(one.root.join("note.md"), format!("seen by one, {attempt}")).unwrap();
        one.sees("a written note");
        other.reports.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout)
    });
    assert!(is_quiet, "reported: what another watches");
}

/// Returns a watched folder with one note beside a lock file.
fn vault() -> (TempDir, Watching) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("vault");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("note.md"), "one").unwrap();
    let watching = Watching::start(root, folder.path().join("lock"));
    assert_eq!(watching.next(), WatchEvent::Changed);
    (folder, watching)
}

#[test]
fn every_change_to_notes_and_folders_is_reported() {
    let (folder, watching) = vault();
    let at = |path: &str| watching.root.join(path);
    let write = |path: &str, text: &str| fs::write(at(path), text).unwrap();
    let rename = |from: &str, to: &str| fs::rename(at(from), at(to)).unwrap();
    let steps: [(&str, &dyn Fn()); 14] = [
        ("a new note", &|| write("new.MD", "two")),
        ("a note written in place", &|| write("note.md", "three")),
        ("a note replaced by a temporary file", &|| {
            write(".note.md.tmp", "four");
            rename(".note.md.tmp", "note.md");
        }),
        ("a renamed note", &|| rename("new.MD", "renamed.md")),
        ("new folders with a note in them", &|| {
            fs::create_dir_all(at("a/b/c")).unwrap();
            write("a/b/c/deep.md", "five");
        }),
        ("a note in a folder that is new", &|| {
            write("a/b/c/deeper.md", "six");
        }),
        ("a renamed folder", &|| rename("a", "moved")),
        ("a note in a folder below a renamed one", &|| {
            write("moved/b/c/deep.md", "seven");
        }),
        ("a folder with the name of a note", &|| {
            fs::create_dir(at("folder.md")).unwrap();
        }),
        ("a note in it", &|| write("folder.md/note.md", "eight")),
        ("a removed note", &|| {
            fs::remove_file(at("note.md")).unwrap();
        }),
        ("a note moved away", &|| rename("renamed.md", ".renamed.md")),
        ("a folder moved away", &|| {
            fs::rename(at("moved"), folder.path().join("away")).unwrap();
        }),
        ("a removed folder", &|| {
            fs::remove_dir_all(at("folder.md")).unwrap();
        }),
    ];
    for (change, make) in steps {
        make();
        watching.sees(change);
    }
}

#[test]
fn what_is_hidden_or_no_note_is_not_reported_and_neither_is_reading() {
    let (_folder, watching) = vault();
    let at = |path: &str| watching.root.join(path);
    watching.settle();
    fs::create_dir_all(at(".git/objects")).unwrap();
    for file in [
        ".note.md.tmp",
        ".git/note.md",
        ".git/objects/note.md",
        "picture.png",
    ] {
        fs::write(at(file), "x").unwrap();
    }
    fs::rename(at(".note.md.tmp"), at(".other.md")).unwrap();
    fs::remove_file(at(".other.md")).unwrap();
    watching.stays_quiet("hidden files and a picture");
    assert_eq!(files(&watching.root).len(), 2);
    watching.stays_quiet("reading every note");
    // Each report reads every note too: reports would never end if reading were reported.
    fs::write(at("note.md"), "two").unwrap();
    watching.sees("a written note");
    watching.settle();
}

#[test]
fn a_folder_that_vanishes_or_is_another_one_is_noticed() {
    let (folder, watching) = vault();
    let note = watching.root.join("note.md");
    let away = folder.path().join("away");
    let make = |root: &Path, text: &str| {
        fs::create_dir(root).unwrap();
        fs::write(root.join("note.md"), text).unwrap();
    };
    fs::rename(&watching.root, &away).unwrap();
    watching.sees("the folder is gone");
    watching.settle();
    fs::write(away.join("note.md"), "two").unwrap();
    watching.stays_quiet("a folder that is not there");
    fs::rename(&away, &watching.root).unwrap();
    watching.sees("the folder is back");
    fs::write(&note, "three").unwrap();
    watching.sees("a note in the folder that is back");

    make(&away, "four");
    fs::rename(&watching.root, folder.path().join("old")).unwrap();
    fs::rename(&away, &watching.root).unwrap();
    watching.sees("another folder");
    fs::write(&note, "five").unwrap();
    watching.sees("a note in another folder");

    fs::remove_dir_all(&watching.root).unwrap();
    watching.sees("the folder is removed");
    make(&watching.root, "six");
    watching.sees("a new folder");
    fs::write(&note, "seven").unwrap();
    watching.sees("a note in a new folder");
}

#[test]
fn a_folder_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let watching = Watching::start(folder.path().join("vault"), folder.path().join("lock"));
    assert_eq!(watching.next(), WatchEvent::Changed);
    watching.stays_quiet("no folder");
    fs::create_dir(&watching.root).unwrap();
    fs::write(watching.root.join("note.md"), "one").unwrap();
    watching.sees("a new folder");
    fs::write(watching.root.join("note.md"), "two").unwrap();
    watching.sees("a note in it");
}

#[cfg(unix)]
#[test]
fn a_link_to_the_folder_is_followed_and_links_in_it_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for made in ["real", "outside"] {
        fs::create_dir(at(made)).unwrap();
    }
    std::os::unix::fs::symlink(at("outside"), at("real/link")).unwrap();
    std::os::unix::fs::symlink(at("real"), at("vault")).unwrap();
    let watching = Watching::start(at("vault"), at("lock"));
    assert_eq!(watching.next(), WatchEvent::Changed);
    fs::write(at("outside/note.md"), "one").unwrap();
    watching.stays_quiet("a note outside");
    fs::write(at("real/note.md"), "one").unwrap();
    watching.sees("a note inside");
}

#[test]
fn one_watches_and_the_next_takes_over() {
    let (folder, first) = vault();
    let lock_file = folder.path().join("lock");
    assert!(first.is_seen_to_watch(&lock_file));
    let second = Watching::start(first.root.clone(), lock_file.clone());
    second.waits();
    one_alone_sees(&first, &second);
    assert!(first.is_seen_to_watch(&lock_file));

    drop(first.watch);
    while first.reports.try_recv().is_ok() {}
    fs::write(second.root.join("note.md"), "three").unwrap();
    second.sees("what happened before the watch was taken over");
    fs::write(second.root.join("note.md"), "four").unwrap();
    second.sees("what happened after it");
    let gone = first.reports.recv_timeout(PATIENCE).map(|_| ());
    assert_eq!(
        gone,
        Err(RecvTimeoutError::Disconnected),
        "the thread of a dropped watch goes on"
    );
    drop(second.watch);
    assert!(!is_watched(&lock_file));
}

/// Holds the lock file as the watch of another process does, and updates its heartbeat with
/// `stamp`.
struct Other(fs::File);

impl Other {
    fn start(lock_file: &Path) -> Self {
        let lock = fs::File::create(lock_file).unwrap();
        lock.try_lock().unwrap();
        Self(lock)
    }

    fn stamp(&self, at: SystemTime) {
        self.0.set_modified(at).unwrap();
    }
}

#[test]
fn nobody_relies_on_a_watch_that_gives_no_sign_of_life() {
    let folder = tempfile::tempdir().unwrap();
    let lock_file = folder.path().join("lock");
    let other = Other::start(&lock_file);
    // The clock of the file system.
    let now = || {
        let file = folder.path().join("clock");
        fs::write(&file, "").unwrap();
        fs::metadata(&file).unwrap().modified().unwrap()
    };
    for (seconds, watched) in [(0, true), (60, false), (86_400, false)] {
        for at in [
            now() - Duration::from_secs(seconds),
            now() + Duration::from_secs(seconds),
        ] {
            other.stamp(at);
            assert_eq!(is_watched(&lock_file), watched, "{seconds}");
        }
    }
    let root = folder.path().join("vault");
    fs::create_dir(&root).unwrap();
    let watching = Watching::start(root, lock_file.clone());
    for _ in 0..3 {
        assert_eq!(watching.next(), WatchEvent::Changed, "the other is stopped");
    }
    let reported = (0..REPORTS_MAX).map(|_| {
        other.stamp(now());
        watching.next()
    });
    assert!(
        reported
            .into_iter()
            .any(|watched| watched == WatchEvent::ByAnother),
        "the other goes on"
    );
    // The other process is suspended again without releasing the lock.
    assert_eq!(watching.next(), WatchEvent::Changed);
    drop(other);
    watching.sees("what happened before the watch was taken over");
    fs::write(watching.root.join("note.md"), "one").unwrap();
    watching.sees("what happened after it");
}

#[test]
fn who_gives_up_lets_another_watch_and_goes_on_if_there_is_none() {
    let (folder, first) = vault();
    let lock_file = folder.path().join("lock");
    first.settle();
    first.watch.give_up();
    assert_eq!(first.next(), WatchEvent::Changed, "nobody else watches");
    assert!(first.is_seen_to_watch(&lock_file));
    let second = Watching::start(first.root.clone(), lock_file.clone());
    second.waits();
    // If the other does not get the lock within some seconds, the first correctly continues.
    let gives_way = (0..ATTEMPTS).any(|_| {
        first.watch.give_up();
        first.next() == WatchEvent::ByAnother
    });
    assert!(
        gives_way,
        "it watches again, though another one waits for it"
    );
    assert_eq!(second.next(), WatchEvent::Changed);
    one_alone_sees(&second, &first);
}

#[test]
fn nobody_watches_where_no_lock_file_is_and_it_is_made_for_one_user() {
    let folder = tempfile::tempdir().unwrap();
    let (root, lock_file) = (folder.path().join("vault"), folder.path().join("lock"));
    assert!(!is_watched(&lock_file));
    assert!(!lock_file.exists());
    assert!(FolderWatch::start(root.clone(), folder.path().join("none/lock"), |_| {}).is_err());
    let _watch = FolderWatch::start(root, lock_file.clone(), |_| {}).unwrap();
    assert!(is_watched(&lock_file));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&lock_file).unwrap().permissions()),
        0o100_600
    );
}

#[test]
fn without_events_a_change_is_reported_again_and_again() {
    let (folder, watching) = vault();
    drop(watching.watch);
    let (sender, reports) = channel();
    let report = move |watched| sender.send(watched).unwrap_or_default();
    let root = watching.root.clone();
    let watch =
        FolderWatch::start_polling(root.clone(), folder.path().join("lock"), report).unwrap();
    for _ in 0..3 {
        assert_eq!(reports.recv_timeout(PATIENCE), Ok(WatchEvent::Changed));
    }
    fs::remove_dir_all(&root).unwrap();
    // One report for the removed folder, and one that may have come before.
    let is_quiet = (0..REPORTS_MAX).any(|_| reports.recv_timeout(2 * QUIET).is_err());
    assert!(
        is_quiet,
        "a folder that is not there is reported again and again"
    );
    fs::create_dir(&root).unwrap();
    for _ in 0..3 {
        assert_eq!(reports.recv_timeout(PATIENCE), Ok(WatchEvent::Changed));
    }
    drop(watch);
    while reports.try_recv().is_ok() {}
    assert_eq!(
        reports.recv_timeout(PATIENCE),
        Err(RecvTimeoutError::Disconnected)
    );
}
