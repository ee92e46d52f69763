//! The contract of commits.

use std::thread;

use loci_core::{
    Batch, Change, Delivery, Error, ErrorCode, Expect, FilingOrder, Location, Memory, MemoryId,
    ModelId, Page, Store, Timestamp, Visibility,
};

use super::examples::{
    NOW, change, delete, embed, fact, filter, idempotent_reply, memory, passage, period, put,
    put_fact, put_reply, put_setting, put_source_file, put_tunnel, replace, source_file, space,
    sweep_of_expired, tunnel, vector, with_vector, words,
};
use super::partitions::{sweep_some, version_now, without_vector};
use super::searching::search;
use super::{MakeStore, StoreAndTokens};

pub(super) fn commit(store: &dyn StoreAndTokens, batch: Batch) {
    store.commit(batch).expect("the commit succeeds");
}

pub(super) fn refused(store: &dyn StoreAndTokens, batch: Batch) -> Error {
    store.commit(batch).expect_err("the commit is refused")
}

pub(super) fn found(store: &dyn StoreAndTokens, memory: &Memory) -> Option<Memory> {
    store
        .get(&memory.space, &memory.id)
        .expect("the store can be read")
}

pub(super) fn what_is_put_comes_back_byte_for_byte(make: MakeStore<'_>) {
    let store = make();
    let contents = [
        "",
        " \r\n\t ",
        "naïve 日本語 🦀 e\u{301}",
        "'; DROP TABLE memory; --",
        "\u{feff}x",
    ];
    for (number, content) in contents.iter().enumerate() {
        let written = Memory {
            content: (*content).to_owned(),
            location: Location {
                collection: Some("proj é".to_owned()),
                section: "s'1".to_owned(),
            },
            kind: "rule".to_owned(),
            tags: words(&["b", "a", "\"quoted\"", "日本"]),
            weight: 0.1 + 0.2,
            delivery: Delivery::Bootstrap,
            owner: Some("ann".to_owned()),
            visibility: Visibility::Private,
            supersedes: Some(MemoryId::new("elsewhere")),
            expires_at: Some(NOW.plus_seconds(9)),
            created_at: Timestamp::from_microseconds(-5),
            updated_at: Timestamp::from_microseconds(i64::MAX),
            revision: 7,
            ..memory(&format!("id {number} ü"))
        };
        commit(&*store, put(&written, vec![passage(content)]));
        assert_eq!(found(&*store, &written), Some(written));
    }
    let large = Memory {
        content: "0123456789abcdef".repeat(1 << 16),
        ..memory("large")
    };
    commit(&*store, put(&large, vec![passage("large")]));
    assert_eq!(found(&*store, &large), Some(large));
}

pub(super) fn an_id_is_taken_once(make: MakeStore<'_>) {
    let store = make();
    let first = Memory {
        expires_at: Some(NOW),
        ..memory("a")
    };
    commit(&*store, put(&first, vec![passage("one")]));
    let second = Memory {
        content: "another".to_owned(),
        ..memory("a")
    };
    assert_eq!(
        refused(&*store, put(&second, vec![passage("two")])).code,
        ErrorCode::Conflict
    );
    assert_eq!(found(&*store, &first), Some(first));
}

pub(super) fn a_lost_update_is_a_conflict(make: MakeStore<'_>) {
    let store = make();
    let second = Memory {
        revision: 2,
        content: "two".to_owned(),
        ..memory("a")
    };
    assert_eq!(
        refused(&*store, replace(&second, None)).code,
        ErrorCode::Conflict
    );
    commit(&*store, put(&memory("a"), vec![passage("one")]));
    commit(&*store, replace(&second, Some(vec![passage("two")])));
    assert_eq!(
        refused(&*store, replace(&second, None)).code,
        ErrorCode::Conflict
    );
    assert_eq!(
        refused(&*store, delete(&memory("a"))).code,
        ErrorCode::Conflict
    );
    assert_eq!(
        refused(&*store, delete(&memory("b"))).code,
        ErrorCode::Conflict
    );
    assert_eq!(found(&*store, &second), Some(second));
}

pub(super) fn a_batch_happens_whole_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let (one, two) = (memory("one"), memory("two"));
    commit(&*store, put(&one, vec![passage("word")]));
    let mut batch = put(&two, vec![passage("word")]);
    batch.changes.extend(delete(&one).changes);
    batch.changes.extend(delete(&memory("missing")).changes);
    assert_eq!(refused(&*store, batch.clone()).code, ErrorCode::Conflict);
    assert_eq!(found(&*store, &one), Some(one.clone()));
    assert_eq!(found(&*store, &two), None);
    assert_eq!(search(&*store, &filter(), &["word"]), ["one"]);
    let stranger = Memory {
        space: space("other"),
        ..memory("three")
    };
    let misplaced = Batch {
        space: one.space.clone(),
        changes: put(&stranger, Vec::new()).changes,
    };
    assert_eq!(refused(&*store, misplaced).code, ErrorCode::Internal);
    batch.changes.pop();
    commit(&*store, batch);
    assert_eq!(found(&*store, &one), None);
    assert_eq!(found(&*store, &two), Some(two));
}

pub(super) fn changes_of_a_batch_see_the_ones_before(make: MakeStore<'_>) {
    let store = make();
    let second = Memory {
        revision: 2,
        content: "second".to_owned(),
        ..memory("a")
    };
    let mut batch = put(&memory("a"), vec![passage("first")]);
    batch
        .changes
        .extend(replace(&second, Some(vec![passage("second")])).changes);
    commit(&*store, batch);
    assert_eq!(search(&*store, &filter(), &["first"]), Vec::<String>::new());
    assert_eq!(search(&*store, &filter(), &["second"]), ["a"]);
    let mut batch = delete(&second);
    batch
        .changes
        .extend(put(&memory("a"), vec![passage("third")]).changes);
    commit(&*store, batch);
    assert_eq!(found(&*store, &second), Some(memory("a")));
    assert_eq!(search(&*store, &filter(), &["third"]), ["a"]);
}

pub(super) fn a_put_without_passages_keeps_content_and_passages(make: MakeStore<'_>) {
    let store = make();
    commit(&*store, put(&memory("a"), vec![passage("word")]));
    let heavier = Memory {
        weight: 1.0,
        content: "ignored".to_owned(),
        revision: 2,
        ..memory("a")
    };
    commit(&*store, replace(&heavier, None));
    let expected = Memory {
        content: memory("a").content,
        ..heavier
    };
    assert_eq!(found(&*store, &expected), Some(expected));
    assert_eq!(search(&*store, &filter(), &["word"]), ["a"]);
    let fresh = Memory {
        content: "kept".to_owned(),
        ..memory("b")
    };
    let change = Change::Put {
        memory: Box::new(fresh.clone()),
        passages: None,
        expect: Expect::Absent,
    };
    commit(
        &*store,
        Batch {
            space: fresh.space.clone(),
            changes: vec![change],
        },
    );
    assert_eq!(found(&*store, &fresh), Some(fresh));
    let size = store.size().expect("the store can be read");
    assert_eq!(size.passages, 1);
    let disk_bytes = store.disk_bytes().expect("the store can be read");
    assert_eq!(disk_bytes > 0, size.disk_bytes > 0);
}

pub(super) fn a_deleted_memory_is_gone(make: MakeStore<'_>) {
    let store = make();
    let written = memory("a");
    commit(
        &*store,
        put(&written, vec![passage("word"), passage("word too")]),
    );
    commit(&*store, delete(&written));
    assert_eq!(found(&*store, &written), None);
    assert_eq!(search(&*store, &filter(), &["word"]), Vec::<String>::new());
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (0, 0));
    commit(&*store, put(&written, vec![passage("again")]));
    assert_eq!(found(&*store, &written), Some(written));
}

pub(super) fn an_embedding_counts_for_its_revision_alone(make: MakeStore<'_>) {
    let store = make();
    let model = ModelId::new("test");
    let waiting = || {
        without_vector(&*store, &model, FilingOrder::FirstFirst, 10)
            .expect("the store can be read")
            .len()
    };
    let first = memory("a");
    commit(
        &*store,
        put(
            &first,
            vec![passage("one"), with_vector(passage("two"), &[0, 127])],
        ),
    );
    assert_eq!(waiting(), 1);
    let vectors = vec![vector("test", &[127, 0]), vector("test", &[0, 127])];
    let stale = Memory {
        revision: 9,
        ..first.clone()
    };
    commit(&*store, embed(&stale, vectors.clone()));
    commit(&*store, embed(&memory("gone"), vectors.clone()));
    assert_eq!(waiting(), 1);
    assert_eq!(
        refused(&*store, embed(&first, vec![vector("test", &[1, 0])])).code,
        ErrorCode::Internal
    );
    commit(&*store, embed(&first, vectors));
    assert_eq!(waiting(), 0);
    assert_eq!(
        found(&*store, &first),
        Some(first.clone()),
        "an embedding leaves the record as it was"
    );
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..first
            },
            Some(vec![passage("three")]),
        ),
    );
    assert_eq!(waiting(), 1);
}

pub(super) fn the_version_grows_with_every_change(make: MakeStore<'_>) {
    let store = make();
    let version = || version_now(&*store);
    let mut before = version();
    let mut grew = |what: &str| {
        let now = version();
        assert!(now > before, "the version stays at {now} after {what}");
        before = now;
    };
    let first = Memory {
        expires_at: Some(NOW),
        ..memory("a")
    };
    commit(&*store, put(&first, vec![passage("word")]));
    grew("a put");
    commit(&*store, embed(&first, vec![vector("test", &[1])]));
    grew("an embedding");
    let second = Memory {
        revision: 2,
        ..first
    };
    commit(&*store, replace(&second, None));
    grew("a replacement");
    sweep_some(&*store, &sweep_of_expired(NOW), 10).expect("the store can be swept");
    grew("a sweep");
    commit(&*store, put(&memory("a"), Vec::new()));
    grew("a second put");
    commit(&*store, delete(&memory("a")));
    grew("a deletion");
    let (noted, valid_to) = (fact("1", ["ann", "knows", "bob"]), period(1, 2));
    let end = Change::EndFact {
        id: noted.id.clone(),
        before: None,
        valid_to,
    };
    let file = source_file(None, "/a");
    for batch in [
        put_fact(&noted),
        change(end),
        put_tunnel(&tunnel("1"), None),
        change(Change::DeleteTunnel { id: "1".to_owned() }),
        put_setting(None, "name", "value"),
        put_source_file(&file, None),
        change(Change::DeleteSourceFile {
            expect: Box::new(file),
        }),
    ] {
        let what = format!("{batch:?}");
        commit(&*store, batch);
        grew(&what);
    }
    let before = version();
    commit(&*store, put_reply(&idempotent_reply(Some("ann"), "key")));
    assert_eq!(version(), before, "an answer that is kept is no change");
}

pub(super) fn the_size_counts_what_is_there(make: MakeStore<'_>) {
    let store = make();
    commit(
        &*store,
        put(&memory("a"), vec![passage("one"), passage("two")]),
    );
    let elsewhere = Memory {
        space: space("other"),
        expires_at: Some(NOW),
        ..memory("a")
    };
    commit(&*store, put(&elsewhere, vec![passage("three")]));
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (2, 3));
}

pub(super) fn concurrent_writers_lose_nothing(make: MakeStore<'_>) {
    const WRITERS: usize = 8;
    const MEMORIES: usize = 20;
    let store = make();
    let shared: &dyn Store = &*store;
    commit(&*store, put(&memory("shared"), vec![passage("word")]));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 0..MEMORIES {
                    let own = memory(&format!("{writer}-{number}"));
                    shared
                        .commit(put(&own, vec![passage("word")]))
                        .expect("the commit succeeds");
                    assert_eq!(shared.get(&own.space, &own.id), Ok(Some(own)));
                }
                count_up(shared);
            });
        }
    });
    let counted = found(&*store, &memory("shared")).expect("the memory is there");
    assert_eq!(counted.revision, 1 + WRITERS as u64, "an update was lost");
    let all = store
        .list(
            &filter(),
            Page {
                offset: 0,
                limit: 1_000,
            },
        )
        .expect("the store can be read");
    assert_eq!(all.len(), 1 + WRITERS * MEMORIES);
}

/// Increments the revision of the shared memory, and tries again after each conflict.
fn count_up(store: &dyn Store) {
    loop {
        let before = memory("shared");
        let before = store
            .get(&before.space, &before.id)
            .expect("the store can be read")
            .expect("it is there");
        let after = Memory {
            revision: before.revision + 1,
            ..before
        };
        match store.commit(replace(&after, None)) {
            Ok(()) => return,
            Err(error) => assert_eq!(error.code, ErrorCode::Conflict, "{error}"),
        }
    }
}
