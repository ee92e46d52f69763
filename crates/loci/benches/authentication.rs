//! The cost of authenticating a request, from its headers to its caller, by a token of loci and by
//! tokens of an OpenID provider whose keys are known: `cargo bench -p loci --bench authentication`.

#![expect(clippy::unwrap_used, reason = "a bench that fails may panic")]
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{Scope, Scopes, Space, Timestamp, Token, TokenStore};
use loci_oidc::OidcVerifier;
use loci_server::{Authentication, HeaderMap, token_hash};
use loci_store_sqlite::{Options, SqliteStore};
use serde_json::json;
use signers::Signer;
use support::Provider;

#[expect(dead_code, reason = "what the tests of loci-oidc need besides")]
#[path = "../../loci-oidc/tests/it/signers.rs"]
mod signers;
#[expect(dead_code, reason = "what the tests of loci-oidc need besides")]
#[path = "../../loci-oidc/tests/it/support.rs"]
mod support;

/// The number of tokens in the store.
const TOKENS: usize = 1_000;
/// The number of calls of one kind in a round.
const CALLS: usize = 200;
const ROUNDS: usize = 21;
/// The highest acceptable cost of a call, in microseconds.
const GOAL_MICROSECONDS: f64 = 50.0;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), Options::default()).unwrap());
    for number in 0..TOKENS {
        store.add_token(&token(number)).unwrap();
    }
    let signers = [
        ("rsa", Signer::rsa()),
        ("ec", Signer::p256()),
        ("ed", Signer::ed25519()),
    ];
    let keys: Vec<_> = signers.iter().map(|(id, signer)| signer.jwk(id)).collect();
    let provider = Provider::new(&keys);
    let verifier = Arc::new(provider.ready(|_| ()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();

    println!(
        "microseconds for a call, median of {ROUNDS} rounds of {CALLS} (goal {GOAL_MICROSECONDS})"
    );
    let of_store: Vec<HeaderMap> = (0..CALLS)
        .map(|number| headers(&secret(number * TOKENS / CALLS)))
        .collect();
    let authentication = authentication(&store, &verifier, &provider);
    runtime.block_on(async {
        println!(
            "  of loci token          {:6.1}",
            median(async || round(&authentication, &of_store).await).await
        );
        for (id, signer) in &signers {
            let claims = |number: usize| provider.claims_with(&json!({ "jti": number }));
            let of_issuer: Vec<_> = (0..CALLS)
                .map(|number| headers(&signer.usual(id, &claims(number))))
                .collect();
            // Each fetch of the keys forgets the tokens that were verified before.
            let new = median(async || {
                let verifier = Arc::clone(&verifier);
                tokio::task::spawn_blocking(move || verifier.probe().map(|_| ()))
                    .await
                    .unwrap()
                    .unwrap();
                round(&authentication, &of_issuer).await
            });
            let new = new.await;
            let again = median(async || round(&authentication, &of_issuer).await).await;
            println!("  {:6} seen before     {again:6.1}", signer.algorithm());
            println!("  {:6} for the first time {new:3.1}", signer.algorithm());
        }
    });
}

fn authentication(
    store: &Arc<SqliteStore>,
    verifier: &Arc<OidcVerifier>,
    provider: &Provider,
) -> Authentication {
    Authentication::Bearer {
        tokens: Arc::<SqliteStore>::clone(store),
        verifier: Some(Arc::<OidcVerifier>::clone(verifier)),
        clock: provider.clock.clone(),
        grants: false,
    }
}

fn secret(number: usize) -> String {
    format!("loci_{number:064}")
}

fn token(number: usize) -> Token {
    Token {
        id: format!("token-{number}"),
        hash: token_hash(&secret(number)),
        space: Space::default(),
        subject: format!("user-{number}"),
        scopes: Scopes::of(&[Scope::Read, Scope::Write]),
        created_at: Timestamp::from_microseconds(0),
        expires_at: None,
        revoked_at: None,
        grant: None,
    }
}

fn headers(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    headers
}

/// Returns the microseconds of a call.
async fn round(authentication: &Authentication, calls: &[HeaderMap]) -> f64 {
    let base = support::RESOURCE.strip_suffix("/mcp/mememory");
    let start = Instant::now();
    for headers in calls {
        black_box(
            authentication
                .caller(black_box(headers), base, "/mcp/mememory")
                .await,
        )
        .unwrap();
    }
    start.elapsed().as_nanos() as f64 / calls.len() as f64 / 1_000.0
}

async fn median(round: impl AsyncFn() -> f64) -> f64 {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        times.push(round().await);
    }
    times.sort_unstable_by(f64::total_cmp);
    times[ROUNDS / 2]
}
