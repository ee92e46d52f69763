//! Admission of a request to its shares of the server: its rate, the memory for its body, a thread.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, RETRY_AFTER};
use http::{Extensions, HeaderMap, HeaderValue};
use loci_admission::{BodyError, BodyLimit, CollectedBody, Subject, collect};
use loci_core::limits::REQUEST_BYTES_MAX;
use loci_core::{Error, ErrorCode, Result};

use crate::failure::failure;
use crate::form::Form;
use crate::looks::Looks;
use crate::page::Page;

/// Returns the subject of a sender that is not signed in.
pub(crate) fn stranger(extensions: &Extensions) -> Subject {
    let stranger = extensions.get().cloned();
    stranger.unwrap_or_else(|| Subject::network(None))
}

/// Charges a request to the rate limit of its sender; beyond it, returns the answer that refuses the
/// request.
pub(crate) fn rate_refusal(
    page: &Page,
    subject: &Subject,
    form: Form,
    looks: Looks,
) -> Option<Response> {
    let wait = page.authenticator().charge(subject).err()?;
    let seconds = wait.as_millis().div_ceil(1_000).max(1) as u64;
    let message = format!("too many requests; try again in {seconds} s");
    let mut refused = failure(&Error::new(ErrorCode::RateLimited, message), form, looks);
    let headers = refused.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    Some(refused)
}

/// Reads the body of a request of a caller who is known, within a share of the memory for bodies.
///
/// # Errors
/// `too_large` beyond [`REQUEST_BYTES_MAX`]; `invalid_argument` if it breaks off, or does not arrive
/// in time.
pub(crate) async fn read_body(
    page: &Page,
    subject: &Subject,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<CollectedBody> {
    let limit = BodyLimit {
        bytes_max: REQUEST_BYTES_MAX,
        announced: headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok()),
        budget: Some((page.bodies(), subject)),
        // As bytes, as text and as the values of its fields.
        weight: |bytes| 2 * bytes,
    };
    let collected = collect(&mut body, &limit).await;
    collected.map_err(|error| refusal_of(&error, REQUEST_BYTES_MAX))
}

/// Reads the body of a request of a stranger, of which only a little is read.
///
/// # Errors
/// As for others, but with a lower limit.
pub(crate) async fn read_body_of_stranger(mut body: Body) -> Result<Vec<u8>> {
    /// A form with a token in it.
    const BYTES_MAX: usize = 4 << 10;
    let limit = BodyLimit {
        bytes_max: BYTES_MAX,
        announced: None,
        budget: None,
        weight: |bytes| bytes,
    };
    let collected = collect(&mut body, &limit).await;
    let (bytes, _) = collected.map_err(|error| refusal_of(&error, BYTES_MAX))?;
    Ok(bytes)
}

fn refusal_of(error: &BodyError, bytes_max: usize) -> Error {
    let message = error.message(bytes_max);
    match error {
        BodyError::TooLong(_) => Error::new(ErrorCode::TooLarge, message),
        BodyError::BrokeOff | BodyError::Late => Error::new(ErrorCode::InvalidArgument, message),
        BodyError::Crowded => Error::new(ErrorCode::RateLimited, message),
    }
}

/// Waits for the provider, for a few visitors at a time, and fewer of one network.
pub(crate) async fn ask_provider<T: Send + 'static>(
    page: &Page,
    stranger: &Subject,
    ask: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let permit = page.sign_ins().acquire(stranger, 1).await;
    loci_admission::run_blocking(permit, ask).await
}

/// Runs blocking work, a few at a time, and fewer of one subject.
pub(crate) async fn run_blocking<T: Send + 'static>(
    page: &Arc<Page>,
    subject: &Subject,
    work: impl FnOnce(&Page) -> Result<T> + Send + 'static,
) -> Result<T> {
    let shared = Arc::clone(page);
    let permit = page.requests().acquire(subject, 1).await;
    loci_admission::run_blocking(permit, move || work(&shared)).await
}
