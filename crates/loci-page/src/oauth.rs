//! The server as its own authorization server (OAuth 2.1), for clients that cannot be given a token:
//! the clients of other people's services, e.g. claude.ai.
//!
//! 1. A client reads the metadata (RFC 8414) and registers (RFC 7591), or has a document of its own
//!    that its identifier leads to. [`client`] tells which redirect URIs it has.
//! 2. It sends a person's browser to `/authorize`. The person signs in as for the page, and says
//!    whether the client may come in ([`authorize`]).
//! 3. It redeems the code that it gets, with PKCE, and renews its token ([`endpoints`]). [`grants`]
//!    keeps that as a token of the store, so that people list and revoke it like any other.
//!
//! Nothing of a stranger is kept: a registration is in the identifier that it is answered with (ADR
//! 100).

mod authorize;
mod client;
mod endpoints;
mod grants;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use loci_core::{Clock, Error, Result, SCOPE_PREFIX, Scope, TokenStore};
use serde_json::Value;

use crate::page::Page;

/// The scopes that a client can be given. `admin` is not one: an attacker who takes over an
/// account at a service would have the whole memory.
const SCOPES: [Scope; 2] = [Scope::Read, Scope::Write];

/// Fetches the documents that clients have of themselves.
pub trait ClientDocuments: Send + Sync {
    /// Returns the JSON document at an `https` URL, which a stranger chose: only from a public
    /// address, within bounds of size and time, and without following a redirect.
    ///
    /// # Errors
    /// With the URL and the problem, if it cannot be had.
    fn fetch(&self, url: &str) -> Result<Value>;
}

/// The parts that a server needs to let clients in itself.
pub struct OAuth {
    tokens: Arc<dyn TokenStore>,
    clock: Arc<dyn Clock>,
    documents: Arc<dyn ClientDocuments>,
    /// The paths of the endpoints of MCP.
    endpoints: Vec<String>,
}

impl OAuth {
    /// Returns an authorization server for the endpoints at these paths, e.g. `/mcp/mememory`, which
    /// keeps what it gives out as tokens of this store.
    pub fn new(
        tokens: Arc<dyn TokenStore>,
        clock: Arc<dyn Clock>,
        documents: Arc<dyn ClientDocuments>,
        endpoints: Vec<String>,
    ) -> Self {
        OAuth {
            tokens,
            clock,
            documents,
            endpoints,
        }
    }

    /// Returns the resource that a client names, without a slash at its end, if it is this server or
    /// one of its endpoints.
    fn resource(&self, issuer: &str, named: &str) -> Option<String> {
        let named = named.strip_suffix('/').unwrap_or(named);
        let path = named.strip_prefix(issuer)?;
        let is_known = path.is_empty() || self.endpoints.iter().any(|endpoint| endpoint == path);
        is_known.then(|| named.to_owned())
    }
}

/// Returns the routes of an authorization server.
pub(crate) fn routes() -> Router<Arc<Page>> {
    let options = axum::routing::options(endpoints::preflight);
    Router::new()
        .route(
            "/.well-known/oauth-authorization-server",
            get(endpoints::metadata).merge(options.clone()),
        )
        .route(
            "/register",
            post(endpoints::register).merge(options.clone()),
        )
        .route("/authorize", get(authorize::ask).post(authorize::decide))
        .route("/token", post(endpoints::token).merge(options.clone()))
        .route("/revoke", post(endpoints::revoke).merge(options))
}

/// A request that is refused, as OAuth says it (RFC 6749, sections 4.1.2.1 and 5.2).
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    /// The code of the problem.
    error: &'static str,
    /// The problem and its remedy, for people.
    description: String,
}

impl Refusal {
    fn new(error: &'static str, description: impl Into<String>) -> Self {
        Refusal {
            error,
            description: description.into(),
        }
    }

    fn invalid_request(description: impl Into<String>) -> Self {
        Refusal::new("invalid_request", description)
    }
}

/// A store that fails is no fault of the client.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        tracing::error!(error = error.chain(), "a client could not be let in");
        Refusal::new(
            "temporarily_unavailable",
            "the store does not answer now; try again later",
        )
    }
}

/// Returns the name of a scope for clients.
fn scope_name(scope: Scope) -> String {
    format!("{SCOPE_PREFIX}{}", scope.name())
}

/// The parameters of a request, each at most once (RFC 6749, section 3.1).
struct Fields(Vec<(String, String)>);

impl Fields {
    fn parse(encoded: &[u8]) -> Result<Self, Refusal> {
        let fields: Vec<(String, String)> = serde_html_form::from_bytes(encoded)
            .map_err(|error| Refusal::invalid_request(format!("this is no form: {error}")))?;
        for (index, (name, _)) in fields.iter().enumerate() {
            if fields[..index].iter().any(|(other, _)| other == name) {
                // Without the name, which may be anything.
                let (error, what) = match name.as_str() {
                    "resource" => ("invalid_target", "`resource`"),
                    _ => ("invalid_request", "a parameter"),
                };
                let description = format!("{what} stands there twice; send it once");
                return Err(Refusal::new(error, description));
            }
        }
        Ok(Fields(fields))
    }

    /// Returns a parameter that is not empty (RFC 6749, section 3.1: an empty one is as if left
    /// out).
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name)
            .ok_or_else(|| Refusal::invalid_request(format!("`{name}` is missing")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_stands_there_once() {
        let rows = [
            ("a=1&b=2", Ok(())),
            ("a=1&a=1", Err("invalid_request")),
            ("resource=a&resource=b", Err("invalid_target")),
            ("code=&code=x", Err("invalid_request")),
        ];
        for (encoded, expected) in rows {
            let found = Fields::parse(encoded.as_bytes());
            assert_eq!(
                found.map(drop).map_err(|refusal| refusal.error),
                expected,
                "{encoded}"
            );
        }
        let fields = Fields::parse(b"a=&b=%20c").unwrap();
        assert_eq!((fields.get("a"), fields.get("b")), (None, Some(" c")));
    }
}
