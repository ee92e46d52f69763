//! Who an HTTP request comes from.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use loci_core::{Caller, Clock, Error, ErrorCode, Principal, Result, Space, Token, TokenHash, TokenStore};
use serde_json::json;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How callers prove who they are.
#[derive(Clone)]
pub enum Authentication {
    /// Everybody is the anonymous caller of the default space. For loopback addresses alone.
    Anonymous,
    /// By a bearer token.
    Tokens {
        /// Where the tokens are; asked at every request, so that a revocation holds at once.
        store: Arc<dyn TokenStore>,
        /// What expiry is measured by.
        clock: Arc<dyn Clock>,
    },
}

/// SHA-256 of a bearer token: what a store keeps of it.
pub fn token_hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// What a caller got in by; asked again by what outlives a request.
#[derive(Clone)]
pub(crate) struct Credential {
    store: Arc<dyn TokenStore>,
    clock: Arc<dyn Clock>,
    hash: TokenHash,
}

impl Credential {
    /// Whether it still opens anything.
    ///
    /// # Errors
    /// `unavailable` if tokens cannot be looked up now.
    pub(crate) async fn is_valid(&self) -> Result<bool> {
        Ok(self.token().await?.is_some_and(|token| token.is_valid(self.clock.now())))
    }

    async fn token(&self) -> Result<Option<Token>> {
        let (store, hash) = (Arc::clone(&self.store), self.hash);
        let found = tokio::task::spawn_blocking(move || store.token_by_hash(&hash)).await;
        let token = found.map_err(|_panicked| Error::internal("the token could not be looked up"))??;
        Ok(token.filter(|token| bool::from(token.hash.ct_eq(&self.hash))))
    }
}

/// Why a request has no caller.
enum Denied {
    /// There is no token in the `Authorization` header.
    Missing,
    /// There is one that opens nothing.
    Invalid(&'static str),
    /// Tokens cannot be looked up now.
    Failed(Error),
}

/// Puts the [`Caller`], and the [`Credential`] if there is one, into the request's extensions, or answers 401.
pub(crate) async fn authenticate(
    State(authentication): State<Authentication>,
    mut request: Request,
    next: Next,
) -> Response {
    match caller(&authentication, request.headers()).await {
        Ok((caller, credential)) => {
            request.extensions_mut().insert(caller);
            if let Some(credential) = credential {
                request.extensions_mut().insert(credential);
            }
            next.run(request).await
        }
        Err(denied) => denied.into_response(),
    }
}

async fn caller(authentication: &Authentication, headers: &HeaderMap) -> Result<(Caller, Option<Credential>), Denied> {
    let (store, clock) = match authentication {
        Authentication::Anonymous => {
            return Ok((Caller { space: Space::default(), principal: Principal::anonymous() }, None));
        }
        Authentication::Tokens { store, clock } => (Arc::clone(store), Arc::clone(clock)),
    };
    let credential = Credential { store, clock, hash: token_hash(presented(headers)?) };
    match credential.token().await.map_err(Denied::Failed)? {
        Some(token) if token.is_valid(credential.clock.now()) => Ok((bearer(token), Some(credential))),
        Some(_) => Err(Denied::Invalid("the token has expired or was revoked; get a new one with `loci token create`")),
        None => Err(Denied::Invalid("the token is unknown; `loci token list` names those that exist")),
    }
}

fn bearer(token: Token) -> Caller {
    Caller { space: token.space, principal: Principal { subject: Some(token.subject), scopes: token.scopes } }
}

/// The token of the one `Authorization: Bearer` header.
fn presented(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(Denied::Missing)?;
    if values.next().is_some() {
        return Err(Denied::Invalid("there is more than one Authorization header"));
    }
    let malformed = Denied::Invalid("the Authorization header is not of the form `Bearer TOKEN`");
    let Some((scheme, token)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
        return Err(malformed);
    };
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() { Err(malformed) } else { Ok(token) }
}

impl Denied {
    fn into_response(self) -> Response {
        let (challenge, error) = match self {
            Denied::Missing => {
                let message = "send `Authorization: Bearer TOKEN`; make a token with `loci token create`";
                ("Bearer realm=\"loci\"", Error::new(ErrorCode::Unauthorized, message))
            }
            Denied::Invalid(message) => {
                ("Bearer realm=\"loci\", error=\"invalid_token\"", Error::new(ErrorCode::Unauthorized, message))
            }
            Denied::Failed(error) => {
                tracing::error!(%error, "a token could not be looked up");
                return failure(&error);
            }
        };
        let mut response = failure(&error);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        response
    }
}

/// An error outside of JSON-RPC as a response.
pub(crate) fn failure(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"error": {"code": error.code.name(), "message": error.message}});
    (status, Json(body)).into_response()
}
