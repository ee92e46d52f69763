//! The remains of a wipe in the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_core::{
    Batch, CacheEntry, CacheStore, Change, Citation, CitationKind, ContentHash, Decision,
    DecisionStore, IdempotentReply, Location, Memory, MemoryId, Partition, Space, Store, Sweep,
    Timestamp, Tunnel, TunnelEnd, TunnelStore, Visibility, Work,
};
use loci_testkit::contract::{memory, passage, put, replace, sweep_of_expired};

use crate::open;

const NOW: Timestamp = Timestamp::from_microseconds(1_000_000_000);

/// Counts the occurrences of the text in the files of the folder.
fn occurrences(folder: &Path, text: &str) -> usize {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    files
        .map(|file| {
            fs::read(file)
                .unwrap()
                .windows(text.len())
                .filter(|part| *part == text.as_bytes())
                .count()
        })
        .sum()
}

#[test]
fn a_wipe_leaves_no_text_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let of = |id: &str, content: &str| Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        content: content.repeat(100),
        ..memory(id)
    };
    let first = of("a", "the zebra said quokka. ");
    store
        .commit(put(&first, vec![passage("zebraterm")]))
        .unwrap();
    let citation = Citation {
        kind: CitationKind::File,
        reference: "the ibex".to_owned(),
        locator: None,
        pin: None,
        excerpt: Some("the gecko ran. ".repeat(1_000)),
    };
    let second = Memory {
        title: Some("the dugong".to_owned()),
        actor: Some("the marmot".to_owned()),
        citations: vec![citation],
        attributes: BTreeMap::from([("tapir".to_owned(), "here".to_owned())]),
        ..of("b", "the walrus sleeps. ")
    };
    store
        .commit(put(&second, vec![passage("walrusterm")]))
        .unwrap();
    let changed = Memory {
        revision: 2,
        ..of("a", "the lemur is new. ")
    };
    store
        .commit(replace(&changed, Some(vec![passage("lemurterm")])))
        .unwrap();
    let entry = CacheEntry {
        space: Space::default(),
        id: MemoryId::new("c"),
        owner: "ann".to_owned(),
        query: "where is the otter?".to_owned(),
        response: "the otter is at home".to_owned(),
        vector: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(9),
    };
    store.put_cache_entry(&entry, 0).unwrap();
    let decision = Decision {
        space: Space::default(),
        owner: "ann".to_owned(),
        key: "badger".to_owned(),
        value: "the badger wins".to_owned(),
        created_at: NOW,
        updated_at: NOW,
        expires_at: None,
    };
    store.put_decision(&decision, 0).unwrap();
    let answer = IdempotentReply {
        space: Space::default(),
        owner: Some("ann".to_owned()),
        origin: "vault".to_owned(),
        operation: "recall".to_owned(),
        key: "the coati".to_owned(),
        request: ContentHash([7; 32]),
        answer: "the numbat answers".to_owned(),
        memories: Vec::new(),
        created_at: NOW,
        expires_at: NOW.plus_seconds(9),
    };
    let keep = Change::PutIdempotentReply(Box::new(answer));
    store
        .commit(Batch::new(Space::default(), vec![keep]))
        .unwrap();
    for text in [
        "walrus", "ibex", "gecko", "dugong", "marmot", "tapir", "lemur", "otter", "badger",
        "coati", "numbat",
    ] {
        assert!(occurrences(folder.path(), text) > 0, "{text} is stored");
    }
    // A reader needs the old pages for as long.
    let reader = rusqlite::Connection::open(folder.path().join("loci.db")).unwrap();
    let reading = reader.unchecked_transaction().unwrap();
    reading
        .query_row("SELECT count(*) FROM memory", [], |_| Ok(()))
        .unwrap();
    let wiped = store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .unwrap();
    assert!(
        occurrences(folder.path(), "walrus") > 0,
        "a reader of before still finds it"
    );
    drop(reading);
    store
        .partitions_with(Work::Sweep(&sweep_of_expired(NOW)), None, 1)
        .unwrap();
    assert_eq!(
        (wiped.memories, wiped.cache_entries, wiped.decisions),
        (2, 1, 1)
    );
    for text in [
        "zebra", "walrus", "ibex", "gecko", "dugong", "marmot", "tapir", "lemur", "otter",
        "badger", "coati", "numbat",
    ] {
        assert_eq!(occurrences(folder.path(), text), 0, "{text} is left");
    }
}

#[test]
fn a_wipe_leaves_nothing_of_an_owner_in_counts_tunnels_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let place = Location {
        collection: Some("the vicuna".to_owned()),
        section: "the serval".to_owned(),
    };
    let owner = Some("the quoll".to_owned());
    let private = Memory {
        owner: owner.clone(),
        visibility: Visibility::Private,
        location: place,
        ..memory("a")
    };
    let common = Memory {
        owner: owner.clone(),
        ..memory("b")
    };
    let end = |section: &str, memory| TunnelEnd {
        collection: None,
        section: section.to_owned(),
        memory,
    };
    let tunnel = |id: &str, is_common| Tunnel {
        space: Space::default(),
        id: id.to_owned(),
        source: end("one", Some(private.id.clone())),
        target: end("two", Some(common.id.clone())),
        label: format!("the axolotl {is_common}"),
        owner: owner.clone(),
        is_common,
        created_at: NOW,
        updated_at: NOW,
    };
    let mut batch = put(&private, vec![passage("word")]);
    batch
        .changes
        .extend(put(&common, vec![passage("word")]).changes);
    for tunnel in [tunnel("private", false), tunnel("common", true)] {
        batch.changes.push(Change::PutTunnel {
            tunnel: Box::new(tunnel),
            expect: None,
        });
    }
    let (name, value) = ("the okapi".to_owned(), "the pangolin".to_owned());
    batch.changes.push(Change::PutSetting {
        owner: owner.clone(),
        name,
        value,
    });
    store.commit(batch).unwrap();
    for text in [
        "the vicuna",
        "the serval",
        "the quoll",
        "the axolotl false",
        "the okapi",
        "the pangolin",
    ] {
        assert!(occurrences(folder.path(), text) > 0, "{text} is stored");
    }
    store
        .wipe(&Space::default(), "the quoll", None, None, NOW)
        .unwrap();
    let kept = Tunnel {
        source: end("one", None),
        owner: None,
        ..tunnel("common", true)
    };
    assert_eq!(store.tunnels(&Space::default()), Ok(vec![kept]));
    // The record of the wipe names the owner for some time.
    let sweep = Sweep {
        wiped_before: NOW.plus_seconds(1),
        ..sweep_of_expired(NOW)
    };
    while store.sweep(&Partition::Whole, &sweep, 9).unwrap() > 0 {}
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .unwrap();
    for text in [
        "the vicuna",
        "the serval",
        "the quoll",
        "the axolotl false",
        "the okapi",
        "the pangolin",
    ] {
        assert_eq!(occurrences(folder.path(), text), 0, "{text} is left");
    }
}

#[test]
fn an_owner_is_not_named_by_answers_that_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let answer = |key: &str| IdempotentReply {
        space: Space::default(),
        owner: Some("the quoll".to_owned()),
        origin: "vault".to_owned(),
        operation: "recall".to_owned(),
        key: key.to_owned(),
        request: ContentHash([7; 32]),
        answer: "answer".to_owned(),
        memories: Vec::new(),
        created_at: NOW,
        expires_at: NOW.plus_seconds(9),
    };
    let changes = ["a", "b"]
        .map(|key| Change::PutIdempotentReply(Box::new(answer(key))))
        .into();
    store.commit(Batch::new(Space::default(), changes)).unwrap();
    assert!(occurrences(folder.path(), "the quoll") > 0);
    let sweep = sweep_of_expired(NOW.plus_seconds(9));
    while store.sweep(&Partition::Whole, &sweep, 9).unwrap() > 0 {}
    // A wipe, whosever, empties the log.
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .unwrap();
    assert_eq!(occurrences(folder.path(), "the quoll"), 0);
}
