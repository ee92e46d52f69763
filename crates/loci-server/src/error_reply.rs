//! Converts errors into replies: of JSON-RPC, and of HTTP outside JSON-RPC.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use loci_core::{Error, ErrorCode};
use rmcp::model::{ErrorCode as ProtocolErrorCode, ErrorData};
use serde_json::{Value, json};

/// Converts an error into a protocol error, for results that cannot contain a tool's failure.
pub(crate) fn protocol_error(error: &Error) -> ErrorData {
    let code = match error.code {
        ErrorCode::InvalidArgument | ErrorCode::NotFound | ErrorCode::TooLarge => {
            ProtocolErrorCode::INVALID_PARAMS
        }
        ErrorCode::Unauthorized
        | ErrorCode::Forbidden
        | ErrorCode::Conflict
        | ErrorCode::RateLimited => ProtocolErrorCode::INVALID_REQUEST,
        ErrorCode::Unavailable | ErrorCode::Corrupt | ErrorCode::Internal => {
            ProtocolErrorCode::INTERNAL_ERROR
        }
    };
    ErrorData::new(code, error.message.clone(), Some(error_fields(error)))
}

/// Returns an error for programs: its code, the HTTP status that corresponds to it, and the invalid
/// argument, if it is a single one.
pub(crate) fn error_fields(error: &Error) -> Value {
    let mut fields = json!({"code": error.code.name(), "status": error.code.http_status()});
    if let Some(argument) = &error.argument {
        fields["argument"] = json!(argument);
    }
    fields
}

/// Converts an error outside of JSON-RPC into a response.
pub(crate) fn failure(error: &Error) -> Response {
    let body = json!({"error": {"code": error.code.name(), "message": error.message}});
    (status(error), Json(body)).into_response()
}

/// Returns the HTTP status of an error.
pub(crate) fn status(error: &Error) -> StatusCode {
    StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
