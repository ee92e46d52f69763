//! The contract of listing memories by insertion.

use loci_core::{
    Batch, CollectionFilter, FilingOrder, Filter, Forgotten, Memory, Page, Superseded, Sweep, Tier,
    Timestamp,
};

use super::examples::{
    NOW, delete, filed_in, filter, forgotten, memory, passage, private, put, reader, replace,
    space, sweep_of_expired, words,
};
use super::reading::{ALL, add, id};
use super::sweeping::sweep_all;
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};

fn filed(
    store: &dyn StoreAndTokens,
    filter: &Filter,
    order: FilingOrder,
    page: Page,
) -> Vec<String> {
    let found = store
        .list_by_insertion(filter, order, page)
        .expect("the store can be read");
    found
        .into_iter()
        .map(|memory| memory.id.as_str().to_owned())
        .collect()
}

/// Returns the matching ids, oldest first, after checking that the other order agrees.
pub(super) fn both_ways(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<String> {
    let all = filed(store, filter, FilingOrder::FirstFirst, ALL);
    let mut backwards = filed(store, filter, FilingOrder::LastFirst, ALL);
    backwards.reverse();
    assert_eq!(all, backwards, "the orders differ under {filter:?}");
    all
}

/// Returns the same, after checking every page of both orders.
fn in_order(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<String> {
    let all = both_ways(store, filter);
    let backwards = all.iter().rev().cloned().collect();
    for (order, all) in [
        (FilingOrder::FirstFirst, &all),
        (FilingOrder::LastFirst, &backwards),
    ] {
        let limits = [0, 1, 2, all.len(), usize::MAX];
        let offsets = [0, 1, 2, all.len().saturating_sub(1), all.len(), usize::MAX];
        for (offset, limit) in offsets
            .into_iter()
            .flat_map(|offset| limits.map(|limit| (offset, limit)))
        {
            let expected: Vec<&String> = all.iter().skip(offset).take(limit).collect();
            let page = filed(store, filter, order, Page { offset, limit });
            assert_eq!(
                page.iter().collect::<Vec<_>>(),
                expected,
                "{limit} from {offset} on, {order:?}, {filter:?}"
            );
        }
    }
    all
}

/// Adds four memories whose ids and times have other orders than their insertion.
fn add_four(store: &dyn StoreAndTokens) {
    for (name, created, updated) in [("c", 4, 1), ("a", 3, 2), ("d", 2, 4), ("b", 1, 3)] {
        let at = |seconds| NOW.plus_seconds(seconds);
        add(
            store,
            &Memory {
                created_at: at(created),
                updated_at: at(updated),
                ..memory(name)
            },
        );
    }
}

pub(super) fn what_was_filed_comes_in_the_order_of_filing(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(in_order(&*store, &filter()), Vec::<String>::new());
    add_four(&*store);
    assert_eq!(in_order(&*store, &filter()), ["c", "a", "d", "b"]);
    add(
        &*store,
        &Memory {
            space: space("other"),
            ..memory("elsewhere")
        },
    );
    let changes = ["9", "10", "0"].map(|name| put(&memory(name), vec![passage("word")]).changes);
    commit(
        &*store,
        Batch {
            space: memory("a").space,
            changes: changes.concat(),
        },
    );
    assert_eq!(
        in_order(&*store, &filter()),
        ["c", "a", "d", "b", "9", "10", "0"],
        "also within a batch"
    );
    assert_eq!(
        in_order(
            &*store,
            &Filter {
                space: space("other"),
                ..filter()
            }
        ),
        ["elsewhere"]
    );
    let whole = store.list_by_insertion(
        &filter(),
        FilingOrder::LastFirst,
        Page {
            offset: 0,
            limit: 1,
        },
    );
    assert_eq!(whole, Ok(vec![memory("0")]));
    add(
        &*store,
        &Memory {
            supersedes: Some(id("c")),
            ..memory("new")
        },
    );
    let first = store.list_by_insertion(
        &filter(),
        FilingOrder::FirstFirst,
        Page {
            offset: 0,
            limit: 1,
        },
    );
    let successor = first
        .expect("the store can be read")
        .pop()
        .and_then(|memory| memory.superseded_by);
    assert_eq!(successor, Some(id("new")));
}

pub(super) fn a_changed_memory_keeps_its_turn(make: MakeStore<'_>) {
    let store = make();
    add_four(&*store);
    let second = Memory {
        revision: 2,
        updated_at: NOW.plus_seconds(99),
        content: "new".to_owned(),
        ..memory("a")
    };
    commit(&*store, replace(&second, Some(vec![passage("new words")])));
    assert_eq!(in_order(&*store, &filter()), ["c", "a", "d", "b"]);
    let third = Memory {
        revision: 3,
        kind: "rule".to_owned(),
        tier: Tier::Unlisted,
        created_at: NOW.plus_seconds(99),
        expires_at: Some(NOW.plus_seconds(99)),
        ..filed_in(Some("elsewhere"), "z", private("ann", memory("a")))
    };
    commit(&*store, replace(&third, None));
    assert_eq!(in_order(&*store, &filter()), ["c", "a", "d", "b"]);
    let mut batch = replace(
        &Memory {
            revision: 4,
            ..forgotten(third.clone())
        },
        None,
    );
    batch.changes.extend(put(&memory("e"), Vec::new()).changes);
    batch.changes.extend(
        replace(
            &Memory {
                revision: 2,
                ..memory("c")
            },
            None,
        )
        .changes,
    );
    commit(&*store, batch);
    let hiding = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    assert_eq!(in_order(&*store, &hiding), ["c", "d", "b", "e"]);
    assert_eq!(in_order(&*store, &filter()), ["c", "a", "d", "b", "e"]);
    commit(
        &*store,
        replace(
            &Memory {
                revision: 5,
                ..third
            },
            Some(Vec::new()),
        ),
    );
    assert_eq!(in_order(&*store, &hiding), ["c", "a", "d", "b", "e"]);
    let common = Memory {
        owner: Some("bob".to_owned()),
        revision: 3,
        ..memory("c")
    };
    commit(&*store, replace(&common, None));
    store
        .wipe(&common.space, "bob", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!(
        in_order(&*store, &hiding),
        ["c", "a", "d", "b", "e"],
        "a wipe changes no turn"
    );
}

pub(super) fn a_removed_memory_is_filed_anew(make: MakeStore<'_>) {
    let store = make();
    add_four(&*store);
    for (removed, left) in [
        ("a", ["c", "d", "b"]),
        ("a", ["c", "d", "b"]),
        ("c", ["d", "b", "a"]),
    ] {
        commit(&*store, delete(&memory(removed)));
        assert_eq!(in_order(&*store, &filter()), left);
        add(&*store, &memory(removed));
        assert_eq!(
            in_order(&*store, &filter()),
            [&left[..], &[removed]].concat(),
            "the last one too"
        );
    }
    let mut batch = delete(&memory("d"));
    batch.changes.extend(put(&memory("d"), Vec::new()).changes);
    let mut too_much = batch.clone();
    too_much.changes.extend(delete(&memory("unknown")).changes);
    refused(&*store, too_much);
    assert_eq!(in_order(&*store, &filter()), ["d", "b", "a", "c"]);
    commit(&*store, batch);
    assert_eq!(in_order(&*store, &filter()), ["b", "a", "c", "d"]);
    assert_eq!(store.soft_delete(&filter(), Some(&id("b")), NOW, 1), Ok(1));
    assert_eq!(in_order(&*store, &filter()), ["a", "c", "d"]);
    assert_eq!(
        sweep_all(
            &*store,
            &Sweep {
                deleted_until: NOW,
                ..sweep_of_expired(Timestamp::MIN)
            }
        ),
        1
    );
    add(&*store, &memory("b"));
    assert_eq!(in_order(&*store, &filter()), ["a", "c", "d", "b"]);
    commit(
        &*store,
        replace(
            &Memory {
                revision: 2,
                ..private("ann", memory("a"))
            },
            None,
        ),
    );
    assert_eq!(
        store
            .wipe(&memory("a").space, "ann", None, None, NOW)
            .map(|wiped| wiped.memories),
        Ok(1)
    );
    add(&*store, &memory("a"));
    assert_eq!(in_order(&*store, &filter()), ["c", "d", "b", "a"]);
}

pub(super) fn what_was_filed_passes_the_filter_first(make: MakeStore<'_>) {
    let store = make();
    for number in 0..40 {
        let (collection, section) = (
            [None, Some("a"), Some("b")][number % 3],
            ["x", "y"][number % 2],
        );
        let plain = filed_in(collection, section, memory(&number.to_string()));
        let owner = ["ann", "bob"][number / 3 % 2];
        let tier = if number % 5 == 0 {
            Tier::Unlisted
        } else {
            Tier::LongTerm
        };
        let supersedes = (number == 37).then(|| id("1"));
        let expires_at = (number == 7).then_some(NOW);
        let plain = Memory {
            tier,
            supersedes,
            expires_at,
            ..plain
        };
        add(
            &*store,
            &if number % 4 == 0 {
                private(owner, plain)
            } else {
                plain
            },
        );
    }
    let only = |name: &str| CollectionFilter::Only(name.to_owned());
    let expect = |filter: Filter, expected: &[&str]| {
        assert_eq!(in_order(&*store, &filter), expected, "{filter:?}");
    };
    let in_a_x = Filter {
        collections: only("a"),
        sections: words(&["x"]),
        ..filter()
    };
    expect(in_a_x.clone(), &["4", "10", "16", "22", "28", "34"]);
    expect(
        Filter {
            tiers: vec![Tier::LongTerm],
            ..in_a_x.clone()
        },
        &["4", "16", "22", "28", "34"],
    );
    expect(
        Filter {
            reader: reader(Some("ann")),
            ..in_a_x
        },
        &["10", "22", "34"],
    );
    let in_a_y = Filter {
        collections: only("a"),
        sections: words(&["y"]),
        ..filter()
    };
    expect(in_a_y.clone(), &["1", "13", "19", "25", "31", "37"]);
    expect(
        Filter {
            superseded: Superseded::Hide,
            ..in_a_y
        },
        &["13", "19", "25", "31", "37"],
    );
    expect(
        Filter {
            collections: only("unknown"),
            ..filter()
        },
        &[],
    );
    add(
        &*store,
        &filed_in(
            Some("a"),
            "x",
            Memory {
                kind: "rule".to_owned(),
                ..memory("rule")
            },
        ),
    );
    let rules = Filter {
        kinds: words(&["rule", "unknown"]),
        ..filter()
    };
    expect(rules.clone(), &["rule"]);
    expect(
        Filter {
            collections: only("b"),
            ..rules.clone()
        },
        &[],
    );
    expect(
        Filter {
            kinds: words(&["unknown"]),
            ..rules
        },
        &[],
    );
    commit(&*store, delete(&memory("rule")));
    assert_eq!(in_order(&*store, &filter()).len(), 39);
}
