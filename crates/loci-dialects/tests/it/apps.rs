//! Tests of the tools of views, and of what goes beside a reply for a view.

use std::sync::Arc;
use std::time::Duration;

use loci_core::{AuditQuery, Caller, Error, ErrorCode, Principal, Result, Scope, Scopes, Space};
use loci_dialects::{Context, DIALECTS, Reply, Tool, apps, dialect};
use loci_engine::{Engine, ItemKind, SearchMode, item_key};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::{FixedClock, HashingEmbedder};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The tools that search and list memories.
const FINDING: [&str; 21] = [
    "fetch",
    "get_memory",
    "hybrid_search",
    "list",
    "list_memory",
    "memory_recall",
    "memory_search",
    "mempalace_check_duplicate",
    "mempalace_diary_read",
    "mempalace_get_drawer",
    "mempalace_get_drawers",
    "mempalace_list_drawers",
    "mempalace_search",
    "open_nodes",
    "read_graph",
    "recall",
    "recall_memory",
    "search",
    "search_discovery",
    "search_memory",
    "search_nodes",
];

struct World {
    engine: Engine,
    _folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let (clock, embedder) = (
            Arc::new(FixedClock::default()),
            Arc::new(HashingEmbedder::default()),
        );
        World {
            engine: Engine::new(Arc::new(store), embedder, clock, SearchMode::Hybrid),
            _folder: folder,
        }
    }

    fn call_in(
        &self,
        caller: &Caller,
        tool_set: &str,
        tool: &Tool,
        arguments: Value,
    ) -> Result<Reply> {
        let context = Context {
            engine: &self.engine,
            caller,
        };
        let Value::Object(arguments) = arguments else {
            panic!("{arguments}")
        };
        dialect(tool_set).unwrap().call(tool, context, arguments)
    }

    /// Calls a tool of a tool set.
    fn call(&self, caller: &Caller, tool_set: &str, tool: &str, arguments: Value) -> Reply {
        let tool = dialect(tool_set).unwrap().tool(tool).unwrap();
        self.call_in(caller, tool_set, tool, arguments).unwrap()
    }

    /// Calls a tool of views beside mememory.
    fn act(&self, caller: &Caller, tool: &str, arguments: Value) -> Result<Value> {
        let tool = apps::tool(&format!("loci_view_{tool}")).unwrap();
        let reply = self.call_in(caller, "mememory", tool, arguments)?;
        Ok(reply.structured)
    }

    fn store(&self, caller: &Caller, content: &str) -> String {
        let reply = self.call(
            caller,
            "mememory",
            "remember",
            json!({"content": content, "again": true}),
        );
        reply.structured["id"].as_str().unwrap().to_owned()
    }

    /// Returns the texts of these memories as a view reads them.
    fn texts(&self, caller: &Caller, ids: &[&str]) -> Vec<String> {
        let shown = self.act(caller, "memories", json!({"ids": ids})).unwrap();
        let memories = shown["memories"].as_array().unwrap();
        let text = |memory: &Value| memory["text"].as_str().unwrap().to_owned();
        memories.iter().map(text).collect()
    }
}

fn user(name: &str, scopes: &[Scope]) -> Caller {
    Caller::new(Space::default(), Principal::new(name, Scopes::of(scopes)))
}

fn of_code(error: Error) -> ErrorCode {
    error.code
}

#[test]
fn every_tool_that_searches_or_lists_has_a_view_and_those_that_compare_have_another() {
    let tools = || DIALECTS.iter().flat_map(|dialect| dialect.tools);
    let with = |name: &str| -> Vec<&str> {
        let has = |tool: &&Tool| apps::view_of(tool).is_some_and(|view| view.name == name);
        let mut names: Vec<&str> = tools().filter(has).map(|tool| tool.name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(with("found"), FINDING);
    assert_eq!(with("contradiction"), ["remember", "store_memory"]);
    assert_eq!(with("next"), ["mempalace_status", "stats"]);
    for (view, tools) in [("facts", 3), ("palace", 3), ("review", 3)] {
        assert_eq!(with(view).len(), tools, "{view}");
    }
    for tool in &apps::TOOLS {
        assert!(
            tools().all(|other| other.name != tool.name),
            "{}",
            tool.name
        );
        assert!(tool.name.starts_with("loci_view_"), "{}", tool.name);
        assert!(apps::view_of(tool).is_none(), "{}", tool.name);
    }
    for view in apps::VIEWS {
        assert_eq!(apps::view_at(view.uri).unwrap().name, view.name);
    }
    assert!(apps::view_at("ui://loci/other.html").is_none());
}

#[test]
fn a_view_gets_ids_and_reasons_and_no_text() {
    let world = World::new();
    let ann = user("ann", &Scope::ALL);
    let ids = ["The kiln fires at night", "The kiln is cleaned on Mondays"]
        .map(|text| world.store(&ann, text));
    let found = world.call(&ann, "mememory", "recall", json!({"query": "kiln"}));
    let beside = apps::beside(&found, None);
    let memories = beside["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 2, "{beside}");
    for memory in memories {
        assert!(ids.iter().any(|id| memory["id"] == id.as_str()));
        assert!(memory["grade"].is_string(), "{memory}");
        assert!(memory["words"].as_f64().unwrap() > 0.0, "{memory}");
    }
    assert!(!beside.to_string().contains("kiln"), "{beside}");
    let listed = world.call(&ann, "mememory", "list", json!({}));
    let beside = apps::beside(&listed, Some("ann"));
    assert_eq!(beside["user_id"], "ann");
    let mut named: Vec<&str> = beside["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| memory["id"].as_str().unwrap())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ids);
    // Other tools have no view, and nothing for one.
    let counted = world.call(&ann, "mememory", "stats", json!({}));
    assert!(counted.memories.is_empty());
}

#[test]
fn a_contradiction_names_the_memories_of_both_sides() {
    let world = World::new();
    let ann = user("ann", &Scope::ALL);
    let older = world.store(&ann, "the api listens on port 8080");
    let newer = world.call(
        &ann,
        "mememory",
        "remember",
        json!({"content": "the api listens on port 9090"}),
    );
    assert!(
        newer.text.contains("CONTRADICTION DETECTED"),
        "{}",
        newer.text
    );
    let beside = apps::beside(&newer, None);
    assert_eq!(beside["contradicted"], json!([older]));
    assert_eq!(beside["memories"], json!([{"id": newer.structured["id"]}]));
}

#[test]
fn a_person_changes_a_memory_and_takes_it_back() {
    let world = World::new();
    let ann = user("ann", &Scope::ALL);
    let id = world.store(&ann, "Tea at four");
    let act = |tool: &str, more: Value| {
        let mut arguments = json!({"id": id});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        world.act(&ann, tool, arguments).unwrap()["memory"].take()
    };
    assert_eq!(act("pin", json!({"pinned": true}))["pinned"], true);
    assert_eq!(act("pin", json!({"pinned": false}))["pinned"], false);
    assert_eq!(act("forget", json!({"forgotten": true}))["forgotten"], true);
    let recalled = world.call(&ann, "mememory", "recall", json!({"query": "tea"}));
    assert_eq!(recalled.results, Some(0));
    // It is shown as forgotten, so that it can be restored.
    assert_eq!(world.texts(&ann, &[&id]), ["Tea at four"]);
    let restored = act("forget", json!({"forgotten": false}));
    assert_eq!(restored["forgotten"], false);
    let revision = &restored["revision"];
    let edited = act(
        "edit",
        json!({"content": "Tea at five", "revision": revision}),
    );
    assert_eq!(edited["text"], "Tea at five");
    let late = json!({"id": id, "content": "Tea at six", "revision": revision});
    let refused = world.act(&ann, "edit", late).map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::Conflict));
    assert_eq!(world.texts(&ann, &[&id]), ["Tea at five"]);
}

#[test]
fn a_pair_is_decided_and_the_decision_is_taken_back() {
    let world = World::new();
    let ann = user("ann", &Scope::ALL);
    let [older, newer] =
        ["The door is green", "The door is red"].map(|text| world.store(&ann, text));
    let pair = json!({"kept": newer, "other": older});
    let undo = world.act(&ann, "keep", pair.clone()).unwrap()["undo"].take();
    assert!(undo["weight"].is_number(), "{undo}");
    let is_replaced = |id: &str| {
        let shown = world.act(&ann, "memories", json!({"ids": [id]})).unwrap();
        shown["memories"][0]["replaced"] == true
    };
    assert!(is_replaced(&older) && !is_replaced(&newer));
    let mut back = pair;
    back["undo"] = undo;
    world.act(&ann, "keep", back).unwrap();
    assert!(!is_replaced(&older));
    let one = json!({"kept": newer, "other": newer});
    let refused = world.act(&ann, "keep", one).map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::InvalidArgument));

    let key = item_key(ItemKind::Contradiction.name(), &[&older, &newer]);
    let is_dismissed = || {
        let context = world.engine.call(
            ann.clone(),
            loci_engine::CallInfo::new("test", "test", "test", loci_engine::Effect::Read, &[]),
            |call| call.settings().dismissed(),
        );
        context.unwrap().contains(&key)
    };
    for dismissed in [true, false] {
        let pair = json!({"newer": newer, "older": older, "dismissed": dismissed});
        world.act(&ann, "dismiss", pair).unwrap();
        assert_eq!(is_dismissed(), dismissed);
    }
}

#[test]
fn the_start_of_a_session_is_put_in_order_and_back() {
    let world = World::new();
    let ann = user("ann", &[Scope::Read, Scope::Write]);
    let pinned = |content: &str, project: &str| {
        let rule = json!({"content": content, "type": "rule", "delivery": "bootstrap", "project": project});
        let stored = world.call(&ann, "mememory", "remember", rule);
        stored.structured["id"].as_str().unwrap().to_owned()
    };
    let ids = ["Keep to one.", "Keep to two."].map(|content| pinned(content, "mill"));
    let start = |project: Value| {
        world
            .act(&ann, "session", json!({"project": project}))
            .unwrap()
    };
    let order = || -> Vec<String> {
        let start = start(json!("mill"));
        let items = start["items"].as_array().unwrap();
        let id = |item: &Value| item["memory"]["id"].as_str().unwrap().to_owned();
        items.iter().map(id).collect()
    };
    assert_eq!(start(Value::Null)["items"], json!([]));
    assert_eq!(start(Value::Null)["projects"], json!(["mill"]));
    assert_eq!(order(), ids);
    let shown = start(json!("mill"));
    let ends = |item: usize| {
        (
            &shown["items"][item]["can_rise"],
            &shown["items"][item]["can_fall"],
        )
    };
    assert_eq!(ends(0), (&json!(false), &json!(true)));
    assert!(shown["tokens"].as_u64().unwrap() > 0 && shown["held_back"] == 0);
    let moved = |to: Value| world.act(&ann, "move", json!({"id": ids[0], "to": to}));
    let back = moved(json!({"direction": "down"})).unwrap()["back"].take();
    assert_eq!(order(), [ids[1].clone(), ids[0].clone()]);
    moved(back).unwrap();
    assert_eq!(order(), ids);
    moved(json!({"after": ids[1]})).unwrap();
    moved(json!({"before": ids[1]})).unwrap();
    assert_eq!(order(), ids);
    for to in [
        json!({"direction": "up"}),
        json!({}),
        json!({"before": ids[1], "after": ids[1]}),
        json!({"before": ids[0]}),
    ] {
        let refused = moved(to.clone()).map_err(of_code);
        assert_eq!(refused, Err(ErrorCode::InvalidArgument), "{to}");
    }
    assert_eq!(order(), ids);
}

#[test]
fn facts_and_places_are_shown_and_the_busiest_entity_first() {
    let world = World::new();
    let ann = user("ann", &[Scope::Read, Scope::Write]);
    let shown = |tool: &str, arguments: Value| world.act(&ann, tool, arguments).unwrap();
    assert_eq!(shown("facts", json!({}))["facts"], json!([]));
    assert_eq!(shown("palace", json!({})), json!({"places": [], "more": 0}));
    for (subject, object, ended) in [
        ("crane", "north pier", Some("2025-03-01")),
        ("crane", "south pier", None),
        ("ship", "crane", None),
    ] {
        let fact = json!({"subject": subject, "predicate": "stands at", "object": object, "valid_from": "2024-01-01"});
        world.call(&ann, "mempalace", "mempalace_kg_add", fact);
        if let Some(ended) = ended {
            let end = json!({"subject": subject, "predicate": "stands at", "object": object, "ended": ended});
            world.call(&ann, "mempalace", "mempalace_kg_invalidate", end);
        }
    }
    let facts = shown("facts", json!({}));
    assert_eq!(facts["entity"], "crane");
    let of = |name: &str| -> Vec<Value> {
        let facts = facts["facts"].as_array().unwrap();
        facts.iter().map(|fact| fact[name].clone()).collect()
    };
    assert_eq!(of("other"), ["north pier", "south pier", "ship"]);
    assert_eq!(of("incoming"), [false, false, true]);
    assert_eq!(of("holds"), [false, true, true]);
    assert!(
        facts["facts"][0]["valid_to"]
            .as_str()
            .unwrap()
            .starts_with("2025-03-01")
    );
    let unknown = shown("facts", json!({"entity": "lorry"}));
    assert_eq!(
        (&unknown["entity"], &unknown["facts"]),
        (&json!("lorry"), &json!([]))
    );
    for project in ["mill", "mill", "shop"] {
        let memory = json!({"content": "A text", "project": project, "again": true});
        world.call(&ann, "mememory", "remember", memory);
    }
    let places = shown("palace", json!({}));
    let place = |project: &str, memories: u64| json!({"project": project, "topic": "fact", "memories": memories});
    assert_eq!(
        places["places"],
        json!([place("mill", 2), place("shop", 1)])
    );
}

#[test]
fn items_of_the_review_are_settled_and_come_back() {
    let world = World::new();
    let (ann, bob) = (
        user("ann", &[Scope::Read, Scope::Write]),
        user("bob", &[Scope::Read, Scope::Write]),
    );
    world.store(&ann, "The API listens on port 8080.");
    world.store(&ann, "The API listens on port 9090.");
    let rule = json!({"content": "Write in British English.", "type": "bootstrap"});
    world.call(&bob, "mememory", "remember", rule);
    assert!(world.engine.examine_for(Duration::from_mins(1)).unwrap());
    let kinds = || -> Vec<String> {
        let shown = world.act(&ann, "review", json!({})).unwrap();
        let items = shown["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(), ["contradiction", "directive"]);
    let shown = world.act(&ann, "review", json!({})).unwrap();
    let pair = &shown["items"][0];
    assert_eq!(pair["memory"]["text"], "The API listens on port 9090.");
    assert_eq!(pair["other"]["text"], "The API listens on port 8080.");
    assert_eq!(pair["certainty"], "sure");
    let settle = |settled: bool| {
        let key = &pair["key"];
        world
            .act(&ann, "settle", json!({"item": key, "settled": settled}))
            .unwrap()
    };
    assert_eq!(settle(true)["settled"], true);
    assert_eq!(kinds(), ["directive"]);
    settle(false);
    assert_eq!(kinds(), ["contradiction", "directive"]);
    for arguments in [
        json!({"settled": true}),
        json!({"item": "x", "accept": "y", "settled": true}),
    ] {
        let refused = world
            .act(&ann, "settle", arguments.clone())
            .map_err(of_code);
        assert_eq!(refused, Err(ErrorCode::InvalidArgument), "{arguments}");
    }
}

#[test]
fn a_view_has_the_rights_of_its_caller() {
    let world = World::new();
    let (ann, bob) = (
        user("ann", &Scope::ALL),
        user("bob", &[Scope::Read, Scope::Write]),
    );
    let own = world.call(
        &ann,
        "engram",
        "store_memory",
        json!({"content": "Ann's own", "category": "convention", "scope": "user", "source": "user-said"}),
    );
    let id = own.structured["id"].as_str().unwrap();
    assert_eq!(world.texts(&ann, &[id]).len(), 1);
    assert!(
        world.texts(&bob, &[id]).is_empty(),
        "bob sees what is ann's own"
    );
    let change = json!({"id": id, "pinned": true});
    let refused = world.act(&bob, "pin", change.clone()).map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::NotFound));
    let reader = user("ann", &[Scope::Read]);
    assert_eq!(world.texts(&reader, &[id]).len(), 1);
    let refused = world.act(&reader, "pin", change.clone()).map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::Forbidden));
    let writer = user("ann", &[Scope::Write]);
    let refused = world
        .act(&writer, "memories", json!({"ids": [id]}))
        .map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::Forbidden));
    let share = |caller: &Caller, shared: bool| {
        let share = json!({"id": id, "shared": shared});
        world.act(caller, "share", share).unwrap()["memory"]["visibility"].take()
    };
    assert_eq!(share(&ann, true), "shared");
    assert_eq!(world.texts(&bob, &[id]).len(), 1);
    let refused = world.act(&bob, "pin", change).map_err(of_code);
    assert_eq!(refused, Err(ErrorCode::Forbidden));
    assert_eq!(share(&ann, false), "private");
    assert!(world.texts(&bob, &[id]).is_empty());
}

#[test]
fn a_tool_set_whose_calls_name_a_user_acts_for_that_user() {
    let world = World::new();
    let admin = Caller::local();
    let stored = world.call(
        &admin,
        "memory-mcp",
        "store_memory",
        json!({"user_id": "ann", "messages": [{"role": "human", "content": "Ann drinks tea"}]}),
    );
    let id = &stored.structured["stm_ids"][0];
    let show = apps::tool("loci_view_memories").unwrap();
    let shown = |user: &str| {
        let arguments = json!({"ids": [id], "user_id": user});
        let reply = world
            .call_in(&admin, "memory-mcp", show, arguments)
            .unwrap();
        reply.structured["memories"].as_array().unwrap().len()
    };
    assert_eq!((shown("ann"), shown("bob")), (1, 0));
}

#[test]
fn changes_are_in_the_audit_log_and_looks_are_not() {
    let world = World::new();
    let ann = user("ann", &Scope::ALL);
    let id = world.store(&ann, "Tea at four");
    world.texts(&ann, &[&id]);
    world
        .act(&ann, "pin", json!({"id": id, "pinned": true}))
        .unwrap();
    // The change of a person is durable with what came before it.
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    let entries = world.engine.audit().entries(&all).unwrap();
    let mut logged: Vec<&str> = entries
        .iter()
        .map(|(_, entry)| entry.tool.as_str())
        .collect();
    logged.sort_unstable();
    assert_eq!(logged, ["loci_view_pin", "remember"]);
}
