//! Refuses a request in a way that tells the client how to authenticate (RFC 6750, section 3; RFC
//! 9728, section 5).

use std::fmt::Write;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use loci_core::{Error, ErrorCode, Scope};
use serde_json::json;

use super::{Authentication, Resource, document_url, scope_names};
use crate::error_reply::{protocol_error, status};

/// The maximum length in bytes of an explanation in a header; a longer one is only in the body.
const DESCRIPTION_BYTES_MAX: usize = 250;

/// The scopes that clients may request from an issuer by default, which leave out `admin`.
pub(super) const USUAL_SCOPES: [Scope; 2] = [Scope::Read, Scope::Write];

/// The reason why a request could not be authenticated.
pub(super) enum AuthenticationFailure {
    /// The `Authorization` header has no token.
    Missing,
    /// The token is not valid.
    Invalid(String),
    /// The token could not be checked now.
    Failed(Error),
}

impl AuthenticationFailure {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        AuthenticationFailure::Invalid(message.into())
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            AuthenticationFailure::Missing => {
                let message =
                    "send `Authorization: Bearer TOKEN`; make a token with `loci token create`";
                Error::new(ErrorCode::Unauthorized, message)
            }
            AuthenticationFailure::Invalid(message) => Error::new(ErrorCode::Unauthorized, message),
            AuthenticationFailure::Failed(error) => error,
        }
    }

    /// Returns the refusal in terms of HTTP, of OAuth and of JSON-RPC, because each client shows
    /// its user the message of one form: the Python SDK the message of the JSON-RPC error, the
    /// TypeScript SDK the whole body.
    pub(super) fn into_response(
        self,
        authentication: &Authentication,
        resource: Resource<'_>,
    ) -> Response {
        let was_sent = matches!(self, AuthenticationFailure::Invalid(_));
        let error = self.into_error();
        let body = json!({
            "jsonrpc": "2.0",
            "id": null,
            "error": protocol_error(&error),
            "error_description": error.message,
        });
        let mut response = (status(&error), Json(body)).into_response();
        if error.code == ErrorCode::Unauthorized {
            let has_issuer = authentication.has_issuer();
            // RFC 6750 allows no error code if no token was sent; a client of an issuer needs no
            // advice in that case.
            let problem = Problem {
                error: was_sent.then_some("invalid_token"),
                description: (was_sent || !has_issuer).then_some(&error.message),
            };
            let scopes: &[Scope] = if has_issuer { &USUAL_SCOPES } else { &[] };
            let challenge = challenge(authentication, resource, problem, scopes);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        } else if error.is_unavailable() {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The attributes of a challenge that describe the problem with a request.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    /// The error code of RFC 6750.
    pub error: Option<&'a str>,
    /// A sentence for the user.
    pub description: Option<&'a str>,
}

/// Returns the value of a `WWW-Authenticate` header: the problem, the required scopes and, if there
/// is an issuer, the URL of its metadata.
pub(super) fn challenge(
    authentication: &Authentication,
    resource: Resource<'_>,
    problem: Problem<'_>,
    scopes: &[Scope],
) -> HeaderValue {
    let verifier = authentication.verifier();
    let description = problem
        .description
        .filter(|description| description.len() <= DESCRIPTION_BYTES_MAX);
    let told = [("error", problem.error), ("error_description", description)];
    let mut attributes: Vec<(&str, String)> = told
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?.to_owned())))
        .collect();
    if !scopes.is_empty() {
        attributes.push(("scope", scope_names(verifier, scopes).join(" ")));
    }
    if let Some(base_url) = resource.base_url.filter(|_| authentication.has_issuer()) {
        attributes.push(("resource_metadata", document_url(base_url, resource.path)));
    }
    let mut value = "Bearer realm=\"loci\"".to_owned();
    for (name, text) in attributes
        .iter()
        .filter(|(_, text)| text.bytes().all(needs_no_escape))
    {
        // Writing to a `String` cannot fail.
        let _ = write!(value, ", {name}=\"{text}\"");
    }
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("Bearer"))
}

/// True if the byte is allowed in every attribute of a challenge (RFC 6750, section 3).
fn needs_no_escape(byte: u8) -> bool {
    matches!(byte, 0x20..=0x21 | 0x23..=0x5B | 0x5D..=0x7E)
}
