//! Tests that an unreadable record and a missing one give the same reply through the same store
//! calls, so that neither words nor timing distinguish them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use loci_core::{Caller, Principal, Scope, Scopes, Space};
use loci_dialects::{Context, DIALECTS, dialect};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Value, json};

use crate::faulty_store::FaultyStore;

/// The argument that chooses the id of a discovery. A free id is taken as a new one, so only this
/// argument reveals other users' ids, which are random and cannot be guessed.
const CHOSEN_ID: (&str, &str, &str) = ("engram", "store_discovery", "id");

/// Returns every other argument that names a record by id: the tool set, the tool, the argument and
/// the arguments besides it.
fn by_id() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let ends = json!({"source_wing": "hall", "source_room": "open", "target_wing": "hall", "target_room": "yard"});
    vec![
        ("vault", "memory_forget", "id", json!({})),
        ("vault", "memory_search", "id", json!({})),
        ("mememory", "list", "id", json!({})),
        (
            "memory-mcp",
            "recall_memory",
            "memory_id",
            json!({"user_id": "bob"}),
        ),
        (
            "memory-mcp",
            "hybrid_search",
            "memory_id",
            json!({"user_id": "bob"}),
        ),
        (
            "mememory",
            "remember",
            "supersedes",
            json!({"content": "x"}),
        ),
        ("mememory", "update", "id", json!({"content": "x"})),
        ("mememory", "forget", "id", json!({})),
        (
            "memory-mcp",
            "delete_memory",
            "memory_id",
            json!({"user_id": "bob"}),
        ),
        ("engram", "get_memory", "id", json!({})),
        ("openai", "fetch", "id", json!({})),
        ("engram", "update_memory", "id", json!({"content": "x"})),
        ("engram", "delete_memory", "id", json!({})),
        ("engram", "set_visibility", "id", json!({"shared": true})),
        ("mempalace", "mempalace_get_drawer", "drawer_id", json!({})),
        (
            "mempalace",
            "mempalace_update_drawer",
            "drawer_id",
            json!({"content": "x"}),
        ),
        (
            "mempalace",
            "mempalace_delete_drawer",
            "drawer_id",
            json!({}),
        ),
        (
            "mempalace",
            "mempalace_create_tunnel",
            "source_drawer_id",
            ends.clone(),
        ),
        (
            "mempalace",
            "mempalace_create_tunnel",
            "target_drawer_id",
            ends,
        ),
        (
            "mempalace",
            "mempalace_delete_tunnel",
            "tunnel_id",
            json!({}),
        ),
    ]
}

struct World {
    engine: Engine,
    calls: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let store = FaultyStore::new(Arc::new(NaiveStore::new()));
        let noted = Arc::clone(&calls);
        store.before(move |method| {
            noted.lock().unwrap().push(method.to_owned());
            Ok(())
        });
        let embedder = Arc::new(HashingEmbedder::new(8));
        World {
            engine: Engine::new(
                store,
                embedder,
                Arc::new(FixedClock::default()),
                SearchMode::Hybrid,
            ),
            calls,
        }
    }

    /// Returns the reply, or the error message, and the store calls that it took.
    fn ask(
        &self,
        subject: &str,
        set: &str,
        tool: &str,
        arguments: &Value,
    ) -> (Result<Value, String>, Vec<String>) {
        self.ask_with(&[Scope::Read, Scope::Write], subject, set, tool, arguments)
    }

    fn ask_with(
        &self,
        scopes: &[Scope],
        subject: &str,
        set: &str,
        tool: &str,
        arguments: &Value,
    ) -> (Result<Value, String>, Vec<String>) {
        let caller = Caller::new(
            Space::default(),
            Principal::new(subject, Scopes::of(scopes)),
        );
        let (dialect, context) = (
            dialect(set).unwrap(),
            Context {
                engine: &self.engine,
                caller: &caller,
            },
        );
        self.calls.lock().unwrap().clear();
        let reply = dialect.call(
            dialect.tool(tool).unwrap(),
            context,
            arguments.as_object().unwrap().clone(),
        );
        let reply = reply
            .map(|reply| reply.structured)
            .map_err(|error| format!("{:?} {error}", error.code));
        (reply, std::mem::take(&mut *self.calls.lock().unwrap()))
    }

    fn made(&self, set: &str, tool: &str, arguments: &Value, id: &str) -> String {
        self.ask("ann", set, tool, arguments).0.unwrap()[id]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// Returns another id of the same form.
fn altered(id: &str) -> String {
    let last = if id.ends_with('a') { 'b' } else { 'a' };
    format!("{}{last}", &id[..id.len() - 1])
}

#[test]
fn what_one_may_not_read_takes_the_same_way_as_what_is_not_there() {
    let world = World::new();
    for room in ["open", "yard"] {
        let drawer = json!({"wing": "hall", "room": room, "content": format!("common {room}")});
        world.made("mempalace", "mempalace_add_drawer", &drawer, "drawer_id");
    }
    let memory = json!({"content": "Ann's own", "scope": "plans", "source": "user-said", "category": "decision"});
    let memory = world.made("engram", "store_memory", &memory, "id");
    let citations = json!([{"kind": "file", "ref": "a.rs"}]);
    let discovery = json!({"content": "Ann's map", "kind": "map", "citations": citations, "scope": "discovery:s"});
    let discovery = world.made("engram", "store_discovery", &discovery, "id");
    let said = json!({"user_id": "ann", "conversation_id": "c", "messages": [{"role": "human", "content": "Ann says"}]});
    let said = world
        .ask("ann", "memory-mcp", "store_memory", &said)
        .0
        .unwrap()["stm_ids"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let plans = json!({"source_wing": "plans", "source_room": "decision", "target_wing": "hall", "target_room": "open"});
    let tunnel = world.made("mempalace", "mempalace_create_tunnel", &plans, "tunnel_id");

    for (set, tool, argument, more) in by_id() {
        let records = if argument == "tunnel_id" {
            vec![&tunnel]
        } else {
            vec![&memory, &discovery, &said]
        };
        for there in records {
            let absent = altered(there);
            let ask = |id: &str| {
                let mut arguments = more.clone();
                arguments[argument] = json!(id);
                let (reply, calls) = world.ask("bob", set, tool, &arguments);
                (format!("{reply:?}").replace(id, "ID"), calls)
            };
            // A first call fills the caches.
            ask(&absent);
            let (hidden, gone) = (ask(there), ask(&absent));
            assert_eq!(hidden, gone, "{set} {tool} {argument} {there}");
            assert!(!hidden.1.is_empty(), "{set} {tool} {argument} asks nothing");
            assert!(
                hidden.0.starts_with("Err(\"NotFound")
                    || hidden.0.contains("\"deleted_count\": Number(0)"),
                "{}",
                hidden.0
            );
        }
    }
    // No call had an effect.
    assert!(
        world
            .ask("ann", "engram", "get_memory", &json!({"id": memory}))
            .0
            .is_ok()
    );
}

/// Checks the replies for a token with only the scope `write`.
#[test]
fn who_may_only_write_is_not_told_of_what_is_there() {
    let world = World::new();
    let drawer =
        |room: &str| json!({"wing": "hall", "room": room, "content": format!("common {room}")});
    let common = world.made(
        "mempalace",
        "mempalace_add_drawer",
        &drawer("open"),
        "drawer_id",
    );
    world.made(
        "mempalace",
        "mempalace_add_drawer",
        &drawer("yard"),
        "drawer_id",
    );
    let own = world.made(
        "mememory",
        "remember",
        &json!({"content": "common, too"}),
        "id",
    );
    let memory = json!({"content": "Ann's own", "scope": "plans", "source": "user-said", "category": "decision"});
    let shared = world.made("engram", "store_memory", &memory, "id");
    world
        .ask(
            "ann",
            "engram",
            "set_visibility",
            &json!({"id": shared, "shared": true}),
        )
        .0
        .unwrap();
    let ends = json!({"source_wing": "hall", "source_room": "open", "target_wing": "hall", "target_room": "yard"});
    let tunnel = world.made("mempalace", "mempalace_create_tunnel", &ends, "tunnel_id");
    let fact = json!({"subject": "Ann", "predicate": "keeps", "object": "bees"});
    world.made("mempalace", "mempalace_kg_add", &fact, "triple_id");
    let ask = |set: &str, tool: &str, arguments: &Value| {
        world.ask_with(&[Scope::Write], "bob", set, tool, arguments)
    };

    let chosen = json!({
        "content": "x", "kind": "map", "scope": "discovery:s", "citations": [{"kind": "file", "ref": "a.rs"}],
    });
    for (set, tool, argument, more) in
        by_id()
            .into_iter()
            .chain([(CHOSEN_ID.0, CHOSEN_ID.1, CHOSEN_ID.2, chosen)])
    {
        let records = if argument == "tunnel_id" {
            vec![&tunnel]
        } else {
            vec![&common, &own, &shared]
        };
        for there in records {
            // The first characters are a partial id.
            for (there, absent) in [
                (&**there, altered(there)),
                (&there[..12], altered(&there[..12])),
            ] {
                let ask = |id: &str| {
                    let mut arguments = more.clone();
                    arguments[argument] = json!(id);
                    let (reply, calls) = ask(set, tool, &arguments);
                    (format!("{reply:?}").replace(id, "ID"), calls)
                };
                ask(&absent);
                assert_eq!(ask(there), ask(&absent), "{set} {tool} {argument} {there}");
            }
        }
    }
    // An existing record and a new one, each stored twice.
    let triple = |object: &str| json!({"subject": "ann", "predicate": "KEEPS", "object": object});
    let rows = [
        (
            "mempalace_add_drawer",
            "drawer_id",
            drawer("open"),
            drawer("unheard of"),
        ),
        (
            "mempalace_kg_add",
            "triple_id",
            triple("bees"),
            triple("wasps"),
        ),
    ];
    for (tool, id, there, new) in rows {
        let ask = |arguments: &Value| {
            let mut reply = ask("mempalace", tool, arguments).0.unwrap();
            assert_ne!(reply[id].take(), json!(common), "{tool}");
            let said = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
            let words = ["room", "object"].map(said);
            words
                .iter()
                .filter(|word| !word.is_empty())
                .fold(reply.to_string(), |text, word| text.replace(word, "WORD"))
        };
        assert_eq!([ask(&there), ask(&there)], [ask(&new), ask(&new)], "{tool}");
    }
    for ended in ["bees", "unheard of"] {
        let (reply, calls) = ask("mempalace", "mempalace_kg_invalidate", &triple(ended));
        assert!(reply.unwrap_err().contains("`read`") && calls.is_empty());
    }
    // No call had an effect.
    assert!(
        world
            .ask(
                "ann",
                "mempalace",
                "mempalace_get_drawer",
                &json!({"drawer_id": common})
            )
            .0
            .is_ok()
    );
    let facts = world
        .ask(
            "ann",
            "mempalace",
            "mempalace_kg_query",
            &json!({"entity": "ann"}),
        )
        .0
        .unwrap();
    assert_eq!(facts["count"], 2, "{facts}");
}

#[test]
fn every_argument_that_is_an_id_is_tried() {
    let mut ids = BTreeSet::new();
    for dialect in DIALECTS {
        for tool in dialect.tools {
            let schema = tool.input_schema();
            for name in schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|properties| properties.keys())
            {
                let is_id = name == "id" || name.ends_with("_id") || name == "supersedes";
                if is_id && !["user_id", "conversation_id"].contains(&name.as_str()) {
                    ids.insert((dialect.name, tool.name, name.clone()));
                }
            }
        }
    }
    let tried = by_id()
        .into_iter()
        .map(|(set, tool, argument, _)| (set, tool, argument))
        .chain([CHOSEN_ID]);
    let tried: BTreeSet<_> = tried
        .map(|(set, tool, argument)| (set, tool, argument.to_owned()))
        .collect();
    let missing: Vec<_> = ids.difference(&tried).collect();
    assert!(missing.is_empty(), "add these to `by_id`: {missing:?}");
    assert_eq!(ids, tried, "`by_id` has arguments that are no ids any more");
}
