//! Bearer tokens of an external issuer.

use crate::{Principal, Result, Space, Timestamp};

/// The identity that a token proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The space that it grants access to.
    pub space: Space,
    /// The bearer.
    pub principal: Principal,
    /// The expiry time.
    pub expires_at: Timestamp,
}

/// The default prefix of loci's scopes in an issuer's tokens.
pub const SCOPE_PREFIX: &str = "memory:";

/// Verifies the tokens of one issuer (an OpenID provider).
pub trait TokenVerifier: Send + Sync {
    /// Returns the issuer's identifier, the URL where clients get tokens.
    fn issuer(&self) -> &str;

    /// Returns the prefix of loci's scopes in this issuer's tokens.
    fn scope_prefix(&self) -> &str {
        SCOPE_PREFIX
    }

    /// Returns true if a bearer token may be from this issuer, judged by its form alone. Costs
    /// nothing.
    fn recognizes(&self, token: &str) -> bool;

    /// Verifies a token and returns its identity. `resources` are the URLs of the resource it is
    /// presented to: it must have been issued for one of them, unless the verifier is configured
    /// with other audiences. May wait for the issuer's keys, with a time limit.
    ///
    /// # Errors
    /// `unauthorized` if the token is invalid, with a reason that does not help to forge one;
    /// `unavailable` if the issuer's keys cannot be loaded now.
    fn verify(&self, token: &str, resources: &[String]) -> Result<Identity>;

    /// Verifies a token within microseconds; returns `None` if its key is not cached, in which case
    /// [`verify`](Self::verify) may have to wait.
    fn verify_known(&self, token: &str, resources: &[String]) -> Option<Result<Identity>>;
}
