//! Tests of when a call is in the audit log.

use std::sync::Arc;

use loci_core::{AuditQuery, AuditStore, Caller, RecordVerb};
use loci_dialects::{Context, mememory};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Value, json};

#[test]
fn a_destructive_call_is_in_the_log_when_it_is_acknowledged() {
    let store = Arc::new(NaiveStore::new());
    let embedder = Arc::new(HashingEmbedder::new(8));
    let engine = Engine::new(
        store.clone(),
        embedder,
        Arc::new(FixedClock::default()),
        SearchMode::Words,
    );
    // One caller for all calls, as over stdio.
    let caller = Caller::local();
    let call = |tool: &str, arguments: Value| {
        let context = Context {
            engine: &engine,
            caller: &caller,
        };
        let tool = mememory::DIALECT.tool(tool).unwrap();
        mememory::DIALECT
            .call(tool, context, arguments.as_object().unwrap().clone())
            .unwrap()
            .structured
    };
    // The entries as another process would read them.
    let logged = || -> Vec<(String, Vec<(RecordVerb, String)>)> {
        let all = AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        };
        let entries = store.audit(&all).unwrap().into_iter();
        let records = |records: Vec<loci_core::AuditRecord>| {
            records.into_iter().map(|it| (it.verb, it.id)).collect()
        };
        entries
            .map(|(_, entry)| (entry.tool, records(entry.records)))
            .collect()
    };
    let id = call("remember", json!({"content": "tea at four"}))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(logged(), [], "it is written a moment later");
    call("forget", json!({"id": id}));
    let expected = [
        (
            "remember".to_owned(),
            vec![(RecordVerb::Stored, id.clone())],
        ),
        ("forget".to_owned(), vec![(RecordVerb::Deleted, id)]),
    ];
    assert_eq!(logged(), expected, "each names its own records alone");
}
