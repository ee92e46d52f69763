//! The contract of filters by owner, tool set and tier, and of readers that may not read all shared
//! memories or own only the memories of one tool set.

use loci_core::{
    Batch, CandidateQuery, Candidates, CollectionFilter, FilingOrder, Filter, Forgotten, Location,
    Memory, MemoryId, ModelId, OwnerFilter, Passage, QueryVector, Reader, Space, Superseded, Tier,
    Visibility,
};

use super::examples::{
    NOW, filter, forgotten, memory, passage, private, put, space, tally, with_vector, words,
};
use super::partitions::without_vector;
use super::reading::{ALL, add, admitted, findable, id};
use super::searching::{ask, ids, near};
use super::writing::commit;
use super::{MakeStore, StoreAndTokens};

const VISIBILITIES: [Visibility; 3] = [Visibility::Private, Visibility::Shared, Visibility::Common];

/// Creates a batch that adds these memories with their passages to a space.
fn put_all<'a>(
    space: &Space,
    memories: impl IntoIterator<Item = (&'a Memory, Vec<Passage>)>,
) -> Batch {
    let put = |(memory, passages): (&Memory, Vec<Passage>)| {
        put(
            &Memory {
                space: space.clone(),
                ..memory.clone()
            },
            passages,
        )
        .changes
    };
    Batch {
        space: space.clone(),
        changes: memories.into_iter().flat_map(put).collect(),
    }
}

fn owned(owner: Option<&str>, visibility: Visibility, memory: Memory) -> Memory {
    Memory {
        owner: owner.map(str::to_owned),
        visibility,
        ..memory
    }
}

fn from(origin: &str, memory: Memory) -> Memory {
    Memory {
        origin: origin.to_owned(),
        ..memory
    }
}

/// Returns a memory of each origin, owner, visibility and tier, in the order of ids; shared ones
/// are in the collection `a`.
fn mixture() -> Vec<Memory> {
    let mut memories = Vec::new();
    for origin in ["engram", "mememory"] {
        for owner in [None, Some("ann"), Some("bob")] {
            for visibility in VISIBILITIES {
                for tier in Tier::ALL {
                    let id = format!("{origin} {owner:?} {} {}", visibility.name(), tier.name());
                    let collection = (visibility == Visibility::Shared).then(|| "a".to_owned());
                    let place = Location {
                        collection,
                        section: "fact".to_owned(),
                    };
                    memories.push(from(
                        origin,
                        owned(
                            owner,
                            visibility,
                            Memory {
                                tier,
                                location: place,
                                ..memory(&id)
                            },
                        ),
                    ));
                }
            }
        }
    }
    memories.sort_by(|left, right| left.id.cmp(&right.id));
    memories
}

/// Returns true for the memories that a filter admits.
type Rule = fn(&Memory) -> bool;

/// Checks that lists, counts, reads by id, searches and soft deletions apply each filter, which
/// admits the memories of the mixture for which its rule is true.
fn check(make: MakeStore<'_>, rows: &[(Filter, Rule)]) {
    let (store, mixture) = (make(), mixture());
    for (number, (filter, rule)) in rows.iter().enumerate() {
        let space = space(&format!("row {number}"));
        commit(
            &*store,
            put_all(
                &space,
                mixture.iter().map(|memory| (memory, vec![findable()])),
            ),
        );
        let id = |memory: &Memory| memory.id.to_string();
        let expected: Vec<_> = mixture
            .iter()
            .filter(|memory| rule(memory))
            .map(id)
            .collect();
        let rest: Vec<_> = mixture
            .iter()
            .filter(|memory| !rule(memory))
            .map(id)
            .collect();
        let filter = Filter {
            space: space.clone(),
            ..filter.clone()
        };
        assert_eq!(admitted(&*store, &filter), expected, "{filter:?}");
        assert_eq!(
            store.soft_delete(&filter, None, NOW, 1_000),
            Ok(expected.len()),
            "{filter:?}"
        );
        let everything = Filter::of(space, Reader::everything(), NOW);
        assert_eq!(admitted(&*store, &everything), rest, "{filter:?}");
    }
}

fn is_of(memory: &Memory, owner: &str) -> bool {
    memory.owner.as_deref() == Some(owner)
}

pub(super) fn a_filter_knows_owners_origins_and_tiers(make: MakeStore<'_>) {
    let only = |owner: &str| Filter {
        owner: OwnerFilter::Only(owner.to_owned()),
        ..filter()
    };
    let nobody = Filter {
        owner: OwnerFilter::Nobody,
        ..filter()
    };
    let origin = |origin: &str, filter: Filter| Filter {
        origin: Some(origin.to_owned()),
        ..filter
    };
    let tiers = |tiers: &[Tier], filter: Filter| Filter {
        tiers: tiers.to_vec(),
        ..filter
    };
    let in_a = |filter| Filter {
        collections: CollectionFilter::Only("a".to_owned()),
        ..filter
    };
    check(
        make,
        &[
            (filter(), |_| true),
            (only("ann"), |memory| is_of(memory, "ann")),
            (only("carl"), |_| false),
            (only(""), |_| false),
            (nobody.clone(), |memory| memory.owner.is_none()),
            (origin("engram", filter()), |memory| {
                memory.origin == "engram"
            }),
            (origin("ENGRAM", filter()), |_| false),
            (origin("", filter()), |_| false),
            (tiers(&[Tier::LongTerm], filter()), |memory| {
                memory.tier == Tier::LongTerm
            }),
            (tiers(&[Tier::ShortTerm], filter()), |memory| {
                memory.tier == Tier::ShortTerm
            }),
            (tiers(&[Tier::Unlisted], filter()), |memory| {
                memory.tier == Tier::Unlisted
            }),
            (tiers(&Tier::OF_CONVERSATIONS, filter()), |memory| {
                memory.tier != Tier::Unlisted
            }),
            (
                tiers(&[Tier::Unlisted, Tier::LongTerm, Tier::Unlisted], filter()),
                |memory| memory.tier != Tier::ShortTerm,
            ),
            (tiers(&Tier::ALL, filter()), |_| true),
            (
                origin(
                    "engram",
                    in_a(tiers(&[Tier::LongTerm, Tier::Unlisted], only("bob"))),
                ),
                |memory| {
                    let is_in_a = memory.visibility == Visibility::Shared;
                    is_in_a
                        && memory.origin == "engram"
                        && memory.tier != Tier::ShortTerm
                        && is_of(memory, "bob")
                },
            ),
            (
                origin("mememory", tiers(&[Tier::ShortTerm], nobody)),
                |memory| {
                    memory.origin == "mememory"
                        && memory.tier == Tier::ShortTerm
                        && memory.owner.is_none()
                },
            ),
        ],
    );
}

/// Creates a reader that sees shared memories if `shared`, and owns only memories of `own_origin`.
fn strict(subject: Option<&str>, shared: bool, own_origin: Option<&str>) -> Reader {
    Reader {
        shared,
        own_origin: own_origin.map(str::to_owned),
        ..Reader::of(subject)
    }
}

pub(super) fn a_reader_keeps_to_what_is_shared_and_owned(make: MakeStore<'_>) {
    let by = |reader| Filter { reader, ..filter() };
    let ann = Some("ann");
    let among_bobs = Filter {
        owner: OwnerFilter::of(Some("bob")),
        ..by(strict(ann, false, None))
    };
    let among_anns = Filter {
        owner: OwnerFilter::of(ann),
        ..by(strict(ann, false, Some("engram")))
    };
    let all_the_same = Reader {
        everything: true,
        ..strict(None, false, Some("engram"))
    };
    check(
        make,
        &[
            (by(Reader::of(ann)), |memory| {
                memory.visibility != Visibility::Private
                    || memory.owner.is_none()
                    || is_of(memory, "ann")
            }),
            (by(Reader::of(None)), |memory| {
                memory.visibility != Visibility::Private || memory.owner.is_none()
            }),
            (by(strict(ann, false, None)), |memory| {
                memory.visibility == Visibility::Common
                    || memory.owner.is_none()
                    || is_of(memory, "ann")
            }),
            (by(strict(None, false, None)), |memory| {
                memory.visibility == Visibility::Common || memory.owner.is_none()
            }),
            (by(strict(ann, true, Some("engram"))), |memory| {
                let is_own = is_of(memory, "ann") && memory.origin == "engram";
                memory.visibility != Visibility::Private || memory.owner.is_none() || is_own
            }),
            (by(strict(ann, false, Some("engram"))), |memory| {
                let is_own = is_of(memory, "ann") && memory.origin == "engram";
                memory.visibility == Visibility::Common || memory.owner.is_none() || is_own
            }),
            (by(strict(ann, false, Some("unknown"))), |memory| {
                memory.visibility == Visibility::Common || memory.owner.is_none()
            }),
            (by(strict(None, false, Some("engram"))), |memory| {
                memory.visibility == Visibility::Common || memory.owner.is_none()
            }),
            (by(all_the_same), |_| true),
            (among_bobs, |memory| {
                memory.visibility == Visibility::Common && is_of(memory, "bob")
            }),
            (among_anns, |memory| {
                is_of(memory, "ann")
                    && (memory.visibility == Visibility::Common || memory.origin == "engram")
            }),
        ],
    );
}

pub(super) fn a_successor_hides_for_those_alone_who_may_read_it(make: MakeStore<'_>) {
    let store = make();
    let readers = [
        Reader::everything(),
        Reader::of(None),
        Reader::of(Some("ann")),
        Reader::of(Some("bob")),
        strict(None, false, None),
        strict(Some("ann"), false, None),
        strict(Some("bob"), false, None),
        strict(Some("ann"), true, Some("engram")),
        strict(Some("ann"), true, Some("mememory")),
        strict(Some("ann"), false, Some("engram")),
        strict(Some("ann"), false, Some("mememory")),
    ];
    // One digit for each reader, in their order: 1 if the successor counts.
    for (owner, visibility, counts) in [
        (Some("ann"), Visibility::Private, "10100101010"),
        (Some("ann"), Visibility::Shared, "11110101110"),
        (Some("ann"), Visibility::Common, "11111111111"),
        (None, Visibility::Private, "11111111111"),
        (Some("bob"), Visibility::Private, "10010010000"),
        (Some("bob"), Visibility::Shared, "11110011100"),
    ] {
        let space = space(&format!("{owner:?} {}", visibility.name()));
        let old = Memory {
            space: space.clone(),
            ..memory("old")
        };
        let new = Memory {
            supersedes: Some(id("old")),
            space: space.clone(),
            ..memory("new")
        };
        add(&*store, &old);
        add(&*store, &from("engram", owned(owner, visibility, new)));
        for (reader, counts) in readers.iter().zip(counts.chars()) {
            let expected = if counts == '1' {
                vec!["new"]
            } else {
                vec!["old"]
            };
            let showing = Filter::of(space.clone(), reader.clone(), NOW);
            let hiding = Filter {
                superseded: Superseded::Hide,
                ..showing.clone()
            };
            assert_eq!(admitted(&*store, &hiding), expected, "{reader:?} {space}");
            let successor = (counts == '1').then(|| id("new"));
            let listed = store.list(&showing, ALL).expect("the store can be read");
            let read = store
                .get_all(&showing, &[id("old")])
                .expect("the store can be read");
            let old = listed
                .into_iter()
                .filter(|memory| memory.id == old.id)
                .chain(read);
            let named: Vec<_> = old.map(|memory| memory.superseded_by).collect();
            assert_eq!(named, [successor.clone(), successor], "{reader:?} {space}");
        }
    }
}

/// The number of better memories than each readable one, for each reason why they are not readable.
const BETTER: usize = 150;
const READABLE: usize = 5;

/// Returns the best candidates by words and by meaning; `cat` is the word.
fn best(store: &dyn StoreAndTokens, filter: &Filter, limit: usize) -> [Candidates; 2] {
    let (terms, values) = (words(&["cat"]), vec![1.0, 0.0]);
    let vector = QueryVector {
        model: ModelId::new("test"),
        values,
    };
    let query = CandidateQuery::of(filter, limit);
    let by_words = CandidateQuery {
        terms: &terms,
        ..query.clone()
    };
    [
        ask(store, &by_words),
        ask(
            store,
            &CandidateQuery {
                vector: Some(&vector),
                ..query
            },
        ),
    ]
}

/// Checks that the best candidates are the best that the filter admits, and that the others do not
/// affect their scores. `admitted` and `left_out` are templates for memories that the filter admits
/// or excludes.
fn check_best(
    store: &dyn StoreAndTokens,
    name: &str,
    filter: Filter,
    admitted: &Memory,
    left_out: &[Memory],
) {
    let named = |name: &str, like: &Memory| Memory {
        id: MemoryId::new(name),
        ..like.clone()
    };
    let kinds = left_out.iter().enumerate();
    let better: Vec<_> = kinds
        .flat_map(|(kind, like)| {
            (0..BETTER).map(move |number| named(&format!("better {kind} {number}"), like))
        })
        .collect();
    let worse: Vec<_> = (0..READABLE)
        .map(|number| named(&format!("admitted {number}"), admitted))
        .collect();
    let of_worse = || {
        let passages = (1..).map(|number| {
            let words = format!("cat{}", " tree".repeat(number));
            vec![with_vector(passage(&words), &[100 - 10 * number as i8, 0])]
        });
        worse.iter().zip(passages)
    };
    let of_better = better
        .iter()
        .map(|memory| (memory, vec![with_vector(passage("cat cat"), &[127, 0])]));
    let (all, alone) = (space(name), space(&format!("{name}, alone")));
    commit(store, put_all(&all, of_better.chain(of_worse())));
    commit(store, put_all(&alone, of_worse()));
    for limit in [1, 3, READABLE + 1] {
        let expected: Vec<_> = worse
            .iter()
            .take(limit)
            .map(|memory| memory.id.to_string())
            .collect();
        let found = best(
            store,
            &Filter {
                space: all.clone(),
                ..filter.clone()
            },
            limit,
        );
        let found_alone = best(
            store,
            &Filter {
                space: alone.clone(),
                ..filter.clone()
            },
            limit,
        );
        for (found, alone) in found.iter().zip(&found_alone) {
            assert_eq!(ids(found), expected, "{name}, the best {limit}");
            assert_eq!(
                (ids(alone), found.passages),
                (expected.clone(), READABLE),
                "{name}"
            );
            assert_eq!(found.passages_without_vector, 0);
            near(found.bm25_bound, alone.bm25_bound);
            for (hit, alone) in found.hits.iter().zip(&alone.hits) {
                near(hit.bm25, alone.bm25);
                assert_eq!(hit.cosine, alone.cosine);
            }
        }
    }
}

pub(super) fn the_best_admitted_ones_are_found_among_many_better(make: MakeStore<'_>) {
    let store = make();
    let (of_ann, of_bob) = (private("ann", memory("any")), private("bob", memory("any")));
    let by = |reader| Filter { reader, ..filter() };
    let shared = |memory: &Memory| Memory {
        visibility: Visibility::Shared,
        ..memory.clone()
    };
    let common = |memory: &Memory| Memory {
        visibility: Visibility::Common,
        ..memory.clone()
    };
    let tier = |tier| Memory {
        tier,
        ..of_bob.clone()
    };
    let engrams = from("engram", of_bob.clone());
    let others = from("mememory", of_bob.clone());
    let of = |owner| Filter { owner, ..filter() };
    for (name, filter, admitted, left_out) in [
        (
            "own",
            by(Reader::of(Some("bob"))),
            &of_bob,
            vec![of_ann.clone()],
        ),
        (
            "not shared",
            by(strict(Some("bob"), false, None)),
            &of_bob,
            vec![shared(&of_ann), of_ann.clone()],
        ),
        (
            "anonymous",
            by(strict(None, false, None)),
            &memory("any"),
            vec![shared(&of_ann), of_ann.clone()],
        ),
        (
            "of a tool set",
            by(strict(Some("bob"), false, Some("engram"))),
            &engrams,
            vec![others.clone(), of_ann.clone()],
        ),
        (
            "of an owner",
            of(OwnerFilter::of(Some("bob"))),
            &of_bob,
            vec![common(&of_ann), memory("any")],
        ),
        (
            "of nobody",
            of(OwnerFilter::Nobody),
            &memory("any"),
            vec![common(&of_ann), of_bob.clone()],
        ),
        (
            "origin",
            Filter {
                origin: Some("engram".to_owned()),
                ..filter()
            },
            &engrams,
            vec![others],
        ),
        (
            "not forgotten",
            Filter {
                forgotten: Forgotten::Hide,
                ..filter()
            },
            &memory("any"),
            vec![forgotten(memory("any")), forgotten(of_ann)],
        ),
        (
            "apart",
            Filter {
                tiers: vec![Tier::Unlisted],
                ..filter()
            },
            &tier(Tier::Unlisted),
            vec![tier(Tier::LongTerm), tier(Tier::ShortTerm)],
        ),
    ] {
        check_best(&*store, name, filter, admitted, &left_out);
    }
}

pub(super) fn what_is_apart_comes_to_those_alone_who_ask(make: MakeStore<'_>) {
    let store = make();
    let apart = Memory {
        tier: Tier::Unlisted,
        location: Location {
            collection: Some("a".to_owned()),
            section: "map".to_owned(),
        },
        ..private("ann", memory("apart"))
    };
    let message = Memory {
        tier: Tier::ShortTerm,
        ..private("ann", memory("message"))
    };
    for memory in [&apart, &message, &private("ann", memory("fact"))] {
        add(&*store, memory);
    }
    let of = |tiers: &[Tier]| Filter {
        tiers: tiers.to_vec(),
        ..filter()
    };
    let facts = |memories| tally(None, "fact", "fact", memories);
    let of_apart = || tally(Some("a"), "map", "fact", 1);
    for (tiers, ids, tallies) in [
        (&[Tier::LongTerm][..], &["fact"][..], vec![facts(1)]),
        (
            &Tier::OF_CONVERSATIONS,
            &["fact", "message"],
            vec![facts(2)],
        ),
        (&[Tier::Unlisted], &["apart"], vec![of_apart()]),
        (
            &[Tier::LongTerm, Tier::Unlisted],
            &["apart", "fact"],
            vec![facts(1), of_apart()],
        ),
        (
            &[],
            &["apart", "fact", "message"],
            vec![facts(2), of_apart()],
        ),
    ] {
        assert_eq!(admitted(&*store, &of(tiers)), ids, "{tiers:?}");
        assert_eq!(
            store.count_by_location(&of(tiers)),
            Ok(tallies),
            "{tiers:?}"
        );
    }
    assert_eq!(store.get(&apart.space, &apart.id), Ok(Some(apart)));
    let waiting = without_vector(&*store, &ModelId::new("test"), FilingOrder::FirstFirst, 10)
        .expect("the store can be read");
    assert!(
        waiting.iter().any(|(_, id)| id.as_str() == "apart"),
        "it is embedded like any other"
    );
}

pub(super) fn what_is_apart_may_be_asked_of_one_tool_set(make: MakeStore<'_>) {
    let store = make();
    for name in ["engram", "mempalace", ""] {
        let apart = Memory {
            tier: Tier::Unlisted,
            ..memory(&format!("apart {name}"))
        };
        let message = Memory {
            tier: Tier::ShortTerm,
            ..memory(&format!("message {name}"))
        };
        for written in [apart, message, memory(&format!("fact {name}"))] {
            add(&*store, &from(name, written));
        }
    }
    let rest = [
        "fact ",
        "fact engram",
        "fact mempalace",
        "message ",
        "message engram",
        "message mempalace",
    ];
    let check = |tiers: &[Tier], unlisted_origin: &str, expected: &[&str]| {
        let filter = Filter {
            tiers: tiers.to_vec(),
            unlisted_origin: Some(unlisted_origin.to_owned()),
            ..filter()
        };
        assert_eq!(
            admitted(&*store, &filter),
            expected,
            "{tiers:?} {unlisted_origin}"
        );
    };
    check(&[], "engram", &[&["apart engram"], &rest[..]].concat());
    check(&[], "", &[&["apart "], &rest[..]].concat());
    check(&[], "ENGRAM", &rest);
    check(&[Tier::Unlisted], "mempalace", &["apart mempalace"]);
    check(&[Tier::Unlisted], "unknown", &[]);
    check(
        &[Tier::LongTerm, Tier::Unlisted],
        "mempalace",
        &[&["apart mempalace"], &rest[..3]].concat(),
    );
    check(&[Tier::LongTerm], "mempalace", &rest[..3]);
    check(&Tier::OF_CONVERSATIONS, "unknown", &rest);
    let of_one = Filter {
        origin: Some("engram".to_owned()),
        ..filter()
    };
    assert_eq!(admitted(&*store, &of_one).len(), 3);
    let of_another = Filter {
        unlisted_origin: Some("mempalace".to_owned()),
        ..of_one
    };
    assert_eq!(
        admitted(&*store, &of_another),
        ["fact engram", "message engram"],
        "both conditions hold together"
    );
}
