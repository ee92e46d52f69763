//! Requests of people, by a browser or by curl.

use serde_json::json;

use crate::access::tokens;
use crate::support::{Server, World};

#[tokio::test]
async fn people_are_told_what_an_endpoint_is() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let token = ("authorization", "Bearer secret-of-writer");
    for accept in [
        None,
        Some("*/*"),
        Some("text/html,application/xhtml+xml,*/*;q=0.8"),
        Some("application/json"),
    ] {
        let accept: Vec<_> = accept.map(|value| ("accept", value)).into_iter().collect();
        let list = server.send("GET /mcp", &accept, b"").await;
        assert_eq!(list.status, 200, "{list:?}");
        assert!(list.body.contains("  /mcp/test\n"), "{list:?}");
        let unknown = server.send("GET /mcp/test", &accept, b"").await;
        assert_eq!(unknown.status, 401, "{unknown:?}");
        assert!(unknown.headers.contains_key("www-authenticate"));
        assert!(unknown.body.contains("`loci token create`"), "{unknown:?}");
        let headers = [accept, vec![token]].concat();
        let known = server.send("GET /mcp/test", &headers, b"").await;
        assert_eq!(
            (known.status, known.headers["allow"].as_str()),
            (405, "POST")
        );
        for reply in [list, unknown, known] {
            assert!(
                reply
                    .body
                    .starts_with("This is loci, a memory for AI agents.")
            );
            assert_eq!(reply.headers["content-type"], "text/plain; charset=utf-8");
        }
    }
}

#[tokio::test]
async fn clients_get_the_answers_of_the_protocol() {
    let (_, authentication) = tokens();
    let server = Server::start(&World::new(), authentication).await;
    let accept = ("accept", "application/json, text/event-stream");
    let unknown = server.send("GET /mcp/test", &[accept], b"").await;
    assert_eq!(
        (unknown.status, &unknown.json()["jsonrpc"]),
        (401, &json!("2.0"))
    );
    let token = ("authorization", "Bearer secret-of-writer");
    let known = server.send("GET /mcp/test", &[accept, token], b"").await;
    assert_eq!(known.status, 405);
    assert!(!known.body.contains("This is loci"), "{known:?}");
    for head in ["POST /mcp", "GET /mcp"] {
        let reply = server.send(head, &[accept], b"{}").await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (404, &json!("not_found"))
        );
    }
}
