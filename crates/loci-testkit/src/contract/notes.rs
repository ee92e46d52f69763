//! The contract of note files.

use loci_core::{
    Batch, Change, ContentHash, ErrorCode, Expect, FileProblem, FileProblemKind, FileStamp, Filter,
    Forgotten, Memory, MemoryId, NoteFile, Space, Superseded, Timestamp,
};

use super::examples::{
    NOW, ODD_TEXTS, change, delete, filter, forgotten, memory, note_file, passage, private, put,
    put_note_file, reader, replace, space, sweep_of_expired, words,
};
use super::partitions::sweep_some;
use super::reading::{add, id};
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};

/// Returns all files of the default space.
fn files(store: &dyn StoreAndTokens) -> Vec<NoteFile> {
    store
        .note_files(&memory("a").space)
        .expect("the store can be read")
}

fn paths(store: &dyn StoreAndTokens) -> Vec<String> {
    files(store).into_iter().map(|file| file.path).collect()
}

/// Returns the path of the file of this memory.
fn path_of(store: &dyn StoreAndTokens, memory_id: &str) -> Option<String> {
    let found = store
        .note_file_of(&memory("a").space, &id(memory_id))
        .expect("the store can be read");
    found.map(|file| file.path)
}

fn among(store: &dyn StoreAndTokens, filter: &Filter, limit: usize) -> Vec<String> {
    let found = store
        .notes_among(filter, limit)
        .expect("the store can be read");
    found.iter().map(|id| id.as_str().to_owned()).collect()
}

fn missing(file: NoteFile) -> NoteFile {
    NoteFile {
        missing_since: Some(NOW),
        ..file
    }
}

fn delete_note_file(path: &str) -> Batch {
    change(Change::DeleteNoteFile {
        path: path.to_owned(),
    })
}

pub(super) fn a_note_file_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(files(&*store), []);
    let texts = ODD_TEXTS.iter().enumerate();
    let odd = texts.map(|(number, text)| NoteFile {
        memory: Some(MemoryId::new(format!("odd {text}"))),
        links: words(&ODD_TEXTS[number..]),
        problem: Some(FileProblem {
            kind: FileProblemKind::NotText,
            message: (*text).to_owned(),
        }),
        ..note_file(text, None)
    });
    let problems = FileProblemKind::ALL.map(|kind| {
        let problem = FileProblem {
            kind,
            message: format!("this is {kind}"),
        };
        NoteFile {
            problem: Some(problem),
            ..note_file(&format!("problem {kind}"), None)
        }
    });
    let stamp = |bytes, modified_nanoseconds| FileStamp {
        bytes,
        modified_nanoseconds,
    };
    let hash = std::array::from_fn(|byte| 255 - byte as u8);
    let one_by_one = [
        note_file("plain", Some("plain")),
        note_file("no memory", None),
        NoteFile {
            stamp: stamp(0, 0),
            hash: ContentHash([0; 32]),
            ..note_file("empty", Some("empty"))
        },
        NoteFile {
            stamp: stamp(u64::MAX, i64::MAX),
            hash: ContentHash(hash),
            ..note_file("most", Some("most"))
        },
        NoteFile {
            stamp: stamp(1, i64::MIN),
            hash: ContentHash([255; 32]),
            ..note_file("least", Some("least"))
        },
        NoteFile {
            is_settled: false,
            ..note_file("unsettled", Some("unsettled"))
        },
        NoteFile {
            says_id: false,
            ..note_file("no id", Some("no id"))
        },
        NoteFile {
            links: vec!["日".repeat(500); 256],
            ..note_file("links", Some("links"))
        },
        missing(note_file("missing", Some("missing"))),
        NoteFile {
            missing_since: Some(Timestamp::from_microseconds(1)),
            ..note_file("missing from 1970", Some("1970"))
        },
        NoteFile {
            missing_since: Some(NoteFile::EXPECTED),
            ..note_file("expected", Some("expected"))
        },
    ];
    let mut all: Vec<NoteFile> = odd.chain(problems).chain(one_by_one).collect();
    let changes = all
        .iter()
        .map(|file| Change::PutNoteFile(Box::new(file.clone())));
    commit(
        &*store,
        Batch {
            space: memory("a").space,
            changes: changes.collect(),
        },
    );
    all.sort_by(|left, right| left.path.cmp(&right.path));
    assert_eq!(files(&*store), all);
    for file in &all {
        let Some(of) = &file.memory else { continue };
        let expected =
            Some(file.clone()).filter(|file| file.missing_since.is_none() || file.is_expected());
        add(&*store, &memory(of.as_str()));
        assert_eq!(
            store.note_file_of(&memory("a").space, of),
            Ok(expected),
            "{}",
            file.path
        );
    }
}

pub(super) fn a_note_file_is_replaced_and_forgotten_by_its_path(make: MakeStore<'_>) {
    let store = make();
    let problem = FileProblem {
        kind: FileProblemKind::DuplicateUid,
        message: "copied".to_owned(),
    };
    let full = NoteFile {
        links: words(&["x"]),
        problem: Some(problem),
        ..missing(note_file("a.md", Some("a")))
    };
    let stamp = FileStamp {
        bytes: 99,
        modified_nanoseconds: -1,
    };
    let plain = NoteFile {
        stamp,
        is_settled: false,
        hash: ContentHash([3; 32]),
        says_id: false,
        ..note_file("a.md", None)
    };
    let other = note_file("A.md", Some("b"));
    for written in [&full, &plain, &full, &other] {
        commit(&*store, put_note_file(written));
    }
    assert_eq!(
        files(&*store),
        [other.clone(), full.clone()],
        "paths are compared byte for byte"
    );
    commit(&*store, put_note_file(&plain));
    assert_eq!(
        files(&*store),
        [other.clone(), plain],
        "nothing of the one before is left"
    );
    commit(&*store, delete_note_file("unknown.md"));
    commit(&*store, delete_note_file("a.md"));
    commit(&*store, delete_note_file("a.md"));
    assert_eq!(paths(&*store), ["A.md"]);
    let mut batch = put_note_file(&full);
    batch.changes.extend(delete_note_file("a.md").changes);
    batch.changes.extend(delete_note_file("A.md").changes);
    batch.changes.extend(put_note_file(&other).changes);
    commit(&*store, batch);
    assert_eq!(
        files(&*store),
        [other],
        "changes of a batch see the ones before"
    );
}

pub(super) fn note_files_come_in_the_order_of_paths(make: MakeStore<'_>) {
    let store = make();
    let expected = [
        "10.md",
        "9.md",
        "A.md",
        "a b.md",
        "a.md",
        "a/b.md",
        "a/b/c.md",
        "b.md",
        "e\u{301}.md",
        "\u{e9}.md",
        "日.md",
    ];
    for (number, path) in expected.iter().enumerate().rev() {
        let file = note_file(path, None);
        commit(
            &*store,
            put_note_file(&if number % 3 == 0 { missing(file) } else { file }),
        );
    }
    let elsewhere = note_file("a.md", Some("elsewhere"));
    let put_elsewhere = Change::PutNoteFile(Box::new(elsewhere.clone()));
    commit(
        &*store,
        Batch {
            space: space("other"),
            changes: vec![put_elsewhere],
        },
    );
    assert_eq!(paths(&*store), expected, "those that are missing too");
    assert_eq!(
        store.note_files(&space("other")),
        Ok(vec![elsewhere.clone()])
    );
    assert_eq!(store.note_files(&space("empty")), Ok(Vec::new()));
    commit(&*store, delete_note_file("a.md"));
    assert_eq!(
        store.note_files(&space("other")),
        Ok(vec![elsewhere]),
        "spaces are apart"
    );
}

pub(super) fn a_memory_has_the_file_that_is_not_missing(make: MakeStore<'_>) {
    let store = make();
    for name in ["moved", "gone", "never a file"] {
        add(&*store, &memory(name));
    }
    add(
        &*store,
        &forgotten(Memory {
            expires_at: Some(NOW),
            ..private("ann", memory("hidden"))
        }),
    );
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..memory("elsewhere")
        },
    );
    for file in [
        missing(note_file("a/moved.md", Some("moved"))),
        note_file("b/moved.md", Some("moved")),
        missing(note_file("c/moved.md", Some("moved"))),
        missing(note_file("gone.md", Some("gone"))),
        note_file("hidden.md", Some("hidden")),
        note_file("elsewhere.md", Some("elsewhere")),
        note_file("not indexed.md", None),
    ] {
        commit(&*store, put_note_file(&file));
    }
    let of = |name: &str| path_of(&*store, name);
    assert_eq!(of("moved"), Some("b/moved.md".to_owned()));
    assert_eq!(
        of("hidden"),
        Some("hidden.md".to_owned()),
        "whoever may read it, at any time"
    );
    for name in ["gone", "never a file", "elsewhere", "unknown"] {
        assert_eq!(of(name), None, "{name}");
    }
    assert_eq!(store.note_file_of(&space("other"), &id("moved")), Ok(None));
    commit(&*store, put_note_file(&note_file("gone.md", Some("gone"))));
    commit(
        &*store,
        put_note_file(&missing(note_file("b/moved.md", Some("moved")))),
    );
    assert_eq!(
        (of("gone"), of("moved")),
        (Some("gone.md".to_owned()), None)
    );
}

pub(super) fn notes_are_the_memories_with_files_that_pass_the_filter(make: MakeStore<'_>) {
    let store = make();
    for written in [
        Memory {
            tags: words(&["red"]),
            updated_at: NOW.plus_seconds(9),
            ..memory("c")
        },
        private("ann", memory("a")),
        forgotten(memory("b")),
        Memory {
            supersedes: Some(id("c")),
            ..memory("d")
        },
        Memory {
            expires_at: Some(NOW.plus_seconds(1)),
            ..memory("e")
        },
        memory("missing"),
        memory("no file"),
    ] {
        add(&*store, &written);
    }
    // In another order than that of the ids.
    for (path, of) in [
        ("5", "a"),
        ("4", "b"),
        ("3", "c"),
        ("2", "d"),
        ("1", "e"),
        ("0", "gone"),
    ] {
        commit(&*store, put_note_file(&note_file(path, Some(of))));
    }
    commit(
        &*store,
        put_note_file(&missing(note_file("9", Some("missing")))),
    );
    commit(&*store, put_note_file(&note_file("8", None)));
    let check = |filter: Filter, expected: &[&str]| {
        for limit in [0, 1, 2, expected.len(), 100] {
            assert_eq!(
                among(&*store, &filter, limit),
                expected[..limit.min(expected.len())],
                "{limit} of {filter:?}"
            );
        }
    };
    check(filter(), &["a", "b", "c", "d", "e"]);
    check(
        Filter {
            forgotten: Forgotten::Hide,
            ..filter()
        },
        &["a", "c", "d", "e"],
    );
    check(
        Filter {
            reader: reader(Some("bob")),
            ..filter()
        },
        &["b", "c", "d", "e"],
    );
    check(
        Filter {
            superseded: Superseded::Hide,
            ..filter()
        },
        &["a", "b", "d", "e"],
    );
    check(
        Filter {
            live_at: NOW.plus_seconds(1),
            ..filter()
        },
        &["a", "b", "c", "d"],
    );
    check(
        Filter {
            tags: words(&["red"]),
            ..filter()
        },
        &["c"],
    );
    check(
        Filter {
            space: space("other"),
            ..filter()
        },
        &[],
    );
    let elsewhere = Memory {
        space: space("other"),
        ..memory("a")
    };
    add(&*store, &elsewhere);
    check(
        Filter {
            space: space("other"),
            ..filter()
        },
        &[],
    );
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..memory("b")
            },
            None,
        ),
    );
    check(
        Filter {
            forgotten: Forgotten::Hide,
            ..filter()
        },
        &["a", "b", "c", "d", "e"],
    );
    commit(&*store, put_note_file(&missing(note_file("5", Some("a")))));
    check(filter(), &["b", "c", "d", "e"]);
}

pub(super) fn a_file_that_is_expected_makes_a_note(make: MakeStore<'_>) {
    let store = make();
    let space = memory("a").space;
    for name in ["a", "b", "c", "d"] {
        add(&*store, &memory(name));
    }
    let not_note = |name: &str| change(Change::NotNote { id: id(name) });
    let expect = |path: &str, of: &str, expect| {
        change(Change::ExpectNoteFile {
            file: Box::new(note_file(path, Some(of))),
            expect,
        })
    };
    let expected = |path: &str, of: &str| NoteFile {
        missing_since: Some(NoteFile::EXPECTED),
        ..note_file(path, Some(of))
    };
    let first = Expect::Revision(memory("a").revision);
    commit(&*store, not_note("a"));
    commit(&*store, expect("a.md", "a", first));
    // It replaces only the row of a missing file.
    commit(
        &*store,
        put_note_file(&missing(note_file("b.md", Some("c")))),
    );
    commit(&*store, expect("b.md", "b", first));
    commit(&*store, put_note_file(&note_file("c.md", Some("c"))));
    commit(&*store, expect("c.md", "d", first));
    commit(&*store, expect("later.md", "later", Expect::Absent));
    let all = [
        expected("a.md", "a"),
        expected("b.md", "b"),
        note_file("c.md", Some("c")),
        expected("later.md", "later"),
    ];
    assert_eq!(files(&*store), all);
    assert_eq!(among(&*store, &filter(), 10), ["a", "b", "c"]);
    assert_eq!(
        store.note_file_of(&space, &id("a")),
        Ok(Some(expected("a.md", "a")))
    );
    for note in ["a", "b", "c"] {
        assert_eq!(
            refused(&*store, not_note(note)).code,
            ErrorCode::Conflict,
            "{note}"
        );
    }
    commit(&*store, not_note("d"));
    commit(&*store, not_note("later"));
    // A wrong expectation conflicts, and the memory does not become a note.
    for wrong in [
        expect("d.md", "d", Expect::Revision(memory("d").revision + 1)),
        expect("d.md", "d", Expect::Absent),
        expect("d.md", "unknown", first),
    ] {
        assert_eq!(refused(&*store, wrong).code, ErrorCode::Conflict);
    }
    assert_eq!(files(&*store), all);
    // An existing file comes first, and notes are not soft-deleted.
    commit(&*store, put_note_file(&note_file("z.md", Some("a"))));
    assert_eq!(path_of(&*store, "a"), Some("z.md".to_owned()));
    assert_eq!(
        store.soft_delete(&filter(), None, NOW, 10),
        Ok(1),
        "`d` alone"
    );
    commit(&*store, not_note("d"));
    assert_eq!(
        refused(&*store, expect("d.md", "d", first)).code,
        ErrorCode::Conflict
    );
}

pub(super) fn a_note_file_outlives_its_memory(make: MakeStore<'_>) {
    let store = make();
    for written in [
        memory("deleted"),
        Memory {
            expires_at: Some(NOW.plus_seconds(1)),
            ..memory("swept")
        },
        private("ann", memory("wiped")),
    ] {
        let file = note_file(&format!("{}.md", written.id), Some(written.id.as_str()));
        let mut batch = put(&written, vec![passage("word")]);
        batch.changes.extend(put_note_file(&file).changes);
        commit(&*store, batch);
        assert_eq!(path_of(&*store, written.id.as_str()), Some(file.path));
    }
    let (before, live) = (files(&*store), among(&*store, &filter(), 10));
    commit(&*store, delete(&memory("deleted")));
    assert_eq!(
        sweep_some(&*store, &sweep_of_expired(NOW.plus_seconds(1)), 10),
        Ok(1)
    );
    assert_eq!(
        store
            .wipe(&memory("a").space, "ann", None, None, NOW)
            .map(|wiped| wiped.memories),
        Ok(1)
    );
    assert_eq!(
        (files(&*store), live.len()),
        (before, 3),
        "what is known of the files stays"
    );
    for name in &live {
        assert_eq!(path_of(&*store, name), None, "there is no memory {name}");
    }
    assert_eq!(among(&*store, &filter(), 10), Vec::<String>::new());
    add(&*store, &memory("deleted"));
    assert_eq!(path_of(&*store, "deleted"), Some("deleted.md".to_owned()));
    assert_eq!(among(&*store, &filter(), 10), ["deleted"]);
}

pub(super) fn a_note_folder_has_the_identity_noted_last(make: MakeStore<'_>) {
    let store = make();
    let (main, other) = (memory("a").space, space("other"));
    let put = |space: &Space, identity: &str| {
        let identity = Change::PutNoteFolder {
            identity: identity.to_owned(),
        };
        commit(
            &*store,
            Batch {
                space: space.clone(),
                changes: vec![identity],
            },
        );
    };
    assert_eq!(store.note_folder(&main), Ok(None));
    for identity in ODD_TEXTS.into_iter().chain(["64769:131", "64769:131"]) {
        put(&main, identity);
        assert_eq!(store.note_folder(&main), Ok(Some(identity.to_owned())));
        assert_eq!(store.note_folder(&other), Ok(None));
    }
    put(&other, "elsewhere");
    assert_eq!(store.note_folder(&main), Ok(Some("64769:131".to_owned())));
    assert_eq!(store.note_folder(&other), Ok(Some("elsewhere".to_owned())));
    assert_eq!(files(&*store), []);
}

pub(super) fn note_files_change_with_their_batch_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let (kept, fresh) = (
        note_file("kept.md", Some("kept")),
        note_file("fresh.md", Some("fresh")),
    );
    commit(&*store, put_note_file(&kept));
    commit(
        &*store,
        change(Change::PutNoteFolder {
            identity: "one".to_owned(),
        }),
    );
    let mut batch = put(&memory("fresh"), vec![passage("word")]);
    for part in [
        put_note_file(&fresh),
        put_note_file(&missing(kept.clone())),
        delete_note_file("kept.md"),
        change(Change::PutNoteFolder {
            identity: "two".to_owned(),
        }),
        delete(&memory("unknown")),
    ] {
        batch.changes.extend(part.changes);
    }
    assert_eq!(refused(&*store, batch.clone()).code, ErrorCode::Conflict);
    assert_eq!(files(&*store), [kept]);
    assert_eq!(store.note_folder(&batch.space), Ok(Some("one".to_owned())));
    batch.changes.pop();
    commit(&*store, batch.clone());
    assert_eq!(files(&*store), [fresh]);
    assert_eq!(store.note_folder(&batch.space), Ok(Some("two".to_owned())));
    assert_eq!(among(&*store, &filter(), 10), ["fresh"]);
}

pub(super) fn soft_deletion_passes_over_notes(make: MakeStore<'_>) {
    let store = make();
    for name in ["note", "gone", "other"] {
        add(&*store, &memory(name));
    }
    commit(&*store, put_note_file(&note_file("note.md", Some("note"))));
    commit(
        &*store,
        put_note_file(&missing(note_file("gone.md", Some("gone")))),
    );
    let hiding = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    let delete = |id: Option<&MemoryId>| {
        store
            .soft_delete(&hiding, id, NOW, 9)
            .expect("the store can be written")
    };
    assert_eq!(delete(Some(&id("note"))), 0);
    assert_eq!(delete(None), 2);
    let found = store
        .get_all(&hiding, &["note", "gone", "other"].map(id))
        .expect("the store can be read");
    assert_eq!(
        found
            .iter()
            .map(|memory| memory.id.as_str())
            .collect::<Vec<_>>(),
        ["note"]
    );
}
