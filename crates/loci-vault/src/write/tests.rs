use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use super::*;
use crate::disk::testing::{FLUSHES, IS_PLAIN};

/// Where a test may come between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
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
        Place { folder: tempfile::tempdir().unwrap(), temporary: Temporary::of(Path::new("lock")) }
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
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn replace(&self, expected: &str, text: &str) -> Result<FileStamp, Refused> {
        let folder = self.open();
        let metadata = fs::metadata(self.folder.path().join("note.md"))?;
        self.temporary.replace(&folder, "note.md", &read::hash(expected.as_bytes()), text.as_bytes(), &metadata)
    }

    /// Replaces `old` by `new` while somebody else does something at that moment.
    fn replace_while(&self, when: Moment, act: impl Fn(&Path) + 'static) -> Result<FileStamp, Refused> {
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
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn flushes(work: impl FnOnce()) -> usize {
    FLUSHES.set(0);
    work();
    FLUSHES.get()
}

/// On a file system with everything, and on one without.
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
        assert_eq!(flushes(|| _ = place.temporary.create(&folder, "note.md", b"old").unwrap()), 2);
        assert_eq!(flushes(|| _ = place.replace("old", "new").unwrap()), 2);
        assert_eq!(place.files(), files(&[("note.md", "new")]));
    });
}

#[test]
fn what_is_there_is_not_replaced_by_a_new_file() {
    on_every_disk(|| {
        let place = Place::with("note.md", "theirs");
        let error = place.temporary.create(&place.open(), "note.md", b"ours").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(place.files(), files(&[("note.md", "theirs")]));
    });
}

#[test]
fn something_unexpected_is_not_replaced() {
    on_every_disk(|| {
        let place = Place::with("note.md", "theirs");
        assert!(matches!(place.replace("old", "new"), Err(Refused::Changed)));
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
            assert!(matches!(place.replace_while(Moment::BeforeExchange, act), Err(Refused::Changed)));
            assert_eq!(place.files(), files(&[("note.md", "theirs")]));
        }
        let place = Place::with("note.md", "old");
        let refused =
            place.replace_while(Moment::BeforeExchange, |path| fs::remove_file(path.join("note.md")).unwrap());
        assert!(matches!(refused, Err(Refused::Io(_) | Refused::Changed)), "{refused:?}");
        assert_eq!(place.files(), []);
    });
    // After our text is in place, theirs goes over ours, which they could see.
    for act in [write, save] {
        let place = Place::with("note.md", "old");
        place.replace_while(Moment::AfterExchange, act).unwrap();
        assert_eq!(place.files(), files(&[("note.md", "theirs")]));
    }
}

/// The path of the temporary file that waits in the folder.
fn swap_file(folder: &Path) -> std::path::PathBuf {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|ending| ending == "swap")).unwrap()
}

#[test]
fn what_is_written_through_an_open_file_is_put_back() {
    let place = Place::with("note.md", "old");
    // An editor that had opened the note before it went out of its place.
    let refused = place.replace_while(Moment::AfterExchange, |path| fs::write(swap_file(path), "theirs").unwrap());
    assert!(matches!(refused, Err(Refused::Changed)));
    assert_eq!(place.files(), files(&[("note.md", "theirs")]));
}

#[test]
fn of_two_who_come_between_both_are_kept() {
    let place = Place::with("note.md", "old");
    let refused = place.replace_while(Moment::AfterExchange, |path| {
        fs::write(swap_file(path), "first").unwrap();
        fs::write(path.join("note.md"), "second").unwrap();
    });
    assert!(matches!(refused, Err(Refused::Changed)));
    assert_eq!(place.files(), files(&[("note.md", "second"), ("recovered note.md", "first")]));
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
    assert_eq!(fs::read_link(place.folder.path().join("note.md")).unwrap(), target);
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    assert_eq!(place.files().len(), 1);
}

#[test]
fn what_a_crash_left_is_cleared_unless_it_is_somebodys_text() {
    let place = Place::with("note.md", "note");
    let begin = place.temporary.begin.clone();
    let [old, new] = ["old", "new"].map(|text| short(&read::hash(text.as_bytes())));
    let swap = format!("{begin}{old}-{new}.swap");
    let left_alone = [
        format!("{begin}x.new"),
        format!("{begin}.new"),
        format!("{begin}1.new.md"),
        format!("{begin}{old}.swap"),
        format!("{begin}{old}-{new}0.swap"),
        ".loci-00000000-1.new".to_owned(),
        ".loci-1.new".to_owned(),
        "note.md".to_owned(),
    ];
    for name in &left_alone {
        assert!(!place.temporary.is_ours(name), "{name}");
        place.put(name, "text");
        place.temporary.clear(&place.open(), name).unwrap();
        assert!(place.folder.path().join(name).exists(), "{name}");
        fs::remove_file(place.folder.path().join(name)).unwrap();
    }
    for (name, text) in [(format!("{begin}7.new"), "half"), (swap.clone(), "old"), (swap.clone(), "new")] {
        assert!(place.temporary.is_ours(&name));
        place.put(&name, text);
        place.temporary.clear(&place.open(), &name).unwrap();
        assert_eq!(place.files(), []);
    }
    for text in ["theirs", "theirs, too"] {
        place.put(&swap, text);
        place.temporary.clear(&place.open(), &swap).unwrap();
    }
    assert_eq!(place.files(), files(&[("recovered note 2.md", "theirs, too"), ("recovered note.md", "theirs")]));
}

#[test]
fn a_name_that_a_crash_left_is_taken_over() {
    let place = Place::with("note.md", "old");
    let [old, new] = ["old", "new"].map(|text| short(&read::hash(text.as_bytes())));
    place.put(&format!("{}0.new", place.temporary.begin), "half of something longer");
    place.put(&format!("{}{old}-{new}.swap", place.temporary.begin), "old");
    place.replace("old", "new").unwrap();
    assert_eq!(place.files(), files(&[("note.md", "new")]));
}

#[test]
fn every_lock_has_its_own_temporary_files() {
    let [one, other] = ["a/lock", "b/lock"].map(|path| Temporary::of(Path::new(path)));
    assert!(one.is_ours(&format!("{}1.new", one.begin)) && !other.is_ours(&format!("{}1.new", one.begin)));
}
