//! Tests of data that is buffered in memory and written later: audit entries and access counts.

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use loci_core::{AuditFailure, AuditQuery, AuditStore, Store};
use loci_engine::Policy;

use super::faulty_store::FaultyStore;
use super::*;

/// Returns a bench whose store a test can fail.
fn faulty() -> (Arc<Engine>, Arc<FaultyStore>) {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let clock = Arc::new(FixedClock::default());
    let embedder = Arc::new(HashingEmbedder::default());
    let engine = Engine::new(store.clone(), embedder, clock, SearchMode::Words);
    (
        Arc::new(engine.with_policy(Policy {
            audit_buffer: 3,
            ..Policy::default()
        })),
        store,
    )
}

fn call(engine: &Engine, user: &str, tool: impl std::fmt::Display) -> AuditEntry {
    AuditEntry {
        space: Space::default(),
        at: engine.now(),
        user: Some(user.to_owned()),

        caller: None,
        client: None,
        session: None,
        dialect: "test".to_owned(),
        tool: tool.to_string(),
        operation: "search".to_owned(),
        duration_microseconds: 1,
        query: None,
        results: None,
        reply_tokens: None,
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    }
}

fn all() -> AuditQuery {
    AuditQuery {
        limit: usize::MAX,
        ..AuditQuery::default()
    }
}

/// Returns the tools in the store's audit log.
fn written(store: &FaultyStore) -> Vec<String> {
    store
        .inner
        .audit(&all())
        .unwrap()
        .into_iter()
        .map(|(_, entry)| entry.tool)
        .collect()
}

fn down(method: &str, down: &[&str]) -> Result<()> {
    if down.contains(&method) {
        Err(Error::unavailable("the disk is full"))
    } else {
        Ok(())
    }
}

/// Returns each of these memories to the caller once.
fn recall(engine: &Engine, caller: &Caller, query: &str) -> Vec<u64> {
    let recall = Recall {
        counts_access: true,
        ..question(query)
    };
    engine
        .system(caller)
        .search()
        .recall(&recall)
        .unwrap()
        .hits
        .iter()
        .map(|hit| hit.signals.access_count)
        .collect()
}

#[test]
fn calls_of_today_grow_with_each_call_and_not_with_a_flush() {
    let (engine, _) = faulty();
    let of = |space: &str| {
        let space = Space::parse("space", space).unwrap();
        engine.audit().calls_today(&space).unwrap()
    };
    let own = call(&engine, "ann", 0).space;
    let calls = || (of(own.as_str()), of("another"));
    let mut seen = vec![calls()];
    for tool in 0..2 {
        engine.audit().record(call(&engine, "ann", tool));
        seen.push(calls());
        engine.audit().flush().unwrap();
        seen.push(calls());
    }
    assert_eq!(seen, [(0, 0), (1, 0), (1, 0), (2, 0), (2, 0)]);
}

#[test]
fn notes_are_written_in_their_order_by_a_flush_and_before_the_log_is_read() {
    let (engine, store) = faulty();
    for tool in 0..3 {
        engine.audit().record(call(&engine, "ann", tool));
    }
    assert_eq!((written(&store).len(), engine.audit().buffered()), (0, 3));
    engine.audit().flush().unwrap();
    assert_eq!(
        (written(&store), engine.audit().buffered()),
        (["0", "1", "2"].map(str::to_owned).to_vec(), 0)
    );
    engine.audit().record(call(&engine, "bob", 3));
    let read = engine
        .audit()
        .entries(&AuditQuery {
            user: Some("bob".to_owned()),
            ..all()
        })
        .unwrap();
    assert_eq!(
        read.into_iter()
            .map(|(number, entry)| (number, entry.tool))
            .collect::<Vec<_>>(),
        [(4, "3".to_owned())]
    );
}

#[test]
fn a_call_that_quotes_nul_holds_up_no_other() {
    let (engine, store) = faulty();
    let mut quoting = call(&engine, "ann", "recall");
    quoting.query = Some("a\0b".to_owned());
    quoting.failure = Some(AuditFailure {
        code: ErrorCode::NotFound,
        message: Some("no wing `a\0b`".to_owned()),
    });
    engine.audit().record(quoting);
    engine.audit().record(call(&engine, "ann", "list"));
    engine.audit().flush().unwrap();
    let entries = store.inner.audit(&all()).unwrap();
    assert_eq!(entries.len(), 2);
    let entry = &entries[0].1;
    assert_eq!(entry.query.as_deref(), Some("a\u{fffd}b"));
    let message = entry.failure.as_ref().unwrap().message.as_deref();
    assert_eq!(message, Some("no wing `a\u{fffd}b`"));
}

#[test]
fn a_flush_of_nothing_touches_no_store() {
    let (engine, store) = faulty();
    store.before(|method| down(method, &["touch", "append_audit"]));
    assert_eq!(engine.audit().flush(), Ok(()));
}

#[test]
fn the_bell_rings_for_the_first_note_and_for_every_full_buffer() {
    let (engine, _) = faulty();
    let rings = || {
        engine.audit().record(call(&engine, "ann", "any"));
        engine.audit().wakeup().wait(Duration::ZERO)
    };
    let rung: Vec<bool> = (0..7).map(|_| rings()).collect();
    assert_eq!(rung, [true, false, true, false, false, true, false]);
    engine.audit().flush().unwrap();
    assert!(rings());
}

#[test]
fn what_cannot_be_written_is_kept_in_its_order() {
    let (engine, store) = faulty();
    let ann = caller("ann", &WRITER);
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("the kettle is blue", Visibility::Private))
        .unwrap()
        .memory
        .id;
    let rows: [(&str, &[&str]); 3] = [
        ("a", &["touch"]),
        ("b", &["append_audit"]),
        ("c", &["touch", "append_audit"]),
    ];
    for (tool, broken) in rows {
        store.before(move |method| down(method, broken));
        engine.audit().record(call(&engine, "ann", tool));
        recall(&engine, &ann, "kettle");
        assert_eq!(
            engine.audit().flush().unwrap_err().code,
            ErrorCode::Unavailable
        );
    }
    store.before(|_| Ok(()));
    engine.audit().record(call(&engine, "ann", "d"));
    engine.audit().flush().unwrap();
    engine.audit().flush().unwrap();
    assert_eq!(written(&store), ["a", "b", "c", "d"]);
    assert_eq!(store.inner.accesses(&ann.space, &[id]).unwrap(), [3]);
}

#[test]
fn returns_are_counted_before_during_and_after_a_flush() {
    let (engine, store) = faulty();
    let ann = caller("ann", &WRITER);
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("the kettle is blue", Visibility::Private))
        .unwrap()
        .memory
        .id;
    assert_eq!(
        [
            recall(&engine, &ann, "kettle"),
            recall(&engine, &ann, "kettle")
        ],
        [[0], [1]]
    );

    // A flush that has taken the counts, and has not written them yet.
    let (entered, is_entered) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    store.before(move |method| {
        if method == "touch" {
            entered.send(()).unwrap();
            gate.lock()
                .unwrap()
                .recv_timeout(Duration::from_mins(1))
                .unwrap();
        }
        Ok(())
    });
    thread::scope(|scope| {
        let flush = scope.spawn(|| engine.audit().flush());
        is_entered.recv_timeout(Duration::from_mins(1)).unwrap();
        assert_eq!(recall(&engine, &ann, "kettle"), [2]);
        engine
            .audit()
            .record(call(&engine, "ann", "while it writes"));
        open.send(()).unwrap();
        flush.join().unwrap().unwrap();
    });
    assert_eq!(recall(&engine, &ann, "kettle"), [3]);
    store.before(|_| Ok(()));
    engine.audit().flush().unwrap();
    assert_eq!(recall(&engine, &ann, "kettle"), [4]);
    assert_eq!(store.inner.accesses(&ann.space, &[id]).unwrap(), [4]);
}

#[test]
fn concurrent_flushes_write_everything_once() {
    const THREADS: usize = 4;
    const CALLS: usize = 200;
    let (engine, store) = faulty();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || {
                for number in 0..CALLS {
                    engine
                        .audit()
                        .record(call(engine, "ann", format!("{thread}-{number:03}")));
                    engine.audit().flush().unwrap();
                }
            });
        }
    });
    let written = written(&store);
    for thread in 0..THREADS {
        let of_thread: Vec<_> = written
            .iter()
            .filter(|tool| tool.starts_with(&format!("{thread}-")))
            .collect();
        let expected: Vec<_> = (0..CALLS)
            .map(|number| format!("{thread}-{number:03}"))
            .collect();
        assert!(of_thread.into_iter().eq(&expected));
    }
    assert_eq!(written.len(), THREADS * CALLS);
}

/// The call that finds the buffer full writes it; if that fails, the oldest entries are dropped.
#[test]
fn a_full_buffer_is_written_by_its_caller_or_loses_the_oldest() {
    let (engine, store) = faulty();
    let fill = || {
        (0..=limits::BUFFERED_MAX)
            .for_each(|number| engine.audit().record(call(&engine, "ann", number)));
    };
    fill();
    assert_eq!(
        (engine.audit().buffered(), written(&store).len()),
        (0, limits::BUFFERED_MAX + 1)
    );

    store.before(|method| down(method, &["append_audit"]));
    fill();
    let kept = engine.audit().buffered();
    assert!(
        kept > limits::BUFFERED_MAX / 2 && kept < limits::BUFFERED_MAX,
        "{kept}"
    );
    store.before(|_| Ok(()));
    engine.audit().flush().unwrap();
    let written = written(&store);
    let newest: Vec<String> = (limits::BUFFERED_MAX + 1 - kept..=limits::BUFFERED_MAX)
        .map(|n| n.to_string())
        .collect();
    assert_eq!(written[limits::BUFFERED_MAX + 1..], newest);
}

/// A caller that waited for a failed flush need not wait as long again for its own.
#[test]
fn a_flush_that_fails_fails_for_those_who_wait_for_it() {
    let (engine, store) = faulty();
    engine.audit().record(call(&engine, "ann", "any"));
    let is_spared = || {
        let (entered, is_entered) = mpsc::channel();
        let (comes, second) = mpsc::channel();
        let second = Mutex::new(second);
        let attempts = Arc::<AtomicUsize>::default();
        let counted = attempts.clone();
        store.before(move |method| {
            if method == "append_audit" && counted.fetch_add(1, Ordering::SeqCst) == 0 {
                entered.send(()).unwrap();
                second
                    .lock()
                    .unwrap()
                    .recv_timeout(Duration::from_mins(1))
                    .unwrap();
            }
            down(method, &["append_audit"])
        });
        thread::scope(|scope| {
            let first = scope.spawn(|| engine.audit().flush());
            is_entered.recv_timeout(Duration::from_mins(1)).unwrap();
            comes.send(()).unwrap();
            assert_eq!(
                engine.audit().flush().unwrap_err().code,
                ErrorCode::Unavailable
            );
            assert_eq!(
                first.join().unwrap().unwrap_err().code,
                ErrorCode::Unavailable
            );
        });
        attempts.load(Ordering::SeqCst) == 1
    };
    // The second one may come too late to wait, but not every time.
    assert!((0..1_000).any(|_| is_spared()));
    assert_eq!(engine.audit().buffered(), 1);
}

/// A busy store does not delay a shutdown twice.
#[test]
fn a_flush_ends_at_the_first_write_that_fails() {
    let (engine, store) = faulty();
    let ann = caller("ann", &WRITER);
    engine
        .system(&ann)
        .memories()
        .remember(fact("the kettle is blue", Visibility::Private))
        .unwrap();
    recall(&engine, &ann, "kettle");
    engine.audit().record(call(&engine, "ann", "any"));
    let writes = Arc::new(Mutex::new(Vec::new()));
    let seen = writes.clone();
    store.before(move |method| {
        seen.lock().unwrap().push(method.to_owned());
        down(method, &["touch", "append_audit"])
    });
    assert_eq!(
        engine.audit().flush().unwrap_err().code,
        ErrorCode::Unavailable
    );
    assert_eq!(*writes.lock().unwrap(), ["append_audit"]);
    assert_eq!(engine.audit().buffered(), 2);
}

/// A wipe also covers entries that no process has written yet, unless the call started after it.
#[test]
fn a_wipe_takes_the_notes_of_earlier_calls_alone() {
    let clock = Arc::new(FixedClock::default());
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let engine = || {
        let embedder = Arc::new(HashingEmbedder::default());
        Arc::new(Engine::new(
            store.clone(),
            embedder,
            clock.clone(),
            SearchMode::Words,
        ))
    };
    let (engine, elsewhere, ann) = (engine(), engine(), caller("ann", &WRITER));
    engine.audit().record(call(&engine, "ann", "before"));
    elsewhere
        .audit()
        .record(call(&elsewhere, "ann", "before, elsewhere"));
    let begun = call(&engine, "ann", "begun before");
    clock.advance(1);
    let (noting, moving) = (Arc::downgrade(&engine), clock.clone());
    store.before(move |method| {
        if method == "wipe" {
            let engine = noting.upgrade().unwrap();
            engine.audit().record(begun.clone());
            engine.audit().record(call(&engine, "bob", "meanwhile"));
            moving.advance(1);
            engine.audit().record(call(&engine, "ann", "after"));
        }
        Ok(())
    });
    assert_eq!(engine.system(&ann).wipe().unwrap().audit_entries, 1);
    engine.audit().record(call(&engine, "ann", "wipe"));
    elsewhere.audit().flush().unwrap();
    let read = engine.audit().entries(&all()).unwrap();
    assert_eq!(
        read.into_iter()
            .map(|(_, entry)| entry.tool)
            .collect::<Vec<_>>(),
        ["meanwhile", "after", "wipe"]
    );
}
