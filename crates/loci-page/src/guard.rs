//! The headers of every reply of the page, and the checks of a request before it is looked at.
//!
//! - A request that names a host which is not served is refused, so that a name that an attacker
//!   points at this machine opens nothing (DNS rebinding).
//! - A change in a session has to come from a page of this server: by `Sec-Fetch-Site` or `Origin`,
//!   which scripts cannot set, and by the secret of the session (CSRF).
//! - No reply may be framed, guessed to be of another type, or read by a page of another origin.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, StatusCode};
use loci_admission::Subject;

use crate::form::form_of;
use crate::page::Page;

/// The policy by which a page loads only from this server, and sends forms only to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The policy of a page without scripts, whose form leads to another origin.
fn policy_to(target: &str) -> String {
    format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' {target}; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

/// The origin that the form of a page leads to, in the extensions of a response.
#[derive(Clone)]
pub(crate) struct FormTarget(pub(crate) String);

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
pub(crate) const FETCH_SITE: &str = "sec-fetch-site";

/// The URL under which the sender of a request reached this server.
#[derive(Clone)]
pub(crate) struct BaseUrl(pub(crate) String);

/// Refuses requests to hosts that are not served, and adds the headers that protect a page.
pub(crate) async fn guard(
    State(page): State<Arc<Page>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(base_url) = page.authenticator().base_url(request.extensions()) else {
        let text = "this server is not known under that name; see the settings `public_url` and `allowed_hosts`\n";
        return protected((StatusCode::MISDIRECTED_REQUEST, text).into_response());
    };
    // A nested router does not see its prefix.
    let form = form_of(request.headers(), request.uri().path());
    request.extensions_mut().insert(form);
    request.extensions_mut().insert(BaseUrl(base_url));
    let client = page.authenticator().client(request.extensions());
    request.extensions_mut().insert(Subject::network(client));
    protected(next.run(request).await)
}

fn protected(mut response: Response) -> Response {
    let target = response.extensions_mut().remove::<FormTarget>();
    let policy = target.map(|FormTarget(target)| policy_to(&target));
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(policy) = policy.and_then(|policy| HeaderValue::try_from(policy).ok()) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns true if a browser says that a page of this server sent the request.
pub(crate) fn is_from_here(headers: &HeaderMap, base_url: &str) -> bool {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let origin = headers.get(ORIGIN).and_then(text);
    match headers.get(FETCH_SITE).and_then(text).as_deref() {
        Some(site) => site == "same-origin" && origin.is_none_or(|origin| origin == base_url),
        None => origin.is_some_and(|origin| origin == base_url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_from_pages_of_this_server() {
        let base = "http://127.0.0.1:7821";
        let rows: [(Option<&str>, Option<&str>, bool); 8] = [
            (Some(base), Some("same-origin"), true),
            (None, Some("same-origin"), true),
            (Some(base), None, true),
            (None, None, false),
            (Some("http://127.0.0.1:9000"), None, false),
            (Some("http://127.0.0.1:9000"), Some("same-site"), false),
            (Some("null"), Some("cross-site"), false),
            (Some("null"), Some("same-origin"), false),
        ];
        for (origin, site, expected) in rows {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            if let Some(site) = site {
                headers.insert(FETCH_SITE, site.parse().unwrap());
            }
            assert_eq!(
                is_from_here(&headers, base),
                expected,
                "{origin:?} {site:?}"
            );
        }
    }
}
