//! Tests of when a call is in the audit log.

use std::sync::Arc;

use loci_core::{AuditQuery, AuditStore, Caller, RecordVerb};
use loci_dialects::{Context, DIALECTS, mememory};
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

#[test]
fn every_search_names_what_it_returned() {
    let engine = Engine::new(
        Arc::new(NaiveStore::new()),
        Arc::new(HashingEmbedder::new(8)),
        Arc::new(FixedClock::default()),
        SearchMode::Words,
    );
    let caller = Caller {
        client: Some("codex".to_owned()),
        session: Some("a session".to_owned()),
        ..Caller::local()
    };
    let context = Context {
        engine: &engine,
        caller: &caller,
    };
    let call = |dialect: &'static loci_dialects::Dialect, tool: &str, arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        dialect
            .call(dialect.tool(tool).unwrap(), context, arguments)
            .unwrap()
    };
    let remembered = json!({"content": "tea at four", "type": "rule", "scope": "global"});
    let stored = call(&mememory::DIALECT, "remember", remembered).structured;
    let id = stored["id"].as_str().unwrap();
    let mut searched = Vec::new();
    for dialect in DIALECTS {
        for tool in dialect.tools {
            // Answers to earlier questions, the web, and what is filed apart.
            let is_of_memories = !tool.operation.starts_with("cache")
                && !tool.hints.open_world
                && tool.name != "search_discovery";
            if tool.query.is_none() || !tool.hints.read_only || !is_of_memories {
                continue;
            }
            let mut arguments = json!({"query": "tea at four"});
            if let Some(user) = dialect.user_argument {
                arguments[user] = json!("local");
            }
            let schema = Value::Object(tool.input_schema());
            if schema["properties"].get("scope").is_some() {
                arguments["scope"] = json!("global");
            }
            let reply = call(dialect, tool.name, arguments);
            let last = AuditQuery {
                tool: Some(tool.name.to_owned()),
                limit: 1,
                ..AuditQuery::default()
            };
            let (_, entry) = engine.audit().entries(&last).unwrap().remove(0);
            let [record] = &entry.records[..] else {
                panic!("{}: {entry:?}", tool.name)
            };
            assert_eq!((record.verb, &*record.id), (RecordVerb::Returned, id));
            assert_eq!(entry.client.as_deref(), Some("codex"), "{}", tool.name);
            assert_eq!(entry.session.as_deref(), Some("a session"));
            let tokens = engine.budgets().count_tokens(&reply.text);
            assert_eq!(entry.reply_tokens, Some(tokens as u64), "{}", tool.name);
            searched.push(dialect.name);
        }
    }
    searched.dedup();
    // Anthropic's memory tool has files, and no search.
    let has_search = |name: &&str| *name != "anthropic";
    let names = DIALECTS.iter().map(|dialect| dialect.name);
    assert!(
        names.filter(has_search).eq(searched.iter().copied()),
        "{searched:?}"
    );
}
