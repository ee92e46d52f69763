//! The verifier itself.

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
/// It has no keys, and thus lets nobody in, until [`start`](Self::start) or [`probe`](Self::probe)
/// got them.
pub struct OidcVerifier {
    options: OidcOptions,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
}

impl OidcVerifier {
    /// A verifier for an issuer. Connects to nothing.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `oidc`, if something cannot work.
    pub fn new(options: OidcOptions, clock: Arc<dyn Clock>) -> Result<Self> {
        let provider = Provider::new(options.checked_issuer()?, &options);
        let keys = Arc::new(Keys::new(provider, Arc::clone(&clock)));
        Ok(OidcVerifier {
            options,
            keys,
            clock,
        })
    }

    /// Fetches the keys in the background, now and again, until what this returns is dropped.
    ///
    /// # Errors
    /// `internal` if there is no thread to be had.
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
    /// `unavailable` or `not_found`, saying which document of the provider is how wrong;
    /// `unavailable` if they are being fetched just now.
    pub fn probe(&self) -> Result<KeyStatus> {
        self.keys.refresh()?;
        Ok(self.status())
    }

    /// How it stands with the keys, without looking.
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

    /// Has two dots, as the compact form of RFC 7515; tokens of our own have none.
    fn recognizes(&self, token: &str) -> bool {
        token.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// The identity lasts as long as the token is accepted, which is the leeway beyond its `exp`.
    /// Waits at most the time of three documents, and that for one token a minute that only lacks a
    /// known key.
    fn verify(&self, token: &str, resources: &[String]) -> Result<Identity> {
        let jws = self.parse(token)?;
        if let Some(identity) = self.identity(&*self.keys.current()?, &jws, resources)? {
            return Ok(identity);
        }
        let identity = self.identity(&*self.keys.current_for_unknown_key()?, &jws, resources)?;
        identity.ok_or_else(|| refused("the token's key is none of the issuer's; get a new token"))
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

    /// Whom a token names, by these keys; none if its key is not among them but all else holds: a
    /// fetch is not to be spent on one that is, say, another issuer's.
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
