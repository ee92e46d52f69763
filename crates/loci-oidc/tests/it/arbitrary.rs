//! Arbitrary input never panics and is never accepted.

use std::sync::LazyLock;

use loci_core::TokenVerifier;
use loci_oidc::OidcVerifier;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::signers::{Signer, base64url};
use crate::support::{Provider, verify};

struct Scene {
    signer: Signer,
    provider: Provider,
    verifier: OidcVerifier,
    good: String,
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let signer = Signer::p256();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let good = signer.token(json!({ "alg": "ES256" }), provider.claims());
    Scene {
        signer,
        provider,
        verifier,
        good,
    }
});

/// Any JSON, with the relevant names more often than others.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "ES256",
            "JWT",
            "a",
            "none",
            "local",
            "any",
            "memory:admin"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let name = prop_oneof![
            prop::sample::select(vec![
                "alg", "kid", "typ", "crit", "iss", "aud", "exp", "nbf", "iat", "sub", "scope"
            ])
            .prop_map(str::to_owned),
            any::<String>(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|object| object.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_are_no_token(bytes in prop::collection::vec(any::<u8>(), 0..200), text in any::<String>()) {
        for token in [String::from_utf8_lossy(&bytes).into_owned(), base64url(&bytes), text] {
            SCENE.verifier.recognizes(&token);
            prop_assert!(verify(&SCENE.verifier, &token).is_err());
        }
    }

    #[test]
    fn parts_are_no_token(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 3)) {
        let token = parts.into_iter().map(base64url).collect::<Vec<_>>().join(".");
        prop_assert!(verify(&SCENE.verifier, &token).is_err());
    }

    #[test]
    fn signed_nonsense_is_no_identity(header in json_value(), claims in json_value()) {
        let Scene { signer, verifier, .. } = &*SCENE;
        for header in [header, json!({ "alg": "ES256" })] {
            prop_assert!(verify(verifier, &signer.token(&header, &claims)).is_err());
        }
    }

    /// A claim of another type may be refused or ignored, without other effects.
    #[test]
    fn odd_claims_break_nothing(
        name in prop::sample::select(vec!["iss", "aud", "exp", "nbf", "iat", "sub", "scope", "scp", "email", "typ"]),
        value in json_value(),
    ) {
        let Scene { signer, provider, verifier, .. } = &*SCENE;
        let token = signer.token(json!({ "alg": "ES256" }), provider.claims_with(&json!({ name: value })));
        if let Ok(identity) = verify(verifier, &token) {
            let subject = identity.principal.subject.unwrap_or_default();
            prop_assert!(!subject.trim().is_empty() && subject != "local");
            prop_assert!(identity.expires_at > loci_core::Clock::now(&*provider.clock));
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(position in any::<prop::sample::Index>(), byte in any::<u8>(), is_more in any::<bool>()) {
        let Scene { verifier, good, .. } = &*SCENE;
        prop_assert!(verify(verifier, good).is_ok());
        let mut bytes = good.clone().into_bytes();
        let position = position.index(bytes.len());
        if is_more {
            bytes.insert(position, byte);
        } else {
            bytes[position] = byte;
        }
        let changed = String::from_utf8_lossy(&bytes);
        prop_assert!(changed == *good || verify(verifier, &changed).is_err());
    }
}
