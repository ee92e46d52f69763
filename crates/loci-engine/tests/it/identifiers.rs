//! Tests that a memory with an identifier of the query comes first, whatever the caller's own
//! ranking.

use loci_core::Caller;
use loci_engine::{Engine, PageRequest, Recall, Remember, Signals};

use crate::engine;

/// Stores a memory for each code, and many that share more words with the question.
fn engine_with(codes: &[&str]) -> Engine {
    let engine = engine();
    let store = |content: String| {
        engine
            .system(&Caller::local())
            .memories()
            .remember(Remember::new(content, "fact"))
            .unwrap();
    };
    for number in 0..120 {
        store(format!(
            "the pump of the harbour failed at night with ERR-5{number:03}"
        ));
    }
    for code in codes {
        store(format!("closed: {code}"));
    }
    engine
}

const QUESTION: &str =
    "why did the pump of the harbour fail at night with ERR-4021, and is E-77x the same?";

fn texts(engine: &Engine, ranking: &dyn Fn(&Signals) -> f64) -> Vec<String> {
    let recalled = engine
        .system(&Caller::local())
        .search()
        .recall(&Recall::new(QUESTION, 10, ranking))
        .unwrap();
    assert!(
        recalled
            .hits
            .windows(2)
            .all(|pair| pair[0].score >= pair[1].score),
        "a score rises"
    );
    recalled
        .hits
        .into_iter()
        .map(|hit| hit.memory.content)
        .collect()
}

#[test]
fn what_holds_more_identifiers_comes_first() {
    let engine = engine_with(&["ERR-40210", "err-4021", "E-77x, not ERR-4021", "E-77x-2"]);
    let by_relevance = texts(&engine, &|signals| signals.relevance);
    assert_eq!(
        by_relevance[..2],
        ["closed: E-77x, not ERR-4021", "closed: err-4021"]
    );
    // A ranking that prefers irrelevant memories.
    let by_nothing = texts(&engine, &|signals| -signals.relevance);
    assert_eq!(by_nothing[..2], by_relevance[..2]);
}

#[test]
fn what_a_ranking_leaves_out_stays_behind() {
    let engine = engine_with(&["ERR-4021"]);
    let ranking = |signals: &Signals| {
        if signals.identifiers > 0 {
            f64::NEG_INFINITY
        } else {
            signals.relevance
        }
    };
    assert_ne!(texts(&engine, &ranking)[0], "closed: ERR-4021");
}

#[test]
fn pages_begin_with_all_that_hold_an_identifier() {
    let codes: Vec<String> = (0..7)
        .map(|number| format!("ERR-4021 of ship {number}"))
        .collect();
    let engine = engine_with(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut cursor, mut found) = (None, Vec::new());
    for _ in 0..4 {
        let request = PageRequest {
            query: QUESTION,
            with_forgotten: false,
            limit: 3,
            cursor: cursor.as_deref(),
            budget_tokens: None,
            as_of: None,
        };
        let page = engine
            .system(&Caller::local())
            .search()
            .page(&request)
            .unwrap();
        found.extend(page.hits.into_iter().map(|hit| hit.memory.content));
        cursor = page.next_cursor;
    }
    let holders: Vec<bool> = found
        .iter()
        .map(|text| text.contains("ERR-4021 "))
        .collect();
    assert_eq!(
        holders,
        [[true; 7].as_slice(), &[false; 5]].concat(),
        "{found:?}"
    );
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 12, "none comes twice");
}
