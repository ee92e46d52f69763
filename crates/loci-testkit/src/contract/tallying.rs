//! The contract of counts by location: cached counts equal the stored memories.

use std::collections::BTreeMap;
use std::thread;

use loci_core::{
    Batch, Filter, Forgotten, LocationCount, Memory, Page, Space, Sweep, Tier, Timestamp,
    Visibility,
};

use super::examples::{
    NOW, ODD_TEXTS, delete, filed_in, filter, forgotten, memory, message, not_wiped, private, put,
    reader, replace, space, sweep_of_expired, tally, words,
};
use super::generator::Generator;
use super::partitions::version_now;
use super::reading::{ALL, add, admitted, id};
use super::sweeping::sweep_all;
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};

/// Returns the counts under the filter, after comparing them with a recount and a listing.
pub(super) fn counted(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<LocationCount> {
    let tallies = store
        .count_by_location(filter)
        .expect("the store can be read");
    assert_eq!(
        store.count_uncached(filter).as_ref(),
        Ok(&tallies),
        "recount and tally differ under {filter:?}"
    );
    let mut by_place = BTreeMap::new();
    for Memory {
        location: place,
        kind,
        ..
    } in store.list(filter, ALL).expect("the store can be read")
    {
        *by_place
            .entry((place.collection, place.section, kind))
            .or_insert(0) += 1;
    }
    let listed = by_place
        .into_iter()
        .map(|((collection, section, kind), memories)| LocationCount {
            collection,
            section,
            kind,
            memories,
        });
    assert_eq!(
        tallies,
        listed.collect::<Vec<_>>(),
        "tally and list differ under {filter:?}"
    );
    tallies
}

/// Returns the counts of the whole default space, after checking the counts of many kinds of
/// readers.
fn counts(store: &dyn StoreAndTokens) -> Vec<LocationCount> {
    let mut random = Generator::new(7);
    for number in 0..25 {
        let asked = if number < 20 {
            random.counted_filter()
        } else {
            random.filter()
        };
        counted(
            store,
            &Filter {
                space: Space::default(),
                ..asked
            },
        );
    }
    counted(store, &filter())
}

pub(super) fn tallies_come_by_place_and_kind(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(counts(&*store), []);
    let places = [
        (Some("b"), "x"),
        (None, "y"),
        (Some("a"), "z"),
        (Some("a"), "x"),
        (Some("a"), "x"),
        (None, "x"),
    ];
    for (number, (collection, section)) in places.into_iter().enumerate() {
        let kind = ["rule", "fact"][number / 4].to_owned();
        add(
            &*store,
            &filed_in(
                collection,
                section,
                Memory {
                    kind,
                    ..memory(&number.to_string())
                },
            ),
        );
    }
    let of_a_x = filed_in(
        Some("a"),
        "x",
        Memory {
            kind: "Z".to_owned(),
            ..memory("upper case")
        },
    );
    add(&*store, &of_a_x);
    let expected = [
        tally(None, "x", "fact", 1),
        tally(None, "y", "rule", 1),
        tally(Some("a"), "x", "Z", 1),
        tally(Some("a"), "x", "fact", 1),
        tally(Some("a"), "x", "rule", 1),
        tally(Some("a"), "z", "rule", 1),
        tally(Some("b"), "x", "rule", 1),
    ];
    assert_eq!(counts(&*store), expected);
    let of_other = Filter {
        space: space("other"),
        ..filter()
    };
    assert_eq!(counted(&*store, &of_other), []);
    for (number, text) in ODD_TEXTS.into_iter().enumerate() {
        for (part, collection) in [None, Some(text)].into_iter().enumerate() {
            let odd = Memory {
                space: space("other"),
                kind: text.to_owned(),
                ..memory(&format!("{number} {part}"))
            };
            add(&*store, &filed_in(collection, text, odd));
        }
    }
    let mut texts = ODD_TEXTS;
    texts.sort_unstable();
    let named = texts
        .into_iter()
        .map(|text| tally(Some(text), text, text, 1));
    let odd: Vec<_> = texts
        .into_iter()
        .map(|text| tally(None, text, text, 1))
        .chain(named)
        .collect();
    assert_eq!(
        counted(&*store, &of_other),
        odd,
        "none is another collection than an empty name"
    );
    assert_eq!(counts(&*store), expected, "spaces are apart");
}

pub(super) fn counts_follow_every_change_of_a_memory(make: MakeStore<'_>) {
    let store = make();
    let first = filed_in(Some("a"), "x", private("ann", memory("1")));
    let second = filed_in(
        Some("a"),
        "x",
        Memory {
            owner: Some("bob".to_owned()),
            ..memory("2")
        },
    );
    add(&*store, &first);
    assert_eq!(counts(&*store), [tally(Some("a"), "x", "fact", 1)]);
    add(&*store, &second);
    let both = [tally(Some("a"), "x", "fact", 2)];
    assert_eq!(counts(&*store), both);
    let mut revision = 1;
    let mut becomes = |memory: Memory, expected: &[LocationCount]| {
        revision += 1;
        commit(
            &*store,
            replace(
                &Memory {
                    revision,
                    ..memory.clone()
                },
                None,
            ),
        );
        assert_eq!(counts(&*store), expected, "{memory:?}");
    };
    let other = || tally(Some("a"), "x", "fact", 1);
    let moved = filed_in(None, "y", first.clone());
    becomes(moved.clone(), &[tally(None, "y", "fact", 1), other()]);
    becomes(
        Memory {
            kind: "rule".to_owned(),
            ..moved
        },
        &[tally(None, "y", "rule", 1), other()],
    );
    becomes(first.clone(), &both);
    for visibility in [Visibility::Shared, Visibility::Common, Visibility::Private] {
        for owner in [Some("bob"), None, Some("ann")] {
            for origin in ["engram", "mememory", ""] {
                let (owner, origin) = (owner.map(str::to_owned), origin.to_owned());
                becomes(
                    Memory {
                        visibility,
                        owner,
                        origin,
                        ..first.clone()
                    },
                    &both,
                );
            }
        }
    }
    for tier in [Tier::Unlisted, Tier::ShortTerm, Tier::LongTerm] {
        let expiring = Memory {
            tier,
            expires_at: Some(NOW.plus_seconds(3)),
            ..first.clone()
        };
        becomes(
            Memory {
                tier,
                ..first.clone()
            },
            &both,
        );
        becomes(
            forgotten(Memory {
                tier,
                ..first.clone()
            }),
            &both,
        );
        becomes(forgotten(expiring.clone()), &both);
        becomes(expiring.clone(), &both);
        becomes(
            Memory {
                expires_at: Some(NOW),
                ..expiring.clone()
            },
            &[other()],
        );
        becomes(
            Memory {
                expires_at: Some(NOW.plus_seconds(9)),
                ..expiring
            },
            &both,
        );
    }
    becomes(forgotten(first.clone()), &both);
    let hiding = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    assert_eq!(counted(&*store, &hiding), [other()]);
    becomes(first.clone(), &both);
    commit(&*store, delete(&Memory { revision, ..first }));
    assert_eq!(counts(&*store), [other()]);
    commit(&*store, delete(&second));
    assert_eq!(counts(&*store), []);
}

/// Adds memories of three owners, tool sets and tiers; some expire and some are forgotten.
fn add_many(store: &dyn StoreAndTokens) {
    for number in 0..54 {
        let at = |values: [&'static str; 3], step: usize| values[number / step % 3];
        let collection = Some(at(["a", "b", ""], 1)).filter(|name| !name.is_empty());
        let plain = Memory {
            tier: Tier::ALL[number / 3 % 3],
            owner: Some(at(["ann", "bob", ""], 2))
                .filter(|owner| !owner.is_empty())
                .map(str::to_owned),
            visibility: [Visibility::Private, Visibility::Shared, Visibility::Common]
                [number / 9 % 3],
            origin: at(["engram", "mememory", ""], 4).to_owned(),
            kind: at(["fact", "rule", "diary"], 5).to_owned(),
            expires_at: (number % 5 == 0).then(|| NOW.plus_seconds(number as i64 % 4 + 1)),
            forgotten_at: (number % 7 == 0).then_some(NOW),
            ..memory(&number.to_string())
        };
        add(store, &filed_in(collection, at(["x", "y", "z"], 6), plain));
    }
}

pub(super) fn counts_follow_what_removes_many_memories(make: MakeStore<'_>) {
    let store = make();
    add_many(&*store);
    let all = || {
        counts(&*store)
            .iter()
            .map(|tally| tally.memories)
            .sum::<u64>()
    };
    assert_eq!(all(), 54);
    let narrow = Filter {
        sections: words(&["x"]),
        ..filter()
    };
    assert_eq!(store.soft_delete(&narrow, None, NOW, 7), Ok(7));
    assert_eq!(all(), 47);
    assert_eq!(
        sweep_all(
            &*store,
            &Sweep {
                deleted_until: NOW,
                ..sweep_of_expired(Timestamp::MIN)
            }
        ),
        7
    );
    assert_eq!(all(), 47);
    let expired = sweep_all(&*store, &sweep_of_expired(NOW.plus_seconds(2)));
    assert!((1..11).contains(&expired));
    let mut left = 47 - expired as u64;
    assert_eq!(all(), left);
    assert_eq!(
        store.soft_delete(&filter(), None, NOW.plus_seconds(1), 3),
        Ok(3)
    );
    left -= 3;
    for (owner, origin) in [
        ("ann", Some("engram")),
        ("bob", Some("unknown")),
        ("ann", None),
        ("bob", None),
    ] {
        let before = left;
        let wiped = store
            .wipe(&memory("a").space, owner, origin, None, NOW)
            .expect("the data is wiped");
        left = all();
        assert!(
            left <= before && before - left <= wiped.memories,
            "{owner} {origin:?}"
        );
    }
    assert!(0 < left && left < 44, "{left} are left");
    let anns = Filter {
        reader: reader(Some("ann")),
        ..filter()
    };
    let commons = counted(&*store, &anns)
        .iter()
        .map(|tally| tally.memories)
        .sum::<u64>();
    assert!(commons > 0, "what lost its owner is still counted");
}

pub(super) fn counts_change_with_their_batch_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let (one, two) = (
        filed_in(Some("a"), "x", memory("1")),
        filed_in(Some("a"), "y", memory("2")),
    );
    add(&*store, &one);
    let before = [tally(Some("a"), "x", "fact", 1)];
    let moved = Memory {
        revision: 2,
        ..filed_in(Some("b"), "x", one.clone())
    };
    let again = Memory {
        kind: "rule".to_owned(),
        ..filed_in(None, "z", one)
    };
    let parts = [
        put(&two, Vec::new()),
        replace(&moved, None),
        delete(&moved),
        put(&again, Vec::new()),
        delete(&two),
    ];
    let batch = Batch {
        space: two.space.clone(),
        changes: parts.into_iter().flat_map(|part| part.changes).collect(),
    };
    let mut too_much = batch.clone();
    too_much.changes.extend(delete(&memory("unknown")).changes);
    refused(&*store, too_much);
    assert_eq!(counts(&*store), before);
    let since = version_now(&*store);
    store
        .wipe(&two.space, "ann", None, None, NOW)
        .expect("the data is wiped");
    let mut too_late = batch.clone();
    too_late
        .changes
        .extend(not_wiped("ann", "engram", since).changes);
    refused(&*store, too_late);
    assert_eq!(counts(&*store), before);
    store
        .commit_rebuildable(batch)
        .expect("the commit succeeds");
    assert_eq!(counts(&*store), [tally(None, "z", "rule", 1)]);
}

pub(super) fn what_expires_is_counted_until_then(make: MakeStore<'_>) {
    let store = make();
    let expires = |seconds, memory: Memory| Memory {
        expires_at: Some(NOW.plus_seconds(seconds)),
        ..memory
    };
    for written in [
        memory("for good"),
        expires(1, memory("soon")),
        expires(
            2,
            Memory {
                tier: Tier::Unlisted,
                ..memory("apart, later")
            },
        ),
        expires(2, message("ann", 0)),
        expires(-1, memory("expired")),
    ] {
        add(&*store, &written);
    }
    for (seconds, tiers, memories) in [
        (-9, &[][..], 5),
        (0, &[], 4),
        (1, &[], 3),
        (2, &[], 1),
        (1, &[Tier::LongTerm], 1),
        (0, &[Tier::LongTerm, Tier::LongTerm], 2),
        (1, &[Tier::ShortTerm], 1),
        (1, &[Tier::Unlisted, Tier::LongTerm], 2),
        (9, &[Tier::Unlisted], 0),
    ] {
        let filter = Filter {
            live_at: NOW.plus_seconds(seconds),
            tiers: tiers.to_vec(),
            ..filter()
        };
        let counted: u64 = counted(&*store, &filter)
            .iter()
            .map(|tally| tally.memories)
            .sum();
        assert_eq!(counted, memories, "{seconds} {tiers:?}");
    }
}

pub(super) fn what_is_apart_is_counted_for_its_tool_set(make: MakeStore<'_>) {
    let store = make();
    for origin in ["engram", "mempalace"] {
        for tier in Tier::ALL {
            let kind = format!("{} of {origin}", tier.name());
            add(
                &*store,
                &Memory {
                    tier,
                    origin: origin.to_owned(),
                    kind: kind.clone(),
                    ..memory(&kind)
                },
            );
        }
    }
    let kinds = |tiers: &[Tier], unlisted_origin: Option<&str>| {
        let filter = Filter {
            tiers: tiers.to_vec(),
            unlisted_origin: unlisted_origin.map(str::to_owned),
            ..filter()
        };
        counted(&*store, &filter)
            .into_iter()
            .map(|tally| tally.kind)
            .collect::<Vec<_>>()
    };
    let durable = [Tier::LongTerm, Tier::Unlisted];
    let of_all = ["long_term of engram", "long_term of mempalace"];
    assert_eq!(
        kinds(&durable, Some("engram")),
        [&["apart of engram"], &of_all[..]].concat()
    );
    assert_eq!(kinds(&durable, Some("unknown")), of_all);
    assert_eq!(
        kinds(&[Tier::Unlisted], Some("mempalace")),
        ["apart of mempalace"]
    );
    assert_eq!(kinds(&[Tier::LongTerm], Some("mempalace")), of_all);
    assert_eq!(kinds(&durable, None).len(), 4);
    assert_eq!(kinds(&[], Some("engram")).len(), 5);
}

pub(super) fn concurrent_writers_are_all_counted(make: MakeStore<'_>) {
    const WRITERS: usize = 4;
    const MEMORIES: usize = 20;
    let store = make();
    let shared: &dyn StoreAndTokens = &*store;
    let write = |writer: usize| {
        for number in 0..MEMORIES {
            let own = filed_in(Some("a"), "x", memory(&format!("{writer}-{number}")));
            add(shared, &own);
            let moved = Memory {
                revision: 2,
                ..filed_in(Some("b"), ["x", "y"][number % 2], own)
            };
            commit(shared, replace(&moved, None));
            if number % 5 == 0 {
                commit(shared, delete(&moved));
            }
        }
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || write(writer));
        }
    });
    let each = (WRITERS * MEMORIES * 2 / 5) as u64;
    assert_eq!(
        counts(&*store),
        [
            tally(Some("b"), "x", "fact", each),
            tally(Some("b"), "y", "fact", each)
        ]
    );
}

pub(super) fn a_reload_changes_no_answer(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(store.reload(), Ok(()));
    add_many(&*store);
    let everything = || {
        let ids = admitted(&*store, &filter());
        (
            ids,
            counts(&*store),
            store.list(
                &filter(),
                Page {
                    offset: 0,
                    limit: 99,
                },
            ),
            version_now(&*store),
        )
    };
    let before = everything();
    for _ in 0..2 {
        assert_eq!(store.reload(), Ok(()));
        assert_eq!(everything(), before);
    }
    commit(&*store, delete(&memory("1")));
    assert_eq!(store.get(&memory("1").space, &id("1")), Ok(None));
    assert_eq!(everything().0.len(), before.0.len() - 1);
}
