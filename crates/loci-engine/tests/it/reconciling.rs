//! Tests that the index of the notes follows their files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use loci_core::{
    Change, Clock, Delivery, FileProblemKind, Forgotten, Link, NoteFile, NoteFolder, NoteStore,
    Reader, Relation, Space, Store, UNREVIEWED,
};
use loci_engine::{Discard, ReconciliationReport};
use loci_testkit::Random;

use super::faulty_store::FaultyStore;
use super::note_folder::{MemoryFolder, Texts};
use super::*;

/// An engine with a folder of notes.
pub struct Vault {
    pub engine: Arc<Engine>,
    pub store: Arc<FaultyStore>,
    pub folder: Arc<MemoryFolder>,
    pub clock: Arc<FixedClock>,
}

pub fn vault() -> Vault {
    let clock = Arc::new(FixedClock::default());
    let (store, folder) = (
        FaultyStore::new(Arc::new(NaiveStore::new())),
        MemoryFolder::new(clock.clone()),
    );
    let engine = Arc::new(engine_on(&store, &folder, &clock));
    Vault {
        engine,
        store,
        folder,
        clock,
    }
}

pub fn engine_on(
    store: &Arc<FaultyStore>,
    folder: &Arc<MemoryFolder>,
    clock: &Arc<FixedClock>,
) -> Engine {
    let embedder = Arc::new(HashingEmbedder::default());
    Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid)
        .with_notes(folder.clone(), "vault")
}

impl Vault {
    /// Ages the files until their times reveal changes, and reconciles.
    pub fn reconcile(&self) -> ReconciliationReport {
        self.clock.advance(10);
        self.engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap()
    }

    pub fn rows(&self) -> Vec<NoteFile> {
        self.store.note_files(&Space::default()).unwrap()
    }

    pub fn row(&self, path: &str) -> NoteFile {
        self.rows()
            .into_iter()
            .find(|row| row.path == path)
            .unwrap()
    }

    pub fn id(&self, path: &str) -> MemoryId {
        self.row(path).memory.unwrap()
    }

    pub fn memory(&self, path: &str) -> Memory {
        self.stored(&self.id(path)).unwrap()
    }

    pub fn stored(&self, id: &MemoryId) -> Option<Memory> {
        self.store.get(&Space::default(), id).unwrap()
    }

    /// Returns the memories that the one at this path links to.
    fn linked(&self, path: &str) -> Vec<MemoryId> {
        self.memory(path)
            .links
            .into_iter()
            .map(|link| link.target)
            .collect()
    }

    /// Changes a memory without the engine.
    fn put(&self, id: &MemoryId, revision: u64, change: impl FnOnce(&mut Memory)) {
        let mut memory = Memory {
            revision: revision + 1,
            ..self.stored(id).unwrap()
        };
        change(&mut memory);
        let expect = loci_core::Expect::Revision(revision);
        let put = Change::Put {
            memory: Box::new(memory),
            passages: None,
            expect,
        };
        self.store
            .commit(loci_core::Batch::new(Space::default(), vec![put]))
            .unwrap();
    }

    fn all(&self) -> Vec<Memory> {
        let filter = loci_core::Filter::of(Space::default(), Reader::everything(), Timestamp::MIN);
        self.store
            .list(
                &filter,
                loci_core::Page {
                    offset: 0,
                    limit: 1_000,
                },
            )
            .unwrap()
    }

    /// Reconciles, and checks that it reads and writes nothing.
    pub fn assert_settled(&self) {
        self.clock.advance(10);
        self.engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap();
        let (version, reads) = (
            self.store.version(&Space::default()).unwrap(),
            self.folder.reads.load(Ordering::SeqCst),
        );
        let files = self.folder.paths().len();
        let reconciled = self
            .engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap();
        assert_eq!(
            reconciled,
            ReconciliationReport {
                unchanged: files,
                ..ReconciliationReport::default()
            }
        );
        assert_eq!(self.folder.reads.load(Ordering::SeqCst), reads);
        assert_eq!(self.store.version(&Space::default()).unwrap(), version);
    }
}

fn moment(microseconds: i64) -> Timestamp {
    Timestamp::from_microseconds(microseconds)
}

const WHOLE: &str = "---\nuid: u1\ntitle: On bees\nstatus: active\ncreated_at: 1000\nupdated_at: 2000\ntags: bees, honey\n\
                     always_load: true\nwing: garden\nroom: hives\nmood: calm\n---\nThey #hum and make #honey.\n";

#[test]
fn a_file_becomes_a_memory() {
    let vault = vault();
    vault.folder.write("Bees.md", WHOLE);
    vault
        .folder
        .write("deep/Plain note.md", "nothing but text\n");
    vault.folder.write("Blank.md", "\n");
    assert_eq!(vault.reconcile().indexed, 3);

    let memory = vault.memory("Bees.md");
    let expected = Memory {
        title: Some("On bees".to_owned()),
        location: Location {
            collection: Some("garden".to_owned()),
            section: "hives".to_owned(),
        },
        tags: ["bees", "honey", "hum"].map(str::to_owned).to_vec(),
        weight: 1.0,
        delivery: Delivery::Bootstrap,
        origin: "vault".to_owned(),
        visibility: Visibility::Common,
        by_admin: true,
        provenance: words_of(SaidBy::File),
        attributes: BTreeMap::from([(UNREVIEWED.to_owned(), "true".to_owned())]),
        updated_at: moment(2_000),
        ..Memory::new(
            Space::default(),
            MemoryId::new("u1"),
            "They #hum and make #honey.",
            "note",
            moment(1_000),
        )
    };
    assert_eq!(memory, expected);
    assert_eq!(
        found(&vault.engine, &Caller::local(), "humming bees"),
        [memory.id]
    );

    let plain = vault.memory("deep/Plain note.md");
    assert_eq!(
        (plain.title.as_deref(), plain.content.as_str()),
        (Some("Plain note"), "nothing but text")
    );
    assert_eq!(
        plain.location,
        Location {
            collection: None,
            section: "note".to_owned()
        }
    );
    let blank = vault.memory("Blank.md");
    assert_eq!(
        (blank.title.as_deref(), blank.content.as_str()),
        (Some("Blank"), "Blank")
    );
    // Without a time in the file, its modification time counts.
    assert_eq!(
        plain.created_at.microseconds(),
        vault.row("deep/Plain note.md").stamp.modified_nanoseconds / 1_000
    );
    vault.assert_settled();
}

#[test]
fn what_is_beyond_the_limits_is_left_out() {
    let vault = vault();
    let tags: Vec<String> = (0..200).map(|number| format!("t{number}")).collect();
    let long = "x".repeat(200);
    let text = format!(
        "---\ntitle: {}\ntags: {long}, , {}\nwing: global\nroom: {long}{long}\n---\ntext",
        "é".repeat(300),
        tags.join(",")
    );
    vault.folder.write("a.md", &text);
    vault
        .folder
        .write("b.md", "---\ntitle: \u{7}one\u{7f}two\nuid:   \n---\ntext");
    vault.folder.write(
        "c.md",
        &format!("---\nuid: {}\ntitle:  \n---\ntext", "u".repeat(600)),
    );
    vault.reconcile();
    let memory = vault.memory("a.md");
    assert_eq!(memory.title, Some("é".repeat(256)));
    assert_eq!(memory.tags, tags[..limits::TAGS_MAX]);
    assert_eq!(
        memory.location,
        Location {
            collection: None,
            section: "note".to_owned()
        }
    );
    assert_eq!(vault.memory("b.md").title.as_deref(), Some(" one two"));
    assert_eq!(vault.memory("c.md").title.as_deref(), Some("c"));
    for path in ["b.md", "c.md"] {
        assert!(!vault.row(path).says_id);
        assert_eq!(vault.id(path).as_str().len(), 36);
    }
    vault.assert_settled();
}

/// Data of a note that is not in its file stays when the file changes.
#[test]
fn a_change_of_a_file_leaves_what_it_does_not_say() {
    let vault = vault();
    vault.folder.write("a.md", "---\nuid: u1\n---\nold text");
    vault.reconcile();
    let caller = Caller::local();
    let replacing = Remember {
        supersedes: Some(MemoryId::new("u1")),
        ..fact("newer", Visibility::Common)
    };
    vault
        .engine
        .system(&caller)
        .memories()
        .remember(replacing)
        .unwrap();
    let faded = vault.memory("a.md");
    assert!(faded.weight < 0.5);
    vault.put(&faded.id, faded.revision, |memory| {
        memory.owner = Some("ann".to_owned());
    });

    vault.folder.replace("a.md", "old", "new");
    vault.reconcile();
    let memory = vault.memory("a.md");
    assert_eq!(
        (memory.content.as_str(), memory.owner.as_deref()),
        ("new text", Some("ann"))
    );
    assert!((memory.weight - faded.weight).abs() < f64::EPSILON);
    vault.assert_settled();
}

#[test]
fn vectors_stay_while_title_and_text_do() {
    let vault = vault();
    vault.folder.write("a.md", "---\nuid: u1\n---\nwatched");
    vault.reconcile();
    let waits = || {
        vault
            .store
            .pending_embeddings(HashingEmbedder::default().model(), usize::MAX)
            .unwrap()
    };
    assert_eq!(waits(), 1);
    assert!(
        vault
            .engine
            .background()
            .embed_wakeup()
            .wait(Duration::ZERO)
    );
    assert_eq!(vault.engine.background().embed_pending(), Ok(1));
    for (number, change) in [
        "status: deleted",
        "status: active",
        "tags: seen",
        "wing: w",
        "updated_at: 5000",
    ]
    .iter()
    .enumerate()
    {
        let before = vault.folder.text("a.md");
        vault.folder.write(
            "a.md",
            &before.replace("---\nwatched", &format!("{change}\n---\nwatched")),
        );
        assert_eq!(vault.reconcile().indexed, 1);
        assert_eq!(waits(), 0, "{number}: {change}");
    }
    assert_eq!(
        found(&vault.engine, &Caller::local(), "seen"),
        [MemoryId::new("u1")]
    );
    vault.folder.rename("a.md", "b.md");
    vault.reconcile();
    // The name of the file is its title.
    assert_eq!(waits(), 1);
}

#[test]
fn the_time_of_a_text_is_what_the_file_says_while_that_can_be() {
    let vault = vault();
    let at = |path: &str| vault.memory(path).updated_at;
    let modified = |path: &str| moment(vault.row(path).stamp.modified_nanoseconds / 1_000);
    vault
        .folder
        .write("a.md", "---\nupdated_at: 1000\n---\none");
    vault.folder.write(
        "b.md",
        &format!("---\nupdated_at: {}\n---\none", i64::MAX / 2),
    );
    vault.reconcile();
    assert_eq!((at("a.md"), at("b.md")), (moment(1_000), modified("b.md")));
    // Changed by hand without a new time in the file.
    vault.folder.replace("a.md", "one", "two");
    vault.reconcile();
    assert_eq!(at("a.md"), modified("a.md"));
    let then = at("a.md");
    vault.folder.replace("a.md", "---\nu", "---\nmood: calm\nu");
    vault.reconcile();
    assert_eq!(at("a.md"), then);
    vault.clock.advance(100);
    let now = vault.clock.now();
    vault.folder.write(
        "a.md",
        &format!("---\nupdated_at: {}\n---\nthree", now.microseconds()),
    );
    vault.reconcile();
    assert_eq!(at("a.md"), now);
    // A file with a time in the future.
    vault.clock.set(moment(500_000_000));
    vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    vault.folder.write("c.md", "new");
    vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    assert_eq!(
        (at("c.md"), vault.memory("c.md").created_at),
        (moment(500_000_000), moment(500_000_000))
    );
}

/// A change by a user: its name, the files before it (`name:uid`), the change itself, and the
/// memory of each file afterwards: that of a uid, that of a file before, or a `new` one.
type Deed = (
    &'static str,
    &'static [&'static str],
    fn(&MemoryFolder),
    &'static [(&'static str, &'static str)],
);

const DEEDS: [Deed; 15] = [
    (
        "edited",
        &["a:u1"],
        |folder| folder.replace("a.md", "text", "other"),
        &[("a.md", "u1")],
    ),
    (
        "renamed",
        &["a:u1"],
        |folder| folder.rename("a.md", "z.md"),
        &[("z.md", "u1")],
    ),
    (
        "moved into a folder",
        &["a:u1"],
        |folder| folder.rename("a.md", "x/a.md"),
        &[("x/a.md", "u1")],
    ),
    (
        "renamed without uid",
        &["a"],
        |folder| folder.rename("a.md", "x/z.md"),
        &[("x/z.md", "a")],
    ),
    (
        "edited without uid",
        &["a"],
        |folder| folder.replace("a.md", "text", "other"),
        &[("a.md", "a")],
    ),
    (
        "renamed and edited",
        &["a:u1"],
        |folder| {
            folder.rename("a.md", "z.md");
            folder.replace("z.md", "text", "other");
        },
        &[("z.md", "u1")],
    ),
    (
        "copied",
        &["b:u1"],
        |folder| folder.copy("b.md", "a.md"),
        &[("a.md", "new"), ("b.md", "u1")],
    ),
    (
        "renamed and copied",
        &["b:u1"],
        |folder| {
            folder.rename("b.md", "z.md");
            folder.copy("z.md", "a.md");
        },
        &[("a.md", "new"), ("z.md", "u1")],
    ),
    (
        "swapped",
        &["a:u1", "b:u2"],
        |folder| {
            folder.rename("a.md", "c.md");
            folder.rename("b.md", "a.md");
            folder.rename("c.md", "b.md");
        },
        &[("a.md", "u2"), ("b.md", "u1")],
    ),
    (
        "turned",
        &["a:u1", "b:u2", "c:u3"],
        |folder| {
            folder.rename("a.md", "d.md");
            folder.rename("b.md", "a.md");
            folder.rename("c.md", "b.md");
            folder.rename("d.md", "c.md");
        },
        &[("a.md", "u2"), ("b.md", "u3"), ("c.md", "u1")],
    ),
    (
        "replaced by another one",
        &["a:u1"],
        |folder| {
            folder.rename("a.md", "b.md");
            folder.write("a.md", "without uid");
        },
        &[("a.md", "new"), ("b.md", "u1")],
    ),
    (
        "its uid removed",
        &["a:u1"],
        |folder| folder.replace("a.md", "uid: u1\n", ""),
        &[("a.md", "u1")],
    ),
    (
        "given a uid",
        &["a"],
        |folder| folder.write("a.md", "---\nuid: u9\n---\ntext"),
        &[("a.md", "u9")],
    ),
    (
        "overwritten by another one",
        &["a:u1", "b:u2"],
        |folder| {
            folder.remove("b.md");
            folder.rename("a.md", "b.md");
        },
        &[("b.md", "u1")],
    ),
    (
        "uid of a file that had it no more",
        &["a:u1"],
        |folder| {
            folder.replace("a.md", "uid: u1\n", "");
            folder.write("b.md", "---\nuid: u1\n---\nmine");
        },
        &[("a.md", "new"), ("b.md", "u1")],
    ),
];

#[test]
fn the_identity_of_files() {
    for (what, files, act, expected) in DEEDS {
        let vault = vault();
        for file in files {
            match file.split_once(':') {
                Some((name, uid)) => {
                    vault.folder.write(
                        &format!("{name}.md"),
                        &format!("---\nuid: {uid}\n---\ntext of {uid}"),
                    );
                }
                None => vault
                    .folder
                    .write(&format!("{file}.md"), "text without uid"),
            }
        }
        vault.reconcile();
        let before: BTreeMap<String, MemoryId> = vault
            .rows()
            .into_iter()
            .map(|row| (row.path, row.memory.unwrap()))
            .collect();
        // Data of notes that is not in their files stays with their ids.
        for Memory { id, revision, .. } in vault.all() {
            vault.put(&id, revision, |memory| memory.owner = Some(id.to_string()));
        }
        act(&vault.folder);
        vault.reconcile();
        let known: BTreeSet<MemoryId> = before.values().cloned().collect();
        for (path, expected) in expected {
            let id = vault.id(path);
            let is_expected = match *expected {
                "new" => !known.contains(&id),
                name => before
                    .get(&format!("{name}.md"))
                    .map_or(id.as_str() == name, |before| id == *before),
            };
            assert!(is_expected, "{what}: {path} is {id}");
            let owner = vault.stored(&id).unwrap().owner;
            assert_eq!(
                owner,
                known.contains(&id).then(|| id.to_string()),
                "{what}: {path}"
            );
        }
        assert_sound(&vault);
    }
}

/// Checks that every file that may be a note is one memory with its text, and that there is no
/// other.
fn assert_sound(vault: &Vault) {
    vault.assert_settled();
    let rows: Vec<NoteFile> = vault
        .rows()
        .into_iter()
        .filter(|row| row.missing_since.is_none())
        .collect();
    let paths: Vec<String> = rows.iter().map(|row| row.path.clone()).collect();
    assert_eq!(paths, vault.folder.paths());
    let ids: BTreeSet<MemoryId> = rows.iter().filter_map(|row| row.memory.clone()).collect();
    let stored: BTreeSet<MemoryId> = vault.all().into_iter().map(|memory| memory.id).collect();
    assert_eq!(ids, stored);
    assert_eq!(
        ids.len(),
        rows.iter().filter(|row| row.memory.is_some()).count()
    );
    for row in rows {
        let read = vault.folder.read(&row.path).unwrap().unwrap();
        let content = read.content.filter(|_| {
            read.problem
                .is_none_or(|problem| problem.kind == FileProblemKind::BrokenFrontmatter)
        });
        let memory = row.memory.as_ref().map(|id| vault.stored(id).unwrap());
        assert_eq!(content.is_some(), memory.is_some(), "{}", row.path);
        if let (Some(content), Some(memory)) = (content, memory) {
            let body = &content.note.body;
            assert!(
                memory.content == *body || body.trim().is_empty(),
                "{}",
                row.path
            );
            assert_eq!(row.links, content.links);
            let is_duplicate = row
                .problem
                .is_some_and(|problem| problem.kind == FileProblemKind::DuplicateUid);
            assert_eq!(row.says_id, content.note.id.is_some() && !is_duplicate);
            assert!(!row.says_id || content.note.id == row.memory);
        }
    }
}

#[test]
fn a_copy_is_a_note_of_its_own_until_the_other_one_goes() {
    let vault = vault();
    vault.folder.write("b.md", "---\nuid: u1\n---\ntext");
    vault.folder.copy("b.md", "a.md");
    vault.reconcile();
    // The older one keeps it, whatever the names are.
    assert_eq!(vault.id("b.md").as_str(), "u1");
    let own = vault.id("a.md");
    assert_eq!(
        vault.row("a.md").problem.unwrap().kind,
        FileProblemKind::DuplicateUid
    );
    vault.folder.replace("a.md", "text", "a change");
    vault.reconcile();
    assert_eq!(vault.id("a.md"), own);
    vault.folder.remove("b.md");
    vault.reconcile();
    assert_eq!(vault.id("a.md").as_str(), "u1");
    assert_eq!(vault.row("a.md").problem, None);
    assert_eq!(vault.stored(&own), None);
    // Now this file came first.
    vault.folder.write("b.md", "---\nuid: u1\n---\ntext");
    vault.reconcile();
    assert_eq!(
        (vault.id("a.md").as_str(), vault.id("b.md").as_str() == "u1"),
        ("u1", false)
    );
    assert_sound(&vault);
}

#[test]
fn a_uid_of_something_else_is_not_taken() {
    let vault = vault();
    let caller = caller("ann", &WRITER);
    let secret = vault
        .engine
        .system(&caller)
        .memories()
        .remember(fact("a secret", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let gone = vault
        .engine
        .system(&caller)
        .memories()
        .remember(fact("gone", Visibility::Private))
        .unwrap()
        .memory
        .id;
    vault
        .engine
        .system(&caller)
        .memories()
        .discard(&Discard {
            id: Some(gone.clone()),
            ..Discard::default()
        })
        .unwrap();
    vault
        .folder
        .write("a.md", &format!("---\nuid: {secret}\n---\ntext"));
    vault
        .folder
        .write("b.md", &format!("---\nuid: {gone}\n---\ntext"));
    vault.folder.write("c.md", "one that is fine");
    vault.reconcile();
    for (path, other) in [("a.md", &secret), ("b.md", &gone)] {
        assert_ne!(vault.id(path), *other);
        assert_eq!(
            vault.row(path).problem.unwrap().kind,
            FileProblemKind::DuplicateUid
        );
    }
    assert_eq!(vault.stored(&secret).unwrap().content, "a secret");
    vault.assert_settled();
}

#[test]
fn a_file_that_comes_back_is_the_same_memory() {
    let vault = vault();
    vault.folder.write("a.md", "without uid");
    vault.folder.write("b.md", "stays");
    vault.reconcile();
    let id = vault.id("a.md");
    vault.folder.remove("a.md");
    assert_eq!(
        vault.reconcile(),
        ReconciliationReport {
            removed: 1,
            unchanged: 1,
            ..ReconciliationReport::default()
        }
    );
    assert_eq!(vault.stored(&id), None);
    assert_eq!(vault.reconcile().removed, 0);
    vault.folder.write("a.md", "something else, without uid");
    assert_eq!(vault.reconcile().indexed, 1);
    assert_eq!(vault.id("a.md"), id);
    vault.folder.remove("a.md");
    vault.reconcile();
    vault
        .folder
        .write("other/z.md", "something else, without uid");
    assert_eq!(vault.reconcile().moved, 1);
    assert_eq!(vault.id("other/z.md"), id);

    vault.folder.remove("b.md");
    vault.reconcile();
    vault.clock.advance(399 * 86_400);
    assert_eq!((vault.reconcile().removed, vault.rows().len()), (0, 2));
    vault.clock.advance(2 * 86_400);
    vault.reconcile();
    assert_eq!(vault.rows().len(), 1);
    assert_sound(&vault);
}

/// A text without uid, the seconds for which it was missing (0 means that it was renamed), and true
/// if it is the same memory afterwards.
#[test]
fn an_equal_text_is_the_same_memory_while_that_is_likely() {
    const TEXT: &str = "sixteen or more bytes";
    let rows = [
        (TEXT, 0, true),
        (TEXT, 500, true),
        (TEXT, 700, false),
        ("", 0, false),
        ("\n\n", 500, false),
        ("## To do today\n", 0, false),
        (
            "---\ntitle: A long title of a template\ntags: one, two\n---\n# New\n",
            0,
            false,
        ),
    ];
    for (text, seconds, is_same) in rows {
        let vault = vault();
        vault.folder.write("a.md", text);
        vault.folder.write("stays.md", "stays");
        vault.reconcile();
        let id = vault.id("a.md");
        if seconds == 0 {
            vault.folder.rename("a.md", "z.md");
        } else {
            vault.folder.remove("a.md");
            vault.reconcile();
            vault.clock.advance(seconds);
            vault.folder.write("z.md", text);
        }
        let moved = vault.reconcile().moved;
        assert_eq!(
            (vault.id("z.md") == id, moved),
            (is_same, usize::from(is_same)),
            "{text:?} after {seconds}"
        );
        assert_sound(&vault);
    }
}

#[test]
fn a_folder_that_is_away_takes_no_memory_with_it() {
    let vault = vault();
    let notice = || {
        vault
            .engine
            .system(&Caller::local())
            .notes()
            .wait(Duration::ZERO)
    };
    // Without known notes no folder counts as away.
    vault.folder.mount(None, BTreeMap::new());
    assert_eq!(vault.reconcile(), ReconciliationReport::default());
    vault.folder.mount(Some("drive"), BTreeMap::new());
    vault.folder.write("a.md", "one");
    vault.folder.write("b.md", "two");
    assert_eq!(vault.reconcile().indexed, 2);
    let ids = [vault.id("a.md"), vault.id("b.md")];
    let other = Texts::from([("x.md".to_owned(), ("of somebody else".to_owned(), 1))]);
    for (identity, files, words) in [
        (None, BTreeMap::new(), "is not there"),
        (Some("place"), BTreeMap::new(), "mounted"),
        (Some("place"), other, "mounted"),
    ] {
        let version = vault.store.version(&Space::default()).unwrap();
        let mounted = vault.folder.mount(identity, files);
        let reconciled = vault.reconcile();
        let away = reconciled.away.clone().unwrap();
        assert!(away.contains(words) && away.contains("2 "), "{away}");
        assert_eq!(
            reconciled,
            ReconciliationReport {
                away: Some(away.clone()),
                ..ReconciliationReport::default()
            }
        );
        assert_eq!(
            vault
                .engine
                .system(&Caller::local())
                .notes()
                .status()
                .unwrap()
                .away,
            Some(away)
        );
        assert_eq!(vault.store.version(&Space::default()).unwrap(), version);
        assert_eq!(
            found(&vault.engine, &Caller::local(), "one"),
            [ids[0].clone()]
        );
        assert_eq!(
            notice().unwrap(),
            "the folder of notes is away: what is known of it is searched"
        );
        vault.folder.mount(Some("drive"), mounted);
        assert_eq!(
            vault.reconcile(),
            ReconciliationReport {
                unchanged: 2,
                ..ReconciliationReport::default()
            }
        );
        assert_eq!(notice(), None);
    }
    // The same files on another drive.
    let files = vault.folder.mount(None, BTreeMap::new());
    vault.folder.mount(Some("new drive"), files);
    vault.folder.remove("b.md");
    assert_eq!(vault.reconcile().removed, 1);
    vault.folder.remove("a.md");
    // A folder that the user emptied is empty.
    assert_eq!(vault.reconcile().removed, 1);
    assert_eq!(vault.all(), []);
}

/// The case, the texts of a new folder by path, and true if it is the known folder.
type Mounted = (&'static str, &'static [(&'static str, &'static str)], bool);

const MOUNTED: [Mounted; 6] = [
    (
        "equal names",
        &[
            ("README.md", "of somebody else"),
            ("a.md", "x"),
            ("empty.md", ""),
        ],
        false,
    ),
    ("an empty file", &[("empty.md", ""), ("x.md", "new")], false),
    ("one text", &[("README.md", "read me"), ("a.md", "x")], true),
    (
        "a uid",
        &[("README.md", "x"), ("a.md", "---\nuid: u1\n---\nedited")],
        true,
    ),
    ("another uid", &[("a.md", "---\nuid: u2\n---\none")], false),
    ("what was never indexed", &[("binary.md", "\0\0")], false),
];

#[test]
fn another_folder_is_told_by_what_is_in_it() {
    for (what, files, is_known) in MOUNTED {
        let vault = vault();
        let before = [
            ("README.md", "read me"),
            ("a.md", "---\nuid: u1\n---\none"),
            ("binary.md", "\0\0"),
            ("empty.md", ""),
        ];
        for (path, text) in before {
            vault.folder.write(path, text);
        }
        vault.reconcile();
        let (version, ids) = (
            vault.store.version(&Space::default()).unwrap(),
            ["README.md", "a.md", "empty.md"].map(|path| vault.id(path)),
        );
        let texts = files
            .iter()
            .zip(1..)
            .map(|((path, text), time)| ((*path).to_owned(), ((*text).to_owned(), time)));
        vault.folder.mount(Some("place"), texts.collect());
        assert_eq!(
            vault
                .engine
                .system(&Caller::local())
                .notes()
                .status()
                .unwrap()
                .away
                .is_none(),
            is_known,
            "{what}"
        );
        let reconciled = vault.reconcile();
        assert_eq!(
            reconciled.away.is_none(),
            is_known,
            "{what}: {reconciled:?}"
        );
        if !is_known {
            assert_eq!(
                reconciled,
                ReconciliationReport {
                    away: reconciled.away.clone(),
                    ..ReconciliationReport::default()
                }
            );
            assert_eq!(
                vault.store.version(&Space::default()).unwrap(),
                version,
                "{what}"
            );
            continue;
        }
        assert_eq!(
            ["README.md", "a.md"].map(|path| vault.id(path)),
            ids[..2],
            "{what}"
        );
        assert_eq!(
            vault
                .store
                .note_folder(&Space::default())
                .unwrap()
                .as_deref(),
            Some("place 4"),
            "{what}"
        );
        assert_sound(&vault);
    }
}

#[test]
fn little_of_a_large_folder_is_read_to_tell_it() {
    let vault = vault();
    let path = |number: usize| format!("{number:03}.md");
    for number in 0..200 {
        vault.folder.write(&path(number), &format!("text {number}"));
    }
    vault.reconcile();
    let reads = vault.folder.reads.load(Ordering::SeqCst);
    let foreign = (0..200).map(|number| (path(number), ("of somebody else".to_owned(), 1)));
    let texts = vault.folder.mount(Some("place"), foreign.collect());
    assert!(vault.reconcile().away.is_some());
    let read = vault.folder.reads.load(Ordering::SeqCst) - reads;
    assert!((1..=64).contains(&read), "{read}");
    // The same notes, copied at another time.
    vault.folder.mount(
        Some("copy"),
        texts
            .into_iter()
            .map(|(path, (text, time))| (path, (text, time + 1)))
            .collect(),
    );
    let ids: Vec<MemoryId> = vault
        .rows()
        .into_iter()
        .filter_map(|row| row.memory)
        .collect();
    assert_eq!(vault.reconcile(), ReconciliationReport::default());
    assert_eq!(
        vault
            .rows()
            .into_iter()
            .filter_map(|row| row.memory)
            .collect::<Vec<_>>(),
        ids
    );
    assert_sound(&vault);
}

#[test]
fn a_person_may_say_that_notes_are_gone() {
    let vault = vault();
    vault.folder.write("a.md", "one");
    vault.reconcile();
    vault.folder.mount(
        Some("another"),
        Texts::from([("x.md".to_owned(), ("new".to_owned(), 1))]),
    );
    assert!(vault.reconcile().away.is_some());
    let reconciled = vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile_accepting_missing()
        .unwrap();
    assert_eq!(
        (reconciled.indexed, reconciled.removed, reconciled.away),
        (1, 1, None)
    );
    assert_sound(&vault);
    vault.folder.mount(None, BTreeMap::new());
    assert!(vault.reconcile().away.is_some());
    assert_eq!(
        vault
            .engine
            .system(&Caller::local())
            .notes()
            .reconcile_accepting_missing()
            .unwrap()
            .removed,
        1
    );
    assert_eq!(vault.reconcile(), ReconciliationReport::default());
}

#[test]
fn what_cannot_be_read_stays_known() {
    let vault = vault();
    for path in ["a.md", "x/b.md", "x/y/c.md", "xy.md"] {
        vault.folder.write(path, path);
    }
    vault.reconcile();
    vault.folder.hide("x", true);
    vault.folder.hide("a.md", true);
    vault.folder.write("a.md", "changed");
    vault.folder.remove("xy.md");
    let reconciled = vault.reconcile();
    assert_eq!((reconciled.removed, reconciled.indexed), (1, 0));
    assert_eq!(
        vault.row("a.md").problem.unwrap().kind,
        FileProblemKind::Unreadable
    );
    assert_eq!(vault.memory("a.md").content, "a.md");
    assert_eq!(vault.all().len(), 3);
    let status = vault
        .engine
        .system(&Caller::local())
        .notes()
        .status()
        .unwrap();
    let problems: Vec<&str> = status
        .problems
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!((status.notes, problems), (3, vec!["a.md", "x"]));
    let message = &status.problems[1].1.message;
    for reason in ["permission", "deep", "UTF-8", "too many"] {
        assert!(message.contains(reason), "{message}");
    }
    // It is tried again, and nothing is written until then.
    let version = vault.store.version(&Space::default()).unwrap();
    vault.reconcile();
    assert_eq!(vault.store.version(&Space::default()).unwrap(), version);
    vault.folder.hide("x", false);
    vault.folder.hide("a.md", false);
    assert_eq!(vault.reconcile().indexed, 1);
    assert_sound(&vault);
}

#[test]
fn files_that_are_no_notes_are_told_of() {
    let vault = vault();
    vault.folder.write("a.md", "---\nuid: u1\n---\ntext");
    vault.folder.write("binary.md", "\0\0");
    vault
        .folder
        .write("a (conflicted copy).md", "---\nuid: u1\n---\nother text");
    vault
        .folder
        .write("broken.md", "---\nuid: u2\nbroken\n---\nfindable");
    vault.reconcile();
    let kinds = || -> Vec<(String, FileProblemKind)> {
        let problems = vault
            .engine
            .system(&Caller::local())
            .notes()
            .status()
            .unwrap()
            .problems;
        problems
            .into_iter()
            .map(|(path, problem)| (path, problem.kind))
            .collect()
    };
    let conflict = (
        "a (conflicted copy).md".to_owned(),
        FileProblemKind::ConflictCopy,
    );
    let binary = ("binary.md".to_owned(), FileProblemKind::NotText);
    let broken = ("broken.md".to_owned(), FileProblemKind::BrokenFrontmatter);
    assert_eq!(kinds(), [conflict, binary.clone(), broken.clone()]);
    assert_eq!(
        found(&vault.engine, &Caller::local(), "findable"),
        [vault.id("broken.md")]
    );
    assert_eq!(vault.all().len(), 2);
    assert_sound(&vault);
    // The conflict copy is the note once the user has removed the other file.
    vault.folder.remove("a.md");
    vault.reconcile();
    assert_eq!(vault.memory("a (conflicted copy).md").id.as_str(), "u1");
    assert_eq!(kinds(), [binary, broken]);
    // A note becomes invalid, and valid again.
    vault.folder.write("broken.md", "\0");
    vault.reconcile();
    assert_eq!(vault.all().len(), 1);
    vault.folder.write("broken.md", "---\nuid: u2\n---\nmended");
    vault.reconcile();
    assert_eq!(vault.memory("broken.md").id.as_str(), "u2");
    assert_sound(&vault);
}

#[test]
fn a_note_that_became_empty_is_named() {
    let vault = vault();
    vault.folder.write("by a person.md", "findable");
    vault
        .folder
        .write("by loci.md", "---\nuid: u1\n---\nfindable");
    vault.folder.write("new.md", "");
    vault.folder.write("short.md", "a long text");
    vault.reconcile();
    let problems = || -> Vec<(String, FileProblemKind)> {
        let problems = vault
            .engine
            .system(&Caller::local())
            .notes()
            .status()
            .unwrap()
            .problems;
        problems
            .into_iter()
            .map(|(path, problem)| (path, problem.kind))
            .collect()
    };
    assert_eq!(problems(), []);
    // Like an editor that renames a note before any text is written.
    vault.folder.rename("new.md", "named.md");
    vault.folder.write("by a person.md", "");
    vault.folder.write("by loci.md", "");
    vault.folder.write("short.md", "a");
    vault.reconcile();
    let emptied = |path: &str| (path.to_owned(), FileProblemKind::Emptied);
    assert_eq!(
        problems(),
        [emptied("by a person.md"), emptied("by loci.md")]
    );
    vault.reconcile();
    vault.folder.write("by a person.md", "findable again");
    vault.folder.remove("by loci.md");
    vault.reconcile();
    assert_eq!(problems(), []);
    assert_sound(&vault);
}

#[test]
fn links_follow_the_names_of_files() {
    let vault = vault();
    let id = |path: &str| vault.id(path);
    vault
        .folder
        .write("a.md", "see [[Bees]], [[a]] and [[nothing]]");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), []);
    vault.folder.write("x/bees.md", "back to [[A]]");
    vault.reconcile();
    assert_eq!(
        (vault.linked("a.md"), vault.linked("x/bees.md")),
        (vec![id("x/bees.md")], vec![id("a.md")])
    );
    let link = Link {
        target: id("x/bees.md"),
        relation: Relation::LinksTo,
        similarity: 1.0,
    };
    assert_eq!(vault.memory("a.md").links, [link]);
    // A nearer file.
    vault.folder.write("Bees.md", "nearer");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [id("Bees.md")]);
    vault.folder.rename("Bees.md", "Wasps.md");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [id("x/bees.md")]);
    vault
        .folder
        .replace("a.md", "[[Bees]]", "[[wasps]] and [[x/bees]]");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [id("Wasps.md"), id("x/bees.md")]);
    vault.folder.remove("x/bees.md");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [id("Wasps.md")]);
    vault.folder.write("a.md", "no links");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), []);
    vault
        .folder
        .write("Wasps.md", "---\nuid: u5\n---\nanother memory");
    vault.folder.write("a.md", "[[wasps]]");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [MemoryId::new("u5")]);
    // No part is lost when the text is embedded or moved.
    vault.engine.background().embed_pending().unwrap();
    vault.folder.rename("a.md", "deep/a.md");
    vault.reconcile();
    assert_eq!(vault.linked("deep/a.md"), [MemoryId::new("u5")]);
    assert_sound(&vault);
}

#[test]
fn links_may_name_notes_by_titles() {
    let vault = vault();
    vault
        .folder
        .write("on-bees.md", "---\nuid: u1\ntitle: On bees\n---\nhoney");
    vault.folder.write(
        "a.md",
        "see [[On bees]], [[x/On bees]] and [[Wasps & hornets!]]",
    );
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), [MemoryId::new("u1")]);
    vault
        .folder
        .write("deep/wasps-hornets.md", "---\nuid: u2\n---\nsting");
    vault.reconcile();
    assert_eq!(
        vault.linked("a.md"),
        [MemoryId::new("u1"), MemoryId::new("u2")]
    );
    vault
        .folder
        .write("x/On bees.md", "---\nuid: u3\n---\nexactly");
    vault.reconcile();
    assert_eq!(vault.linked("a.md"), ["u3", "u2"].map(MemoryId::new));
    assert_sound(&vault);
}

/// A file that was read too soon after a write is read again, without any other effect.
#[test]
fn files_that_were_just_written_are_linked_once() {
    let vault = vault();
    vault.folder.write("b.md", "to [[a]]");
    vault.reconcile();
    vault.folder.write("a.md", "to [[b]]");
    assert_eq!(
        vault
            .engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap()
            .indexed,
        1
    );
    assert_eq!(
        (vault.linked("a.md"), vault.linked("b.md")),
        (vec![vault.id("b.md")], vec![vault.id("a.md")])
    );
    let calls: Arc<Mutex<Vec<String>>> = Arc::default();
    vault.store.before({
        let calls = calls.clone();
        move |method| {
            if ["get", "get_all", "commit", "commit_rebuildable"].contains(&method) {
                calls.lock().unwrap().push(method.to_owned());
            }
            Ok(())
        }
    });
    let look = || {
        let reads = vault.folder.reads.load(Ordering::SeqCst);
        vault
            .engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap();
        (
            vault.folder.reads.load(Ordering::SeqCst) - reads,
            std::mem::take(&mut *calls.lock().unwrap()),
        )
    };
    assert!(!vault.row("a.md").is_settled);
    for _ in 0..2 {
        assert_eq!(look(), (1, vec![]));
    }
    vault.clock.advance(10);
    assert_eq!(look(), (1, vec!["commit_rebuildable".to_owned()]));
    assert!(vault.row("a.md").is_settled);
    assert_eq!(look(), (0, vec![]));
    // A renamed file is linked again, and so is one that another process left unfinished.
    vault.folder.write("c.md", "to [[d]]");
    vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    vault.folder.rename("c.md", "d.md");
    vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    assert_eq!(vault.linked("d.md"), []);
    vault.folder.write("e.md", "to [[d]]");
    engine_on(&vault.store, &vault.folder, &vault.clock)
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    assert_eq!(vault.linked("e.md"), [vault.id("d.md")]);
    assert_sound(&vault);
}

/// A note whose memory another part of loci removed is repaired.
#[test]
fn a_note_that_lost_its_memory_gets_it_back() {
    let vault = vault();
    vault.folder.write("a.md", "---\nuid: u1\n---\ntext");
    vault.folder.write("b.md", "[[a]]");
    vault.reconcile();
    let Memory { id, revision, .. } = vault.memory("a.md");
    let changes = vec![Change::Delete { id, revision }];
    vault
        .store
        .commit(loci_core::Batch::new(Space::default(), changes))
        .unwrap();
    assert_eq!(vault.reconcile().indexed, 1);
    assert_eq!(vault.memory("a.md").content, "text");
    assert_eq!(vault.linked("b.md"), [MemoryId::new("u1")]);
    assert_sound(&vault);
}

/// After a failure at any step, the next reconciliation reaches the same state.
#[test]
fn a_reconciliation_that_is_cut_off_is_made_good() {
    let prepare = || {
        let vault = vault();
        for number in 0..300 {
            vault.folder.write(
                &format!("n{number}.md"),
                &format!("---\nuid: u{number}\n---\nto [[n{}]]", (number + 299) % 300),
            );
        }
        vault
    };
    let act = |folder: &MemoryFolder| {
        folder.rename("n1.md", "m1.md");
        folder.remove("n2.md");
        folder.copy("n3.md", "copy.md");
        folder.rename("n4.md", "n5.tmp.md");
        folder.rename("n5.md", "n4.md");
        folder.rename("n5.tmp.md", "n5.md");
        for number in 10..290 {
            folder.rename(&format!("n{number}.md"), &format!("folder/n{number}.md"));
        }
    };
    let linked = |vault: &Vault| -> BTreeMap<String, Vec<MemoryId>> {
        let paths = vault
            .folder
            .paths()
            .into_iter()
            .filter(|path| path != "copy.md");
        paths
            .map(|path| (path.clone(), vault.linked(&path)))
            .collect()
    };
    let whole = prepare();
    assert_eq!(whole.reconcile().indexed, 300);
    let first = linked(&whole);
    act(&whole.folder);
    whole.reconcile();
    let second = linked(&whole);
    assert_sound(&whole);
    for is_first in [true, false] {
        for cut in 0.. {
            let vault = prepare();
            if !is_first {
                vault.reconcile();
                act(&vault.folder);
            }
            let left = Mutex::new(cut);
            vault.store.before(move |method| {
                let mut left = left.lock().unwrap();
                if method != "commit_rebuildable" {
                    return Ok(());
                }
                if *left == 0 {
                    return Err(Error::unavailable("cut off"));
                }
                *left -= 1;
                Ok(())
            });
            vault.clock.advance(10);
            let outcome = vault.engine.system(&Caller::local()).notes().reconcile();
            vault.store.before(|_| Ok(()));
            if outcome.is_ok() {
                assert!(cut > 5, "{cut}");
                break;
            }
            vault.reconcile();
            assert_eq!(
                linked(&vault),
                if is_first {
                    first.clone()
                } else {
                    second.clone()
                },
                "cut before {cut}"
            );
            assert_sound(&vault);
        }
    }
}

#[test]
fn one_file_holds_up_no_other() {
    let vault = vault();
    for number in 0..5 {
        vault
            .folder
            .write(&format!("{number}.md"), &format!("text {number}"));
    }
    // Another process changes memories between every read and its commit, for a while.
    let conflicts = Mutex::new(8);
    vault.store.before(move |method| {
        let mut left = conflicts.lock().unwrap();
        if method == "commit_rebuildable" && *left > 0 {
            *left -= 1;
            return Err(Error::new(ErrorCode::Conflict, "changed meanwhile"));
        }
        Ok(())
    });
    vault.reconcile();
    assert_sound(&vault);
}

/// Returns the paths to which each file links.
fn linked_paths(store: &Arc<FaultyStore>) -> BTreeMap<String, BTreeSet<String>> {
    let mut rows = store.note_files(&Space::default()).unwrap();
    rows.retain(|row| row.missing_since.is_none() && row.memory.is_some());
    let paths: BTreeMap<&MemoryId, &String> = rows
        .iter()
        .map(|row| (row.memory.as_ref().unwrap(), &row.path))
        .collect();
    let linked = |row: &NoteFile| {
        let memory = store
            .get(&Space::default(), row.memory.as_ref().unwrap())
            .unwrap()
            .unwrap();
        memory
            .links
            .iter()
            .map(|link| paths[&link.target].clone())
            .collect()
    };
    rows.iter()
        .map(|row| (row.path.clone(), linked(row)))
        .collect()
}

/// Random changes by a user: every file is one memory, a `uid` stays with its memory, and the links
/// equal a complete rebuild's.
#[test]
fn random_changes_by_hand() {
    for seed in 0..60 {
        let (vault, mut random) = (vault(), Random::new(seed));
        let names = ["a.md", "b.md", "c.md", "x/a.md", "x/d.md", "y.md"];
        let bodies = ["one", "two [[a]]", "three [[d]] [[y]]", "", "\0"];
        for _ in 0..12 {
            for _ in 0..random.below(4) {
                let paths = vault.folder.paths();
                let path = random.pick(&names);
                let there = paths.get(random.below(paths.len())).cloned();
                match (random.below(6), there) {
                    (0, _) | (_, None) => vault.folder.write(path, random.pick(&bodies)),
                    (1, _) => {
                        let uid = random.pick(&["u1", "u2", "u3"]);
                        vault.folder.write(
                            path,
                            &format!("---\nuid: {uid}\n---\n{}", random.pick(&bodies)),
                        );
                    }
                    (2, Some(from)) => vault.folder.remove(&from),
                    (3, Some(from)) if !paths.iter().any(|there| there == path) => {
                        vault.folder.rename(&from, path);
                    }
                    (4, Some(from)) => vault.folder.copy(&from, path),
                    (_, Some(from)) => vault
                        .folder
                        .write(&from, &format!("{} more", vault.folder.text(&from))),
                }
            }
            let before: BTreeMap<String, NoteFile> = vault
                .rows()
                .into_iter()
                .map(|row| (row.path.clone(), row))
                .collect();
            // A file that was just written is read again by the next reconciliation.
            if random.below(2) == 0 {
                vault
                    .engine
                    .system(&Caller::local())
                    .notes()
                    .reconcile()
                    .unwrap();
            } else {
                vault.reconcile();
            }
            let said: Vec<_> = vault
                .rows()
                .into_iter()
                .filter(|row| row.says_id && row.missing_since.is_none())
                .collect();
            for row in said {
                let kept = before.get(&row.path).is_none_or(|before| {
                    before.hash != row.hash
                        || before.memory == row.memory
                        || before.problem.is_some()
                });
                assert!(kept, "seed {seed}: {} was another memory", row.path);
            }
            if random.below(2) == 0 {
                assert_sound(&vault);
            }
            let anew = FaultyStore::new(Arc::new(NaiveStore::new()));
            engine_on(&anew, &vault.folder, &vault.clock)
                .system(&Caller::local())
                .notes()
                .reconcile()
                .unwrap();
            assert_eq!(
                linked_paths(&vault.store),
                linked_paths(&anew),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn callers_wait_for_the_first_reconciliation() {
    let vault = vault();
    let Vault { engine, folder, .. } = &vault;
    let begun = || engine.system(&Caller::local()).notes().wait(Duration::ZERO);
    assert_eq!(begun(), None);
    engine.system(&Caller::local()).notes().begin();
    assert!(begun().unwrap().contains("still being read"));
    folder.write("a.md", "text");
    let waiting = std::thread::spawn({
        let engine = engine.clone();
        move || {
            engine
                .system(&Caller::local())
                .notes()
                .wait(Duration::from_mins(1))
        }
    });
    vault.reconcile();
    assert_eq!((waiting.join().unwrap(), begun()), (None, None));
    // A search does not wait for a failing one.
    engine.system(&Caller::local()).notes().begin();
    vault.store.before(|method| {
        if method == "note_files" {
            Err(Error::unavailable("away"))
        } else {
            Ok(())
        }
    });
    assert_eq!(
        engine
            .system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    vault.store.before(|_| Ok(()));
    assert_eq!(begun(), None);
    // Another process is reconciling.
    engine.system(&Caller::local()).notes().begin();
    let lock = folder.lock().unwrap();
    let kept = std::thread::spawn({
        let engine = engine.clone();
        move || engine.system(&Caller::local()).notes().kept_by_another()
    });
    assert!(begun().is_some());
    drop(lock);
    kept.join().unwrap();
    assert_eq!(begun(), None);
}

#[test]
fn an_engine_without_a_folder_has_nothing_to_do() {
    let engine = engine();
    assert!(engine.system(&Caller::local()).notes().wakeup().is_none());
    engine.system(&Caller::local()).notes().begin();
    assert_eq!(
        engine
            .system(&Caller::local())
            .notes()
            .wait(Duration::from_mins(1)),
        None
    );
    assert_eq!(
        engine.system(&Caller::local()).notes().reconcile(),
        Ok(ReconciliationReport::default())
    );
    assert_eq!(
        engine
            .system(&Caller::local())
            .notes()
            .status()
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
}

#[test]
fn the_status_tells_what_is_not_indexed() {
    let vault = vault();
    vault.folder.write("a.md", "one");
    vault.folder.write("b.md", "---\nstatus: deleted\n---\ntwo");
    let status = || {
        vault
            .engine
            .system(&Caller::local())
            .notes()
            .status()
            .unwrap()
    };
    assert_eq!(status().not_indexed, ["a.md", "b.md"]);
    vault.reconcile();
    let reads = vault.folder.reads.load(Ordering::SeqCst);
    vault.folder.replace("a.md", "one", "1");
    let loci_engine::NoteStatus {
        location,
        notes,
        forgotten,
        not_indexed,
        problems,
        away,
    } = status();
    assert_eq!((location.as_str(), notes, forgotten), ("/vault", 1, 1));
    assert_eq!(
        (not_indexed, problems, away),
        (vec!["a.md".to_owned()], vec![], None)
    );
    assert_eq!(vault.folder.reads.load(Ordering::SeqCst), reads);
}

#[test]
fn a_status_that_a_person_flips_forgets_and_brings_back() {
    let vault = vault();
    vault
        .folder
        .write("a.md", "---\nuid: u1\nstatus: active\n---\nhoney");
    vault.reconcile();
    let id = MemoryId::new("u1");
    let forgotten_at = || vault.stored(&id).unwrap().forgotten_at;
    vault.folder.replace("a.md", "active", "deleted");
    vault.reconcile();
    let first = moment(vault.row("a.md").stamp.modified_nanoseconds / 1_000);
    assert_eq!(forgotten_at(), Some(first));
    assert!(found(&vault.engine, &Caller::local(), "honey").is_empty());
    // The time stays the first one.
    vault.folder.replace("a.md", "honey", "more honey");
    vault.reconcile();
    assert_eq!(forgotten_at(), Some(first));
    vault
        .folder
        .replace("a.md", "deleted", "deleted\ndeleted_at: 7000");
    vault.reconcile();
    assert_eq!(forgotten_at(), Some(moment(7_000)));
    // A typing error brings nothing back.
    vault
        .folder
        .replace("a.md", "status: deleted", "status deleted");
    vault.reconcile();
    assert_eq!(
        vault.row("a.md").problem.unwrap().kind,
        FileProblemKind::BrokenFrontmatter
    );
    assert_eq!(forgotten_at(), Some(moment(7_000)));
    vault
        .folder
        .replace("a.md", "status deleted", "status: active");
    vault.reconcile();
    assert_eq!(forgotten_at(), None);
    assert_eq!(
        found(&vault.engine, &Caller::local(), "honey"),
        std::slice::from_ref(&id)
    );
    assert_sound(&vault);
    // Neither does it for a note that was missing in between.
    vault
        .folder
        .write("a.md", "---\nuid: u1\nstatus: deleted\n---\nhoney");
    vault.reconcile();
    vault.folder.remove("a.md");
    vault.reconcile();
    vault
        .folder
        .write("a.md", "---\nuid: u1\nstatus: deleted\na slip\n---\nhoney");
    vault.reconcile();
    assert_eq!(
        vault.row("a.md").problem.unwrap().kind,
        FileProblemKind::BrokenFrontmatter
    );
    assert!(vault.memory("a.md").forgotten_at.is_some());
    assert!(found(&vault.engine, &Caller::local(), "honey").is_empty());
    vault.folder.replace("a.md", "deleted\na slip", "active");
    vault.reconcile();
    assert_eq!(vault.stored(&id).unwrap().forgotten_at, None);
    assert_sound(&vault);
    let hidden = loci_core::Filter {
        forgotten: Forgotten::Hide,
        ..loci_core::Filter::of(Space::default(), Reader::everything(), Timestamp::MIN)
    };
    assert_eq!(vault.store.notes_among(&hidden, 10).unwrap().len(), 1);
}

/// Two machines have a copy of the folder each, as by a sync client.
#[test]
fn one_machine_keeps_the_notes_of_a_shared_store() {
    let vault = vault();
    let copy = MemoryFolder::new(vault.clock.clone());
    let on = |folder, name, machine| {
        engine_on(&vault.store, folder, &vault.clock).with_note_keeper(name, machine)
    };
    let one = on(&vault.folder, "one:/notes", "1f");
    let other = on(&copy, "other:/notes", "2f");
    for folder in [&vault.folder, &copy] {
        folder.write("Tea.md", "Tea is at four.");
    }
    copy.write("Milk.md", "Milk is at five.");
    vault.clock.advance(10);
    one.system(&Caller::local()).notes().reconcile().unwrap();
    let is_refused = |outcome: Result<(), Error>, keeper: &str| {
        let refused = outcome.unwrap_err();
        let expected = format!("kept by {keeper}:/notes, which");
        assert!(
            refused.is_unavailable() && refused.message.contains(&expected),
            "{refused}"
        );
    };
    is_refused(
        other.system(&Caller::local()).notes().reconcile().map(drop),
        "one",
    );
    assert_eq!(vault.rows().len(), 1);
    let embedder = Arc::new(HashingEmbedder::default());
    let bare = Engine::new(
        vault.store.clone(),
        embedder,
        vault.clock.clone(),
        SearchMode::Hybrid,
    );
    let note = vault.id("Tea.md");
    is_refused(
        bare.system(&Caller::local()).memories().forget(&note),
        "one",
    );

    // Each use extends the lease; without one it runs out.
    vault.clock.advance(400);
    one.system(&Caller::local()).notes().reconcile().unwrap();
    vault.clock.advance(400);
    is_refused(
        other.system(&Caller::local()).notes().reconcile().map(drop),
        "one",
    );
    vault.clock.advance(200);
    other.system(&Caller::local()).notes().reconcile().unwrap();
    assert_eq!(vault.rows().len(), 2);
    is_refused(
        one.system(&Caller::local()).notes().reconcile().map(drop),
        "other",
    );
    other
        .system(&Caller::local())
        .memories()
        .forget(&note)
        .unwrap();
}

/// A pass over many files takes longer than the lease lasts.
#[test]
fn a_long_pass_extends_the_lease() {
    const FILES: usize = 600;
    let vault = vault();
    let keeper =
        engine_on(&vault.store, &vault.folder, &vault.clock).with_note_keeper("one:/notes", "1f");
    for number in 0..FILES {
        vault
            .folder
            .write(&format!("{number}.md"), &format!("note {number}"));
    }
    vault.clock.advance(10);
    let (store, clock) = (vault.store.inner.clone(), vault.clock.clone());
    vault.store.before(move |method| {
        if method == "commit_rebuildable" {
            let now = clock.now();
            let is_free = store.lease("notes", "two:/notes 2f", now, now.plus_seconds(600));
            assert_eq!(is_free, Ok(false), "another machine takes the notes");
            clock.advance(400);
        }
        Ok(())
    });
    keeper.system(&Caller::local()).notes().reconcile().unwrap();
    assert_eq!(vault.rows().len(), FILES);
}

#[test]
fn a_link_by_another_name_leads_to_the_note() {
    let vault = vault();
    vault
        .folder
        .write("hive.md", "---\nalias: Bee house\nalias: Skep\n---\nWood.");
    vault
        .folder
        .write("work.md", "Paint the [[bee house]] and the [[Skep]].");
    vault.reconcile();
    assert_eq!(vault.linked("work.md"), [vault.id("hive.md")]);
    vault.assert_settled();
    // A file of that name comes before another name.
    vault.folder.write("skep.md", "Straw.");
    vault.reconcile();
    assert_eq!(
        vault.linked("work.md"),
        [vault.id("hive.md"), vault.id("skep.md")]
    );
    vault.folder.remove("skep.md");
    vault.folder.replace("hive.md", "alias: Bee house\n", "");
    vault.reconcile();
    assert_eq!(vault.linked("work.md"), [vault.id("hive.md")]);
    vault.folder.replace("hive.md", "Skep", "Box");
    vault.reconcile();
    assert_eq!(vault.linked("work.md"), []);
    // A name that comes later leads to the first note, and the other one is named.
    vault
        .folder
        .write("a/skeps.md", "---\nalias: SKEP\n---\nStraw.");
    vault
        .folder
        .write("b/more.md", "---\nalias: skep\n---\nMore.");
    vault.reconcile();
    assert_eq!(vault.linked("work.md"), [vault.id("a/skeps.md")]);
    let status = vault
        .engine
        .system(&Caller::local())
        .notes()
        .status()
        .unwrap();
    let named: Vec<(&str, &str)> = status
        .problems
        .iter()
        .map(|(path, problem)| (path.as_str(), problem.kind.name()))
        .collect();
    assert_eq!(named, [("b/more.md", "ambiguous_alias")]);
    assert!(status.problems[0].1.message.contains("a/skeps.md"));
    vault.assert_settled();
}
