//! Web pages of other origins.

use std::sync::Arc;

use loci_server::{Authentication, CallLimit, HttpConfig, MonotonicTime, RateLimit};
use serde_json::json;

use crate::support::{Reply, Server, World, call, request, with_issuer};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource/mcp/test";
const PAGE: &str = "https://app.example";

async fn start() -> Server {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        allowed_origins: vec![format!("{PAGE}:443")],
        call_limit: Some(Arc::new(CallLimit::new(
            RateLimit {
                per_minute: 1,
                burst: 2,
            },
            MonotonicTime::default(),
        ))),
        ..HttpConfig::new(authentication)
    };
    Server::start_with(&World::new(), config).await
}

async fn preflight(server: &Server, path: &str, origin: &str, asked: &[&str]) -> Reply {
    let mut headers = vec![
        ("origin", origin),
        ("access-control-request-method", "POST"),
    ];
    headers.extend(
        asked
            .iter()
            .map(|names| ("access-control-request-headers", *names)),
    );
    server.send(&format!("OPTIONS {path}"), &headers, b"").await
}

fn allowed_origin(reply: &Reply) -> Option<&str> {
    assert!(
        !reply
            .headers
            .contains_key("access-control-allow-credentials"),
        "{reply:?}"
    );
    reply
        .headers
        .get("access-control-allow-origin")
        .map(String::as_str)
}

#[tokio::test]
async fn a_preflight_of_an_allowed_page_is_answered_without_a_token() {
    let server = start().await;
    let known = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, \
                 last-event-id, traceparent, tracestate, mcp-param-city";
    let rows: [(&[&str], &str); 4] = [
        (&[known], known),
        (
            &[
                "Authorization,Content-Type",
                "x-other,MCP-Protocol-Version, cookie",
            ],
            "authorization, content-type, mcp-protocol-version",
        ),
        (&["x-mcp-param-city,authorizationx,,\u{e9}"], ""),
        (&[], ""),
    ];
    for path in ["/mcp/test", WELL_KNOWN] {
        for origin in [PAGE, "http://localhost:5173", "https://[::1]:8443"] {
            for (asked, allowed) in rows {
                let reply = preflight(&server, path, origin, asked).await;
                assert_eq!(
                    (reply.status, allowed_origin(&reply)),
                    (204, Some(origin)),
                    "{path} {origin} {reply:?}"
                );
                let header = |name: &str| reply.headers.get(name).map(String::as_str);
                assert_eq!(
                    header("access-control-allow-methods"),
                    Some("GET, POST, DELETE")
                );
                assert_eq!(
                    header("access-control-allow-headers").unwrap_or_default(),
                    allowed
                );
                assert_eq!(
                    (header("access-control-max-age"), header("vary")),
                    (Some("600"), Some("origin"))
                );
            }
        }
    }
}

#[tokio::test]
async fn nobody_else_is_told_anything() {
    let server = start().await;
    for origin in [
        "https://elsewhere.example",
        "http://app.example",
        "https://app.example:8443",
        "null",
        "\u{e9}",
    ] {
        for (path, status) in [("/mcp/test", 401), (WELL_KNOWN, 405)] {
            let reply = preflight(&server, path, origin, &["authorization"]).await;
            assert_eq!(
                (reply.status, allowed_origin(&reply)),
                (status, None),
                "{path} {origin}"
            );
            assert!(!reply.headers.contains_key("access-control-allow-headers"));
        }
        let reply = server.post(&[("origin", origin)], b"{}").await;
        assert_eq!(
            (reply.status, allowed_origin(&reply)),
            (401, None),
            "{origin}"
        );
        assert_eq!(reply.headers["vary"], "origin");
    }
    // Without the preflight headers, it is an ordinary request.
    let bare = server
        .send("OPTIONS /mcp/test", &[("origin", PAGE)], b"")
        .await;
    assert_eq!((bare.status, allowed_origin(&bare)), (401, Some(PAGE)));
}

#[tokio::test]
async fn an_allowed_page_may_read_replies_and_refusals() {
    let server = start().await;
    let (page, reader) = (
        ("origin", PAGE),
        ("authorization", "Bearer secret-of-reader"),
    );
    let ping = request(1, "ping", json!({})).to_string();
    let forget = request(1, "tools/call", call("forget", json!({}))).to_string();
    let rows: [(&[_], &str, u16); 4] = [
        (&[page], &ping, 401),
        (&[page, reader], &ping, 200),
        (&[page, reader], &forget, 403),
        (&[page, reader], &ping, 429),
    ];
    for (headers, body, status) in rows {
        let reply = server.post(headers, body.as_bytes()).await;
        assert_eq!(
            (reply.status, allowed_origin(&reply)),
            (status, Some(PAGE)),
            "{reply:?}"
        );
        let exposed = &reply.headers["access-control-expose-headers"];
        assert_eq!(
            (exposed.as_str(), reply.headers["vary"].as_str()),
            ("WWW-Authenticate, Retry-After, Mcp-Session-Id", "origin")
        );
    }
    let document = server
        .send(&format!("GET {WELL_KNOWN}"), &[page], b"")
        .await;
    assert_eq!(
        (document.status, allowed_origin(&document)),
        (200, Some("*")),
        "as for everybody"
    );
}

/// The SDK decides which pages may call, and loci decides which may read the answer.
#[tokio::test]
async fn a_page_may_read_what_it_may_call() {
    let entries = [
        "https://one.example:443",
        " HTTPS://Two.example:8443",
        "https://three.example:*",
        "https://four.example",
        "https://five.example:443:*",
        "vscode-webview://six",
        "six.example",
        "",
        "null",
    ];
    let config = HttpConfig {
        allowed_origins: entries.map(str::to_owned).to_vec(),
        public_url: Some("https://public.example".parse().unwrap()),
        ..HttpConfig::new(Authentication::Anonymous)
    };
    let server = Server::start_with(&World::new(), config).await;
    let rows = [
        ("https://one.example", true),
        ("https://ONE.example:443", true),
        ("http://one.example", false),
        ("http://one.example:443", false),
        ("https://one.example:444", false),
        ("https://one.example.elsewhere.example", false),
        ("https://two.example:8443", true),
        ("https://two.example", false),
        ("https://three.example", true),
        ("https://three.example:9", true),
        ("http://three.example:9", false),
        ("https://four.example:9", true),
        ("https://five.example", false),
        ("vscode-webview://six", true),
        ("vscode-webview://seven", false),
        ("https://six.example", false),
        ("null", true),
        ("https://public.example", true),
        ("https://public.example:8443", false),
        ("http://localhost", true),
        ("https://127.0.0.1:5173", true),
        ("http://[::1]:5173", true),
        ("ftp://localhost", false),
        ("localhost", false),
        ("file://", false),
        ("", false),
    ];
    let ping = request(1, "ping", json!({})).to_string();
    for (origin, expected) in rows {
        let reply = server.post(&[("origin", origin)], ping.as_bytes()).await;
        assert_eq!(
            (reply.status, allowed_origin(&reply).is_some()),
            (if expected { 200 } else { 403 }, expected),
            "{origin}"
        );
        let before = preflight(&server, "/mcp/test", origin, &[]).await;
        assert_eq!(before.status == 204, expected, "{origin}");
    }
}
