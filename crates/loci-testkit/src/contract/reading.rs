//! The contract of reads by filter.

use loci_core::{
    CandidateQuery, CollectionFilter, Delivery, Filter, Location, Memory, MemoryId, ModelId, Page,
    Passage, QueryVector, Reader, Superseded, Timestamp, Visibility,
};

use super::examples::{NOW, filter, memory, passage, put, reader, replace, space, vector, words};
use super::filing::both_ways;
use super::searching::{ask, ids as hit_ids, search};
use super::tallying::counted;
use super::{MakeStore, StoreAndTokens};

pub(super) const ALL: Page = Page {
    offset: 0,
    limit: 1_000,
};

/// Creates a passage that [`admitted`] finds by its word and by its meaning.
pub(super) fn findable() -> Passage {
    Passage {
        vector: Some(vector("findable", &[127])),
        ..passage("word")
    }
}

pub(super) fn add(store: &dyn StoreAndTokens, memory: &Memory) {
    store
        .commit(put(memory, vec![findable()]))
        .expect("the commit succeeds");
}

/// Returns the matching ids, sorted, after checking that lists, counts, searches and the order of
/// insertion agree.
pub(super) fn admitted(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<String> {
    let listed = store.list(filter, ALL).expect("the store can be read");
    let revisions: Vec<_> = listed
        .into_iter()
        .map(|memory| (memory.id, memory.revision))
        .collect();
    assert_eq!(
        store.revisions(filter, ALL.limit).as_ref(),
        Ok(&revisions),
        "revisions and list differ under {filter:?}"
    );
    let mut ids: Vec<String> = revisions
        .into_iter()
        .map(|(id, _)| id.to_string())
        .collect();
    ids.sort();
    assert_eq!(
        search(store, filter, &["word"]),
        ids,
        "search by words and list differ under {filter:?}"
    );
    let vector = QueryVector {
        model: ModelId::new("findable"),
        values: vec![1.0],
    };
    let by_meaning = ask(
        store,
        &CandidateQuery {
            vector: Some(&vector),
            ..CandidateQuery::of(filter, 1_000)
        },
    );
    assert_eq!(
        hit_ids(&by_meaning),
        ids,
        "search by meaning and list differ under {filter:?}"
    );
    let everything = Filter::of(filter.space.clone(), Reader::everything(), Timestamp::MIN);
    let all = store
        .list(&everything, ALL)
        .expect("the store can be read")
        .into_iter()
        .map(|memory| memory.id);
    let all: Vec<MemoryId> = all.collect();
    let read = store.get_all(filter, &all).expect("the store can be read");
    let places = read
        .iter()
        .map(|memory| (memory.id.clone(), memory.location.clone()))
        .collect();
    assert_eq!(
        store.locations_of(filter, &all),
        Ok(places),
        "places and a read by id differ under {filter:?}"
    );
    for id in read.iter().map(|memory| memory.id.as_str()) {
        let (begin, end) = (
            id.floor_char_boundary(4),
            id.ceil_char_boundary(id.len().saturating_sub(4)),
        );
        for part in [id, &id[..begin], &id[end..]] {
            let is_meant = |known: &&String| known.starts_with(part) || known.ends_with(part);
            let expected: Vec<&str> = ids.iter().filter(is_meant).map(String::as_str).collect();
            let found = store
                .ids_with(filter, part, ALL.limit)
                .expect("the store can be read");
            let found: Vec<&str> = found.iter().map(MemoryId::as_str).collect();
            assert_eq!(found, expected, "ids with {part:?} under {filter:?}");
        }
    }
    let mut read: Vec<_> = read
        .into_iter()
        .map(|memory| memory.id.as_str().to_owned())
        .collect();
    read.sort();
    assert_eq!(read, ids, "a read by id and a list differ under {filter:?}");
    counted(store, filter);
    let mut filed = both_ways(store, filter);
    filed.sort();
    assert_eq!(
        filed, ids,
        "the order of filing and a list differ under {filter:?}"
    );
    ids
}

pub(super) fn id(id: &str) -> MemoryId {
    MemoryId::new(id)
}

pub(super) fn an_expired_memory_leaves_lists_but_not_get(make: MakeStore<'_>) {
    let store = make();
    let written = Memory {
        expires_at: Some(NOW.plus_seconds(1)),
        ..memory("a")
    };
    add(&*store, &written);
    assert_eq!(admitted(&*store, &filter()), ["a"]);
    let later = Filter {
        live_at: NOW.plus_seconds(1),
        ..filter()
    };
    assert_eq!(admitted(&*store, &later), Vec::<String>::new());
    assert_eq!(store.get(&written.space, &written.id), Ok(Some(written)));
}

pub(super) fn the_access_rule_holds_in_every_read(make: MakeStore<'_>) {
    let store = make();
    for visibility in [Visibility::Private, Visibility::Shared, Visibility::Common] {
        for owner in [None, Some("ann"), Some("bob")] {
            let written = Memory {
                owner: owner.map(str::to_owned),
                visibility,
                ..memory(&format!(
                    "{}-{}",
                    visibility.name(),
                    owner.unwrap_or("nobody")
                ))
            };
            add(&*store, &written);
        }
    }
    let seen_by = |reader| admitted(&*store, &Filter { reader, ..filter() }).len();
    assert_eq!(admitted(&*store, &filter()).len(), 9);
    assert_eq!(seen_by(reader(None)), 7);
    assert_eq!(seen_by(reader(Some("ann"))), 8);
    assert_eq!(seen_by(reader(Some("carl"))), 7);
    let ann = Filter {
        reader: reader(Some("ann")),
        ..filter()
    };
    assert!(!admitted(&*store, &ann).contains(&"private-bob".to_owned()));
}

pub(super) fn every_condition_of_a_filter_holds(make: MakeStore<'_>) {
    let store = make();
    let place = |collection: Option<&str>, section: &str| Location {
        collection: collection.map(str::to_owned),
        section: section.to_owned(),
    };
    add(
        &*store,
        &Memory {
            location: place(None, "x"),
            tags: words(&["one", "two"]),
            ..memory("global-x")
        },
    );
    add(
        &*store,
        &Memory {
            location: place(Some("a"), "x"),
            tags: words(&["two"]),
            ..memory("a-x")
        },
    );
    add(
        &*store,
        &Memory {
            location: place(Some("a"), "y"),
            delivery: Delivery::Bootstrap,
            ..memory("a-y")
        },
    );
    add(
        &*store,
        &Memory {
            location: place(Some("b"), "y"),
            tags: words(&["one"]),
            ..memory("b-y")
        },
    );
    let check = |filter: Filter, expected: &[&str]| {
        assert_eq!(admitted(&*store, &filter), expected, "{filter:?}");
    };
    let collections = |collections| Filter {
        collections,
        ..filter()
    };
    check(
        collections(CollectionFilter::Any),
        &["a-x", "a-y", "b-y", "global-x"],
    );
    check(collections(CollectionFilter::Global), &["global-x"]);
    check(
        collections(CollectionFilter::AnyNamed),
        &["a-x", "a-y", "b-y"],
    );
    check(
        collections(CollectionFilter::Only("a".to_owned())),
        &["a-x", "a-y"],
    );
    check(
        collections(CollectionFilter::Only("unknown".to_owned())),
        &[],
    );
    check(
        collections(CollectionFilter::GlobalAnd("b".to_owned())),
        &["b-y", "global-x"],
    );
    check(
        collections(CollectionFilter::GlobalAnd("unknown".to_owned())),
        &["global-x"],
    );
    check(
        Filter {
            sections: words(&["x"]),
            ..filter()
        },
        &["a-x", "global-x"],
    );
    check(
        Filter {
            sections: words(&["x", "y", "z"]),
            ..filter()
        },
        &["a-x", "a-y", "b-y", "global-x"],
    );
    check(
        Filter {
            sections: words(&["z"]),
            ..filter()
        },
        &[],
    );
    check(
        Filter {
            tags: words(&["two"]),
            ..filter()
        },
        &["a-x", "global-x"],
    );
    check(
        Filter {
            tags: words(&["two", "one"]),
            ..filter()
        },
        &["global-x"],
    );
    check(
        Filter {
            tags: words(&["one", "three"]),
            ..filter()
        },
        &[],
    );
    check(
        Filter {
            delivery: Some(Delivery::Bootstrap),
            ..filter()
        },
        &["a-y"],
    );
    let all_at_once = Filter {
        collections: CollectionFilter::GlobalAnd("a".to_owned()),
        sections: words(&["x"]),
        tags: words(&["two"]),
        delivery: Some(Delivery::OnDemand),
        ..filter()
    };
    check(all_at_once, &["a-x", "global-x"]);
}

pub(super) fn a_successor_hides_what_it_replaces(make: MakeStore<'_>) {
    let store = make();
    let hiding = Filter {
        superseded: Superseded::Hide,
        ..filter()
    };
    let successor = Memory {
        supersedes: Some(id("old")),
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        expires_at: Some(NOW.plus_seconds(5)),
        location: Location {
            collection: Some("elsewhere".to_owned()),
            section: "other".to_owned(),
        },
        ..memory("new")
    };
    add(&*store, &successor);
    add(&*store, &memory("old"));
    add(
        &*store,
        &Memory {
            supersedes: Some(id("missing")),
            ..memory("bystander")
        },
    );
    let foreign = Memory {
        space: space("other"),
        supersedes: Some(id("bystander")),
        ..memory("foreign")
    };
    add(&*store, &foreign);
    assert_eq!(admitted(&*store, &filter()), ["bystander", "new", "old"]);
    assert_eq!(admitted(&*store, &hiding), ["bystander", "new"]);
    let global = Filter {
        collections: CollectionFilter::Global,
        ..hiding.clone()
    };
    assert_eq!(
        admitted(&*store, &global),
        ["bystander"],
        "a successor hides even where the filter leaves it out"
    );
    let bob = Filter {
        reader: reader(Some("bob")),
        ..hiding.clone()
    };
    assert_eq!(
        admitted(&*store, &bob),
        ["bystander", "old"],
        "an unreadable successor hides nothing"
    );
    let later = Filter {
        live_at: NOW.plus_seconds(5),
        ..hiding.clone()
    };
    assert_eq!(
        admitted(&*store, &later),
        ["bystander", "old"],
        "an expired successor hides nothing"
    );
    let unrelated = Memory {
        supersedes: None,
        revision: 2,
        ..successor
    };
    store
        .commit(replace(&unrelated, None))
        .expect("the commit succeeds");
    assert_eq!(admitted(&*store, &hiding), ["bystander", "new", "old"]);
}

pub(super) fn superseded_by_names_the_newest_successor(make: MakeStore<'_>) {
    let store = make();
    add(&*store, &memory("old"));
    let successor = |name: &str, seconds: i64| Memory {
        supersedes: Some(id("old")),
        created_at: NOW.plus_seconds(seconds),
        ..memory(name)
    };
    let got = || {
        store
            .get(&memory("old").space, &MemoryId::new("old"))
            .expect("readable")
            .expect("there")
    };
    let listed = |filter: &Filter| {
        let all = store.list(filter, ALL).expect("the store can be read");
        all.into_iter()
            .find(|memory| memory.id.as_str() == "old")
            .expect("it is listed")
            .superseded_by
    };
    assert_eq!((got().superseded_by, listed(&filter())), (None, None));
    add(&*store, &successor("b", 1));
    add(&*store, &successor("a", 1));
    add(&*store, &successor("0", 0));
    assert_eq!(
        (got().superseded_by, listed(&filter())),
        (Some(id("a")), Some(id("a")))
    );
    add(
        &*store,
        &Memory {
            expires_at: Some(NOW),
            ..successor("expired", 2)
        },
    );
    let hidden = Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        ..successor("private", 3)
    };
    add(&*store, &hidden);
    assert_eq!(
        got().superseded_by,
        Some(id("private")),
        "without a reader and a moment every successor counts"
    );
    assert_eq!(listed(&filter()), Some(id("private")));
    let bob = Filter {
        reader: reader(Some("bob")),
        ..filter()
    };
    assert_eq!(
        listed(&bob),
        Some(id("a")),
        "an expired or unreadable successor is not named"
    );
}

pub(super) fn lists_come_newest_first_in_pages(make: MakeStore<'_>) {
    let store = make();
    for (name, seconds) in [("d", 1), ("a", 2), ("c", 2), ("b", 3)] {
        add(
            &*store,
            &Memory {
                updated_at: NOW.plus_seconds(seconds),
                ..memory(name)
            },
        );
    }
    let page = |offset, limit| {
        let page = store
            .list(&filter(), Page { offset, limit })
            .expect("the store can be read");
        page.into_iter()
            .map(|memory| memory.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(page(0, 10), ["b", "a", "c", "d"]);
    assert_eq!(page(1, 2), ["a", "c"]);
    assert_eq!(page(3, usize::MAX), ["d"]);
    assert_eq!(page(0, 0), Vec::<String>::new());
    assert_eq!(page(usize::MAX, 1), Vec::<String>::new());
    let revision = Memory {
        updated_at: NOW.plus_seconds(4),
        revision: 2,
        ..memory("d")
    };
    store
        .commit(replace(&revision, None))
        .expect("the commit succeeds");
    for limit in [0, 1, 2, 4, usize::MAX] {
        let all = [("d", 2), ("b", 1), ("a", 1), ("c", 1)];
        let expected = all
            .into_iter()
            .take(limit)
            .map(|(name, revision)| (id(name), revision))
            .collect();
        assert_eq!(
            store.revisions(&filter(), limit),
            Ok(expected),
            "the first {limit}"
        );
    }
    let whole = store
        .list(
            &filter(),
            Page {
                offset: 0,
                limit: 1,
            },
        )
        .expect("the store can be read");
    assert_eq!(whole, [revision]);
}

pub(super) fn spaces_are_apart(make: MakeStore<'_>) {
    let store = make();
    let here = memory("same");
    let there = Memory {
        space: space("other"),
        content: "there".to_owned(),
        ..memory("same")
    };
    add(&*store, &here);
    add(&*store, &there);
    assert_eq!(store.get(&here.space, &here.id), Ok(Some(here)));
    assert_eq!(store.get(&there.space, &there.id), Ok(Some(there.clone())));
    assert_eq!(admitted(&*store, &filter()), ["same"]);
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                space: there.space,
                ..filter()
            }
        ),
        ["same"]
    );
    assert_eq!(
        admitted(
            &*store,
            &Filter {
                space: space("empty"),
                ..filter()
            }
        ),
        Vec::<String>::new()
    );
}
