//! The scopes that a message needs, determined before it is processed.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use http::request::Parts;
use loci_core::{Caller, Error, ErrorCode, Scope, Scopes};
use loci_dialects::Dialect;
use rmcp::model::{ClientRequest, JsonRpcError, RequestId};

use super::challenge::{Problem, challenge};
use super::{Authentication, Credential, Resource, scope_names};
use crate::error_reply::protocol_error;

/// The scopes that a tool or a method needs.
pub(crate) struct RequiredScopes<'a> {
    /// The name of a tool or of a method of the protocol.
    what: &'a str,
    scopes: Scopes,
}

impl<'a> RequiredScopes<'a> {
    /// Returns the scopes that a request to this dialect needs, if any: the scopes of the tool that
    /// its body names, whatever a header says, and `read` for the content of resources.
    pub(crate) fn of(request: &'a ClientRequest, dialect: Option<&Dialect>) -> Option<Self> {
        match request {
            ClientRequest::CallToolRequest(call) => {
                let tool = dialect?.tool(&call.params.name)?;
                Some(RequiredScopes {
                    what: tool.name,
                    scopes: tool.scopes(),
                })
            }
            ClientRequest::ReadResourceRequest(_)
            | ClientRequest::SubscribeRequest(_)
            | ClientRequest::SubscriptionsListenRequest(_)
            | ClientRequest::CompleteRequest(_) => Some(RequiredScopes {
                what: request.method(),
                scopes: Scopes::of(&[Scope::Read]),
            }),
            _ => None,
        }
    }

    /// True if the caller has all these scopes.
    pub(crate) fn is_met_by(&self, caller: &Caller) -> bool {
        self.scopes
            .iter()
            .all(|scope| caller.principal.scopes.allow(scope))
    }
}

/// Refuses a request that lacks a scope, in terms of HTTP and of JSON-RPC. From the former an OAuth
/// client learns which scopes to request; without OAuth the Python SDK shows the message of the
/// JSON-RPC error, the TypeScript SDK the whole body.
pub(crate) fn insufficient_scope(
    authentication: &Authentication,
    parts: &Parts,
    caller: &Caller,
    id: RequestId,
    need: &RequiredScopes<'_>,
) -> Response {
    let (what, scopes): (_, Vec<Scope>) = (need.what, need.scopes.iter().collect());
    let (plural, lacks) = if scopes.len() > 1 {
        ("s", "not all of which this token has")
    } else {
        ("", "which this token lacks")
    };
    let how = match (
        parts.extensions.get::<Credential>(),
        authentication.verifier(),
    ) {
        (None, _) => "which no caller has on a server without authentication".to_owned(),
        (Some(credential), Some(verifier)) if credential.is_issued() => {
            let named = scope_names(Some(verifier), &scopes).join(" ");
            format!("{lacks}; get one from {} with `{named}`", verifier.issuer())
        }
        _ => {
            let wanted: Vec<Scope> = caller
                .principal
                .scopes
                .iter()
                .chain(need.scopes.iter())
                .collect();
            let names: Vec<&str> = Scopes::of(&wanted).iter().map(Scope::name).collect();
            format!(
                "{lacks}; make one with `loci token create --subject NAME --scopes {}`",
                names.join(",")
            )
        }
    };
    let names: Vec<String> = scopes
        .iter()
        .map(|scope| format!("`{}`", scope.name()))
        .collect();
    let message = format!(
        "`{what}` needs the scope{plural} {}, {how}",
        names.join(" and ")
    );
    let error = Error::new(ErrorCode::Forbidden, message);
    let resource = Resource::of(&parts.extensions, &parts.uri);
    let problem = Problem {
        error: Some("insufficient_scope"),
        description: Some(&error.message),
    };
    let challenge = challenge(authentication, resource, problem, &scopes);
    let body = JsonRpcError::new(Some(id), protocol_error(&error));
    (
        StatusCode::FORBIDDEN,
        [(WWW_AUTHENTICATE, challenge)],
        Json(body),
    )
        .into_response()
}
