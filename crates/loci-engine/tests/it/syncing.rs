//! Tests of the removal of memories whose files no longer belong to their project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use loci_core::{FileStamp, SourceFile, SourceState, SourceTree, Space, Store};
use loci_engine::{Refile, SOURCE_FILE, Sync, SyncReport};

use super::sources::{Mine, WING};
use super::*;

/// Existing folders and files, and files that a rule excludes.
#[derive(Default)]
pub struct Tree {
    folders: Mutex<BTreeSet<String>>,
    files: Mutex<BTreeMap<String, bool>>,
    /// The drive of the folders and files.
    drive: AtomicU64,
    /// The event just before the files of a folder are checked.
    meanwhile: Mutex<Option<(&'static str, Meanwhile)>>,
}

type Meanwhile = fn(&Tree);

impl Tree {
    pub fn of(folders: &[&str], files: &[(&str, bool)]) -> Arc<Self> {
        let files = files
            .iter()
            .map(|(path, is_ignored)| ((*path).to_owned(), *is_ignored))
            .collect();
        let folders = folders.iter().map(|&folder| folder.to_owned()).collect();
        Arc::new(Tree {
            folders: Mutex::new(folders),
            files: Mutex::new(files),
            ..Tree::default()
        })
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.files.lock().unwrap().remove(path);
    }

    /// Unmounts the drive of `/p`, which leaves an empty folder.
    fn unmount(&self) {
        self.folders.lock().unwrap().remove("/p");
        self.files
            .lock()
            .unwrap()
            .retain(|path, _| !path.starts_with("/p/"));
    }

    /// Replaces the drive by another one.
    fn exchange(&self) {
        self.files
            .lock()
            .unwrap()
            .retain(|path, _| !path.starts_with("/p/"));
        self.drive.fetch_add(1, Ordering::SeqCst);
    }
}

impl SourceTree for Tree {
    fn root_of(&self, path: &str) -> String {
        Path::new(path)
            .parent()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    }

    fn identity(&self, root: &str) -> Option<String> {
        let is_there = root == "/" || self.folders.lock().unwrap().contains(root);
        is_there.then(|| format!("{root} on {}", self.drive.load(Ordering::SeqCst)))
    }

    fn states(&self, root: &str, paths: &[&str]) -> Result<Vec<SourceState>> {
        if self
            .folders
            .lock()
            .unwrap()
            .contains(&format!("{root}/unreadable"))
        {
            return Err(Error::unavailable("the rules cannot be read"));
        }
        if let Some((_, meanwhile)) = self
            .meanwhile
            .lock()
            .unwrap()
            .take_if(|(of, _)| *of == root)
        {
            meanwhile(self);
        }
        let files = self.files.lock().unwrap();
        let state = |path: &&str| {
            assert!(Path::new(path).starts_with(root), "{path} in {root}");
            match files.get(*path) {
                None => SourceState::Missing,
                Some(true) => SourceState::Ignored,
                Some(false) => SourceState::Kept,
            }
        };
        Ok(paths.iter().map(state).collect())
    }
}

/// Returns a project with a file of each state, a neighbour with a similar name, and memories of
/// other origins.
fn mined(tree: &Arc<Tree>) -> Mine {
    let mine = Mine::new();
    let mine = Mine {
        engine: mine.engine.with_source_tree(tree.clone()),
        ..mine
    };
    let long = "A sentence of a long file. ".repeat(100);
    for (root, path, parts) in [
        (
            "/p",
            "/p/kept.rs",
            &[("kept one", "x"), ("kept two", "x")][..],
        ),
        ("/p", "/p/target/made.rs", &[("made", "x")]),
        ("/p", "/p/gone.rs", &[("gone", "x"), (&long, "x")]),
        ("/p2", "/p2/kept.rs", &[("neighbour", "x")]),
    ] {
        let mut read = mine.whole(path, parts);
        root.clone_into(&mut read.file.root);
        mine.file(read).unwrap();
    }
    for (content, source) in [
        ("by hand", None),
        ("relative", Some("src/gone.rs")),
        ("devious", Some("/p/../p/gone.rs")),
        ("filed by hand from a file that is gone", Some("/p/gone.rs")),
        ("filed by hand from a file elsewhere", Some("/else/gone.rs")),
    ] {
        let attributes = source
            .map(|source| (SOURCE_FILE.to_owned(), source.to_owned()))
            .into_iter()
            .collect();
        let collection = Some(
            if content.contains("elsewhere") {
                "other"
            } else {
                WING
            }
            .to_owned(),
        );
        mine.engine
            .system(&mine.ann)
            .memories()
            .remember(Remember {
                collection,
                attributes,
                ..fact(content, Visibility::Common)
            })
            .unwrap();
    }
    let secret = Remember {
        visibility: Visibility::Private,
        attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), "/p/gone.rs".to_owned())]),
        ..fact("secret of bob", Visibility::Common)
    };
    mine.engine
        .system(&caller("bob", &WRITER))
        .memories()
        .remember(secret)
        .unwrap();
    mine
}

fn tree() -> Arc<Tree> {
    Tree::of(
        &["/p", "/p2", "/else"],
        &[
            ("/p/kept.rs", false),
            ("/p/target/made.rs", true),
            ("/p2/kept.rs", false),
        ],
    )
}

pub fn request(root: Option<&str>, apply: bool) -> Sync {
    Sync {
        root: root.map(str::to_owned),
        collections: CollectionFilter::Any,
        apply,
    }
}

fn stale(files: &[(&str, u64)]) -> BTreeMap<String, u64> {
    files
        .iter()
        .map(|(path, memories)| ((*path).to_owned(), *memories))
        .collect()
}

#[test]
fn every_memory_is_in_one_class() {
    let only = |wing: &str| CollectionFilter::Only(wing.to_owned());
    let all = SyncReport {
        scanned: 11,
        kept: 3,
        ignored: 1,
        missing: 4,
        no_source: 3,
        stale: stale(&[
            ("/else/gone.rs", 1),
            ("/p/gone.rs", 3),
            ("/p/target/made.rs", 1),
        ]),
        ..SyncReport::default()
    };
    let project = SyncReport {
        kept: 2,
        missing: 3,
        out_of_scope: 2,
        stale: stale(&[("/p/gone.rs", 3), ("/p/target/made.rs", 1)]),
        ..all.clone()
    };
    let wing = SyncReport {
        scanned: 10,
        missing: 3,
        stale: project.stale.clone(),
        ..all.clone()
    };
    let other = SyncReport {
        scanned: 1,
        missing: 1,
        stale: stale(&[("/else/gone.rs", 1)]),
        ..SyncReport::default()
    };
    let nowhere = SyncReport {
        out_of_scope: 8,
        no_source: 3,
        scanned: 11,
        ..SyncReport::default()
    };
    let rows = [
        (request(None, false), all),
        (request(Some("/p"), false), project.clone()),
        (request(Some("/p/"), false), project),
        (
            Sync {
                collections: only(WING),
                ..request(None, false)
            },
            wing,
        ),
        (
            Sync {
                collections: only("other"),
                ..request(None, false)
            },
            other,
        ),
        (
            Sync {
                collections: only("none"),
                ..request(None, false)
            },
            SyncReport::default(),
        ),
        (request(Some("/p3"), false), nowhere),
    ];
    let tree = tree();
    tree.folders.lock().unwrap().insert("/p3".to_owned());
    let mine = mined(&tree);
    let before = (
        mine.store.inner.version(&Space::default()).unwrap(),
        mine.memories(),
    );
    for (request, expected) in rows {
        let synced = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request)
            .unwrap();
        let SyncReport {
            scanned,
            kept,
            ignored,
            missing,
            no_source,
            out_of_scope,
            ..
        } = expected;
        assert_eq!(
            scanned,
            kept + ignored + missing + no_source + out_of_scope,
            "{request:?}"
        );
        assert_eq!(synced, expected, "{request:?}");
    }
    assert_eq!(
        (
            mine.store.inner.version(&Space::default()).unwrap(),
            mine.memories()
        ),
        before,
        "a look changes nothing"
    );
    // A caller who may read more sees more.
    let everything = mine
        .engine
        .system(&Caller::local())
        .sources()
        .sync(&request(None, false))
        .unwrap();
    assert_eq!(
        (
            everything.scanned,
            everything.missing,
            everything.stale["/p/gone.rs"]
        ),
        (12, 5, 4)
    );
}

#[test]
fn what_is_ignored_or_gone_is_removed() {
    let mine = mined(&tree());
    let synced = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(Some("/p"), true))
        .unwrap();
    assert_eq!(
        (synced.removed_memories, synced.ignored + synced.missing),
        (4, 4)
    );
    // The long part is one of several passages.
    assert!(synced.removed_passages > 5, "{synced:?}");
    assert_eq!(mine.engine.size().unwrap().memories, 12 - 4);
    let left: BTreeSet<String> = mine
        .memories()
        .into_iter()
        .map(|memory| memory.content)
        .collect();
    let expected = [
        "kept one",
        "kept two",
        "neighbour",
        "by hand",
        "relative",
        "devious",
    ];
    assert_eq!(left, expected.into_iter().map(str::to_owned).collect());
    let known = mine
        .engine
        .system(&mine.ann)
        .sources()
        .source_files(Some(WING))
        .unwrap();
    assert_eq!(
        known
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        ["/p/kept.rs", "/p2/kept.rs"]
    );
    let again = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(Some("/p"), true))
        .unwrap();
    let expected = SyncReport {
        scanned: 7,
        kept: 2,
        no_source: 3,
        out_of_scope: 2,
        ..SyncReport::default()
    };
    assert_eq!(again, expected);
    // Bob's private memory stays.
    assert!(
        listed(&mine.engine, &caller("bob", &WRITER))
            .iter()
            .any(|memory| memory.content == "secret of bob")
    );
}

#[test]
fn what_was_said_outlasts_its_transcript() {
    // Not even the folder exists any more.
    let mine = mined(&tree());
    mine.file(mine.further("/host/session.jsonl", 0, &["a question", "an answer"]))
        .unwrap();
    let synced = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(None, true))
        .unwrap();
    assert_eq!(
        (synced.scanned, synced.kept, synced.removed_memories),
        (13, 5, 5)
    );
    assert!(
        mine.memories()
            .iter()
            .any(|memory| memory.content == "an answer")
    );
    assert!(mine.known("/host/session.jsonl").is_some());
}

#[test]
fn passages_are_counted_as_they_are_stored() {
    let mine = mined(&tree());
    let before = mine.engine.size().unwrap().passages;
    let synced = mine
        .engine
        .system(&Caller::local())
        .sources()
        .sync(&request(None, true))
        .unwrap();
    assert_eq!(
        (synced.removed_memories, synced.removed_passages),
        (6, before - mine.engine.size().unwrap().passages)
    );
}

#[test]
fn a_root_that_is_away_removes_nothing_at_all() {
    let tree = tree();
    let mine = mined(&tree);
    let before = mine.memories();
    let refused = |request: &Sync, code: ErrorCode| {
        let error = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(request)
            .unwrap_err();
        assert_eq!(error.code, code, "{request:?}: {error}");
        assert_eq!(mine.memories(), before);
        error.message
    };
    for root in ["p", "", "/p/../p"] {
        assert!(
            refused(&request(Some(root), true), ErrorCode::InvalidArgument)
                .contains("`project_dir`")
        );
    }
    // One of two projects is away: its root is known, though none of its files is visible.
    tree.folders.lock().unwrap().remove("/p2");
    tree.files.lock().unwrap().remove("/p2/kept.rs");
    assert!(refused(&request(None, true), ErrorCode::Unavailable).contains("/p2"));
    for is_applied in [false, true] {
        refused(&request(Some("/p2"), is_applied), ErrorCode::Unavailable);
    }
    // A dry run reports the states that it can determine, and the projects that are away.
    let looked = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(None, false))
        .unwrap();
    assert_eq!(
        (looked.away, looked.kept, looked.missing),
        (vec!["/p2".to_owned()], 3, 4)
    );
    assert_eq!(
        looked.stale,
        stale(&[
            ("/else/gone.rs", 1),
            ("/p/gone.rs", 3),
            ("/p/target/made.rs", 1)
        ])
    );
    tree.folders
        .lock()
        .unwrap()
        .extend(["/p2".to_owned(), "/p2/unreadable".to_owned()]);
    refused(&request(None, true), ErrorCode::Unavailable);
    // Only the other one.
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap()
            .removed_memories,
        4
    );
    let Bench { engine, .. } = bench();
    assert_eq!(
        engine
            .system(&mine.ann)
            .sources()
            .sync(&request(None, false))
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
}

/// A folder is checked before its files and after them, because one whose drive is unmounted has no
/// files either.
#[test]
fn a_root_that_goes_away_during_the_look_removes_nothing_at_all() {
    for meanwhile in [Tree::unmount, Tree::exchange] {
        for root in [None, Some("/p")] {
            let tree = tree();
            let mine = mined(&tree);
            let before = (mine.memories(), mine.known("/p/kept.rs"));
            *tree.meanwhile.lock().unwrap() = Some(("/p", meanwhile));
            let error = mine
                .engine
                .system(&mine.ann)
                .sources()
                .sync(&request(root, true))
                .unwrap_err();
            assert_eq!(error.code, ErrorCode::Unavailable);
            assert!(
                error.message.contains("/p") && error.message.contains("nothing was removed"),
                "{error}"
            );
            assert_eq!((mine.memories(), mine.known("/p/kept.rs")), before);
        }
        let tree = tree();
        let mine = mined(&tree);
        *tree.meanwhile.lock().unwrap() = Some(("/p", meanwhile));
        let looked = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request(None, false))
            .unwrap();
        assert_eq!(
            (looked.away, looked.kept, looked.missing),
            (vec!["/p".to_owned()], 7, 1)
        );
        assert_eq!(looked.stale, stale(&[("/else/gone.rs", 1)]));
    }
}

/// The state of a drive's files is checked again before each removal.
#[test]
fn a_root_that_goes_away_during_the_removal_ends_it() {
    for meanwhile in [Tree::unmount, Tree::exchange] {
        let tree = tree();
        let mine = mined(&tree);
        let is_first = AtomicBool::new(true);
        mine.store.before(move |method| {
            if method == "commit" && is_first.swap(false, Ordering::SeqCst) {
                meanwhile(&tree);
            }
            Ok(())
        });
        let error = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(
            error
                .message
                .contains("3 memories were removed before that"),
            "{error}"
        );
        assert!(
            mine.memories()
                .iter()
                .any(|memory| memory.content == "made")
        );
        assert!(mine.known("/p/target/made.rs").is_some());
    }
}

/// A file that is back loses nothing, whether it is seen in time or mined at the last moment.
#[test]
fn a_file_that_came_back_is_kept() {
    for (moment, is_mined) in [
        ("source_file", false),
        ("source_file", true),
        ("commit", true),
    ] {
        let tree = tree();
        let mine = mined(&tree);
        let before = mine.memories().len();
        let store = faulty_store::FaultyStore::new(mine.store.inner.clone());
        let embedder = Arc::new(HashingEmbedder::default());
        let engine = Engine::new(
            store.clone(),
            embedder,
            mine.clock.clone(),
            SearchMode::Words,
        );
        let other = Mine {
            engine,
            store,
            clock: mine.clock.clone(),
            ann: mine.ann.clone(),
        };
        let is_first = AtomicBool::new(true);
        mine.store.before(move |method| {
            if method == moment && is_first.swap(false, Ordering::SeqCst) {
                tree.files
                    .lock()
                    .unwrap()
                    .insert("/p/gone.rs".to_owned(), false);
                if is_mined {
                    let long = "A sentence of a long file. ".repeat(100);
                    other.file(other.whole(
                        "/p/gone.rs",
                        &[("gone", "x"), (&long, "x"), ("came back", "x")],
                    ))?;
                }
            }
            Ok(())
        });
        let synced = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap();
        assert_eq!(synced.removed_memories, 1, "{moment} {is_mined}");
        assert_eq!(
            mine.memories().len(),
            before - 1 + usize::from(is_mined),
            "{moment} {is_mined}"
        );
        assert!(mine.known("/p/gone.rs").is_some());
    }
}

#[test]
fn who_may_not_write_removes_nothing() {
    let mine = mined(&tree());
    let shared = Remember {
        visibility: Visibility::Shared,
        attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), "/p/shared.rs".to_owned())]),
        ..fact("shared by bob", Visibility::Common)
    };
    mine.engine
        .system(&caller("bob", &WRITER))
        .memories()
        .remember(shared)
        .unwrap();
    let synced = mine
        .engine
        .system(&caller("eve", &[Scope::Read]))
        .sources()
        .sync(&request(None, true))
        .unwrap();
    assert_eq!(
        (
            synced.ignored + synced.missing,
            synced.removed_memories,
            synced.removed_passages
        ),
        (6, 0, 0)
    );
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .source_files(Some(WING))
            .unwrap()
            .len(),
        4
    );
    let synced = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(None, true))
        .unwrap();
    assert_eq!(
        (
            synced.ignored + synced.missing,
            synced.removed_memories,
            synced.stale["/p/shared.rs"]
        ),
        (6, 5, 1)
    );
}

/// A memory that changes between the check and its removal is checked again; one that was moved or
/// deleted is not touched.
#[test]
fn what_changes_meanwhile_is_looked_at_again() {
    type Meanwhile = fn(&Engine, &Caller, &MemoryId) -> Result<()>;
    let rows: [(Meanwhile, u64, bool); 3] = [
        (
            |engine, ann, id| {
                engine
                    .system(ann)
                    .memories()
                    .update(id, "still of that file", None)
                    .map(drop)
            },
            4,
            false,
        ),
        (
            |engine, ann, id| engine.system(ann).memories().forget(id),
            3,
            false,
        ),
        (
            |engine, ann, id| {
                let change = Refile {
                    collection: Some(Some("kept".to_owned())),
                    ..Refile::default()
                };
                engine.system(ann).memories().refile(id, change).map(drop)
            },
            3,
            true,
        ),
    ];
    for (change, removed, is_left) in rows {
        let mine = mined(&tree());
        let id = mine
            .memories()
            .into_iter()
            .find(|memory| memory.content == "gone")
            .unwrap()
            .id;
        let embedder = Arc::new(HashingEmbedder::default());
        let other = Engine::new(
            mine.store.inner.clone(),
            embedder,
            mine.clock.clone(),
            SearchMode::Words,
        );
        let (is_first, ann, of) = (AtomicBool::new(true), mine.ann.clone(), id.clone());
        mine.store.before(move |method| {
            if method == "commit" && is_first.swap(false, Ordering::SeqCst) {
                change(&other, &ann, &of)?;
            }
            Ok(())
        });
        let synced = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap();
        assert_eq!(synced.removed_memories, removed);
        assert_eq!(
            mine.engine.system(&mine.ann).memories().show(&id).is_ok(),
            is_left
        );
    }
}

/// The memories of a file are removed together; a later sync finds the remaining files.
#[test]
fn an_interrupted_removal_is_resumed() {
    let mine = mined(&tree());
    mine.fail_after(1);
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    mine.work_again();
    let left = |mine: &Mine, path: &str| {
        let of_path = |memory: &Memory| {
            memory
                .attributes
                .get(SOURCE_FILE)
                .is_some_and(|source| source == path)
        };
        (
            mine.memories()
                .iter()
                .filter(|memory| of_path(memory))
                .count(),
            mine.known(path).is_some(),
        )
    };
    assert_eq!(
        (left(&mine, "/p/gone.rs"), left(&mine, "/p/target/made.rs")),
        ((0, false), (1, true))
    );
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .sync(&request(Some("/p"), true))
            .unwrap()
            .removed_memories,
        1
    );
}

/// The state of a file is removed even after its memories were deleted by hand.
#[test]
fn what_is_known_of_a_file_goes_without_memories_too() {
    let tree = tree();
    let mine = mined(&tree);
    for memory in mine.memories() {
        if memory.content == "made" {
            mine.engine
                .system(&mine.ann)
                .memories()
                .forget(&memory.id)
                .unwrap();
        }
    }
    let paths = |mine: &Mine| -> Vec<String> {
        mine.engine
            .system(&mine.ann)
            .sources()
            .source_files(Some(WING))
            .unwrap()
            .into_iter()
            .map(|file| file.path)
            .collect()
    };
    let synced = mine
        .engine
        .system(&mine.ann)
        .sources()
        .sync(&request(None, true))
        .unwrap();
    assert_eq!(synced.stale.get("/p/target/made.rs"), None);
    assert_eq!(paths(&mine), ["/p/kept.rs", "/p2/kept.rs"]);
    // A missing project of which only the state of a file is left does not stop a sync.
    let mut empty = mine.whole("/p9/empty.rs", &[]);
    empty.file = SourceFile {
        root: "/p9".to_owned(),
        stamp: FileStamp {
            bytes: 0,
            modified_nanoseconds: 0,
        },
        ..empty.file
    };
    mine.file(empty).unwrap();
    assert_eq!(
        mine.engine
            .system(&mine.ann)
            .sources()
            .sync(&request(None, true))
            .unwrap()
            .removed_memories,
        0
    );
    assert_eq!(paths(&mine), ["/p/kept.rs", "/p2/kept.rs", "/p9/empty.rs"]);
}
