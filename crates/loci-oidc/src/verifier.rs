//! The token verifier.

use std::sync::Arc;

use loci_core::{Clock, Error, ErrorCode, Identity, Result, TokenVerifier};

use crate::claims;
use crate::json;
use crate::jwk::{KeySet, Verdict};
use crate::jws::Jws;
use crate::keys::{KeyStatus, Keys};
use crate::options::OidcOptions;
use crate::provider::Provider;
use crate::refresher::Refresher;

/// Verifies the access tokens of one issuer: JSON Web Tokens signed by RS256, ES256 or EdDSA
/// (Ed25519).
///
/// It has no keys, and thus accepts no token, before [`start`](Self::start) or
/// [`probe`](Self::probe) has fetched them.
pub struct OidcVerifier {
    options: OidcOptions,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
}

impl OidcVerifier {
    /// Returns a verifier for an issuer. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `oidc`, if a setting is invalid.
    pub fn new(options: OidcOptions, clock: Arc<dyn Clock>) -> Result<Self> {
        let provider = Provider::new(options.checked_issuer()?, &options);
        let keys = Arc::new(Keys::new(provider, Arc::clone(&clock)));
        Ok(OidcVerifier {
            options,
            keys,
            clock,
        })
    }

    /// Fetches the keys in the background, now and at intervals, until the result is dropped.
    ///
    /// # Errors
    /// `internal` if no thread can be started.
    pub fn start(&self) -> Result<Refresher> {
        Refresher::start(
            Arc::clone(&self.keys),
            self.options.refresh,
            self.options.backoff,
        )
    }

    /// Fetches the keys once, now. Takes at most the time of three documents.
    ///
    /// # Errors
    /// `unavailable` or `not_found`, naming the document of the provider and its problem;
    /// `unavailable` if the keys are being fetched just now.
    pub fn probe(&self) -> Result<KeyStatus> {
        self.keys.refresh()?;
        Ok(self.status())
    }

    /// Returns the state of the keys, without a fetch.
    pub fn status(&self) -> KeyStatus {
        self.keys.status()
    }
}

impl TokenVerifier for OidcVerifier {
    fn issuer(&self) -> &str {
        self.keys.issuer()
    }

    fn scope_prefix(&self) -> &str {
        &self.options.scope_prefix
    }

    /// Returns true for a token with two dots, as in the compact form of RFC 7515; loci's own
    /// tokens have none.
    fn recognizes(&self, token: &str) -> bool {
        token.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// The identity is valid as long as the token is accepted, which is the leeway beyond its
    /// `exp`. Waits at most the time of three documents, and only for one token a minute that is
    /// valid but for an unknown key.
    fn verify(&self, token: &str, resources: &[String]) -> Result<Identity> {
        let jws = self.parse(token)?;
        if let Some(identity) = self.identity(&*self.keys.current()?, &jws, resources)? {
            return Ok(identity);
        }
        let identity = self.identity(&*self.keys.current_for_unknown_key()?, &jws, resources)?;
        identity
            .ok_or_else(|| refused("the token's key is not one of the issuer's; get a new token"))
    }

    fn verify_known(&self, token: &str, resources: &[String]) -> Option<Result<Identity>> {
        let keys = self.keys.current().ok()?;
        self.parse(token)
            .and_then(|jws| self.identity(&keys, &jws, resources))
            .transpose()
    }
}

impl OidcVerifier {
    fn parse<'a>(&self, token: &'a str) -> Result<Jws<'a>> {
        Jws::parse(token, &self.options.token_types).map_err(refused)
    }

    /// Returns the identity in a token, by these keys; `None` if its key is unknown but everything
    /// else is valid, because a fetch would be wasted on, for example, another issuer's token.
    fn identity(
        &self,
        keys: &KeySet,
        jws: &Jws<'_>,
        resources: &[String],
    ) -> Result<Option<Identity>> {
        let verdict = keys.judge(jws);
        match verdict {
            Verdict::Signed | Verdict::UnknownKey => {}
            Verdict::NotSigned => return Err(refused("the token's signature does not hold")),
            Verdict::NoKey => {
                return Err(refused(
                    "no one key of the issuer fits the token's algorithm",
                ));
            }
        }
        let claims = json::object(jws.payload)
            .ok_or_else(|| refused("the token's claims are not to be read"))?;
        let identity = claims::identity(&self.options, &claims, resources, self.clock.now())
            .map_err(refused)?;
        Ok((verdict == Verdict::Signed).then_some(identity))
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::Unauthorized, why)
}
