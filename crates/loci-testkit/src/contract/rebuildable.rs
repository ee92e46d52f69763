//! The contract of rebuildable commits: the same as that of durable ones, except for power cuts.

use std::thread;

use loci_core::{Batch, ErrorCode, Memory, Store};

use super::examples::{
    NOW, delete, embed, enqueue, filter, idempotent_reply, memory, message, not_wiped, note_file,
    passage, put, put_note_file, put_reply, replace, space, vector,
};
use super::partitions::version_now;
use super::reading::{add, admitted, findable};
use super::searching::search;
use super::writing::{commit, found};
use super::{MakeStore, StoreAndTokens};

fn rebuild(store: &dyn StoreAndTokens, batch: Batch) {
    store
        .commit_rebuildable(batch)
        .expect("the commit succeeds");
}

pub(super) fn what_is_rebuildable_is_there_at_once(make: MakeStore<'_>) {
    let store = make();
    let mut version = 0;
    let mut grew = |what: &str| {
        let next = version_now(&*store);
        assert!(next > version, "{what}");
        version = next;
    };
    let first = memory("a");
    rebuild(&*store, put(&first, vec![findable()]));
    grew("a put");
    assert_eq!(
        (found(&*store, &first), admitted(&*store, &filter())),
        (Some(first.clone()), vec!["a".to_owned()])
    );
    rebuild(&*store, embed(&first, vec![vector("other", &[1])]));
    grew("an embedding");
    let second = Memory {
        revision: 2,
        title: Some("a title".to_owned()),
        ..first
    };
    commit(&*store, replace(&second, Some(vec![passage("changed")])));
    grew("a durable replacement");
    let third = Memory {
        revision: 3,
        ..second
    };
    rebuild(&*store, replace(&third, Some(vec![passage("again")])));
    grew("a replacement");
    assert_eq!(
        search(&*store, &filter(), &["changed"]),
        Vec::<String>::new()
    );
    assert_eq!(search(&*store, &filter(), &["again"]), ["a"]);
    let answer = idempotent_reply(None, "key");
    for batch in [
        enqueue("a", NOW),
        put_note_file(&note_file("a.md", Some("a"))),
        put_reply(&answer),
    ] {
        rebuild(&*store, batch);
    }
    assert_eq!(store.job_counts().map(|counts| counts.waiting), Ok(1));
    assert_eq!(
        store.note_file_of(&third.space, &third.id),
        Ok(Some(note_file("a.md", Some("a"))))
    );
    assert_eq!(
        store.idempotent_reply(&answer.space, None, "append", "key", NOW),
        Ok(Some(answer))
    );
    rebuild(&*store, delete(&third));
    grew("a deletion");
    assert_eq!(
        (found(&*store, &third), admitted(&*store, &filter())),
        (None, Vec::new())
    );
    rebuild(
        &*store,
        Batch {
            space: third.space,
            changes: Vec::new(),
        },
    );
}

pub(super) fn what_is_rebuildable_happens_whole_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let since = version_now(&*store);
    store
        .wipe(&memory("a").space, "ann", None, None, NOW)
        .expect("the data is wiped");
    add(&*store, &memory("a"));
    add(&*store, &message("bob", 0));
    commit(&*store, put_reply(&idempotent_reply(None, "key")));
    let stranger = put(
        &Memory {
            space: space("other"),
            ..memory("b")
        },
        Vec::new(),
    );
    for (refused, code) in [
        (put(&memory("a"), Vec::new()), ErrorCode::Conflict),
        (
            replace(
                &Memory {
                    revision: 9,
                    ..memory("a")
                },
                None,
            ),
            ErrorCode::Conflict,
        ),
        (delete(&memory("unknown")), ErrorCode::Conflict),
        (enqueue("unknown", NOW), ErrorCode::Conflict),
        (not_wiped("ann", "vault", since), ErrorCode::Conflict),
        (
            put(
                &Memory {
                    id: memory("x").id,
                    ..message("bob", 0)
                },
                Vec::new(),
            ),
            ErrorCode::Conflict,
        ),
        (
            put_reply(&idempotent_reply(None, "key")),
            ErrorCode::Conflict,
        ),
        (stranger, ErrorCode::Internal),
    ] {
        let mut batch = put(&memory("new"), vec![findable()]);
        batch
            .changes
            .extend(put_note_file(&note_file("new.md", Some("new"))).changes);
        batch.changes.extend(refused.changes);
        let error = store
            .commit_rebuildable(batch.clone())
            .expect_err("the commit is refused");
        assert_eq!(error.code, code, "{:?}", batch.changes.last());
        assert_eq!(admitted(&*store, &filter()), ["a", "bob-0"]);
        assert_eq!(store.note_files(&batch.space), Ok(Vec::new()));
    }
}

pub(super) fn concurrent_commits_of_both_kinds_lose_nothing(make: MakeStore<'_>) {
    const WRITERS: usize = 6;
    const MEMORIES: usize = 12;
    let store = make();
    let shared: &dyn Store = &*store;
    commit(&*store, put(&memory("shared"), vec![passage("word")]));
    let write = |batch, is_rebuildable| {
        if is_rebuildable {
            shared.commit_rebuildable(batch)
        } else {
            shared.commit(batch)
        }
    };
    // Two of three writers use one kind of commit, the third alternates.
    let work = |writer: usize| {
        for number in 0..MEMORIES {
            let own = memory(&format!("{writer}-{number}"));
            let is_rebuildable = [true, false, number % 2 == 0][writer % 3];
            write(put(&own, vec![passage("word")]), is_rebuildable).expect("the commit succeeds");
            assert_eq!(shared.get(&own.space, &own.id), Ok(Some(own)));
            while let Err(error) = write(replace(&counted_up(shared), None), is_rebuildable) {
                assert_eq!(error.code, ErrorCode::Conflict, "{error}");
            }
        }
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || work(writer));
        }
    });
    let counted = found(&*store, &memory("shared")).expect("it is there");
    assert_eq!(
        counted.revision,
        1 + (WRITERS * MEMORIES) as u64,
        "an update was lost"
    );
    assert_eq!(
        search(&*store, &filter(), &["word"]).len(),
        1 + WRITERS * MEMORIES
    );
}

/// Returns the shared memory with its next revision.
fn counted_up(store: &dyn Store) -> Memory {
    let before = memory("shared");
    let before = store
        .get(&before.space, &before.id)
        .expect("the store can be read")
        .expect("it is there");
    Memory {
        revision: before.revision + 1,
        ..before
    }
}
