//! The form in which a request is answered.

use http::HeaderMap;
use http::header::ACCEPT;

/// The prefix of the paths of the JSON interface.
pub(crate) const API: &str = "/api/v1";

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Html,
    Json,
}

/// Returns the form of the answer to a request.
pub(crate) fn form_of(headers: &HeaderMap, path: &str) -> Form {
    let accepts_json = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("application/json") && !value.contains("text/html"));
    if path.starts_with(API) || accepts_json {
        Form::Json
    } else {
        Form::Html
    }
}
