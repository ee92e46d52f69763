//! Invalid documents of the provider.

use std::time::Duration;

use loci_core::{ErrorCode, TokenVerifier};
use loci_oidc::{OidcOptions, OidcVerifier};
use serde_json::{Value, json};

use crate::signers::Signer;
use crate::support::{CONFIGURATION, KEYS, Page, Provider, check, verify};

const OTHER_CONFIGURATION: &str = "/.well-known/oauth-authorization-server";

/// Asserts that the keys cannot be fetched, for this reason.
fn fails(provider: &Provider, words: &str) {
    let verifier = provider.verifier(|options| options.timeout = Duration::from_secs(30));
    let error = verifier.probe().unwrap_err();
    assert!(
        matches!(error.code, ErrorCode::Unavailable | ErrorCode::NotFound),
        "{error}"
    );
    assert!(error.message.contains(words), "no {words:?} in: {error}");
    assert!(error.message.contains(&provider.url), "{error}");
}

#[test]
fn a_configuration_must_be_the_issuers_own() {
    let provider = Provider::new(&[Signer::ed25519().jwk("a")]);
    let with = |changes: Value| {
        let mut configuration = provider.configuration();
        configuration
            .as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        Page::json(&configuration)
    };
    let keys_elsewhere = provider.url.replace("127.0.0.1", "host.example");
    let rows = [
        (
            with(json!({ "issuer": format!("{}/", provider.url) })),
            "exactly as it is there",
        ),
        (
            with(json!({ "issuer": "https://host.example" })),
            "that of the issuer \"https://host.example\"",
        ),
        (with(json!({ "issuer": null })), "no JSON as expected"),
        (with(json!({ "jwks_uri": null })), "no JSON as expected"),
        (with(json!({ "jwks_uri": "/keys" })), "`jwks_uri`"),
        (
            with(json!({ "jwks_uri": keys_elsewhere })),
            "must start with `https://`",
        ),
        (
            with(json!({ "jwks_uri": "ftp://host/keys" })),
            "must start with `https://`",
        ),
        (
            with(json!({ "jwks_uri": provider.url.replace("http://", "http://user:word@") })),
            "no user name",
        ),
        (
            with(json!({ "jwks_uri": format!("{}/gone", provider.url) })),
            "/gone is not there (HTTP 404)",
        ),
        (
            Page::Reply(200, "<html>".to_owned()),
            "no JSON as expected (line 1 column 1)",
        ),
        (Page::Reply(200, String::new()), "no JSON as expected"),
        (Page::Reply(200, "[".repeat(100_000)), "no JSON as expected"),
        (
            Page::Reply(301, String::new()),
            "sends elsewhere, which is not followed (HTTP 301)",
        ),
        (Page::Reply(204, String::new()), "HTTP 204"),
        (
            Page::Reply(429, String::new()),
            "not to be had now (HTTP 429)",
        ),
        (
            Page::Reply(500, String::new()),
            "not to be had now (HTTP 500)",
        ),
        (Page::HangUp, "cannot be fetched"),
        (Page::Flood, "more than 262144 bytes"),
        (
            with(json!({ "padding": "x".repeat(300_000) })),
            "more than 262144 bytes",
        ),
    ];
    for (page, words) in rows {
        provider.put(CONFIGURATION, page);
        fails(&provider, words);
        assert_eq!(provider.asked(KEYS), 0);
    }
    assert_eq!(provider.asked(OTHER_CONFIGURATION), 0);
}

#[test]
fn keys_must_be_a_set_of_a_size() {
    let provider = Provider::new(&[]);
    let key = Signer::ed25519().jwk("a");
    let rows = [
        (
            Page::json(&json!({ "keys": [] })),
            "no key that can be used, of 0",
        ),
        (
            Page::json(&json!({ "keys": [{ "kty": "oct", "k": "AAAA" }, {}] })),
            "no key that can be used, of 2",
        ),
        (
            Page::json(&json!({ "keys": vec![key.clone(); 101] })),
            "has 101 keys, more than 100",
        ),
        (Page::json(&json!({ "keys": key })), "no JSON as expected"),
        (Page::json(&json!({ "keys": null })), "no JSON as expected"),
        (Page::json(&json!([key])), "no JSON as expected"),
        (Page::json(&key), "no JSON as expected"),
        (
            Page::Reply(200, r#"{"keys": [], "keys": []}"#.to_owned()),
            "no JSON as expected",
        ),
        (Page::Reply(302, String::new()), "sends elsewhere"),
        (Page::Reply(403, String::new()), "not there (HTTP 403)"),
        (
            Page::Reply(503, String::new()),
            "not to be had now (HTTP 503)",
        ),
        (Page::HangUp, "cannot be fetched"),
        (Page::Flood, "more than 262144 bytes"),
    ];
    for (page, words) in rows {
        provider.put(KEYS, page);
        fails(&provider, words);
    }
    provider.publish(&vec![key; 100]);
    assert_eq!(provider.ready(|_| ()).status().keys, 100);
}

#[test]
fn a_provider_that_says_nothing_times_out() {
    let provider = Provider::new(&[]);
    for path in [CONFIGURATION, KEYS] {
        provider.put(CONFIGURATION, Page::json(&provider.configuration()));
        provider.put(path, Page::Silence);
        let verifier = provider.verifier(|options| options.timeout = Duration::from_millis(50));
        check(
            &verifier.probe().unwrap_err(),
            ErrorCode::Unavailable,
            "did not come within 50ms",
        );
    }
}

#[test]
fn the_configuration_may_be_where_oauth_has_it() {
    let signer = Signer::ed25519();
    for path in ["", "/realms/one", "/realms/one/"] {
        let provider = Provider::new(&[signer.jwk("a")]);
        let issuer = format!("{}{path}", provider.url);
        provider.remove(CONFIGURATION);
        let first = format!("{}{CONFIGURATION}", path.trim_end_matches('/'));
        let second = format!("{OTHER_CONFIGURATION}{}", path.trim_end_matches('/'));
        let verifier =
            OidcVerifier::new(OidcOptions::new(&issuer), provider.clock.clone()).unwrap();
        let error = verifier.probe().unwrap_err();
        for place in [&first, &second] {
            check(
                &error,
                ErrorCode::NotFound,
                &format!("{}{place} is not there (HTTP 404)", provider.url),
            );
        }
        let mut configuration = provider.configuration();
        configuration["issuer"] = json!(issuer);
        provider.put(&second, Page::json(&configuration));
        assert_eq!(verifier.probe().unwrap().keys, 1);
        provider.put(&first, Page::json(&configuration));
        assert_eq!(verifier.probe().unwrap().keys, 1);
        assert_eq!((provider.asked(&first), provider.asked(&second)), (3, 2));
        assert_eq!(verifier.issuer(), issuer);
        let token = signer.usual("a", &provider.claims_with(&json!({ "iss": issuer })));
        assert!(verify(&verifier, &token).is_ok());
    }
}
