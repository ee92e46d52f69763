//! The cost of verifying a token whose key is known: `cargo bench -p loci-oidc`.

#![expect(clippy::unwrap_used, reason = "a bench that fails may panic")]
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use loci_core::TokenVerifier;
use serde_json::json;
use signers::Signer;
use support::Provider;

#[expect(dead_code, reason = "what the tests need besides")]
#[path = "../tests/it/signers.rs"]
mod signers;
#[expect(dead_code, reason = "what the tests need besides")]
#[path = "../tests/it/support.rs"]
mod support;

const TOKENS: usize = 200;
const ROUNDS: usize = 21;

fn main() {
    let signers = [
        ("a", Signer::rsa()),
        ("b", Signer::p256()),
        ("c", Signer::ed25519()),
    ];
    let keys: Vec<_> = signers.iter().map(|(id, signer)| signer.jwk(id)).collect();
    let provider = Provider::new(&keys);
    for (id, signer) in &signers {
        let verifier = provider.ready(|_| ());
        let claims = |number: usize| provider.claims_with(&json!({ "jti": number }));
        let tokens: Vec<String> = (0..TOKENS)
            .map(|number| signer.usual(id, &claims(number)))
            .collect();
        let resources = support::resources();
        let round = || {
            let start = Instant::now();
            for token in &tokens {
                black_box(verifier.verify_known(black_box(token), &resources))
                    .unwrap()
                    .unwrap();
            }
            start.elapsed().as_nanos() / TOKENS as u128
        };
        let first = median(|| {
            // A new set of keys, with an empty cache.
            verifier.probe().unwrap();
            round()
        });
        let again = median(round);
        println!(
            "{}: {first} ns for a new token, {again} ns for one seen before",
            signer.algorithm()
        );
    }
}

/// Returns the median time of the rounds.
fn median(round: impl Fn() -> u128) -> u128 {
    let mut times: Vec<u128> = (0..ROUNDS).map(|_| round()).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}
