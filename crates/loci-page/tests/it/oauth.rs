//! Clients that are let in by OAuth, and attackers who try to get in with them, on every store. The
//! attacks are from RFC 9700 and from the tests of providers, each as a case.

use std::sync::Arc;

use axum::body::Body;
use data_encoding::BASE64URL_NOPAD;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_FRAME_OPTIONS};
use http::{Request, StatusCode};
use loci_core::{AuditQuery, Clock, Scope, Scopes, Space, Timestamp, Token};
use loci_page::{ClientDocuments, OAuth};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::grant_stores::{GrantStore, StoreKind, beside, on_every_store};
use crate::support::{BASE, Browser, Reply, TestPage, form, named, with_fields};

const CALLBACK: &str = "https://client.example/callback";
const DOCUMENT: &str = "https://client.example/oauth/client.json";
const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more-0123";

fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn challenge() -> String {
    BASE64URL_NOPAD.encode(&sha256(VERIFIER))
}

struct Documents;

impl ClientDocuments for Documents {
    fn fetch(&self, url: &str) -> loci_core::Result<Value> {
        match url {
            DOCUMENT => Ok(json!({
                "client_id": DOCUMENT,
                "client_name": "A client",
                "redirect_uris": [CALLBACK, "http://127.0.0.1/callback"],
            })),
            _ => Err(loci_core::Error::not_found("nothing is there")),
        }
    }
}

/// A page that lets clients in, with the tokens of ann and of reader.
struct Server {
    page: TestPage,
    store: GrantStore,
}

impl Server {
    fn new(kind: StoreKind) -> Self {
        let store = GrantStore::new(kind);
        for (name, scopes) in [
            ("ann", &[Scope::Read, Scope::Write][..]),
            ("reader", &[Scope::Read]),
            ("local", &[Scope::Admin]),
        ] {
            let token = Token {
                id: name.to_owned(),
                hash: sha256(name),
                space: Space::default(),
                subject: name.to_owned(),
                scopes: Scopes::of(scopes),
                created_at: Timestamp::from_microseconds(0),
                expires_at: None,
                revoked_at: None,
                grant: None,
            };
            beside(|| store.tokens().add_token(&token)).unwrap();
        }
        let page = TestPage::letting_in(store.store(), |clock| {
            let paths = vec!["/mcp/engram".to_owned(), "/mcp/mememory".to_owned()];
            OAuth::new(store.tokens(), clock, Arc::new(Documents), paths)
        });
        Server { page, store }
    }

    async fn post_json(&self, path: &str, body: &Value) -> Reply {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let mut client = self.page.stranger();
        client
            .send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let request = with_fields(form(path, fields), fields);
        self.page.stranger().send(request).await
    }

    async fn register(&self) -> String {
        let metadata = json!({"client_name": "Tests", "redirect_uris": [CALLBACK]});
        let reply = self.post_json("/register", &metadata).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        reply.json()["client_id"].as_str().unwrap().to_owned()
    }

    fn all(&self) -> Vec<Token> {
        beside(|| self.store.tokens().tokens()).unwrap()
    }

    fn by_secret(&self, secret: &str) -> Option<Token> {
        beside(|| self.store.tokens().token_by_hash(&sha256(secret))).unwrap()
    }

    /// The token of the only grant.
    fn grant(&self) -> Token {
        let mut tokens = self.all();
        tokens.retain(|token| token.grant.is_some());
        assert_eq!(tokens.len(), 1);
        tokens.remove(0)
    }

    /// Has ann let a client in, and returns the code.
    async fn code(&self, client: &str, changes: &[(&str, &str)]) -> String {
        let mut ann = self.page.browser("ann").await;
        let answer = allow(&mut ann, &asked(client, changes)).await;
        parameter(answer.location(), "code").unwrap_or_else(|| panic!("{}", answer.location()))
    }

    async fn redeem(&self, client: &str, code: &str, changes: &[(&str, &str)]) -> Reply {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", client),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        self.post_form("/token", &changed(&fields, changes)).await
    }

    async fn refresh(&self, client: &str, token: &str, changes: &[(&str, &str)]) -> Reply {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", client),
        ];
        self.post_form("/token", &changed(&fields, changes)).await
    }

    /// Lets a client in, and returns its identifier with its tokens.
    async fn let_in(&self) -> (String, String, String) {
        let client = self.register().await;
        let code = self.code(&client, &[]).await;
        let given = self.redeem(&client, &code, &[]).await;
        assert_eq!(given.status, StatusCode::OK, "{}", given.text);
        let token = |name: &str| given.json()[name].as_str().unwrap().to_owned();
        (client, token("access_token"), token("refresh_token"))
    }

    fn is_revoked(&self) -> bool {
        self.grant().revoked_at.is_some()
    }
}

/// Returns the fields with others in their places; an empty one leaves a field out.
fn changed<'a>(
    fields: &[(&'a str, &'a str)],
    changes: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let kept = fields
        .iter()
        .filter(|(name, _)| !changes.iter().any(|(other, _)| other == name));
    let added = changes.iter().filter(|(_, value)| !value.is_empty());
    kept.chain(added).copied().collect()
}

/// Returns the request of a client, as the address that it sends a browser to.
fn asked(client: &str, changes: &[(&str, &str)]) -> String {
    let challenge = challenge();
    let fields = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("state", "a state & more"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("resource", "http://page.example:7821/mcp/engram"),
    ];
    let query = serde_html_form::to_string(changed(&fields, changes)).unwrap();
    format!("/authorize?{query}")
}

/// Sends the form of a consent page, with this decision.
async fn decide(browser: &mut Browser, page: &Reply, decision: &str) -> Reply {
    let fields = hidden(&page.text);
    let mut fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    fields.push(("decision", decision));
    let request = form("/authorize", &fields).header("sec-fetch-site", "same-origin");
    browser.send(with_fields(request, &fields)).await
}

async fn allow(browser: &mut Browser, asked: &str) -> Reply {
    let page = browser.get(asked).await;
    assert_eq!(
        page.status,
        StatusCode::OK,
        "{} {:?}",
        page.text,
        page.headers
    );
    let sent = decide(browser, &page, "allow").await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    sent
}

fn hidden(html: &str) -> Vec<(String, String)> {
    let plain = |text: &str| {
        let text = text.replace("&#38;", "&").replace("&#34;", "\"");
        text.replace("&#39;", "'").replace("&amp;", "&")
    };
    html.split("<input type=\"hidden\" name=\"")
        .skip(1)
        .map(|rest| {
            let (name, rest) = rest.split_once("\" value=\"").unwrap();
            (name.to_owned(), plain(rest.split('"').next().unwrap()))
        })
        .collect()
}

fn parameter(location: &str, name: &str) -> Option<String> {
    let (_, query) = location.split_once('?')?;
    let pairs: Vec<(String, String)> = serde_html_form::from_str(query).unwrap();
    let found = pairs.into_iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value)
}

fn error_of(reply: &Reply) -> String {
    reply.json()["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn a_client_is_let_in_and_renews_its_token(kind: StoreKind) {
    let server = Server::new(kind);
    let metadata = server
        .page
        .stranger()
        .get("/.well-known/oauth-authorization-server")
        .await
        .json();
    assert_eq!(metadata["issuer"], BASE);
    assert_eq!(
        metadata["code_challenge_methods_supported"],
        json!(["S256"])
    );
    let client = server.register().await;
    let mut ann = server.page.browser("ann").await;
    let page = ann.get(&asked(&client, &[])).await;
    for words in [
        "client.example",
        "Tests",
        "ann",
        "read what you may read",
        "store, change",
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    assert!(!page.text.contains("<script"), "{}", page.text);
    assert_eq!(page.headers[X_FRAME_OPTIONS], "DENY");
    let policy = page.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
    for part in [
        "form-action 'self' https://client.example;",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script-src"), "{policy}");
    let sent = decide(&mut ann, &page, "allow").await;
    assert!(
        sent.location()
            .starts_with("https://client.example/callback?code=")
    );
    let of = |name| parameter(sent.location(), name);
    assert_eq!(of("state").as_deref(), Some("a state & more"));
    assert_eq!(of("iss").as_deref(), Some(BASE));
    let given = server.redeem(&client, &of("code").unwrap(), &[]).await;
    assert_eq!(given.status, StatusCode::OK, "{}", given.text);
    assert_eq!(given.headers["cache-control"], "no-store");
    assert_eq!(given.headers["access-control-allow-origin"], "*");
    let given = given.json();
    assert_eq!(
        (&given["token_type"], &given["expires_in"]),
        (&json!("Bearer"), &json!(3600))
    );
    assert_eq!(given["scope"], "memory:read memory:write");
    let access = given["access_token"].as_str().unwrap();
    let kept = server.by_secret(access).unwrap();
    assert_eq!(
        (kept.subject.as_str(), kept.scopes),
        ("ann", Scopes::of(&[Scope::Read, Scope::Write]))
    );
    let grant = kept.grant.clone().unwrap();
    assert_eq!(grant.client, "Tests (client.example)");
    assert_eq!(grant.resource, "http://page.example:7821/mcp/engram");
    assert!(kept.is_valid(server.page.clock.now()));
    // An hour later it renews.
    server.page.clock.advance(3_600);
    assert!(!kept.is_valid(server.page.clock.now()) && !kept.is_over(server.page.clock.now()));
    let refresh = given["refresh_token"].as_str().unwrap();
    let renewed = server.refresh(&client, refresh, &[]).await.json();
    let next = renewed["access_token"].as_str().unwrap();
    let kept = server.by_secret(next).unwrap();
    assert!(kept.is_valid(server.page.clock.now()));
    assert_eq!(server.by_secret(access), None);
    assert_ne!(renewed["refresh_token"], given["refresh_token"]);
}

async fn a_client_may_have_a_document_of_itself(kind: StoreKind) {
    let server = Server::new(kind);
    let mut ann = server.page.browser("ann").await;
    let loopback = [("redirect_uri", "http://127.0.0.1:33418/callback")];
    let page = ann.get(&asked(DOCUMENT, &loopback)).await;
    for words in [
        "A program on the device in front of you",
        "is at client.example",
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    let sent = decide(&mut ann, &page, "allow").await;
    let code = parameter(sent.location(), "code").unwrap();
    assert!(
        sent.location()
            .starts_with("http://127.0.0.1:33418/callback?code=")
    );
    let given = server.redeem(DOCUMENT, &code, &loopback).await;
    assert_eq!(given.status, StatusCode::OK, "{}", given.text);
    let missing = ann
        .get(&asked("https://client.example/other.json", &[]))
        .await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST);
    assert!(
        missing.text.contains("cannot be had: nothing is there"),
        "{}",
        missing.text
    );
}

/// The person is told, and the browser is sent nowhere, while it is not known where it may be sent.
async fn a_browser_is_sent_only_to_the_client_that_asks(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let mut ann = server.page.browser("ann").await;
    let rows: [&[(&str, &str)]; 12] = [
        &[("redirect_uri", "")],
        &[("redirect_uri", "https://evil.example/callback")],
        &[("redirect_uri", "https://client.example/callback/")],
        &[("redirect_uri", "https://client.example/callback?a=b")],
        &[(
            "redirect_uri",
            "https://client.example.evil.example/callback",
        )],
        &[(
            "redirect_uri",
            "https://client.example@evil.example/callback",
        )],
        &[("redirect_uri", "https://client.example:444/callback")],
        &[("redirect_uri", "http://client.example/callback")],
        &[("redirect_uri", "javascript:alert(1)")],
        &[("client_id", "")],
        &[("client_id", "loci-client.AAAA")],
        &[("client_id", "http://client.example/oauth/client.json")],
    ];
    for changes in rows {
        let reply = ann.get(&asked(&client, changes)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{changes:?}");
        assert!(reply.text.contains("cannot be let in"), "{changes:?}");
    }
    let twice = format!(
        "{}&redirect_uri=https%3A%2F%2Fevil.example",
        asked(&client, &[])
    );
    assert_eq!(ann.get(&twice).await.status, StatusCode::BAD_REQUEST);
}

async fn a_request_that_cannot_be_allowed_goes_back_with_its_reason(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let mut ann = server.page.browser("ann").await;
    let short = "A".repeat(42);
    let rows: [(&[(&str, &str)], &str); 12] = [
        (&[("response_type", "token")], "unsupported_response_type"),
        (&[("response_type", "")], "invalid_request"),
        (&[("response_mode", "fragment")], "invalid_request"),
        (&[("code_challenge", "")], "invalid_request"),
        (&[("code_challenge", &short)], "invalid_request"),
        (&[("code_challenge_method", "plain")], "invalid_request"),
        (&[("code_challenge_method", "")], "invalid_request"),
        (&[("scope", "memory:admin")], "invalid_scope"),
        (&[("scope", "openid")], "invalid_scope"),
        (
            &[("resource", "https://other.example/mcp/engram")],
            "invalid_target",
        ),
        (
            &[("resource", "http://page.example:7821/keep")],
            "invalid_target",
        ),
        (&[("request", "e30.e30.")], "request_not_supported"),
    ];
    for (changes, expected) in rows {
        let reply = ann.get(&asked(&client, changes)).await;
        assert_eq!(
            reply.status,
            StatusCode::SEE_OTHER,
            "{changes:?}: {}",
            reply.text
        );
        let location = reply.location();
        assert!(
            location.starts_with("https://client.example/callback?error="),
            "{location}"
        );
        assert_eq!(
            parameter(location, "error").as_deref(),
            Some(expected),
            "{changes:?}"
        );
        assert_eq!(
            parameter(location, "state").as_deref(),
            Some("a state & more")
        );
        assert_eq!(parameter(location, "iss").as_deref(), Some(BASE));
        assert!(parameter(location, "code").is_none());
    }
    let denied = ann.get(&asked(&client, &[])).await;
    let denied = decide(&mut ann, &denied, "deny").await;
    assert_eq!(
        parameter(denied.location(), "error").as_deref(),
        Some("access_denied")
    );
}

/// CSRF, a frame, a browser that is not signed in, a program with a token.
async fn only_the_person_decides(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let asked = asked(&client, &[]);
    let mut stranger = server.page.stranger();
    let sent = stranger.get(&asked).await;
    assert!(
        sent.location().starts_with("/sign-in?next=%2Fauthorize%3F"),
        "{}",
        sent.location()
    );
    // A strict cookie does not come with a browser that another site sent here.
    let again = stranger.get_from(&asked, "cross-site").await;
    assert_eq!(again.status, StatusCode::OK);
    assert!(
        again.text.contains("content=\"0; url=/authorize?"),
        "{}",
        again.text
    );
    let with_token = Request::get(&asked).header("authorization", "Bearer ann");
    let refused = stranger.send(with_token.body(Body::empty()).unwrap()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);

    let mut ann = server.page.browser("ann").await;
    let page = ann.get(&asked).await;
    let fields = hidden(&page.text);
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain([("decision", "allow")])
        .collect();
    let of_other = server.page.browser("reader").await.get(&asked).await.text;
    let of_other = hidden(&of_other);
    let of_other = of_other.iter().find(|(name, _)| name == "csrf").unwrap();
    let rows: [(&str, &[(&str, &str)]); 4] = [
        ("same-origin", &[("csrf", "")]),
        ("same-origin", &[("csrf", "guessed")]),
        ("same-origin", &[("csrf", of_other.1.as_str())]),
        ("cross-site", &[]),
    ];
    for (site, changes) in rows {
        let fields = changed(&fields, changes);
        let request = form("/authorize", &fields).header("sec-fetch-site", site);
        let refused = ann.send(with_fields(request, &fields)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{site} {changes:?}");
    }
    // What the form says is checked again.
    for (changes, status) in [
        (
            ("redirect_uri", "https://evil.example/"),
            StatusCode::BAD_REQUEST,
        ),
        (("scope", "memory:admin"), StatusCode::SEE_OTHER),
        (("code_challenge_method", "plain"), StatusCode::SEE_OTHER),
    ] {
        let fields = changed(&fields, &[changes]);
        let request = form("/authorize", &fields).header("sec-fetch-site", "same-origin");
        let refused = ann.send(with_fields(request, &fields)).await;
        assert_eq!(refused.status, status, "{changes:?}");
        assert!(!refused.headers.contains_key("location") || !refused.location().contains("code="));
    }
    assert!(server.all().iter().all(|token| token.grant.is_none()));
}

async fn a_client_gets_no_more_than_the_person_has(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let mut reader = server.page.browser("reader").await;
    let page = reader.get(&asked(&client, &[])).await;
    assert!(!page.text.contains("store, change"), "{}", page.text);
    let sent = decide(&mut reader, &page, "allow").await;
    let code = parameter(sent.location(), "code").unwrap();
    let given = server.redeem(&client, &code, &[]).await.json();
    assert_eq!(given["scope"], "memory:read");
    assert_eq!(server.grant().scopes, Scopes::of(&[Scope::Read]));
    // Nor does an administrator let one in as an administrator.
    let mut local = server.page.browser("local").await;
    let asked = asked(
        &client,
        &[("scope", "memory:admin memory:read offline_access")],
    );
    let sent = allow(&mut local, &asked).await;
    let code = parameter(sent.location(), "code").unwrap();
    let given = server.redeem(&client, &code, &[]).await.json();
    assert_eq!(given["scope"], "memory:read");
}

async fn a_client_lets_in_no_other_client(kind: StoreKind) {
    let server = Server::new(kind);
    let (client, access, _) = server.let_in().await;
    // The page of a server refuses such a token before this; here the stand-in takes any.
    let path = server
        .page
        .page
        .sign_in_path(
            named("ann"),
            Some(format!("Bearer {access}").parse().unwrap()),
        )
        .unwrap();
    let mut browser = server.page.stranger();
    browser.get(&path).await;
    let sent = browser.get(&asked(&client, &[])).await;
    assert_eq!(
        parameter(sent.location(), "error").as_deref(),
        Some("access_denied")
    );
}

/// A code is for one client, one redirect URI, one verifier and one resource; a client that has it
/// without them uses it up.
async fn a_stolen_code_is_worth_nothing(kind: StoreKind) {
    let rows: [(&[(&str, &str)], &str); 7] = [
        (
            &[(
                "code_verifier",
                "another-verifier-of-forty-three-characters-0123",
            )],
            "invalid_grant",
        ),
        (&[("code_verifier", "short")], "invalid_grant"),
        (
            &[("redirect_uri", "https://evil.example/callback")],
            "invalid_grant",
        ),
        (
            &[("redirect_uri", "https://client.example/callback/")],
            "invalid_grant",
        ),
        (&[("client_id", DOCUMENT)], "invalid_grant"),
        (
            &[("resource", "http://page.example:7821/mcp/mememory")],
            "invalid_target",
        ),
        (&[("resource", "https://evil.example")], "invalid_target"),
    ];
    for (changes, expected) in rows {
        let server = Server::new(kind);
        let client = server.register().await;
        let code = server.code(&client, &[]).await;
        let refused = server.redeem(&client, &code, changes).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{changes:?}");
        assert_eq!(error_of(&refused), expected, "{changes:?}");
        assert!(server.is_revoked(), "{changes:?}");
        let late = server.redeem(&client, &code, &[]).await;
        assert_eq!(error_of(&late), "invalid_grant", "{changes:?}");
    }
    let server = Server::new(kind);
    let client = server.register().await;
    let code = server.code(&client, &[]).await;
    for field in [
        "code",
        "client_id",
        "redirect_uri",
        "code_verifier",
        "grant_type",
    ] {
        let refused = server.redeem(&client, &code, &[(field, "")]).await;
        assert_eq!(error_of(&refused), "invalid_request", "{field}");
    }
    let refused = server
        .redeem(&client, &code, &[("grant_type", "password")])
        .await;
    assert_eq!(error_of(&refused), "unsupported_grant_type");
    // A code is no refresh token, and it is good for a minute.
    let refused = server.refresh(&client, &code, &[]).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    server.page.clock.advance(60);
    let refused = server.redeem(&client, &code, &[]).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

async fn a_code_that_is_used_twice_ends_what_it_gave(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let code = server.code(&client, &[]).await;
    let given = server.redeem(&client, &code, &[]).await.json();
    assert!(!server.is_revoked());
    let again = server.redeem(&client, &code, &[]).await;
    assert_eq!(error_of(&again), "invalid_grant");
    assert!(server.is_revoked());
    let refresh = given["refresh_token"].as_str().unwrap();
    let refused = server.refresh(&client, refresh, &[]).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

async fn a_refresh_token_that_is_used_twice_ends_the_grant(kind: StoreKind) {
    let server = Server::new(kind);
    let (client, _, first) = server.let_in().await;
    let second = server.refresh(&client, &first, &[]).await.json();
    let second = second["refresh_token"].as_str().unwrap();
    let third = server.refresh(&client, second, &[]).await.json();
    assert!(!server.is_revoked());
    let stolen = server.refresh(&client, &first, &[]).await;
    assert_eq!(error_of(&stolen), "invalid_grant");
    assert!(server.is_revoked());
    let third = third["refresh_token"].as_str().unwrap();
    assert_eq!(
        error_of(&server.refresh(&client, third, &[]).await),
        "invalid_grant"
    );
}

async fn a_refresh_token_is_of_its_client_and_gives_no_more(kind: StoreKind) {
    let server = Server::new(kind);
    let (client, _, refresh) = server.let_in().await;
    let rows: [(&[(&str, &str)], &str); 3] = [
        (
            &[("resource", "http://page.example:7821/mcp/mememory")],
            "invalid_target",
        ),
        (&[("refresh_token", "loci_0")], "invalid_grant"),
        (&[("refresh_token", "")], "invalid_request"),
    ];
    for (changes, expected) in rows {
        let refused = server.refresh(&client, &refresh, changes).await;
        assert_eq!(error_of(&refused), expected, "{changes:?}");
        assert!(!server.is_revoked());
    }
    let other = server.refresh(DOCUMENT, &refresh, &[]).await;
    assert_eq!(error_of(&other), "invalid_grant");
    assert!(server.is_revoked());

    let server = Server::new(kind);
    let client = server.register().await;
    let code = server.code(&client, &[("scope", "memory:read")]).await;
    let given = server.redeem(&client, &code, &[]).await.json();
    let refresh = given["refresh_token"].as_str().unwrap();
    let more = [("scope", "memory:read memory:write")];
    let refused = server.refresh(&client, refresh, &more).await;
    assert_eq!(error_of(&refused), "invalid_scope");
    server.page.clock.advance(91 * 86_400);
    let late = server.refresh(&client, refresh, &[]).await;
    assert_eq!(error_of(&late), "invalid_grant");
}

async fn a_grant_ends_with_the_token_of_the_person(kind: StoreKind) {
    let server = Server::new(kind);
    let (client, _, refresh) = server.let_in().await;
    let now = server.page.clock.now();
    beside(|| server.store.tokens().revoke_token("ann", now)).unwrap();
    assert!(server.is_revoked());
    let refused = server.refresh(&client, &refresh, &[]).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

async fn a_client_revokes_what_it_has(kind: StoreKind) {
    for of_refresh in [false, true] {
        let server = Server::new(kind);
        let (client, access, refresh) = server.let_in().await;
        let token = if of_refresh { &refresh } else { &access };
        let other = [("token", token.as_str()), ("client_id", DOCUMENT)];
        let refused = server.post_form("/revoke", &other).await;
        assert_eq!(error_of(&refused), "invalid_client");
        assert!(!server.is_revoked());
        let own = [("token", token.as_str()), ("client_id", client.as_str())];
        for _ in 0..2 {
            let revoked = server.post_form("/revoke", &own).await;
            assert_eq!(revoked.status, StatusCode::OK, "{}", revoked.text);
            assert!(server.is_revoked());
        }
        // A token that a person handed out is not a client's to revoke.
        let persons = server.post_form("/revoke", &[("token", "ann")]).await;
        assert_eq!(error_of(&persons), "unsupported_token_type");
        let unknown = server.post_form("/revoke", &[("token", "nothing")]).await;
        assert_eq!(unknown.status, StatusCode::OK);
    }
}

async fn requests_of_clients_are_read_strictly(kind: StoreKind) {
    let server = Server::new(kind);
    let client = server.register().await;
    let code = server.code(&client, &[]).await;
    // Twice the same parameter, a secret, another type, too much.
    let twice = server.redeem(&client, &code, &[]).await;
    assert_eq!(twice.status, StatusCode::OK);
    let fields = [
        ("grant_type", "refresh_token"),
        ("grant_type", "authorization_code"),
    ];
    assert_eq!(
        error_of(&server.post_form("/token", &fields).await),
        "invalid_request"
    );
    let targets = [("resource", "a"), ("resource", "b")];
    assert_eq!(
        error_of(&server.post_form("/token", &targets).await),
        "invalid_target"
    );
    let json = server
        .post_json("/token", &json!({"grant_type": "refresh_token"}))
        .await;
    assert_eq!(error_of(&json), "invalid_request");
    let request = form("/token", &[]).header("authorization", "Basic YTpi");
    let secret = server.page.stranger().send(with_fields(request, &[])).await;
    assert_eq!(
        (secret.status, error_of(&secret).as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_client")
    );
    let large = "x".repeat(5_000);
    let large = server
        .post_form("/token", &[("code", large.as_str())])
        .await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    // A token in an address does not count.
    let get = server
        .page
        .stranger()
        .get("/token?grant_type=refresh_token")
        .await;
    assert_eq!(get.status, StatusCode::METHOD_NOT_ALLOWED);
    let rows = [
        (json!({"redirect_uris": []}), "invalid_redirect_uri"),
        (
            json!({"redirect_uris": ["http://client.example/"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"redirect_uris": [CALLBACK], "grant_types": ["implicit"]}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": CALLBACK}),
            "invalid_client_metadata",
        ),
        (json!([]), "invalid_client_metadata"),
    ];
    for (metadata, expected) in rows {
        let refused = server.post_json("/register", &metadata).await;
        assert_eq!(error_of(&refused), expected, "{metadata}");
    }
}

async fn what_clients_do_is_in_the_audit_log(kind: StoreKind) {
    let server = Server::new(kind);
    let (client, _, refresh) = server.let_in().await;
    server.refresh(&client, &refresh, &[]).await;
    server.refresh(&client, &refresh, &[]).await;
    let query = AuditQuery {
        space: Space::default(),
        limit: 100,
        ..AuditQuery::default()
    };
    let entries = beside(|| server.page.engine.audit().entries(&query)).unwrap();
    let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    let tools: Vec<&str> = entries.iter().map(|entry| entry.tool.as_str()).collect();
    for tool in [
        "client_approve",
        "client_redeem",
        "client_renew",
        "client_reuse",
    ] {
        assert!(tools.contains(&tool), "{tools:?}");
    }
    let approval = entries
        .iter()
        .find(|entry| entry.tool == "client_approve")
        .unwrap();
    assert_eq!(approval.user.as_deref(), Some("ann"));
    assert_eq!(approval.query.as_deref(), Some("Tests (client.example)"));
}

#[tokio::test]
async fn a_server_without_oauth_has_none_of_it() {
    let page = TestPage::new();
    for path in ["/authorize", "/.well-known/oauth-authorization-server"] {
        let reply = page.stranger().get(path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
    }
}

on_every_store! {
    a_client_is_let_in_and_renews_its_token,
    a_client_may_have_a_document_of_itself,
    a_browser_is_sent_only_to_the_client_that_asks,
    a_request_that_cannot_be_allowed_goes_back_with_its_reason,
    only_the_person_decides,
    a_client_gets_no_more_than_the_person_has,
    a_client_lets_in_no_other_client,
    a_stolen_code_is_worth_nothing,
    a_code_that_is_used_twice_ends_what_it_gave,
    a_refresh_token_that_is_used_twice_ends_the_grant,
    a_refresh_token_is_of_its_client_and_gives_no_more,
    a_grant_ends_with_the_token_of_the_person,
    a_client_revokes_what_it_has,
    requests_of_clients_are_read_strictly,
    what_clients_do_is_in_the_audit_log,
}
