//! The contract of source files.

use std::thread;

use loci_core::{Batch, Change, ContentHash, ErrorCode, FileStamp, SourceFile, Space, Store};

use super::examples::{NOW, ODD_TEXTS, change, memory, put, put_source_file, source_file, space};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

fn add(store: &dyn StoreAndTokens, file: &SourceFile) {
    commit(store, put_source_file(file, None));
}

fn known(store: &dyn StoreAndTokens, collection: Option<&str>, path: &str) -> Option<SourceFile> {
    store
        .source_file(&Space::default(), "", collection, path)
        .expect("the store can be read")
}

/// Returns the paths of all files of a collection of the default space.
fn paths(store: &dyn StoreAndTokens, collection: Option<&str>) -> Vec<String> {
    let files = store
        .source_files(&Space::default(), "", collection)
        .expect("the store can be read");
    assert!(
        files
            .iter()
            .all(|file| file.collection.as_deref() == collection)
    );
    files.into_iter().map(|file| file.path).collect()
}

fn delete_source_file(expect: &SourceFile) -> Batch {
    change(Change::DeleteSourceFile {
        expect: Box::new(expect.clone()),
    })
}

fn pending(file: SourceFile) -> SourceFile {
    SourceFile {
        is_pending: true,
        ..file
    }
}

fn on(machine: &str, file: SourceFile) -> SourceFile {
    SourceFile {
        machine: machine.to_owned(),
        ..file
    }
}

pub(super) fn a_source_file_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    let odd = ODD_TEXTS.into_iter().flat_map(|text| {
        let of = |collection| SourceFile {
            root: text.to_owned(),
            format: text.to_owned(),
            ..source_file(collection, text)
        };
        [of(None), of(Some("a")), of(Some(text))]
    });
    let stamp = |bytes, modified_nanoseconds| FileStamp {
        bytes,
        modified_nanoseconds,
    };
    let hash = std::array::from_fn(|byte| 255 - byte as u8);
    let most = SourceFile {
        stamp: stamp(u64::MAX, i64::MAX),
        bytes_read: u64::MAX,
        hash: ContentHash(hash),
        parts: u64::MAX,
        is_pending: true,
        is_whole: false,
        ..source_file(Some("a"), "most")
    };
    let least = SourceFile {
        stamp: stamp(0, i64::MIN),
        bytes_read: 0,
        hash: ContentHash([0; 32]),
        parts: 0,
        ..source_file(None, "least")
    };
    let all: Vec<SourceFile> = odd.chain([most, least]).collect();
    for file in &all {
        assert_eq!(known(&*store, file.collection.as_deref(), &file.path), None);
        add(&*store, file);
    }
    for file in &all {
        assert_eq!(
            known(&*store, file.collection.as_deref(), &file.path).as_ref(),
            Some(file)
        );
    }
    for collection in [None, Some(""), Some("a"), Some("A")] {
        let mut expected: Vec<&SourceFile> = all
            .iter()
            .filter(|file| file.collection.as_deref() == collection)
            .collect();
        expected.sort_by_key(|file| &file.path);
        let listed = store
            .source_files(&Space::default(), "", collection)
            .expect("the store can be read");
        assert_eq!(
            listed.iter().collect::<Vec<_>>(),
            expected,
            "{collection:?}"
        );
    }
}

pub(super) fn what_is_known_of_a_source_file_is_expected(make: MakeStore<'_>) {
    let store = make();
    for collection in [None, Some("a")] {
        let first = source_file(collection, "/projects/a");
        let next = SourceFile {
            parts: 2,
            bytes_read: 99,
            ..first.clone()
        };
        let others = [
            SourceFile {
                root: "/".to_owned(),
                ..first.clone()
            },
            SourceFile {
                format: "code".to_owned(),
                ..first.clone()
            },
            SourceFile {
                stamp: FileStamp {
                    bytes: 13,
                    ..first.stamp
                },
                ..first.clone()
            },
            SourceFile {
                stamp: FileStamp {
                    modified_nanoseconds: 0,
                    ..first.stamp
                },
                ..first.clone()
            },
            SourceFile {
                bytes_read: 11,
                ..first.clone()
            },
            SourceFile {
                hash: ContentHash([5; 32]),
                ..first.clone()
            },
            SourceFile {
                parts: 0,
                ..first.clone()
            },
            pending(first.clone()),
            source_file(collection, "/projects/b"),
            source_file(Some("b"), "/projects/a"),
            on("laptop", first.clone()),
        ];
        let conflicts = |expect: Option<&SourceFile>| {
            let before = known(&*store, collection, &first.path);
            for change in [
                Some(put_source_file(&next, expect)),
                expect.map(delete_source_file),
            ]
            .into_iter()
            .flatten()
            {
                let mut batch = put(&memory("new"), Vec::new());
                batch.changes.extend(change.changes);
                assert_eq!(
                    refused(&*store, batch).code,
                    ErrorCode::Conflict,
                    "{expect:?}"
                );
                let after = known(&*store, collection, &first.path);
                assert_eq!((found(&*store, &memory("new")), &after), (None, &before));
            }
        };
        conflicts(Some(&first));
        add(&*store, &first);
        conflicts(None);
        for other in &others {
            conflicts(Some(other));
        }
        commit(&*store, put_source_file(&next, Some(&first)));
        assert_eq!(
            known(&*store, collection, &first.path).as_ref(),
            Some(&next)
        );
        conflicts(Some(&first));
        let mut batch = put_source_file(&first, Some(&next));
        batch
            .changes
            .extend(put_source_file(&others[0], Some(&first)).changes);
        let mut too_much = batch.clone();
        too_much
            .changes
            .extend(put_source_file(&next, Some(&next)).changes);
        assert_eq!(refused(&*store, too_much).code, ErrorCode::Conflict);
        assert_eq!(
            known(&*store, collection, &first.path).as_ref(),
            Some(&next)
        );
        commit(&*store, batch);
        assert_eq!(
            known(&*store, collection, &first.path).as_ref(),
            Some(&others[0])
        );
    }
}

pub(super) fn concurrent_readers_of_a_source_file_lose_nothing(make: MakeStore<'_>) {
    const READERS: u64 = 4;
    const PARTS: u64 = 10;
    let store = make();
    let shared: &dyn Store = &*store;
    let read_on = || {
        let known = shared
            .source_file(&Space::default(), "", None, "log")
            .expect("the store can be read");
        let parts = known.as_ref().map_or(0, |file| file.parts) + 1;
        let batch = put_source_file(
            &SourceFile {
                parts,
                ..source_file(None, "log")
            },
            known.as_ref(),
        );
        match shared.commit(batch) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.code, ErrorCode::Conflict, "{error}");
                false
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| (0..PARTS).for_each(|_| while !read_on() {}));
        }
    });
    assert_eq!(
        known(&*store, None, "log").map(|file| file.parts),
        Some(READERS * PARTS)
    );
}

pub(super) fn source_files_come_in_the_order_of_paths(make: MakeStore<'_>) {
    let store = make();
    let ordered = [
        "",
        "/10",
        "/9",
        "/A",
        "/a",
        "/a b",
        "/a/b",
        "/b",
        "/e\u{301}",
        "/\u{e9}",
        "/日",
    ];
    for (number, path) in ordered.iter().enumerate().rev() {
        let file = source_file(Some("a"), path);
        add(&*store, &if number % 3 == 0 { pending(file) } else { file });
    }
    for (collection, path) in [(None, "global"), (Some(""), "nameless"), (Some("A"), "/a")] {
        add(&*store, &source_file(collection, path));
    }
    let elsewhere = Batch {
        space: space("other"),
        ..put_source_file(&source_file(Some("a"), "/elsewhere"), None)
    };
    commit(&*store, elsewhere);
    assert_eq!(
        paths(&*store, Some("a")),
        ordered,
        "those of which there is more to read, too"
    );
    assert_eq!(
        (paths(&*store, None), paths(&*store, Some(""))),
        (vec!["global".into()], vec!["nameless".into()])
    );
    assert_eq!(
        (paths(&*store, Some("A")), paths(&*store, Some("b"))),
        (vec!["/a".into()], Vec::new())
    );
    assert_eq!(
        store
            .source_files(&space("other"), "", Some("a"))
            .map(|files| files.len()),
        Ok(1)
    );
    assert_eq!(
        store.source_file(&space("other"), "", Some("a"), "/a"),
        Ok(None),
        "spaces are apart"
    );
    assert_eq!(known(&*store, Some("a"), "/elsewhere"), None);
}

pub(super) fn pending_sources_come_from_every_collection(make: MakeStore<'_>) {
    let store = make();
    let main = Space::default();
    assert_eq!(store.pending_sources(&main, "", 9), Ok(Vec::new()));
    let ordered = [
        source_file(Some("z"), "/A"),
        source_file(None, "/a"),
        source_file(Some(""), "/a"),
        source_file(Some("B"), "/a"),
        source_file(Some("a"), "/a"),
        source_file(None, "/b"),
    ]
    .map(pending);
    for file in ordered.iter().rev() {
        add(&*store, file);
    }
    for read in [source_file(None, "/0"), source_file(Some("a"), "/b")] {
        add(&*store, &read);
    }
    commit(
        &*store,
        Batch {
            space: space("other"),
            ..put_source_file(&ordered[0], None)
        },
    );
    for limit in [0, 1, 4, ordered.len(), 100, usize::MAX] {
        let found = store
            .pending_sources(&main, "", limit)
            .expect("the store can be read");
        assert_eq!(
            found,
            ordered[..limit.min(ordered.len())],
            "the first {limit}"
        );
    }
    let read = SourceFile {
        is_pending: false,
        ..ordered[1].clone()
    };
    commit(&*store, put_source_file(&read, Some(&ordered[1])));
    commit(&*store, delete_source_file(&ordered[3]));
    let more = pending(source_file(None, "/0"));
    commit(
        &*store,
        put_source_file(&more, Some(&source_file(None, "/0"))),
    );
    let left = [&more, &ordered[0], &ordered[2], &ordered[4], &ordered[5]];
    let found = store
        .pending_sources(&main, "", 9)
        .expect("the store can be read");
    assert_eq!(found.iter().collect::<Vec<_>>(), left);
    assert_eq!(
        store
            .pending_sources(&space("other"), "", 9)
            .map(|files| files.len()),
        Ok(1)
    );
}

pub(super) fn two_machines_have_files_at_the_same_path(make: MakeStore<'_>) {
    const MACHINES: [&str; 4] = ["", "a", "A", "b"];
    let store = make();
    let file = |machine: &str, collection, path: &str| SourceFile {
        root: format!("/root of {machine}"),
        ..on(machine, source_file(collection, path))
    };
    for machine in MACHINES {
        for collection in [Some("a"), None] {
            add(&*store, &file(machine, collection, "/b"));
            add(&*store, &file(machine, collection, "/a"));
        }
    }
    let main = Space::default();
    let check = |machine: &str, is_there: bool| {
        let files = |collection, path| is_there.then(|| file(machine, collection, path));
        for collection in [None, Some("a")] {
            assert_eq!(
                store.source_file(&main, machine, collection, "/a"),
                Ok(files(collection, "/a")),
                "{machine}"
            );
            let listed = ["/a", "/b"].map(|path| files(collection, path));
            assert_eq!(
                store.source_files(&main, machine, collection),
                Ok(listed.into_iter().flatten().collect()),
                "{machine}"
            );
        }
        let at = [None, Some("a")].map(|collection| files(collection, "/a"));
        assert_eq!(
            store.sources_at(&main, machine, "/a"),
            Ok(at.into_iter().flatten().collect()),
            "{machine}"
        );
    };
    for machine in MACHINES {
        check(machine, true);
    }
    for (number, machine) in MACHINES.into_iter().enumerate() {
        for collection in [None, Some("a")] {
            for path in ["/a", "/b"] {
                commit(
                    &*store,
                    delete_source_file(&file(machine, collection, path)),
                );
            }
        }
        for (other, machine) in MACHINES.into_iter().enumerate() {
            check(machine, other > number);
        }
    }
}

pub(super) fn pending_sources_are_those_of_one_machine(make: MakeStore<'_>) {
    let store = make();
    let file = |machine: &str, path: &str| pending(on(machine, source_file(None, path)));
    for machine in ["b", "", "a"] {
        for path in ["/z", "/of both", machine] {
            add(&*store, &file(machine, path));
        }
    }
    let of = |machine: &str, limit: usize| {
        store
            .pending_sources(&Space::default(), machine, limit)
            .expect("the store can be read")
    };
    for (machine, ordered) in [
        ("", ["", "/of both", "/z"]),
        ("a", ["/of both", "/z", "a"]),
        ("b", ["/of both", "/z", "b"]),
    ] {
        let ordered = ordered.map(|path| file(machine, path));
        assert_eq!(of(machine, 9), ordered, "{machine}");
        assert_eq!(of(machine, 2), ordered[..2], "{machine}");
    }
    assert_eq!(of("c", 9), []);
    let read = on("a", source_file(None, "/of both"));
    commit(
        &*store,
        put_source_file(&read, Some(&file("a", "/of both"))),
    );
    assert_eq!(
        ["", "a", "b"].map(|machine| of(machine, 9).len()),
        [3, 2, 3]
    );
}

pub(super) fn a_source_file_is_forgotten_by_its_collection_and_path(make: MakeStore<'_>) {
    let store = make();
    for (collection, path) in [
        (None, "/a"),
        (Some("a"), "/a"),
        (Some("a"), "/A"),
        (Some("b"), "/a"),
    ] {
        add(&*store, &source_file(collection, path));
    }
    commit(
        &*store,
        Batch {
            space: space("other"),
            ..put_source_file(&source_file(Some("a"), "/a"), None)
        },
    );
    let at = |path: &str| {
        store
            .sources_at(&space("main"), "", path)
            .expect("the store can be read")
    };
    assert_eq!(
        at("/a"),
        [None, Some("a"), Some("b")].map(|collection| source_file(collection, "/a"))
    );
    assert_eq!((at("/A").len(), at("/").len()), (1, 0));
    let delete = |collection, path| delete_source_file(&source_file(collection, path));
    commit(&*store, delete(Some("a"), "/a"));
    for (collection, path) in [
        (Some("c"), "/a"),
        (None, "/A"),
        (Some("a"), "/a "),
        (Some("a"), "/a"),
    ] {
        assert_eq!(
            refused(&*store, delete(collection, path)).code,
            ErrorCode::Conflict,
            "{collection:?} {path}"
        );
    }
    let all = || [None, Some("a"), Some("b")].map(|collection| paths(&*store, collection).concat());
    assert_eq!(all(), ["/a", "/A", "/a"]);
    let mut batch = delete(None, "/a");
    batch
        .changes
        .extend(put_source_file(&source_file(Some("a"), "/a"), None).changes);
    let mut too_much = batch.clone();
    too_much
        .changes
        .extend(put_source_file(&source_file(Some("b"), "/a"), None).changes);
    assert_eq!(refused(&*store, too_much).code, ErrorCode::Conflict);
    assert_eq!(all(), ["/a", "/A", "/a"]);
    commit(&*store, batch);
    assert_eq!(all(), ["", "/A/a", "/a"]);
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!(all(), ["", "/A/a", "/a"], "they belong to nobody");
    assert_eq!(
        store
            .source_files(&space("other"), "", Some("a"))
            .map(|files| files.len()),
        Ok(1)
    );
}
