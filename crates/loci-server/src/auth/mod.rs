//! Authenticates HTTP requests and checks their permissions.

mod challenge;
mod credential;
mod metadata;
mod no_provider;
mod scopes;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap, Uri};
use loci_core::limits::TOKEN_BYTES_MAX;
use loci_core::{Caller, Clock, Principal, Result, Scope, Space, TokenStore, TokenVerifier};

use challenge::AuthenticationFailure;
pub(crate) use credential::Credential;
pub use credential::token_hash;
pub(crate) use metadata::metadata_routes;
pub(crate) use no_provider::no_provider_routes;
pub(crate) use scopes::{RequiredScopes, insufficient_scope};

use crate::body::drain;
use crate::connection_slots::ConnectionSlot;
use crate::subject::{RequestOrigin, subject_of};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The authentication of callers.
#[derive(Clone)]
pub enum Authentication {
    /// Every caller is the anonymous caller of the default space. For loopback addresses only.
    Anonymous,
    /// Callers send a bearer token.
    Bearer {
        /// The store of loci's own tokens. It is queried for every request, so that a revocation
        /// takes effect immediately.
        tokens: Arc<dyn TokenStore>,
        /// Verifies tokens of an issuer, if those are accepted too.
        verifier: Option<Arc<dyn TokenVerifier>>,
        /// The clock that decides whether a token has expired.
        clock: Arc<dyn Clock>,
        /// True if this server gives tokens to clients by OAuth itself, as its own issuer.
        grants: bool,
    },
}

impl Authentication {
    /// Returns the caller of a request with these headers to `path` of this server. `base_url` is
    /// the URL under which clients reach the server (such as `https://memory.example`), if it can
    /// be determined.
    ///
    /// # Errors
    /// `unauthorized` if there is no token or an invalid one; `unavailable` if the token cannot be
    /// checked now.
    pub async fn caller(
        &self,
        headers: &HeaderMap,
        base_url: Option<&str>,
        path: &str,
    ) -> Result<Caller> {
        let admitted = self.admit(headers, Resource { base_url, path }).await;
        admitted
            .map(|(caller, _credential)| caller)
            .map_err(AuthenticationFailure::into_error)
    }

    async fn admit(
        &self,
        headers: &HeaderMap,
        resource: Resource<'_>,
    ) -> Result<(Caller, Option<Credential>), AuthenticationFailure> {
        let Authentication::Bearer {
            tokens,
            verifier,
            clock,
            ..
        } = self
        else {
            return Ok((Caller::new(Space::default(), Principal::anonymous()), None));
        };
        let token = presented(headers)?;
        let (caller, credential) = match verifier
            .as_ref()
            .filter(|verifier| verifier.recognizes(token))
        {
            Some(verifier) => Credential::issued(verifier, token, resource, clock).await?,
            None => Credential::of_store(tokens, token, resource, clock).await?,
        };
        Ok((caller, Some(credential)))
    }

    /// True if clients can get a token by OAuth, from another issuer or from this server.
    fn has_issuer(&self) -> bool {
        self.verifier().is_some() || self.is_issuer()
    }

    /// True if this server is its own issuer.
    fn is_issuer(&self) -> bool {
        matches!(self, Authentication::Bearer { grants: true, .. })
    }

    fn verifier(&self) -> Option<&Arc<dyn TokenVerifier>> {
        match self {
            Authentication::Anonymous => None,
            Authentication::Bearer { verifier, .. } => verifier.as_ref(),
        }
    }
}

/// Returns the names of the scopes in an issuer's tokens.
fn scope_names(verifier: Option<&Arc<dyn TokenVerifier>>, scopes: &[Scope]) -> Vec<String> {
    let prefix = verifier.map_or(loci_core::SCOPE_PREFIX, |verifier| verifier.scope_prefix());
    scopes
        .iter()
        .map(|scope| format!("{prefix}{}", scope.name()))
        .collect()
}

/// The resource that a request addresses, in the terms of OAuth.
#[derive(Clone, Copy)]
struct Resource<'a> {
    base_url: Option<&'a str>,
    path: &'a str,
}

impl<'a> Resource<'a> {
    fn of(extensions: &'a Extensions, uri: &'a Uri) -> Self {
        let origin = extensions.get::<RequestOrigin>();
        Resource {
            base_url: origin.and_then(|origin| origin.base_url.as_deref()),
            path: uri.path(),
        }
    }

    /// True if a token that a client got by OAuth for this URL may be used here: only at the
    /// endpoints of MCP, because no person is behind it who looks at the page.
    fn is_meant_by(self, url: &str) -> bool {
        self.path.starts_with("/mcp/") && self.names().iter().any(|name| name == url)
    }

    /// Returns the audiences for which a token may have been issued: the URLs of the server and of
    /// the endpoint, each with and without a slash at the end, because clients differ in that.
    fn names(self) -> Vec<String> {
        let Some(base_url) = self.base_url else {
            return Vec::new();
        };
        let endpoint = format!("{base_url}{}", self.path);
        vec![
            base_url.to_owned(),
            format!("{base_url}/"),
            format!("{endpoint}/"),
            endpoint,
        ]
    }
}

/// Puts the [`Caller`], and the [`Credential`] if there is one, into the request's extensions, or
/// refuses the request.
pub(crate) async fn authenticate(
    State(authentication): State<Authentication>,
    mut request: Request,
    next: Next,
) -> Response {
    let resource = Resource::of(request.extensions(), request.uri());
    match authentication.admit(request.headers(), resource).await {
        Ok((caller, credential)) => {
            request.extensions_mut().insert(caller);
            let extensions = request.extensions();
            if let Some(place) = extensions.get::<Arc<ConnectionSlot>>().cloned() {
                place.know(&subject_of(extensions)).await;
            }
            if let Some(credential) = credential {
                request.extensions_mut().insert(credential);
            }
            next.run(request).await
        }
        Err(denied) => {
            let response = denied.into_response(&authentication, resource);
            drain(request).await;
            response
        }
    }
}

/// Returns the token of the one `Authorization: Bearer` header.
fn presented(headers: &HeaderMap) -> Result<&str, AuthenticationFailure> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(AuthenticationFailure::Missing)?;
    if values.next().is_some() {
        return Err(AuthenticationFailure::invalid(
            "there is more than one Authorization header",
        ));
    }
    let malformed = || {
        AuthenticationFailure::invalid("the Authorization header is not of the form `Bearer TOKEN`")
    };
    let (scheme, token) = value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .ok_or_else(malformed)?;
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(malformed());
    }
    if token.len() > TOKEN_BYTES_MAX {
        return Err(AuthenticationFailure::invalid(format!(
            "the token is longer than {TOKEN_BYTES_MAX} bytes"
        )));
    }
    Ok(token)
}

/// Returns the URL of the metadata document for a path of this server, or for the server itself if
/// the path is empty.
fn document_url(base_url: &str, path: &str) -> String {
    format!("{base_url}{WELL_KNOWN}{path}")
}
