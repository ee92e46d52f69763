//! The endpoints of an OAuth authorization server that is not there. Clients that have no token
//! look for one at these paths of the server itself and show their users what they find.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use http::StatusCode;
use serde_json::json;

use super::Authentication;
use crate::body::drain;

/// The paths with the status and the error code of their answers (RFC 7591, section 3.2.2; RFC
/// 6749, sections 4.1.2.1 and 5.2). Clients give up at these codes; at `invalid_client` or
/// `unauthorized_client` they would try again.
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

/// The routes that say in OAuth's form how to connect instead. There are none where an OpenID
/// provider is set, whose metadata name the endpoints, nor where no token is asked for.
pub(crate) fn no_provider_routes(authentication: &Authentication) -> Router {
    if !matches!(
        authentication,
        Authentication::Bearer { verifier: None, .. }
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
