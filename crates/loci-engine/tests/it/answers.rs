//! Tests of the cache of answers.

use loci_engine::Policy;

use super::*;

fn ask(engine: &Engine, caller: &Caller, query: &str, cosine_min: Option<f32>) -> Option<String> {
    engine
        .system(caller)
        .conversations()
        .cached_answer(query, cosine_min)
        .unwrap()
        .0
        .map(|answer| answer.entry.response)
}

#[test]
fn an_answer_serves_questions_that_are_near_enough() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    assert_eq!(
        ask(&engine, &ann, "when is the deadline of the project", None),
        None
    );
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), "when is the deadline of the project", "in March")
        .unwrap();
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), "who keeps the keys", "Bob")
        .unwrap();
    let rows = [
        (
            "when is the deadline of the project",
            None,
            Some("in March"),
        ),
        (
            "When is the project deadline, of the?",
            None,
            Some("in March"),
        ),
        ("when is the deadline of the house", None, None),
        (
            "when is the deadline of the house",
            Some(0.8),
            Some("in March"),
        ),
        ("who keeps the keys", Some(1.0), Some("Bob")),
        ("bees", Some(0.1), None),
    ];
    for (query, cosine_min, expected) in rows {
        assert_eq!(
            ask(&engine, &ann, query, cosine_min).as_deref(),
            expected,
            "{query} {cosine_min:?}"
        );
    }
    let (answer, degraded) = engine
        .system(&ann)
        .conversations()
        .cached_answer("who keeps the keys", None)
        .unwrap();
    assert_eq!(
        (answer.map(|answer| answer.cosine), degraded),
        (Some(1.0), None)
    );
    assert_eq!(ask(&engine, &anonymous(), "who keeps the keys", None), None);
    clock.advance(3_599);
    assert!(ask(&engine, &ann, "who keeps the keys", None).is_some());
    clock.advance(1);
    assert_eq!(ask(&engine, &ann, "who keeps the keys", None), None);
}

#[test]
fn an_installation_sets_the_threshold_and_the_time() {
    let Bench { engine, clock, .. } = bench();
    let engine = engine.with_policy(Policy {
        cache_similarity_min: 0.75,
        cache_ttl_seconds: 10,
        ..Policy::default()
    });
    let ann = caller("ann", &WRITER);
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), "red green blue", "colours")
        .unwrap();
    assert!(ask(&engine, &ann, "red green shoes", None).is_some());
    clock.advance(10);
    assert!(ask(&engine, &ann, "red green blue", None).is_none());
}

#[test]
fn without_a_model_the_same_words_are_found() {
    let rows = [
        (SearchMode::Hybrid, true),
        (SearchMode::Vector, true),
        (SearchMode::Words, false),
    ];
    for (mode, is_degraded) in rows {
        let engine = bench_with(Arc::new(FailingEmbedder::default()), mode).engine;
        let ann = caller("ann", &WRITER);
        engine
            .system(&ann)
            .conversations()
            .cache_answer(mint(), "red green blue", "colours")
            .unwrap();
        for (query, is_hit) in [("red green blue", true), ("blue green red", false)] {
            let (answer, degraded) = engine
                .system(&ann)
                .conversations()
                .cached_answer(query, Some(0.5))
                .unwrap();
            assert_eq!(
                (answer.is_some(), degraded.is_some()),
                (is_hit, is_degraded),
                "{mode:?} {query}"
            );
        }
    }
}

/// A model reads only the beginning of a long text, where these are equal.
#[test]
fn long_questions_are_found_by_the_same_words_alone() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let long = |end: &str| {
        format!(
            "{}{end}",
            "Review this change with great care. ".repeat(100)
        )
    };
    engine
        .system(&ann)
        .conversations()
        .cache_answer(mint(), &long("It adds a lock."), "good")
        .unwrap();
    assert_eq!(
        ask(&engine, &ann, &long("It adds a lock."), None).as_deref(),
        Some("good")
    );
    assert_eq!(
        ask(&engine, &ann, &long("It drops a lock."), Some(-1.0)),
        None
    );
}

#[test]
fn answers_are_forgotten_by_a_pattern() {
    // The number of matches among: "what is 2+2?", "What is (the plan", "wer wohnt in Köln 50667"
    let rows = [
        (None, 3),
        (Some("what"), 1),
        (Some("(?i)^what is"), 2),
        (Some(r"K\w+n \d{5}$"), 1),
        (Some(r"^\w+ \w+ .+$"), 3),
        (Some("2+2"), 0),
        (Some(r"2\+2"), 1),
        // Invalid as regular expressions, so they match as parts of the text.
        (Some("(the"), 1),
        (Some("+2?"), 1),
        (Some("nothing like it"), 0),
    ];
    for (pattern, expected) in rows {
        let engine = engine();
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        for query in [
            "what is 2+2?",
            "What is (the plan",
            "wer wohnt in Köln 50667",
        ] {
            engine
                .system(&ann)
                .conversations()
                .cache_answer(mint(), query, "an answer")
                .unwrap();
            engine
                .system(&bob)
                .conversations()
                .cache_answer(mint(), query, "an answer")
                .unwrap();
        }
        assert_eq!(
            engine.system(&ann).conversations().forget_answers(pattern),
            Ok(expected),
            "{pattern:?}"
        );
        assert_eq!(
            engine.system(&ann).conversations().forget_answers(None),
            Ok(3 - expected),
            "{pattern:?}"
        );
        assert_eq!(
            engine
                .system(&anonymous())
                .conversations()
                .forget_answers(None),
            Ok(0)
        );
        assert_eq!(
            engine.system(&bob).conversations().forget_answers(None),
            Ok(3)
        );
    }
}

#[test]
fn answers_have_limits() {
    let engine = engine();
    let ann = caller("ann", &WRITER);
    let long_query = "x".repeat(limits::QUERY_BYTES_MAX + 1);
    let long_response = "x".repeat(limits::CONTENT_BYTES_MAX + 1);
    let rows = [
        (" ", "r", ErrorCode::InvalidArgument, "`query` "),
        (&long_query, "r", ErrorCode::TooLarge, "`query` "),
        ("q", " ", ErrorCode::InvalidArgument, "`response` "),
        ("q", &long_response, ErrorCode::TooLarge, "`response` "),
    ];
    for (query, response, code, beginning) in rows {
        let error = engine
            .system(&ann)
            .conversations()
            .cache_answer(mint(), query, response)
            .unwrap_err();
        assert_eq!(
            (error.code, error.message.starts_with(beginning)),
            (code, true),
            "{}",
            error.message
        );
    }
    assert_eq!(
        engine
            .system(&anonymous())
            .conversations()
            .cache_answer(mint(), "q", "r")
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .cached_answer(" ", None)
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );

    let long_pattern = "x".repeat(limits::PATTERN_BYTES_MAX + 1);
    for pattern in [" ", &long_pattern, r"(\w{100}){100}"] {
        let error = engine
            .system(&ann)
            .conversations()
            .forget_answers(Some(pattern))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.starts_with("`pattern` "), "{}", error.message);
    }
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .forget_answers(Some(&long_pattern[1..])),
        Ok(0)
    );
}
