//! Invalid settings.

use std::sync::Arc;
use std::time::Duration;

use loci_core::ErrorCode;
use loci_oidc::{OidcClient, OidcOptions, OidcVerifier};
use loci_testkit::FixedClock;

use crate::support::check;

fn client(id: &str, scopes: &[&str]) -> OidcClient {
    OidcClient {
        id: id.to_owned(),
        secret: None,
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
    }
}

#[test]
fn settings_that_cannot_work_are_named() {
    type Change = fn(&mut OidcOptions);
    let rows: [(&str, Change); 26] = [
        ("`oidc.issuer` is no URL", |o| o.issuer = "a b".to_owned()),
        ("`oidc.issuer` must start with", |o| {
            o.issuer = "host.example".to_owned();
        }),
        ("`oidc.issuer` must start with", |o| {
            o.issuer = "http://host.example".to_owned();
        }),
        ("`oidc.issuer` must start with", |o| {
            o.issuer = "ftp://127.0.0.1".to_owned();
        }),
        ("`oidc.issuer` must hold no user", |o| {
            o.issuer = "https://u:p@host.example".to_owned();
        }),
        ("`oidc.issuer` must hold no user", |o| {
            o.issuer = "https://host.example/#a".to_owned();
        }),
        ("`oidc.issuer` must end before", |o| {
            o.issuer = "https://host.example/?a".to_owned();
        }),
        ("`oidc.audience` must have no blank", |o| {
            o.audiences = vec!["a".to_owned(), " ".to_owned()];
        }),
        ("`oidc.audience` must be `any` alone", |o| {
            o.audiences = vec!["a".to_owned(), "any".to_owned()];
        }),
        ("`oidc.actor_claims`", |o| {
            o.actor_claims = vec![String::new()];
        }),
        ("`oidc.token_types` must have no blank", |o| {
            o.token_types = vec![String::new()];
        }),
        ("`oidc.token_types` must name", |o| {
            o.token_types = Vec::new();
        }),
        ("`oidc.subject_claim`", |o| o.subject_claim = " ".to_owned()),
        ("`oidc.scope_claim`", |o| {
            o.scope_claim = Some(String::new());
        }),
        ("`oidc.space_claim`", |o| {
            o.space_claim = Some(String::new());
        }),
        ("`oidc.scope_prefix`", |o| {
            o.scope_prefix = "memory ".to_owned();
        }),
        ("`oidc.scope_prefix`", |o| {
            o.scope_prefix = "memory\"".to_owned();
        }),
        ("`oidc.scope_prefix`", |o| {
            o.scope_prefix = "mémoire:".to_owned();
        }),
        ("`oidc.client_id` must not be blank", |o| {
            o.client = Some(client(" ", &[]));
        }),
        ("`oidc.client_scopes`", |o| {
            o.client = Some(client("a", &["openid", "b c"]));
        }),
        ("`oidc.refresh_seconds`", |o| o.refresh = Duration::ZERO),
        ("`oidc.refresh_seconds`", |o| {
            o.refresh = Duration::from_secs(86_401);
        }),
        ("`oidc` needs", |o| o.leeway = Duration::from_secs(601)),
        ("`oidc` needs", |o| o.timeout = Duration::ZERO),
        ("`oidc` needs", |o| o.timeout = Duration::MAX),
        ("`oidc` needs", |o| o.backoff = Duration::ZERO),
    ];
    let new = |change: Change| {
        let mut options = OidcOptions::new("https://host.example/realm");
        change(&mut options);
        OidcVerifier::new(options, Arc::new(FixedClock::default()))
    };
    for (words, change) in rows {
        match new(change) {
            Ok(_) => panic!("accepted where {words}"),
            Err(error) => {
                check(&error, ErrorCode::InvalidArgument, words);
                assert!(!error.message.contains("u:p"), "{error}");
            }
        }
    }
    let good: [Change; 5] = [
        |_| (),
        |o| o.issuer = "http://localhost:1/".to_owned(),
        |o| o.audiences = vec!["any".to_owned()],
        |o| o.scope_prefix = String::new(),
        |o| o.actor_claims = Vec::new(),
    ];
    assert!(good.into_iter().all(|change| new(change).is_ok()));
}
