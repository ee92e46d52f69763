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
    /// The grant of a client that got the token by OAuth; `None` for a token that a person handed
    /// out.
    pub grant: Option<ClientGrant>,
}

/// The grant by which a client renews its token (OAuth 2.0). The token of a grant is replaced by
/// each renewal, and its record stays: so that whoever revokes it ends both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientGrant {
    /// The identifier of the client.
    pub client_id: String,
    /// The name of the client for people.
    pub client: String,
    /// The URL that the token is for: this server, or one of its endpoints (RFC 8707).
    pub resource: String,
    /// The id of the token with which the person signed in who granted this. A revocation of that
    /// one revokes this one too.
    pub parent: String,
    /// The SHA-256 of the part that every secret of the grant starts with, by which an old secret
    /// that is used again is recognised.
    pub family: TokenHash,
    /// The SHA-256 of the secret that is good now: a code, or a refresh token.
    pub secret: TokenHash,
    /// The time until which that secret is good.
    pub renewable_until: Timestamp,
    /// The values that the code is bound to, until it is redeemed.
    pub code: Option<CodeBinding>,
}

/// The values that a client has to show again when it redeems a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBinding {
    /// The URI that the code was sent to.
    pub redirect_uri: String,
    /// The `S256` challenge of PKCE.
    pub challenge: String,
}

impl Token {
    /// Returns true if the token is neither revoked nor expired at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| expires_at > now)
    }

    /// Returns the time at which the token ends unless it is revoked: for a token that its client
    /// renews, the time until which it can.
    pub fn ends_at(&self) -> Option<Timestamp> {
        match &self.grant {
            Some(grant) => Some(grant.renewable_until),
            None => self.expires_at,
        }
    }

    /// Returns true if the token is neither valid at `now` nor can be renewed.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.revoked_at.is_some() || self.ends_at().is_some_and(|ends_at| ends_at <= now)
    }
}

/// Keeps tokens. A revocation takes effect from the next call on, in every process.
pub trait TokenStore: Send + Sync {
    /// Adds a token; it is durable when the method returns.
    ///
    /// # Errors
    /// `conflict` if its id, its hash or the family of its grant is taken; `invalid_argument` for a token that fails its
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

    /// Returns the token whose grant has this family, even if it is revoked or expired.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn token_by_family(&self, family: &TokenHash) -> Result<Option<Token>>;

    /// Replaces the hash and the expiry of the token with this id, and the secret of its grant with
    /// the time until which that is good and what it is bound to, if the secret that is good now is
    /// `secret` and the token is not revoked. Returns whether that was so; the change is durable
    /// then. Of two calls with one secret, one replaces it.
    ///
    /// # Errors
    /// `conflict` if the new hash is taken; `unavailable` if the store cannot be written.
    fn renew_token(&self, secret: &TokenHash, renewed: &Token) -> Result<bool>;

    /// Removes the tokens of grants that could be renewed only before `before`, and returns their
    /// number.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn remove_ended_grants(&self, before: Timestamp) -> Result<u64>;

    /// Revokes the token with this id, and the tokens whose grants have it as their parent; the
    /// revocation is durable when the method returns. Revoking a token again keeps the first time.
    ///
    /// # Errors
    /// `not_found` if there is no such token; `unavailable` if the store cannot be written.
    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()>;

    /// Removes every token of this subject in any space, revoked or not, with its name, and returns
    /// their number. It is durable when the method returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn remove_tokens(&self, subject: &str) -> Result<u64>;
}
