//! Tests of the background enrichment of messages, each once.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::thread;

use loci_core::{
    Batch, Change, Clock, Enricher, Enrichment, EnrichmentStatus, Expect, JobCounts, JobOutcome,
    JobStore, Link, Relation, Store,
};

use super::faulty_store::FaultyStore;
use super::*;

const TEA: &str = "I always drink green tea with lemon at four";
/// Longer than any lease and any wait for another attempt.
const LONG_SECONDS: i64 = 3_600;

/// Parts from which a test creates engines, each like a process of its own.
struct Shop {
    store: Arc<FaultyStore>,
    clock: Arc<FixedClock>,
    embedder: Arc<MoodyEmbedder>,
    ann: Caller,
}

impl Shop {
    fn new() -> Self {
        Shop {
            store: FaultyStore::new(Arc::new(NaiveStore::new())),
            clock: Arc::new(FixedClock::default()),
            embedder: Arc::new(MoodyEmbedder {
                inner: HashingEmbedder::default(),
                is_away: AtomicBool::new(false),
            }),
            ann: caller("ann", &WRITER),
        }
    }

    fn engine(&self) -> Engine {
        Engine::new(
            self.store.clone(),
            self.embedder.clone(),
            self.clock.clone(),
            SearchMode::Hybrid,
        )
    }

    /// Stores messages of Ann a second later; returns the ids of the candidates.
    fn say(&self, contents: &[&str]) -> Vec<MemoryId> {
        self.clock.advance(1);
        let messages = contents
            .iter()
            .map(|content| message(Role::Human, content))
            .collect();
        let said = say(&self.engine(), &self.ann, "c", messages).unwrap();
        let memories = listed(&self.engine(), &self.ann);
        let made_from = |id: &MemoryId| {
            memories
                .iter()
                .find(|memory| memory.source.as_ref() == Some(id))
                .unwrap()
        };
        said.ids.iter().map(|id| made_from(id).id.clone()).collect()
    }

    fn get(&self, id: &MemoryId) -> Memory {
        self.store.inner.get(&self.ann.space, id).unwrap().unwrap()
    }

    fn jobs(&self) -> JobCounts {
        self.store.inner.job_counts().unwrap()
    }

    fn model_is_away(&self, is_away: bool) {
        self.embedder.is_away.store(is_away, Ordering::SeqCst);
    }
}

/// Runs jobs until none is left.
fn enrich_all(engine: &Engine) -> usize {
    std::iter::from_fn(|| engine.background().enrich().unwrap().then_some(())).count()
}

fn done() -> JobCounts {
    JobCounts::default()
}

#[test]
fn a_candidate_gets_its_judgement_and_keeps_everything_else() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    let before = shop.get(&id);
    shop.clock.advance(60);
    let engine = shop.engine();
    assert_eq!(enrich_all(&engine), 1);
    let after = shop.get(&id);
    assert!(
        after.weight > 0.5 && after.weight <= 1.0,
        "{}",
        after.weight
    );
    let expected = Memory {
        summary: Some(TEA.to_owned()),
        kind: "preference".to_owned(),
        location: Location {
            section: "preference".to_owned(),
            ..before.location.clone()
        },
        enrichment: Some(EnrichmentStatus::Completed),
        weight: after.weight,
        revision: 2,
        ..before
    };
    assert_eq!((after, shop.jobs()), (expected, done()));
    assert_eq!(engine.background().enrich(), Ok(false));
}

#[test]
fn a_section_that_somebody_chose_is_kept() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    let mut memory = shop.get(&id);
    memory.location.section = "drinks".to_owned();
    put(&shop.store.inner, memory);
    enrich_all(&shop.engine());
    assert_eq!(
        (
            shop.get(&id).kind.as_str(),
            shop.get(&id).location.section.as_str()
        ),
        ("preference", "drinks")
    );
}

/// Stores a memory again with the next revision.
fn put(store: &NaiveStore, mut memory: Memory) {
    let expect = Expect::Revision(memory.revision);
    memory.revision += 1;
    let space = memory.space.clone();
    let change = Change::Put {
        memory: Box::new(memory),
        passages: None,
        expect,
    };
    store.commit(Batch::new(space, vec![change])).unwrap();
}

#[test]
fn a_repetition_reinforces_and_a_relative_is_linked() {
    // The cosines of the test model are cosines of word counts: of nine words, eight, seven and six
    // are shared.
    let same = "I always drink green tea with lemon at four";
    let near = "I always drink green tea with lemon at five";
    let related = "I always drink green tea with honey at five";
    let other = "The train to Lisbon leaves from the second platform";
    let rows = [
        (same, Some((Relation::Reinforces, 1.0))),
        (near, Some((Relation::Reinforces, 8.0 / 9.0))),
        (related, Some((Relation::RelatedTo, 7.0 / 9.0))),
        (other, None),
    ];
    for (said, expected) in rows {
        let shop = Shop::new();
        let engine = shop.engine();
        let known = shop.say(&[TEA]).pop().unwrap();
        enrich_all(&engine);
        let before = shop.get(&known);
        let new = shop.say(&[said]).pop().unwrap();
        enrich_all(&engine);

        let links = shop.get(&new).links;
        let Some((relation, cosine)) = expected else {
            assert_eq!((links, shop.get(&known)), (vec![], before));
            continue;
        };
        let [
            Link {
                target,
                relation: found,
                similarity,
            },
        ] = links.as_slice()
        else {
            panic!("{links:?}")
        };
        assert_eq!((target, *found), (&known, relation));
        assert!((similarity - cosine).abs() < 0.01, "{similarity}");
        let (weight, revision) = match relation {
            Relation::Reinforces => (
                before.weight + (1.0 - before.weight) * 0.2,
                before.revision + 1,
            ),
            Relation::RelatedTo
            | Relation::LinksTo
            | Relation::StandsFor
            | Relation::Summarises => (before.weight, before.revision),
        };
        assert_eq!(
            shop.get(&known),
            Memory {
                weight,
                revision,
                ..before
            }
        );
    }
}

#[test]
fn the_three_nearest_are_linked_nearest_first_and_the_nearest_gains() {
    let shop = Shop::new();
    let engine = shop.engine();
    let known = [
        "I always drink black coffee with sugar at noon", // far
        "I always drink green tea with honey at five",    // 7 of 9
        "I always drink green tea with lemon at four",    // 9 of 9
        "I always drink green tea with lemon at nine",    // 8 of 9
        "I always drink cold tea with lemon at nine",     // 7 of 9
    ]
    .map(|content| {
        let id = shop.say(&[content]).pop().unwrap();
        // No one has links to the others.
        let memory = Memory {
            weight: 0.5,
            enrichment: Some(EnrichmentStatus::Completed),
            ..shop.get(&id)
        };
        put(&shop.store.inner, memory);
        id
    });
    // Not Ann's, though she may read it.
    engine
        .system(&caller("bob", &WRITER))
        .memories()
        .remember(Remember {
            weight: 0.5,
            ..fact(TEA, Visibility::Common)
        })
        .unwrap();
    let new = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&engine);
    let links: Vec<_> = shop
        .get(&new)
        .links
        .into_iter()
        .map(|link| (link.target, link.relation))
        .collect();
    assert_eq!(
        links[..2],
        [
            (known[2].clone(), Relation::Reinforces),
            (known[3].clone(), Relation::Reinforces)
        ]
    );
    assert!(
        links.len() == 3 && links[2].1 == Relation::RelatedTo,
        "{links:?}"
    );
    assert_eq!(
        known.map(|id| shop.get(&id).weight).as_slice(),
        [0.5, 0.5, 0.6, 0.5, 0.5]
    );
}

#[test]
fn a_weight_that_a_person_set_stays() {
    let shop = Shop::new();
    let engine = shop.engine();
    let request = Remember {
        weight: 0.5,
        ..fact(TEA, Visibility::Common)
    };
    let known = engine
        .system(&shop.ann)
        .memories()
        .remember(request)
        .unwrap()
        .memory;
    let new = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&engine);
    let links = shop.get(&new).links;
    assert_eq!(
        (&links[0].target, links[0].relation),
        (&known.id, Relation::Reinforces)
    );
    assert_eq!(shop.get(&known.id), known);
}

/// The memory that replaced it is needed more, even if this one is important.
#[test]
fn what_is_superseded_before_it_is_judged_stays_light() {
    let shop = Shop::new();
    let engine = shop.engine();
    let known = shop.say(&[TEA]).pop().unwrap();
    let successor = Remember {
        supersedes: Some(known.clone()),
        ..fact("I drink coffee now", Visibility::Common)
    };
    engine
        .system(&shop.ann)
        .memories()
        .remember(successor)
        .unwrap();
    enrich_all(&engine);
    let judged = shop.get(&known);
    assert_eq!(
        (judged.weight, judged.enrichment),
        (0.1, Some(EnrichmentStatus::Completed))
    );
}

/// The order in which processes run the jobs does not matter.
#[test]
fn the_order_of_judging_makes_no_difference() {
    // The last two come in one call.
    let texts = [TEA, "I always drink green tea with lemon at five", TEA];
    let judged = |order: [usize; 3]| {
        let shop = Shop::new();
        let engine = shop.engine();
        let mut ids = shop.say(&texts[..1]);
        ids.extend(shop.say(&texts[1..]));
        let now = shop.clock.now();
        for job in shop
            .store
            .inner
            .lease_jobs(now, now.plus_seconds(1), "a test", 3)
            .unwrap()
        {
            let turn = order
                .iter()
                .position(|index| ids[*index] == job.memory)
                .unwrap();
            let due_at = now.plus_seconds(turn as i64);
            let changes = vec![Change::Settle {
                job,
                outcome: JobOutcome::Retry {
                    due_at,
                    problem: String::new(),
                },
            }];
            shop.store
                .inner
                .commit(Batch::new(shop.ann.space.clone(), changes))
                .unwrap();
        }
        for index in order {
            assert_eq!(
                (engine.background().enrich(), engine.background().enrich()),
                (Ok(true), Ok(false))
            );
            assert_eq!(
                shop.get(&ids[index]).enrichment,
                Some(EnrichmentStatus::Completed)
            );
            shop.clock.advance(1);
        }
        assert_eq!(shop.jobs(), done());
        let place = |link: Link| (ids.iter().position(|id| *id == link.target), link.relation);
        let links: Vec<Vec<_>> = ids
            .iter()
            .map(|id| shop.get(id).links.into_iter().map(place).collect())
            .collect();
        (
            links,
            ids.iter().map(|id| shop.get(id).weight).collect::<Vec<_>>(),
        )
    };
    let (links, weights) = judged([0, 1, 2]);
    let reinforces = |target| (Some(target), Relation::Reinforces);
    assert_eq!(
        links,
        [
            vec![],
            vec![reinforces(0)],
            vec![reinforces(0), reinforces(1)]
        ]
    );
    // The gap of the first weight, which was reinforced twice, is 0.64 of that of the third one.
    assert!(
        (1.0 - weights[0] - 0.64 * (1.0 - weights[2])).abs() < 1e-9,
        "{weights:?}"
    );
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (other_links, other_weights) = judged(order);
        assert_eq!(other_links, links, "{order:?}");
        let differ = weights
            .iter()
            .zip(&other_weights)
            .any(|(one, other)| (one - other).abs() > 1e-9);
        assert!(!differ, "{order:?}: {weights:?} {other_weights:?}");
    }
}

#[test]
fn another_users_words_are_no_repetition() {
    let shop = Shop::new();
    let engine = shop.engine();
    shop.say(&[TEA]);
    enrich_all(&engine);
    shop.clock.advance(1);
    let bob = caller("bob", &WRITER);
    say(&engine, &bob, "c", vec![message(Role::Human, TEA)]).unwrap();
    enrich_all(&engine);
    let weights = |who: &Caller| {
        listed(&engine, who)
            .into_iter()
            .map(|memory| memory.weight)
            .collect::<Vec<_>>()
    };
    assert_eq!(weights(&shop.ann), weights(&bob));
    assert_eq!(listed(&engine, &bob)[0].links, []);
}

/// A process leased its jobs and ended: another one takes them when the lease has expired.
#[test]
fn a_job_of_a_process_that_ended_is_done_once_by_another() {
    let shop = Shop::new();
    let known = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&shop.engine());
    let before = shop.get(&known);
    let new = shop.say(&[TEA]).pop().unwrap();

    let ended = shop.engine();
    shop.store.before(|method| {
        if method == "commit" {
            Err(Error::unavailable("killed"))
        } else {
            Ok(())
        }
    });
    assert_eq!(
        ended.background().enrich().unwrap_err().code,
        ErrorCode::Unavailable
    );
    shop.store.before(|_| Ok(()));
    assert_eq!(shop.get(&known), before);

    let other = shop.engine();
    assert_eq!(other.background().enrich(), Ok(false));
    shop.clock.advance(LONG_SECONDS);
    assert_eq!(enrich_all(&other), 1);
    assert_eq!(shop.get(&new).enrichment, Some(EnrichmentStatus::Completed));
    assert_eq!(shop.get(&known).revision, before.revision + 1);
    assert_eq!(
        (shop.jobs(), ended.background().enrich()),
        (done(), Ok(false))
    );
}

/// A process that was presumed dead returns with its result, which is rejected as a whole.
#[test]
fn a_lease_that_ran_out_settles_nothing() {
    let shop = Shop::new();
    let known = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&shop.engine());
    shop.say(&[TEA]);
    let late = Arc::new(AtomicBool::new(false));
    let (store, other, clock, was_late) = (
        shop.store.clone(),
        shop.engine(),
        shop.clock.clone(),
        late.clone(),
    );
    shop.store.before(move |method| {
        if method == "commit" && !was_late.swap(true, Ordering::SeqCst) {
            clock.advance(LONG_SECONDS);
            assert_eq!(enrich_all(&other), 1);
        }
        Ok(())
    });
    assert_eq!(shop.engine().background().enrich(), Ok(false));
    assert!(late.load(Ordering::SeqCst));
    store.before(|_| Ok(()));
    assert_eq!((shop.get(&known).revision, shop.jobs()), (3, done()));
}

#[test]
fn engines_at_once_do_each_job_once() {
    const JOBS: usize = 40;
    let shop = Shop::new();
    // No two share a word.
    let text = |number: usize| {
        (0..8)
            .map(|word| format!("word{word}of{number}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let texts: Vec<String> = (0..JOBS).map(text).collect();
    shop.say(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let settled: Vec<usize> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| enrich_all(&shop.engine())))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    assert_eq!(settled.iter().sum::<usize>(), JOBS);
    let memories = listed(&shop.engine(), &shop.ann);
    assert!(memories.iter().all(
        |memory| memory.enrichment == Some(EnrichmentStatus::Completed) && memory.revision == 2
    ));
    assert_eq!(shop.jobs(), done());
}

/// The memory that gains weight changes during the commit: both changes are kept.
#[test]
fn a_change_of_the_reinforced_memory_is_not_lost() {
    let shop = Shop::new();
    let known = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&shop.engine());
    let new = shop.say(&[TEA]).pop().unwrap();
    let before = shop.get(&known);
    let changed = AtomicBool::new(false);
    let (inner, memory) = (
        shop.store.inner.clone(),
        Memory {
            weight: 0.1,
            ..before.clone()
        },
    );
    shop.store.before(move |method| {
        if method == "commit" && !changed.swap(true, Ordering::SeqCst) {
            put(&inner, memory.clone());
        }
        Ok(())
    });
    assert_eq!(shop.engine().background().enrich(), Ok(true));
    let after = shop.get(&known);
    assert!((after.weight - 0.28).abs() < 1e-9, "{}", after.weight);
    assert_eq!(
        (after.revision, shop.get(&new).links.len()),
        (before.revision + 2, 1)
    );
}

/// Even if the text changes at every attempt.
#[test]
fn a_text_that_changes_meanwhile_is_read_again() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    let (engine, ann, memory, times) = (
        shop.engine(),
        shop.ann.clone(),
        id.clone(),
        AtomicUsize::new(0),
    );
    shop.store.before(move |method| {
        if method == "candidates" {
            let time = times.fetch_add(1, Ordering::SeqCst);
            if time < 10 {
                engine
                    .system(&ann)
                    .memories()
                    .update(
                        &memory,
                        &format!("We decided to drink coffee {time} times"),
                        None,
                    )
                    .unwrap();
            }
        }
        Ok(())
    });
    assert_eq!(enrich_all(&shop.engine()), 11);
    let after = shop.get(&id);
    assert_eq!(
        (after.kind.as_str(), after.summary),
        (
            "decision",
            Some("We decided to drink coffee 9 times".to_owned())
        )
    );
}

/// If the store stops answering at any step, the job is retried later, any number of times.
#[test]
fn a_busy_store_uses_up_no_attempts() {
    for step in ["get", "vectors", "candidates"] {
        let shop = Shop::new();
        let engine = shop.engine();
        let id = shop.say(&[TEA]).pop().unwrap();
        shop.store.before(move |method| {
            if method == step {
                Err(Error::unavailable("busy"))
            } else {
                Ok(())
            }
        });
        for _ in 0..10 {
            shop.clock.advance(LONG_SECONDS);
            assert_eq!(
                engine.background().enrich().unwrap_err().code,
                ErrorCode::Unavailable,
                "{step}"
            );
        }
        shop.store.before(|_| Ok(()));
        assert_eq!(
            engine.background().enrich(),
            Ok(false),
            "{step}: not at once, so that others go first"
        );
        shop.clock.advance(LONG_SECONDS);
        assert_eq!(
            (engine.background().enrich(), shop.jobs()),
            (Ok(true), done()),
            "{step}"
        );
        assert_eq!(
            shop.get(&id).enrichment,
            Some(EnrichmentStatus::Completed),
            "{step}"
        );
    }
}

/// Other processes change the data that the result depends on at every attempt.
#[test]
fn a_job_that_others_outrun_is_released() {
    let shop = Shop::new();
    let engine = shop.engine();
    let known = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&engine);
    shop.say(&[TEA]);
    let (inner, space) = (shop.store.inner.clone(), shop.ann.space.clone());
    let changes = AtomicUsize::new(0);
    shop.store.before(move |method| {
        if method == "commit" && changes.fetch_add(1, Ordering::SeqCst) < 4 {
            let memory = inner.get(&space, &known).unwrap().unwrap();
            put(&inner, memory);
        }
        Ok(())
    });
    assert_eq!(engine.background().enrich(), Ok(false));
    shop.clock.advance(LONG_SECONDS);
    assert_eq!(
        (engine.background().enrich(), shop.jobs()),
        (Ok(true), done())
    );
}

/// A job whose data cannot be read stays behind the others.
#[test]
fn a_job_that_cannot_be_done_holds_up_no_other() {
    let shop = Shop::new();
    let engine = shop.engine();
    let ids = shop.say(&[TEA, "My sister moved to Lisbon in March"]);
    let first = AtomicBool::new(true);
    shop.store.before(move |method| match method {
        "vectors" if first.swap(false, Ordering::SeqCst) => Err(Error::unavailable("damaged")),
        _ => Ok(()),
    });
    assert_eq!(
        engine.background().enrich().unwrap_err().code,
        ErrorCode::Unavailable
    );
    assert_eq!((enrich_all(&engine), shop.jobs().waiting), (1, 1));
    assert_eq!(
        ids.iter()
            .filter(|id| shop.get(id).enrichment == Some(EnrichmentStatus::Completed))
            .count(),
        1
    );
}

/// The wipe comes before the memory is read, before it is compared, or before it is written.
#[test]
fn a_wipe_of_a_memory_in_work_leaves_nothing() {
    for step in ["get", "candidates", "commit"] {
        let shop = Shop::new();
        let engine = shop.engine();
        engine
            .system(&shop.ann)
            .memories()
            .remember(Remember {
                weight: 0.5,
                ..fact(TEA, Visibility::Common)
            })
            .unwrap();
        shop.say(&[TEA]);
        let (inner, ann, wiped) = (
            shop.store.inner.clone(),
            shop.ann.clone(),
            AtomicBool::new(false),
        );
        shop.store.before(move |method| {
            if method == step && !wiped.swap(true, Ordering::SeqCst) {
                assert_eq!(
                    inner
                        .wipe(&ann.space, "ann", None, None, Timestamp::MIN)
                        .unwrap()
                        .memories,
                    2
                );
            }
            Ok(())
        });
        assert_eq!(engine.background().enrich(), Ok(false), "{step}");
        let left = listed(&engine, &shop.ann);
        assert_eq!(
            (left.len(), left[0].owner.as_deref(), left[0].weight),
            (1, None, 0.5),
            "{step}"
        );
        assert_eq!(
            (shop.store.inner.size().unwrap().memories, shop.jobs()),
            (1, done()),
            "{step}"
        );
    }
}

#[test]
fn jobs_wait_without_using_up_their_attempts_while_the_model_is_away() {
    let shop = Shop::new();
    let engine = shop.engine();
    shop.model_is_away(true);
    let ids = shop.say(&[TEA, TEA]);
    for _ in 0..20 {
        shop.clock.advance(LONG_SECONDS);
        assert_eq!(
            engine.background().enrich().unwrap_err().code,
            ErrorCode::Unavailable
        );
    }
    shop.clock.advance(LONG_SECONDS);
    assert_eq!(
        shop.get(&ids[0]).enrichment,
        Some(EnrichmentStatus::Pending)
    );
    shop.model_is_away(false);
    assert_eq!(enrich_all(&engine), 2);
    // The first one was embedded by its job, so that the second one found it.
    let links: usize = ids.iter().map(|id| shop.get(id).links.len()).sum();
    assert_eq!((links, shop.jobs()), (1, done()));
    let recalled = engine
        .system(&shop.ann)
        .search()
        .recall(&question("lemon"))
        .unwrap();
    assert!(recalled.degraded.is_none() && recalled.hits[0].signals.cosine.is_some());
}

#[test]
fn poison_is_parked_and_holds_up_no_other() {
    let shop = Shop::new();
    let engine = shop.engine();
    let ids = shop.say(&["This is poison for the model, whoever asks it", TEA]);
    let mut waits = Vec::new();
    while let Some(due_at) = shop.store.inner.next_job_at(shop.clock.now()).unwrap() {
        waits.push((due_at.days_since(shop.clock.now()) * 86_400.0).round());
        shop.clock.set(due_at.max(shop.clock.now()));
        engine.background().enrich().unwrap();
    }
    // Both are due at first.
    assert_eq!(waits, [0.0, 0.0, 10.0, 20.0, 40.0, 80.0]);
    let statuses: Vec<_> = ids
        .iter()
        .map(|id| shop.get(id).enrichment.unwrap())
        .collect();
    assert_eq!(
        statuses,
        [EnrichmentStatus::Failed, EnrichmentStatus::Completed]
    );
    let failed = shop.store.inner.failed_jobs(10).unwrap();
    assert_eq!(
        (failed.len(), &failed[0].memory, failed[0].attempts),
        (1, &ids[0], 5)
    );
    // The NUL of the message is left out.
    assert_eq!(failed[0].problem, "the model does not take it");
    // It keeps its state, and words find it, with its neighbours in the conversation.
    assert_eq!(
        (shop.get(&ids[0]).weight, shop.get(&ids[0]).summary),
        (0.5, None)
    );
    assert_eq!(found(&engine, &shop.ann, "poison"), ids);
}

#[test]
fn a_job_that_no_process_survives_is_parked() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    for _ in 0..5 {
        let now = shop.clock.advance(LONG_SECONDS);
        assert_eq!(
            shop.store
                .inner
                .lease_jobs(now, now.plus_seconds(60), "ends", 8)
                .unwrap()
                .len(),
            1
        );
    }
    shop.clock.advance(LONG_SECONDS);
    assert_eq!(shop.engine().background().enrich(), Ok(true));
    assert_eq!(shop.get(&id).enrichment, Some(EnrichmentStatus::Failed));
    assert_eq!(
        shop.jobs(),
        JobCounts {
            waiting: 0,
            failed: 1
        }
    );
    // Until a user requests another attempt.
    assert_eq!(
        (
            shop.engine().background().retry_failed(),
            shop.engine().background().retry_failed()
        ),
        (Ok(1), Ok(0))
    );
    assert_eq!(
        (shop.engine().background().enrich(), shop.jobs()),
        (Ok(true), done())
    );
    assert_eq!(shop.get(&id).enrichment, Some(EnrichmentStatus::Completed));
}

/// Another process retries and completes it after this one saw that it had failed.
#[test]
fn what_is_retried_meanwhile_is_judged_once() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    for _ in 0..5 {
        let now = shop.clock.advance(LONG_SECONDS);
        assert_eq!(
            shop.store
                .inner
                .lease_jobs(now, now.plus_seconds(60), "ends", 8)
                .unwrap()
                .len(),
            1
        );
    }
    shop.clock.advance(LONG_SECONDS);
    assert_eq!(shop.engine().background().enrich(), Ok(true));
    assert_eq!(
        shop.jobs(),
        JobCounts {
            waiting: 0,
            failed: 1
        }
    );
    let other = Engine::new(
        shop.store.inner.clone(),
        shop.embedder.clone(),
        shop.clock.clone(),
        SearchMode::Hybrid,
    );
    let is_first = AtomicBool::new(true);
    shop.store.before(move |method| {
        if method == "get" && is_first.swap(false, Ordering::SeqCst) {
            assert_eq!(
                (
                    other.background().retry_failed(),
                    other.background().enrich()
                ),
                (Ok(1), Ok(true))
            );
        }
        Ok(())
    });
    assert_eq!(shop.engine().background().retry_failed(), Ok(0));
    assert_eq!(
        (shop.jobs(), shop.get(&id).enrichment),
        (done(), Some(EnrichmentStatus::Completed))
    );
}

/// Panics on one text.
struct Panics;

impl Enricher for Panics {
    fn enrich(&self, text: &str) -> Result<Enrichment> {
        assert!(!text.contains("venom"), "a test");
        Err(Error::unavailable("let the rules judge"))
    }
}

#[test]
fn a_job_that_panics_fails_and_holds_up_no_other() {
    let shop = Shop::new();
    let engine = shop.engine().with_enricher(Arc::new(Panics));
    let ids = shop.say(&["Whoever judges this takes venom with his tea", TEA]);
    assert_eq!(enrich_all(&engine), 2);
    assert_eq!(
        shop.get(&ids[1]).enrichment,
        Some(EnrichmentStatus::Completed)
    );
    // It is not leased, but waits for its next attempt.
    let now = shop.clock.now();
    assert_eq!(
        shop.store.inner.next_job_at(now).unwrap(),
        Some(now.plus_seconds(10))
    );
    for _ in 1..5 {
        shop.clock.advance(LONG_SECONDS);
        assert_eq!(engine.background().enrich(), Ok(true));
    }
    assert_eq!(shop.get(&ids[0]).enrichment, Some(EnrichmentStatus::Failed));
    assert_eq!(
        shop.store.inner.failed_jobs(10).unwrap()[0].problem,
        "the work panicked; please report this"
    );
}

/// Answers with the given result, or fails.
struct Oracle(Mutex<Result<Enrichment>>);

impl Enricher for Oracle {
    fn enrich(&self, _text: &str) -> Result<Enrichment> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn an_enricher_is_believed_unless_it_fails_or_talks_nonsense() {
    let good = Enrichment {
        importance: 0.9,
        summary: " Ann's ceremony. ".to_owned(),
        kind: "event".to_owned(),
    };
    let rows = [
        ("good", Ok(good.clone()), true),
        ("away", Err(Error::unavailable("no answer")), false),
        (
            "no kind",
            Ok(Enrichment {
                kind: "drink".to_owned(),
                ..good.clone()
            }),
            false,
        ),
        (
            "no number",
            Ok(Enrichment {
                importance: f64::NAN,
                ..good.clone()
            }),
            false,
        ),
        (
            "too much",
            Ok(Enrichment {
                importance: 2.0,
                ..good.clone()
            }),
            false,
        ),
        (
            "blank",
            Ok(Enrichment {
                summary: "\n".to_owned(),
                ..good.clone()
            }),
            false,
        ),
        (
            "endless",
            Ok(Enrichment {
                summary: "so ".repeat(limits::SUMMARY_WORDS_MAX + 1),
                ..good
            }),
            false,
        ),
    ];
    for (name, answer, is_believed) in rows {
        let shop = Shop::new();
        let engine = shop
            .engine()
            .with_enricher(Arc::new(Oracle(Mutex::new(answer))));
        let ids = shop.say(&[TEA, "My sister moved to Lisbon in spring"]);
        assert_eq!(enrich_all(&engine), 2, "{name}");
        let memory = shop.get(&ids[0]);
        let expected = if is_believed {
            ("event", "Ann's ceremony.")
        } else {
            ("preference", TEA)
        };
        assert_eq!(
            (memory.kind.as_str(), memory.summary.as_deref().unwrap()),
            expected,
            "{name}"
        );
        assert_eq!(
            ((memory.weight - 0.9).abs() < 1e-9, memory.content.as_str()),
            (is_believed, TEA),
            "{name}"
        );
    }
}

/// Fails after a while on the clock.
struct Hangs {
    clock: Arc<FixedClock>,
    asked: AtomicUsize,
}

impl Enricher for Hangs {
    fn enrich(&self, _text: &str) -> Result<Enrichment> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.clock.advance(30);
        Err(Error::unavailable("a test"))
    }
}

#[test]
fn an_enricher_that_hangs_is_left_alone_for_a_while() {
    let shop = Shop::new();
    let enricher = Arc::new(Hangs {
        clock: shop.clock.clone(),
        asked: AtomicUsize::new(0),
    });
    let engine = shop.engine().with_enricher(enricher.clone());
    let asked = || enricher.asked.load(Ordering::SeqCst);
    let texts =
        ["tea", "wine", "beer"].map(|drink| format!("I always drink {drink} with my neighbour"));
    shop.say(&texts.each_ref().map(String::as_str));
    assert_eq!(
        (enrich_all(&engine), asked(), shop.jobs()),
        (3, 1, done()),
        "the rules judge what it has no time for"
    );
    for (seconds, expected) in [(119, 1), (1, 2)] {
        // Storing a message takes a second.
        shop.clock.advance(seconds - 1);
        shop.say(&[TEA]);
        assert_eq!((enrich_all(&engine), asked()), (1, expected));
    }
}

/// Waits in the middle of an assessment until the test lets it continue.
struct Ponders {
    entered: Mutex<std::sync::mpsc::Sender<()>>,
    go_on: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Enricher for Ponders {
    fn enrich(&self, _text: &str) -> Result<Enrichment> {
        self.entered.lock().unwrap().send(()).unwrap();
        let _ = self.go_on.lock().unwrap().recv();
        Ok(Enrichment {
            importance: 0.9,
            summary: "late".to_owned(),
            kind: "fact".to_owned(),
        })
    }
}

#[test]
fn an_end_hands_the_job_back() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    let ((entered, entering), (release, go_on)) =
        (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let enricher = Ponders {
        entered: Mutex::new(entered),
        go_on: Mutex::new(go_on),
    };
    let ending = shop.engine().with_enricher(Arc::new(enricher));
    thread::scope(|scope| {
        let late = scope.spawn(|| ending.background().enrich());
        entering.recv().unwrap();
        ending.background().end_rounds();
        assert_eq!(
            enrich_all(&shop.engine()),
            1,
            "another process takes it at once"
        );
        drop(release);
        assert_eq!(late.join().unwrap(), Ok(false));
    });
    assert_eq!(
        (shop.get(&id).summary.as_deref(), shop.jobs()),
        (Some(TEA), done())
    );
    shop.say(&[TEA]);
    assert_eq!(
        (ending.background().enrich(), enrich_all(&shop.engine())),
        (Ok(false), 1),
        "an end takes no further job"
    );
}

#[test]
fn new_words_of_a_summary_are_found() {
    let shop = Shop::new();
    let summary = "Afternoon beverage ritual".to_owned();
    let oracle = Oracle(Mutex::new(Ok(Enrichment {
        importance: 0.9,
        summary,
        kind: "preference".to_owned(),
    })));
    let engine = shop.engine().with_enricher(Arc::new(oracle));
    let id = shop.say(&[TEA]).pop().unwrap();
    assert_eq!(enrich_all(&engine), 1);
    for query in ["beverage", "lemon"] {
        let recalled = engine
            .system(&shop.ann)
            .search()
            .recall(&question(query))
            .unwrap();
        let hit = &recalled.hits[0];
        assert_eq!(
            (
                &hit.memory.id,
                hit.signals.bm25 > 0.0,
                hit.signals.cosine.is_some()
            ),
            (&id, true, true),
            "{query}"
        );
        assert_eq!(recalled.degraded, None);
    }
}

/// A long text is compared by its beginning; maintenance embeds the rest.
#[test]
fn a_long_text_is_judged_and_keeps_its_passages() {
    let shop = Shop::new();
    let engine = shop.engine();
    let long = format!(
        "{TEA}. {}",
        "Some more words follow here, and a few others come after them. ".repeat(400)
    );
    let known = shop.say(&[TEA]).pop().unwrap();
    enrich_all(&engine);
    let id = shop.say(&[&long]).pop().unwrap();
    while engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(enrich_all(&engine), 1);
    let memory = shop.get(&id);
    assert_eq!(
        (memory.content == long, memory.enrichment),
        (true, Some(EnrichmentStatus::Completed))
    );
    assert!(memory.summary.unwrap().len() < 1_000);
    assert_eq!(
        engine
            .system(&shop.ann)
            .search()
            .recall(&question("lemon"))
            .unwrap()
            .degraded,
        None
    );
    assert_eq!(
        shop.get(&known).enrichment,
        Some(EnrichmentStatus::Completed)
    );
}

/// Without a model there is nothing to compare, and the model is never called.
#[test]
fn words_alone_are_judged_without_the_model() {
    let shop = Shop::new();
    shop.model_is_away(true);
    let words = || {
        Engine::new(
            shop.store.clone(),
            shop.embedder.clone(),
            shop.clock.clone(),
            SearchMode::Words,
        )
    };
    let ids = shop.say(&[TEA, TEA]);
    assert_eq!(enrich_all(&words()), 2);
    for id in ids {
        assert_eq!(
            (shop.get(&id).enrichment, shop.get(&id).links),
            (Some(EnrichmentStatus::Completed), vec![])
        );
    }
    assert_eq!(words().background().embed_pending(), Ok(0));
}

#[test]
fn a_deleted_memory_needs_no_judgement() {
    let shop = Shop::new();
    let id = shop.say(&[TEA]).pop().unwrap();
    shop.engine()
        .system(&shop.ann)
        .memories()
        .forget(&id)
        .unwrap();
    assert_eq!(
        (shop.engine().background().enrich(), shop.jobs()),
        (Ok(false), done())
    );
}
