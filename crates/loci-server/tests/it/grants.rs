//! Tokens that this server gives to clients itself: what they open, and how clients find the way to
//! them.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use loci_core::{ClientGrant, ErrorCode, Scope, Token, TokenStore};
use loci_server::Authentication;
use loci_testkit::{FixedClock, NaiveStore};
use serde_json::json;

use crate::support::{NOW, Server, World, token};

/// Returns an authentication with a client's token for each of these URLs: `secret-of-<index>`.
fn granted(resources: &[&str]) -> Authentication {
    let store = NaiveStore::new();
    for (index, resource) in resources.iter().enumerate() {
        let number = u8::try_from(index).unwrap();
        let grant = ClientGrant {
            client_id: "https://client.example/id".to_owned(),
            client: "client.example".to_owned(),
            resource: (*resource).to_owned(),
            parent: "ann".to_owned(),
            family: [number; 32],
            secret: [number; 32],
            renewable_until: NOW.plus_seconds(9),
            code: None,
        };
        let token = Token {
            subject: "ann".to_owned(),
            grant: Some(grant),
            ..token(&index.to_string(), &[Scope::Read])
        };
        store.add_token(&token).unwrap();
    }
    Authentication::Bearer {
        tokens: Arc::new(store),
        verifier: None,
        clock: Arc::new(FixedClock::new(NOW)),
        grants: true,
    }
}

#[tokio::test]
async fn a_clients_token_opens_only_what_it_was_given_for() {
    const BASE: &str = "https://memory.example";
    let authentication = granted(&[
        "https://memory.example",
        "https://memory.example/mcp/test",
        "https://other.example/mcp/test",
    ]);
    // The resource by its index, the path, and whether it opens.
    let rows = [
        (0, "/mcp/test", true),
        (0, "/mcp/other", true),
        (0, "/", false),
        (0, "/api/v1/search", false),
        (1, "/mcp/test", true),
        (1, "/mcp/other", false),
        (1, "/mcp", false),
        (1, "/", false),
        (2, "/mcp/test", false),
    ];
    for (index, path, opens) in rows {
        let bearer = format!("Bearer secret-of-{index}").parse().unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        let found = authentication.caller(&headers, Some(BASE), path).await;
        let code = found.map(drop).map_err(|error| error.code);
        let expected = if opens {
            Ok(())
        } else {
            Err(ErrorCode::Unauthorized)
        };
        assert_eq!(code, expected, "{index} {path}");
        // A server that does not know its own URL takes none.
        assert!(authentication.caller(&headers, None, path).await.is_err());
    }
}

#[tokio::test]
async fn clients_are_led_to_this_server() {
    let server = Server::start(&World::new(), granted(&[])).await;
    let base = format!("http://{}", server.address);
    let document = "/.well-known/oauth-protected-resource/mcp/test";
    let metadata = server
        .send(&format!("GET {document}"), &[], b"")
        .await
        .json();
    assert_eq!(metadata["authorization_servers"], json!([base]));
    assert_eq!(metadata["resource"], format!("{base}/mcp/test"));
    let reply = server.post(&[], b"{}").await;
    assert_eq!(reply.status, 401);
    let challenge = &reply.headers["www-authenticate"];
    for part in [
        &format!("resource_metadata=\"{base}{document}\""),
        "scope=\"memory:read memory:write\"",
    ] {
        assert!(challenge.contains(part), "{challenge}");
    }
}
