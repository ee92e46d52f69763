//! Tests of several machines that share a store: each works only with its own files, also where
//! another machine has files at the same paths.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::SOURCE_MACHINE;
use loci_engine::{ImportReport, Refile, SOURCE_FILE, SourceCounts, SyncReport};

use super::importing_records::archive;
use super::sources::{Mine, WING};
use super::syncing::{Tree, request};
use super::*;

const NONE: SourceCounts = SourceCounts {
    forgotten: 0,
    added: 0,
    kept: 0,
    removed: 0,
};

/// Returns processes of two machines, over one store.
fn two_machines() -> [Mine; 2] {
    let first = Mine::new();
    [first.on_machine("a"), first.on_machine("b")]
}

/// Returns processes of two machines. On the first one, all files of `/p` are there; on the second
/// one, the folder has only another file.
fn two_trees() -> [Mine; 2] {
    let files = ["/p/both.rs", "/p/first.rs", "/p/second.rs", "/t/a.jsonl"];
    let of_first = files.map(|path| (path, false));
    let of_second = [("/p/other.rs", false)];
    let [first, second] = two_machines();
    let with = |mine: Mine, files: &[(&str, bool)]| Mine {
        engine: mine.engine.with_source_tree(Tree::of(&["/p", "/t"], files)),
        ..mine
    };
    [with(first, &of_first), with(second, &of_second)]
}

fn texts(mine: &Mine, machine: &str) -> Vec<String> {
    let mut memories = mine.memories();
    memories.retain(|memory| memory.source_machine() == machine);
    let mut texts: Vec<String> = memories.into_iter().map(|memory| memory.content).collect();
    texts.sort();
    texts
}

#[test]
fn each_machine_has_its_own_file_at_a_path() {
    let [first, second] = two_machines();
    let path = "/p/a.rs";
    let added = |added| SourceCounts { added, ..NONE };
    let read = first.whole(path, &[("licence", "src"), ("one", "src")]);
    assert_eq!(first.file(read), Ok(added(2)));
    assert_eq!(second.known(path), None);
    let read = second.whole(path, &[("licence", "src"), ("two", "src")]);
    assert_eq!(second.file(read), Ok(added(2)));
    assert_eq!(texts(&first, "a"), ["licence", "one"]);
    assert_eq!(texts(&first, "b"), ["licence", "two"]);
    let memories = first.memories();
    let threads: BTreeSet<&str> = memories
        .iter()
        .map(|memory| &*memory.thread.as_ref().unwrap().name)
        .collect();
    assert_eq!(threads, BTreeSet::from(["a:/p/a.rs", "b:/p/a.rs"]));
    assert!(
        memories
            .iter()
            .all(|memory| memory.attributes[SOURCE_FILE] == path)
    );

    // Each machine changes its own drawers.
    let read = second.whole(path, &[("two", "src")]);
    let changed = SourceCounts {
        kept: 1,
        removed: 1,
        ..NONE
    };
    assert_eq!(second.file(read), Ok(changed));
    let read = first.whole(path, &[("licence", "src"), ("one", "src")]);
    assert_eq!(first.file(read), Ok(SourceCounts { kept: 2, ..NONE }));
    assert_eq!(texts(&first, "a"), ["licence", "one"]);
    assert_eq!(texts(&first, "b"), ["two"]);
}

#[test]
fn a_file_that_moves_takes_the_drawers_of_its_machine_along() {
    let [first, second] = two_machines();
    for mine in [&first, &second] {
        mine.file(mine.whole("/p/a.rs", &[("text", "src")]))
            .unwrap();
    }
    let mut read = second.whole("/p/b.rs", &[("text", "src")]);
    read.moved_from = Some("/p/a.rs".to_owned());
    assert_eq!(second.file(read), Ok(SourceCounts { kept: 1, ..NONE }));
    let files: BTreeMap<String, String> = second
        .memories()
        .into_iter()
        .map(|memory| {
            let file = memory.attributes[SOURCE_FILE].clone();
            (memory.source_machine().to_owned(), file)
        })
        .collect();
    let expected = [("a", "/p/a.rs"), ("b", "/p/b.rs")];
    let expected = expected.map(|(machine, path)| (machine.to_owned(), path.to_owned()));
    assert_eq!(files, BTreeMap::from(expected));
    assert!(first.known("/p/a.rs").is_some());
    assert_eq!(second.known("/p/a.rs"), None);
}

/// A conversation that its export names is the same one on every machine.
#[test]
fn an_export_that_two_machines_read_is_filed_once() {
    let [first, second] = two_machines();
    let read = |mine: &Mine| {
        let mut read = mine.further("/t/export.json", 0, &["hello", "good day"]);
        for part in &mut read.parts {
            "claude-ai:7".clone_into(&mut part.thread);
        }
        read
    };
    assert_eq!(first.file(read(&first)).map(|filed| filed.added), Ok(2));
    assert_eq!(second.file(read(&second)).map(|filed| filed.kept), Ok(2));
    assert_eq!(texts(&first, "a").len(), 2);

    // The export moves on the second machine; the drawers still name the file of the first one.
    let mut moved = second.further("/t/moved.json", 0, &["hello", "good day"]);
    for part in &mut moved.parts {
        "claude-ai:7".clone_into(&mut part.thread);
    }
    moved.moved_from = Some("/t/export.json".to_owned());
    assert_eq!(second.file(moved).map(|filed| filed.kept), Ok(2));
    assert!(
        first
            .memories()
            .iter()
            .all(|memory| memory.attributes[SOURCE_FILE] == "/t/export.json")
    );
}

#[test]
fn files_of_another_machine_are_refused() {
    let [first, second] = two_machines();
    let of_first = first.whole("/p/a.rs", &[("text", "src")]);
    let refused = second.file(of_first).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(refused.message.contains("machine"), "{refused}");
    assert!(second.memories().is_empty());
}

#[test]
fn pending_files_are_those_of_one_machine() {
    let [first, second] = two_machines();
    for (mine, path) in [(&first, "/t/a.jsonl"), (&second, "/t/b.jsonl")] {
        let mut read = mine.further(path, 0, &["hello"]);
        read.file.is_pending = true;
        mine.file(read).unwrap();
    }
    for (mine, expected) in [(&first, "/t/a.jsonl"), (&second, "/t/b.jsonl")] {
        let pending = mine
            .engine
            .system(&mine.ann)
            .sources()
            .pending_sources(9)
            .unwrap();
        let paths: Vec<&str> = pending.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [expected]);
    }
}

#[test]
fn a_sync_removes_the_drawers_of_its_own_machine_alone() {
    let [first, second] = two_trees();
    for path in ["/p/both.rs", "/p/first.rs", "/p/second.rs"] {
        first.file(first.whole(path, &[(path, "src")])).unwrap();
    }
    let transcript = first.further("/t/a.jsonl", 0, &["hello"]);
    first.file(transcript).unwrap();
    for path in ["/p/both.rs", "/p/other.rs"] {
        second.file(second.whole(path, &[(path, "src")])).unwrap();
    }
    let sync = |mine: &Mine, apply| {
        mine.engine
            .system(&mine.ann)
            .sources()
            .sync(&request(None, apply))
            .unwrap()
    };
    let expected = SyncReport {
        scanned: 6,
        kept: 1,
        missing: 1,
        out_of_scope: 4,
        stale: BTreeMap::from([("/p/both.rs".to_owned(), 1)]),
        ..SyncReport::default()
    };
    assert_eq!(sync(&second, false), expected);
    assert_eq!(sync(&second, true).removed_memories, 1);
    assert_eq!(
        texts(&first, "a"),
        ["/p/both.rs", "/p/first.rs", "/p/second.rs", "hello"]
    );
    assert_eq!(texts(&first, "b"), ["/p/other.rs"]);
    assert!(first.known("/p/both.rs").is_some());
    assert_eq!(second.known("/p/both.rs"), None);
    let of_first = sync(&first, true);
    assert_eq!(
        (
            of_first.kept,
            of_first.out_of_scope,
            of_first.removed_memories
        ),
        (4, 1, 0)
    );

    // A file that is gone on the first machine goes there.
    let left = Tree::of(&["/p", "/t"], &[("/p/first.rs", false)]);
    let first = Mine {
        engine: first.engine.with_source_tree(left),
        ..first
    };
    assert_eq!(sync(&second, true).removed_memories, 0);
    assert_eq!(sync(&first, true).removed_memories, 2);
    assert_eq!(texts(&first, "a"), ["/p/first.rs", "hello"]);
    assert_eq!(texts(&first, "b"), ["/p/other.rs"]);
}

/// The machine of a drawer that was filed by hand is the one of the process that filed it.
#[test]
fn a_drawer_that_names_a_file_is_of_the_machine_that_filed_it() {
    let [first, second] = two_trees();
    let named = Remember {
        collection: Some(WING.to_owned()),
        attributes: BTreeMap::from([(SOURCE_FILE.to_owned(), "/p/gone.rs".to_owned())]),
        ..fact("by hand", Visibility::Common)
    };
    let unnamed = Remember {
        attributes: BTreeMap::new(),
        ..fact("without a file", Visibility::Common)
    };
    let remember = |request| {
        let remembered = first.engine.system(&first.ann).memories().remember(request);
        remembered.unwrap().memory
    };
    let (named, unnamed) = (remember(named), remember(unnamed));
    assert_eq!(named.attributes[SOURCE_MACHINE], "a");
    assert_eq!(unnamed.attributes.get(SOURCE_MACHINE), None);
    let removed = |mine: &Mine| {
        let synced = mine
            .engine
            .system(&mine.ann)
            .sources()
            .sync(&request(None, true));
        synced.unwrap().removed_memories
    };
    // Moving it changes nothing of that.
    let refile = Refile {
        collection: Some(Some("other".to_owned())),
        ..Refile::default()
    };
    first
        .engine
        .system(&first.ann)
        .memories()
        .refile(&named.id, refile)
        .unwrap();
    assert_eq!((removed(&second), removed(&first)), (0, 1));
}

/// An archive of a store in files names no machine. Its files belong to the machine that imports
/// it, which then knows them.
#[test]
fn the_files_of_a_store_in_files_become_those_of_the_machine_that_imports_them() {
    let old = Mine::new();
    let whole = |mine: &Mine| mine.whole("/p/a.rs", &[("one", "src"), ("two", "src")]);
    let read = |mine: &Mine| mine.further("/t/a.jsonl", 0, &["hello"]);
    let export = |mine: &Mine| {
        let mut read = mine.further("/t/a.json", 0, &["good day"]);
        for part in &mut read.parts {
            part.thread += "#2";
        }
        read
    };
    for read in [whole(&old), read(&old), export(&old)] {
        assert!(old.file(read).unwrap().added > 0);
    }
    let archived = archive(&*old.store.inner);
    let new = Mine::new().on_machine("a");
    let mut brought = ImportReport::default();
    for present in [0, archived.len() as u64] {
        new.engine
            .system(&Caller::local())
            .imports()
            .import_records(&archived, &mut brought)
            .unwrap();
        assert_eq!(
            (brought.stored, brought.present),
            (archived.len() as u64, present)
        );
        assert!(brought.refused.is_empty());
    }
    assert_eq!(texts(&new, "a"), ["good day", "hello", "one", "two"]);
    for read in [whole(&new), read(&new), export(&new)] {
        assert!(read.before.is_some(), "{}", read.file.path);
        assert_eq!(new.file(read).unwrap().added, 0);
    }
    assert_eq!(new.memories().len(), 4);

    // Files that have a machine keep it.
    let other = Mine::new().on_machine("b");
    other
        .engine
        .system(&Caller::local())
        .imports()
        .import_records(&archive(&*new.store.inner), &mut ImportReport::default())
        .unwrap();
    assert_eq!(texts(&other, "a").len(), 4);
    assert_eq!(archive(&*other.store.inner), archive(&*new.store.inner));
}
