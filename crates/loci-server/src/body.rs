//! Reads the bodies of requests up to a limit and discards the bodies of refused ones.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::header::{CONTENT_LENGTH, EXPECT};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use loci_core::limits::{CALL_SECONDS_MAX, REQUEST_BYTES_MAX};
use rmcp::model::ErrorCode;

use crate::message::{Refusal, Text};
use crate::request_share::{RequestBudget, RequestShare, SMALL_BYTES_MAX, shrink};

/// The maximum bytes of a body that are read and discarded, so that a client which reads only after
/// it has sent everything still gets the refusal.
const DRAINED_BYTES_MAX: usize = 8 * REQUEST_BYTES_MAX;
/// The time that a refusal waits for the rest of its request.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A body that was read, with its share of the budget.
type Received = (Text<Bytes>, RequestShare);

/// Reads a body up to its limit and reserves its share of the budget.
///
/// # Errors
/// The response if the body is too long, does not arrive in time, or the budget is used up.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    budget: &RequestBudget,
) -> Result<Received, (StatusCode, Refusal)> {
    if is_beyond_draining(headers) {
        return Err((
            StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::too_long(b"", REQUEST_BYTES_MAX),
        ));
    }
    let bytes_max = announced(headers).unwrap_or(REQUEST_BYTES_MAX);
    match tokio::time::timeout(
        Duration::from_secs(CALL_SECONDS_MAX),
        collect(body, bytes_max, budget),
    )
    .await
    {
        Ok(outcome) => outcome,
        Err(_elapsed) => {
            let message = format!(
                "the request did not arrive, or found no room beside others, within {CALL_SECONDS_MAX} s"
            );
            Err((
                StatusCode::REQUEST_TIMEOUT,
                Refusal::new(None, ErrorCode::INVALID_REQUEST, message),
            ))
        }
    }
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

async fn collect(
    mut body: Body,
    bytes_max: usize,
    budget: &RequestBudget,
) -> Result<Received, (StatusCode, Refusal)> {
    let (mut kept, mut share) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            let message = "the request broke off before its end";
            return Err((
                StatusCode::BAD_REQUEST,
                Refusal::new(None, ErrorCode::INVALID_REQUEST, message),
            ));
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if share.is_none() && kept.len() + data.len() > SMALL_BYTES_MAX {
            share = Some(budget.hold_large(bytes_max).await.ok_or_else(closed)?);
        }
        let room = data.len().min(REQUEST_BYTES_MAX - kept.len());
        kept.extend_from_slice(&data[..room]);
        if room < data.len() {
            let refusal = Refusal::too_long(&kept, REQUEST_BYTES_MAX);
            drop((kept, share));
            discard(&mut body).await;
            return Err((StatusCode::PAYLOAD_TOO_LARGE, refusal));
        }
    }
    let text = Text::of(Bytes::from(kept));
    let share = match share {
        Some(mut share) => {
            shrink(&mut share, &text);
            share
        }
        None => budget.hold(&text).await.ok_or_else(closed)?,
    };
    Ok((text, share))
}

fn closed() -> (StatusCode, Refusal) {
    let refusal = Refusal::new(
        None,
        ErrorCode::INTERNAL_ERROR,
        "loci is shutting down; try again when it is back",
    );
    (StatusCode::SERVICE_UNAVAILABLE, refusal)
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
