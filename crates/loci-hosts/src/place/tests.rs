//! Tests of what happens to a file while loci changes it: other programs write it, or loci is
//! killed. Other systems do not let go of a file that a test has open, and have no lock of folders.

#![cfg_attr(
    not(unix),
    allow(dead_code, unused_imports, reason = "the tests are for Unix")
)]

use std::cell::{Cell, RefCell};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::replacement::ReplacementStep;
use super::*;
use crate::change::Change;
use crate::change::tests::{Line, put};

type Hook = Rc<dyn Fn(ReplacementStep)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    /// True if the file system should lack exchanges.
    pub(super) static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
}

/// Lets the test of this thread interfere.
pub(super) fn at(moment: ReplacementStep) {
    let hook = HOOK.with_borrow(Clone::clone);
    if let Some(hook) = hook {
        hook(moment);
    }
}

/// Calls a function at the first of each of these moments.
fn interfere(moments: &[ReplacementStep], interference: impl Fn() + 'static) {
    let left = RefCell::new(moments.to_vec());
    HOOK.set(Some(Rc::new(move |moment| {
        let index = left.borrow().iter().position(|one| *one == moment);
        if let Some(index) = index {
            left.borrow_mut().remove(index);
            interference();
        }
    })));
}

const MOMENTS: [ReplacementStep; 5] = [
    ReplacementStep::Written,
    ReplacementStep::BeforeLook,
    ReplacementStep::BeforeExchange,
    ReplacementStep::AfterExchange,
    ReplacementStep::Flushed,
];

/// A change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Add,
    /// The line is taken out.
    Undo,
    /// loci made the file, and removes it.
    Remove,
}

const WORKS: [Work; 3] = [Work::Add, Work::Undo, Work::Remove];

impl Work {
    /// Returns the text before the change.
    fn before(self) -> &'static str {
        match self {
            Work::Add => "mine\n",
            Work::Undo => "mine\nline\n",
            Work::Remove => "line\n",
        }
    }

    fn plan(self, file: &Path) -> Change<'static> {
        let root = file.parent().unwrap();
        match self {
            Work::Add => Change::plan(file, Reach::Everywhere, put),
            Work::Undo | Work::Remove => Change::plan_undo(file, Reach::Everywhere, Line, root),
        }
        .unwrap()
    }
}

/// A way in which other programs write.
#[derive(Debug, Clone, Copy)]
enum Way {
    Rename,
    /// Through a file that was opened before.
    InPlace,
    /// In place, after it was empty for an instant.
    Emptied,
}

fn writer(file: &Path, way: Way, text: &'static str) -> impl Fn() + use<> {
    let mut opened = Some(OpenOptions::new().write(true).open(file).unwrap());
    if matches!(way, Way::Rename) {
        opened = None;
    }
    let file = file.to_owned();
    move || match &opened {
        None => {
            let draft = file.with_extension("draft");
            fs::write(&draft, text).unwrap();
            fs::rename(&draft, &file).unwrap();
        }
        Some(opened) => {
            let mut opened: &File = opened;
            opened.rewind().unwrap();
            if matches!(way, Way::Emptied) {
                opened.set_len(0).unwrap();
            }
            opened.write_all(text.as_bytes()).unwrap();
            opened.set_len(text.len() as u64).unwrap();
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn what_another_program_writes_at_any_moment_stays() {
    for is_plain in [false, true] {
        IS_PLAIN.set(is_plain);
        write_at_each_step(is_plain);
    }
    IS_PLAIN.set(false);
}

fn write_at_each_step(is_plain: bool) {
    for work in WORKS {
        for way in [Way::Rename, Way::InPlace, Way::Emptied] {
            // A removal writes no draft.
            let first = usize::from(work == Work::Remove);
            for moment in MOMENTS.into_iter().skip(first) {
                let is_renamed_over = is_plain && work != Work::Remove;
                let is_skipped = match moment {
                    // Such a write is lost there.
                    ReplacementStep::BeforeExchange => matches!(way, Way::Rename),
                    // There is no such step.
                    ReplacementStep::Flushed => true,
                    _ => false,
                };
                if is_renamed_over && is_skipped {
                    continue;
                }
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("file");
                fs::write(&file, work.before()).unwrap();
                let change = work.plan(&file);
                interfere(&[moment], writer(&file, way, "theirs, and more\nline\n"));
                let edited = change.apply().unwrap();
                HOOK.set(None);
                let expected = match work {
                    Work::Add => "theirs, and more\nline\n",
                    Work::Undo | Work::Remove => "theirs, and more\n",
                };
                let shown = format!("{work:?} {way:?} {moment:?} {edited:?}");
                let is_over = matches!(way, Way::Rename)
                    && matches!(
                        moment,
                        ReplacementStep::AfterExchange | ReplacementStep::Flushed
                    );
                let text = fs::read_to_string(&file).unwrap();
                if is_over {
                    // It came after the change, and over it.
                    assert_eq!(text, "theirs, and more\nline\n", "{shown}");
                } else {
                    assert_eq!(text, expected, "{shown}");
                }
                assert_eq!(edited.kept, Vec::<PathBuf>::new(), "{shown}");
                let left = names(folder.path()).into_iter();
                let left: Vec<_> = left.filter(|name| !name.contains("backup")).collect();
                assert_eq!(left, ["file"], "{shown}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn the_newest_of_several_writes_has_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine\n").unwrap();
    let change = Work::Add.plan(&file);
    let (path, number) = (file.clone(), RefCell::new(0));
    let moments = [
        ReplacementStep::BeforeExchange,
        ReplacementStep::AfterExchange,
        ReplacementStep::PutBack,
    ];
    interfere(&moments, move || {
        *number.borrow_mut() += 1;
        let draft = path.with_extension("draft");
        fs::write(&draft, format!("write {}\n", number.borrow())).unwrap();
        fs::rename(&draft, &path).unwrap();
    });
    let edited = change.apply().unwrap();
    HOOK.set(None);
    assert_eq!(fs::read_to_string(&file).unwrap(), "write 3\nline\n");
    // A text that was written over before its reader could see it is kept.
    for kept in &edited.kept {
        let text = fs::read_to_string(kept).unwrap();
        assert!(text.starts_with("write "), "{kept:?}: {text}");
    }
    assert!(!edited.kept.is_empty());
}

#[cfg(unix)]
#[test]
fn a_program_that_never_stops_writing_keeps_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine\n").unwrap();
    let change = Work::Add.plan(&file);
    let (path, number) = (file.clone(), RefCell::new(0_u32));
    HOOK.set(Some(Rc::new(move |moment| {
        if moment == ReplacementStep::BeforeLook {
            *number.borrow_mut() += 1;
            fs::write(
                &path,
                format!("{}\n", "x".repeat(*number.borrow() as usize)),
            )
            .unwrap();
        }
    })));
    let refused = change.apply_for(Duration::from_millis(200)).unwrap_err();
    HOOK.set(None);
    let refused = refused.to_string();
    assert!(refused.contains("keeps writing it"), "{refused}");
    assert!(fs::read_to_string(&file).unwrap().starts_with('x'));
    assert_eq!(names(folder.path()), ["file"]);
}

#[cfg(unix)]
#[test]
fn a_killed_command_leaves_nothing_once_it_is_repeated() {
    for work in WORKS {
        for moment in MOMENTS {
            for is_undone in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("file");
                if work == Work::Remove {
                    fs::write(&file, "line\n").unwrap();
                } else {
                    fs::write(&file, "mine\n").unwrap();
                }
                if work == Work::Undo {
                    Work::Add.plan(&file).apply().unwrap();
                }
                let shown = format!("{work:?} {moment:?} {is_undone}");
                let change = work.plan(&file);
                interfere(&[moment], || panic!("killed"));
                let killed = catch_unwind(AssertUnwindSafe(|| change.apply()));
                HOOK.set(None);
                let is_killed = killed.is_err();
                // A removal writes no draft.
                assert!(is_killed || work == Work::Remove, "{shown}");
                // The file is whole at each moment.
                let text = fs::read_to_string(&file).unwrap_or_default();
                assert!(
                    ["mine\n", "mine\nline\n", "line\n", ""].contains(&&*text),
                    "{shown}"
                );
                if !is_undone {
                    work.plan(&file).apply().unwrap();
                }
                Work::Undo.plan(&file).apply().unwrap();
                let expected: &[&str] = if work == Work::Remove { &[] } else { &["file"] };
                if folder.path().exists() {
                    assert_eq!(names(folder.path()), expected, "{shown}");
                }
                if work != Work::Remove {
                    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n", "{shown}");
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_command_displaced_comes_back() {
    for (is_over, expected) in [(false, "theirs\n"), (true, "newer\n")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mine\n").unwrap();
        let change = Work::Add.plan(&file);
        let path = file.clone();
        HOOK.set(Some(Rc::new(move |moment| match moment {
            ReplacementStep::BeforeExchange => fs::write(&path, "theirs\n").unwrap(),
            ReplacementStep::AfterExchange => panic!("killed"),
            _ => {}
        })));
        assert!(catch_unwind(AssertUnwindSafe(|| change.apply())).is_err());
        HOOK.set(None);
        if is_over {
            fs::write(&file, "newer\n").unwrap();
        }
        let kept = Place::find(&file, Reach::Everywhere).unwrap().take_turn();
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        let kept: Vec<_> = kept
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        let lost: &[&str] = if is_over { &["theirs\n"] } else { &[] };
        assert_eq!(kept, lost);
    }
}

#[cfg(unix)]
#[test]
fn the_mode_and_the_owner_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let is_root = is_of_root(&file);
    if is_root {
        chown(folder.path(), Some(1_234), Some(2_345)).unwrap();
        chown(&file, Some(1_234), Some(2_345)).unwrap();
    }
    let before = fs::metadata(&file).unwrap();
    let kept = |path: &Path| {
        let after = fs::metadata(path).unwrap();
        let parts = |of: &Metadata| (of.uid(), of.gid(), of.mode());
        assert_eq!(parts(&after), parts(&before), "{path:?}");
    };
    let edited = Work::Add.plan(&file).apply().unwrap();
    kept(&file);
    kept(&edited.backup.unwrap());
    Work::Undo.plan(&file).apply().unwrap();
    kept(&file);
    // A new file and its folders belong to whom the folder belongs to.
    let new = folder.path().join("a/b/new");
    Work::Add.plan(&new).apply().unwrap();
    for path in [&new, new.parent().unwrap(), &folder.path().join("a")] {
        assert_eq!(fs::metadata(path).unwrap().uid(), before.uid(), "{path:?}");
    }
}

/// Returns true if root runs the tests, to whom new files belong.
#[cfg(unix)]
fn is_of_root(file: &Path) -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata(file).unwrap()) == 0
}
