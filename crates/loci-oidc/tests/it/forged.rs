//! Tokens that the issuer did not sign.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::signature::KeyPair;
use serde_json::json;

use crate::signers::{Signer, base64url, unsigned};
use crate::support::{Provider, refused, verify};

#[test]
fn algorithms_are_ours_to_choose() {
    let (rsa, p256) = (Signer::rsa(), Signer::p256());
    let provider = Provider::new(&[rsa.jwk("a"), p256.jwk("b")]);
    let verifier = provider.ready(|_| ());
    let claims = provider.claims();
    let names = [
        "none", "None", "NONE", "nOnE", "", "rs256", "RS256 ", "RS384", "RS512", "PS256", "ES384",
        "ES256K", "HS256", "HS384", "Ed448", "RSA-OAEP",
    ];
    for name in names {
        for id in ["a", "b"] {
            let header = json!({ "alg": name, "kid": id });
            refused(
                &verifier,
                &format!("{}.", unsigned(&header, &claims)),
                "not signed by",
            );
            refused(&verifier, &rsa.token(&header, &claims), "not signed by");
        }
    }
    for header in [
        json!({ "kid": "a" }),
        json!({ "kid": "a", "alg": null }),
        json!({ "kid": "a", "alg": ["RS256"] }),
    ] {
        refused(&verifier, &rsa.token(&header, &claims), "not signed by");
    }
    // A key is only for its own algorithm.
    for (name, id) in [
        ("RS256", "b"),
        ("ES256", "a"),
        ("EdDSA", "a"),
        ("EdDSA", "b"),
    ] {
        for signer in [&rsa, &p256] {
            let token = signer.token(json!({ "alg": name, "kid": id }), &claims);
            refused(&verifier, &token, "fits the token's algorithm");
        }
    }
    assert_eq!(provider.asked(crate::support::KEYS), 1);
}

/// The public key is not secret, so it must never be used as an HMAC key.
#[test]
fn a_public_key_is_no_shared_secret() {
    let signer = Signer::rsa();
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let Signer::Rsa(key) = &signer else {
        panic!("an RSA key")
    };
    let pkcs1 = key.public_key().as_ref().to_vec();
    // SubjectPublicKeyInfo (RFC 5280, section 4.1) of a modulus of 2048 bits and the exponent
    // 65537.
    let prefix = [
        0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01,
        0x01, 0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00,
    ];
    let spki = [&prefix[..], &pkcs1].concat();
    assert_eq!(spki.len(), 294);
    let pem = |label: &str, der: &[u8]| {
        let text = STANDARD.encode(der);
        let lines: Vec<_> = text
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        format!(
            "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
            lines.join("\n")
        )
    };
    let pems = [pem("PUBLIC KEY", &spki), pem("RSA PUBLIC KEY", &pkcs1)];
    let jwk = signer.jwk("a");
    let mut secrets = vec![
        pkcs1,
        spki,
        jwk.to_string().into_bytes(),
        jwk["n"].as_str().unwrap().into(),
        Vec::new(),
    ];
    for pem in pems {
        secrets.push(pem.trim_end().into());
        secrets.push(pem.into());
    }
    for secret in secrets {
        for name in ["HS256", "RS256"] {
            let message = unsigned(
                json!({ "alg": name, "kid": "a", "typ": "JWT" }),
                provider.claims(),
            );
            let tag = hmac::sign(
                &hmac::Key::new(hmac::HMAC_SHA256, &secret),
                message.as_bytes(),
            );
            let words = if name == "HS256" {
                "not signed by"
            } else {
                "signature does not hold"
            };
            refused(&verifier, &format!("{message}.{}", base64url(tag)), words);
        }
    }
}

/// Each character of a token counts.
#[test]
fn a_changed_token_is_refused() {
    for signer in [Signer::p256(), Signer::ed25519(), Signer::rsa()] {
        let provider = Provider::new(&[signer.jwk("a")]);
        let verifier = provider.ready(|_| ());
        let token = signer.usual("a", &provider.claims());
        assert!(verify(&verifier, &token).is_ok());
        for (position, character) in token.char_indices() {
            for other in ["A", "B", "_", "."] {
                if other.starts_with(character) {
                    continue;
                }
                let mut changed = token.clone();
                changed.replace_range(position..=position, other);
                assert!(
                    verify(&verifier, &changed).is_err(),
                    "{position} {other} of {token}"
                );
            }
            assert!(verify(&verifier, &token[..position]).is_err());
        }
        assert!(verify(&verifier, &token).is_ok());
    }
}

#[test]
fn signatures_of_another_kind_are_refused() {
    let (signer, stranger) = (Signer::p256(), Signer::p256());
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let message = unsigned(json!({ "alg": "ES256", "kid": "a" }), provider.claims());
    let signature = signer.sign(message.as_bytes());
    // An integer of DER; the numbers are positive.
    let integer = |number: &[u8]| [&[0x02, 33, 0][..], number].concat();
    let der = [
        &[0x30, 70][..],
        &integer(&signature[..32]),
        &integer(&signature[32..]),
    ]
    .concat();
    let twice = [&signature[..], &signature[..]].concat();
    let signatures = [
        Vec::new(),
        vec![0; 64],
        vec![0; 63],
        vec![1; 64],
        vec![0xff; 64],
        der,
        twice,
        signature[..63].to_vec(),
    ];
    let of_others = [
        stranger.sign(message.as_bytes()),
        signer.sign(&message.as_bytes()[1..]),
    ];
    for other in signatures.into_iter().chain(of_others) {
        refused(
            &verifier,
            &format!("{message}.{}", base64url(other)),
            "signature does not hold",
        );
    }
    assert!(verify(&verifier, &format!("{message}.{}", base64url(signature))).is_ok());
}

#[test]
fn extensions_and_keys_that_the_token_brings_do_not_count() {
    let (signer, stranger) = (Signer::rsa(), Signer::other_rsa());
    let provider = Provider::new(&[signer.jwk("a")]);
    let verifier = provider.ready(|_| ());
    let claims = provider.claims();
    for critical in [
        json!([]),
        json!(["exp"]),
        json!(["b64"]),
        json!(null),
        json!("x"),
    ] {
        let header = json!({ "alg": "RS256", "kid": "a", "b64": true, "crit": critical });
        refused(&verifier, &signer.token(&header, &claims), "`crit`");
    }
    let url = format!("{}/other", provider.url);
    provider.put(
        "/other",
        crate::support::Page::json(&json!({ "keys": [stranger.jwk("a")] })),
    );
    let header = json!({ "alg": "RS256", "kid": "a", "jwk": stranger.jwk("a"), "jku": url, "x5u": url, "x5c": ["AA=="] });
    refused(
        &verifier,
        &stranger.token(&header, &claims),
        "signature does not hold",
    );
    assert_eq!(provider.asked("/other"), 0);
    // They are harmless, too.
    assert!(verify(&verifier, &signer.token(&header, &claims)).is_ok());
}
