//! Valid tokens, and tokens that are refused for their claims.

use loci_core::limits::TOKEN_BYTES_MAX;
use loci_core::{
    Clock, ErrorCode, Identity, Principal, Scope, Scopes, Space, Timestamp, TokenVerifier,
};
use serde_json::{Value, json};

use crate::signers::{Signer, base64url};
use crate::support::{Provider, RESOURCE, check, is_description, refused, verify};

#[test]
fn a_good_token_of_each_algorithm_names_its_bearer() {
    let signers = [
        ("a", Signer::rsa()),
        ("b", Signer::other_rsa()),
        ("c", Signer::p256()),
        ("d", Signer::ed25519()),
    ];
    let provider = Provider::new(
        &signers
            .iter()
            .map(|(id, signer)| signer.jwk(id))
            .collect::<Vec<_>>(),
    );
    let verifier = provider.ready(|_| ());
    assert_eq!(verifier.issuer(), provider.url);
    let claims = provider
        .claims_with(&json!({ "email": "ann@people.example", "scope": "openid memory:read" }));
    let expected = Identity {
        space: Space::default(),
        principal: Principal {
            subject: Some("ann".to_owned()),
            actor: Some("ann@people.example".to_owned()),
            scopes: Scopes::of(&[Scope::Read]),
        },
        // The expiry includes the leeway.
        expires_at: provider.clock.now().plus_seconds(3_660),
    };
    for (id, signer) in &signers {
        let token = signer.usual(id, &claims);
        assert!(verifier.recognizes(&token));
        // Also from the cache.
        for _ in 0..2 {
            assert_eq!(verify(&verifier, &token), Ok(expected.clone()), "{id}");
        }
    }
    // The name of RFC 9864.
    let token = signers[3]
        .1
        .token(json!({ "alg": "Ed25519", "kid": "d" }), &claims);
    assert_eq!(verify(&verifier, &token), Ok(expected));
    for other in ["", "loci_0123456789abcdef", "a.b", "a.b.c.d.e"] {
        assert!(!verifier.recognizes(other), "{other}");
    }
}

#[test]
fn times_are_kept_with_a_leeway() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let now = provider.now();
    let (expired, early, no_number) = (Some("expired"), Some("not hold yet"), Some("no number"));
    let rows = [
        (json!({ "exp": now + 1 }), None),
        (json!({ "exp": now - 59 }), None),
        (json!({ "exp": now - 60 }), expired),
        (json!({ "exp": now as f64 - 59.5 }), None),
        (json!({ "exp": 0 }), expired),
        (json!({ "exp": -1e300 }), expired),
        (json!({ "exp": 1e300 }), None),
        (json!({ "exp": i64::MAX }), None),
        (json!({ "exp": u64::MAX }), None),
        (json!({ "exp": null }), Some("no end")),
        (json!({ "exp": (now + 60).to_string() }), no_number),
        (json!({ "nbf": now + 60 }), None),
        (json!({ "nbf": now + 61 }), early),
        (json!({ "nbf": [] }), no_number),
        (json!({ "nbf": null, "iat": null }), None),
        (json!({ "iat": now + 60 }), None),
        (json!({ "iat": now + 61 }), early),
        (json!({ "iat": true }), no_number),
        (
            json!({ "exp": now - 59, "nbf": now + 60, "iat": now + 60 }),
            None,
        ),
    ];
    for (changes, words) in rows {
        let token = signer.usual("a", &provider.claims_with(&changes));
        match words {
            None => assert!(verify(&verifier, &token).is_ok(), "{changes}"),
            Some(words) => refused(&verifier, &token, words),
        }
    }
    // The clock decides, also for a token that was seen before.
    let token = signer.usual("a", &provider.claims());
    assert!(verify(&verifier, &token).is_ok());
    provider.clock.advance(3_659);
    assert!(verify(&verifier, &token).is_ok());
    provider.clock.advance(1);
    refused(&verifier, &token, "expired");
    provider.clock.set(Timestamp::MIN);
    refused(&verifier, &token, "not hold yet");
}

#[test]
fn issuer_and_audience_must_be_ours() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let by_resource = provider.ready(|_| ());
    let by_name =
        provider.ready(|options| options.audiences = vec!["one".to_owned(), "two".to_owned()]);
    let any = provider.ready(|options| options.audiences = vec!["any".to_owned()]);
    let for_nothing = |token: &str| any.verify(token, &[]).is_ok();
    let rows = [
        // The verifiers that accept it, in this order.
        (json!(RESOURCE), [true, false, true]),
        (json!(["other", RESOURCE]), [true, false, true]),
        (json!("one"), [false, true, true]),
        (json!(["three", "two"]), [false, true, true]),
        (json!(["three"]), [false, false, true]),
        (json!([]), [false, false, true]),
        (json!([[RESOURCE]]), [false, false, true]),
        (
            json!({ RESOURCE: RESOURCE, "one": "one" }),
            [false, false, true],
        ),
        (json!(format!("{RESOURCE}/")), [false, false, true]),
        (json!("any"), [false, false, true]),
        (json!(""), [false, false, true]),
        (Value::Null, [false, false, true]),
    ];
    for (audience, expected) in rows {
        let token = signer.usual("a", &provider.claims_with(&json!({ "aud": audience })));
        for (verifier, is_accepted) in [&by_resource, &by_name, &any].into_iter().zip(expected) {
            if is_accepted {
                assert!(verify(verifier, &token).is_ok(), "{audience}");
            } else {
                refused(verifier, &token, "issued for something else");
            }
        }
        assert!(for_nothing(&token));
        assert!(by_resource.verify(&token, &[]).is_err());
    }
    let issuers = [
        json!(format!("{}/", provider.url)),
        json!(provider.url.to_uppercase()),
        json!([provider.url]),
        Value::Null,
    ];
    for issuer in issuers {
        let token = signer.usual("a", &provider.claims_with(&json!({ "iss": issuer })));
        refused(&any, &token, "another issuer");
    }
}

#[test]
fn a_wrong_audience_is_told_what_is_expected() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let by_resource = provider.ready(|_| ());
    let by_name = provider.ready(|options| options.audiences = vec!["the-one".to_owned()]);
    let token = signer.usual(
        "a",
        &provider.claims_with(&json!({ "aud": "https://secret.example" })),
    );
    let ours = |base: &str| {
        ["", "/", "/mcp/engram", "/mcp/engram/"]
            .map(|path| format!("{base}{path}"))
            .to_vec()
    };
    let bracketed = "ask for one for https://[::1]:80 or https://[::1]:80/mcp/engram";
    let rows = [
        (&by_resource, ours("https://[::1]:80"), bracketed),
        (
            &by_resource,
            ours(&format!("https://{}.example", "x".repeat(240))),
            "ask for one for this server's URL",
        ),
        (&by_resource, Vec::new(), "public_url or oidc.audience"),
        (
            &by_name,
            ours("https://a.example"),
            "setting oidc.audience decides",
        ),
        (&by_name, Vec::new(), "setting oidc.audience decides"),
    ];
    for (verifier, resources, words) in rows {
        let error = verifier.verify(&token, &resources).unwrap_err();
        check(&error, ErrorCode::Unauthorized, words);
        assert!(
            !error.message.contains("secret") && !error.message.contains("the-one"),
            "{error}"
        );
        assert!(is_description(&error.message), "{error}");
    }
}

#[test]
fn only_access_tokens_are_accepted() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let strict =
        provider.ready(|options| options.token_types = vec!["Application/AT+JWT".to_owned()]);
    let rows = [
        // Accepted by the usual verifier, and by one of access tokens only.
        (json!("at+jwt"), true, true),
        (json!("AT+JWT"), true, true),
        (json!("application/at+jwt"), true, true),
        (json!("APPLICATION/at+JWT"), true, true),
        (json!("JWT"), true, false),
        (json!("application/jwt"), true, false),
        (Value::Null, true, false),
        (json!("logout+jwt"), false, false),
        (json!("dpop+jwt"), false, false),
        (json!("JOSE"), false, false),
        (json!(""), false, false),
        (json!("application/"), false, false),
        (json!("applicationäat+jwt"), false, false),
    ];
    let claims = provider.claims();
    for (kind, usual, only_access) in rows {
        let mut header = json!({ "alg": "EdDSA", "kid": "a", "typ": kind });
        if kind.is_null() {
            header.as_object_mut().unwrap().remove("typ");
        }
        let token = signer.token(&header, &claims);
        for (verifier, is_accepted) in [(&verifier, usual), (&strict, only_access)] {
            if is_accepted {
                assert!(verify(verifier, &token).is_ok(), "{kind}");
            } else {
                refused(verifier, &token, "`typ`");
            }
        }
    }
    let marks = [
        json!({ "nonce": "n" }),
        json!({ "at_hash": "h" }),
        json!({ "c_hash": "h" }),
        json!({ "typ": "ID" }),
        json!({ "token_use": "id" }),
    ];
    for mark in marks {
        refused(
            &verifier,
            &signer.usual("a", &provider.claims_with(&mark)),
            "ID token",
        );
    }
    for mark in [
        json!({ "typ": "Bearer" }),
        json!({ "token_use": "access" }),
        json!({ "auth_time": 1 }),
    ] {
        assert!(
            verify(&verifier, &signer.usual("a", &provider.claims_with(&mark))).is_ok(),
            "{mark}"
        );
    }
}

#[test]
fn tokens_of_another_form_are_refused() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|options| options.audiences = vec!["any".to_owned()]);
    let header = json!({ "alg": "EdDSA", "kid": "a" });
    let good = signer.token(&header, provider.claims());
    assert!(verify(&verifier, &good).is_ok());
    let [head, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };

    let form = "has not the form";
    let odd = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        head.to_owned(),
        format!("{head}.{payload}"),
        format!(".{good}"),
        format!("{good}="),
        format!("{good} "),
        format!(" {good}"),
        format!("{head}=.{payload}.{signature}"),
        format!("{head}\n.{payload}.{signature}"),
        format!("{head}.{payload}.ä"),
        format!("{head}+/.{payload}.{signature}"),
        signer.token("null", payload),
        signer.token("[]", payload),
        signer.token("{", payload),
        signer.token(r#"{"alg":"EdDSA","kid":1}"#, payload),
        signer.token(r#"{"alg":"EdDSA","kid":null}"#, payload),
        signer.token(r#"{"alg":"EdDSA","typ":["JWT"]}"#, payload),
        signer.token(r#"{"alg":"EdDSA","alg":"EdDSA"}"#, payload),
        signer.token(r#"{"alg":"EdDSA","x":1e400}"#, payload),
        signer.token(
            format!(r#"{{"alg":"EdDSA","x":{}}}"#, "[".repeat(5_000)),
            payload,
        ),
    ];
    for token in &odd {
        refused(&verifier, token, form);
    }
    // The parts after the header are parsed only after the signature was verified.
    for token in [
        format!("{good}.{signature}"),
        format!("{head}..{signature}"),
        format!("{head}.{payload}."),
    ] {
        refused(&verifier, &token, "signature does not hold");
    }
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let claims = provider.claims().to_string();
    let claims = claims.trim_end_matches('}');
    let unreadable = [
        "[]".to_owned(),
        "null".to_owned(),
        String::new(),
        claims.to_owned(),
        format!("{claims}}}}}"),
        format!(r#"{claims},"sub":"bob"}}"#),
        format!(r#"{claims},"x":{deep}}}"#),
        format!(r#"{claims},"exp2":1e400}}"#),
        format!("{claims},\"x\":\"\u{1}\"}}"),
    ];
    for payload in unreadable {
        refused(
            &verifier,
            &signer.token(&header, payload),
            "claims are not to be read",
        );
    }
    let message = format!("{head}.{payload}!");
    let token = format!("{message}.{}", base64url(signer.sign(message.as_bytes())));
    refused(&verifier, &token, "claims are not to be read");

    let with_length = |length: usize| {
        let token = signer.token(
            &header,
            provider.claims_with(&json!({ "x": "x".repeat(length) })),
        );
        (token.len(), token)
    };
    let (length, token) = with_length(11_000);
    assert!(length < TOKEN_BYTES_MAX && verify(&verifier, &token).is_ok());
    let (length, token) = with_length(12_500);
    assert!(length > TOKEN_BYTES_MAX);
    refused(&verifier, &token, "longer than any");
}

#[test]
fn without_keys_nothing_is_known() {
    let signer = Signer::ed25519();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.verifier(|_| ());
    for token in [
        signer.usual("a", &provider.claims()),
        signer.usual("b", &provider.claims()),
    ] {
        check(
            &verify(&verifier, &token).unwrap_err(),
            ErrorCode::Unavailable,
            "try again",
        );
    }
    refused(&verifier, "a.b.c", "has not the form");
    assert_eq!(provider.asked(crate::support::KEYS), 0);
}
