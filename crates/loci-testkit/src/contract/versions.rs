//! The contract of the former versions of memories.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{
    Batch, Change, Expect, Location, Memory, MemoryId, Timestamp, Version, Visibility,
};

use super::examples::{NOW, change, delete, filter, memory, passage, put, replace, space, words};
use super::partitions::sweep_some;
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};
use crate::contract::sweep_of_expired;

/// Returns a former version of this memory, with other texts.
fn former(memory: &Memory, revision: u64) -> Version {
    Version {
        content: format!("the former text {revision}, naïve 日本語"),
        title: revision
            .is_multiple_of(2)
            .then(|| format!("title {revision}")),
        tags: words(&["b", "\"a\""]),
        location: Location {
            collection: (revision > 1).then(|| "elsewhere".to_owned()),
            section: format!("section {revision}"),
        },
        updated_by: (revision > 2).then(|| "bob".to_owned()),
        updated_at: NOW.plus_seconds(-i64::try_from(revision).unwrap_or(0)),
        revision,
        ..Version::of(memory)
    }
}

fn keep(store: &dyn StoreAndTokens, memory: &Memory, versions: &[Version]) {
    let changes = versions.iter().cloned().map(Box::new);
    let batch = Batch {
        space: memory.space.clone(),
        changes: changes.map(Change::PutVersion).collect(),
    };
    commit(store, batch);
}

fn kept(store: &dyn StoreAndTokens, memory: &Memory) -> Vec<Version> {
    store
        .versions(&memory.space, &memory.id)
        .expect("the store can be read")
}

pub(super) fn former_versions_come_back_latest_first(make: MakeStore<'_>) {
    let store = make();
    let (one, other) = (memory("one"), memory("other"));
    let elsewhere = Memory {
        space: space("elsewhere"),
        ..one.clone()
    };
    for written in [&one, &other, &elsewhere] {
        commit(&*store, put(written, vec![passage("word")]));
    }
    assert_eq!(kept(&*store, &one), []);
    let versions = [2, 1, 3].map(|revision| former(&one, revision));
    keep(&*store, &one, &versions);
    keep(&*store, &elsewhere, &[former(&elsewhere, 9)]);
    let [second, first, third] = versions.clone();
    assert_eq!(kept(&*store, &one), [third.clone(), second, first.clone()]);
    assert_eq!(kept(&*store, &other), []);
    assert_eq!(kept(&*store, &elsewhere), [former(&elsewhere, 9)]);
    // One of the same revision takes the place of the other.
    let again = Version {
        content: "again".to_owned(),
        title: None,
        ..former(&one, 2)
    };
    keep(&*store, &one, std::slice::from_ref(&again));
    assert_eq!(kept(&*store, &one), [third, again, first]);
    let unknown = memory("unknown");
    keep(&*store, &unknown, &[former(&unknown, 1)]);
    commit(&*store, put(&unknown, vec![passage("word")]));
    assert_eq!(
        kept(&*store, &unknown),
        [],
        "there was no memory to keep it of"
    );
    commit(
        &*store,
        change(Change::DeleteVersions { id: one.id.clone() }),
    );
    commit(
        &*store,
        change(Change::DeleteVersions {
            id: MemoryId::new("unknown"),
        }),
    );
    assert_eq!(kept(&*store, &one), []);
    assert_eq!(kept(&*store, &elsewhere).len(), 1);
}

pub(super) fn a_version_is_kept_with_its_batch_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let before = memory("one");
    commit(&*store, put(&before, vec![passage("word")]));
    let after = |expected: u64| {
        let next = Memory {
            content: "another text".to_owned(),
            revision: before.revision + 1,
            ..before.clone()
        };
        Batch {
            space: before.space.clone(),
            changes: vec![
                Change::PutVersion(Box::new(Version::of(&before))),
                Change::Put {
                    memory: Box::new(next),
                    passages: Some(vec![passage("other")]),
                    expect: Expect::Revision(expected),
                },
            ],
        }
    };
    refused(&*store, after(7));
    assert_eq!(kept(&*store, &before), []);
    commit(&*store, after(before.revision));
    assert_eq!(kept(&*store, &before), [Version::of(&before)]);
    let moved = Memory {
        revision: before.revision + 2,
        ..before.clone()
    };
    commit(&*store, replace(&moved, None));
    assert_eq!(kept(&*store, &before), [Version::of(&before)]);
}

pub(super) fn the_oldest_versions_are_evicted(make: MakeStore<'_>) {
    let store = make();
    let (one, other) = (memory("one"), memory("other"));
    for written in [&one, &other] {
        commit(&*store, put(written, vec![passage("word")]));
    }
    keep(&*store, &other, &[former(&other, 1)]);
    let last = VERSIONS_MAX as u64 + 3;
    for revision in 2..=last {
        keep(&*store, &one, &[former(&one, revision)]);
    }
    let revisions = |memory: &Memory| -> Vec<u64> {
        kept(&*store, memory)
            .iter()
            .map(|version| version.revision)
            .collect()
    };
    let expected: Vec<u64> = (4..=last).rev().collect();
    assert_eq!(revisions(&one), expected);
    // One that is older than all others does not stay.
    keep(&*store, &one, &[former(&one, 1)]);
    assert_eq!(revisions(&one), expected);
    assert_eq!(revisions(&other), [1]);
}

pub(super) fn versions_go_with_their_memory(make: MakeStore<'_>) {
    let store = make();
    let written = |id: &str| {
        let written = Memory {
            owner: Some("ann".to_owned()),
            visibility: Visibility::Private,
            expires_at: (id == "expired").then_some(NOW),
            ..memory(id)
        };
        commit(&*store, put(&written, vec![passage("word")]));
        keep(&*store, &written, &[former(&written, 1)]);
        assert_eq!(kept(&*store, &written).len(), 1, "{id}");
        written
    };
    let again = |gone: &Memory| {
        let gone = Memory {
            expires_at: None,
            ..gone.clone()
        };
        commit(&*store, put(&gone, vec![passage("word")]));
        assert_eq!(kept(&*store, &gone), [], "{}", gone.id);
    };
    let deleted = written("deleted");
    commit(&*store, delete(&deleted));
    again(&deleted);
    let softly = written("softly");
    let now = NOW.plus_seconds(1);
    let removed = store.soft_delete(&filter(), Some(&softly.id), now, 9);
    assert_eq!(removed, Ok(1));
    assert_eq!(kept(&*store, &softly), [], "it is in no read");
    keep(&*store, &softly, &[former(&softly, 2)]);
    let expired = written("expired");
    while sweep_some(&*store, &sweep_of_expired(now), 10).expect("the store can be written") > 0 {}
    again(&expired);
    let wiped = written("wiped");
    store
        .wipe(&wiped.space, "ann", None, None, now)
        .expect("the data is wiped");
    again(&wiped);
}

pub(super) fn a_wipe_leaves_a_pseudonym_on_versions(make: MakeStore<'_>) {
    const PSEUDONYM: &str = "wiped-0123456789abcdef0123456789abcdef";
    let store = make();
    let common = |id: &str, origin: &str| Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Common,
        origin: origin.to_owned(),
        ..memory(id)
    };
    let (one, other) = (common("one", "vault"), common("other", "engram"));
    for written in [&one, &other] {
        commit(&*store, put(written, vec![passage("word")]));
        keep(&*store, written, &[former(written, 2), former(written, 3)]);
    }
    let wipe = |origin: Option<&str>| {
        store
            .wipe(&one.space, "bob", origin, Some(PSEUDONYM), NOW)
            .expect("the data is wiped");
    };
    let writers = |memory: &Memory| -> Vec<Option<String>> {
        kept(&*store, memory)
            .into_iter()
            .map(|version| version.updated_by)
            .collect()
    };
    let (bob, wiped) = (Some("bob".to_owned()), Some(PSEUDONYM.to_owned()));
    wipe(Some("vault"));
    assert_eq!(writers(&one), [wiped.clone(), None]);
    assert_eq!(writers(&other), [bob, None]);
    wipe(None);
    assert_eq!(writers(&other), [wiped, None]);
}

pub(super) fn memories_with_versions_come_in_pages(make: MakeStore<'_>) {
    let store = make();
    let ids = ["c", "a", "é", "b", "d"];
    for id in ids {
        let written = memory(id);
        commit(&*store, put(&written, vec![passage("word")]));
        if id != "b" {
            keep(
                &*store,
                &written,
                &[former(&written, 1), former(&written, 2)],
            );
        }
    }
    let expired = Memory {
        expires_at: Some(Timestamp::MIN),
        ..memory("expired")
    };
    commit(&*store, put(&expired, vec![passage("word")]));
    keep(&*store, &expired, &[former(&expired, 1)]);
    let page = |after: Option<&str>, limit| -> Vec<String> {
        let after = after.map(MemoryId::new);
        store
            .ids_with_versions(&filter(), after.as_ref(), limit)
            .expect("the store can be read")
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(page(None, 9), ["a", "c", "d", "é"]);
    assert_eq!(page(None, 2), ["a", "c"]);
    assert_eq!(page(Some("c"), 2), ["d", "é"]);
    assert_eq!(page(Some("b"), 1), ["c"]);
    assert_eq!(page(Some("é"), 2), Vec::<String>::new());
}
