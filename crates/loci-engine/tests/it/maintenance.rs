//! What goes on in the background besides enrichment.

use std::sync::Mutex;

use loci_core::{Clock, Store};
use loci_engine::{Maintained, Policy};

use super::faulty_store::FaultyStore;
use super::*;

const DAY: i64 = 86_400;

/// Two engines on one store, in two processes as far as it can tell.
fn two() -> (Engine, Engine, Arc<FaultyStore>, Arc<FixedClock>) {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let engine = || {
        let embedder = Arc::new(HashingEmbedder::default());
        let policy = Policy { purge_after_seconds: 2, audit_retention_seconds: 3, ..Policy::default() };
        Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Hybrid).with_policy(policy)
    };
    (engine(), engine(), store, clock)
}

fn expiring(number: usize) -> Remember {
    Remember { ttl_seconds: Some(1), ..fact(&format!("number {number}"), Visibility::Common) }
}

#[test]
fn every_kind_is_swept_when_its_time_is_over() {
    let (engine, _, store, clock) = two();
    let ann = caller("ann", &WRITER);
    let begun = clock.now();
    engine.remember(&ann, expiring(0)).unwrap();
    let discarded = engine.remember(&ann, fact("soon discarded", Visibility::Private)).unwrap().memory.id;
    let which = loci_engine::Discard { id: Some(discarded), ..loci_engine::Discard::default() };
    assert_eq!(engine.discard(&ann, &which), Ok(1));
    engine.remember(&ann, fact("it stays", Visibility::Private)).unwrap();
    engine.audit(AuditEntry {
        space: ann.space.clone(),
        at: begun,
        user: None,
        dialect: "test".to_owned(),
        tool: "test".to_owned(),
        operation: "search".to_owned(),
        duration_microseconds: 0,
        query: None,
        results: None,
        failure: None,
    });
    engine.cache_answer(&ann, mint(), "when is tea?", "at four").unwrap();
    engine.decide(&ann, "tea", "at four", Some(1)).unwrap();
    engine.wipe(&caller("bob", &WRITER)).unwrap();

    // The second in which something goes, and what it is.
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
        assert_eq!(engine.maintain(), Ok(Maintained { swept, embedded: 0 }), "{what}");
    }
    assert_eq!(store.inner.size().unwrap().memories, 1);
}

#[test]
fn a_round_is_bounded_and_the_next_one_goes_on() {
    let (engine, _, store, clock) = two();
    for number in 0..2_100 {
        engine.remember(&Caller::local(), expiring(number)).unwrap();
    }
    clock.advance(1);
    let batches = Arc::new(Mutex::new(0));
    let counted = batches.clone();
    store.before(move |method| {
        *counted.lock().unwrap() += usize::from(method == "sweep");
        Ok(())
    });
    let rounds: Vec<usize> = (0..3).map(|_| engine.maintain().unwrap().swept).collect();
    assert_eq!(rounds, [2_048, 52, 0]);
    assert_eq!(*batches.lock().unwrap(), 33);
}

/// While one engine is at it, another one finds nothing to do.
#[test]
fn one_engine_at_a_time_sweeps_and_embeds() {
    for (method, done) in
        [("sweep", Maintained { swept: 1, embedded: 0 }), ("commit", Maintained { swept: 0, embedded: 1 })]
    {
        let (one, other, store, clock) = two();
        if method == "sweep" {
            one.remember(&Caller::local(), expiring(0)).unwrap();
        } else {
            let away = Arc::new(FailingEmbedder::default());
            let without_model = Engine::new(store.clone(), away, clock.clone(), SearchMode::Hybrid);
            without_model.remember(&Caller::local(), fact("to be embedded", Visibility::Common)).unwrap();
        }
        clock.advance(1);
        let meanwhile = Arc::new(Mutex::new(Vec::new()));
        let seen = meanwhile.clone();
        store.before(move |entered| {
            if entered == method {
                seen.lock().unwrap().push(other.maintain());
            }
            Ok(())
        });
        assert_eq!(one.maintain(), Ok(done));
        assert_eq!(*meanwhile.lock().unwrap(), [Ok(Maintained::default())]);
        store.before(|_| Ok(()));
    }
}

#[test]
fn the_lease_of_an_engine_that_ended_runs_out() {
    let (engine, _, store, clock) = two();
    engine.remember(&Caller::local(), expiring(0)).unwrap();
    let now = clock.advance(1);
    assert_eq!(store.inner.lease("sweep", "an engine that ended", now, now.plus_seconds(60)), Ok(true));
    assert_eq!(engine.maintain().unwrap().swept, 0);
    clock.advance(60);
    assert_eq!(engine.maintain().unwrap().swept, 1);
}

/// Another engine need not wait for the lease of a round that failed.
#[test]
fn a_round_that_fails_gives_its_lease_back() {
    let (one, other, store, clock) = two();
    one.remember(&Caller::local(), expiring(0)).unwrap();
    clock.advance(1);
    store.before(|method| if method == "sweep" { Err(Error::unavailable("the disk is full")) } else { Ok(()) });
    assert_eq!(one.maintain().unwrap_err().code, ErrorCode::Unavailable);
    store.before(|_| Ok(()));
    assert_eq!(other.maintain().unwrap().swept, 1);
}

#[test]
fn messages_are_embedded_in_the_background_too() {
    let embedder = Arc::new(MoodyEmbedder { inner: HashingEmbedder::default(), is_away: AtomicBool::new(true) });
    let engine = engine_with(embedder.clone());
    let ann = caller("ann", &WRITER);
    let said = say(&engine, &ann, "c", vec![message(Role::Assistant, "The kettle is blue.")]).unwrap();
    assert!(said.pending.is_some());
    embedder.is_away.store(false, Ordering::SeqCst);
    assert_eq!(engine.maintain().unwrap().embedded, 1);
    let recall = Recall { tier: Some(Tier::ShortTerm), ..question("kettle") };
    assert!(engine.recall(&ann, &recall).unwrap().hits[0].signals.cosine.is_some());
}

#[test]
fn a_round_writes_what_was_noted() {
    let bench = bench();
    let ann = caller("ann", &WRITER);
    let id = bench.engine.remember(&ann, fact("the kettle is blue", Visibility::Private)).unwrap().memory.id;
    bench.engine.recall(&ann, &Recall { counts_access: true, ..question("kettle") }).unwrap();
    assert_eq!(
        (bench.engine.buffered(), bench.store.accesses(&ann.space, std::slice::from_ref(&id)).unwrap()),
        (1, vec![0])
    );
    bench.engine.maintain().unwrap();
    assert_eq!((bench.engine.buffered(), bench.store.accesses(&ann.space, &[id]).unwrap()), (0, vec![1]));
}
