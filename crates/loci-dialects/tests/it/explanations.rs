//! Tests that the terms of an explanation yield the relevance that it states, as
//! `docs/retrieval.md` says.

use std::sync::Arc;

use loci_core::Caller;
use loci_dialects::{Context, mememory};
use loci_engine::{Engine, SearchMode};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::{FixedClock, HashingEmbedder};
use serde_json::{Value, json};

#[test]
fn the_terms_yield_the_relevance() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let (clock, embedder) = (
        Arc::new(FixedClock::default()),
        Arc::new(HashingEmbedder::default()),
    );
    let engine = Engine::new(Arc::new(store), embedder, clock, SearchMode::Hybrid);
    let call = |tool: &str, arguments: Value| {
        let context = Context {
            engine: &engine,
            caller: &Caller::local(),
        };
        let arguments = arguments.as_object().unwrap().clone();
        let dialect = &mememory::DIALECT;
        dialect
            .call(dialect.tool(tool).unwrap(), context, arguments)
            .unwrap()
    };
    for content in [
        "The kiln fires the tiles at night",
        "The kiln is cleaned on Mondays",
        "Tiles lie in the shed",
    ] {
        call("remember", json!({"content": content}));
    }
    let explanations = call("recall", json!({"query": "kiln tiles", "limit": 50})).explanations;
    assert_eq!(explanations.len(), 3, "{explanations:?}");
    let sum = |explanation: &Value| {
        let term = |name: &str| explanation[name].as_f64().unwrap();
        let share = term("words_weight");
        share * term("words") + (1.0 - share) * term("meaning") + term("context") + term("signals")
    };
    let top = explanations.iter().map(sum).fold(0.0, f64::max);
    for explanation in &explanations {
        // With so few candidates, the scale starts at 0.
        let relevance = top.min(1.0) * sum(explanation) / top;
        let stated = explanation["relevance"].as_f64().unwrap();
        assert!((relevance - stated).abs() < 0.001, "{explanation}");
        assert!(explanation["rank_by_words"].is_u64(), "{explanation}");
    }
}
