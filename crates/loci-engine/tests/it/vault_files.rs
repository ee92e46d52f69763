//! Tests of notes in a folder on disk.

use std::fs;
use std::path::PathBuf;

use loci_core::{Batch, Change, Expect, NoteStore, Space, Store};
use loci_engine::{AppendNote, AppendOutcome, ReconciliationReport};
use loci_vault::VaultFolder;
use tempfile::TempDir;

use super::*;

/// An installation, whose processes share the store, the folder and its lock file.
struct Disk {
    folder: TempDir,
    store: Arc<NaiveStore>,
    clock: Arc<FixedClock>,
}

impl Disk {
    fn new() -> Self {
        // 2100, when every file of this test is old.
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(
            4_102_444_800_000_000,
        )));
        Disk {
            folder: TempDir::new().unwrap(),
            store: Arc::new(NaiveStore::new()),
            clock,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("vault").join(path)
    }

    /// Returns the engine of a process.
    fn engine(&self) -> Engine {
        let lock = self.folder.path().join("vault.lock");
        let notes = Arc::new(VaultFolder::new(self.path(""), lock, self.clock.clone()));
        let embedder = Arc::new(HashingEmbedder::default());
        Engine::new(
            self.store.clone(),
            embedder,
            self.clock.clone(),
            SearchMode::Hybrid,
        )
        .with_notes(notes, "vault")
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{text}");
        fs::write(self.path(path), text.replace(old, new)).unwrap();
    }

    fn stored(&self, id: &MemoryId) -> Memory {
        self.store.get(&Space::default(), id).unwrap().unwrap()
    }

    /// Checks that the files match the index, and that another reconciliation has nothing to do.
    fn assert_settled(&self, engine: &Engine) {
        engine.system(&Caller::local()).notes().reconcile().unwrap();
        let (version, files) = (
            self.store.version(&Space::default()).unwrap(),
            self.store.note_files(&Space::default()).unwrap(),
        );
        let unchanged = files
            .iter()
            .filter(|file| file.missing_since.is_none())
            .count();
        assert_eq!(
            engine.system(&Caller::local()).notes().reconcile(),
            Ok(ReconciliationReport {
                unchanged,
                ..ReconciliationReport::default()
            })
        );
        assert_eq!(self.store.version(&Space::default()).unwrap(), version);
    }
}

fn append(engine: &Engine, title: &str, body: &str) -> Memory {
    let tags = vec!["#first tag".to_owned(), "second".to_owned()];
    let note = AppendNote {
        title: title.to_owned(),
        body: body.to_owned(),
        tags,
        keyed: None,
    };
    let AppendOutcome::New(memory, _) = engine
        .system(&caller("ann", &WRITER))
        .notes()
        .append(note)
        .unwrap()
    else {
        panic!("it is new");
    };
    *memory
}

/// Every text that is written is read again unchanged, so that a reconciliation finds nothing to
/// do.
#[test]
fn texts_go_to_the_disk_and_back() {
    let disk = Disk::new();
    let engine = disk.engine();
    let texts = [
        ("On bees", "They #hum.\r\n\r\n  And make honey.  \r\n\r\n"),
        ("../../etc/passwd", "---\nuid: other\n---\ntext"),
        ("CON", "\n\n# heading\r\r\n---\r"),
        (
            "\u{1f41d}: \"quoted\" # no comment",
            "[[On-Bees]] `#code` https://example.org/#anchor",
        ),
        (" - [x]: {y} ", "tab\tand\u{a0}space\n"),
        ("שלום", "\u{feff}text"),
        (&"é".repeat(256), "text"),
        ("2024-01-01", "null"),
        ("true", "~"),
    ];
    let mut memories: Vec<Memory> = texts
        .iter()
        .map(|(title, body)| append(&engine, title, body))
        .collect();
    let reconciled = engine.system(&Caller::local()).notes().reconcile().unwrap();
    assert_eq!(
        (reconciled.indexed, reconciled.moved, reconciled.removed),
        (0, 0, 0)
    );
    let bees = memories[0].id.clone();
    let linked = memories
        .iter_mut()
        .find(|memory| memory.content.contains("[["))
        .unwrap();
    *linked = disk.stored(&linked.id);
    assert_eq!(
        linked
            .links
            .iter()
            .map(|link| &link.target)
            .collect::<Vec<_>>(),
        [&bees]
    );
    for ((title, body), memory) in texts.iter().zip(&memories) {
        assert_eq!(memory.title.as_deref(), Some(*title));
        assert_eq!(
            memory.content.trim_end(),
            body.replace("\r\n", "\n").replace("\r\n", "\n").trim_end()
        );
        assert_eq!(memory.tags[..2], ["first tag", "second"]);
        assert_eq!(disk.stored(&memory.id), *memory);
    }
    disk.assert_settled(&engine);
    // A lost index equals the rebuilt one, except for the writers of the notes.
    let again = Disk {
        folder: disk.folder,
        store: Arc::new(NaiveStore::new()),
        clock: disk.clock,
    };
    again
        .engine()
        .system(&Caller::local())
        .notes()
        .reconcile()
        .unwrap();
    for memory in memories {
        let anew = again.stored(&memory.id);
        let (owner, origin, revision) = (None, "vault".to_owned(), anew.revision);
        assert_eq!(
            anew,
            Memory {
                owner,
                origin,
                revision,
                by_admin: true,
                provenance: words_of(SaidBy::File),
                ..memory
            }
        );
    }
}

#[test]
fn a_person_and_callers_work_on_one_folder() {
    let disk = Disk::new();
    let (one, other) = (disk.engine(), disk.engine());
    let ann = caller("ann", &WRITER);
    let id = append(&one, "On bees", "honey").id;
    assert_eq!(found(&other, &ann, "honey")[0], id);
    // By hand: another key, a line moved, a comment, then another place.
    disk.replace("on-bees.md", "honey", "wax");
    disk.replace("on-bees.md", "---\nuid", "---\nmood: 'calm' # today\nuid");
    fs::create_dir(disk.path("deep")).unwrap();
    fs::rename(disk.path("on-bees.md"), disk.path("deep/Bees.md")).unwrap();
    other.system(&ann).memories().forget(&id).unwrap();
    let text = disk.text("deep/Bees.md");
    assert!(
        text.contains("mood: 'calm' # today")
            && text.contains("status: deleted")
            && text.contains("wax"),
        "{text}"
    );
    assert_eq!(
        one.system(&ann).memories().show(&id).unwrap_err().code,
        ErrorCode::NotFound
    );
    disk.replace("deep/Bees.md", "deleted\n", "active\n");
    assert_eq!(
        one.system(&Caller::local())
            .notes()
            .reconcile()
            .unwrap()
            .indexed,
        1
    );
    assert_eq!(
        other.system(&ann).memories().show(&id).unwrap().content,
        "wax"
    );
    disk.replace("deep/Bees.md", "wax", "wax by hand");
    assert_eq!(
        one.system(&ann)
            .memories()
            .update(&id, "of an agent", None)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    one.system(&ann)
        .memories()
        .update(&id, "of an agent", None)
        .unwrap();
    assert!(disk.text("deep/Bees.md").ends_with("\n---\nof an agent\n"));
    disk.assert_settled(&other);

    fs::write(disk.path("plain.md"), "by hand, without frontmatter\r\n").unwrap();
    fs::write(
        disk.path("plain (conflicted copy 2024-01-02).md"),
        "by a sync client",
    )
    .unwrap();
    fs::write(disk.path("broken.md"), "---\ntitle: [\n---\nfindable").unwrap();
    fs::write(disk.path("binary.md"), [0, 255, 0]).unwrap();
    fs::copy(disk.path("deep/Bees.md"), disk.path("copy.md")).unwrap();
    other.system(&Caller::local()).notes().reconcile().unwrap();
    let status = one.system(&Caller::local()).notes().status().unwrap();
    let problems: Vec<_> = status
        .problems
        .iter()
        .map(|(path, problem)| (path.as_str(), problem.kind.name()))
        .collect();
    let expected = [
        ("binary.md", "not_text"),
        ("broken.md", "broken_frontmatter"),
        ("copy.md", "duplicate_uid"),
        ("plain (conflicted copy 2024-01-02).md", "conflict_copy"),
    ];
    assert_eq!((status.notes, problems.as_slice()), (4, &expected[..]));
    let plain = found(&one, &ann, "by hand without frontmatter")[0].clone();
    one.system(&ann).memories().forget(&plain).unwrap();
    let text = disk.text("plain.md");
    assert!(
        text.contains(&format!("uid: {plain}"))
            && text.ends_with("by hand, without frontmatter\r\n"),
        "{text:?}"
    );
}

#[test]
fn notes_that_may_be_versions_of_one_are_told_and_found() {
    let disk = Disk::new();
    let engine = disk.engine();
    fs::create_dir_all(disk.path("sub")).unwrap();
    let minutes = "We meet on Tuesdays in the small room and bring the list of open orders";
    for (path, text) in [
        (
            "Depot.md",
            "---\ntitle: The depot\n---\nOpen on Mondays".to_owned(),
        ),
        (
            "Depot-TOWER-31.md",
            "---\ntitle: The depot\n---\nClosed for good".to_owned(),
        ),
        ("Depot 2.md", "Another depot, of another firm".to_owned()),
        ("sub/Minutes.md", minutes.to_owned()),
        ("sub/Minutes (1).md", format!("{minutes}, and tea")),
        ("Minutes (1).md", format!("{minutes}, and tea")),
        (
            "Orders.md",
            "---\nuid: o1\ntitle: Orders\n---\nOrders".to_owned(),
        ),
        (
            "Orders-2.md",
            "---\nuid: o2\ntitle: Orders\n---\nOrders".to_owned(),
        ),
        (
            "Merge.md",
            "Left\n<<<<<<< HEAD\nherons\n=======\nstorks\n>>>>>>> theirs\n".to_owned(),
        ),
    ] {
        fs::write(disk.path(path), text).unwrap();
    }
    engine.system(&Caller::local()).notes().reconcile().unwrap();
    let status = engine.system(&Caller::local()).notes().status().unwrap();
    let problems: Vec<_> = status
        .problems
        .iter()
        .map(|(path, problem)| (path.as_str(), problem.kind.name()))
        .collect();
    assert_eq!(
        problems,
        [
            ("Depot-TOWER-31.md", "possible_conflict"),
            ("Merge.md", "conflict_marks"),
            ("sub/Minutes (1).md", "possible_conflict"),
        ]
    );
    assert_eq!(status.notes, 9);
    let ann = caller("ann", &WRITER);
    assert!(!found(&engine, &ann, "closed for good").is_empty());
    // A note with the marks of a merge can still be forgotten, and keeps its text.
    let merged = found(&engine, &ann, "herons and storks")[0].clone();
    engine.system(&ann).memories().forget(&merged).unwrap();
    let text = disk.text("Merge.md");
    assert!(text.contains("status: deleted") && text.contains("=======\nstorks\n>>>>>>> theirs"));
    disk.assert_settled(&engine);
}

#[test]
fn a_note_is_found_by_the_values_of_its_frontmatter() {
    let disk = Disk::new();
    let engine = disk.engine();
    let ann = caller("ann", &WRITER);
    fs::create_dir_all(disk.path("")).unwrap();
    fs::write(disk.path("Glossary.md"), "---\naliases: [Begriffsheft]\nauthor: Ottilie\nup: \"[[Shelf]]\"\ndue: 2026-01-02\n---\nWhat short forms mean.\n").unwrap();
    fs::write(disk.path("Shelf.md"), "Books stand here.\n").unwrap();
    engine.system(&Caller::local()).notes().reconcile().unwrap();
    let id = found(&engine, &ann, "short forms")[0].clone();
    for query in ["Begriffsheft", "ottilie", "\"Begriffsheft\""] {
        assert_eq!(found(&engine, &ann, query).first(), Some(&id), "{query}");
    }
    assert_eq!(disk.stored(&id).links.len(), 1, "a link in a value is one");
    // An earlier version of loci left the values out.
    let Some(known) = disk.store.note_folder(&Space::default()).unwrap() else {
        panic!("the folder is known");
    };
    let identity = known.rsplit_once(' ').unwrap().0.to_owned();
    let before = disk.stored(&id);
    let memory = Memory {
        attributes: std::collections::BTreeMap::new(),
        revision: before.revision + 1,
        ..before.clone()
    };
    let passages = Some(loci_text::indexed::passages(&memory));
    let put = Change::Put {
        memory: Box::new(memory),
        passages,
        expect: Expect::Revision(before.revision),
    };
    let changes = vec![put, Change::PutNoteFolder { identity }];
    let space = Space::default();
    disk.store.commit(Batch::new(space, changes)).unwrap();
    assert!(!found(&engine, &ann, "Begriffsheft").contains(&id));
    engine.system(&Caller::local()).notes().reconcile().unwrap();
    assert!(found(&engine, &ann, "Begriffsheft").contains(&id));
    assert_eq!(disk.stored(&id).updated_at, before.updated_at);
    disk.assert_settled(&engine);
    disk.replace("Glossary.md", "aliases: [Begriffsheft]\n", "");
    engine.system(&Caller::local()).notes().reconcile().unwrap();
    assert!(!found(&engine, &ann, "Begriffsheft").contains(&id));
}

#[test]
fn processes_write_at_once_and_lose_nothing() {
    const WRITERS: usize = 4;
    let disk = Arc::new(Disk::new());
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let disk = disk.clone();
            std::thread::spawn(move || {
                let (engine, ann) = (disk.engine(), caller("ann", &WRITER));
                let mut notes = Vec::new();
                for turn in 0..5 {
                    let body = format!("text {number} {turn}");
                    notes.push((append(&engine, "Same title", &body).id, body));
                    engine.system(&Caller::local()).notes().reconcile().unwrap();
                }
                engine
                    .system(&ann)
                    .memories()
                    .forget_softly(&notes[0].0)
                    .unwrap();
                notes
            })
        })
        .collect();
    let engine = disk.engine();
    let notes: Vec<_> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .collect();
    disk.assert_settled(&engine);
    assert_eq!(fs::read_dir(disk.path("")).unwrap().count(), WRITERS * 5);
    for (turn, (id, body)) in notes.iter().flat_map(|notes| notes.iter().enumerate()) {
        let memory = disk.stored(id);
        assert_eq!(
            (&memory.content, memory.forgotten_at.is_some()),
            (body, turn == 0)
        );
    }
}
