use std::sync::{Arc, Mutex};

use loci_core::{
    Error, ErrorCode, Identity, Principal, Result, Scope, Scopes, Space, Timestamp, Token,
    TokenStore, TokenVerifier,
};
use loci_server::{Authentication, token_hash};
use loci_testkit::{FixedClock, NaiveStore};

/// The moment at which tests of tokens start.
pub const NOW: Timestamp = Timestamp::from_microseconds(1_000_000_000);

/// Returns one of loci's own tokens, whose secret is `secret-of-<id>`.
pub fn token(id: &str, scopes: &[Scope]) -> Token {
    Token {
        id: id.to_owned(),
        hash: token_hash(&format!("secret-of-{id}")),
        space: Space::default(),
        subject: id.to_owned(),
        scopes: Scopes::of(scopes),
        created_at: Timestamp::from_microseconds(0),
        expires_at: None,
        revoked_at: None,
        grant: None,
    }
}

/// Stands in for an issuer: `issued.<what>` is a token of the subject `<what>`, which may read and
/// expires a second after [`NOW`], unless `<what>` requests a failure.
#[derive(Default)]
pub struct StandIn {
    resources: Mutex<Vec<String>>,
}

impl StandIn {
    /// Returns the resources that the last token was presented to.
    pub fn resources(&self) -> Vec<String> {
        self.resources.lock().unwrap().clone()
    }
}

impl TokenVerifier for StandIn {
    fn issuer(&self) -> &'static str {
        "https://issuer.example"
    }

    fn recognizes(&self, token: &str) -> bool {
        token.starts_with("issued.")
    }

    fn verify(&self, token: &str, resources: &[String]) -> Result<Identity> {
        resources.clone_into(&mut self.resources.lock().unwrap());
        let what = token.strip_prefix("issued.").unwrap();
        match what {
            "forged" => {
                return Err(Error::new(
                    ErrorCode::Unauthorized,
                    "the signature is not the issuer's",
                ));
            }
            "odd" => {
                return Err(Error::new(
                    ErrorCode::Unauthorized,
                    "it says \"scope\": \u{e9}",
                ));
            }
            "wordy" => return Err(Error::new(ErrorCode::Unauthorized, "word ".repeat(100))),
            "down" => return Err(Error::unavailable("the issuer's keys are not there")),
            "panic" => panic!("as the test wants it"),
            _ => {}
        }
        let principal = Principal {
            actor: Some("Somebody".to_owned()),
            ..Principal::new(what, Scopes::of(&[Scope::Read]))
        };
        let space = Space::parse("space", "elsewhere")?;
        Ok(Identity {
            space,
            principal,
            expires_at: NOW.plus_seconds(1),
        })
    }

    fn verify_known(&self, token: &str, resources: &[String]) -> Option<Result<Identity>> {
        (token == "issued.known").then(|| self.verify(token, resources))
    }
}

/// Adds loci's own tokens: of `ann`, who may read and write, `reader`, `writer`, `root`, who may do
/// everything, and `idle`, who may do nothing.
pub fn add_tokens(store: &NaiveStore) {
    let both = [Scope::Read, Scope::Write];
    for (id, scopes) in [
        ("ann", &both[..]),
        ("reader", &both[..1]),
        ("writer", &both[1..]),
        ("root", &[Scope::Admin]),
        ("idle", &[]),
    ] {
        store.add_token(&token(id, scopes)).unwrap();
    }
}

/// Returns an authentication with the tokens of [`add_tokens`] at [`NOW`], and the tokens of an
/// issuer.
pub fn with_issuer() -> (Arc<StandIn>, Arc<FixedClock>, Authentication) {
    let (tokens, verifier) = (Arc::new(NaiveStore::new()), Arc::new(StandIn::default()));
    add_tokens(&tokens);
    let clock = Arc::new(FixedClock::new(NOW));
    let authentication = Authentication::Bearer {
        tokens,
        verifier: Some(verifier.clone()),
        clock: clock.clone(),
        grants: false,
    };
    (verifier, clock, authentication)
}
