//! The metadata that tell clients who issues tokens (RFC 9728).

use loci_server::Authentication;
use serde_json::json;

use crate::support::{Server, World, with_issuer};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[tokio::test]
async fn each_endpoint_and_the_server_tell_who_issues_tokens_for_them() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let rows = [
        ("", "loci"),
        ("/mcp/test", "loci (test)"),
        ("/mcp/memory-mcp", "loci (memory-mcp)"),
    ];
    for (path, name) in rows {
        let reply = server
            .send(
                &format!("GET {WELL_KNOWN}{path}"),
                &[("origin", "https://app.example")],
                b"",
            )
            .await;
        assert_eq!(
            (reply.status, reply.headers["content-type"].as_str()),
            (200, "application/json")
        );
        assert_eq!(reply.headers["access-control-allow-origin"], "*");
        let expected = json!({
            "resource": format!("http://{}{path}", server.address),
            "resource_name": name,
            "authorization_servers": ["https://issuer.example"],
            "scopes_supported": ["memory:read", "memory:write"],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(reply.json(), expected);
        let head = server
            .send(&format!("HEAD {WELL_KNOWN}{path}"), &[], b"")
            .await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert_eq!(
            server
                .send(&format!("POST {WELL_KNOWN}{path}"), &[], b"{}")
                .await
                .status,
            405
        );
    }
    let elsewhere = server
        .send(&format!("GET {WELL_KNOWN}/mcp/elsewhere"), &[], b"")
        .await;
    assert_eq!(
        (elsewhere.status, &elsewhere.json()["error"]["code"]),
        (404, &json!("not_found"))
    );
}

#[tokio::test]
async fn a_name_that_anybody_can_make_up_is_no_resource() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let reply = server
        .send(
            &format!("GET {WELL_KNOWN}/mcp/test"),
            &[("host", "elsewhere.example")],
            b"",
        )
        .await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (404, &json!("not_found"))
    );
    assert!(
        reply.body.contains("public_url") && !reply.body.contains("elsewhere"),
        "{}",
        reply.body
    );
    assert_eq!(reply.headers["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn without_an_issuer_there_is_nothing_to_tell() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    for path in ["", "/mcp/test"] {
        let reply = server
            .send(&format!("GET {WELL_KNOWN}{path}"), &[], b"")
            .await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (404, &json!("not_found"))
        );
    }
}
