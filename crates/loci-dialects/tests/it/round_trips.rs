//! The round trips of calls to the server of a store.

use std::sync::Arc;

use loci_core::Caller;
use loci_dialects::{Context, mememory};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder};
use serde_json::{Value, json};

use crate::cases::Schema;

#[test]
fn calls_cost_few_round_trips() {
    let schema = Schema::new("round_trips");
    let store = Arc::new(schema.open());
    let engine = Engine::new(
        store.clone(),
        Arc::new(HashingEmbedder::new(64)),
        Arc::new(FixedClock::default()),
        SearchMode::Hybrid,
    );
    let caller = Caller::local();
    let trips = |tool: &str, arguments: Value| {
        let context = Context {
            engine: &engine,
            caller: &caller,
        };
        let tool = mememory::DIALECT.tool(tool).unwrap();
        let before = store.round_trips();
        mememory::DIALECT
            .call(tool, context, arguments.as_object().unwrap().clone())
            .unwrap();
        store.round_trips() - before
    };
    let remember = |text: &str| trips("remember", json!({"content": text}));
    let recall = || trips("recall", json!({"query": "tea"}));
    // The first calls connect, and load the index.
    remember("tea at four");
    recall();

    // What is near, with its texts, and two for the write.
    assert_eq!(remember("the harbour is closed"), 3);
    assert_eq!(remember("a violin of 1740"), 3);
    // One more for the names of projects, of which one may be written in two ways.
    let of_project = json!({"content": "the pier is new", "project": "harbour"});
    trips("remember", of_project);
    let again = json!({"content": "the crane is old", "project": "harbour"});
    assert_eq!(trips("remember", again), 4);
    // The index follows a write of this process in the round trip in which the search looks
    // whether there was one of another.
    let of_global = || trips("recall", json!({"query": "tea", "scope": "global"}));
    assert_eq!(of_global(), 2);
    assert_eq!(of_global(), 2);
    // One more for the number of memories that were not looked at, if no scope is named.
    assert_eq!(recall(), 3);
}
