//! The contract of soft deletion.

use std::thread;

use loci_core::{
    EnrichmentStatus, ErrorCode, FilingOrder, Filter, Memory, MemoryId, ModelId, OwnerFilter,
    Store, Superseded,
};

use super::examples::{
    NOW, delete, embed, enqueue, filter, memory, message, pending_offspring, private, put, replace,
    space, vector, words,
};
use super::partitions::{version_now, without_vector};
use super::reading::{add, admitted, id};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

/// Soft-deletes the memory with that id.
fn soft_delete(store: &dyn StoreAndTokens, name: &str) {
    assert_eq!(
        store.soft_delete(&filter(), Some(&id(name)), NOW, 10),
        Ok(1)
    );
}

pub(super) fn a_softly_deleted_memory_is_in_no_read(make: MakeStore<'_>) {
    let store = make();
    let model = ModelId::new("test");
    let waiting = || {
        without_vector(&*store, &model, FilingOrder::FirstFirst, 10)
            .expect("the store can be read")
            .len()
    };
    add(&*store, &memory("a"));
    add(&*store, &memory("b"));
    assert_eq!((admitted(&*store, &filter()).len(), waiting()), (2, 2));
    let before = version_now(&*store);
    soft_delete(&*store, "a");
    assert!(version_now(&*store) > before);
    assert_eq!(admitted(&*store, &filter()), ["b"]);
    assert_eq!(found(&*store, &memory("a")), None);
    assert_eq!(waiting(), 1);
    assert_eq!(
        store.get_all(&filter(), &[id("a"), id("b")]),
        Ok(vec![memory("b")])
    );
    let size = store.size().expect("the store can be read");
    assert_eq!((size.memories, size.passages), (2, 2), "it is still there");
}

pub(super) fn a_softly_deleted_memory_keeps_its_id(make: MakeStore<'_>) {
    let store = make();
    let first = memory("a");
    add(&*store, &first);
    soft_delete(&*store, "a");
    let second = Memory {
        revision: 2,
        ..first.clone()
    };
    for batch in [
        put(&first, Vec::new()),
        replace(&second, None),
        delete(&first),
        enqueue("a", NOW),
    ] {
        assert_eq!(refused(&*store, batch).code, ErrorCode::Conflict);
    }
    commit(
        &*store,
        embed(&first, vec![vector("test", &[1]), vector("test", &[1])]),
    );
    assert_eq!(found(&*store, &first), None);
    assert_eq!(
        store.soft_delete(&filter(), Some(&first.id), NOW, 10),
        Ok(0),
        "it passes no filter"
    );
}

pub(super) fn a_softly_deleted_successor_hides_nothing(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &memory("old"));
    add(
        &*store,
        &Memory {
            supersedes: Some(id("old")),
            ..memory("new")
        },
    );
    let hiding = Filter {
        superseded: Superseded::Hide,
        ..filter()
    };
    assert_eq!(admitted(&*store, &hiding), ["new"]);
    soft_delete(&*store, "new");
    assert_eq!(admitted(&*store, &hiding), ["old"]);
    assert_eq!(
        found(&*store, &memory("old")),
        Some(memory("old")),
        "nothing is named as its successor"
    );
}

pub(super) fn a_soft_deletion_keeps_to_its_filter_and_id(make: MakeStore<'_>) {
    let store = make();
    for name in ["a", "b", "c"] {
        add(
            &*store,
            &Memory {
                tags: words(&["one"]),
                ..private("ann", memory(name))
            },
        );
    }
    add(&*store, &private("ann", memory("untagged")));
    add(
        &*store,
        &Memory {
            tags: words(&["one"]),
            ..private("bob", memory("bobs"))
        },
    );
    add(
        &*store,
        &Memory {
            space: space("other"),
            tags: words(&["one"]),
            ..private("ann", memory("a"))
        },
    );
    let tagged = Filter {
        owner: OwnerFilter::of(Some("ann")),
        tags: words(&["one"]),
        ..filter()
    };
    let deleted = |name: Option<&str>| {
        let chosen = name.map(id);
        store
            .soft_delete(&tagged, chosen.as_ref(), NOW, 10)
            .expect("the store can be written")
    };
    for not_passing in ["bobs", "untagged", "missing"] {
        assert_eq!(deleted(Some(not_passing)), 0, "{not_passing}");
    }
    assert_eq!(deleted(Some("b")), 1);
    assert_eq!(admitted(&*store, &filter()), ["a", "bobs", "c", "untagged"]);
    assert_eq!(deleted(None), 2);
    assert_eq!(admitted(&*store, &filter()), ["bobs", "untagged"]);
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                space: space("other"),
                ..filter()
            }
        ),
        ["a"]
    );
}

pub(super) fn a_soft_deletion_keeps_to_its_limit(make: MakeStore<'_>) {
    let store = make();
    let (first, second) = (message("ann", 0), message("ann", 1));
    for written in [
        &first,
        &second,
        &pending_offspring("from-0", &first),
        &pending_offspring("from-1", &second),
    ] {
        add(&*store, written);
    }
    let delete = |limit| {
        store
            .soft_delete(&filter(), None, NOW, limit)
            .expect("the store can be written")
    };
    assert_eq!((delete(0), admitted(&*store, &filter()).len()), (0, 4));
    for left in [3, 2] {
        assert_eq!(delete(1), 1);
        let left_ids = admitted(&*store, &filter());
        assert_eq!(
            left_ids.len(),
            left,
            "what was made from a message goes before it, hence counts itself"
        );
        assert!(left_ids.starts_with(&words(&["ann-0", "ann-1"])));
    }
    assert_eq!((delete(9), delete(9)), (2, 0));
}

pub(super) fn offspring_is_softly_deleted_too(make: MakeStore<'_>) {
    let store = make();
    let source = message("ann", 0);
    add(&*store, &source);
    add(&*store, &pending_offspring("pending", &source));
    add(
        &*store,
        &Memory {
            enrichment: Some(EnrichmentStatus::Completed),
            ..pending_offspring("completed", &source)
        },
    );
    add(
        &*store,
        &Memory {
            enrichment: None,
            ..pending_offspring("plain", &source)
        },
    );
    add(&*store, &private("bob", pending_offspring("bobs", &source)));
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..pending_offspring("elsewhere", &source)
        },
    );
    add(&*store, &pending_offspring("anothers", &message("ann", 1)));
    commit(&*store, enqueue("pending", NOW));
    commit(&*store, enqueue("bobs", NOW));
    let made = |sources: &[MemoryId]| {
        store
            .made_from(&source.space, "ann", sources)
            .expect("the store can be read")
    };
    assert_eq!(
        made(&[id("missing"), source.id.clone()]),
        ["completed", "pending", "plain"].map(id)
    );
    let narrow = Filter {
        tiers: vec![source.tier],
        ..filter()
    };
    assert_eq!(
        store.soft_delete(&narrow, Some(&source.id), NOW, 1),
        Ok(1),
        "the offspring does not pass"
    );
    assert_eq!(admitted(&*store, &filter()), ["anothers", "bobs"]);
    assert_eq!(made(std::slice::from_ref(&source.id)), []);
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                space: space("other"),
                ..filter()
            }
        ),
        ["elsewhere"]
    );
    assert_eq!(
        store.job_counts().map(|counts| counts.waiting),
        Ok(1),
        "its job is gone"
    );
}

pub(super) fn concurrent_soft_deletions_leave_nothing_behind(make: MakeStore<'_>) {
    const MEMORIES: usize = 60;
    const LIMIT: usize = 3;
    let store = make();
    for number in 0..MEMORIES {
        add(&*store, &memory(&format!("{number:02}")));
    }
    let shared: &dyn Store = &*store;
    let delete_all = || {
        let mut deleted = 0;
        loop {
            let some = shared
                .soft_delete(&filter(), None, NOW, LIMIT)
                .expect("the store can be written");
            deleted += some;
            if some < LIMIT {
                assert_eq!(
                    shared.count_by_location(&filter()),
                    Ok(Vec::new()),
                    "no more passed"
                );
                return deleted;
            }
        }
    };
    let deleted: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(delete_all)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no worker panics"))
            .sum()
    });
    assert_eq!(deleted, MEMORIES, "each counts once");
}
