//! Tests of background work other than enrichment.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use loci_core::{Clock, FilingOrder, Partition, Space, Store};
use loci_engine::Policy;

use super::faulty_store::FaultyStore;
use super::*;

const DAY: i64 = 86_400;

/// Returns two engines on one store, which takes them for two processes.
fn two() -> (Engine, Engine, Arc<FaultyStore>, Arc<FixedClock>) {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let engine = || {
        let embedder = Arc::new(HashingEmbedder::default());
        let policy = Policy {
            purge_after_seconds: 2,
            audit_retention_seconds: 3,
            ..Policy::default()
        };
        Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid).with_policy(policy)
    };
    (engine(), engine(), store, clock)
}

fn expiring(number: usize) -> Remember {
    Remember {
        ttl_seconds: Some(1),
        ..fact(&format!("number {number}"), Visibility::Common)
    }
}

#[test]
fn every_kind_is_swept_when_its_time_is_over() {
    let (engine, _, store, clock) = two();
    let ann = caller("ann", &WRITER);
    let begun = clock.now();
    engine
        .system(&ann)
        .memories()
        .remember(expiring(0))
        .unwrap();
    let discarded = engine
        .system(&ann)
        .memories()
        .remember(fact("soon discarded", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let which = loci_engine::Discard {
        id: Some(discarded),
        ..loci_engine::Discard::default()
    };
    assert_eq!(engine.system(&ann).memories().discard(&which), Ok(1));
    engine
        .system(&ann)
        .memories()
        .remember(fact("it stays", Visibility::Private))
        .unwrap();
    engine.audit().record(AuditEntry {
        space: ann.space.clone(),
        at: begun,
        user: None,
        caller: None,
        client: None,
        session: None,
        dialect: "test".to_owned(),
        tool: "test".to_owned(),
        operation: "search".to_owned(),
        duration_microseconds: 0,
        query: None,
        results: None,
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    });
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), "when is tea?", "at four")
        .unwrap();
    engine
        .system(&ann)
        .conversations()
        .decide("tea", "at four", Some(1))
        .unwrap();
    engine.system(&caller("bob", &WRITER)).wipe().unwrap();

    // The second, the number of removals, and what is removed.
    let rows = [
        (0, 0, "nothing"),
        (1, 1, "the expired memory"),
        (2, 1, "the soft deletion"),
        (3, 0, "an entry of exactly its age"),
        (4, 1, "the entry of the audit log"),
        (3_600, 1, "the cached answer"),
        (DAY, 1, "the decision"),
        (DAY + 1, 1, "the record of a wipe"),
        (10 * DAY, 0, "nothing is left"),
    ];
    for (second, swept, what) in rows {
        clock.set(begun.plus_seconds(second));
        let expected = if swept == 0 { vec![] } else { vec![swept] };
        assert_eq!(rounds(|| engine.background().sweep()), expected, "{what}");
    }
    assert_eq!(store.inner.size().unwrap().memories, 1);
}

/// Returns the results of rounds until one did nothing.
fn rounds(round: impl Fn() -> Result<usize>) -> Vec<usize> {
    std::iter::from_fn(|| Some(round().unwrap()).filter(|done| *done > 0)).collect()
}

/// Counts the calls of this method of the store.
fn count(store: &FaultyStore, method: &'static str) -> Arc<AtomicUsize> {
    let calls = Arc::<AtomicUsize>::default();
    let counted = calls.clone();
    store.before(move |entered| {
        counted.fetch_add(usize::from(entered == method), Ordering::SeqCst);
        Ok(())
    });
    calls
}

#[test]
fn a_round_of_sweeping_is_one_batch() {
    let (engine, _, store, clock) = two();
    for number in 0..150 {
        engine
            .system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    clock.advance(1);
    let batches = count(&store, "sweep");
    assert_eq!(rounds(|| engine.background().sweep()), [64, 64, 22]);
    assert_eq!(batches.load(Ordering::SeqCst), 3);
}

/// No other engine takes the lease until nothing is left, however long it takes.
#[test]
fn the_lease_on_sweeping_is_kept_from_batch_to_batch() {
    let (one, other, store, clock) = two();
    for number in 0..400 {
        one.system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    clock.advance(1);
    let leases = count(&store, "lease");
    let mut swept = Vec::new();
    while swept.last() != Some(&0) {
        swept.push(one.background().sweep().unwrap());
        clock.advance(35);
        if swept.last() != Some(&0) {
            assert_eq!(other.background().sweep(), Ok(0), "{swept:?}");
        }
    }
    assert_eq!(swept, [64, 64, 64, 64, 64, 64, 16, 0]);
    // One engine takes the lease, renews it in every second or third round, and releases it. The
    // other one tries seven times in vain.
    let leases = leases.load(Ordering::SeqCst) - 7;
    assert!((4..7).contains(&leases), "{leases}");
    other
        .system(&Caller::local())
        .memories()
        .remember(expiring(0))
        .unwrap();
    clock.advance(1);
    assert_eq!(rounds(|| other.background().sweep()), [1]);
}

/// While one engine works, another one finds nothing to do.
#[test]
fn one_engine_at_a_time_sweeps_and_embeds() {
    let [sweep, embed]: [fn(&Engine) -> Result<usize>; 2] = [
        |engine| engine.background().sweep(),
        |engine| engine.background().embed_pending(),
    ];
    for (method, round) in [("sweep", sweep), ("commit", embed)] {
        let (one, other, store, clock) = two();
        if method == "sweep" {
            one.system(&Caller::local())
                .memories()
                .remember(expiring(0))
                .unwrap();
        } else {
            let away = Arc::new(FailingEmbedder::default());
            let without_model = Engine::new(store.clone(), away, clock.clone(), SearchMode::Hybrid);
            without_model
                .system(&Caller::local())
                .memories()
                .remember(fact("to be embedded", Visibility::Common))
                .unwrap();
        }
        clock.advance(1);
        let meanwhile = Arc::new(Mutex::new(Vec::new()));
        let seen = meanwhile.clone();
        store.before(move |entered| {
            if entered == method {
                seen.lock().unwrap().push(round(&other));
            }
            Ok(())
        });
        assert_eq!(round(&one), Ok(1));
        assert_eq!(*meanwhile.lock().unwrap(), [Ok(0)]);
        store.before(|_| Ok(()));
    }
}

/// While one engine sweeps a space, another one sweeps the next.
#[test]
fn engines_divide_the_spaces_among_them() {
    let (one, other, store, clock) = two();
    let callers = ["a", "b"].map(|space| Caller {
        space: Space::parse("space", space).unwrap(),
        ..Caller::local()
    });
    for (caller, number) in callers.iter().zip([70, 1]) {
        for number in 0..number {
            one.system(caller)
                .memories()
                .remember(expiring(number))
                .unwrap();
        }
    }
    clock.advance(1);
    let meanwhile = Arc::new(Mutex::new(Vec::new()));
    let (seen, is_first) = (meanwhile.clone(), AtomicUsize::new(0));
    store.before(move |entered| {
        if entered == "sweep" && is_first.fetch_add(1, Ordering::SeqCst) == 0 {
            seen.lock().unwrap().push(other.background().sweep());
        }
        Ok(())
    });
    assert_eq!(one.background().sweep(), Ok(64));
    assert_eq!(*meanwhile.lock().unwrap(), [Ok(1)]);
    assert_eq!(rounds(|| one.background().sweep()), [6]);
}

/// A space with much work does not hold up the next one.
#[test]
fn spaces_take_turns() {
    let (engine, _, _, clock) = two();
    for (space, number) in [("a", 100), ("b", 70)] {
        let caller = Caller {
            space: Space::parse("space", space).unwrap(),
            ..Caller::local()
        };
        for number in 0..number {
            engine
                .system(&caller)
                .memories()
                .remember(expiring(number))
                .unwrap();
        }
    }
    clock.advance(1);
    assert_eq!(rounds(|| engine.background().sweep()), [64, 64, 36, 6]);
}

#[test]
fn the_lease_of_an_engine_that_ended_runs_out() {
    let (engine, _, store, clock) = two();
    engine
        .system(&Caller::local())
        .memories()
        .remember(expiring(0))
        .unwrap();
    let now = clock.advance(1);
    assert_eq!(
        store.inner.lease(
            "sweep in main",
            "an engine that ended",
            now,
            now.plus_seconds(60)
        ),
        Ok(true)
    );
    assert_eq!(engine.background().sweep(), Ok(0));
    clock.advance(60);
    assert_eq!(engine.background().sweep(), Ok(1));
}

/// It ended while the clock was ahead, so that its lease seems to last for hours.
#[test]
fn the_lease_of_an_engine_that_ended_is_free_when_the_clock_is_put_right() {
    let (one, other, _, clock) = two();
    for number in 0..200 {
        one.system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    let right = clock.advance(1);
    clock.advance(8 * 3_600);
    assert_eq!(
        (one.background().sweep(), other.background().sweep()),
        (Ok(64), Ok(0))
    );
    clock.set(right);
    assert_eq!(other.background().sweep(), Ok(64));
    // It is alive after all, and does not rely on the lease that it remembers.
    assert_eq!(
        (one.background().sweep(), other.background().sweep()),
        (Ok(0), Ok(64))
    );
    assert_eq!(rounds(|| other.background().sweep()), [8]);
}

/// Small corrections of the clock happen all the time.
#[test]
fn a_clock_put_back_by_minutes_frees_no_lease() {
    let (one, other, _, clock) = two();
    for number in 0..200 {
        one.system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    let right = clock.advance(1);
    clock.advance(200);
    assert_eq!(one.background().sweep(), Ok(64));
    clock.set(right);
    assert_eq!(
        (
            other.background().sweep(),
            one.background().sweep(),
            other.background().sweep()
        ),
        (Ok(0), Ok(64), Ok(0))
    );
}

/// Another engine need not wait for the leases of one that shuts down cleanly.
#[test]
fn an_end_gives_the_leases_back() {
    let (one, other, _, clock) = two();
    for number in 0..100 {
        one.system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    clock.advance(1);
    assert_eq!(
        (one.background().sweep(), other.background().sweep()),
        (Ok(64), Ok(0))
    );
    one.background().hand_back();
    assert_eq!(other.background().sweep(), Ok(36));
}

/// A round that is told to end continues to the next check of its lease, and no further.
#[test]
fn work_that_was_ended_takes_no_lease_again() {
    let (one, other, store, clock) = two();
    let without_model = Engine::new(
        store.clone(),
        Arc::new(FailingEmbedder::default()),
        clock.clone(),
        SearchMode::Hybrid,
    );
    for number in 0..20 {
        without_model
            .system(&Caller::local())
            .memories()
            .remember(fact(&format!("text {number}"), Visibility::Common))
            .unwrap();
    }
    for number in 0..100 {
        other
            .system(&Caller::local())
            .memories()
            .remember(expiring(number))
            .unwrap();
    }
    clock.advance(1);
    assert_eq!(one.background().sweep(), Ok(64));
    let one = Arc::new(one);
    let ending = Arc::downgrade(&one);
    // As soon as it stores the first text.
    store.before(move |method| {
        if let ("commit", Some(ending)) = (method, ending.upgrade()) {
            ending.background().end_rounds();
        }
        Ok(())
    });
    assert_eq!(
        one.background().embed_pending(),
        Ok(16),
        "what was read is stored, and no more is"
    );
    store.before(|_| Ok(()));
    assert_eq!(
        (one.background().embed_pending(), one.background().sweep()),
        (Ok(0), Ok(0))
    );
    assert_eq!(
        (
            other.background().embed_pending(),
            other.background().sweep()
        ),
        (Ok(4), Ok(36))
    );
}

/// Another engine need not wait for the lease of a round that failed.
#[test]
fn a_round_that_fails_gives_its_lease_back() {
    let (one, other, store, clock) = two();
    one.system(&Caller::local())
        .memories()
        .remember(expiring(0))
        .unwrap();
    clock.advance(1);
    store.before(|method| {
        if method == "sweep" {
            Err(Error::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    });
    assert_eq!(
        one.background().sweep().unwrap_err().code,
        ErrorCode::Unavailable
    );
    store.before(|_| Ok(()));
    assert_eq!(other.background().sweep(), Ok(1));
}

#[test]
fn sweeping_goes_on_while_the_model_is_away() {
    let (_, _, store, clock) = two();
    let engine = Engine::new(
        store,
        Arc::new(FailingEmbedder::default()),
        clock.clone(),
        SearchMode::Hybrid,
    );
    engine
        .system(&Caller::local())
        .memories()
        .remember(fact("to be embedded", Visibility::Common))
        .unwrap();
    engine
        .system(&Caller::local())
        .memories()
        .remember(expiring(0))
        .unwrap();
    clock.advance(1);
    assert_eq!(
        engine.background().embed_pending().unwrap_err().code,
        ErrorCode::Unavailable
    );
    assert_eq!(rounds(|| engine.background().sweep()), [1]);
}

/// Takes long for everything, while another engine tries to take the lease for embedding each time.
struct SlowEmbedder {
    inner: HashingEmbedder,
    clock: Arc<FixedClock>,
    store: Arc<NaiveStore>,
    /// True if another engine got the lease, for each call.
    lost: Mutex<Vec<bool>>,
}

impl Embedder for SlowEmbedder {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let now = self.clock.advance(50);
        let is_lost = self.store.lease(
            &format!("embed {} in main", self.model()),
            "somebody else",
            now,
            now.plus_seconds(1),
        );
        self.lost.lock().unwrap().push(is_lost.unwrap());
        self.inner.embed(texts)
    }
}

/// Neither with many texts nor with a very long one.
#[test]
fn the_lease_on_embedding_does_not_run_out_under_long_work() {
    let (_, _, store, clock) = two();
    let without_model = Engine::new(
        store.clone(),
        Arc::new(FailingEmbedder::default()),
        clock.clone(),
        SearchMode::Hybrid,
    );
    let long = "Some words follow here, and a few others come after them. ".repeat(4_000);
    for content in ["one", "two", "three", &long] {
        without_model
            .system(&Caller::local())
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap();
    }
    let (inner, lost) = (HashingEmbedder::default(), Mutex::default());
    let slow = Arc::new(SlowEmbedder {
        inner,
        clock: clock.clone(),
        store: store.inner.clone(),
        lost,
    });
    let engine = Engine::new(store.clone(), slow.clone(), clock, SearchMode::Hybrid);
    assert_eq!(
        rounds(|| engine.background().embed_pending())
            .iter()
            .sum::<usize>(),
        4
    );
    let lost = slow.lost.lock().unwrap();
    assert!(lost.len() > 4 && !lost.contains(&true), "{lost:?}");
    assert_eq!(
        store
            .inner
            .without_vector(&Partition::Whole, slow.model(), FilingOrder::FirstFirst, 1),
        Ok(vec![])
    );
}

/// Panics on one text.
struct PanickingEmbedder(HashingEmbedder);

impl Embedder for PanickingEmbedder {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        assert!(!texts.contains(&"poison"), "a test");
        self.0.embed(texts)
    }
}

#[test]
fn a_text_over_which_the_model_panics_holds_up_no_other() {
    let (_, _, store, clock) = two();
    let engine = |embedder: Arc<dyn Embedder>| {
        Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid)
    };
    let without_model = engine(Arc::new(FailingEmbedder::default()));
    for content in ["poison", "honey and bread"] {
        without_model
            .system(&Caller::local())
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap();
    }
    assert_eq!(
        engine(Arc::new(PanickingEmbedder(HashingEmbedder::default())))
            .background()
            .embed_pending(),
        Ok(1)
    );
}

/// More than several rounds embed.
const WAITING: usize = 200;

/// Returns an engine that embeds, a function that files texts to be embedded, and the store.
fn embedding(embedder: Arc<dyn Embedder>) -> (Engine, impl Fn(&str) -> MemoryId, Arc<FaultyStore>) {
    let (_, _, store, clock) = two();
    let without_model = Engine::new(
        store.clone(),
        Arc::new(FailingEmbedder::default()),
        clock.clone(),
        SearchMode::Hybrid,
    );
    let file = move |content: &str| {
        without_model
            .system(&Caller::local())
            .memories()
            .remember(fact(content, Visibility::Common))
            .unwrap()
            .memory
            .id
    };
    (
        Engine::new(store.clone(), embedder, clock, SearchMode::Hybrid),
        file,
        store,
    )
}

/// Reports whether the best result of a search was compared by its meaning.
fn is_embedded(engine: &Engine, query: &str) -> bool {
    let recalled = engine
        .system(&Caller::local())
        .search()
        .recall(&question(query))
        .unwrap();
    recalled.hits[0].signals.cosine.is_some()
}

#[test]
fn what_was_filed_last_is_embedded_first() {
    let (engine, file, _) = embedding(Arc::new(HashingEmbedder::default()));
    file("the oldest one is a walrus");
    for number in 0..WAITING {
        file(&format!("text {number}"));
    }
    file("the newest one is a zebra");
    assert!(engine.background().embed_pending().unwrap() > 0);
    assert!(is_embedded(&engine, "zebra"));
    assert!(!is_embedded(&engine, "walrus"));
}

#[test]
fn what_a_search_lacked_is_embedded_next() {
    let (engine, file, _) = embedding(Arc::new(HashingEmbedder::default()));
    for number in 0..WAITING / 2 {
        file(&format!("text {number}"));
    }
    file("a zebra crosses the road");
    for number in 0..WAITING / 2 {
        file(&format!("further text {number}"));
    }
    assert!(!is_embedded(&engine, "zebra"));
    engine.background().embed_pending().unwrap();
    assert!(is_embedded(&engine, "zebra"));
    while engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(
        engine
            .system(&Caller::local())
            .search()
            .recall(&question("text"))
            .unwrap()
            .degraded,
        None
    );
}

/// New texts come in faster than they are embedded.
#[test]
fn what_waits_longest_is_embedded_in_the_end() {
    let (engine, file, store) = embedding(Arc::new(HashingEmbedder::default()));
    let oldest = file("the oldest one is a walrus");
    let is_read = (0..10).any(|round| {
        for number in 0..WAITING / 2 {
            file(&format!("text {number} of round {round}"));
        }
        engine.background().embed_pending().unwrap();
        // Not by a search, which would have it embedded next.
        !store
            .vectors(
                &Space::default(),
                &oldest,
                HashingEmbedder::default().model(),
            )
            .unwrap()
            .is_empty()
    });
    assert!(is_read);
}

/// The queue has changed since the model refused some of its texts.
#[test]
fn what_came_after_a_text_that_was_refused_is_not_passed_over() {
    let embedder = Arc::new(MoodyEmbedder {
        inner: HashingEmbedder::default(),
        is_away: AtomicBool::new(false),
    });
    let (engine, file, _) = embedding(embedder);
    for number in 0..WAITING {
        file(&format!("text {number}"));
    }
    file("poison");
    assert!(engine.background().embed_pending().unwrap() > 0);
    file("honey and bread");
    assert!(engine.background().embed_pending().unwrap() > 0);
    assert!(is_embedded(&engine, "honey"));
    while engine.background().embed_pending().unwrap_or(0) > 0 {}
    let degraded = engine
        .system(&Caller::local())
        .search()
        .recall(&question("text"))
        .unwrap()
        .degraded
        .unwrap();
    assert!(degraded.starts_with("1 of 202 passages"), "{degraded}");
}

#[test]
fn a_search_says_how_many_of_its_candidates_have_no_vector() {
    let (engine, file, _) = embedding(Arc::new(HashingEmbedder::default()));
    for number in 0..3 {
        file(&format!("a zebra crosses road {number}"));
    }
    engine.background().embed_pending().unwrap();
    for number in 0..2 {
        file(&format!("a walrus and a zebra cross ice {number}"));
    }
    file("nothing of that kind");
    let degraded = |query: &str| {
        engine
            .system(&Caller::local())
            .search()
            .recall(&question(query))
            .unwrap()
            .degraded
    };
    let passages = "3 of 6 passages are not embedded yet and were searched by words alone; ";
    let said = |rest: &str| {
        Some(format!(
            "{passages}{rest} candidates for this search have no vector yet"
        ))
    };
    assert_eq!(degraded("zebra"), said("2 of the 5"));
    assert_eq!(degraded("road"), said("0 of the 3"));
    while engine.background().embed_pending().unwrap() > 0 {}
    assert_eq!(degraded("zebra"), None);
}

#[test]
fn messages_are_embedded_in_the_background_too() {
    let embedder = Arc::new(MoodyEmbedder {
        inner: HashingEmbedder::default(),
        is_away: AtomicBool::new(true),
    });
    let engine = engine_with(embedder.clone());
    let ann = caller("ann", &WRITER);
    let said = say(
        &engine,
        &ann,
        "c",
        vec![message(Role::Assistant, "The kettle is blue.")],
    )
    .unwrap();
    assert!(said.pending.is_some());
    embedder.is_away.store(false, Ordering::SeqCst);
    assert_eq!(rounds(|| engine.background().embed_pending()), [1]);
    let recall = Recall {
        tiers: vec![Tier::ShortTerm],
        ..question("kettle")
    };
    assert!(
        engine.system(&ann).search().recall(&recall).unwrap().hits[0]
            .signals
            .cosine
            .is_some()
    );
}

/// Records the number of texts in each call, and loses the lease for embedding after some calls.
struct StepEmbedder {
    inner: HashingEmbedder,
    store: Arc<NaiveStore>,
    clock: Arc<FixedClock>,
    calls_left: AtomicUsize,
    sizes: Mutex<Vec<usize>>,
}

impl Embedder for StepEmbedder {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.sizes.lock().unwrap().push(texts.len());
        if self.calls_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let now = self.clock.advance(1_000);
            self.store
                .lease(
                    &format!("embed {} in main", self.model()),
                    "somebody else",
                    now,
                    now.plus_seconds(600),
                )
                .unwrap();
        }
        self.inner.embed(texts)
    }
}

/// A long text is embedded step by step, and complete memories are stored at once.
#[test]
fn a_lost_lease_throws_away_one_step_at_most() {
    let (_, _, store, clock) = two();
    let without_model = Engine::new(
        store.clone(),
        Arc::new(FailingEmbedder::default()),
        clock.clone(),
        SearchMode::Hybrid,
    );
    let long = "Some words follow here, and a few others come after them. ".repeat(600);
    for number in 0..6 {
        without_model
            .system(&Caller::local())
            .memories()
            .remember(fact(&format!("{number} {long}"), Visibility::Common))
            .unwrap();
    }
    let passages = store.inner.size().unwrap().passages as usize / 6;
    assert!(
        (33..64).contains(&passages),
        "two of them fill a step, which ends within the second: {passages}"
    );
    let embedder = Arc::new(StepEmbedder {
        inner: HashingEmbedder::default(),
        store: store.inner.clone(),
        clock: clock.clone(),
        calls_left: AtomicUsize::new(1),
        sizes: Mutex::default(),
    });
    let engine = Engine::new(store.clone(), embedder.clone(), clock, SearchMode::Hybrid);
    assert_eq!(engine.background().embed_pending(), Ok(1));
    assert_eq!(
        store.inner.pending_embeddings(embedder.model(), usize::MAX),
        Ok(5)
    );
    assert_eq!(*embedder.sizes.lock().unwrap(), [64]);
}

/// The later text wins, even if its write was faster than that of the earlier one.
#[test]
fn a_slow_update_takes_no_memory_back_in_time() {
    let (slow, fast, store, clock) = two();
    let local = Caller::local();
    let memory = slow
        .system(&local)
        .memories()
        .remember(fact("one", Visibility::Common))
        .unwrap()
        .memory;
    let (id, was_faster) = (memory.id.clone(), AtomicBool::new(false));
    let later = memory.updated_at.plus_seconds(60);
    store.before(move |method| {
        if method == "commit" && !was_faster.swap(true, Ordering::SeqCst) {
            clock.set(later);
            fast.system(&Caller::local())
                .memories()
                .update(&id, "three", None)?;
        }
        Ok(())
    });
    let (updated, _) = slow
        .system(&local)
        .memories()
        .update(&memory.id, "two", None)
        .unwrap();
    assert_eq!(
        (updated.content.as_str(), updated.updated_at),
        ("two", later)
    );
    store.before(|_| Ok(()));
    assert_eq!(
        slow.system(&local)
            .memories()
            .show(&memory.id)
            .unwrap()
            .updated_at,
        later
    );
}

/// The clock of a store that was swept before jumps by ten years.
#[test]
fn a_clock_that_jumps_removes_nothing_for_good() {
    let (one, other, store, clock) = two();
    let ann = caller("ann", &WRITER);
    let memories = || store.inner.size().unwrap().memories;
    one.system(&ann)
        .memories()
        .remember(Remember {
            ttl_seconds: Some(90 * 86_400),
            ..fact("it expires", Visibility::Common)
        })
        .unwrap();
    assert_eq!(one.background().sweep(), Ok(0));
    let id = one
        .system(&ann)
        .memories()
        .remember(fact("it was discarded", Visibility::Private))
        .unwrap()
        .memory
        .id;
    one.system(&ann)
        .memories()
        .discard(&loci_engine::Discard {
            id: Some(id),
            ..loci_engine::Discard::default()
        })
        .unwrap();
    clock.jump(3_650 * DAY);
    assert!(
        one.system(&ann)
            .listings()
            .list(everything(10))
            .unwrap()
            .is_empty(),
        "reads go by the clock"
    );
    assert_eq!(
        (rounds(|| one.background().sweep()), memories()),
        (vec![], 2)
    );
    assert_eq!(
        (rounds(|| other.background().sweep()), memories()),
        (vec![], 2),
        "nor does another process"
    );
    // Time passes, and records that expire until then are removed.
    clock.advance(10);
    assert_eq!(
        (rounds(|| one.background().sweep()), memories()),
        (vec![1], 1)
    );
    // Once the clock is corrected, it is as if there had been no jump.
    clock.jump(-3_650 * DAY);
    assert_eq!(
        (
            rounds(|| one.background().sweep()),
            one.system(&ann)
                .listings()
                .list(everything(10))
                .unwrap()
                .len()
        ),
        (vec![], 1)
    );
    assert_eq!(store.inner.sweep_clock().unwrap().unwrap().jump, None);
}

/// Confirmed by a user; or by a day, if no process saw it, so that the machine may have been off.
#[test]
fn a_jump_of_the_clock_is_confirmed_by_a_person_or_by_a_day_if_none_saw_it() {
    for (is_told, is_seen) in [(true, true), (false, true), (false, false)] {
        let (one, other, store, clock) = two();
        one.system(&Caller::local())
            .memories()
            .remember(expiring(0))
            .unwrap();
        assert_eq!(one.background().sweep(), Ok(0));
        one.system(&Caller::local())
            .memories()
            .remember(Remember {
                ttl_seconds: Some(30 * 86_400),
                ..fact("later", Visibility::Common)
            })
            .unwrap();
        clock.jump(3_650 * DAY);
        let sweeper = if is_seen { one } else { other };
        assert_eq!(sweeper.background().sweep(), Ok(0));
        if is_told {
            sweeper.background().trust_clock().unwrap();
        }
        for hour in 0..24 {
            let swept = rounds(|| sweeper.background().sweep()).len();
            // The first one expires after a second that did pass.
            let expected = if is_told {
                usize::from(hour == 0)
            } else {
                usize::from(hour == 1)
            };
            assert_eq!(swept, expected, "{is_told} {is_seen} {hour}");
            clock.advance(3_600);
        }
        assert_eq!(
            rounds(|| sweeper.background().sweep()).len(),
            usize::from(!is_seen)
        );
        assert_eq!(
            store.inner.size().unwrap().memories,
            u64::from(is_seen && !is_told)
        );
    }
}

/// A process saw the first jump, and none the second one, e.g. because the machine was off for
/// days or started with another wrong time.
#[test]
fn two_faults_of_the_clock_together_remove_nothing_for_good() {
    for [first, second] in [[3_650, 3_650], [365, 3_650], [-365, 3_650], [3_650, 2]] {
        let (one, other, store, clock) = two();
        let ann = caller("ann", &WRITER);
        one.system(&ann)
            .memories()
            .remember(Remember {
                ttl_seconds: Some(90 * 86_400),
                ..fact("it expires", Visibility::Common)
            })
            .unwrap();
        assert_eq!(one.background().sweep(), Ok(0));
        clock.jump(first * DAY);
        assert_eq!(one.background().sweep(), Ok(0));
        clock.jump(second * DAY);
        for _ in 0..72 {
            assert_eq!(other.background().sweep(), Ok(0), "{first} {second}");
            clock.advance(3_600);
        }
        assert_eq!(store.inner.size().unwrap().memories, 1);
    }
}

/// Two machines with one store: the clock of one jumps, that of the other is right and goes off.
#[test]
fn a_jump_that_one_machine_saw_waits_for_a_person_whatever_another_one_writes() {
    let (one, _, store, clock) = two();
    let right = Arc::new(FixedClock::default());
    right.set(clock.now());
    let embedder = Arc::new(HashingEmbedder::default());
    let other = Engine::new(store.clone(), embedder, right.clone(), SearchMode::Hybrid);
    one.system(&Caller::local())
        .memories()
        .remember(Remember {
            ttl_seconds: Some(90 * 86_400),
            ..fact("it expires", Visibility::Common)
        })
        .unwrap();
    assert_eq!(one.background().sweep(), Ok(0));
    clock.jump(3_650 * DAY);
    for _ in 0..3 {
        assert_eq!(one.background().sweep(), Ok(0));
        assert_eq!(other.background().sweep(), Ok(0));
        clock.advance(3_600);
        right.advance(3_600);
    }
    for _ in 0..72 {
        assert_eq!(one.background().sweep(), Ok(0));
        clock.advance(3_600);
    }
    assert_eq!(store.inner.size().unwrap().memories, 1);
}
