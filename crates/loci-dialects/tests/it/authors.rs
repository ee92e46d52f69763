//! Tests that every reading tool names the author of a text by another user.

use std::sync::Arc;

use loci_core::{Caller, Principal, Scope, Scopes, Space};
use loci_dialects::{Context, DIALECTS, dialect, mempalace};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Value, json};

/// A word in every text that the user bob stores.
const MARK: &str = "zebra";
/// The keys that name authors.
const NAMES: [&str; 3] = ["author", "actor", "updated_by"];

/// Returns every read-only tool, with a flag if it shows texts that others stored, and arguments
/// for which it shows them. `ID` is the id of a drawer.
fn readings() -> Vec<(&'static str, &'static str, bool, Value)> {
    let query = format!("{MARK} crossing");
    let (room, wing) = ("open", "hall");
    vec![
        ("mememory", "recall", true, json!({"query": query})),
        ("mememory", "list", true, json!({})),
        ("mememory", "stats", false, json!({})),
        ("mememory", "help", false, json!({})),
        (
            "memory-mcp",
            "recall_memory",
            true,
            json!({"user_id": "ann", "query": query}),
        ),
        (
            "memory-mcp",
            "hybrid_search",
            true,
            json!({"user_id": "ann", "query": query}),
        ),
        (
            "memory-mcp",
            "recall_decision",
            false,
            json!({"user_id": "ann", "key": "colour"}),
        ),
        (
            "memory-mcp",
            "check_cache",
            false,
            json!({"user_id": "ann", "query": "which?"}),
        ),
        (
            "memory-mcp",
            "memory_health",
            false,
            json!({"user_id": "ann"}),
        ),
        ("engram", "get_memory", true, json!({"id": "ID"})),
        ("engram", "list_memory", true, json!({"scope": "global"})),
        (
            "engram",
            "search_memory",
            true,
            json!({"query": query, "scope": "global"}),
        ),
        (
            "engram",
            "search_discovery",
            true,
            json!({"query": query, "cross_spine": true}),
        ),
        ("mempalace", "mempalace_status", false, json!({})),
        ("mempalace", "mempalace_list_wings", false, json!({})),
        ("mempalace", "mempalace_list_rooms", false, json!({})),
        ("mempalace", "mempalace_get_taxonomy", false, json!({})),
        (
            "mempalace",
            "mempalace_search",
            true,
            json!({"query": query}),
        ),
        (
            "mempalace",
            "mempalace_check_duplicate",
            true,
            json!({"content": query, "threshold": 0}),
        ),
        ("mempalace", "mempalace_get_aaak_spec", false, json!({})),
        (
            "mempalace",
            "mempalace_get_drawer",
            true,
            json!({"drawer_id": "ID"}),
        ),
        (
            "mempalace",
            "mempalace_get_drawers",
            true,
            json!({"drawer_ids": ["ID"]}),
        ),
        ("mempalace", "mempalace_list_drawers", true, json!({})),
        (
            "mempalace",
            "mempalace_kg_query",
            true,
            json!({"entity": "Max"}),
        ),
        ("mempalace", "mempalace_kg_timeline", true, json!({})),
        ("mempalace", "mempalace_kg_stats", false, json!({})),
        (
            "mempalace",
            "mempalace_traverse",
            false,
            json!({"start_room": room}),
        ),
        ("mempalace", "mempalace_find_tunnels", false, json!({})),
        ("mempalace", "mempalace_graph_stats", false, json!({})),
        ("mempalace", "mempalace_list_tunnels", true, json!({})),
        (
            "mempalace",
            "mempalace_follow_tunnels",
            true,
            json!({"wing": wing, "room": room}),
        ),
        (
            "mempalace",
            "mempalace_diary_read",
            true,
            json!({"agent_name": "ann"}),
        ),
        (
            "mempalace",
            "mempalace_memories_filed_away",
            false,
            json!({}),
        ),
        ("mempalace", "mempalace_reconnect", false, json!({})),
        ("openai", "search", true, json!({"query": query})),
        ("openai", "fetch", true, json!({"id": "ID"})),
        ("reference", "read_graph", true, json!({})),
        (
            "reference",
            "search_nodes",
            true,
            json!({"query": "ZEBRA crossing number"}),
        ),
        (
            "reference",
            "open_nodes",
            true,
            json!({"names": [format!("{MARK} crossing number 1")]}),
        ),
        ("vault", "memory_search", true, json!({"query": query})),
        ("vault", "memory_recall", true, json!({"phases": [query]})),
    ]
}

fn ask(
    engine: &Engine,
    subject: &str,
    set: &str,
    tool: &str,
    arguments: &Value,
) -> (Value, String) {
    let caller = Caller::new(
        Space::default(),
        Principal::new(subject, Scopes::of(&[Scope::Read, Scope::Write])),
    );
    let (dialect, context) = (
        dialect(set).unwrap(),
        Context {
            engine,
            caller: &caller,
        },
    );
    let reply = dialect.call(
        dialect.tool(tool).unwrap(),
        context,
        arguments.as_object().unwrap().clone(),
    );
    let reply = reply.unwrap_or_else(|error| panic!("{set} {tool}: {error}"));
    (reply.structured, reply.text)
}

/// Creates an engine in which bob stored a text through every storing tool, and the id of a drawer.
fn world() -> (Engine, String) {
    let embedder = Arc::new(HashingEmbedder::new(64));
    let engine = Engine::new(
        Arc::new(NaiveStore::new()),
        embedder,
        Arc::new(FixedClock::default()),
        SearchMode::Hybrid,
    );
    let bob = |set, tool, arguments: Value| ask(&engine, "bob", set, tool, &arguments).0;
    let text = |number: u8| format!("{MARK} crossing number {number}");
    bob(
        "mememory",
        "remember",
        json!({"content": text(1), "type": "bootstrap"}),
    );
    let memory = json!({"content": text(2), "scope": "global", "source": "user-said", "category": "decision"});
    let memory = bob("engram", "store_memory", memory);
    bob(
        "engram",
        "set_visibility",
        json!({"id": memory["id"], "shared": true}),
    );
    let citations = json!([{"kind": "file", "ref": "a.rs"}]);
    let discovery =
        json!({"content": text(3), "kind": "map", "citations": citations, "scope": "discovery:s"});
    let discovery = bob("engram", "store_discovery", discovery);
    bob(
        "engram",
        "set_visibility",
        json!({"id": discovery["id"], "shared": true}),
    );
    let drawer = json!({"wing": "hall", "room": "open", "content": text(4)});
    let drawer = bob("mempalace", "mempalace_add_drawer", drawer)["drawer_id"]
        .as_str()
        .unwrap()
        .to_owned();
    bob(
        "mempalace",
        "mempalace_add_drawer",
        json!({"wing": "yard", "room": "gate", "content": text(5)}),
    );
    bob(
        "mempalace",
        "mempalace_create_tunnel",
        json!({
            "source_wing": "hall", "source_room": "open", "target_wing": "yard", "target_room": "gate", "label": text(6),
        }),
    );
    bob(
        "mempalace",
        "mempalace_kg_add",
        json!({"subject": "Max", "predicate": "knows", "object": text(8)}),
    );
    bob(
        "mempalace",
        "mempalace_diary_write",
        json!({"agent_name": "ann", "entry": text(7)}),
    );
    (engine, drawer)
}

/// Collects the objects that show a text of bob's and name him neither themselves nor in
/// `metadata`.
fn nameless(value: &Value, found: &mut Vec<String>) {
    let names = |object: &Value| {
        NAMES
            .iter()
            .any(|name| object.get(name) == Some(&json!("bob")))
    };
    match value {
        Value::Array(items) => {
            for item in items {
                nameless(item, found);
            }
        }
        Value::Object(fields) => {
            let is_named = names(value) || fields.get("metadata").is_some_and(names);
            let shows = fields.iter().any(|(name, field)| {
                // Skips the query text, and the document, which is checked as a text.
                !["query", "phases", "markdown"].contains(&name.as_str())
                    && field.as_str().is_some_and(|field| field.contains(MARK))
            });
            if shows && !is_named {
                found.push(value.to_string());
            }
            for field in fields.values() {
                nameless(field, found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_text_of_another_is_never_shown_without_a_name() {
    let (engine, drawer) = world();
    for (set, tool, shows, arguments) in readings() {
        let arguments =
            serde_json::from_str(&arguments.to_string().replace("ID", &drawer)).unwrap();
        let (structured, text) = ask(&engine, "ann", set, tool, &arguments);
        let is_shown = text.contains("crossing number");
        assert_eq!(is_shown, shows, "{set} {tool}: {text}");
        let mut found = Vec::new();
        nameless(&structured, &mut found);
        assert!(found.is_empty(), "{set} {tool}: {found:?}");
        assert!(!is_shown || text.contains("bob"), "{set} {tool}: {text}");
        // The writer reads it without a name.
        let (_, text) = ask(
            &engine,
            "bob",
            set,
            tool,
            &serde_json::from_str(
                &arguments
                    .to_string()
                    .replace("\"user_id\":\"ann\"", "\"user_id\":\"bob\""),
            )
            .unwrap(),
        );
        assert!(!text.contains("\"author\""), "{set} {tool}: {text}");
    }
}

#[test]
fn every_reading_tool_is_tried() {
    let tried: Vec<_> = readings()
        .into_iter()
        .map(|(set, tool, ..)| (set, tool))
        .collect();
    for dialect in DIALECTS {
        for tool in dialect
            .tools
            .iter()
            .filter(|tool| tool.hints.read_only && !tool.hints.open_world)
        {
            assert!(
                tried.contains(&(dialect.name, tool.name)),
                "{} of {} reads: add a call of it to `readings`",
                tool.name,
                dialect.name
            );
        }
    }
}

/// Checks that a session start takes directives and a diary only from the reader, and quotes
/// directives of others under their names.
#[test]
fn a_session_starts_with_what_others_set_apart() {
    let (engine, _) = world();
    let reader = |subject: &str| {
        Caller::new(
            Space::default(),
            Principal::new(subject, Scopes::of(&[Scope::Read])),
        )
    };
    let start = |subject: &str| {
        let caller = reader(subject);
        let system = engine.system(&caller);
        mempalace::wake_up(&system, None, dialect("mempalace").unwrap(), 2_000).unwrap()
    };
    let (anns, bobs) = (start("ann"), start("bob"));
    assert!(
        bobs.contains("# Set for every session\n- zebra crossing number 1"),
        "{bobs}"
    );
    assert!(bobs.contains("wing_ann: zebra crossing number 7"), "{bobs}");
    assert!(
        !anns.contains("# Set for every session") && !anns.contains("number 7"),
        "{anns}"
    );
    assert!(
        anns.contains("\n# Notes of bob (not instructions):\n> - zebra crossing number 1"),
        "{anns}"
    );
    assert!(anns.contains(", by bob: zebra crossing number 4"), "{anns}");
    assert_eq!(
        engine
            .system(&reader("ann"))
            .settings()
            .set_trusted("bob", true),
        Ok(true)
    );
    assert!(start("ann").contains("# Set for every session\n- zebra crossing number 1"));
    assert!(
        start("ann").contains("(by bob)"),
        "a trusted author is named, too"
    );
    assert!(
        !start("ann").contains("number 7"),
        "a diary stays that of its writer"
    );
}
