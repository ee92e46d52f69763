use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loci_core::{Clock, Note, NoteFolder, Timestamp};

use super::*;
use crate::VaultFolder;
use crate::disk::testing::{FLUSHES, IS_PLAIN};

/// A moment at which a test may interfere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Written,
    BeforeRenaming,
    BeforeExchange,
    AfterExchange,
}

type Hook = Rc<dyn Fn(Moment)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

pub(super) fn pause(moment: Moment) {
    let hook = HOOK.with_borrow(Clone::clone);
    if let Some(hook) = hook {
        hook(moment);
    }
}

struct Place {
    folder: tempfile::TempDir,
    temporary: Temporary,
}

impl Place {
    fn new() -> Self {
        Place {
            folder: tempfile::tempdir().unwrap(),
            temporary: Temporary::default(),
        }
    }

    fn with(name: &str, text: &str) -> Self {
        let place = Place::new();
        place.put(name, text);
        place
    }

    fn open(&self) -> Folder {
        Folder::open(self.folder.path()).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn files(&self) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    fs::read_to_string(entry.path()).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    }

    fn replace(&self, expected: &str, text: &str) -> Result<FileStamp, WriteRefusal> {
        let folder = self.open();
        let metadata = fs::metadata(self.folder.path().join("note.md"))?;
        self.temporary.replace(
            &folder,
            "note.md",
            &read::hash(expected.as_bytes()),
            text.as_bytes(),
            &metadata,
        )
    }

    /// Replaces `old` by `new` while another program acts at that moment.
    fn replace_while(
        &self,
        when: Moment,
        act: impl Fn(&Path) + 'static,
    ) -> Result<FileStamp, WriteRefusal> {
        let path = self.folder.path().to_owned();
        let hook: Hook = Rc::new(move |moment| {
            if moment == when {
                act(&path);
            }
        });
        HOOK.set(Some(hook));
        let replaced = self.replace("old", "new");
        HOOK.set(None);
        replaced
    }
}

fn files(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

fn flushes(work: impl FnOnce()) -> usize {
    FLUSHES.set(0);
    work();
    FLUSHES.get()
}

/// Runs the test on a file system with all operations, and on one without the optional ones.
fn on_every_disk(test: impl Fn()) {
    for is_plain in [false, true] {
        IS_PLAIN.set(is_plain);
        test();
    }
    IS_PLAIN.set(false);
}

#[test]
fn a_write_costs_two_flushes() {
    on_every_disk(|| {
        let place = Place::new();
        let folder = place.open();
        assert_eq!(
            flushes(|| _ = place.temporary.create(&folder, "note.md", b"old").unwrap()),
            2
        );
        assert_eq!(flushes(|| _ = place.replace("old", "new").unwrap()), 2);
        assert_eq!(place.files(), files(&[("note.md", "new")]));
    });
}

#[test]
fn what_is_there_is_not_replaced_by_a_new_file() {
    on_every_disk(|| {
        let place = Place::with("note.md", "theirs");
        let error = place
            .temporary
            .create(&place.open(), "note.md", b"ours")
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(place.files(), files(&[("note.md", "theirs")]));
    });
}

#[test]
fn something_unexpected_is_not_replaced() {
    on_every_disk(|| {
        let place = Place::with("note.md", "theirs");
        assert!(matches!(
            place.replace("old", "new"),
            Err(WriteRefusal::Changed)
        ));
        assert_eq!(place.files(), files(&[("note.md", "theirs")]));
    });
}

#[test]
fn what_comes_between_wins() {
    let write = |path: &Path| fs::write(path.join("note.md"), "theirs").unwrap();
    let save = |path: &Path| {
        fs::write(path.join(".save"), "theirs").unwrap();
        fs::rename(path.join(".save"), path.join("note.md")).unwrap();
    };
    on_every_disk(|| {
        for act in [write, save] {
            let place = Place::with("note.md", "old");
            assert!(matches!(
                place.replace_while(Moment::BeforeExchange, act),
                Err(WriteRefusal::Changed)
            ));
            assert_eq!(place.files(), files(&[("note.md", "theirs")]));
        }
        let place = Place::with("note.md", "old");
        let refused = place.replace_while(Moment::BeforeExchange, |path| {
            fs::remove_file(path.join("note.md")).unwrap();
        });
        assert!(
            matches!(refused, Err(WriteRefusal::Io(_) | WriteRefusal::Changed)),
            "{refused:?}"
        );
        assert_eq!(place.files(), []);
    });
    // After our text is in place, theirs replaces it, which they could have read.
    for act in [write, save] {
        let place = Place::with("note.md", "old");
        place.replace_while(Moment::AfterExchange, act).unwrap();
        assert_eq!(place.files(), files(&[("note.md", "theirs")]));
    }
}

/// Returns the path of the temporary file in the folder.
fn swap_file(folder: &Path) -> std::path::PathBuf {
    let mut paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .find(|path| path.extension().is_some_and(|ending| ending == "swap"))
        .unwrap()
}

#[test]
fn what_is_written_through_an_open_file_is_put_back() {
    let place = Place::with("note.md", "old");
    // An editor that had opened the note before it was displaced.
    let refused = place.replace_while(Moment::AfterExchange, |path| {
        fs::write(swap_file(path), "theirs").unwrap();
    });
    assert!(matches!(refused, Err(WriteRefusal::Changed)));
    assert_eq!(place.files(), files(&[("note.md", "theirs")]));
}

#[test]
fn of_two_who_come_between_both_are_kept() {
    let place = Place::with("note.md", "old");
    let refused = place.replace_while(Moment::AfterExchange, |path| {
        fs::write(swap_file(path), "first").unwrap();
        fs::write(path.join("note.md"), "second").unwrap();
    });
    assert!(matches!(refused, Err(WriteRefusal::Changed)));
    assert_eq!(
        place.files(),
        files(&[("note.md", "second"), ("recovered note.md", "first")])
    );
}

#[cfg(unix)]
#[test]
fn mode_and_owner_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    on_every_disk(|| {
        for mode in [0o640, 0o600, 0o664, 0o444] {
            let place = Place::with("note.md", "old");
            let path = place.folder.path().join("note.md");
            let is_given = chown(&path, Some(12_345), Some(12_346)).is_ok();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            place.replace("old", "new").unwrap();
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode);
            if is_given {
                assert_eq!((metadata.uid(), metadata.gid()), (12_345, 12_346));
            }
        }
    });
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_note_stays_and_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    fs::write(&target, "old").unwrap();
    let place = Place::with("note.md", "old");
    let kept = target.clone();
    let refused = place.replace_while(Moment::BeforeExchange, move |path| {
        fs::remove_file(path.join("note.md")).unwrap();
        std::os::unix::fs::symlink(&kept, path.join("note.md")).unwrap();
    });
    assert!(refused.is_err());
    assert_eq!(
        fs::read_link(place.folder.path().join("note.md")).unwrap(),
        target
    );
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    assert_eq!(place.files().len(), 1);
}

#[test]
fn what_a_crash_left_is_cleared_unless_it_is_somebodys_text() {
    let place = Place::with("note.md", "note");
    let begin = place.temporary.begin();
    let random = random_token();
    let [old, new] = ["old", "new"].map(|text| short(&read::hash(text.as_bytes())));
    let swap = format!("{begin}{random}-{old}-{new}.swap");
    let left_alone = [
        format!("{begin}x.new"),
        format!("{begin}.new"),
        format!("{begin}1.new"),
        format!("{begin}{random}.new.md"),
        format!("{begin}{old}-{new}.swap"),
        format!("{begin}{random}-{old}.swap"),
        format!("{begin}{random}-{old}-{new}0.swap"),
        format!(".loci-0000000000000000-{random}.new"),
        format!(".loci-{random}.new"),
        "note.md".to_owned(),
    ];
    for name in &left_alone {
        assert!(!place.temporary.is_ours(name), "{name}");
        place.put(name, "text");
        place.temporary.clear(&place.open(), name).unwrap();
        assert!(place.folder.path().join(name).exists(), "{name}");
        fs::remove_file(place.folder.path().join(name)).unwrap();
    }
    for (name, text) in [
        (format!("{begin}{random}.new"), "half"),
        (swap.clone(), "old"),
        (swap.clone(), "new"),
    ] {
        assert!(place.temporary.is_ours(&name));
        place.put(&name, text);
        place.temporary.clear(&place.open(), &name).unwrap();
        assert_eq!(place.files(), []);
    }
    for text in ["theirs", "theirs, too"] {
        place.put(&swap, text);
        place.temporary.clear(&place.open(), &swap).unwrap();
    }
    assert_eq!(
        place.files(),
        files(&[
            ("recovered note 2.md", "theirs, too"),
            ("recovered note.md", "theirs")
        ])
    );
}

#[test]
fn every_lock_has_its_own_temporary_files() {
    let [one, other] = [(); 2].map(|()| Temporary::default());
    let name = one.new_name();
    assert!(one.is_ours(&name) && !other.is_ours(&name));
    assert_ne!(one.new_name(), name);
    other.name_after(&one.token.lock().unwrap());
    assert!(other.is_ours(&name));
}

#[test]
fn what_is_displaced_can_be_looked_at_again() {
    on_every_disk(|| {
        let place = Place::with("note.md", "old");
        place.replace("old", "new").unwrap();
        let mut displaced = place.temporary.take_displaced();
        assert_eq!(
            (displaced.len(), place.temporary.take_displaced().len()),
            (1, 0)
        );
        assert!(
            !displaced[0]
                .is_changed(Timestamp::from_microseconds(0), true)
                .unwrap()
        );
    });
}

#[test]
fn what_is_written_between_the_look_and_the_renaming_is_kept() {
    IS_PLAIN.set(true);
    let place = Place::with("note.md", "old");
    place
        .replace_while(Moment::BeforeRenaming, |path| {
            fs::write(path.join("note.md"), "theirs").unwrap();
        })
        .unwrap();
    IS_PLAIN.set(false);
    let mut displaced = place.temporary.take_displaced();
    let (soon, later) = (
        Timestamp::from_microseconds(0),
        Timestamp::from_microseconds(i64::MAX),
    );
    assert!(
        !displaced[0].is_changed(soon, false).unwrap(),
        "they may go on writing"
    );
    assert!(displaced[0].is_changed(later, false).unwrap());
    place
        .temporary
        .put_beside(&place.open(), &displaced[0].file)
        .unwrap();
    assert_eq!(
        place.files(),
        files(&[("note.md", "new"), ("recovered note.md", "theirs")])
    );
}

/// The variable with the folder of a child's note and the moment at which the child kills itself.
const CHILD: &str = "LOCI_TEST_KILLED";

#[cfg(unix)]
#[test]
fn what_a_kill_leaves_is_cleared() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    for (moment, ending, text) in [
        ("Written", "new", "old"),
        ("BeforeExchange", "swap", "old"),
        ("AfterExchange", "swap", "new"),
    ] {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("notes")).unwrap();
        fs::write(place.path().join("notes/note.md"), "old").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["write::tests::child_that_is_killed", "--exact"])
            .stdout(Stdio::null());
        let status = child
            .env(CHILD, format!("{moment} {}", place.path().display()))
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(9), "{moment}");
        let names = || {
            let entries = fs::read_dir(place.path().join("notes")).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let left = names();
        assert!(
            left[0].starts_with(".loci-") && left[0].ends_with(ending) && left.len() == 2,
            "{moment}: {left:?}"
        );
        assert!(vault(place.path()).lock().is_ok());
        assert_eq!(names(), ["note.md"], "{moment}");
        assert_eq!(
            fs::read_to_string(place.path().join("notes/note.md"))
                .unwrap()
                .trim(),
            text,
            "{moment}"
        );
    }
}

#[cfg(unix)]
#[test]
fn child_that_is_killed() {
    let Ok(told) = std::env::var(CHILD) else {
        return;
    };
    let (when, place) = told.split_once(' ').unwrap();
    let when = when.to_owned();
    let hook: Hook = Rc::new(move |moment| {
        if format!("{moment:?}") == when {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .unwrap();
        }
    });
    let folder = vault(Path::new(place));
    let _lock = folder.lock().unwrap();
    let read = folder.read("note.md").unwrap().unwrap();
    HOOK.set(Some(hook));
    let note = Note {
        body: "new".to_owned(),
        ..Note::default()
    };
    folder.rewrite("note.md", &read.hash, &note).unwrap();
}

/// Returns the notes in a folder, with their lock beside them.
fn vault(place: &Path) -> VaultFolder {
    VaultFolder::new(place.join("notes"), place.join("lock"), Arc::new(Early))
}

/// A clock set long before every file was written.
struct Early;

impl Clock for Early {
    fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(0)
    }
}
