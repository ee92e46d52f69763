//! Signing people in.

use loci_core::{ErrorCode, SignInAttempt, SignInProvider};
use loci_oidc::{OidcClient, OidcOptions, OidcSignIn};
use serde_json::{Value, json};

use crate::support::{CONFIGURATION, Page, Provider, TOKEN, check};

/// The code verifier of RFC 7636, appendix B, whose challenge is given there.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn attempt() -> SignInAttempt {
    SignInAttempt {
        redirect_url: "https://memory.example/signed-in".to_owned(),
        resource: "https://memory.example".to_owned(),
        state: "a state".to_owned(),
        verifier: VERIFIER.to_owned(),
    }
}

fn client() -> OidcClient {
    OidcClient {
        id: "the client".to_owned(),
        secret: None,
        scopes: Vec::new(),
    }
}

fn sign_in(provider: &Provider, change: impl FnOnce(&mut OidcOptions)) -> OidcSignIn {
    let mut options = OidcOptions::new(&provider.url);
    options.client = Some(client());
    change(&mut options);
    OidcSignIn::new(options).unwrap().unwrap()
}

fn grant() -> Value {
    json!({ "access_token": "a", "token_type": "Bearer", "refresh_token": "r", "id_token": "i" })
}

#[test]
fn without_a_client_there_is_no_way_in() {
    let options = OidcOptions::new("https://accounts.example");
    assert!(OidcSignIn::new(options).unwrap().is_none());
}

#[test]
fn a_browser_is_sent_with_all_that_the_grant_needs() {
    let provider = Provider::new(&[]);
    let url = sign_in(&provider, |_| {})
        .authorization_url(&attempt())
        .unwrap();
    let expected = format!(
        "{}/authorize?tenant=a&response_type=code&client_id=the%20client\
         &redirect_uri=https%3A%2F%2Fmemory.example%2Fsigned-in&scope=openid%20memory%3Aread%20memory%3Awrite\
         &state=a%20state&code_challenge={CHALLENGE}&code_challenge_method=S256\
         &resource=https%3A%2F%2Fmemory.example",
        provider.url
    );
    assert_eq!(url, expected);
}

#[test]
fn the_settings_decide_for_what_a_token_is() {
    type Change = fn(&mut OidcOptions);
    let provider = Provider::new(&[]);
    let rows: [(Change, &str, &str); 5] = [
        (|o| o.audiences = vec!["any".to_owned()], "S256", ""),
        (
            |o| o.audiences = vec!["api://a".to_owned(), "b".to_owned()],
            "&audience=api%3A%2F%2Fa&resource=api%3A%2F%2Fa",
            "resource=https",
        ),
        (
            |o| o.audiences = vec!["b".to_owned()],
            "&audience=b",
            "resource",
        ),
        (
            |o| o.scope_claim = Some("roles".to_owned()),
            "&scope=openid&",
            "memory%3A",
        ),
        (
            |o| {
                let mut client = client();
                client.scopes = vec!["a".to_owned(), "b:c".to_owned()];
                o.client = Some(client);
            },
            "&scope=a%20b%3Ac&",
            "openid",
        ),
    ];
    for (change, has, lacks) in rows {
        let url = sign_in(&provider, change)
            .authorization_url(&attempt())
            .unwrap();
        assert!(url.contains(has) || url.ends_with(has), "{url}");
        assert!(lacks.is_empty() || !url.contains(lacks), "{url}");
    }
}

#[test]
fn a_code_is_redeemed_by_the_client_that_began() {
    let provider = Provider::new(&[]);
    provider.put(TOKEN, Page::json(&grant()));
    let public = sign_in(&provider, |_| {});
    let granted = public.redeem(&attempt(), "c&d").unwrap();
    assert_eq!(
        (
            granted.access_token.as_str(),
            granted.refresh_token.as_deref()
        ),
        ("a", Some("r"))
    );
    let (head, form) = provider.posted();
    assert!(
        !head.to_ascii_lowercase().contains("authorization:"),
        "{head}"
    );
    for part in [
        "grant_type=authorization_code&code=c%26d&",
        "redirect_uri=https%3A%2F%2Fmemory.example%2Fsigned-in",
        VERIFIER,
        "client_id=the",
    ] {
        assert!(form.contains(part), "{form}");
    }
    public.renew("r+").unwrap();
    let (_, form) = provider.posted();
    assert!(
        form.starts_with("grant_type=refresh_token&refresh_token=r%2B&"),
        "{form}"
    );
}

#[test]
fn a_secret_goes_where_the_provider_takes_it() {
    let provider = Provider::new(&[]);
    provider.put(TOKEN, Page::json(&grant()));
    let secret = sign_in(&provider, |options| {
        options.client = Some(OidcClient {
            secret: Some("s:t".to_owned()),
            ..client()
        });
    });
    secret.redeem(&attempt(), "c").unwrap();
    let (head, form) = provider.posted();
    // `the%20client:s%3At`
    assert!(head.contains("Basic dGhlJTIwY2xpZW50OnMlM0F0"), "{head}");
    assert!(!form.contains("client"), "{form}");
    let mut configuration = provider.configuration();
    configuration["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    provider.put(CONFIGURATION, Page::json(&configuration));
    secret.redeem(&attempt(), "c").unwrap();
    let (head, form) = provider.posted();
    assert!(!head.contains("Basic"), "{head}");
    assert!(form.ends_with("client_secret=s%3At"), "{form}");
}

#[test]
fn refusals_and_failures_are_told_apart() {
    let provider = Provider::new(&[]);
    let sign_in = sign_in(&provider, |_| {});
    let rows = [
        (
            Page::Reply(400, json!({"error": "invalid_grant"}).to_string()),
            ErrorCode::Unauthorized,
            "refused the request: invalid_grant (HTTP 400)",
        ),
        (
            Page::Reply(401, json!({"error": "<b>bold</b>"}).to_string()),
            ErrorCode::Unauthorized,
            "refused the request (HTTP 401)",
        ),
        (
            Page::Reply(400, "no JSON".to_owned()),
            ErrorCode::Unauthorized,
            "refused the request (HTTP 400)",
        ),
        (
            Page::Reply(302, String::new()),
            ErrorCode::Unavailable,
            "sends elsewhere",
        ),
        (
            Page::Reply(500, String::new()),
            ErrorCode::Unavailable,
            "not to be had now",
        ),
        (
            Page::json(&json!({"access_token": "a"})),
            ErrorCode::Unavailable,
            "no JSON as expected",
        ),
        (
            Page::json(&json!({"access_token": "a", "token_type": "DPoP"})),
            ErrorCode::Unavailable,
            "no bearer tokens",
        ),
        (Page::Flood, ErrorCode::Unavailable, "more than"),
        (Page::HangUp, ErrorCode::Unavailable, "cannot be fetched"),
    ];
    for (page, code, words) in rows {
        provider.put(TOKEN, page);
        let error = sign_in.redeem(&attempt(), "c").err().unwrap();
        check(&error, code, words);
        assert!(!error.message.contains(VERIFIER), "{error}");
    }
}

#[test]
fn endpoints_come_from_the_issuer_alone() {
    let provider = Provider::new(&[]);
    let sign_in = sign_in(&provider, |_| {});
    sign_in.probe().unwrap();
    let rows = [
        (
            "authorization_endpoint",
            Value::Null,
            "names no `authorization_endpoint`",
        ),
        (
            "authorization_endpoint",
            json!("http://evil.example"),
            "`authorization_endpoint` must start",
        ),
        ("token_endpoint", Value::Null, "names no `token_endpoint`"),
        ("token_endpoint", json!("file:///etc"), "`token_endpoint`"),
        ("issuer", json!("https://evil.example"), "evil.example"),
    ];
    for (member, value, words) in rows {
        let mut configuration = provider.configuration();
        configuration[member] = value;
        provider.put(CONFIGURATION, Page::json(&configuration));
        check(&sign_in.probe().unwrap_err(), ErrorCode::Unavailable, words);
    }
    provider.remove(CONFIGURATION);
    check(
        &sign_in.probe().unwrap_err(),
        ErrorCode::NotFound,
        "is not there",
    );
}
