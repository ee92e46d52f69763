//! Bearer tokens of an external issuer, and people who sign in there.

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

    /// Returns true if a bearer token may be from this issuer, judged only by its form. Costs
    /// nothing.
    fn recognizes(&self, token: &str) -> bool;

    /// Verifies a token and returns its identity. `resources` are the URLs of the resource it is
    /// presented to: it must have been issued for one of these, unless the verifier is configured
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

/// One attempt of a person to sign in at an issuer with a browser: the authorization code grant of
/// OAuth 2.0 with PKCE (RFC 6749, section 4.1; RFC 7636).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInAttempt {
    /// The URL of this server to which the issuer sends the browser back. The issuer must know it.
    pub redirect_url: String,
    /// The URL of this server, for which the token shall be valid.
    pub resource: String,
    /// A random text that the browser brings back, so that no other attempt is taken for this one.
    pub state: String,
    /// The code verifier of PKCE: a random text of 43 to 128 letters and digits, which proves to
    /// the issuer that the code is redeemed by the server that started the attempt.
    pub verifier: String,
}

/// The tokens that an issuer grants to a person who has signed in.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInGrant {
    /// The token that a [`TokenVerifier`] verifies.
    pub access_token: String,
    /// The token that gets a new grant when the access token has expired, if the issuer gives one.
    pub refresh_token: Option<String>,
}

/// An issuer at which people sign in with a browser.
pub trait SignInProvider: Send + Sync {
    /// Returns the issuer's identifier.
    fn issuer(&self) -> &str;

    /// Returns the URL of the issuer at which a person goes on with an attempt. May wait for the
    /// issuer, with a time limit.
    ///
    /// # Errors
    /// `unavailable` or `not_found` if the issuer does not say where people sign in.
    fn authorization_url(&self, attempt: &SignInAttempt) -> Result<String>;

    /// Redeems the code that the issuer gave the browser for an attempt. May wait for the issuer,
    /// with a time limit.
    ///
    /// # Errors
    /// `unauthorized` if the issuer refuses the code; `unavailable` if it does not answer.
    fn redeem(&self, attempt: &SignInAttempt, code: &str) -> Result<SignInGrant>;

    /// Returns a new grant for a refresh token. May wait for the issuer, with a time limit.
    ///
    /// # Errors
    /// `unauthorized` if the issuer refuses the token; `unavailable` if it does not answer.
    fn renew(&self, refresh_token: &str) -> Result<SignInGrant>;
}
