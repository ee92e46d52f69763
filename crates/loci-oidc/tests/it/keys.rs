//! Keys that are added, replaced and removed.

use std::cell::RefCell;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_core::{Clock, ErrorCode, Timestamp, TokenVerifier};
use loci_oidc::Refresher;
use serde_json::{Value, json};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::signers::{Signer, base64url};
use crate::support::{CONFIGURATION, KEYS, Page, Provider, check, refused, resources, verify};

const UNKNOWN: &str = "not one of the issuer's";

/// Waits for the effect of another thread.
fn until(is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "it does not come to that"
        );
        thread::yield_now();
    }
}

#[test]
fn a_new_key_is_fetched_once_and_an_old_one_goes() {
    let (old, new) = (Signer::rsa(), Signer::other_rsa());
    let provider = Provider::new(&[old.jwk("old")]);
    let verifier = provider.ready(|_| ());
    let tokens = [
        old.usual("old", &provider.claims()),
        new.usual("new", &provider.claims()),
    ];
    refused(&verifier, &tokens[1], UNKNOWN);
    assert_eq!(provider.asked(KEYS), 2);
    assert!(verify(&verifier, &tokens[0]).is_ok());

    provider.publish(&[old.jwk("old"), new.jwk("new")]);
    // Not within the same minute.
    provider.clock.advance(59);
    refused(&verifier, &tokens[1], UNKNOWN);
    assert_eq!(provider.asked(KEYS), 2);
    provider.clock.advance(1);
    assert!(verify(&verifier, &tokens[1]).is_ok());
    assert!(verify(&verifier, &tokens[1]).is_ok());
    assert_eq!(
        (provider.asked(KEYS), provider.asked(CONFIGURATION)),
        (3, 3)
    );

    // Until then its tokens are accepted, also from the cache.
    provider.publish(&[new.jwk("new")]);
    assert!(verify(&verifier, &tokens[0]).is_ok());
    assert_eq!(verifier.probe().unwrap().keys, 1);
    refused(&verifier, &tokens[0], UNKNOWN);
    assert!(verify(&verifier, &tokens[1]).is_ok());

    // If a name is given to another key, the tokens of the old key are refused.
    provider.publish(&[old.jwk("new")]);
    verifier.probe().unwrap();
    refused(&verifier, &tokens[1], "signature does not hold");
}

#[test]
fn unknown_keys_cause_a_fetch_a_minute() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let claims = provider.claims_with(&json!({ "exp": provider.now() + 1_000_000 }));
    let fetches = || provider.asked(KEYS) - 1;
    for number in 0..10_000 {
        refused(
            &verifier,
            &signer.usual(&format!("random {number}"), &claims),
            UNKNOWN,
        );
    }
    assert_eq!(fetches(), 1);
    // Every 20 seconds.
    for number in 0..30 {
        provider.clock.advance(20);
        refused(
            &verifier,
            &signer.usual(&format!("later {number}"), &claims),
            UNKNOWN,
        );
    }
    assert_eq!(fetches(), 1 + 10);
    // A failed fetch counts, too. Until another one succeeds the key may exist, so that a client
    // keeps its token.
    provider.put(KEYS, Page::Reply(500, String::new()));
    provider.clock.advance(60);
    let token = signer.usual("b", &claims);
    let unavailable = || {
        check(
            &verify(&verifier, &token).unwrap_err(),
            ErrorCode::Unavailable,
            "did not answer",
        );
    };
    for _ in 0..100 {
        unavailable();
    }
    provider.publish(&[signer.jwk("a")]);
    unavailable();
    assert_eq!(fetches(), 12);
    verifier.probe().unwrap();
    refused(&verifier, &token, UNKNOWN);
    assert_eq!(fetches(), 13);
    // A clock that is set back blocks nothing.
    provider.clock.set(Timestamp::from_microseconds(0));
    provider.publish(&[signer.jwk("b")]);
    let claims = provider.claims();
    assert!(verify(&verifier, &signer.usual("b", &claims)).is_ok());
}

#[test]
fn a_token_that_cannot_hold_causes_no_fetch() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let now = provider.now();
    let rows = [
        (json!({ "iss": "https://other.example" }), "another issuer"),
        (json!({ "iss": null }), "another issuer"),
        (json!({ "exp": now - 60 }), "expired"),
        (json!({ "nbf": now + 61 }), "not hold yet"),
        (
            json!({ "aud": "https://other.example" }),
            "issued for something else",
        ),
    ];
    for (changes, words) in rows {
        let token = signer.usual("b", &provider.claims_with(&changes));
        refused(&verifier, &token, words);
        // The same without waiting.
        check(
            &verifier
                .verify_known(&token, &resources())
                .unwrap()
                .unwrap_err(),
            ErrorCode::Unauthorized,
            words,
        );
    }
    refused(
        &verifier,
        &signer.token(json!({ "alg": "EdDSA", "kid": "b" }), "[]"),
        "claims are not to be read",
    );
    assert_eq!(provider.asked(KEYS), 1);
    // So a fetch is left for a valid token, which gets its key.
    let token = signer.usual("b", &provider.claims());
    assert_eq!(verifier.verify_known(&token, &resources()), None);
    provider.publish(&[signer.jwk("b")]);
    assert!(verify(&verifier, &token).is_ok());
    assert_eq!(provider.asked(KEYS), 2);
}

#[test]
fn nobody_queues_for_a_fetch() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let barrier = Arc::new(Barrier::new(2));
    let body = json!({ "keys": [signer.jwk("a"), signer.jwk("b")] }).to_string();
    provider.put(KEYS, Page::Held(Arc::clone(&barrier), body));
    let [known, new, unknown] = ["a", "b", "c"].map(|id| signer.usual(id, &provider.claims()));
    thread::scope(|scope| {
        let first = scope.spawn(|| verify(&verifier, &new));
        until(|| provider.asked(KEYS) == 2);
        for token in [&new, &unknown] {
            check(
                &verify(&verifier, token).unwrap_err(),
                ErrorCode::Unavailable,
                "just being fetched; try again",
            );
        }
        check(
            &verifier.probe().unwrap_err(),
            ErrorCode::Unavailable,
            "just being fetched",
        );
        assert!(verify(&verifier, &known).is_ok());
        barrier.wait();
        assert!(first.join().unwrap().is_ok());
    });
    assert!(verify(&verifier, &new).is_ok());
    refused(&verifier, &unknown, UNKNOWN);
    assert_eq!(provider.asked(KEYS), 2);
}

#[test]
fn the_last_good_keys_serve_while_the_provider_is_down() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.verifier(|_| ());
    let far = json!({ "exp": provider.now() + 1_000_000_000 });
    let token = signer.usual("a", &provider.claims_with(&far));
    let unavailable = || {
        check(
            &verify(&verifier, &token).unwrap_err(),
            ErrorCode::Unavailable,
            "not there yet",
        );
    };
    let status = verifier.status();
    assert_eq!(
        (status.keys, status.fetched_at, status.problem),
        (0, None, None)
    );

    provider.put(CONFIGURATION, Page::HangUp);
    unavailable();
    let problem = verifier.probe().unwrap_err();
    check(
        &problem,
        ErrorCode::Unavailable,
        "openid-configuration cannot be fetched",
    );
    unavailable();
    let status = verifier.status();
    assert_eq!(
        (status.keys, status.fetched_at, status.problem),
        (0, None, Some(problem.message))
    );

    provider.put(CONFIGURATION, Page::json(&provider.configuration()));
    let up_at = provider.clock.advance(1);
    let status = verifier.probe().unwrap();
    assert_eq!(
        (status.keys, status.fetched_at, status.problem),
        (1, Some(up_at), None)
    );
    assert!(verify(&verifier, &token).is_ok());

    for page in [
        Page::HangUp,
        Page::Reply(503, String::new()),
        Page::json(&json!({ "keys": [] })),
    ] {
        provider.put(KEYS, page);
        provider.clock.advance(86_400);
        verifier.probe().unwrap_err();
        let status = verifier.status();
        assert_eq!(
            (status.keys, status.fetched_at, status.problem.is_some()),
            (1, Some(up_at), true)
        );
        assert!(verify(&verifier, &token).is_ok());
    }
    provider.publish(&[signer.jwk("a")]);
    let status = verifier.probe().unwrap();
    assert_eq!(
        (status.keys, status.fetched_at, status.problem),
        (1, Some(provider.clock.now()), None)
    );
}

#[test]
fn a_token_without_a_key_id_needs_a_set_without_a_choice() {
    let (rsa, other, p256) = (Signer::rsa(), Signer::other_rsa(), Signer::p256());
    let provider = Provider::new(&[rsa.jwk("a"), p256.jwk("b")]);
    let verifier = provider.ready(|_| ());
    let token =
        |signer: &Signer| signer.token(json!({ "alg": signer.algorithm() }), provider.claims());
    assert!(verify(&verifier, &token(&rsa)).is_ok());
    assert!(verify(&verifier, &token(&p256)).is_ok());
    refused(&verifier, &token(&other), "signature does not hold");
    refused(
        &verifier,
        &token(&Signer::ed25519()),
        "fits the token's algorithm",
    );
    provider.publish(&[rsa.jwk("a"), other.jwk("b")]);
    verifier.probe().unwrap();
    refused(&verifier, &token(&rsa), "fits the token's algorithm");
    // Nor is a key without a name used for a token that names one.
    let mut jwk = rsa.jwk("a");
    jwk.as_object_mut().unwrap().remove("kid");
    provider.publish(&[jwk]);
    verifier.probe().unwrap();
    assert!(verify(&verifier, &token(&rsa)).is_ok());
    refused(&verifier, &rsa.usual("a", &provider.claims()), UNKNOWN);
}

#[test]
fn keys_that_are_not_for_this_are_left_out() {
    let (rsa, p256, ed25519) = (Signer::rsa(), Signer::p256(), Signer::ed25519());
    let with = |signer: &Signer, changes: Value| {
        let mut jwk = signer.jwk("key");
        jwk.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        jwk
    };
    // The modulus of the RFC with leading zeros, cut, and with its highest bit cleared.
    let modulus = URL_SAFE_NO_PAD
        .decode(rsa.jwk("key")["n"].as_str().unwrap())
        .unwrap();
    let padded = base64url([&[0, 0][..], &modulus].concat());
    let mut of_2047_bits = modulus.clone();
    of_2047_bits[0] &= 0x7f;
    let good = [
        (&rsa, with(&rsa, json!({ "n": padded, "e": "AAEAAQ" }))),
        (
            &rsa,
            with(
                &rsa,
                json!({ "alg": "RS256", "key_ops": ["verify"], "x5c": ["?"] }),
            ),
        ),
        (
            &p256,
            with(
                &p256,
                json!({ "use": "sig", "key_ops": ["sign", "verify"] }),
            ),
        ),
        (&ed25519, with(&ed25519, json!({ "alg": "EdDSA" }))),
        (&ed25519, with(&ed25519, json!({ "alg": "Ed25519" }))),
    ];
    let bad = [
        (&rsa, with(&rsa, json!({ "use": "enc" }))),
        (&rsa, with(&rsa, json!({ "use": "tls" }))),
        (&rsa, with(&rsa, json!({ "use": 1 }))),
        (&rsa, with(&rsa, json!({ "kid": 1 }))),
        (&rsa, with(&rsa, json!({ "key_ops": ["encrypt"] }))),
        (&rsa, with(&rsa, json!({ "key_ops": [] }))),
        (&rsa, with(&rsa, json!({ "key_ops": "verify" }))),
        (&rsa, with(&rsa, json!({ "alg": "RS512" }))),
        (&rsa, with(&rsa, json!({ "alg": "RSA-OAEP" }))),
        (&rsa, with(&rsa, json!({ "alg": "ES256" }))),
        (&rsa, with(&rsa, json!({ "kty": "rsa" }))),
        (&rsa, with(&rsa, json!({ "kty": "oct", "k": "AAAA" }))),
        (&rsa, with(&rsa, json!({ "n": null }))),
        (&rsa, with(&rsa, json!({ "n": "" }))),
        (&rsa, with(&rsa, json!({ "n": "AAAA" }))),
        (&rsa, with(&rsa, json!({ "n": "+/==" }))),
        (&rsa, with(&rsa, json!({ "n": base64url(&modulus[..128]) }))),
        (&rsa, with(&rsa, json!({ "n": base64url(&of_2047_bits) }))),
        (
            &rsa,
            with(&rsa, json!({ "n": base64url(modulus.repeat(5)) })),
        ),
        (&rsa, with(&rsa, json!({ "e": "" }))),
        (&p256, with(&p256, json!({ "crv": "P-384" }))),
        (&p256, with(&p256, json!({ "crv": "secp256k1" }))),
        (&p256, with(&p256, json!({ "alg": "ES384" }))),
        (&p256, with(&p256, json!({ "x": "AAAA" }))),
        (&p256, with(&p256, json!({ "y": null }))),
        (&p256, with(&p256, json!({ "kty": "OKP" }))),
        (&ed25519, with(&ed25519, json!({ "crv": "X25519" }))),
        (&ed25519, with(&ed25519, json!({ "crv": "Ed448" }))),
        (&ed25519, with(&ed25519, json!({ "alg": "RS256" }))),
    ];
    let other = Signer::p256();
    let provider = Provider::new(&[]);
    let verifier = provider.verifier(|_| ());
    for (is_good, (signer, jwk)) in good
        .iter()
        .map(|row| (true, row))
        .chain(bad.iter().map(|row| (false, row)))
    {
        // Besides invalid keys, which must not affect the others.
        provider.publish(&[
            json!(null),
            json!("x"),
            json!({}),
            jwk.clone(),
            other.jwk("other"),
        ]);
        assert_eq!(
            verifier.probe().unwrap().keys,
            1 + usize::from(is_good),
            "{jwk}"
        );
        assert_eq!(
            verify(&verifier, &signer.usual("key", &provider.claims())).is_ok(),
            is_good,
            "{jwk}"
        );
        assert!(verify(&verifier, &other.usual("other", &provider.claims())).is_ok());
        provider.clock.advance(60);
    }
    // Keys of different kinds may share a name.
    provider.publish(&[rsa.jwk("key"), p256.jwk("key")]);
    verifier.probe().unwrap();
    for signer in [&rsa, &p256] {
        assert!(verify(&verifier, &signer.usual("key", &provider.claims())).is_ok());
    }
}

#[test]
fn a_point_beside_the_curve_verifies_nothing() {
    let signer = Signer::p256();
    let mut jwk = signer.jwk("a");
    jwk["y"] = json!(base64url([7; 32]));
    let provider = Provider::new(&[jwk]);
    let verifier = provider.ready(|_| ());
    refused(
        &verifier,
        &signer.usual("a", &provider.claims()),
        "signature does not hold",
    );
}

#[test]
fn the_background_fetches_until_it_is_dropped() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let token = signer.usual("a", &provider.claims());
    provider.put(KEYS, Page::HangUp);
    let verifier = provider.verifier(|options| options.backoff = Duration::from_millis(1));
    let refresher = verifier.start().unwrap();
    until(|| provider.asked(KEYS) >= 3);
    check(
        &verify(&verifier, &token).unwrap_err(),
        ErrorCode::Unavailable,
        "not there yet",
    );
    provider.publish(&[signer.jwk("a")]);
    until(|| verifier.status().keys == 1);
    assert!(verify(&verifier, &token).is_ok());
    drop(refresher);

    // A failure is followed up without the usual wait also if there are keys.
    provider.put(KEYS, Page::HangUp);
    let asked = provider.asked(KEYS);
    let refresher = verifier.start().unwrap();
    until(|| provider.asked(KEYS) >= asked + 3);
    provider.publish(&[signer.jwk("a")]);
    until(|| verifier.status().problem.is_none());
    drop(refresher);

    // A fetch from a silent provider is left to its timeout.
    provider.put(CONFIGURATION, Page::Silence);
    let verifier = provider.verifier(|options| options.timeout = Duration::from_mins(1));
    let asked = provider.asked(CONFIGURATION);
    let refresher = verifier.start().unwrap();
    until(|| provider.asked(CONFIGURATION) > asked);
    drop(refresher);
    check(
        &verifier.probe().unwrap_err(),
        ErrorCode::Unavailable,
        "just being fetched",
    );
    assert_eq!(verifier.status().problem, None);
}

#[test]
fn the_first_fetch_can_be_waited_for() {
    let ended = |refresher: Refresher| {
        let waiting = thread::spawn(move || {
            refresher.wait_for_first_fetch(Duration::MAX);
            refresher
        });
        until(|| waiting.is_finished());
        waiting.join().unwrap()
    };
    let signer = Signer::ed25519();
    let provider = Provider::new(&[]);
    let barrier = Arc::new(Barrier::new(2));
    let body = json!({ "keys": [signer.jwk("a")] }).to_string();
    provider.put(KEYS, Page::Held(Arc::clone(&barrier), body));
    let verifier = provider.verifier(|options| options.timeout = Duration::from_mins(1));
    let refresher = verifier.start().unwrap();
    // Waits no longer than the given time.
    refresher.wait_for_first_fetch(Duration::from_millis(1));
    assert_eq!(verifier.status().keys, 0);
    barrier.wait();
    let refresher = ended(refresher);
    assert!(verify(&verifier, &signer.usual("a", &provider.claims())).is_ok());
    drop(ended(refresher));

    provider.put(KEYS, Page::HangUp);
    let verifier = provider.verifier(|options| options.backoff = Duration::from_mins(1));
    let _refresher = ended(verifier.start().unwrap());
    assert!(verifier.status().problem.is_some());
}

thread_local! {
    static LOGGED: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
}

/// Records the log levels of each thread. One subscriber serves all threads, because tracing caches
/// the interest of its callsites for the whole process.
struct Levels;

impl Subscriber for Levels {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("loci_oidc")
    }

    fn event(&self, event: &Event<'_>) {
        LOGGED.with_borrow_mut(|logged| logged.push(*event.metadata().level()));
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

#[test]
fn a_problem_is_logged_when_it_begins_and_when_it_ends() {
    let provider = Provider::new(&[Signer::ed25519().jwk("a")]);
    let verifier = provider.verifier(|_| ());
    tracing::subscriber::set_global_default(Levels).unwrap();
    tracing::callsite::rebuild_interest_cache();
    for (status, expected) in [
        (500, &[Level::WARN][..]),
        (500, &[]),
        (404, &[]),
        (200, &[Level::INFO]),
        (200, &[]),
        (500, &[Level::WARN]),
        (500, &[]),
        (200, &[Level::INFO]),
    ] {
        provider.put(
            CONFIGURATION,
            Page::Reply(status, provider.configuration().to_string()),
        );
        assert_eq!(verifier.probe().is_ok(), status == 200);
        assert_eq!(LOGGED.take(), expected, "{status}");
    }
}
