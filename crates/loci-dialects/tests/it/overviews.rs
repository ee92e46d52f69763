//! Tests of overviews over very many places.

use std::sync::Arc;

use loci_core::{Caller, MemoryId, Principal, Scope, Scopes, Space};
use loci_dialects::{Context, Dialect, engram, mememory, memory_mcp, mempalace};
use loci_engine::{Conversation, Engine, Message, Role, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Map, Value, json};

const BYTES_MAX: usize = 8 << 10;
const PLACES: usize = 500;

fn engine() -> Engine {
    let clock = Arc::new(FixedClock::default());
    Engine::new(
        Arc::new(NaiveStore::new()),
        Arc::new(HashingEmbedder::new(8)),
        clock,
        SearchMode::Words,
    )
}

fn ann() -> Caller {
    Caller::new(
        Space::default(),
        Principal::new("ann", Scopes::of(&[Scope::Read, Scope::Write])),
    )
}

/// Calls a tool and checks that its reply fits into an overview.
fn overview(engine: &Engine, dialect: &Dialect, tool: &str, arguments: &Value) -> Value {
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let reply = dialect
        .call(
            dialect.tool(tool).unwrap(),
            Context {
                engine,
                caller: &ann(),
            },
            arguments,
        )
        .unwrap();
    assert!(
        reply.text.len() <= BYTES_MAX,
        "{tool}: {} bytes",
        reply.text.len()
    );
    reply.structured
}

#[test]
fn five_hundred_conversations_are_no_places() {
    let engine = engine();
    for number in 0..PLACES {
        let content = format!("We decided to paint the crane number {number} yellow in the spring");
        let messages = vec![Message {
            role: Role::Human,
            content,
            tags: Vec::new(),
        }];
        let ids = std::cell::Cell::new(0);
        let mint = || {
            ids.set(ids.get() + 1);
            MemoryId::new(format!("{number}-{}", ids.get()))
        };
        engine
            .system(&ann())
            .conversations()
            .store_messages(Conversation {
                thread: format!("chat-{number}"),
                messages,
                mint: &mint,
            })
            .unwrap();
    }
    let call = |dialect, tool, arguments: &Value| overview(&engine, dialect, tool, arguments);
    let palace = |tool| call(&mempalace::DIALECT, tool, &json!({}));
    assert_eq!(
        palace("mempalace_list_wings"),
        json!({"wings": {"global": PLACES}})
    );
    assert_eq!(
        palace("mempalace_get_taxonomy"),
        json!({"taxonomy": {"global": {"other": PLACES}}})
    );
    assert_eq!(
        palace("mempalace_status")["wings"],
        json!({"global": PLACES})
    );
    let stats = call(&mememory::DIALECT, "stats", &json!({}));
    assert_eq!(
        (&stats["by_scope"], &stats["by_project"]),
        (&json!({"global": PLACES, "project": 0}), &json!({}))
    );
    let health = call(
        &memory_mcp::DIALECT,
        "memory_health",
        &json!({"user_id": "ann"}),
    );
    assert_eq!(health["tier_stats"], json!({"stm": PLACES, "ltm": PLACES}));
    let listed = call(
        &engram::DIALECT,
        "list_memory",
        &json!({"scope": "global", "limit": 5}),
    );
    assert_eq!(listed["memories"].as_array().unwrap().len(), 5);
}

/// Tests many wings with long names, in bytes and in JSON characters, each with a room of its own,
/// a room that all have, and a room that is only a type.
#[test]
fn an_overview_of_many_places_shows_the_largest_and_counts_the_others() {
    for name in [
        "w",
        "a wing with a name that goes on and on",
        "\u{65e5}\u{672c}\u{8a9e}\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"x",
    ] {
        let engine = engine();
        let file = |wing: &str, room: &str, content: &str| {
            let arguments = json!({"wing": wing, "room": room, "content": content});
            let context = Context {
                engine: &engine,
                caller: &ann(),
            };
            let tool = mempalace::DIALECT.tool("mempalace_add_drawer").unwrap();
            mempalace::DIALECT
                .call(tool, context, arguments.as_object().cloned().unwrap())
                .unwrap();
        };
        for number in 0..PLACES {
            let wing = format!("{name}{number}");
            for room in ["shared", "fact", &format!("{wing} room")] {
                file(&wing, room, "text");
            }
        }
        file(&format!("{name}77"), "shared", "another");
        let palace =
            |tool, arguments: &Value| overview(&engine, &mempalace::DIALECT, tool, arguments);
        let (largest, all) = (format!("{name}77"), PLACES as u64);
        let check = |reply: &Value, shown: &str, more: &str, total: u64| {
            let counts = reply[shown].as_object().unwrap();
            assert!(
                !counts.is_empty() && counts.len() <= 50,
                "{shown}: {}",
                counts.len()
            );
            assert_eq!(
                counts.len() as u64 + reply[more].as_u64().unwrap(),
                total,
                "{shown}"
            );
        };
        let status = palace("mempalace_status", &json!({}));
        check(&status, "wings", "more_wings", all);
        check(&status, "rooms", "more_rooms", all + 2);
        assert_eq!(
            (&status["total_drawers"], &status["wings"][&largest]),
            (&json!(3 * PLACES + 1), &json!(4))
        );
        let wings = palace("mempalace_list_wings", &json!({}));
        check(&wings, "wings", "more_wings", all);
        assert_eq!(wings["wings"][&largest], 4);
        check(
            &palace("mempalace_list_rooms", &json!({})),
            "rooms",
            "more_rooms",
            all + 2,
        );
        let of_one = palace("mempalace_list_rooms", &json!({"wing": largest}));
        assert_eq!(
            (
                of_one["rooms"].as_object().unwrap().len(),
                &of_one["more_rooms"]
            ),
            (3, &Value::Null)
        );
        let taxonomy = palace("mempalace_get_taxonomy", &json!({}));
        check(&taxonomy, "taxonomy", "more_wings", all);
        assert_eq!(taxonomy["taxonomy"][&largest]["shared"], 2);
        let stats = palace("mempalace_graph_stats", &json!({}));
        check(&stats, "rooms_per_wing", "more_wings", all);
        assert_eq!(stats["tunnel_rooms"], 1, "a mere type is none");
        assert_eq!(stats["top_tunnels"][0]["more_wings"], PLACES - 5);
        let bridges = palace("mempalace_find_tunnels", &json!({}));
        assert_eq!(
            (bridges.as_array().unwrap().len(), &bridges[0]["room"]),
            (1, &json!("shared"))
        );
        let walk = palace(
            "mempalace_traverse",
            &json!({"start_room": "shared", "max_hops": 1}),
        );
        let shown = walk.as_array().unwrap().len();
        assert!((5..=50).contains(&shown), "{shown}");
        let projects = overview(&engine, &mememory::DIALECT, "stats", &json!({}));
        check(&projects, "by_project", "more_projects", all);
        check(&projects, "by_type", "more_types", all + 2);
    }
}
