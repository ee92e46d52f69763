//! The credential of a caller: one of loci's own tokens or a token of an issuer.

use std::sync::Arc;

use loci_core::{
    Caller, Clock, Error, ErrorCode, Principal, Result, Timestamp, Token, TokenHash, TokenStore,
    TokenVerifier,
};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Resource;
use super::challenge::AuthenticationFailure;

/// Returns the SHA-256 of a bearer token, which is all that a store keeps.
pub fn token_hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// The credential of a caller. Work that outlives a request checks it again.
#[derive(Clone)]
pub(crate) struct Credential {
    kind: Kind,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
enum Kind {
    /// One of loci's own tokens.
    Own {
        tokens: Arc<dyn TokenStore>,
        hash: TokenHash,
    },
    /// A verified token of an issuer. An issuer does not announce revocations.
    Issued { expires_at: Timestamp },
}

impl Credential {
    /// Returns the caller that one of loci's own tokens belongs to.
    pub(super) async fn of_store(
        tokens: &Arc<dyn TokenStore>,
        token: &str,
        resource: Resource<'_>,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Caller, Self), AuthenticationFailure> {
        let hash = token_hash(token);
        let found = look_up(tokens, hash).await.map_err(|error| {
            tracing::error!(error = error.chain(), "a token could not be looked up");
            AuthenticationFailure::Failed(error)
        })?;
        let unknown = || {
            AuthenticationFailure::invalid(
                "the token is unknown; `loci token list` names those that exist",
            )
        };
        let token = found.ok_or_else(unknown)?;
        if !token.is_valid(clock.now()) {
            let message =
                "the token has expired or was revoked; get a new one with `loci token create`";
            return Err(AuthenticationFailure::invalid(message));
        }
        if let Some(grant) = &token.grant
            && !resource.is_meant_by(&grant.resource)
        {
            let message = format!(
                "the token was given to {} for {}, and for nothing else on this server",
                grant.client, grant.resource
            );
            return Err(AuthenticationFailure::invalid(message));
        }
        let credential = Credential {
            kind: Kind::Own {
                tokens: Arc::clone(tokens),
                hash,
            },
            clock: Arc::clone(clock),
        };
        let principal = Principal::new(token.subject, token.scopes);
        let caller = Caller {
            token: Some(token.id),
            ..Caller::new(token.space, principal)
        };
        Ok((caller, credential))
    }

    /// Returns the caller that a token of an issuer belongs to.
    pub(super) async fn issued(
        verifier: &Arc<dyn TokenVerifier>,
        token: &str,
        resource: Resource<'_>,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Caller, Self), AuthenticationFailure> {
        let names = resource.names();
        let verified = if let Some(verified) = verifier.verify_known(token, &names) {
            verified
        } else {
            // Verifying may wait for the issuer's keys.
            let (verifier, token) = (Arc::clone(verifier), token.to_owned());
            let verified =
                tokio::task::spawn_blocking(move || verifier.verify(&token, &names)).await;
            verified
                .unwrap_or_else(|_panicked| Err(Error::internal("the token could not be verified")))
        };
        let identity = verified.map_err(|error| match error.code {
            ErrorCode::Unauthorized => AuthenticationFailure::invalid(error.message),
            // The verifier logs the failures of its issuer itself, once instead of for each
            // request.
            ErrorCode::Unavailable | ErrorCode::Corrupt => AuthenticationFailure::Failed(error),
            _ => {
                tracing::error!(error = error.chain(), "a token could not be verified");
                AuthenticationFailure::Failed(error)
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

    /// Returns true if the credential is still valid.
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

    /// True if an issuer issued the token.
    pub(super) fn is_issued(&self) -> bool {
        matches!(self.kind, Kind::Issued { .. })
    }
}

async fn look_up(tokens: &Arc<dyn TokenStore>, hash: TokenHash) -> Result<Option<Token>> {
    let tokens = Arc::clone(tokens);
    let found = tokio::task::spawn_blocking(move || tokens.token_by_hash(&hash)).await;
    let found = found.map_err(|panicked| {
        Error::internal("the token could not be looked up").caused_by(panicked)
    })?;
    // Its sender is a stranger as yet, to whom the place and the state of the store are not told.
    let token = found.map_err(|error| {
        tracing::warn!(%error, "a token could not be looked up");
        Error::unavailable("the store is away, so that no token can be checked; try again later")
    })?;
    Ok(token.filter(|token| bool::from(token.hash.ct_eq(&hash))))
}
