//! Tests that an exact identifier ranks first: every search tool is asked for codes among nearly
//! identical ones.

use std::sync::Arc;

use loci_core::Caller;
use loci_dialects::{Context, Dialect, engram, mememory, memory_mcp, mempalace, vault};
use loci_engine::{Engine, SearchMode};
use loci_store_sqlite::SqliteStore;
use loci_testkit::{FixedClock, HashingEmbedder};
use serde_json::{Value, json};

/// Nine numbers, of which no two differ by one.
const NUMBERS: std::ops::Range<usize> = 0..9;
const SCOPE: &str = "discovery:repo:harbour";

/// Returns eleven kinds of identifiers with each of the numbers.
fn codes() -> Vec<String> {
    let of_number = |at: usize| {
        let n = 13 + 3 * at;
        [
            format!("ERR-40{n}"),
            format!("JIRA-12{n}"),
            format!("v2.{n}.1"),
            format!("10.4.{n}.7"),
            format!("src/part{n}/main.rs"),
            format!("7f3a9c{n}e1b2"),
            format!("3f2a9c1e-4b5d-6e7f-8a9b-0c1d2e3f4a{n}"),
            format!("read_part_{n}"),
            format!("getPart{n}Name"),
            format!("48213{n}"),
            format!("CVE-2024-30{n}"),
        ]
    };
    NUMBERS.flat_map(of_number).collect()
}

/// Returns codes that differ in one digit, continue further, or start earlier.
fn near(code: &str) -> [String; 4] {
    let last = code
        .rfind(|character: char| character.is_ascii_digit())
        .unwrap();
    let digit = (code.as_bytes()[last] - b'0' + 1) % 10;
    let other = format!("{}{digit}{}", &code[..last], &code[last + 1..]);
    [
        other,
        format!("{code}0"),
        format!("{code}-b"),
        format!("X{code}"),
    ]
}

struct Harbour {
    engine: Engine,
    _folder: tempfile::TempDir,
}

impl Harbour {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(folder.path(), loci_store_sqlite::Options::default()).unwrap();
        let (clock, embedder) = (
            Arc::new(FixedClock::default()),
            Arc::new(HashingEmbedder::default()),
        );
        let harbour = Harbour {
            engine: Engine::new(Arc::new(store), embedder, clock, SearchMode::Hybrid),
            _folder: folder,
        };
        for code in codes() {
            harbour.store(&exact(&code), 0.2);
            for near in near(&code) {
                // A text with more words of the question, and more important.
                harbour.store(
                    &format!(
                        "What happened with {near}: the crane of the harbour stood still at night"
                    ),
                    1.0,
                );
            }
        }
        harbour
    }

    fn store(&self, content: &str, weight: f64) {
        self.call(
            &mememory::DIALECT,
            "remember",
            json!({"content": content, "weight": weight}),
        );
        let citations = json!([{"kind": "url", "ref": "https://example.org/log"}]);
        let discovery =
            json!({"content": content, "kind": "fact", "citations": citations, "scope": SCOPE});
        self.call(&engram::DIALECT, "store_discovery", discovery);
    }

    fn call(&self, dialect: &Dialect, tool: &str, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("{tool}")
        };
        let context = Context {
            engine: &self.engine,
            caller: &Caller::local(),
        };
        dialect
            .call(dialect.tool(tool).unwrap(), context, arguments)
            .unwrap()
            .structured
    }
}

fn exact(code: &str) -> String {
    format!(
        "Closed since then, after a long talk about paint, rust and rope with the people of the yard: {code}"
    )
}

/// Returns the first result in a reply.
fn first(reply: &Value) -> &Value {
    let results = match reply {
        Value::Object(fields) => fields.values().find(|field| field.is_array()).unwrap(),
        reply => reply,
    };
    &results[0]
}

#[test]
fn every_search_has_what_holds_an_exact_identifier_first() {
    let harbour = Harbour::new();
    let codes = codes();
    assert!(codes.len() >= 89);
    let tools: [(&Dialect, &str, Value); 7] = [
        (&mememory::DIALECT, "recall", json!({})),
        (
            &memory_mcp::DIALECT,
            "hybrid_search",
            json!({"user_id": "local"}),
        ),
        (
            &memory_mcp::DIALECT,
            "recall_memory",
            json!({"user_id": "local"}),
        ),
        (&mempalace::DIALECT, "mempalace_search", json!({})),
        (
            &engram::DIALECT,
            "search_memory",
            json!({"scope": "global"}),
        ),
        (
            &engram::DIALECT,
            "search_discovery",
            json!({"scope": SCOPE}),
        ),
        (&vault::DIALECT, "memory_search", json!({})),
    ];
    let mut missed = Vec::new();
    for (dialect, tool, arguments) in &tools {
        for code in &codes {
            let question = format!("what happened with {code} at the crane of the harbour?");
            for query in [question, code.to_lowercase()] {
                let mut arguments = arguments.clone();
                arguments["query"] = json!(query);
                let reply = harbour.call(dialect, tool, arguments);
                if !first(&reply).to_string().contains(&exact(code)) {
                    missed.push(format!("{tool}, {query}: {}", first(&reply)));
                }
            }
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {}:\n{}",
        missed.len(),
        2 * tools.len() * codes.len(),
        missed.join("\n")
    );
}
