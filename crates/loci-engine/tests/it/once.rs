//! Doing once what is asked for several times.

use std::sync::atomic::AtomicUsize;

use loci_core::Clock;
use loci_engine::{Keyed, Policy};

use super::*;

fn keyed<'a>(key: &'a str, request: &'a str) -> Keyed<'a> {
    Keyed { operation: "bundle", key, request }
}

fn says(answer: &str) -> impl FnOnce() -> Result<String> {
    let answer = answer.to_owned();
    || Ok(answer)
}

/// Work that nobody should do.
fn never() -> Result<String> {
    Err(Error::internal("it was done again"))
}

#[test]
fn an_answer_serves_the_same_request_under_its_key_until_its_time_is_over() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let begun = clock.now();
    assert_eq!(engine.once(&ann, keyed("k", "one"), says("first")), Ok("first".to_owned()));
    assert_eq!(engine.once(&ann, keyed("k", "one"), never), Ok("first".to_owned()));
    let error = engine.once(&ann, keyed("k", "two"), never).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.starts_with("`idempotency_key`"));

    let ttl = i64::try_from(Policy::default().keyed_answer_ttl_seconds).unwrap();
    clock.set(Timestamp::from_microseconds(begun.plus_seconds(ttl).microseconds() - 1));
    assert_eq!(engine.once(&ann, keyed("k", "one"), never), Ok("first".to_owned()));
    clock.set(begun.plus_seconds(ttl));
    assert_eq!(engine.once(&ann, keyed("k", "two"), says("second")), Ok("second".to_owned()));
}

#[test]
fn keys_are_apart_by_caller_space_operation_and_name() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    assert_eq!(engine.once(&ann, keyed("k", "r"), says("anns")), Ok("anns".to_owned()));
    let elsewhere = Caller { space: Space::parse("space", "elsewhere").unwrap(), ..ann.clone() };
    let others = [
        (caller("bob", &WRITER), keyed("k", "r"), "bobs"),
        (anonymous(), keyed("k", "r"), "nobodys"),
        (elsewhere, keyed("k", "r"), "elsewhere"),
        (ann.clone(), Keyed { operation: "append", ..keyed("k", "r") }, "another operation"),
        (ann.clone(), keyed("K", "r"), "another key"),
    ];
    for (caller, keyed, answer) in &others {
        assert_eq!(engine.once(caller, *keyed, says(answer)).as_deref(), Ok(*answer));
    }
    for (caller, keyed, answer) in &others {
        assert_eq!(engine.once(caller, *keyed, never).as_deref(), Ok(*answer));
    }
    assert_eq!(engine.once(&ann, keyed("k", "r"), never).as_deref(), Ok("anns"));
}

/// An answer may hold what only the first of two tokens may read.
#[test]
fn an_answer_is_for_the_same_rights_alone() {
    let engine = engine();
    let readers = |origin| Caller { origin, is_claimed: true, ..caller("ann", &WRITER) };
    let callers = [caller("ann", &[Scope::Admin]), caller("ann", &WRITER), readers("one"), readers("two")];
    for (place, first) in callers.iter().enumerate() {
        let key = place.to_string();
        engine.once(first, keyed(&key, "r"), says("answer")).unwrap();
        for other in &callers {
            let answer = engine.once(other, keyed(&key, "r"), never);
            if other == first {
                assert_eq!(answer.as_deref(), Ok("answer"));
            } else {
                assert_eq!(answer.unwrap_err().code, ErrorCode::Conflict);
            }
        }
    }
}

#[test]
fn work_that_fails_leaves_nothing_and_keys_have_limits() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let fails = || Err(Error::unavailable("the disk is full"));
    assert_eq!(engine.once(&ann, keyed("k", "r"), fails).unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(engine.once(&ann, keyed("k", "another"), says("done")).as_deref(), Ok("done"));
    for key in ["", " ", "a\nb", &"k".repeat(257)] {
        let error = engine.once(&ann, keyed(key, "r"), never).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.starts_with("`idempotency_key`"), "{error}");
    }
    let longest = "é".repeat(256);
    assert_eq!(engine.once(&ann, keyed(&longest, "r"), says("done")).as_deref(), Ok("done"));
}

#[test]
fn of_several_calls_at_once_one_does_the_work() {
    const CALLS: usize = 16;
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let done = AtomicUsize::new(0);
    let work = || Ok(format!("answer {}", done.fetch_add(1, Ordering::SeqCst)));
    let answers: Vec<String> = std::thread::scope(|scope| {
        let call = || engine.once(&ann, keyed("k", "r"), work).unwrap();
        let calls: Vec<_> = (0..CALLS).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(answers, vec!["answer 0"; CALLS]);
    assert_eq!(done.into_inner(), 1);
}

#[test]
fn of_two_processes_at_once_both_get_the_answer_of_the_faster_one() {
    let Bench { engine, store, clock } = bench();
    let ann = caller("ann", &WRITER);
    let other = Engine::new(store, Arc::new(HashingEmbedder::default()), clock, SearchMode::Hybrid);
    let slower = || {
        other.once(&ann, keyed("k", "r"), says("faster"))?;
        other.once(&ann, keyed("l", "another"), says("faster"))?;
        Ok("slower".to_owned())
    };
    assert_eq!(engine.once(&ann, keyed("k", "r"), slower).as_deref(), Ok("faster"));
    assert_eq!(engine.once(&ann, keyed("k", "r"), never).as_deref(), Ok("faster"));
    // The faster one asked for something else.
    let slower = || {
        other.once(&ann, keyed("m", "another"), says("faster"))?;
        Ok("slower".to_owned())
    };
    assert_eq!(engine.once(&ann, keyed("m", "r"), slower).unwrap_err().code, ErrorCode::Conflict);
}

#[test]
fn a_wipe_takes_answers_and_what_was_under_way() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    engine.once(&ann, keyed("k", "r"), says("before")).unwrap();
    let wiped = || engine.wipe(&ann).map(|_| "meanwhile".to_owned());
    assert_eq!(engine.once(&ann, keyed("l", "r"), wiped).unwrap_err().code, ErrorCode::Conflict);
    for key in ["k", "l"] {
        assert_eq!(engine.once(&ann, keyed(key, "r"), says("after")).as_deref(), Ok("after"), "{key}");
    }
}

/// The locks of memories are others than those of keys.
#[test]
fn the_work_may_change_memories() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let id = engine.remember(&ann, fact("counts to zero", Visibility::Private)).unwrap().memory.id;
    for number in 0..200 {
        let work = || engine.update(&ann, &id, &format!("counts to {number}"), None).map(|_| "done".to_owned());
        assert_eq!(engine.once(&ann, keyed(&number.to_string(), "r"), work).as_deref(), Ok("done"));
    }
}
