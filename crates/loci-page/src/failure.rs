//! Errors as answers.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use loci_core::{Error, ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::form::Form;
use crate::looks::Looks;
use crate::request_user::RequestUser;
use crate::view::{Ui, error_page};

/// The answer to a request that failed.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct Failure<'a> {
    error: FailureDetails<'a>,
}

/// The error of a request.
#[derive(Serialize, ToSchema)]
#[schema(as = ErrorDetails)]
struct FailureDetails<'a> {
    /// The kind of failure, for programs, e.g. `invalid_argument`.
    code: &'static str,
    /// The problem and its remedy, for people.
    message: &'a str,
    /// The parameter that was wrong, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<&'a str>,
}

/// Returns an error as an answer to a caller who is not known yet.
pub(crate) fn failure(error: &Error, form: Form, looks: Looks) -> Response {
    answer(error, form, || Ui::of_stranger(looks))
}

/// Returns an error as an answer to a visitor, who keeps the bar with the places and the number of
/// open items.
pub(crate) fn failure_to(
    visitor: &RequestUser,
    error: &Error,
    form: Form,
    (path, open): (String, Option<usize>),
) -> Response {
    answer(error, form, || Ui::of(visitor, None, path, open))
}

fn answer(error: &Error, form: Form, ui: impl FnOnce() -> Ui) -> Response {
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
            let error = FailureDetails {
                code: error.code.name(),
                message: &error.message,
                argument: error.argument.as_deref(),
            };
            (status, axum::Json(Failure { error })).into_response()
        }
        Form::Html => (status, axum::response::Html(error_page(error, &ui()))).into_response(),
    }
}
