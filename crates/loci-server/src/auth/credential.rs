//! What a caller got in by: a token of our own, or one of an issuer.

use std::sync::Arc;

use loci_core::{
    Caller, Clock, Error, ErrorCode, Principal, Result, Timestamp, Token, TokenHash, TokenStore,
    TokenVerifier,
};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Resource;
use super::challenge::Denied;

/// SHA-256 of a bearer token: what a store keeps of it.
pub fn token_hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// What a caller got in by; asked again by what outlives a request.
#[derive(Clone)]
pub(crate) struct Credential {
    kind: Kind,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
enum Kind {
    /// A token of our own.
    Own {
        tokens: Arc<dyn TokenStore>,
        hash: TokenHash,
    },
    /// A token of an issuer, which was verified. An issuer tells nobody of a revocation.
    Issued { expires_at: Timestamp },
}

impl Credential {
    /// Whom a token of our own names.
    pub(super) async fn of_store(
        tokens: &Arc<dyn TokenStore>,
        token: &str,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Caller, Self), Denied> {
        let hash = token_hash(token);
        let found = look_up(tokens, hash).await.map_err(|error| {
            tracing::error!(%error, "a token could not be looked up");
            Denied::Failed(error)
        })?;
        let unknown =
            || Denied::invalid("the token is unknown; `loci token list` names those that exist");
        let token = found.ok_or_else(unknown)?;
        if !token.is_valid(clock.now()) {
            let message =
                "the token has expired or was revoked; get a new one with `loci token create`";
            return Err(Denied::invalid(message));
        }
        let credential = Credential {
            kind: Kind::Own {
                tokens: Arc::clone(tokens),
                hash,
            },
            clock: Arc::clone(clock),
        };
        Ok((
            Caller::new(token.space, Principal::new(token.subject, token.scopes)),
            credential,
        ))
    }

    /// Whom a token of an issuer names.
    pub(super) async fn issued(
        verifier: &Arc<dyn TokenVerifier>,
        token: &str,
        resource: Resource<'_>,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Caller, Self), Denied> {
        let names = resource.names();
        let verified = if let Some(verified) = verifier.verify_known(token, &names) {
            verified
        } else {
            // It may wait for the issuer's keys.
            let (verifier, token) = (Arc::clone(verifier), token.to_owned());
            let verified =
                tokio::task::spawn_blocking(move || verifier.verify(&token, &names)).await;
            verified
                .unwrap_or_else(|_panicked| Err(Error::internal("the token could not be verified")))
        };
        let identity = verified.map_err(|error| match error.code {
            ErrorCode::Unauthorized => Denied::invalid(error.message),
            // The verifier tells of its issuer's failures itself, once and not for each request.
            ErrorCode::Unavailable | ErrorCode::Corrupt => Denied::Failed(error),
            _ => {
                tracing::error!(%error, "a token could not be verified");
                Denied::Failed(error)
            }
        })?;
        let kind = Kind::Issued {
            expires_at: identity.expires_at,
        };
        Ok((
            Caller::new(identity.space, identity.principal),
            Credential {
                kind,
                clock: Arc::clone(clock),
            },
        ))
    }

    /// Whether it still opens anything.
    ///
    /// # Errors
    /// `unavailable` if tokens cannot be looked up now.
    pub(crate) async fn is_valid(&self) -> Result<bool> {
        match &self.kind {
            Kind::Own { tokens, hash } => Ok(look_up(tokens, *hash)
                .await?
                .is_some_and(|token| token.is_valid(self.clock.now()))),
            Kind::Issued { expires_at } => Ok(self.clock.now() < *expires_at),
        }
    }

    /// Whether an issuer gave it out.
    pub(super) fn is_issued(&self) -> bool {
        matches!(self.kind, Kind::Issued { .. })
    }
}

async fn look_up(tokens: &Arc<dyn TokenStore>, hash: TokenHash) -> Result<Option<Token>> {
    let tokens = Arc::clone(tokens);
    let found = tokio::task::spawn_blocking(move || tokens.token_by_hash(&hash)).await;
    let token =
        found.map_err(|_panicked| Error::internal("the token could not be looked up"))??;
    Ok(token.filter(|token| bool::from(token.hash.ct_eq(&hash))))
}
