//! Bearer tokens as a store keeps them: hashed, never in clear text.

use crate::{Result, Scopes, Space, Timestamp};

/// The SHA-256 hash of a bearer token.
pub type TokenHash = [u8; 32];

/// The record of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// A short public id for listing and revoking the token.
    pub id: String,
    /// The SHA-256 hash of the secret.
    pub hash: TokenHash,
    /// The space that it grants access to.
    pub space: Space,
    /// The subject that it authenticates.
    pub subject: String,
    /// The scopes that it grants.
    pub scopes: Scopes,
    /// The creation time.
    pub created_at: Timestamp,
    /// The expiry time; `None` if it never expires.
    pub expires_at: Option<Timestamp>,
    /// The time at which it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Returns true if the token is neither revoked nor expired at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| expires_at > now)
    }
}

/// Keeps tokens. A revocation takes effect from the next call on, in every process.
pub trait TokenStore: Send + Sync {
    /// Adds a token; it is durable when the method returns.
    ///
    /// # Errors
    /// `conflict` if its id or hash is taken; `invalid_argument` for a token that fails its
    /// [check](Token::check); `unavailable` if the store cannot be written.
    fn add_token(&self, token: &Token) -> Result<()>;

    /// Returns every token, oldest first, including revoked and expired ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tokens(&self) -> Result<Vec<Token>>;

    /// Returns the token with this hash, even if it is revoked or expired.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>>;

    /// Revokes the token with this id; the revocation is durable when the method returns. Revoking
    /// a token again keeps the first time.
    ///
    /// # Errors
    /// `not_found` if there is no such token; `unavailable` if the store cannot be written.
    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()>;
}
