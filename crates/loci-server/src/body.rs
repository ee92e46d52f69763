//! Reads the bodies of requests up to a limit and discards the bodies of refused ones.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::header::{CONTENT_LENGTH, EXPECT};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use loci_admission::{BodyError, BodyLimit, collect};
use loci_core::limits::REQUEST_BYTES_MAX;
use rmcp::model::ErrorCode;

use crate::message::{Refusal, Text};
use crate::request_share::{RequestBudget, RequestShare, weight_at_most};
use crate::subject::subject_of;

/// The maximum bytes of a body that are read and discarded, so that a client which reads only after
/// it has sent everything still gets the refusal.
const DRAINED_BYTES_MAX: usize = 8 * REQUEST_BYTES_MAX;
/// The time that a refusal waits for the rest of its request.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A body that was read, with its share of the budget.
type RequestBody = (Text<Bytes>, RequestShare);

/// Reads a body up to its limit and reserves its share of the budget.
///
/// # Errors
/// The response if the body is too long, does not arrive in time, or the budget is used up.
pub(crate) async fn read(
    parts: &Parts,
    mut body: Body,
    budget: &RequestBudget,
) -> Result<RequestBody, (StatusCode, Refusal)> {
    let headers = &parts.headers;
    if is_beyond_draining(headers) {
        return Err((
            StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::too_long(b"", REQUEST_BYTES_MAX),
        ));
    }
    let subject = subject_of(&parts.extensions);
    let limit = BodyLimit {
        bytes_max: REQUEST_BYTES_MAX,
        announced: announced(headers),
        budget: Some((budget.large(), &subject)),
        weight: weight_at_most,
    };
    let (bytes, permit) = match collect(&mut body, &limit).await {
        Ok(collected) => collected,
        Err(BodyError::TooLong(kept)) => {
            let refusal = Refusal::too_long(&kept, REQUEST_BYTES_MAX);
            drop(kept);
            discard(&mut body).await;
            return Err((StatusCode::PAYLOAD_TOO_LARGE, refusal));
        }
        Err(error) => {
            let (status, code) = match error {
                BodyError::Late => (StatusCode::REQUEST_TIMEOUT, ErrorCode::INVALID_REQUEST),
                BodyError::Crowded => (StatusCode::TOO_MANY_REQUESTS, ErrorCode::INVALID_REQUEST),
                BodyError::TooLong(_) | BodyError::BrokeOff => {
                    (StatusCode::BAD_REQUEST, ErrorCode::INVALID_REQUEST)
                }
            };
            let message = error.message(REQUEST_BYTES_MAX);
            return Err((status, Refusal::new(None, code, message)));
        }
    };
    let text = Text::of(Bytes::from(bytes));
    let share = budget.hold(&text, &subject, permit).await;
    let share = share.ok_or_else(|| {
        let message = "loci is shutting down; try again when it is back";
        let refusal = Refusal::new(None, ErrorCode::INTERNAL_ERROR, message);
        (StatusCode::SERVICE_UNAVAILABLE, refusal)
    })?;
    Ok((text, share))
}

/// Returns the request without its body, which is read and discarded within limits of size and
/// time. Without this a client that sends the whole body before it reads does not get the refusal.
pub(crate) async fn drain(request: Request) -> Request {
    let (parts, mut body) = request.into_parts();
    // A client that sends `Expect` waits for permission before it sends the body.
    if !parts.headers.contains_key(EXPECT) && !is_beyond_draining(&parts.headers) {
        // The rest of a body that takes longer is not awaited.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, discard(&mut body)).await;
    }
    Request::from_parts(parts, Body::empty())
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok())
}

fn is_beyond_draining(headers: &HeaderMap) -> bool {
    announced(headers).is_some_and(|length| length > DRAINED_BYTES_MAX)
}

/// Reads and discards the rest of a body, up to a limit.
async fn discard(body: &mut Body) {
    let mut dropped = 0;
    while dropped <= DRAINED_BYTES_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        dropped += frame.data_ref().map_or(0, Bytes::len);
    }
}
