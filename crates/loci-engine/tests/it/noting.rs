//! Tests of notes that callers write, change and forget.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use loci_core::{
    AuditQuery, Batch, Change, Clock, Expect, FileProblemKind, Forgotten, NoteFolder, NoteStore,
    Reader, RecordVerb, Store,
};
use loci_engine::{
    AppendNote, AppendOutcome, Call, CallInfo, Discard, Effect, KeyedNote, ReconciliationReport,
};

use super::note_folder::{MemoryFolder, Texts};
use super::reconciling::{Vault, engine_on, vault};
use super::*;

fn ann() -> Caller {
    Caller {
        origin: "vault",
        ..caller("ann", &WRITER)
    }
}

fn note(title: &str, body: &str) -> AppendNote<'static> {
    AppendNote {
        title: title.to_owned(),
        body: body.to_owned(),
        tags: Vec::new(),
        keyed: None,
    }
}

/// Returns the answer: the id.
fn answer(memory: &Memory) -> String {
    memory.id.to_string()
}

fn keyed(key: &str) -> KeyedNote<'_> {
    KeyedNote {
        operation: "append",
        key,
        answer: &answer,
    }
}

fn append(engine: &Engine, title: &str, body: &str) -> Memory {
    match engine
        .system(&ann())
        .notes()
        .append(note(title, body))
        .unwrap()
    {
        AppendOutcome::New(memory, Embedding::Done) => *memory,
        other => panic!("{other:?}"),
    }
}

/// Returns the id under a key, and true if it is a new note.
fn append_keyed(engine: &Engine, key: &str, title: &str, body: &str) -> Result<(String, bool)> {
    let appended = engine.system(&ann()).notes().append(AppendNote {
        keyed: Some(keyed(key)),
        ..note(title, body)
    })?;
    Ok(match appended {
        AppendOutcome::New(memory, _) | AppendOutcome::Unindexed(memory, _) => {
            (answer(&memory), true)
        }
        AppendOutcome::Before(answer) => (answer, false),
    })
}

#[test]
fn a_note_is_in_its_file_and_found_at_once() {
    let vault = vault();
    let tags = ["#bees", "honey", "bees"].map(str::to_owned).to_vec();
    let request = AppendNote {
        tags,
        ..note("On bees", "They hum.\r\n\r\nAnd #make honey.\r\n\n")
    };
    let AppendOutcome::New(memory, Embedding::Done) =
        vault.engine.system(&ann()).notes().append(request).unwrap()
    else {
        panic!("it is new");
    };
    let text = vault.folder.text("on-bees.md");
    assert!(
        text.ends_with("\n---\nThey hum.\n\nAnd #make honey.\n"),
        "{text:?}"
    );
    assert_eq!(memory.content, "They hum.\n\nAnd #make honey.");
    assert_eq!(memory.tags, ["bees", "honey", "make"]);
    assert_eq!(
        (memory.owner.as_deref(), memory.origin.as_str()),
        (Some("ann"), "vault")
    );
    assert_eq!(
        (memory.created_at, memory.updated_at),
        (vault.clock.now(), vault.clock.now())
    );
    assert_eq!(vault.stored(&memory.id).as_ref(), Some(&*memory));
    assert_eq!(
        found(&vault.engine, &caller("bob", &WRITER), "humming"),
        std::slice::from_ref(&memory.id)
    );
    assert_eq!(
        vault
            .store
            .pending_embeddings(HashingEmbedder::default().model(), usize::MAX),
        Ok(0)
    );
    // The next reconciliation finds nothing to do.
    let reconciled = vault.reconcile();
    assert_eq!(reconciled, ReconciliationReport::default());
    assert_eq!(vault.stored(&memory.id), Some(*memory));
    vault.assert_settled();
}

#[test]
fn titles_may_be_the_same() {
    let vault = vault();
    let ids: BTreeSet<MemoryId> = (0..3)
        .map(|_| append(&vault.engine, "Same", "text").id)
        .collect();
    assert_eq!((ids.len(), vault.folder.paths().len()), (3, 3));
    vault.reconcile();
    vault.assert_settled();
}

#[test]
fn what_is_no_note_is_refused() {
    let vault = vault();
    let long = |length: usize| "x".repeat(length);
    let tagged = |tag: &str| AppendNote {
        tags: vec!["good".to_owned(), tag.to_owned()],
        ..note("t", "b")
    };
    let rows = [
        (note(" ", "b"), "title"),
        (note(&long(257), "b"), "title"),
        (note("a\nb", "b"), "title"),
        (note("t", " \n"), "body"),
        (note("t", "\0"), "body"),
        (note("t", &long(limits::CONTENT_BYTES_MAX + 1)), "body"),
        (tagged(""), "tags.1"),
        (tagged("#"), "tags.1"),
        (tagged(&long(129)), "tags.1"),
        (
            AppendNote {
                keyed: Some(keyed(" ")),
                ..note("t", "b")
            },
            "idempotency_key",
        ),
    ];
    for (request, argument) in rows {
        let error = vault
            .engine
            .system(&ann())
            .notes()
            .append(request)
            .unwrap_err();
        assert!(
            error.message.starts_with(&format!("`{argument}`")),
            "{}",
            error.message
        );
    }
    let elsewhere = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..ann()
    };
    assert_eq!(
        vault
            .engine
            .system(&elsewhere)
            .notes()
            .append(note("t", "b"))
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        engine()
            .system(&ann())
            .notes()
            .append(note("t", "b"))
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    assert!(vault.folder.paths().is_empty());
}

#[test]
fn nothing_is_written_into_a_folder_that_is_away() {
    let vault = vault();
    let first = append(&vault.engine, "First", "text").id;
    for identity in [None, Some("empty place")] {
        let files = vault.folder.mount(identity, Texts::default());
        let error = vault
            .engine
            .system(&ann())
            .notes()
            .append(note("Second", "text"))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        let message = error.message;
        assert!(
            message.contains("--accept-missing") && !message.contains(&vault.folder.location()),
            "{message}"
        );
        assert_eq!(
            vault
                .engine
                .system(&ann())
                .memories()
                .forget_softly(&first)
                .unwrap_err()
                .code,
            ErrorCode::Unavailable
        );
        assert!(vault.folder.paths().is_empty());
        vault.folder.mount(Some("folder"), files);
    }
    vault.folder.mount(None, Texts::default());
    vault
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile_accepting_missing()
        .unwrap();
    append(&vault.engine, "Second", "text");
    vault.reconcile();
    vault.assert_settled();
    // The folder that was created is the known one.
    vault.folder.mount(Some("other"), Texts::default());
    assert!(
        vault
            .engine
            .system(&ann())
            .notes()
            .append(note("Third", "text"))
            .is_err()
    );
}

#[test]
fn a_key_writes_one_note() {
    let vault = vault();
    let engine = &vault.engine;
    let (id, _) = append_keyed(engine, "k", "One", "text").unwrap();
    assert_eq!(
        append_keyed(engine, "k", "One", "text"),
        Ok((id.clone(), false))
    );
    assert_eq!(
        append_keyed(engine, "k", "One", "other").unwrap_err().code,
        ErrorCode::Conflict
    );
    assert_eq!(vault.folder.paths(), ["one.md"]);
    // Another key, and another caller.
    assert_ne!(append_keyed(engine, "l", "One", "text").unwrap().0, id);
    let request = AppendNote {
        keyed: Some(keyed("k")),
        ..note("One", "text")
    };
    let bob = Caller {
        origin: "vault",
        ..caller("bob", &WRITER)
    };
    assert!(matches!(
        engine.system(&bob).notes().append(request),
        Ok(AppendOutcome::New(..))
    ));
    assert_eq!(vault.folder.paths().len(), 3);
    // A day later, the key has expired.
    vault.clock.advance(86_400);
    let (again, is_new) = append_keyed(engine, "k", "One", "other").unwrap();
    assert!(is_new && again != id);
    assert_eq!(vault.folder.paths().len(), 4);
    vault.reconcile();
    vault.assert_settled();
}

/// A note that waits for its index may get it during a call that deletes it: in both cases the
/// acknowledged change is in the file, too.
#[test]
fn a_note_that_is_indexed_meanwhile_is_forgotten_in_its_file() {
    type Forget = fn(&Engine, &MemoryId) -> Result<()>;
    let forgets: [Forget; 2] = [
        |engine, id| engine.system(&ann()).memories().forget(id),
        |engine, id| engine.system(&ann()).memories().forget_softly(id).map(drop),
    ];
    for (forget, indexed_before) in forgets
        .into_iter()
        .flat_map(|forget| [(forget, 0), (forget, 1)])
    {
        let vault = vault();
        vault.store.before(|method| {
            if method == "commit_rebuildable" {
                Err(Error::unavailable("the disk is full"))
            } else {
                Ok(())
            }
        });
        let AppendOutcome::Unindexed(memory, _) = vault
            .engine
            .system(&ann())
            .notes()
            .append(note("One", "text"))
            .unwrap()
        else {
            panic!("it is in its file, and nowhere else");
        };
        let other = engine_on(&vault.store, &vault.folder, &vault.clock);
        let calls = AtomicUsize::new(0);
        vault.store.before(move |_| {
            let is_now = calls.fetch_add(1, Ordering::SeqCst) == indexed_before;
            if is_now {
                other.system(&Caller::local()).notes().reconcile().map(drop)
            } else {
                Ok(())
            }
        });
        let forgotten = forget(&vault.engine, &memory.id);
        vault.store.before(|_| Ok(()));
        assert!(forgotten.is_ok() == (indexed_before == 0), "{forgotten:?}");
        vault.reconcile();
        assert_eq!(
            vault.stored(&memory.id).unwrap().forgotten_at.is_some(),
            forgotten.is_ok()
        );
        vault.assert_settled();
    }
}

/// A memory that lost its file may get it back during a call that changes it.
#[test]
fn a_memory_that_becomes_a_note_meanwhile_is_changed_in_its_file() {
    type Act = fn(&Engine, &MemoryId) -> Result<()>;
    let acts: [(Act, &str); 3] = [
        (
            |engine, id| engine.system(&ann()).memories().forget(id),
            "status: deleted",
        ),
        (
            |engine, id| engine.system(&ann()).memories().forget_softly(id).map(drop),
            "status: deleted",
        ),
        (
            |engine, id| {
                engine
                    .system(&ann())
                    .memories()
                    .update(id, "said anew", None)
                    .map(drop)
            },
            "said anew",
        ),
    ];
    for (act, written) in acts {
        let vault = vault();
        vault.folder.write("a.md", "---\nuid: u1\n---\ntext");
        vault.reconcile();
        let lost = vec![Change::DeleteNoteFile {
            path: "a.md".to_owned(),
        }];
        vault
            .store
            .commit(Batch::new(Space::default(), lost))
            .unwrap();
        let other = engine_on(&vault.store, &vault.folder, &vault.clock);
        let is_first = AtomicBool::new(true);
        vault.store.before(move |method| {
            let is_now = method == "commit" && is_first.swap(false, Ordering::SeqCst);
            if is_now {
                other.system(&Caller::local()).notes().reconcile().map(drop)
            } else {
                Ok(())
            }
        });
        act(&vault.engine, &MemoryId::new("u1")).unwrap();
        vault.store.before(|_| Ok(()));
        let text = vault.folder.text("a.md");
        assert!(text.contains(written), "{text}");
        vault.assert_settled();
    }
}

/// A process that puts files there may end after announcing them.
#[test]
fn a_file_that_is_expected_comes_or_does_not_or_is_another_one() {
    let expecting = || {
        let vault = vault();
        vault.folder.write("a.md", "text without a uid");
        vault.reconcile();
        let (row, memory) = (vault.row("a.md"), vault.memory("a.md"));
        let changes = vec![Change::DeleteNoteFile {
            path: "a.md".to_owned(),
        }];
        vault
            .store
            .commit(Batch::new(Space::default(), changes))
            .unwrap();
        let expected = vault
            .engine
            .system(&Caller::local())
            .imports()
            .expect_notes(&[(&row, Expect::Revision(memory.revision))])
            .unwrap();
        assert_eq!(expected, [true]);
        (vault, memory)
    };
    let (vault, memory) = expecting();
    vault.reconcile();
    assert_eq!(vault.memory("a.md").id, memory.id);
    vault.assert_settled();

    let (vault, memory) = expecting();
    vault.folder.write("a.md", "something else that lies there");
    vault.reconcile();
    assert_eq!(vault.stored(&memory.id).unwrap().content, memory.content);
    assert_ne!(vault.memory("a.md").id, memory.id);

    for is_changed_first in [false, true] {
        let (vault, memory) = expecting();
        vault.folder.remove("a.md");
        if is_changed_first {
            vault
                .engine
                .system(&ann())
                .memories()
                .update(&memory.id, "said anew", None)
                .unwrap();
            assert_eq!(vault.stored(&memory.id).unwrap().content, "said anew");
        }
        vault
            .engine
            .system(&ann())
            .memories()
            .forget(&memory.id)
            .unwrap();
        assert_eq!(vault.stored(&memory.id), None);
        vault.assert_settled();
    }

    let (vault, memory) = expecting();
    vault.folder.hide("a.md", true);
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .forget(&memory.id)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error:?}");
    assert!(vault.stored(&memory.id).is_some());
}

/// A process may end between writing the file and its index. The caller retries under its key.
#[test]
fn a_key_finds_the_note_of_a_process_that_ended() {
    for is_reconciled in [false, true] {
        let vault = vault();
        vault.store.before(|method| {
            if method == "commit_rebuildable" {
                Err(Error::unavailable("the disk is full"))
            } else {
                Ok(())
            }
        });
        let request = AppendNote {
            keyed: Some(keyed("k")),
            ..note("One", "text")
        };
        let AppendOutcome::Unindexed(memory, reason) =
            vault.engine.system(&ann()).notes().append(request).unwrap()
        else {
            panic!("it is in its file, and nowhere else");
        };
        assert!(reason.contains("the disk is full"));
        assert!(
            vault
                .engine
                .system(&Caller::local())
                .notes()
                .wakeup()
                .unwrap()
                .wait(Duration::ZERO)
        );
        assert_eq!(vault.stored(&memory.id), None);
        vault.store.before(|_| Ok(()));
        if is_reconciled {
            assert_eq!(vault.reconcile().indexed, 1);
            assert_eq!(vault.stored(&memory.id).unwrap().owner, None);
        }
        vault.clock.advance(3);
        assert_eq!(
            append_keyed(&vault.engine, "k", "One", "other")
                .unwrap_err()
                .code,
            ErrorCode::Conflict
        );
        assert_eq!(
            append_keyed(&vault.engine, "k", "One", "text"),
            Ok((answer(&memory), true))
        );
        assert_eq!(
            append_keyed(&vault.engine, "k", "One", "text"),
            Ok((answer(&memory), false))
        );
        assert_eq!(
            vault.stored(&memory.id).unwrap().owner.as_deref(),
            Some("ann")
        );
        assert_eq!(vault.folder.paths(), ["one.md"]);
        vault.reconcile();
        vault.assert_settled();
    }
}

/// The note is common: only the name goes with its writer's data.
#[test]
fn a_note_whose_writer_was_wiped_meanwhile_is_nobodys() {
    let vault = vault();
    let wiping = engine_on(&vault.store, &vault.folder, &vault.clock);
    let is_done = AtomicBool::new(false);
    vault.store.before(move |method| {
        if method == "commit_rebuildable" && !is_done.swap(true, Ordering::SeqCst) {
            wiping.system(&ann()).wipe()?;
        }
        Ok(())
    });
    let memory = append(&vault.engine, "One", "text");
    assert_eq!(memory.owner, None);
    assert_eq!(vault.stored(&memory.id).unwrap().owner, None);
}

#[test]
fn many_at_once_lose_nothing() {
    const WRITERS: usize = 6;
    let vault = vault();
    let victim = append(&vault.engine, "Victim", "text").id;
    let engines = [
        engine_on(&vault.store, &vault.folder, &vault.clock),
        engine_on(&vault.store, &vault.folder, &vault.clock),
    ];
    let engines = Arc::new(engines);
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (engines, victim) = (engines.clone(), victim.clone());
            std::thread::spawn(move || {
                let engine = &engines[number % 2];
                let mut ids = Vec::new();
                for turn in 0..4 {
                    ids.push(append(engine, "Same title", &format!("text {number} {turn}")).id);
                    engine.system(&Caller::local()).notes().reconcile().unwrap();
                    if turn == 1 {
                        engine
                            .system(&ann())
                            .memories()
                            .forget_softly(&ids[0])
                            .unwrap();
                    }
                }
                let forgotten_at = engine
                    .system(&ann())
                    .memories()
                    .forget_softly(&victim)
                    .unwrap()
                    .forgotten_at;
                (ids, forgotten_at)
            })
        })
        .collect();
    let written: Vec<_> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .collect();
    let moments: BTreeSet<_> = written
        .iter()
        .map(|(_, forgotten_at)| *forgotten_at)
        .collect();
    assert_eq!(moments, BTreeSet::from([Some(vault.clock.now())]));
    assert_eq!(vault.folder.paths().len(), WRITERS * 4 + 1);
    vault.reconcile();
    vault.assert_settled();
    for (number, (ids, _)) in written.iter().enumerate() {
        for (turn, id) in ids.iter().enumerate() {
            let memory = vault.stored(id).unwrap();
            assert_eq!(memory.content, format!("text {number} {turn}"));
            assert_eq!(memory.forgotten_at.is_some(), turn == 0, "{number} {turn}");
        }
    }
}

#[test]
fn a_note_is_forgotten_in_its_file_once() {
    let vault = vault();
    let id = append(&vault.engine, "One", "honey").id;
    vault
        .folder
        .replace("one.md", "---\nuid", "---\nmood: calm\nuid");
    let forgotten = vault
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&id)
        .unwrap();
    let first = vault.clock.now();
    assert_eq!(forgotten.forgotten_at, Some(first));
    let text = vault.folder.text("one.md");
    for line in [
        "status: deleted",
        &format!("deleted_at: {}", first.microseconds()),
        "mood: calm",
        "honey",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(found(&vault.engine, &ann(), "honey").is_empty());
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .show(&id)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    vault.clock.advance(60);
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .forget_softly(&id)
            .unwrap()
            .forgotten_at,
        Some(first)
    );
    assert_eq!(vault.folder.text("one.md"), text);
    // Restored by hand, and forgotten again before a reconciliation.
    vault
        .folder
        .replace("one.md", "status: deleted", "status: active");
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .forget_softly(&id)
            .unwrap()
            .forgotten_at,
        Some(vault.clock.now())
    );
    vault.reconcile();
    vault.assert_settled();
}

#[test]
fn a_note_without_uid_gets_one_when_it_is_forgotten() {
    let vault = vault();
    vault.folder.write("a.md", "by hand");
    vault.folder.write("b.md", "---\nuid: u1\n---\ncopied");
    vault.folder.copy("b.md", "copy.md");
    vault.reconcile();
    for path in ["a.md", "copy.md"] {
        let id = vault.id(path);
        vault
            .engine
            .system(&ann())
            .memories()
            .forget_softly(&id)
            .unwrap();
        assert!(
            vault.folder.text(path).contains(&format!("uid: {id}\n")),
            "{}",
            vault.folder.text(path)
        );
        vault.reconcile();
        let row = vault.row(path);
        assert_eq!(
            (row.memory, row.says_id, row.problem),
            (Some(id), true, None)
        );
    }
    assert_eq!(vault.memory("b.md").forgotten_at, None);
    vault.assert_settled();
}

#[test]
fn a_memory_without_a_file_is_forgotten_in_the_index() {
    let vault = vault();
    let engine = &vault.engine;
    let bob = caller("bob", &WRITER);
    let id = engine
        .system(&bob)
        .memories()
        .remember(fact("honey", Visibility::Shared))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        engine
            .system(&ann())
            .memories()
            .forget_softly(&id)
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    let hidden = engine
        .system(&bob)
        .memories()
        .remember(fact("secret", Visibility::Private))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        engine
            .system(&ann())
            .memories()
            .forget_softly(&hidden)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    let first = engine.system(&bob).memories().forget_softly(&id).unwrap();
    assert_eq!(first.forgotten_at, Some(vault.clock.now()));
    vault.clock.advance(9);
    assert_eq!(
        engine.system(&bob).memories().forget_softly(&id).unwrap(),
        first
    );
    assert_eq!(
        engine.system(&bob).memories().show(&id).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(vault.stored(&id), Some(first));
}

/// A user's edit since the note was indexed stays, and the note is forgotten in the edited file.
#[test]
fn an_edit_by_hand_and_a_forgetting_are_both_kept() {
    type Edit = fn(&MemoryFolder);
    let edits: [(&str, Edit); 4] = [
        ("one.md", |folder| folder.replace("one.md", "honey", "wax")),
        ("two.md", |folder| folder.rename("one.md", "two.md")),
        ("two.md", |folder| {
            folder.rename("one.md", "two.md");
            folder.write("one.md", "wax of somebody else");
            folder.replace("two.md", "honey", "wax");
        }),
        ("one.md", |folder| {
            folder.replace("one.md", "title: One", "title: Won\nmood: calm");
        }),
    ];
    for (number, (path, edit)) in edits.into_iter().enumerate() {
        for is_meanwhile in [false, true] {
            let vault = vault();
            let id = append(&vault.engine, "One", "honey").id;
            if is_meanwhile {
                vault.folder.meanwhile(edit);
            } else {
                edit(&vault.folder);
            }
            let edited =
                |text: &str| text.contains("wax") || text.contains("mood") || path == "two.md";
            vault
                .engine
                .system(&ann())
                .memories()
                .forget_softly(&id)
                .unwrap();
            let text = vault.folder.text(path);
            assert!(
                edited(&text) && text.contains("status: deleted"),
                "{number}: {text}"
            );
            assert_eq!(vault.row(path).memory, Some(id.clone()));
            assert!(vault.stored(&id).unwrap().forgotten_at.is_some());
            vault.reconcile();
            vault.assert_settled();
        }
    }
}

/// Edits a file whenever loci is about to write it.
fn again(folder: &MemoryFolder) {
    folder.replace("restless.md", "text", "text text");
    folder.meanwhile(again);
}

#[test]
fn a_file_that_loci_cannot_rewrite_is_left_alone() {
    let vault = vault();
    vault.folder.write("broken.md", "---\nno colon\n---\ntext");
    vault.folder.write("locked.md", "text");
    vault.folder.write("gone.md", "text");
    vault.reconcile();
    let [broken, locked, gone] = ["broken.md", "locked.md", "gone.md"].map(|path| vault.id(path));
    vault.folder.hide("locked.md", true);
    vault.folder.remove("gone.md");
    for (id, code) in [
        (broken, ErrorCode::Conflict),
        (locked, ErrorCode::Unavailable),
        (gone, ErrorCode::NotFound),
    ] {
        assert_eq!(
            vault
                .engine
                .system(&ann())
                .memories()
                .update(&id, "new", None)
                .unwrap_err()
                .code,
            code
        );
        assert_eq!(
            vault
                .engine
                .system(&ann())
                .memories()
                .forget_softly(&id)
                .unwrap_err()
                .code,
            code
        );
    }
    assert_eq!(vault.folder.text("broken.md"), "---\nno colon\n---\ntext");
    // Other writers that change it whenever loci is about to write.
    vault.folder.write("restless.md", "text");
    vault.reconcile();
    vault.folder.meanwhile(again);
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&vault.id("restless.md"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(!vault.folder.text("restless.md").contains("deleted"));
}

/// A deletion through any tool set keeps the file of a note, and marks it there.
#[test]
fn no_verb_of_others_takes_a_note_away() {
    type Delete = fn(&Engine, &MemoryId);
    let deletes: [Delete; 3] = [
        |engine, id| engine.system(&ann()).memories().forget(id).unwrap(),
        |engine, id| {
            let which = Discard {
                id: Some(id.clone()),
                ..Discard::default()
            };
            assert_eq!(
                engine.system(&ann()).memories().count_discarded(&which),
                Ok(1)
            );
            assert_eq!(engine.system(&ann()).memories().discard(&which), Ok(1));
            assert_eq!(engine.system(&ann()).memories().discard(&which), Ok(0));
        },
        |engine, _| {
            engine
                .system(&ann())
                .memories()
                .remember(Remember {
                    tags: vec!["bees".to_owned()],
                    ..fact("tagged", Visibility::Private)
                })
                .unwrap();
            let which = Discard {
                tags: vec!["bees".to_owned()],
                ..Discard::default()
            };
            for left in [2, 0] {
                assert_eq!(
                    engine.system(&ann()).memories().count_discarded(&which),
                    Ok(left)
                );
                assert_eq!(engine.system(&ann()).memories().discard(&which), Ok(left));
            }
        },
    ];
    for delete in deletes {
        let vault = vault();
        let other = append(&vault.engine, "Two", "another").id;
        let bobs = Caller {
            origin: "vault",
            ..caller("bob", &WRITER)
        };
        let request = AppendNote {
            tags: vec!["bees".to_owned()],
            ..note("Bees", "text")
        };
        let AppendOutcome::New(bob, _) =
            vault.engine.system(&bobs).notes().append(request).unwrap()
        else {
            panic!("it is new")
        };
        vault
            .engine
            .system(&ann())
            .memories()
            .forget(&other)
            .unwrap();
        let request = AppendNote {
            tags: vec!["bees".to_owned()],
            ..note("One", "text")
        };
        let AppendOutcome::New(one, _) =
            vault.engine.system(&ann()).notes().append(request).unwrap()
        else {
            panic!("it is new")
        };
        delete(&vault.engine, &one.id);
        let stored = vault.stored(&one.id).unwrap();
        assert_eq!(stored.forgotten_at, Some(vault.clock.now()));
        assert!(vault.folder.text("one.md").contains("status: deleted"));
        assert_eq!(vault.stored(&bob.id).unwrap().forgotten_at, None);
        assert_eq!(
            vault
                .engine
                .system(&ann())
                .memories()
                .forget(&one.id)
                .unwrap_err()
                .code,
            ErrorCode::NotFound
        );
        vault.reconcile();
        vault.assert_settled();
    }
}

/// Clearing a tool set removes its own memories, which notes are not.
#[test]
fn what_clears_a_tool_set_leaves_notes() {
    let vault = vault();
    let id = append(&vault.engine, "One", "text").id;
    let through_other = Caller {
        origin: "other",
        ..ann()
    };
    vault
        .engine
        .system(&through_other)
        .memories()
        .remember(fact("fact", Visibility::Private))
        .unwrap();
    assert_eq!(
        vault
            .engine
            .system(&through_other)
            .memories()
            .clear(CollectionFilter::Any),
        Ok(1)
    );
    assert_eq!(vault.stored(&id).unwrap().forgotten_at, None);
    assert_eq!(vault.folder.paths(), ["one.md"]);
}

/// A memory without a file is deleted even if it was forgotten; a note is only forgotten.
#[test]
fn what_was_forgotten_can_be_deleted() {
    type Delete = fn(&Engine, &MemoryId) -> Result<usize>;
    let deletes: [Delete; 4] = [
        |engine, id| engine.system(&ann()).memories().forget(id).map(|()| 1),
        |engine, _| {
            engine
                .system(&ann())
                .memories()
                .clear(CollectionFilter::Global)
        },
        |engine, id| {
            let which = Discard {
                id: Some(id.clone()),
                ..Discard::default()
            };
            assert_eq!(
                engine.system(&ann()).memories().count_discarded(&which),
                Ok(1)
            );
            engine.system(&ann()).memories().discard(&which)
        },
        |engine, _| {
            let which = Discard {
                tags: vec!["bees".to_owned()],
                ..Discard::default()
            };
            assert_eq!(
                engine.system(&ann()).memories().count_discarded(&which),
                Ok(1)
            );
            engine.system(&ann()).memories().discard(&which)
        },
    ];
    for (number, delete) in deletes.into_iter().enumerate() {
        let vault = vault();
        let engine = &vault.engine;
        let tagged = || vec!["bees".to_owned()];
        let bees = Remember {
            tags: tagged(),
            ..fact("bees", Visibility::Private)
        };
        let id = engine
            .system(&ann())
            .memories()
            .remember(bees)
            .unwrap()
            .memory
            .id;
        engine.system(&ann()).memories().forget_softly(&id).unwrap();
        let bobs = caller("bob", &WRITER);
        assert_eq!(
            engine
                .system(&bobs)
                .memories()
                .forget(&id)
                .unwrap_err()
                .code,
            ErrorCode::NotFound
        );
        let kept = (number != 1).then(|| {
            let request = AppendNote {
                tags: tagged(),
                ..note("One", "text")
            };
            let AppendOutcome::New(kept, _) =
                engine.system(&ann()).notes().append(request).unwrap()
            else {
                panic!("it is new")
            };
            engine
                .system(&ann())
                .memories()
                .forget_softly(&kept.id)
                .unwrap();
            kept.id
        });
        assert_eq!(delete(engine, &id), Ok(1), "{number}");
        assert_eq!(vault.stored(&id), None, "{number}");
        if let Some(id) = kept {
            assert!(vault.stored(&id).is_some());
            let which = Discard {
                id: Some(id.clone()),
                ..Discard::default()
            };
            assert_eq!(
                engine.system(&ann()).memories().count_discarded(&which),
                Ok(0)
            );
            assert_eq!(engine.system(&ann()).memories().discard(&which), Ok(0));
            assert_eq!(
                engine
                    .system(&ann())
                    .memories()
                    .forget(&id)
                    .unwrap_err()
                    .code,
                ErrorCode::NotFound
            );
        }
    }
}

/// A note that cannot be changed does not block other deletions.
#[test]
fn what_remains_of_a_bulk_deletion_is_told() {
    let vault = vault();
    let tagged = || vec!["bees".to_owned()];
    let ids = ["a", "b", "c", "d"].map(|title| {
        let request = AppendNote {
            tags: tagged(),
            ..note(title, "text")
        };
        let AppendOutcome::New(memory, _) =
            vault.engine.system(&ann()).notes().append(request).unwrap()
        else {
            panic!("it is new")
        };
        memory.id
    });
    vault.folder.replace("b.md", "title", "broken\ntitle");
    vault.folder.hide("d.md", true);
    let tagged_fact = Remember {
        tags: tagged(),
        ..fact("fact", Visibility::Private)
    };
    let other = vault
        .engine
        .system(&ann())
        .memories()
        .remember(tagged_fact)
        .unwrap()
        .memory
        .id;
    let which = Discard {
        tags: tagged(),
        ..Discard::default()
    };
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .discard(&which)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    for (place, id) in ids.iter().enumerate() {
        let remains = place % 2 == 1;
        assert_eq!(
            error.message.contains(id.as_str()),
            remains,
            "{}",
            error.message
        );
        assert_eq!(vault.stored(id).unwrap().forgotten_at.is_none(), remains);
    }
    assert!(
        vault.stored(&other).is_none() && error.message.starts_with("deleted: 3;"),
        "{}",
        error.message
    );
    // The content of the first one's file.
    vault.folder.replace("b.md", "broken\ntitle", "title");
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .discard(&which)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(
        error.message.starts_with("deleted: 1;"),
        "{}",
        error.message
    );
}

/// Requests in different forms are the same if they would write the same note.
#[test]
fn a_key_is_for_what_is_written() {
    let vault = vault();
    let append = |body: &str, tags: &[&str]| {
        let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
        vault.engine.system(&ann()).notes().append(AppendNote {
            tags,
            keyed: Some(keyed("k")),
            ..note("One", body)
        })
    };
    let Ok(AppendOutcome::New(first, _)) = append("a\r\nb\n", &["#x", "y"]) else {
        panic!("it is new")
    };
    for (body, tags) in [
        ("a\nb", &["x", "y"][..]),
        ("a\nb\r\n\n", &["x", "#x", "y", "x"]),
    ] {
        assert_eq!(
            append(body, tags),
            Ok(AppendOutcome::Before(answer(&first)))
        );
    }
    for (body, tags) in [
        ("a\nb", &["y", "x"][..]),
        ("a\nb ", &["x", "y"]),
        ("a\nb", &["x"]),
        ("a\nb", &["xy"]),
    ] {
        assert_eq!(append(body, tags).unwrap_err().code, ErrorCode::Conflict);
    }
    assert_eq!(vault.folder.paths(), ["one.md"]);
}

/// Another process changes the memory while its note is indexed: it keeps its writer all the same.
#[test]
fn a_note_that_changes_while_it_is_indexed_keeps_its_writer_and_key() {
    let vault = vault();
    vault.store.before(|method| {
        if method == "commit_rebuildable" {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    let (id, _) = append_keyed(&vault.engine, "k", "One", "text").unwrap();
    vault.store.before(|_| Ok(()));
    vault.reconcile();
    vault.reconcile();
    let id = MemoryId::new(id);
    let other = engine_on(&vault.store, &vault.folder, &vault.clock);
    let (changed, is_done) = (id.clone(), AtomicBool::new(false));
    vault.store.before(move |method| {
        if method == "commit_rebuildable" && !is_done.swap(true, Ordering::SeqCst) {
            other.system(&ann()).memories().set_shared(&changed, true)?;
        }
        Ok(())
    });
    assert_eq!(
        append_keyed(&vault.engine, "k", "One", "text"),
        Ok((id.to_string(), true))
    );
    assert_eq!(vault.stored(&id).unwrap().owner.as_deref(), Some("ann"));
    assert_eq!(
        append_keyed(&vault.engine, "k", "One", "text"),
        Ok((id.to_string(), false))
    );
}

#[test]
fn a_broken_file_stops_what_would_delete_it() {
    let vault = vault();
    let one = append(&vault.engine, "One", "text").id;
    vault.folder.replace("one.md", "title", "broken\ntitle");
    vault.reconcile();
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .forget(&one)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    let which = Discard {
        id: Some(one.clone()),
        ..Discard::default()
    };
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .discard(&which)
        .unwrap_err();
    assert!(
        error.code == ErrorCode::Conflict && error.message.contains(one.as_str()),
        "{error}"
    );
    assert!(vault.stored(&one).is_some());
    assert_eq!(
        vault.row("one.md").problem.unwrap().kind,
        FileProblemKind::BrokenFrontmatter
    );
}

#[test]
fn a_text_is_changed_in_its_file() {
    let vault = vault();
    let id = append(&vault.engine, "One", "honey [[two]]").id;
    append(&vault.engine, "Two", "text");
    vault.reconcile();
    assert_eq!(vault.stored(&id).unwrap().links.len(), 1);
    vault
        .folder
        .replace("one.md", "---\nuid", "---\nmood: calm\nuid");
    vault.clock.advance(60);
    let (memory, embedding) = vault
        .engine
        .system(&ann())
        .memories()
        .update(&id, "wax\r\n", Some(true))
        .unwrap();
    assert_eq!(
        (memory.content.as_str(), memory.updated_at, embedding),
        ("wax", vault.clock.now(), Embedding::Done)
    );
    let text = vault.folder.text("one.md");
    assert!(
        text.contains("mood: calm") && text.ends_with("---\nwax\n"),
        "{text}"
    );
    assert!(text.contains(&format!("updated_at: {}", vault.clock.now().microseconds())));
    assert_eq!(
        vault
            .store
            .pending_embeddings(HashingEmbedder::default().model(), usize::MAX),
        Ok(0)
    );
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .set_shared(&id, false)
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
    assert_eq!(
        vault
            .engine
            .system(&ann())
            .memories()
            .update(&id, "x", Some(false))
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
    assert_eq!(vault.folder.text("one.md"), text);
    vault.reconcile();
    assert_eq!(vault.stored(&id).unwrap().links, []);
    assert_eq!(vault.stored(&id).unwrap().content, "wax");
    vault.assert_settled();
}

#[test]
fn a_text_that_a_person_changed_meanwhile_is_not_overwritten() {
    let vault = vault();
    let id = append(&vault.engine, "One", "honey").id;
    // The user is faster, and loci notices it when it is about to write, or before.
    for is_late in [true, false] {
        let edit = |folder: &MemoryFolder| folder.replace("one.md", "honey", "honey by hand");
        if is_late {
            vault.folder.meanwhile(edit);
        } else {
            edit(&vault.folder);
        }
        let error = vault
            .engine
            .system(&ann())
            .memories()
            .update(&id, "of an agent", None)
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert!(vault.folder.text("one.md").contains("honey by hand"));
        // The edit is indexed by now, so that the next attempt is based on the new text.
        assert!(vault.stored(&id).unwrap().content.contains("by hand"));
    }
    assert!(
        vault
            .engine
            .system(&ann())
            .memories()
            .update(&id, "of an agent", None)
            .is_ok()
    );
    // The same text is not a conflict, nor is another line of the frontmatter.
    vault.folder.replace("one.md", "of an agent", "the same");
    assert!(
        vault
            .engine
            .system(&ann())
            .memories()
            .update(&id, "the same", None)
            .is_ok()
    );
    vault
        .folder
        .meanwhile(|folder| folder.replace("one.md", "---\nuid", "---\nmood: calm\nuid"));
    assert!(
        vault
            .engine
            .system(&ann())
            .memories()
            .update(&id, "at last", None)
            .is_ok()
    );
    let text = vault.folder.text("one.md");
    assert!(
        text.contains("mood: calm") && text.ends_with("at last\n"),
        "{text}"
    );
    vault.reconcile();
    vault.assert_settled();
}

#[test]
fn nothing_is_stored_in_the_place_of_a_note() {
    let vault = vault();
    let id = append(&vault.engine, "One", "text").id;
    for kind in ["note", "fact"] {
        let error = vault
            .engine
            .system(&ann())
            .memories()
            .remember_as(&id, Remember::new("other", kind))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
    }
    assert_eq!(vault.stored(&id).unwrap().content, "text");
}

/// An index with notes, in a process without their folder.
#[test]
fn without_its_folder_a_note_cannot_be_changed() {
    let vault = vault();
    let id = append(&vault.engine, "One", "text").id;
    let embedder = Arc::new(HashingEmbedder::default());
    let engine = Engine::new(
        vault.store.clone(),
        embedder,
        vault.clock.clone(),
        SearchMode::Hybrid,
    );
    assert_eq!(
        engine
            .system(&ann())
            .memories()
            .forget(&id)
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    assert_eq!(
        engine
            .system(&ann())
            .memories()
            .update(&id, "new", None)
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    assert_eq!(vault.stored(&id).unwrap().content, "text");
}

/// A file that is changed and an index that is not: the caller learns about it, and may retry.
#[test]
fn a_change_whose_index_has_to_wait_is_told_of() {
    let vault = vault();
    let id = append(&vault.engine, "One", "honey").id;
    vault.reconcile();
    vault.store.before(|method| {
        if method == "commit_rebuildable" {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    let error = vault
        .engine
        .system(&ann())
        .memories()
        .forget_softly(&id)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(
        error.message.contains("was changed") && error.message.contains("the disk is full"),
        "{}",
        error.message
    );
    vault.store.before(|_| Ok(()));
    assert!(
        vault
            .engine
            .system(&ann())
            .memories()
            .forget_softly(&id)
            .unwrap()
            .forgotten_at
            .is_some()
    );
    vault.reconcile();
    vault.assert_settled();
}

/// Anonymous callers write notes, too.
#[test]
fn a_note_of_an_anonymous_caller_is_nobodys() {
    let Vault {
        engine,
        store,
        clock,
        ..
    } = vault();
    let nobody = Caller {
        origin: "vault",
        ..anonymous()
    };
    let request = || AppendNote {
        keyed: Some(keyed("k")),
        ..note("One", "text")
    };
    let AppendOutcome::New(memory, _) = engine.system(&nobody).notes().append(request()).unwrap()
    else {
        panic!("it is new")
    };
    assert_eq!(
        engine.system(&nobody).notes().append(request()).unwrap(),
        AppendOutcome::Before(answer(&memory))
    );
    assert_eq!(memory.owner, None);
    engine
        .system(&nobody)
        .memories()
        .forget(&memory.id)
        .unwrap();
    let filter = loci_core::Filter::of(Space::default(), Reader::everything(), clock.now());
    let shown = |forgotten| {
        store
            .notes_among(
                &loci_core::Filter {
                    forgotten,
                    ..filter.clone()
                },
                10,
            )
            .unwrap()
            .len()
    };
    assert_eq!((shown(Forgotten::Show), shown(Forgotten::Hide)), (1, 0));
}

/// The file has the change from then on, whatever the reply.
#[test]
fn a_change_that_cannot_be_indexed_is_on_the_trail() {
    let vault = vault();
    let memory = append(&vault.engine, "One", "text");
    vault.store.before(|method| {
        if method == "commit_rebuildable" {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    let info = CallInfo::new("test", "update", "memory:write", Effect::Write, &[]);
    let update = |call: &Call<'_>| call.memories().update(&memory.id, "other text", None);
    vault.engine.call(ann(), info, update).unwrap_err();
    let query = AuditQuery {
        limit: 1,
        ..AuditQuery::default()
    };
    let logged = vault.engine.audit().entries(&query).unwrap();
    assert!(
        logged[0]
            .1
            .records
            .iter()
            .any(|record| record.verb == RecordVerb::Changed && record.id == memory.id.as_str())
    );
}
