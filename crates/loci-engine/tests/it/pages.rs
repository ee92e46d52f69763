//! Tests of search results page by page.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Batch, Change, Clock, Expect, Store};
use loci_engine::{HitPage, PageRequest};
use loci_testkit::Random;

use super::*;

const QUERY: &str = "red kettle";

fn request(limit: usize, cursor: Option<&str>) -> PageRequest<'_> {
    PageRequest {
        query: QUERY,
        with_forgotten: false,
        limit,
        cursor,
        budget_tokens: None,
        as_of: None,
    }
}

fn ids(page: &HitPage) -> Vec<MemoryId> {
    page.hits.iter().map(|hit| hit.memory.id.clone()).collect()
}

/// Returns all pages of a search, each with that many results.
fn pages(engine: &Engine, caller: &Caller, first: PageRequest<'_>) -> Vec<HitPage> {
    let mut pages = vec![engine.system(caller).search().page(&first).unwrap()];
    while let Some(cursor) = pages.last().unwrap().next_cursor.clone() {
        pages.push(
            engine
                .system(caller)
                .search()
                .page(&PageRequest {
                    cursor: Some(&cursor),
                    ..first
                })
                .unwrap(),
        );
    }
    pages
}

/// Changes a memory without the engine.
fn change(store: &NaiveStore, id: &MemoryId, change: impl FnOnce(&mut Memory)) {
    let mut memory = store.get(&Space::default(), id).unwrap().unwrap();
    let expect = Expect::Revision(memory.revision);
    change(&mut memory);
    memory.revision += 1;
    let change = Change::Put {
        memory: Box::new(memory),
        passages: None,
        expect,
    };
    store
        .commit(Batch::new(Space::default(), vec![change]))
        .unwrap();
}

/// Sets the time at which a memory was forgotten.
fn set_forgotten(store: &NaiveStore, id: &MemoryId, forgotten_at: Option<Timestamp>) {
    change(store, id, |memory| memory.forgotten_at = forgotten_at);
}

/// Returns a few words from a small set, so that many texts share words and some are equal.
fn text(random: &mut Random) -> String {
    let words = [
        "red",
        "kettle",
        "blue",
        "pan",
        "stove",
        "cup",
        "tea",
        "water",
        "steel",
        "fire",
        "red kettle",
    ];
    let count = 2 + random.below(6);
    (0..count)
        .map(|_| random.pick(&words))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Reports whether a search must find the text in this mode; false if that depends on the others.
fn is_found(mode: SearchMode, query: &str, text: &str) -> bool {
    if query.contains('"') {
        return text.contains(QUERY);
    }
    mode != SearchMode::Words
        || text
            .split(' ')
            .any(|word| ["red", "kettle"].contains(&word))
}

/// Every text that stays unchanged from the first page to the last is returned once, whatever
/// happens to others.
#[test]
fn nothing_is_repeated_and_nothing_is_left_out() {
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let mode = random.pick(&[SearchMode::Hybrid, SearchMode::Words, SearchMode::Vector]);
        let query = random.pick(&[QUERY, QUERY, "who has the \"red kettle\"?"]);
        let with_forgotten = random.chance(50);
        let Bench {
            engine,
            store,
            clock,
        } = bench_with(Arc::new(HashingEmbedder::new(64)), mode);
        let local = Caller::local();
        let remember = |text: &str| {
            engine
                .system(&local)
                .memories()
                .remember(fact(text, Visibility::Common))
                .unwrap()
                .memory
                .id
        };
        // One page requests more than the minimum number of candidates.
        let mut texts: BTreeMap<MemoryId, String> = BTreeMap::new();
        for _ in 0..random.below(160) {
            let text = text(random);
            texts.insert(remember(&text), text);
        }
        let is_forgotten: BTreeSet<MemoryId> = texts
            .keys()
            .filter(|_| random.chance(20))
            .cloned()
            .collect();
        for id in &is_forgotten {
            set_forgotten(&store, id, Some(clock.now()));
        }
        let mut expected: BTreeSet<MemoryId> = texts
            .iter()
            .filter(|(id, text)| {
                is_found(mode, query, text) && (with_forgotten || !is_forgotten.contains(*id))
            })
            .map(|(id, _)| id.clone())
            .collect();
        let (mut returned, mut shown, mut cursor) = (Vec::new(), Vec::new(), None);
        loop {
            let limit = 1 + random.below(30);
            let request = PageRequest {
                query,
                with_forgotten,
                limit,
                cursor: cursor.as_deref(),
                budget_tokens: None,
                as_of: None,
            };
            let page = engine.system(&local).search().page(&request).unwrap();
            let places: Vec<_> = page
                .hits
                .iter()
                .map(|hit| (-hit.score, &hit.memory.id))
                .collect();
            assert!(places.is_sorted(), "seed {seed}: {places:?}");
            assert!(
                page.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)),
                "seed {seed}"
            );
            assert!(
                page.hits.len() <= limit && !(page.hits.is_empty() && cursor.is_some()),
                "seed {seed}"
            );
            returned.extend(
                page.hits
                    .iter()
                    .flat_map(|hit| std::iter::once(&hit.memory.id).chain(&hit.repeats))
                    .cloned(),
            );
            shown.extend(page.hits.into_iter().map(|hit| hit.memory));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
            for _ in 0..random.below(5) {
                let chosen = texts.keys().nth(random.below(texts.len())).cloned();
                let Some(chosen) = chosen.filter(|_| random.chance(60)) else {
                    remember(&text(random));
                    continue;
                };
                // Its former text does not count any more.
                expected.remove(&chosen);
                match random.below(3) {
                    0 => {
                        texts.remove(&chosen);
                        engine.system(&local).memories().forget(&chosen).ok();
                    }
                    1 => {
                        engine
                            .system(&local)
                            .memories()
                            .update(&chosen, &text(random), None)
                            .ok();
                    }
                    _ => set_forgotten(&store, &chosen, random.chance(50).then(|| clock.now())),
                }
            }
            clock.advance(1);
        }
        let distinct: BTreeSet<_> = returned.iter().cloned().collect();
        assert_eq!(
            distinct.len(),
            returned.len(),
            "seed {seed}: one came twice"
        );
        let said = |id: &MemoryId| (&texts[id], is_forgotten.contains(id));
        let mut unchanged: Vec<_> = shown
            .iter()
            .filter(|memory| expected.contains(&memory.id))
            .collect();
        unchanged.retain(|memory| texts.contains_key(&memory.id));
        let distinct_texts: BTreeSet<_> = unchanged.iter().map(|memory| said(&memory.id)).collect();
        assert_eq!(
            distinct_texts.len(),
            unchanged.len(),
            "seed {seed}: a text came twice"
        );
        let is_shown = |id: &MemoryId| {
            shown
                .iter()
                .any(|memory| (&memory.content, memory.forgotten_at.is_some()) == said(id))
        };
        let missing: Vec<_> = expected
            .difference(&distinct)
            .filter(|id| !is_shown(id))
            .map(|id| &texts[id])
            .collect();
        // If no text contains a quotation, similar texts are shown.
        assert!(
            missing.is_empty(),
            "seed {seed}, {mode:?}, {query}: {missing:?}"
        );
    }
}

#[test]
fn pages_of_any_size_are_parts_of_one_order() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let random = &mut Random::new(1);
    let mut texts = BTreeSet::new();
    while texts.len() < 100 {
        let text = text(random);
        engine
            .system(&ann)
            .memories()
            .remember(fact(&text, Visibility::Private))
            .unwrap();
        texts.insert(text);
    }
    let whole = pages(&engine, &ann, request(1_000, None));
    assert_eq!((whole.len(), whole[0].hits.len()), (1, 100));
    for limit in [0, 1, 7, 50, 99, 100] {
        let pages = pages(&engine, &ann, request(limit, None));
        assert_eq!(pages.len(), 100_usize.div_ceil(limit.max(1)), "{limit}");
        let found: Vec<_> = pages
            .iter()
            .flat_map(|page| &page.hits)
            .map(|hit| (&hit.memory.id, hit.score))
            .collect();
        assert!(
            whole[0]
                .hits
                .iter()
                .map(|hit| (&hit.memory.id, hit.score))
                .eq(found),
            "{limit}"
        );
    }
}

/// The sources of the memories do not matter.
#[test]
fn equal_results_are_in_the_order_of_ids() {
    let Bench { engine, store, .. } = bench();
    let remember = |text| {
        engine
            .system(&Caller::local())
            .memories()
            .remember(fact(text, Visibility::Common))
            .unwrap()
            .memory
            .id
    };
    let mut equal = [
        "a red kettle",
        "a kettle, red",
        "red, a kettle",
        "kettle, a red",
    ]
    .map(remember)
    .to_vec();
    equal.sort_unstable();
    change(&store, &equal[2], |memory| memory.source = Some(mint()));
    let pages = pages(&engine, &Caller::local(), request(3, None));
    assert_eq!(pages.iter().flat_map(ids).collect::<Vec<_>>(), equal);
}

#[test]
fn a_search_without_results_has_one_page() {
    let page = engine()
        .system(&Caller::local())
        .search()
        .page(&request(5, None))
        .unwrap();
    assert_eq!(
        page,
        HitPage {
            hits: Vec::new(),
            next_cursor: None,
            degraded: None,
            strength: Some(0.0),
        }
    );
}

#[test]
fn a_cursor_is_of_one_search_and_one_caller() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let ann = caller("ann", &WRITER);
    for number in 0..4 {
        engine
            .system(&ann)
            .memories()
            .remember(fact(&format!("red kettle {number}"), Visibility::Common))
            .unwrap();
    }
    let first = engine
        .system(&ann)
        .search()
        .page(&request(1, None))
        .unwrap();
    let cursor = first.next_cursor.as_deref().unwrap();
    // The same cursor gives the same page, with any size and through another process.
    let second = engine
        .system(&ann)
        .search()
        .page(&request(1, Some(cursor)))
        .unwrap();
    assert_ne!(ids(&second), ids(&first));
    let other = Engine::new(
        store,
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Hybrid,
    );
    assert_eq!(
        other
            .system(&ann)
            .search()
            .page(&request(1, Some(cursor)))
            .unwrap(),
        second
    );
    assert_eq!(
        engine
            .system(&ann)
            .search()
            .page(&request(3, Some(cursor)))
            .unwrap()
            .hits
            .len(),
        3
    );

    let refused = |caller: &Caller, request: PageRequest<'_>| {
        let error = engine.system(caller).search().page(&request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{request:?}");
        assert!(
            error.message.starts_with("`cursor`")
                && error.message.contains("repeat the search without it")
        );
    };
    let elsewhere = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..ann.clone()
    };
    let through_others = Caller {
        origin: "others",
        ..ann.clone()
    };
    for other in [
        caller("bob", &WRITER),
        anonymous(),
        caller("", &WRITER),
        elsewhere,
        through_others,
    ] {
        refused(&other, request(1, Some(cursor)));
    }
    refused(
        &ann,
        PageRequest {
            query: "red kettles",
            ..request(1, Some(cursor))
        },
    );
    refused(
        &ann,
        PageRequest {
            with_forgotten: true,
            ..request(1, Some(cursor))
        },
    );

    let mut forged: Vec<String> = (0..cursor.len())
        .map(|end| cursor[..end].to_owned())
        .collect();
    for (place, letter) in cursor.char_indices() {
        let other = if letter == 'A' { "B" } else { "A" };
        forged.push(format!(
            "{}{other}{}",
            &cursor[..place],
            &cursor[place + 1..]
        ));
    }
    let others = [
        format!("{cursor}="),
        format!("{cursor}AAAA"),
        format!(" {cursor}"),
        "é".to_owned(),
        "A".repeat(1 << 20),
    ];
    for cursor in forged.iter().chain(&others) {
        refused(&ann, request(1, Some(cursor)));
    }
    // Nor does a cursor of another store.
    let bench = bench();
    for number in 0..4 {
        bench
            .engine
            .system(&ann)
            .memories()
            .remember(fact(&format!("red kettle {number}"), Visibility::Common))
            .unwrap();
    }
    let cursor = bench
        .engine
        .system(&ann)
        .search()
        .page(&request(1, None))
        .unwrap()
        .next_cursor
        .unwrap();
    refused(&ann, request(1, Some(&cursor)));
}

#[test]
fn a_page_ends_where_its_budget_does() {
    let engine = engine_with(Arc::new(FailingEmbedder::default()));
    let local = Caller::local();
    let content = "red kettle ".repeat(limits::CONTENT_BYTES_MAX / 11);
    for number in 0..9 {
        engine
            .system(&local)
            .memories()
            .remember(fact(&format!("{content}{number}"), Visibility::Common))
            .unwrap();
    }
    for (budget_tokens, expected) in [
        (None, vec![9]),
        (Some(2_300), vec![7, 2]),
        (Some(1), vec![1; 9]),
    ] {
        let pages = pages(
            &engine,
            &local,
            PageRequest {
                budget_tokens,
                ..request(100, None)
            },
        );
        assert_eq!(
            pages.iter().map(|page| page.hits.len()).collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn a_message_is_no_result_before_or_after_what_was_made_from_it() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    for number in 0..10 {
        let said = message(
            Role::Human,
            &format!("We put the red kettle number {number} on the stove every morning"),
        );
        say(&engine, &ann, "c", vec![said]).unwrap();
    }
    let pages = pages(&engine, &ann, request(3, None));
    let hits: Vec<_> = pages.iter().flat_map(|page| &page.hits).collect();
    assert_eq!(hits.len(), 10);
    assert!(
        hits.iter()
            .all(|hit| hit.memory.tier == Tier::LongTerm && hit.memory.source.is_some())
    );
}

/// A later page shows the same kind of results as the first one: quotations or similar texts.
#[test]
fn the_pages_of_a_quotation_stay_with_what_the_first_one_showed() {
    let near = |engine: &Engine, count: usize| {
        for number in 0..count {
            engine
                .system(&Caller::local())
                .memories()
                .remember(fact(
                    &format!("a kettle that is red {number}"),
                    Visibility::Common,
                ))
                .unwrap();
        }
    };
    let holder = |engine: &Engine, number: usize| {
        let text = format!("the red kettle {number}");
        engine
            .system(&Caller::local())
            .memories()
            .remember(fact(&text, Visibility::Common))
            .unwrap()
            .memory
            .id
    };
    let ask = |engine: &Engine, cursor: Option<&str>| {
        let request = PageRequest {
            query: "the \"red kettle\"",
            ..request(2, cursor)
        };
        engine
            .system(&Caller::local())
            .search()
            .page(&request)
            .unwrap()
    };
    // At first no text contains it, and later one does.
    let engine = engine();
    near(&engine, 4);
    let first = ask(&engine, None);
    assert!(first.degraded.as_ref().unwrap().contains("word for word"));
    let late = holder(&engine, 0);
    let second = ask(&engine, first.next_cursor.as_deref());
    assert_eq!(second.hits.len(), 2);
    let third = ask(&engine, second.next_cursor.as_deref());
    let found: BTreeSet<_> = [&first, &second, &third]
        .into_iter()
        .flat_map(ids)
        .collect();
    assert!(found.len() == 5 && found.contains(&late));

    // At first three texts contain it, and later only those already returned.
    let engine = bench().engine;
    near(&engine, 4);
    let holders: BTreeSet<_> = (0..3).map(|number| holder(&engine, number)).collect();
    let first = ask(&engine, None);
    assert!(ids(&first).iter().all(|id| holders.contains(id)) && first.degraded.is_none());
    let last = holders
        .iter()
        .find(|id| !ids(&first).contains(*id))
        .unwrap();
    engine
        .system(&Caller::local())
        .memories()
        .forget(last)
        .unwrap();
    let second = ask(&engine, first.next_cursor.as_deref());
    assert_eq!(
        second,
        HitPage {
            hits: Vec::new(),
            next_cursor: None,
            degraded: None,
            strength: second.strength,
        }
    );
}

#[test]
fn more_hold_a_quotation_than_are_looked_at_at_once() {
    let Bench { engine, .. } = bench_with(Arc::new(FailingEmbedder::default()), SearchMode::Words);
    let local = Caller::local();
    for number in 0..150 {
        engine
            .system(&local)
            .memories()
            .remember(fact(
                &format!("the kettle is red {number}"),
                Visibility::Common,
            ))
            .unwrap();
        engine
            .system(&local)
            .memories()
            .remember(fact(
                &format!("the red kettle is old and stands there {number}"),
                Visibility::Common,
            ))
            .unwrap();
    }
    let pages = pages(
        &engine,
        &local,
        PageRequest {
            query: "\"red kettle\"",
            ..request(40, None)
        },
    );
    assert_eq!(
        pages.iter().map(|page| page.hits.len()).collect::<Vec<_>>(),
        [40, 40, 40, 30]
    );
    assert!(pages.iter().all(|page| page.degraded.is_none()));
}

#[test]
fn forgotten_ones_are_shown_to_those_who_ask() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let local = Caller::local();
    let ids_of = |with_forgotten| {
        let page = engine
            .system(&local)
            .search()
            .page(&PageRequest {
                with_forgotten,
                ..request(10, None)
            })
            .unwrap();
        ids(&page).into_iter().collect::<BTreeSet<_>>()
    };
    let kept = engine
        .system(&local)
        .memories()
        .remember(fact("a red kettle", Visibility::Common))
        .unwrap()
        .memory
        .id;
    let forgotten = engine
        .system(&local)
        .memories()
        .remember(fact("an old red kettle", Visibility::Common))
        .unwrap()
        .memory
        .id;
    set_forgotten(&store, &forgotten, Some(clock.now()));
    assert_eq!(ids_of(false), BTreeSet::from([kept.clone()]));
    assert_eq!(ids_of(true), BTreeSet::from([kept, forgotten]));
}
