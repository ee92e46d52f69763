//! Tests of idempotency keys: repeated calls do their work once.

use std::sync::atomic::AtomicUsize;

use loci_core::Clock;
use loci_engine::{Answer, KeyedRequest, Policy};

use super::*;

fn keyed<'a>(key: &'a str, request: &'a str) -> KeyedRequest<'a> {
    KeyedRequest {
        operation: "bundle",
        key,
        request,
    }
}

fn says(answer: &str) -> impl FnOnce() -> Result<Answer> + use<> {
    let answer = whole(answer);
    || Ok(answer)
}

/// Returns an answer that is to be stored.
fn whole(text: &str) -> Answer {
    Answer {
        text: text.to_owned(),
        memories: Vec::new(),
        is_kept: true,
    }
}

/// Work that must not be done.
fn never() -> Result<Answer> {
    Err(Error::internal("it was done again"))
}

#[test]
fn an_answer_serves_the_same_request_under_its_key_until_its_time_is_over() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let begun = clock.now();
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "one"), says("first")),
        Ok("first".to_owned())
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "one"), never),
        Ok("first".to_owned())
    );
    let error = engine
        .system(&ann)
        .idempotency()
        .once(keyed("k", "two"), never)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.starts_with("`idempotency_key`"));

    let ttl = i64::try_from(Policy::default().idempotent_reply_ttl_seconds).unwrap();
    clock.set(Timestamp::from_microseconds(
        begun.plus_seconds(ttl).microseconds() - 1,
    ));
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "one"), never),
        Ok("first".to_owned())
    );
    clock.set(begun.plus_seconds(ttl));
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "two"), says("second")),
        Ok("second".to_owned())
    );
}

#[test]
fn keys_are_apart_by_caller_space_operation_and_name() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), says("anns")),
        Ok("anns".to_owned())
    );
    let elsewhere = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..ann.clone()
    };
    let others = [
        (caller("bob", &WRITER), keyed("k", "r"), "bobs"),
        (anonymous(), keyed("k", "r"), "nobodys"),
        (elsewhere, keyed("k", "r"), "elsewhere"),
        (
            ann.clone(),
            KeyedRequest {
                operation: "append",
                ..keyed("k", "r")
            },
            "another operation",
        ),
        (ann.clone(), keyed("K", "r"), "another key"),
    ];
    for (caller, keyed, answer) in &others {
        assert_eq!(
            engine
                .system(caller)
                .idempotency()
                .once(*keyed, says(answer))
                .as_deref(),
            Ok(*answer)
        );
    }
    for (caller, keyed, answer) in &others {
        assert_eq!(
            engine
                .system(caller)
                .idempotency()
                .once(*keyed, never)
                .as_deref(),
            Ok(*answer)
        );
    }
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), never)
            .as_deref(),
        Ok("anns")
    );
}

/// A request under a key is the same through any token or transport.
#[test]
fn an_answer_is_for_all_tokens_of_its_owner() {
    let engine = engine();
    let claiming = |origin| Caller {
        origin,
        is_claimed: true,
        ..caller("ann", &WRITER)
    };
    let callers = [
        caller("ann", &[Scope::Admin]),
        caller("ann", &WRITER),
        claiming("one"),
        claiming("two"),
    ];
    for (place, first) in callers.iter().enumerate() {
        let key = place.to_string();
        engine
            .system(first)
            .idempotency()
            .once(keyed(&key, "r"), says("answer"))
            .unwrap();
        for other in &callers {
            assert_eq!(
                engine
                    .system(other)
                    .idempotency()
                    .once(keyed(&key, "r"), never)
                    .as_deref(),
                Ok("answer")
            );
            assert_eq!(
                engine
                    .system(other)
                    .idempotency()
                    .once(keyed(&key, "s"), never)
                    .unwrap_err()
                    .code,
                ErrorCode::Conflict
            );
        }
    }
}

/// Returns a memory, and an answer that contains its text.
fn holding(engine: &Engine, owner: &Caller, visibility: Visibility) -> (MemoryId, Answer) {
    let id = engine
        .system(owner)
        .memories()
        .remember(fact("the bees swarm in May", visibility))
        .unwrap()
        .memory
        .id;
    (
        id.clone(),
        Answer {
            memories: vec![id],
            ..whole("the bees swarm in May")
        },
    )
}

/// It may have been made for a token with other rights: then the work is done only for this one.
#[test]
fn an_answer_with_what_this_token_may_not_read_is_not_given() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (root, ann) = (caller("ann", &[Scope::Admin]), caller("ann", &WRITER));
    let (_, bobs) = holding(&engine, &caller("bob", &WRITER), Visibility::Private);
    let first = engine
        .system(&root)
        .idempotency()
        .once(keyed("k", "r"), || Ok(bobs.clone()));
    assert_eq!(first.as_deref(), Ok("the bees swarm in May"));
    for again in ["fresh", "fresher"] {
        assert_eq!(
            engine
                .system(&ann)
                .idempotency()
                .once(keyed("k", "r"), says(again))
                .as_deref(),
            Ok(again)
        );
    }
    assert_eq!(
        engine
            .system(&root)
            .idempotency()
            .once(keyed("k", "r"), never),
        first,
        "to others it is what it was"
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "s"), never)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    // The answer of a process that was faster.
    let other = Engine::new(
        store,
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Hybrid,
    );
    let slower = || {
        other
            .system(&root)
            .idempotency()
            .once(keyed("l", "r"), || Ok(bobs))
            .map(|_| whole("slower"))
    };
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("l", "r"), slower)
            .as_deref(),
        Ok("slower")
    );
}

/// A memory in an answer may change; if it is deleted, the answer is, too, even while it is made.
#[test]
fn an_answer_ends_with_the_memories_in_it() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let (id, answer) = holding(&engine, &bob, Visibility::Common);
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), || Ok(answer))
            .as_deref(),
        Ok("the bees swarm in May")
    );
    engine
        .system(&bob)
        .memories()
        .update(&id, "the wasps swarm in May", None)
        .unwrap();
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), says("the wasps"))
            .as_deref(),
        Ok("the wasps")
    );
    engine.system(&bob).memories().forget(&id).unwrap();
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "s"), says("fresh"))
            .as_deref(),
        Ok("fresh")
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "s"), never)
            .as_deref(),
        Ok("fresh")
    );

    let (id, answer) = holding(&engine, &bob, Visibility::Common);
    let meanwhile = || engine.system(&bob).memories().forget(&id).map(|()| answer);
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("l", "r"), meanwhile)
            .as_deref(),
        Ok("the bees swarm in May")
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("l", "r"), says("fresh"))
            .as_deref(),
        Ok("fresh")
    );
}

/// A stored answer is not returned in another session, nor after a change in this one.
#[test]
fn an_answer_is_for_its_session_and_for_what_the_store_holds() {
    let engine = engine();
    let in_session = |session: &str| Caller {
        session: Some(session.to_owned()),
        ..caller("ann", &WRITER)
    };
    let (one, two) = (in_session("one"), in_session("two"));
    assert_eq!(
        engine
            .system(&one)
            .idempotency()
            .once(keyed("k", "r"), says("first"))
            .as_deref(),
        Ok("first")
    );
    assert_eq!(
        engine
            .system(&one)
            .idempotency()
            .once(keyed("k", "r"), never)
            .as_deref(),
        Ok("first")
    );
    // Another session may use the key for another request.
    assert_eq!(
        engine
            .system(&two)
            .idempotency()
            .once(keyed("k", "s"), says("second"))
            .as_deref(),
        Ok("second")
    );
    assert_eq!(
        engine
            .system(&one)
            .idempotency()
            .once(keyed("k", "s"), never)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    engine
        .system(&two)
        .memories()
        .remember(fact("the bees swarm in May", Visibility::Private))
        .unwrap();
    for again in ["third", "fourth"] {
        assert_eq!(
            engine
                .system(&one)
                .idempotency()
                .once(keyed("k", "r"), says(again))
                .as_deref(),
            Ok(again)
        );
    }
    assert_eq!(
        engine
            .system(&one)
            .idempotency()
            .once(keyed("k", "s"), never)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
}

#[test]
fn an_answer_that_lacks_something_is_not_kept() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let partly = || {
        Ok(Answer {
            is_kept: false,
            ..whole("less")
        })
    };
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), partly)
            .as_deref(),
        Ok("less")
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), says("all"))
            .as_deref(),
        Ok("all")
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), never)
            .as_deref(),
        Ok("all")
    );
}

#[test]
fn work_that_fails_leaves_nothing_and_keys_have_limits() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let fails = || Err(Error::unavailable("the disk is full"));
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), fails)
            .unwrap_err()
            .code,
        ErrorCode::Unavailable
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "another"), says("done"))
            .as_deref(),
        Ok("done")
    );
    for key in ["", " ", "a\nb", &"k".repeat(257)] {
        let error = engine
            .system(&ann)
            .idempotency()
            .once(keyed(key, "r"), never)
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.starts_with("`idempotency_key`"), "{error}");
    }
    let longest = "é".repeat(256);
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed(&longest, "r"), says("done"))
            .as_deref(),
        Ok("done")
    );
}

#[test]
fn of_several_calls_at_once_one_does_the_work() {
    const CALLS: usize = 16;
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let done = AtomicUsize::new(0);
    let work = || {
        Ok(whole(&format!(
            "answer {}",
            done.fetch_add(1, Ordering::SeqCst)
        )))
    };
    let answers: Vec<String> = std::thread::scope(|scope| {
        let call = || {
            engine
                .system(&ann)
                .idempotency()
                .once(keyed("k", "r"), work)
                .unwrap()
        };
        let calls: Vec<_> = (0..CALLS).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(answers, vec!["answer 0"; CALLS]);
    assert_eq!(done.into_inner(), 1);
}

#[test]
fn of_two_processes_at_once_both_get_the_answer_of_the_faster_one() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let ann = caller("ann", &WRITER);
    let other = Engine::new(
        store,
        Arc::new(HashingEmbedder::default()),
        clock,
        SearchMode::Hybrid,
    );
    let slower = || {
        other
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), says("faster"))?;
        other
            .system(&ann)
            .idempotency()
            .once(keyed("l", "another"), says("faster"))?;
        Ok(whole("slower"))
    };
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), slower)
            .as_deref(),
        Ok("faster")
    );
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("k", "r"), never)
            .as_deref(),
        Ok("faster")
    );
    // The faster process made another request.
    let slower = || {
        other
            .system(&ann)
            .idempotency()
            .once(keyed("m", "another"), says("faster"))?;
        Ok(whole("slower"))
    };
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("m", "r"), slower)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
}

#[test]
fn a_wipe_takes_answers_and_what_was_under_way() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    engine
        .system(&ann)
        .idempotency()
        .once(keyed("k", "r"), says("before"))
        .unwrap();
    let wiped = || engine.system(&ann).wipe().map(|_| whole("meanwhile"));
    assert_eq!(
        engine
            .system(&ann)
            .idempotency()
            .once(keyed("l", "r"), wiped)
            .unwrap_err()
            .code,
        ErrorCode::Conflict
    );
    for key in ["k", "l"] {
        assert_eq!(
            engine
                .system(&ann)
                .idempotency()
                .once(keyed(key, "r"), says("after"))
                .as_deref(),
            Ok("after"),
            "{key}"
        );
    }
}

/// The locks of memories are separate from the locks of keys.
#[test]
fn the_work_may_change_memories() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let id = engine
        .system(&ann)
        .memories()
        .remember(fact("counts to zero", Visibility::Private))
        .unwrap()
        .memory
        .id;
    for number in 0..200 {
        let work = || {
            engine
                .system(&ann)
                .memories()
                .update(&id, &format!("counts to {number}"), None)
                .map(|_| whole("done"))
        };
        assert_eq!(
            engine
                .system(&ann)
                .idempotency()
                .once(keyed(&number.to_string(), "r"), work)
                .as_deref(),
            Ok("done")
        );
    }
}
