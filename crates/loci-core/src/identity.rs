//! Bearer tokens that somebody else issues.

use crate::{Principal, Result, Space, Timestamp};

/// Whom a token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The space that it opens.
    pub space: Space,
    /// Its bearer.
    pub principal: Principal,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What the names of loci's scopes begin with where an issuer gives them out, unless it has other
/// names.
pub const SCOPE_PREFIX: &str = "memory:";

/// Verifies the tokens of one issuer (an OpenID provider).
pub trait TokenVerifier: Send + Sync {
    /// The issuer's identifier, a URL: where clients get tokens.
    fn issuer(&self) -> &str;

    /// What the names of loci's scopes begin with in this issuer's tokens.
    fn scope_prefix(&self) -> &str {
        SCOPE_PREFIX
    }

    /// Whether a bearer token may be one of this issuer's, by its form alone. Costs nothing.
    fn recognizes(&self, token: &str) -> bool;

    /// Whom a token names, if it holds. `resources` are the names (URLs) of what it is presented
    /// to: it must have been issued for one of them, unless the verifier was told of other
    /// audiences. May wait for the issuer's keys, for a time that has a limit.
    ///
    /// # Errors
    /// `unauthorized` if it does not hold, saying why in words that are no help for forging one;
    /// `unavailable` if that cannot be told now, since the issuer's keys are not there.
    fn verify(&self, token: &str, resources: &[String]) -> Result<Identity>;

    /// The same where that takes microseconds; none for a token whose key is not known, for which
    /// [`verify`](Self::verify) may have to wait.
    fn verify_known(&self, token: &str, resources: &[String]) -> Option<Result<Identity>>;
}
