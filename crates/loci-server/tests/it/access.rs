//! Authentication and the permissions that follow from it.

use std::sync::Arc;

use loci_core::limits::{SUBSCRIPTIONS_MAX, TOKEN_BYTES_MAX};
use loci_core::{AuditQuery, Scope, Token, TokenStore};
use loci_dialects::vault;
use loci_server::{Authentication, HttpConfig};
use loci_testkit::{FixedClock, NaiveStore};
use serde_json::json;

use crate::support::{
    MODERN, NOW, Reply, Server, World, add_tokens, call, request, set_resource, token,
};

pub fn tokens() -> (Arc<NaiveStore>, Authentication) {
    let store = Arc::new(NaiveStore::new());
    add_tokens(&store);
    store
        .add_token(&Token {
            expires_at: Some(NOW),
            ..token("late", &[Scope::Read])
        })
        .unwrap();
    store
        .add_token(&Token {
            expires_at: Some(NOW.plus_seconds(1)),
            ..token("soon", &[Scope::Read])
        })
        .unwrap();
    let clock = Arc::new(FixedClock::new(NOW));
    (
        store.clone(),
        Authentication::Bearer {
            tokens: store,
            verifier: None,
            clock,
            grants: false,
        },
    )
}

async fn echo(server: &Server, authorization: &str) -> Reply {
    let headers = [("authorization", authorization)];
    server
        .request(
            MODERN,
            &headers,
            "tools/call",
            call("echo", json!({"text": "hi"})),
        )
        .await
}

#[tokio::test]
async fn a_valid_token_says_who_calls() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    for (authorization, subject) in [
        ("Bearer secret-of-ann", "ann"),
        ("bearer secret-of-reader", "reader"),
        ("Bearer secret-of-soon", "soon"),
    ] {
        let reply = echo(&server, authorization).await;
        assert_eq!(
            reply.json()["result"]["structuredContent"]["subject"],
            subject
        );
    }
}

#[tokio::test]
async fn resources_are_read_through_their_dialect() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let headers = [("authorization", "Bearer secret-of-reader")];
    let reply = server
        .request(
            MODERN,
            &headers,
            "resources/read",
            json!({"uri": "test://note/origin"}),
        )
        .await
        .json();
    assert_eq!(reply["result"]["contents"][0]["text"], "test");
}

#[tokio::test]
async fn everything_else_is_401_with_a_challenge() {
    let (store, authentication) = tokens();
    store.revoke_token("ann", NOW).unwrap();
    let server = Server::start(&World::new(), authentication).await;
    let too_long = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1));
    let invalid = [
        "Bearer secret-of-nobody",
        "Bearer secret-of-ann",
        "Bearer secret-of-late",
        "Bearer",
        "Bearer  ",
        "Basic c2VjcmV0LW9mLXJlYWRlcg==",
        "secret-of-reader",
        &too_long,
    ];
    for authorization in invalid {
        let reply = echo(&server, authorization).await;
        assert_eq!(reply.status, 401, "{authorization}");
        let body = reply.json();
        let message = body["error"]["message"].as_str().unwrap();
        let challenge = format!(
            "Bearer realm=\"loci\", error=\"invalid_token\", error_description=\"{message}\""
        );
        assert_eq!(reply.headers["www-authenticate"], challenge);
        assert_eq!(body["error"]["data"]["code"], "unauthorized");
        assert!(!reply.body.contains("secret"));
    }
    let one = ("authorization", "Bearer secret-of-reader");
    let twice = server
        .post(
            &[one, one],
            request(1, "ping", json!({})).to_string().as_bytes(),
        )
        .await;
    assert_eq!(
        (
            twice.status,
            twice.body.contains("more than one Authorization header")
        ),
        (401, true)
    );
    let missing = server
        .post(&[], request(1, "ping", json!({})).to_string().as_bytes())
        .await;
    let advice = "send `Authorization: Bearer TOKEN`; make a token with `loci token create`";
    let challenge = format!("Bearer realm=\"loci\", error_description=\"{advice}\"");
    assert_eq!(
        (missing.status, &missing.headers["www-authenticate"]),
        (401, &challenge)
    );
    // Clients show different parts of the body.
    let body = json!({
        "jsonrpc": "2.0", "id": null,
        "error": {"code": -32600, "message": advice, "data": {"code": "unauthorized", "status": 401}},
        "error_description": advice,
    });
    assert_eq!(missing.json(), body);
    let in_url = server
        .send("POST /mcp/test?access_token=secret-of-reader", &[], b"{}")
        .await;
    assert_eq!(in_url.status, 401);
    let garbage = server.post(&[], b"hello").await;
    assert_eq!(garbage.status, 401);
}

#[tokio::test]
async fn who_wants_to_log_in_is_told_to_bring_a_token() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let rows = [
        ("POST /register", 400, "invalid_client_metadata"),
        ("GET /authorize?client_id=x", 403, "access_denied"),
        ("POST /token", 400, "invalid_request"),
    ];
    for (line, status, error) in rows {
        let reply = server.send(line, &[], b"{}").await;
        let body = reply.json();
        assert_eq!(
            (reply.status, body["error"].as_str()),
            (status, Some(error)),
            "{line}"
        );
        assert!(
            body["error_description"]
                .as_str()
                .unwrap()
                .contains("`loci token create`"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_revocation_holds_from_the_next_call_on() {
    let (store, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    assert_eq!(echo(&server, "Bearer secret-of-ann").await.status, 200);
    store.revoke_token("ann", NOW).unwrap();
    assert_eq!(echo(&server, "Bearer secret-of-ann").await.status, 401);
}

#[tokio::test]
async fn a_revocation_ends_a_subscription_before_it_tells_more() {
    let (store, authentication) = tokens();
    let world = World::new();
    let server = Server::start(&world, authentication).await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://note/revoked"]}});
    let mut streams = Vec::new();
    for bearer in ["Bearer secret-of-ann", "Bearer secret-of-reader"] {
        let mut stream = server
            .listen(&[("authorization", bearer)], wanted.clone())
            .await;
        assert_eq!(
            stream.next().await.unwrap()["method"],
            "notifications/subscriptions/acknowledged"
        );
        streams.push(stream);
    }
    store.revoke_token("ann", NOW).unwrap();
    set_resource(&world, "revoked", "a secret");
    let ended = streams[0].next().await.unwrap();
    assert_eq!(
        (&ended["id"], &ended["error"]["data"]["code"]),
        (&json!(1), &json!("unauthorized"))
    );
    assert_eq!(streams[0].next().await, None);
    assert_eq!(
        streams[1].next().await.unwrap()["method"],
        "notifications/resources/updated"
    );
    // Also without a change.
    store.revoke_token("reader", NOW).unwrap();
    assert_eq!(
        streams[1].next().await.unwrap()["error"]["data"]["code"],
        "unauthorized"
    );
    assert_eq!(streams[1].next().await, None);
}

#[tokio::test]
async fn a_user_with_all_subscriptions_makes_room_for_another() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://about"]}});
    let listen = async |bearer| {
        server
            .listen(&[("authorization", bearer)], wanted.clone())
            .await
    };
    let mut anns = Vec::new();
    for _ in 0..SUBSCRIPTIONS_MAX {
        let mut stream = listen("Bearer secret-of-ann").await;
        assert_eq!(
            stream.next().await.unwrap()["method"],
            "notifications/subscriptions/acknowledged"
        );
        anns.push(stream);
    }
    let mut other = listen("Bearer secret-of-reader").await;
    assert_eq!(
        other.next().await.unwrap()["method"],
        "notifications/subscriptions/acknowledged"
    );
    let mut newest = anns.pop().unwrap();
    // Changes that happened before the end are reported first.
    let ended = loop {
        let message = newest.next().await.expect("a word before the end");
        if message["error"].is_object() {
            break message;
        }
    };
    assert!(
        ended["error"]["message"]
            .as_str()
            .unwrap()
            .contains("made room for one of another user"),
        "{ended}"
    );
    // The first user gets no slot, however many the other one has.
    let mut refused = listen("Bearer secret-of-ann").await;
    loop {
        let message = refused.next().await.expect("a refusal before the end");
        if let Some(words) = message["error"]["message"].as_str() {
            assert!(words.contains(&SUBSCRIPTIONS_MAX.to_string()), "{message}");
            break;
        }
    }
}

#[tokio::test]
async fn an_expiry_ends_a_subscription() {
    let (store, _) = tokens();
    let clock = Arc::new(FixedClock::new(NOW));
    let authentication = Authentication::Bearer {
        tokens: store,
        verifier: None,
        clock: clock.clone(),
        grants: false,
    };
    let server = Server::start(&World::new(), authentication).await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://about"]}});
    let mut stream = server
        .listen(&[("authorization", "Bearer secret-of-soon")], wanted)
        .await;
    assert_eq!(
        stream.next().await.unwrap()["method"],
        "notifications/subscriptions/acknowledged"
    );
    clock.set(NOW.plus_seconds(1));
    assert_eq!(
        stream.next().await.unwrap()["error"]["data"]["code"],
        "unauthorized"
    );
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn an_argument_names_the_subject_of_the_token_or_the_call_is_denied_and_noted() {
    let world = World::new();
    let (_, authentication) = tokens();
    let server = Server::start(&world, authentication).await;
    let trusting = Server::start(&world, Authentication::Anonymous).await;
    let bearer = [("authorization", "Bearer secret-of-ann")];
    let rows = [
        (&server, &bearer[..], "ann", false),
        (&server, &bearer, "bob", true),
        (&trusting, &[], "cai", false),
    ];
    for (server, headers, user, is_denied) in rows {
        let body = request(
            1,
            "tools/call",
            call("recall_decision", json!({"user_id": user, "key": "colour"})),
        );
        let reply = server
            .post_to("memory-mcp", headers, body.to_string().as_bytes())
            .await
            .json();
        assert_eq!(reply["result"]["isError"], is_denied, "{reply}");
        let result = &reply["result"];
        if is_denied {
            let error = json!({"code": "forbidden", "status": 403, "argument": "user_id"});
            assert_eq!(result["_meta"]["loci/error"], error);
        } else {
            assert_eq!(
                result["structuredContent"],
                json!({"key": "colour", "found": false})
            );
        }
    }
    let noted = world
        .engine
        .audit()
        .entries(&AuditQuery {
            limit: 9,
            ..AuditQuery::default()
        })
        .unwrap();
    let noted: Vec<_> = noted
        .iter()
        .map(|(_, entry)| (entry.user.as_deref().unwrap(), entry.failure.is_some()))
        .collect();
    assert_eq!(noted, [("ann", false), ("ann", true), ("cai", false)]);
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused() {
    let world = World::new();
    let mut config = HttpConfig::new(Authentication::Anonymous);
    config.allowed_hosts = vec!["memory.example".to_owned()];
    for address in ["192.0.2.7", "2001:db8::7", "0.0.0.0"] {
        config = config.with_bound_address(address.parse().unwrap());
    }
    config.allowed_origins = vec!["https://app.example:443".to_owned()];
    let open = Server::start_with(&world, config).await;
    let usual = Server::start(&world, Authentication::Anonymous).await;
    let rows = [
        (("origin", "http://localhost:3000"), 200, 200),
        (("origin", "http://127.0.0.1:1"), 200, 200),
        (("origin", "http://[::1]:1"), 200, 200),
        (("origin", "https://app.example"), 200, 403),
        (("origin", "http://app.example"), 403, 403),
        (("origin", "https://elsewhere.example"), 403, 403),
        (("origin", "null"), 403, 403),
        (("host", "localhost"), 200, 200),
        (("host", "memory.example:8080"), 200, 403),
        (("host", "[::1]:7821"), 200, 200),
        (("host", "192.0.2.7:7821"), 200, 403),
        (("host", "[2001:db8::7]:7821"), 200, 403),
        (("host", "0.0.0.0:7821"), 403, 403),
        (("host", "elsewhere.example"), 403, 403),
    ];
    let body = request(1, "ping", json!({})).to_string();
    for (header, expected_open, expected_usual) in rows {
        assert_eq!(
            open.post(&[header], body.as_bytes()).await.status,
            expected_open,
            "{header:?}"
        );
        assert_eq!(
            usual.post(&[header], body.as_bytes()).await.status,
            expected_usual,
            "{header:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_name_is_told_with_the_setting_that_admits_it() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let body = request(1, "ping", json!({})).to_string();
    for (header, setting) in [
        (("host", "gateway.docker.internal:7821"), "allowed_hosts"),
        (("origin", "https://elsewhere.example"), "allowed_origins"),
    ] {
        let batch = format!("[{body}]");
        for (head, body) in [
            ("POST /mcp/test", &body),
            ("POST /mcp/test", &batch),
            ("GET /mcp/test", &String::new()),
        ] {
            let json = ("content-type", "application/json");
            let reply = server.send(head, &[json, header], body.as_bytes()).await;
            let message = reply.json()["error"]["message"].to_string();
            assert!(
                reply.status == 403 && message.contains("public_url") && message.contains(setting),
                "{head} {header:?}: {reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn every_client_gets_json_whatever_it_accepts() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let body = request(1, "ping", json!({})).to_string();
    let json = ("content-type", "application/json");
    for accept in [
        None,
        Some("application/json"),
        Some("text/event-stream"),
        Some("*/*"),
        Some("application/*;q=0.5"),
        Some("text/html, image/png"),
        Some(""),
    ] {
        let headers: Vec<_> = accept
            .map(|value| ("accept", value))
            .into_iter()
            .chain([json])
            .collect();
        let reply = server
            .send("POST /mcp/test", &headers, body.as_bytes())
            .await;
        assert!(
            reply.status == 200 && reply.json()["id"] == 1,
            "{accept:?}: {reply:?}"
        );
        // A client that finds no stream goes on without one.
        let stream = server.send("GET /mcp/test", &headers, b"").await;
        assert_eq!(stream.status, 405, "{accept:?}");
    }
}

#[tokio::test]
async fn a_path_may_have_more_slashes_than_it_needs() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let body = request(1, "ping", json!({})).to_string();
    let token = ("authorization", "Bearer secret-of-writer");
    for (path, status) in [
        ("/mcp/test/", 200),
        ("//mcp/test", 200),
        ("/mcp//test///", 200),
        ("/mcp/test/?key=1", 200),
        ("/mcp/test/more", 404),
        ("/mcp/", 404),
        ("//", 404),
    ] {
        let head = format!("POST {path}");
        let json = ("content-type", "application/json");
        let reply = server.send(&head, &[json, token], body.as_bytes()).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        let unknown = server.send(&head, &[json], body.as_bytes()).await;
        assert_eq!(
            unknown.status,
            if status == 200 { 401 } else { 404 },
            "{path}"
        );
    }
    assert_eq!(server.send("GET /healthz/", &[], b"").await.status, 200);
}

#[tokio::test]
async fn health_is_open_and_other_paths_are_not_there() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    for path in ["/healthz", "/health", "/readyz"] {
        let reply = server.send(&format!("GET {path}"), &[], b"").await;
        assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
    }
    let reply = server.send("GET /elsewhere", &[], b"").await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (404, &json!("not_found"))
    );
    server.stop().await;
}

/// The idempotency key of an answer is scoped to the session, if the client names one.
#[tokio::test]
async fn a_key_of_a_recall_counts_in_the_session_that_a_client_names() {
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(&World::new(), config, &[&vault::DIALECT]).await;
    let long = "x".repeat(129);
    let rows = [
        (None, "tea", false),
        (None, "cake", true),
        (Some("one"), "cake", false),
        (Some("one"), "tea", true),
        (Some("two"), "tea", false),
        // A name that is too long counts as no session.
        (Some(long.as_str()), "cake", true),
    ];
    for (session, phase, is_conflict) in rows {
        let headers: Vec<_> = session
            .map(|session| ("mcp-session-id", session))
            .into_iter()
            .collect();
        let arguments = json!({"phases": [phase], "idempotency_key": "k"});
        let body = request(1, "tools/call", call("memory_recall", arguments)).to_string();
        let reply = server
            .post_to("vault", &headers, body.as_bytes())
            .await
            .json();
        assert_eq!(
            reply["result"]["isError"], is_conflict,
            "{session:?} {phase}: {reply}"
        );
    }
}
