//! Words that people write into search boxes, through every tool that searches: quotes, operators,
//! brackets, wildcards. Each answers, or says what is wrong with the question; and a text is found
//! by all of its own words.

use crate::{call, engine, text};
use loci_core::ErrorCode;
use serde_json::{Value, json};

pub(crate) fn run(data: &[u8]) {
    let Some(query) = text(data) else { return };
    let engine = engine();
    let other = "The harbour crane is yellow AND (old OR \"rusty\") NOT* new^2";
    call(&engine, "mememory", "remember", json!({"content": other})).unwrap();
    let stored = call(&engine, "mememory", "remember", json!({"content": query}));
    let searches = [
        ("mememory", "recall", json!({"query": query})),
        ("vault", "memory_search", json!({"query": query})),
        (
            "engram",
            "search_memory",
            json!({"query": query, "scope": "global"}),
        ),
        (
            "engram",
            "search_discovery",
            json!({"query": query, "cross_spine": true}),
        ),
        (
            "memory-mcp",
            "recall_memory",
            json!({"user_id": "local", "query": query}),
        ),
        (
            "memory-mcp",
            "hybrid_search",
            json!({"user_id": "local", "query": query}),
        ),
        ("mempalace", "mempalace_search", json!({"query": query})),
        (
            "mempalace",
            "mempalace_check_duplicate",
            json!({"content": query}),
        ),
    ];
    for (dialect, tool, arguments) in searches {
        if let Err(code) = call(&engine, dialect, tool, arguments) {
            assert!(
                matches!(code, ErrorCode::InvalidArgument | ErrorCode::TooLarge),
                "{tool}: {code:?}"
            );
            assert!(
                query.trim().is_empty() || query.contains('\0') || query.len() > 4_096,
                "{tool} refuses a question"
            );
        }
    }
    // There are two texts, so that every search has room for both.
    let Ok(record) = stored else { return };
    assert_eq!(record["content"], query, "byte for byte");
    let Ok(hits) = call(&engine, "mememory", "recall", json!({"query": query})) else {
        return;
    };
    let found = |hit: &Value| hit["memory"]["id"] == record["id"];
    assert!(
        hits.as_array().is_some_and(|hits| hits.iter().any(found)),
        "{query:?} does not find itself"
    );
}
