//! OAuth 2.0 Protected Resource Metadata (RFC 9728), which tells clients who issues tokens for an
//! endpoint.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::HeaderValue;
use http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use loci_core::{Error, TokenVerifier};
use serde_json::json;

use super::challenge::USUAL_SCOPES;
use super::{Authentication, WELL_KNOWN, scope_names};
use crate::error_reply::failure;
use crate::subject::RequestOrigin;

/// Returns the routes of the metadata documents of the server and of its endpoints at these paths
/// (`/mcp/<dialect>`). There are no routes if only loci's own tokens are accepted. The documents
/// are public, also for web pages of any origin. The [`RequestOrigin`] must be in the request's
/// extensions.
pub(crate) fn metadata_routes(authentication: &Authentication, paths: &[String]) -> Router {
    if !authentication.has_issuer() {
        return Router::new();
    }
    let server = String::new();
    [&server]
        .into_iter()
        .chain(paths)
        .fold(Router::new(), |routes, path| {
            let (verifier, resource) = (authentication.verifier().cloned(), path.clone());
            let answer = move |request: Request| {
                let origin = request.extensions().get::<RequestOrigin>();
                let mut response = document(
                    verifier.as_ref(),
                    origin.and_then(|origin| origin.base_url.as_deref()),
                    &resource,
                );
                response
                    .headers_mut()
                    .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
                std::future::ready(response)
            };
            routes.route(&format!("{WELL_KNOWN}{path}"), get(answer))
        })
}

/// Returns the document of a resource whose tokens this verifier checks, or this server gives
/// itself.
fn document(
    verifier: Option<&Arc<dyn TokenVerifier>>,
    base_url: Option<&str>,
    path: &str,
) -> Response {
    let Some(base_url) = base_url else {
        let message = "under which URL clients reach this server is not known; whoever runs it should set `public_url`, or name its host and port in `allowed_hosts`";
        return failure(&Error::not_found(message));
    };
    let issuer = verifier.map_or(base_url, |verifier| verifier.issuer());
    let name = path.rsplit('/').next().filter(|name| !name.is_empty());
    Json(json!({
        "resource": format!("{base_url}{path}"),
        "resource_name": name.map_or_else(|| "loci".to_owned(), |name| format!("loci ({name})")),
        "authorization_servers": [issuer],
        "scopes_supported": scope_names(verifier, &USUAL_SCOPES),
        "bearer_methods_supported": ["header"],
    }))
    .into_response()
}
