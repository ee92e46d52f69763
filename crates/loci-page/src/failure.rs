//! Errors as answers.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use loci_core::{Error, ErrorCode};
use serde_json::json;

use crate::form::Form;
use crate::text::Language;
use crate::view::error_page;

/// Returns an error as an answer.
pub(crate) fn failure(error: &Error, form: Form, language: Language) -> Response {
    if error.code == ErrorCode::Internal {
        tracing::error!(
            error = error.chain(),
            "a request of the page failed inside loci"
        );
    }
    let status =
        StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match form {
        Form::Json => {
            let mut fields = json!({"code": error.code.name(), "message": error.message});
            if let Some(argument) = &error.argument {
                fields["argument"] = json!(argument);
            }
            (status, axum::Json(json!({ "error": fields }))).into_response()
        }
        Form::Html => (status, axum::response::Html(error_page(error, language))).into_response(),
    }
}
