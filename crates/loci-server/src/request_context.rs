//! The context of a request for a handler: values that a layer in front attached, the session and the
//! cancellation.

use http::header::USER_AGENT;
use http::request::Parts;
use loci_core::Error;
use loci_core::limits::SESSION_BYTES_MAX;
use rmcp::model::{Extensions, Implementation};
use rmcp::service::{RequestContext, RoleServer};

/// The header in which a client names its session if the server assigns sessions.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";

/// Returns a value that a layer in front attached to the HTTP request or, on a pipe, to the
/// message.
pub(crate) fn found<T: Clone + Send + Sync + 'static>(extensions: &Extensions) -> Option<T> {
    let of_message = extensions.get::<T>().cloned();
    of_message.or_else(|| {
        let parts = extensions.get::<Parts>()?;
        parts.extensions.get::<T>().cloned()
    })
}

/// Returns the session that an HTTP request names, if the name is short enough.
pub(crate) fn session_of(parts: &Parts) -> Option<String> {
    let session = parts.headers.get(SESSION_HEADER)?.to_str().ok()?;
    (session.len() <= SESSION_BYTES_MAX).then(|| session.to_owned())
}

/// Returns the name of the client that sent a request. Over HTTP without a session, only the requests
/// of 2026-07-28 and later name it; for others it is the first word of the header `User-Agent`.
pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    // The SDK puts its own name where a client gives none.
    let named = context
        .client_info()
        .filter(|client| *client != Implementation::from_build_env());
    named
        .map(|client| client.name)
        .or_else(|| product(context.extensions.get()?))
}

/// Returns the first word of the header `User-Agent`.
pub(crate) fn product(parts: &Parts) -> Option<String> {
    let agent = parts.headers.get(USER_AGENT)?.to_str().ok()?;
    let product = agent.split(['/', ' ']).next()?;
    (!product.is_empty()).then(|| product.to_owned())
}

/// Stops waiting when the request is cancelled; work that started continues.
pub(crate) async fn unless_cancelled<T>(
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        () = context.ct.cancelled() => Err(Error::unavailable("the request was cancelled")),
        outcome = work => outcome,
    }
}
