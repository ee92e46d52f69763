//! Views of the conversation: who gets them, and that nobody else notices.

use loci_dialects::apps::{self, AppView};
use loci_dialects::{DIALECTS, Dialect, dialect, mememory, memory_mcp, openai};
use loci_server::{AppPages, Authentication, HttpConfig, ServedDialect, ToolPrefix};
use serde_json::{Value, json};

use crate::support::{LEGACY, MODERN, Pipe, Server, World, call, request};

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";
const SESSION: &str = "mcp-session-id";

fn page(view: &AppView, tool_prefix: &str) -> String {
    format!("<!doctype html><title>{} {tool_prefix}</title>", view.name)
}

fn capabilities(declares: bool) -> Value {
    if declares {
        json!({"extensions": {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}})
    } else {
        json!({})
    }
}

/// Returns a request of a revision with these capabilities, which the older ones send once.
fn message(version: &str, declares: bool, method: &str, mut params: Value) -> Value {
    if version == MODERN {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities(declares);
    }
    request(1, method, params)
}

/// Returns the greeting of a revision.
fn greeting(version: &str, declares: bool) -> Value {
    if version == MODERN {
        return message(version, declares, "server/discover", json!({}));
    }
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities(declares), "clientInfo": client});
    request(1, "initialize", params)
}

/// A client of either transport.
enum Client<'a> {
    Pipe(Box<Pipe>),
    Http(&'a Server, &'static str, Option<String>),
}

impl Client<'_> {
    async fn ask(&mut self, version: &str, message: &Value) -> Value {
        match self {
            Client::Pipe(pipe) => {
                let reply = pipe.ask(message).await;
                if message["method"] == "initialize" {
                    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                    pipe.send(&told).await;
                }
                reply
            }
            Client::Http(server, dialect, session) => {
                let (method, params) = (message["method"].as_str().unwrap(), &message["params"]);
                let name = params["name"].as_str().or(params["uri"].as_str());
                let mut headers = vec![("mcp-protocol-version", version)];
                if version == MODERN {
                    headers.push(("mcp-method", method));
                    headers.extend(name.map(|name| ("mcp-name", name)));
                }
                headers.extend(session.as_deref().map(|session| (SESSION, session)));
                let body = message.to_string();
                let reply = server.post_to(dialect, &headers, body.as_bytes()).await;
                let assigned = reply.headers.get(SESSION).cloned();
                if method == "initialize" {
                    *session = assigned;
                } else {
                    assert_eq!(assigned, None);
                }
                reply.json()
            }
        }
    }
}

/// Everything that a client of a tool set learns: the greeting, the lists, and replies.
async fn learned(client: &mut Client<'_>, version: &str, declares: bool) -> Vec<Value> {
    let mut learned = vec![client.ask(version, &greeting(version, declares)).await];
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": apps::VIEWS[0].uri})),
        ("tools/call", call("recall", json!({"query": "kiln"}))),
        ("tools/call", call("list", json!({}))),
        (
            "tools/call",
            call("mempalace_search", json!({"query": "kiln"})),
        ),
        (
            "tools/call",
            call("loci_view_memories", json!({"ids": ["a"]})),
        ),
    ] {
        let asked = message(version, declares, method, params);
        learned.push(client.ask(version, &asked).await);
    }
    learned
}

/// Asks every tool set in every revision over both transports.
async fn all_learned(world: &World, declares: bool) -> Vec<(String, Vec<Value>)> {
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(world, config, DIALECTS).await;
    let mut all = Vec::new();
    for version in LEGACY.into_iter().chain([MODERN]) {
        for dialect in DIALECTS {
            let pipe = Client::Pipe(Box::new(Pipe::connect(world, *dialect)));
            let http = Client::Http(&server, dialect.name, None);
            for (transport, mut client) in [("stdio", pipe), ("http", http)] {
                let what = format!("{} {transport} {version}", dialect.name);
                all.push((what, learned(&mut client, version, declares).await));
            }
        }
    }
    server.stop().await;
    all
}

/// Returns a world with two memories that every user sees.
async fn filled() -> World {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &mememory::DIALECT, MODERN).await;
    for content in ["The kiln fires at night", "The kiln is cleaned on Mondays"] {
        let stored = call("remember", json!({"content": content}));
        pipe.request(1, "tools/call", stored).await;
    }
    pipe.close().await;
    world
}

#[tokio::test]
async fn a_client_that_does_not_declare_views_learns_nothing_of_them() {
    let world = filled().await;
    let before = all_learned(&world, false).await;
    // The reply to `declares` of a server without views is the same, too.
    for (views, declares) in [(true, false), (false, true)] {
        let pages: AppPages = page;
        let world = world.with_app_pages(views.then_some(pages));
        let now = all_learned(&world, declares).await;
        assert_eq!(before.len(), now.len());
        for ((what, before), (_, now)) in before.iter().zip(&now) {
            for (before, now) in before.iter().zip(now) {
                assert_eq!(before.to_string(), now.to_string(), "{what}");
            }
        }
    }
    let tools: usize = before
        .iter()
        .filter(|(what, _)| what.ends_with("http 2026-07-28"))
        .map(|(_, learned)| learned[1]["result"]["tools"].as_array().unwrap().len())
        .sum();
    assert_eq!(
        tools,
        DIALECTS
            .iter()
            .map(|dialect| dialect.tools.len())
            .sum::<usize>()
    );
}

#[tokio::test]
async fn a_client_that_declares_views_finds_them_beside_what_it_had() {
    let world = filled().await;
    let before = all_learned(&world, false).await;
    let now = all_learned(&world.with_app_pages(Some(page)), true).await;
    for ((what, before), (_, now)) in before.iter().zip(&now) {
        let (name, modern) = (what.split(' ').next().unwrap(), what.contains(MODERN));
        let dialect = dialect(name).unwrap();
        has_tools(what, dialect, &before[1], &now[1]);
        let capabilities = &now[0]["result"]["capabilities"];
        assert!(capabilities["resources"].is_object(), "{what}");
        let scope = |reply: &Value| reply["result"]["cacheScope"].clone();
        let expected = if modern {
            json!("private")
        } else {
            Value::Null
        };
        for list in [0, 1, 2, 4] {
            assert_eq!(scope(&now[list]), expected, "{what} {list}");
        }
        let listed = now[2]["result"]["resources"].as_array().unwrap();
        let views: Vec<&str> = listed
            .iter()
            .filter(|resource| resource["mimeType"] == MEDIA_TYPE)
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        let known: Vec<&str> = apps::VIEWS.iter().map(|view| view.uri).collect();
        assert_eq!(views, known, "{what}");
        let own = before[2]["result"]["resources"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(listed.len(), own + views.len(), "{what}");
        assert!(now[3]["result"]["resourceTemplates"].is_array(), "{what}");
        let content = &now[4]["result"]["contents"][0];
        assert_eq!(content["mimeType"], MEDIA_TYPE, "{what}");
        assert_eq!(content["text"], page(&apps::VIEWS[0], ""), "{what}");
        assert_eq!(content["_meta"]["ui"]["prefersBorder"], true, "{what}");
        for call in 5..8 {
            says_the_same(what, &before[call], &now[call]);
        }
        assert_eq!(now[8]["result"]["structuredContent"]["memories"], json!([]));
    }
}

/// Checks that a list has the same tools with their views, and behind them the tools of views.
fn has_tools(what: &str, dialect: &Dialect, before: &Value, now: &Value) {
    let tools = |reply: &Value| reply["result"]["tools"].as_array().unwrap().clone();
    let (before, mut now) = (tools(before), tools(now));
    let of_views = now.split_off(before.len());
    for (tool, (before, mut now)) in dialect.tools.iter().zip(before.into_iter().zip(now)) {
        if let Some(view) = apps::view_of(tool) {
            let meta = now["_meta"].as_object_mut().unwrap();
            let ui = meta.remove("ui").unwrap();
            assert_eq!(ui, json!({"resourceUri": view.uri}), "{what}");
            assert_eq!(meta.remove("ui/resourceUri").unwrap(), view.uri, "{what}");
            if meta.is_empty() {
                now.as_object_mut().unwrap().remove("_meta");
            }
        }
        assert_eq!(before.to_string(), now.to_string(), "{what}");
    }
    assert_eq!(of_views.len(), apps::TOOLS.len(), "{what}");
    for tool in of_views {
        assert_eq!(
            tool["_meta"]["ui"],
            json!({"visibility": ["app"]}),
            "{what}"
        );
    }
}

/// Checks that a model reads the same of two results, and that no text is beside the one for a view.
fn says_the_same(what: &str, before: &Value, now: &Value) {
    let (before, mut now) = (before.clone(), now.clone());
    if let Some(meta) = now
        .pointer_mut("/result/_meta")
        .and_then(Value::as_object_mut)
    {
        if let Some(beside) = meta.remove("loci/view") {
            assert_eq!(beside["memories"].as_array().unwrap().len(), 2, "{what}");
            assert!(!beside.to_string().contains("kiln"), "{what}: {beside}");
        }
        if meta.is_empty() {
            now["result"].as_object_mut().unwrap().remove("_meta");
        }
    }
    assert_eq!(before.to_string(), now.to_string(), "{what}");
}

#[tokio::test]
async fn a_prefix_and_the_compact_form_leave_views_what_they_need() {
    let world = filled().await.with_app_pages(Some(page));
    let served = ServedDialect {
        is_compact: true,
        prefix: Some(ToolPrefix::parse("--prefix", "work").unwrap()),
        ..ServedDialect::from(&mememory::DIALECT)
    };
    let mut pipe = Pipe::connect(&world, served);
    let mut ask = async |method: &str, params: Value| {
        pipe.ask(&message(MODERN, true, method, params)).await["result"].take()
    };
    let read = ask("resources/read", json!({"uri": apps::VIEWS[0].uri})).await;
    let text = &read["contents"][0]["text"];
    assert_eq!(*text, page(&apps::VIEWS[0], "work_"));
    let found = ask("tools/call", call("work_recall", json!({"query": "kiln"}))).await;
    assert_eq!(found.get("structuredContent"), None);
    let id = found["_meta"]["loci/view"]["memories"][0]["id"].clone();
    let show = call("work_loci_view_memories", json!({"ids": [id]}));
    let shown = ask("tools/call", show).await;
    assert_eq!(shown["structuredContent"]["memories"][0]["id"], id);
}

#[tokio::test]
async fn what_is_no_view_is_said_to_be_missing() {
    let world = World::new().with_app_pages(Some(page));
    let mut pipe = Pipe::connect(&world, &openai::DIALECT);
    let other = json!({"uri": "ui://loci/other.html"});
    let asked = message(MODERN, true, "resources/read", other.clone());
    let reply = pipe.ask(&asked).await;
    assert_eq!(reply["error"]["data"], other, "{reply}");
    let asked = message(
        MODERN,
        true,
        "tools/call",
        call("loci_view_other", json!({})),
    );
    let reply = pipe.ask(&asked).await;
    let said = reply["error"]["message"].as_str().unwrap();
    assert!(
        said.contains("there is no tool `loci_view_other`"),
        "{said}"
    );
}

#[tokio::test]
async fn a_view_acts_for_the_user_whom_the_call_named() {
    let world = World::new().with_app_pages(Some(page));
    let mut pipe = Pipe::connect(&world, &memory_mcp::DIALECT);
    let said = json!([{"role": "human", "content": "Ann drinks tea"}]);
    for (tool, arguments) in [
        ("store_memory", json!({"user_id": "ann", "messages": said})),
        ("recall_memory", json!({"user_id": "ann", "query": "tea"})),
    ] {
        let asked = message(MODERN, true, "tools/call", call(tool, arguments));
        let reply = pipe.ask(&asked).await;
        let beside = &reply["result"]["_meta"]["loci/view"];
        if tool == "recall_memory" {
            assert_eq!(beside["user_id"], "ann", "{reply}");
            assert_eq!(beside["memories"].as_array().unwrap().len(), 1, "{reply}");
        } else {
            assert!(beside.is_null(), "{reply}");
        }
    }
}

#[tokio::test]
async fn the_session_of_another_server_shows_no_views() {
    let world = filled().await.with_app_pages(Some(page));
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(&world, config, DIALECTS).await;
    for (version, session, expected) in [
        ("2025-11-25", "apps-0123", true),
        ("2025-11-25", "0123-apps-", false),
        // Later revisions have no sessions.
        (MODERN, "apps-0123", false),
    ] {
        let mut client = Client::Http(&server, "mememory", Some(session.to_owned()));
        let asked = message(version, false, "tools/list", json!({}));
        let reply = client.ask(version, &asked).await;
        let has_views = reply.to_string().contains("resourceUri");
        assert_eq!(has_views, expected, "{version} {session}");
    }
    server.stop().await;
}
