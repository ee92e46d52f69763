//! Stub endpoints of an OAuth authorization server. Clients without a token look for one at these
//! paths of the server itself and show its answer to their users.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use http::StatusCode;
use serde_json::json;

use super::Authentication;
use crate::body::drain;

/// The paths, and the status and the error code of their answers (RFC 7591, section 3.2.2; RFC
/// 6749, sections 4.1.2.1 and 5.2). Clients give up at these codes; at `invalid_client` or
/// `unauthorized_client` they would retry.
const ENDPOINTS: [(&str, StatusCode, &str); 3] = [
    (
        "/register",
        StatusCode::BAD_REQUEST,
        "invalid_client_metadata",
    ),
    ("/authorize", StatusCode::FORBIDDEN, "access_denied"),
    ("/token", StatusCode::BAD_REQUEST, "invalid_request"),
];
const ADVICE: &str = "this server registers no clients and has no login: send `Authorization: Bearer TOKEN` with a token \
                      that `loci token create` makes";

/// Returns the routes that explain in OAuth's form how to connect instead. There are no routes if
/// an OpenID provider is configured, whose metadata name the endpoints, if this server gives tokens by
/// OAuth itself, or if no token is required.
pub(crate) fn no_provider_routes(authentication: &Authentication) -> Router {
    if !matches!(
        authentication,
        Authentication::Bearer {
            verifier: None,
            grants: false,
            ..
        }
    ) {
        return Router::new();
    }
    ENDPOINTS
        .into_iter()
        .fold(Router::new(), |routes, (path, status, error)| {
            routes.route(path, any(move |request| refuse(request, status, error)))
        })
}

async fn refuse(request: Request, status: StatusCode, error: &'static str) -> Response {
    drain(request).await;
    (
        status,
        Json(json!({"error": error, "error_description": ADVICE})),
    )
        .into_response()
}
