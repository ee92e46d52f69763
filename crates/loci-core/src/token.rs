//! Bearer tokens as a store keeps them: hashed, never in clear.

use crate::{Result, Scopes, Space, Timestamp};

/// SHA-256 of a bearer token.
pub type TokenHash = [u8; 32];

/// A token's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// A short public name by which people list and revoke it.
    pub id: String,
    /// SHA-256 of the secret.
    pub hash: TokenHash,
    /// The space it opens.
    pub space: Space,
    /// Who its bearer is.
    pub subject: String,
    /// What its bearer may do.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself; never, if none.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Whether it opens anything at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| expires_at > now)
    }
}

/// Keeps tokens. A revocation holds from the next call on, in every process.
pub trait TokenStore: Send + Sync {
    /// Adds a token; durable when it returns.
    ///
    /// # Errors
    /// `conflict` if its id or hash is taken; `unavailable` if the store cannot be written.
    fn add_token(&self, token: &Token) -> Result<()>;

    /// Every token, oldest first, revoked and expired ones too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tokens(&self) -> Result<Vec<Token>>;

    /// The token with this hash, whatever its state.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>>;

    /// Revokes the token with this id; durable when it returns. Revoking twice keeps the first
    /// moment.
    ///
    /// # Errors
    /// `not_found` if there is none; `unavailable` if the store cannot be written.
    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()>;
}
