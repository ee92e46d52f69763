//! The JSON interface beside the views: lists in parts, storing, errands, the description.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use loci_core::{AuditQuery, Space};
use loci_engine::RedactionScope;
use loci_testkit::Random;
use serde_json::{Value, json};

use crate::places::Finder;
use crate::support::{Reply, TestPage, caller};

/// Sends a request as a program of this user.
async fn send(page: &TestPage, user: &str, method: Method, path: &str, body: &Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1{path}"))
        .header(AUTHORIZATION, format!("Bearer {user}"))
        .header(CONTENT_TYPE, "application/json");
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string()),
    };
    page.stranger().send(request.body(body).unwrap()).await
}

async fn get(page: &TestPage, user: &str, path: &str) -> Reply {
    send(page, user, Method::GET, path, &Value::Null).await
}

async fn store(page: &TestPage, user: &str, body: Value) -> Reply {
    send(page, user, Method::POST, "/memories", &body).await
}

fn tools(page: &TestPage) -> Vec<(Option<String>, String)> {
    let query = AuditQuery {
        space: Space::default(),
        limit: 100,
        ..AuditQuery::default()
    };
    let entries = page.engine.audit().entries(&query).unwrap();
    let named = |(_, entry): (u64, loci_core::AuditEntry)| (entry.user, entry.tool);
    entries.into_iter().map(named).collect()
}

#[tokio::test]
async fn a_list_in_parts_shows_each_memory_once_while_others_write() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let page = TestPage::new();
        let mut here: Vec<String> = Vec::new();
        for number in 0..20 {
            here.push(page.remember("ann", &format!("memory {number}")));
        }
        let first = here.clone();
        let mut removed = Vec::new();
        let order = ["newest", "oldest"][seed as usize % 2];
        let mut listed = BTreeMap::<String, usize>::new();
        let mut cursor = String::new();
        loop {
            let limit = 1 + random.below(4);
            let reply = get(
                &page,
                "ann",
                &format!("/memories?order={order}&limit={limit}{cursor}"),
            )
            .await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
            let part = reply.json();
            let items = part["items"].as_array().unwrap();
            assert!(items.len() <= limit, "{part}");
            assert_eq!(part.get("total").is_some(), cursor.is_empty(), "{part}");
            for item in items {
                *listed
                    .entry(item["id"].as_str().unwrap().to_owned())
                    .or_default() += 1;
            }
            let Some(next) = part["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
            if listed.len() < 40 {
                for _ in 0..random.below(3) {
                    here.push(page.remember("ann", &format!("another {}", random.bits())));
                }
            }
            for _ in 0..random.below(3) {
                let id = here.swap_remove(random.below(here.len()));
                let ann = page.engine.system(&caller("ann"));
                ann.memories()
                    .forget(&loci_core::MemoryId::new(&*id))
                    .unwrap();
                removed.push(id);
            }
        }
        assert!(
            listed.values().all(|times| *times == 1),
            "seed {seed}: {listed:?}"
        );
        for id in first.iter().filter(|id| !removed.contains(id)) {
            assert!(listed.contains_key(id), "seed {seed}: {id}");
        }
    }
}

#[tokio::test]
async fn a_cursor_holds_for_its_list_and_says_what_to_do_otherwise() {
    let page = TestPage::new();
    for number in 0..3 {
        page.remember("ann", &format!("memory {number}"));
    }
    let part = get(&page, "ann", "/memories?limit=1").await.json();
    assert_eq!(part["total"], 3);
    let cursor = part["next_cursor"].as_str().unwrap();
    let same = get(&page, "ann", &format!("/memories?limit=2&cursor={cursor}"))
        .await
        .json();
    assert_eq!(same["items"].as_array().unwrap().len(), 2);
    assert_eq!(same["next_cursor"], Value::Null);
    let rows = [
        (format!("cursor={cursor}&type=fact"), "cursor"),
        (format!("cursor={cursor}x"), "cursor"),
        ("cursor=50".to_owned(), "cursor"),
        ("limit=0".to_owned(), "limit"),
        ("limit=101".to_owned(), "limit"),
        ("order=random".to_owned(), "order"),
        ("offset=50".to_owned(), "offset"),
        ("from=soon".to_owned(), "from"),
    ];
    for (query, argument) in rows {
        let refused = get(&page, "ann", &format!("/memories?{query}")).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{query}: {}",
            refused.text
        );
        let error = &refused.json()["error"];
        assert_eq!(error["code"], "invalid_argument", "{query}");
        assert_eq!(error["argument"], argument, "{query}: {error}");
    }
    // The list has nothing that others keep to themselves.
    assert_eq!(get(&page, "bob", "/memories").await.json()["total"], 0);
}

#[tokio::test]
async fn calls_are_listed_in_parts_while_others_are_made() {
    let page = TestPage::new();
    for number in 0..5 {
        store(&page, "ann", json!({"content": format!("memory {number}")})).await;
    }
    page.engine.audit().flush().unwrap();
    let (mut cursor, mut listed) = (String::new(), 0);
    loop {
        let part = get(&page, "ann", &format!("/calls?limit=2{cursor}"))
            .await
            .json();
        listed += part["items"].as_array().unwrap().len();
        let Some(next) = part["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
        store(&page, "ann", json!({"content": "in between"})).await;
        page.engine.audit().flush().unwrap();
    }
    assert_eq!(listed, 5);
    let memories = get(&page, "ann", "/memories?limit=1").await.json();
    let other = memories["next_cursor"].as_str().unwrap();
    let refused = get(&page, "ann", &format!("/calls?cursor={other}")).await;
    assert_eq!(
        refused.json()["error"]["argument"],
        "cursor",
        "{}",
        refused.text
    );
    let of_bob = get(&page, "bob", "/calls").await.json();
    assert_eq!(of_bob["items"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_memory_is_stored_once_under_a_key() {
    let page = TestPage::new();
    let new = json!({
        "content": "The kiln fires at 1240 degrees.", "wing": "pottery", "type": "decision",
        "tags": ["kiln"], "idempotency_key": "one",
    });
    let stored = store(&page, "ann", new.clone()).await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text);
    let stored = stored.json();
    assert_eq!(stored["is_new"], true);
    assert_eq!(stored["memory"]["wing"], "pottery");
    assert_eq!(stored["memory"]["type"], "decision");
    assert_eq!(stored["memory"]["via"], "page");
    let id = stored["memory"]["id"].as_str().unwrap().to_owned();
    page.remember("ann", "something in between");
    let again = store(&page, "ann", new.clone()).await.json();
    assert_eq!(
        (&again["is_new"], &again["memory"]["id"]),
        (&json!(false), &json!(id))
    );
    assert_eq!(get(&page, "ann", "/memories").await.json()["total"], 2);

    let mut other = new.clone();
    other["content"] = json!("The kiln fires at 1260 degrees.");
    assert_eq!(
        store(&page, "ann", other.clone()).await.status,
        StatusCode::CONFLICT
    );
    // Keys are of a user.
    assert_eq!(store(&page, "bob", other).await.json()["is_new"], true);

    let ann = page.engine.system(&caller("ann"));
    ann.memories()
        .forget(&loci_core::MemoryId::new(&*id))
        .unwrap();
    let gone = store(&page, "ann", new).await;
    assert_eq!(gone.status, StatusCode::CONFLICT, "{}", gone.text);
    assert!(gone.text.contains("was deleted"), "{}", gone.text);
    let without_a_key = json!({"content": "Again and again."});
    let first = store(&page, "ann", without_a_key.clone()).await.json();
    let second = store(&page, "ann", without_a_key).await.json();
    assert_eq!(second["duplicate_of"], first["memory"]["id"]);
    assert_eq!(second["is_new"], true);
    assert!(tools(&page).contains(&(Some("ann".to_owned()), "store_memory".to_owned())));
}

#[tokio::test]
async fn what_is_stored_follows_the_rules_of_tools() {
    let page =
        TestPage::with(|engine| engine.with_redactor(Arc::new(Finder), RedactionScope::Everything));
    let text = json!({"content": "a text"});
    let refused = store(&page, "reader", text).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    let secret = "the token is s3cret";
    let stored = store(&page, "ann", json!({"content": secret, "tags": [secret]})).await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text);
    assert_eq!(stored.json()["redacted"], 2, "{}", stored.text);
    assert!(!stored.text.contains("s3cret"), "{}", stored.text);
    let rows = [
        (json!({}), "content"),
        (json!({"content": ""}), "content"),
        (json!({"content": "a text", "wing": secret}), "wing"),
        (
            json!({"content": "a text", "idempotency_key": secret}),
            "idempotency_key",
        ),
        (json!({"content": "a text", "room": "\u{0}"}), "room"),
        (json!({"content": "a text", "colour": "red"}), "colour"),
    ];
    for (new, argument) in rows {
        let refused = store(&page, "ann", new.clone()).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{new}: {}",
            refused.text
        );
        let error = refused.json();
        let named = error["error"]["argument"].as_str().unwrap_or_default();
        assert!(
            named == argument
                || error["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains(argument),
            "{new}: {error}"
        );
    }
}

#[tokio::test]
async fn a_person_reads_the_operations_and_a_program_their_description() {
    let page = TestPage::new();
    let asked = |accepts: &'static str| {
        let request = Request::get("/api/v1").header(ACCEPT, accepts);
        request.body(Body::empty()).unwrap()
    };
    let html = page.stranger().send(asked("text/html,*/*;q=0.8")).await;
    assert_eq!(html.status, StatusCode::OK);
    for part in [
        "GET /api/v1/memories",
        "DELETE /api/v1/people/{name}",
        "GET /api/v1/events",
        "deprecated",
    ] {
        assert!(html.text.contains(part), "{part}");
    }
    let json = page.stranger().send(asked("application/json")).await;
    assert_eq!(
        json.json()["openapi"].as_str().unwrap().split('.').next(),
        Some("3")
    );
}

#[tokio::test]
async fn each_errand_has_a_path() {
    let page = TestPage::new();
    let backups = get(&page, "admin", "/backups").await.json();
    assert_eq!(backups["items"][0]["name"], "a.tar");
    let rows = [
        ("/backups", Value::Null, "BackUp"),
        (
            "/tokens",
            json!({"subject": "bob", "scope": ["read"]}),
            "MakeToken",
        ),
        ("/tokens/0a1b/revoke", Value::Null, "RevokeToken"),
    ];
    for (path, body, errand) in rows {
        let ran = send(&page, "admin", Method::POST, path, &body).await;
        assert_eq!(ran.status, StatusCode::OK, "{path}: {}", ran.text);
        assert!(ran.text.contains(errand), "{path}: {}", ran.text);
        let refused = send(&page, "ann", Method::POST, path, &body).await;
        assert_eq!(
            refused.status,
            StatusCode::FORBIDDEN,
            "{path}: {}",
            refused.text
        );
    }
    let rows = [
        ("/hosts/codex/connect", Value::Null, "host"),
        ("/hosts/--undo/check", Value::Null, "host"),
        ("/tokens/--help/revoke", Value::Null, "id"),
        (
            "/tokens",
            json!({"subject": "--all", "scope": ["read"]}),
            "subject",
        ),
        ("/tokens", json!({"subject": "bob", "scope": []}), "scope"),
    ];
    for (path, body, argument) in rows {
        let refused = send(&page, "admin", Method::POST, path, &body).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{path}: {}",
            refused.text
        );
        assert_eq!(refused.json()["error"]["argument"], argument, "{path}");
    }
}

#[tokio::test]
async fn a_person_is_counted_and_removed() {
    let page = TestPage::new();
    let ask = |user: &'static str, path: &'static str| {
        let page = &page;
        async move { send(page, user, Method::DELETE, path, &Value::Null).await }
    };
    page.remember("bob", "a private thought");
    store(
        &page,
        "bob",
        json!({"content": "told to all", "shared": true, "idempotency_key": "k"}),
    )
    .await;
    page.remember("ann", "Ask bob about the kiln.");
    let bob = page.engine.system(&caller("bob"));
    bob.settings().put("seen", "1".to_owned()).unwrap();
    let ann = page.engine.system(&caller("ann"));
    ann.settings().set_trusted("bob", true).unwrap();

    for path in ["/people/bob?dry_run", "/people/bob?dry_run=true"] {
        let counted = ask("admin", path).await;
        assert_eq!(counted.status, StatusCode::OK, "{}", counted.text);
        let counted = counted.json();
        let expected = json!({"memories": 2, "settings": 1, "answers": 1, "calls": 1, "trusted_by": 1, "mentions": 1});
        for (kind, count) in expected.as_object().unwrap() {
            assert_eq!(&counted[kind], count, "{kind}: {counted}");
        }
        assert_eq!(counted["dry_run"], true);
    }
    let rows = [
        ("ann", "/people/bob", StatusCode::FORBIDDEN),
        ("other%20admin", "/people/bob", StatusCode::FORBIDDEN),
        ("admin", "/people/admin", StatusCode::BAD_REQUEST),
        ("admin", "/people/local", StatusCode::BAD_REQUEST),
        (
            "admin",
            "/people/bob?dry_run=maybe",
            StatusCode::BAD_REQUEST,
        ),
        ("admin", "/people/bob?dryrun=true", StatusCode::BAD_REQUEST),
    ];
    for (user, path, status) in rows {
        let refused = ask(
            if user == "ann" {
                "ann"
            } else if user == "admin" {
                "admin"
            } else {
                "other admin"
            },
            path,
        )
        .await;
        assert_eq!(refused.status, status, "{user} {path}: {}", refused.text);
    }
    assert_eq!(get(&page, "bob", "/memories").await.json()["total"], 2);

    let mut browser = page.browser("admin").await;
    let shown = browser.get("/people?name=bob").await;
    assert!(
        shown.text.contains("Memories and messages"),
        "{}",
        shown.text
    );
    let wrong = browser
        .post("/people/remove", &[("name", "bob"), ("confirm", "Bob")])
        .await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let receipt = browser
        .post("/people/remove", &[("name", "bob"), ("confirm", "bob")])
        .await;
    assert_eq!(receipt.status, StatusCode::OK, "{}", receipt.text);
    assert!(receipt.text.contains("Receipt"), "{}", receipt.text);

    assert_eq!(get(&page, "bob", "/memories").await.json()["total"], 0);
    assert_eq!(bob.settings().get("seen"), Ok(None));
    assert_eq!(ann.settings().trusted_authors(), Ok(Vec::new()));
    page.engine.audit().flush().unwrap();
    let log = tools(&page);
    assert!(
        log.contains(&(Some("admin".to_owned()), "remove_person".to_owned())),
        "{log:?}"
    );
    assert!(
        !log.iter().any(|(user, _)| user.as_deref() == Some("bob")),
        "{log:?}"
    );
    let again = ask("admin", "/people/bob?dry_run").await.json();
    assert_eq!(
        (&again["memories"], &again["calls"]),
        (&json!(0), &json!(0)),
        "{again}"
    );
}

#[tokio::test]
async fn the_next_session_is_shown_and_changed() {
    let page = TestPage::new();
    let mut ids = Vec::new();
    for text in ["One rule.", "Two rules.", "Three rules."] {
        let body = json!({"content": text, "type": "rule", "project": "shop"});
        let added = send(&page, "ann", Method::POST, "/next-session/add", &body).await;
        assert_eq!(added.status, StatusCode::OK, "{}", added.text);
        page.clock.advance(1);
    }
    let ann = page.engine.system(&caller("ann"));
    let start = || ann.context().bootstrap(Some("shop")).unwrap().markdown;
    let shown = get(&page, "ann", "/next-session?project=shop").await.json();
    assert_eq!(shown["text"], start());
    for part in shown["parts"].as_array().unwrap() {
        ids.push(part["id"].as_str().unwrap().to_owned());
    }
    let can = |part: usize| {
        (
            shown["parts"][part]["can_rise"] == true,
            shown["parts"][part]["can_fall"] == true,
        )
    };
    assert_eq!(
        [can(0), can(1), can(2)],
        [(false, true), (true, true), (true, false)]
    );
    let before = start();

    let mut browser = page.browser("ann").await;
    let html = browser.get("/next-session?project=shop").await;
    assert!(
        html.text.contains(&before.replace('&', "&#38;")),
        "{}",
        html.text
    );
    let fields = [
        ("id", ids[2].as_str()),
        ("direction", "up"),
        ("next", "/next-session?project=shop"),
    ];
    let moved = browser.post("/next-session/move", &fields).await;
    let text = start();
    assert!(
        text.find("Three").unwrap() < text.find("Two").unwrap(),
        "{text}"
    );
    browser.undo_of(&moved).await;
    assert_eq!(start(), before);

    // As a drag does.
    let fields = [
        ("id", ids[2].as_str()),
        ("direction", "before"),
        ("other", ids[1].as_str()),
        ("next", "/next-session?project=shop"),
    ];
    let moved = browser.post("/next-session/move", &fields).await;
    assert_eq!(start(), text);
    browser.undo_of(&moved).await;
    assert_eq!(start(), before);
    let alone = [("id", ids[2].as_str()), ("direction", "after")];
    let refused = browser.post("/next-session/move", &alone).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);

    let unpinned = browser
        .post("/next-session/unpin", &[("id", &ids[0])])
        .await;
    assert!(!start().contains("One rule."));
    browser.undo_of(&unpinned).await;
    assert_eq!(start(), before);

    let body = json!({"id": ids[0], "direction": "up"});
    let refused = send(&page, "ann", Method::POST, "/next-session/move", &body).await;
    assert_eq!(
        refused.json()["error"]["argument"],
        "direction",
        "{}",
        refused.text
    );
    // The order is of the reader.
    let body = json!({"id": ids[0], "direction": "down"});
    let moved = send(&page, "ann", Method::POST, "/next-session/move", &body).await;
    assert_eq!(moved.status, StatusCode::OK, "{}", moved.text);
    let bob = page
        .engine
        .system(&caller("bob"))
        .context()
        .bootstrap(Some("shop"))
        .unwrap()
        .markdown;
    assert!(bob.find("One").unwrap() < bob.find("Two").unwrap(), "{bob}");
    let text = start();
    assert!(
        text.find("Two").unwrap() < text.find("One").unwrap(),
        "{text}"
    );

    let at = |prompt: &str| format!("/next-session?project=shop&prompt={prompt}");
    let shown = get(&page, "ann", &at("how")).await.json();
    assert_eq!(shown["at_prompt"]["text"], "shop: how");
    assert_eq!(
        get(&page, "ann", &at("nothing")).await.json()["at_prompt"],
        Value::Null
    );
    let refused = get(&page, "admin", "/next-session?client=none").await;
    assert_eq!(
        refused.json()["error"]["argument"],
        "client",
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn the_memory_tool_works_without_mcp() {
    let page = TestPage::new();
    let ask = async |user: &str, command: Value| {
        let reply = send(&page, user, Method::POST, "/memory-tool", &command).await;
        (reply.status, reply.json())
    };
    let path = "/memories/glazes.md";
    let rows = [
        (
            json!({"command": "create", "path": path, "file_text": "celadon\n"}),
            "File created successfully at: /memories/glazes.md",
            false,
        ),
        (
            json!({"command": "view", "path": path, "view_range": [1, 1]}),
            "Here's the content of /memories/glazes.md with line numbers:\n     1\tceladon",
            false,
        ),
        // An empty text is a text.
        (
            json!({"command": "create", "path": "/memories/blank.md", "file_text": ""}),
            "File created successfully at: /memories/blank.md",
            false,
        ),
        (
            json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "# Glazes"}),
            "The file /memories/glazes.md has been edited.",
            false,
        ),
        (
            json!({"command": "create", "path": path, "file_text": "again"}),
            "File /memories/glazes.md already exists",
            true,
        ),
        (
            json!({"command": "view", "path": "/memories/../etc/passwd"}),
            "Path /memories/../etc/passwd would escape /memories directory",
            true,
        ),
        (json!({"command": "fly"}), "Unknown command: fly", true),
        (
            json!({"command": "insert", "path": path, "insert_text": "a"}),
            "`insert_line` is needed by insert",
            true,
        ),
    ];
    for (command, content, is_error) in rows {
        let expected = json!({"content": content, "is_error": is_error});
        assert_eq!(
            ask("ann", command.clone()).await,
            (StatusCode::OK, expected),
            "{command}"
        );
    }
    // Another user has a folder of her own, and a file has one owner's rights.
    let view = json!({"command": "view", "path": "/memories"});
    let (status, seen) = ask("reader", view.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{seen}");
    let wrong = [
        json!({"path": path}),
        json!({"command": "view", "path": 1}),
        json!({"command": "view", "pth": path}),
        json!([]),
    ];
    for command in wrong {
        let (status, said) = ask("ann", command.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{command}");
        assert_eq!(said["error"]["code"], "invalid_argument", "{command}");
    }
    let nobody = send(&page, "revoked", Method::POST, "/memory-tool", &view).await;
    assert_eq!(nobody.status, StatusCode::UNAUTHORIZED);
    let logged = tools(&page);
    let of_tool = |(user, tool): &&(Option<String>, String)| {
        user.as_deref() == Some("ann") && tool == "memory"
    };
    assert_eq!(logged.iter().filter(of_tool).count(), 7, "{logged:?}");
}

/// Reads a list in parts of this size, and returns its records and the total of the first part.
async fn in_parts(page: &TestPage, path: &str, limit: usize) -> (Vec<Value>, Value) {
    let (mut all, mut total, mut cursor) = (Vec::new(), Value::Null, String::new());
    for part in 0..50 {
        let more = get(page, "ann", &format!("{path}limit={limit}{cursor}")).await;
        let more = more.json();
        let items = more["items"].as_array().unwrap_or_else(|| panic!("{more}"));
        assert!(items.len() <= limit, "{more}");
        all.extend(items.iter().cloned());
        if part == 0 {
            total = more["total"].clone();
        } else {
            assert_eq!(more["total"], Value::Null);
        }
        match &more["next_cursor"] {
            Value::String(next) => cursor = format!("&cursor={next}"),
            end => {
                assert_eq!(*end, Value::Null);
                return (all, total);
            }
        }
    }
    panic!("{path} has no end");
}

#[tokio::test]
async fn entities_and_decisions_come_in_parts() {
    let page =
        TestPage::with(|engine| engine.with_redactor(Arc::new(Finder), RedactionScope::Mined));
    for name in ["kiln", "glaze", "oven", "wheel"] {
        let fact = json!({"subject": name, "predicate": "is of", "object": "clay"});
        let added = send(&page, "ann", Method::POST, "/facts/add", &fact).await;
        assert_eq!(added.status, StatusCode::OK, "{}", added.text);
        page.remember("ann", &format!("The {name} has the s3cret."));
        page.clock.advance(1);
    }
    let whole = get(&page, "ann", "/entities").await.json();
    let names = |items: &[Value]| -> Vec<String> {
        let names = items.iter().map(|item| item["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    let all = names(whole["items"].as_array().unwrap());
    assert_eq!(all, ["clay", "glaze", "kiln", "oven", "wheel"]);
    page.examine();
    let whole = get(&page, "ann", "/decisions?kind=secret").await.json();
    let decisions = whole["items"].as_array().unwrap().clone();
    assert_eq!(decisions.len(), 4, "{whole}");
    for limit in [1, 2, 3, 100] {
        let (items, total) = in_parts(&page, "/entities?", limit).await;
        assert_eq!((names(&items), total), (all.clone(), json!(5)), "{limit}");
        let (items, total) = in_parts(&page, "/decisions?kind=secret&", limit).await;
        assert_eq!((items, total), (decisions.clone(), json!(4)), "{limit}");
    }
    let (items, total) = in_parts(&page, "/entities?text=l&", 1).await;
    assert_eq!((items.len(), total), (4, json!(4)));
    let first = get(&page, "ann", "/entities?limit=1").await.json();
    let cursor = first["next_cursor"].as_str().unwrap();
    for (path, argument) in [
        (format!("/entities?text=l&cursor={cursor}"), "cursor"),
        (format!("/decisions?kind=secret&cursor={cursor}"), "cursor"),
        ("/entities?limit=0".to_owned(), "limit"),
        ("/decisions".to_owned(), "kind"),
    ] {
        let refused = get(&page, "ann", &path).await.json();
        let error = &refused["error"];
        let said = (&error["code"], error["message"].as_str().unwrap());
        assert_eq!(said.0, "invalid_argument", "{path}: {refused}");
        assert!(said.1.contains(argument), "{path}: {refused}");
    }
}

/// Returns the parts of a list, running `between` after each.
async fn with_writes(
    page: &TestPage,
    path: &str,
    limit: usize,
    mut between: impl AsyncFnMut(usize),
) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    for part in 0..100 {
        let more = get(page, "ann", &format!("{path}limit={limit}{cursor}")).await;
        let more = more.json();
        all.extend(more["items"].as_array().unwrap().iter().cloned());
        match more["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
        between(part).await;
    }
    panic!("{path} has no end");
}

#[tokio::test]
async fn results_of_a_question_come_in_parts_each_once() {
    let page = TestPage::new();
    for number in 0..45 {
        let times = "kiln ".repeat(1 + number % 5);
        page.remember("ann", &format!("The {times}number {number} is hot."));
    }
    let question = "/search/hits?q=kiln&";
    let ids = |items: &[Value]| -> Vec<String> {
        let ids = items.iter().map(|item| item["memory"]["id"].as_str());
        ids.map(|id| id.unwrap().to_owned()).collect()
    };
    let whole = get(&page, "ann", "/search/hits?q=kiln&limit=100")
        .await
        .json();
    let all = ids(whole["items"].as_array().unwrap());
    assert_eq!((all.len(), &whole["total"]), (45, &json!(45)));
    let best = get(&page, "ann", "/search?q=kiln").await.json();
    assert_eq!(ids(best["hits"].as_array().unwrap()), all[..20]);
    for limit in [1, 7, 20, 44, 45] {
        let (items, total) = in_parts(&page, question, limit).await;
        assert_eq!((ids(&items), total), (all.clone(), json!(45)), "{limit}");
    }
    // What is better than all that was given comes next, and nothing comes twice.
    let items = with_writes(&page, question, 10, async |part| {
        page.remember("ann", &format!("kiln kiln kiln {part}"));
    });
    let found = ids(&items.await);
    let distinct: std::collections::BTreeSet<&String> = found.iter().collect();
    assert_eq!(distinct.len(), found.len());
    assert!(all.iter().all(|id| found.contains(id)), "{found:?}");
    let first = get(&page, "ann", "/search/hits?q=kiln&limit=1")
        .await
        .json();
    let cursor = first["next_cursor"].as_str().unwrap();
    for (path, argument) in [
        (format!("/search/hits?q=glaze&cursor={cursor}"), "cursor"),
        (
            format!("/search/hits?q=kiln&type=fact&cursor={cursor}"),
            "cursor",
        ),
        ("/search/hits".to_owned(), "q"),
        ("/search/hits?q=kiln&limit=101".to_owned(), "limit"),
        ("/search/hits?q=kiln&offset=1".to_owned(), "offset"),
        ("/search?q=kiln&limit=1".to_owned(), "limit"),
    ] {
        let refused = get(&page, "ann", &path).await.json();
        assert_eq!(refused["error"]["code"], "invalid_argument", "{path}");
        assert_eq!(refused["error"]["argument"], argument, "{path}: {refused}");
    }
}

#[tokio::test]
async fn facts_come_in_parts_each_once() {
    let page = TestPage::new();
    let add = async |number: usize| {
        let year = 2000 + number % 7;
        let mut fact =
            json!({"subject": "kiln", "predicate": "fired", "object": format!("pot {number}")});
        if !number.is_multiple_of(3) {
            fact["from"] = json!(format!("{year}-01-01"));
        }
        let added = send(&page, "ann", Method::POST, "/facts/add", &fact).await;
        assert_eq!(added.status, StatusCode::OK, "{}", added.text);
        page.clock.advance(1);
    };
    for number in 0..23 {
        add(number).await;
    }
    let whole = get(&page, "ann", "/facts/list?limit=100").await.json();
    let all = whole["items"].as_array().unwrap().clone();
    assert_eq!((all.len(), &whole["next_cursor"]), (23, &Value::Null));
    assert_eq!(all[0]["valid_from"], Value::Null);
    for path in ["/facts/list?", "/facts/list?entity=Kiln&"] {
        for limit in [1, 4, 8, 22, 23] {
            let (items, _) = in_parts(&page, path, limit).await;
            assert_eq!(items, all, "{path} {limit}");
        }
    }
    let (items, _) = in_parts(&page, "/facts/list?entity=pot+4&", 5).await;
    assert_eq!(items.len(), 1);
    let (items, _) = in_parts(&page, "/facts/list?as_of=2001-06-01&", 5).await;
    let later = |fact: &&Value| {
        fact["valid_from"]
            .as_str()
            .is_some_and(|from| from >= "2002")
    };
    assert_eq!(items.len(), all.len() - all.iter().filter(later).count());
    // Facts on both sides of the place of the cursor are added meanwhile.
    let mut items = with_writes(&page, "/facts/list?", 4, async |part| {
        add(100 + part).await;
    })
    .await;
    items.retain(|fact| all.contains(fact));
    assert_eq!(items, all);
    let refused = get(&page, "ann", "/facts/list?entity=oven&cursor=AAAA").await;
    assert_eq!(refused.json()["error"]["argument"], "cursor");
    let refused = get(&page, "ann", "/facts/list?as_of=soon").await.json();
    assert_eq!(refused["error"]["argument"], "as_of", "{refused}");
}
