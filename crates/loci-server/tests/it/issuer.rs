//! Tokens of an issuer: their callers, their expiry, and the refusals of invalid ones.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use loci_core::{Caller, ErrorCode, Principal, Scope, Scopes, Space};
use loci_server::Authentication;
use serde_json::json;

use crate::support::{NOW, Server, World, call, request, with_issuer};

async fn caller(
    authentication: &Authentication,
    token: &str,
    base_url: Option<&str>,
) -> loci_core::Result<Caller> {
    let headers =
        HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]);
    authentication.caller(&headers, base_url, "/mcp/test").await
}

#[tokio::test]
async fn a_token_of_the_issuer_names_its_space_subject_actor_and_scopes() {
    let (_, _, authentication) = with_issuer();
    let found = caller(&authentication, "issued.ann", None).await.unwrap();
    let principal = Principal {
        subject: Some("ann".to_owned()),
        actor: Some("Somebody".to_owned()),
        scopes: Scopes::of(&[Scope::Read]),
    };
    assert_eq!(
        found,
        Caller::new(Space::parse("space", "elsewhere").unwrap(), principal)
    );
    let known = caller(&authentication, "issued.known", None).await.unwrap();
    assert_eq!(
        known.principal.subject.as_deref(),
        Some("known"),
        "without waiting"
    );
    // A token that the issuer cannot have issued is looked up among loci's own tokens.
    let own = caller(&authentication, "secret-of-ann", None)
        .await
        .unwrap();
    let both = Scopes::of(&[Scope::Read, Scope::Write]);
    assert!(own.token.is_some(), "its id is in what it changes");
    let expected = Caller {
        token: own.token.clone(),
        ..Caller::new(Space::default(), Principal::new("ann", both))
    };
    assert_eq!(own, expected);
    let rows = [
        ("issued.forged", ErrorCode::Unauthorized),
        ("issued.down", ErrorCode::Unavailable),
        ("issued.panic", ErrorCode::Internal),
        ("unknown", ErrorCode::Unauthorized),
    ];
    for (token, code) in rows {
        assert_eq!(
            caller(&authentication, token, None).await.unwrap_err().code,
            code,
            "{token}"
        );
    }
    let nobody = Authentication::Anonymous
        .caller(&HeaderMap::new(), None, "/mcp/test")
        .await
        .unwrap();
    assert_eq!(
        nobody,
        Caller::new(Space::default(), Principal::anonymous())
    );
}

#[tokio::test]
async fn a_token_may_be_issued_for_the_server_or_for_the_endpoint() {
    let (issuer, _, authentication) = with_issuer();
    caller(
        &authentication,
        "issued.ann",
        Some("https://memory.example"),
    )
    .await
    .unwrap();
    let mut names = issuer.resources();
    names.sort();
    let expected = ["https://memory.example", "https://memory.example/"].map(str::to_owned);
    let endpoint = [
        "https://memory.example/mcp/test",
        "https://memory.example/mcp/test/",
    ]
    .map(str::to_owned);
    assert_eq!(names, [expected, endpoint].concat());
    caller(&authentication, "issued.ann", None).await.unwrap();
    assert!(issuer.resources().is_empty());
}

/// The operator of another service on this machine has its visitors' tokens, and can put its name
/// into `Host`.
#[tokio::test]
async fn a_token_for_another_service_of_this_machine_is_not_for_us() {
    let (issuer, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let body = request(1, "ping", json!({})).to_string();
    let port = server.address.port();
    for (host, names) in [
        (format!("localhost:{port}"), 4),
        ("localhost:9".to_owned(), 0),
        ("localhost".to_owned(), 0),
    ] {
        let reply = server
            .post(
                &[("authorization", "Bearer issued.ann"), ("host", &host)],
                body.as_bytes(),
            )
            .await;
        assert_eq!(reply.status, 200);
        assert_eq!(issuer.resources().len(), names, "{host}");
    }
}

#[tokio::test]
async fn what_does_not_hold_is_challenged_and_what_cannot_be_told_is_not() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let body = request(1, "tools/call", call("echo", json!({"text": "hi"}))).to_string();
    let elsewhere = format!(
        "scope=\"memory:read memory:write\", resource_metadata=\"http://{}/.well-known/oauth-protected-resource/mcp/test\"",
        server.address
    );
    let missing = server.post(&[], body.as_bytes()).await;
    assert_eq!(missing.status, 401);
    assert_eq!(
        missing.headers["www-authenticate"],
        format!("Bearer realm=\"loci\", {elsewhere}")
    );
    let why = "error_description=\"the signature is not the issuer's\", ";
    // An explanation that is too long for a header, or not allowed in one, is only in the body.
    for (token, why) in [
        ("issued.forged", why),
        ("issued.odd", ""),
        ("issued.wordy", ""),
    ] {
        let reply = server
            .post(
                &[("authorization", &format!("Bearer {token}"))],
                body.as_bytes(),
            )
            .await;
        assert_eq!(reply.status, 401, "{token}");
        let challenge = format!("Bearer realm=\"loci\", error=\"invalid_token\", {why}{elsewhere}");
        assert_eq!(reply.headers["www-authenticate"], challenge);
    }
    let down = server
        .post(&[("authorization", "Bearer issued.down")], body.as_bytes())
        .await;
    assert_eq!(
        (down.status, down.headers["retry-after"].as_str()),
        (503, "1")
    );
    let told = down.json()["error"].clone();
    assert_eq!(
        (&told["data"]["code"], &told["message"]),
        (
            &json!("unavailable"),
            &json!("the issuer's keys are not there")
        )
    );
    // The issuer handles logins.
    assert_eq!(server.send("POST /register", &[], b"{}").await.status, 404);
    let broken = server
        .post(&[("authorization", "Bearer issued.panic")], body.as_bytes())
        .await;
    assert_eq!(broken.status, 500);
    for reply in [down, broken] {
        assert!(!reply.headers.contains_key("www-authenticate"), "{reply:?}");
    }
    // The challenge contains no URL made from a forged `Host` header.
    let foreign = server
        .post(&[("host", "elsewhere.example")], body.as_bytes())
        .await;
    assert_eq!(
        (
            foreign.status,
            foreign.headers["www-authenticate"].contains("elsewhere")
        ),
        (401, false)
    );
}

#[tokio::test]
async fn the_end_of_a_token_ends_its_subscription() {
    let (_, clock, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://about"]}});
    let mut stream = server
        .listen(&[("authorization", "Bearer issued.ann")], wanted)
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
