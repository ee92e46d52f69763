//! Tests of the results of conversations, and of the signals for a ranking.

use std::time::Duration;

use loci_core::{Batch, Change, Clock, Expect, Passage, Space, Store, Term};
use loci_engine::{FusionWeights, PageRequest, Policy, SimilarQuery};

use super::faulty_store::FaultyStore;
use super::*;

const LONG: &str = "we deploy the service on the first Monday of a month";

#[test]
fn of_a_message_and_what_was_made_from_it_the_better_one_stays() {
    let Bench { engine, .. } = bench();
    let ann = caller("ann", &WRITER);
    let short_term = say(&engine, &ann, "c1", vec![message(Role::Human, LONG)])
        .unwrap()
        .ids
        .remove(0);
    let long_term = listed(&engine, &ann)[0].id.clone();
    let hits = |tiers: &[Tier], ranking: &dyn Fn(&Signals) -> f64| -> Vec<MemoryId> {
        let recall = Recall {
            tiers: tiers.to_vec(),
            ranking,
            ..question("deploy")
        };
        engine
            .system(&ann)
            .search()
            .recall(&recall)
            .unwrap()
            .hits
            .into_iter()
            .map(|hit| hit.memory.id)
            .collect()
    };
    assert_eq!(
        hits(&[Tier::ShortTerm], &|_| 1.0),
        std::slice::from_ref(&short_term)
    );
    assert_eq!(
        hits(&[Tier::LongTerm], &|_| 1.0),
        std::slice::from_ref(&long_term)
    );
    // Equal scores: the memory made from the message wins, although the message has the lower id.
    assert!(short_term < long_term);
    assert_eq!(hits(&Tier::OF_CONVERSATIONS, &|_| 1.0), [long_term]);
    // The ranking cannot distinguish the two, so the order of its calls decides.
    let turn = std::cell::Cell::new(0.0);
    let earlier_is_better = |_: &Signals| turn.replace(turn.get() - 1.0);
    assert_eq!(
        hits(&Tier::OF_CONVERSATIONS, &earlier_is_better),
        [short_term]
    );
}

#[test]
fn an_installation_may_allow_more_results() {
    let ann = caller("ann", &WRITER);
    for (results_max, expected) in [(10, 100), (120, 120)] {
        let engine = engine().with_policy(Policy {
            results_max,
            ..Policy::default()
        });
        for number in 0..130 {
            engine
                .system(&ann)
                .memories()
                .remember(fact(&format!("tea {number}"), Visibility::Private))
                .unwrap();
        }
        let recall = Recall {
            limit: 1_000,
            ..question("tea")
        };
        assert_eq!(
            engine
                .system(&ann)
                .search()
                .recall(&recall)
                .unwrap()
                .hits
                .len(),
            expected,
            "{results_max}"
        );
    }
}

#[test]
fn pairs_leave_room_for_others() {
    const MESSAGES: usize = 60;
    let engine = engine();
    let ann = caller("ann", &WRITER);
    for number in 0..MESSAGES {
        say(
            &engine,
            &ann,
            "c1",
            vec![message(Role::Human, &format!("{LONG}, number {number}"))],
        )
        .unwrap();
    }
    let recall = Recall {
        tiers: Tier::OF_CONVERSATIONS.to_vec(),
        limit: MESSAGES,
        ..question("deploy the service")
    };
    let hits = engine.system(&ann).search().recall(&recall).unwrap().hits;
    let mut contents: Vec<String> = hits.into_iter().map(|hit| hit.memory.content).collect();
    contents.sort_unstable();
    contents.dedup();
    assert_eq!(contents.len(), MESSAGES);
}

#[test]
fn returned_memories_count_as_accessed_where_the_caller_says_so() {
    let Bench { engine, store, .. } = bench();
    let ann = caller("ann", &WRITER);
    let ids: Vec<MemoryId> = ["tea in the garden", "tea in the kitchen", "coffee"]
        .map(|content| {
            engine
                .system(&ann)
                .memories()
                .remember(fact(content, Visibility::Private))
                .unwrap()
                .memory
                .id
        })
        .to_vec();
    let ask = |limit, counts_access| {
        let recall = Recall {
            limit,
            counts_access,
            ..question("tea garden")
        };
        let hits = engine.system(&ann).search().recall(&recall).unwrap().hits;
        let counts = hits.into_iter().map(|hit| {
            (
                hit.memory.id,
                hit.signals.access_count,
                hit.memory.access.count,
            )
        });
        counts.collect::<Vec<_>>()
    };
    assert_eq!(ask(1, true), [(ids[0].clone(), 0, 0)]);
    // Before and after a flush; a memory that was not returned has no count.
    assert_eq!(
        ask(2, true),
        [(ids[0].clone(), 1, 1), (ids[1].clone(), 0, 0)]
    );
    engine.audit().flush().unwrap();
    assert_eq!(store.accesses(&ann.space, &ids), Ok(vec![2, 1, 0]));
    assert_eq!(
        ask(2, true),
        [(ids[0].clone(), 2, 2), (ids[1].clone(), 1, 1)]
    );
    // A search that does not count accesses sees the counts, and changes nothing.
    let version = engine.version(&Space::default()).unwrap();
    assert_eq!(ask(1, false), [(ids[0].clone(), 0, 3)]);
    engine.audit().flush().unwrap();
    assert_eq!(store.accesses(&ann.space, &ids), Ok(vec![3, 2, 0]));
    assert_eq!(engine.version(&Space::default()), Ok(version));
    let last = store.get(&ann.space, &ids[0]).unwrap().unwrap().access.last;
    assert_eq!(last, Some(engine.now()));
}

/// Stores a memory with a term, `count` times, and a vector in two dimensions, without the engine.
fn put(store: &NaiveStore, id: &str, count: u32, vector: Option<[f32; 2]>) {
    let engine = Engine::new(
        Arc::new(NaiveStore::new()),
        Arc::new(FailingEmbedder::default()),
        Arc::new(FixedClock::default()),
        SearchMode::Words,
    );
    let text = format!("word {id}");
    let memory = engine
        .system(&Caller::local())
        .memories()
        .remember(fact(&text, Visibility::Common))
        .unwrap()
        .memory;
    let terms = if count == 0 {
        Vec::new()
    } else {
        vec![Term {
            text: "tea".to_owned(),
            count,
        }]
    };
    let vector = vector.map(|values| loci_testkit::quantise(&ModelId::new("flat"), &values));
    let passages = Some(vec![Passage {
        range: 0..4,
        terms,
        vector,
    }]);
    let memory = Box::new(Memory {
        id: MemoryId::new(id),
        ..memory
    });
    let change = Change::Put {
        memory,
        passages,
        expect: Expect::Absent,
    };
    store
        .commit(Batch::new(Space::default(), vec![change]))
        .unwrap();
}

/// Returns the first axis as the vector of every text.
struct FlatEmbedder(ModelId);

impl Embedder for FlatEmbedder {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    }
}

#[test]
fn places_are_by_score_and_then_by_id_and_none_where_nothing_can_be_compared() {
    let Bench { engine, store, .. } = bench_with(
        Arc::new(FlatEmbedder(ModelId::new("flat"))),
        SearchMode::Hybrid,
    );
    put(&store, "a", 0, Some([1.0, 0.0]));
    put(&store, "b", 1, Some([0.0, 1.0]));
    put(&store, "c", 1, None);
    put(&store, "d", 3, Some([1.0, 0.0]));
    let hits = engine
        .system(&Caller::local())
        .search()
        .recall(&question("tea"))
        .unwrap()
        .hits;
    let mut places: Vec<_> = hits
        .iter()
        .map(|hit| {
            (
                hit.memory.id.as_str(),
                hit.signals.rank_by_words,
                hit.signals.rank_by_meaning,
            )
        })
        .collect();
    places.sort_unstable();
    let expected = [
        ("a", Some(4), Some(2)),
        ("b", Some(3), Some(3)),
        ("c", Some(2), None),
        ("d", Some(1), Some(1)),
    ];
    assert_eq!(places, expected);

    let weights = FusionWeights {
        vector: 1.0,
        text: 0.7,
    };
    let fused = |id: &str| {
        hits.iter()
            .find(|hit| hit.memory.id.as_str() == id)
            .unwrap()
            .signals
            .reciprocal_rank(weights)
    };
    for (id, expected) in [
        ("a", 0.7 / 64.0 + 1.0 / 62.0),
        ("b", 0.7 / 63.0 + 1.0 / 63.0),
        ("c", 0.7 / 62.0),
    ] {
        assert!((fused(id) - expected).abs() < 1e-12, "{id}");
    }
}

#[test]
fn a_search_that_need_not_wait_says_that_the_store_is_not_ready() {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    store.before(|method| match method {
        "prepare_search" => Err(Error::unavailable("45 % so far; try again in 3 s")),
        _ => Ok(()),
    });
    let engine = || {
        let clock = Arc::new(FixedClock::default());
        Engine::new(
            store.clone(),
            Arc::new(HashingEmbedder::default()),
            clock,
            SearchMode::Hybrid,
        )
    };
    let ann = caller("ann", &WRITER);
    let similar = SimilarQuery {
        collections: CollectionFilter::Any,
        cosine_min: 0.9,
        limit: 5,
    };
    let outcomes = |engine: &Engine| {
        let page = PageRequest {
            query: "tea",
            with_forgotten: false,
            limit: 5,
            cursor: None,
            budget_tokens: None,
            as_of: None,
        };
        [
            engine
                .system(&ann)
                .search()
                .recall(&question("tea"))
                .map(|_| ()),
            engine.system(&ann).search().page(&page).map(|_| ()),
            engine
                .system(&ann)
                .search()
                .find_duplicates("tea", &similar)
                .map(|_| ()),
        ]
    };
    let impatient = engine().with_search_wait(Duration::ZERO);
    for refused in outcomes(&impatient) {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!(refused.message.contains("45 % so far"), "{refused}");
    }
    // A write waits, and so does a search without a time limit.
    let request = Remember {
        compare_in: Some(CollectionFilter::Any),
        ..fact("tea", Visibility::Private)
    };
    impatient.system(&ann).memories().remember(request).unwrap();
    for outcome in outcomes(&engine()) {
        outcome.unwrap();
    }
}

#[test]
fn equal_texts_are_one_result_and_leave_room_for_others() {
    for mode in [SearchMode::Hybrid, SearchMode::Words, SearchMode::Vector] {
        let Bench { engine, store, .. } = bench_with(Arc::new(HashingEmbedder::default()), mode);
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        let remember = |caller: &Caller, text: &str| {
            engine
                .system(caller)
                .memories()
                .remember(fact(text, Visibility::Private))
                .unwrap()
                .memory
                .id
        };
        let mut equal: Vec<MemoryId> = (0..150)
            .map(|number| {
                remember(
                    &ann,
                    ["tea  in the garden", "tea in\nthe garden\n"][number % 2],
                )
            })
            .collect();
        remember(&bob, "tea in the garden");
        let others: Vec<MemoryId> = (0..3)
            .map(|number| remember(&ann, &format!("tea of the kitchen, number {number}")))
            .collect();
        let recall = Recall {
            limit: 4,
            counts_access: true,
            ..question("tea in the garden")
        };
        let hits = engine.system(&ann).search().recall(&recall).unwrap().hits;
        assert_eq!((hits.len(), hits[0].times_said()), (4, 150), "{mode:?}");
        let mut found: Vec<MemoryId> = hits[0].repeats.clone();
        found.push(hits[0].memory.id.clone());
        found.sort_unstable();
        equal.sort_unstable();
        assert_eq!(found, equal);
        assert!(
            hits[1..]
                .iter()
                .all(|hit| others.contains(&hit.memory.id) && hit.times_said() == 1)
        );
        // Only the one that was shown counts as returned.
        engine.audit().flush().unwrap();
        assert_eq!(
            store
                .accesses(&ann.space, &equal)
                .unwrap()
                .into_iter()
                .sum::<u64>(),
            1
        );

        let first = engine
            .system(&ann)
            .search()
            .page(&PageRequest {
                query: "tea in the garden",
                ..PAGE
            })
            .unwrap();
        assert_eq!((first.hits.len(), first.hits[0].times_said()), (2, 150));
        let cursor = first.next_cursor.as_deref();
        let second = engine
            .system(&ann)
            .search()
            .page(&PageRequest {
                query: "tea in the garden",
                cursor,
                ..PAGE
            })
            .unwrap();
        assert_eq!(
            (second.hits.len(), second.next_cursor),
            (2, None),
            "{mode:?}"
        );
        assert!(
            second
                .hits
                .iter()
                .all(|hit| others.contains(&hit.memory.id))
        );
    }
}

const PAGE: PageRequest<'_> = PageRequest {
    query: "",
    with_forgotten: false,
    limit: 2,
    cursor: None,
    budget_tokens: None,
    as_of: None,
};

#[test]
fn titles_that_differ_and_forgotten_ones_make_texts_of_their_own() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let local = Caller::local();
    let remember = |title: Option<&str>, forgotten_at| {
        let memory = engine
            .system(&local)
            .memories()
            .remember(fact("nothing happened", Visibility::Common))
            .unwrap()
            .memory;
        let (title, expect) = (title.map(str::to_owned), Expect::Revision(memory.revision));
        let memory = Box::new(Memory {
            title,
            forgotten_at,
            revision: memory.revision + 1,
            ..memory
        });
        let change = Change::Put {
            memory,
            passages: None,
            expect,
        };
        store
            .commit(Batch::new(Space::default(), vec![change]))
            .unwrap();
    };
    remember(Some("Monday"), None);
    remember(Some("Tuesday"), None);
    remember(Some(" Tuesday"), None);
    remember(None, None);
    remember(None, Some(clock.now()));
    let request = PageRequest {
        query: "nothing happened",
        with_forgotten: true,
        limit: 10,
        cursor: None,
        budget_tokens: None,
        as_of: None,
    };
    let page = engine.system(&local).search().page(&request).unwrap();
    let times: Vec<usize> = page.hits.iter().map(loci_engine::Hit::times_said).collect();
    assert_eq!(
        (times.len(), times.iter().sum::<usize>()),
        (3, 5),
        "{times:?}"
    );
}
