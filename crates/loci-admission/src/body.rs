use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use loci_core::limits::CALL_SECONDS_MAX;
use tokio::time::timeout;

use crate::pool::{Permit, Pool};
use crate::subject::Subject;

/// The time after which a sender that is silent is given up.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Bytes of a body that need no share of the pool. Many senders may have sent as much at a time, so
/// it is small.
const FREE_BYTES_MAX: usize = 8 << 10;

/// Limits of a body.
pub struct BodyLimit<'a> {
    /// The bytes that it may have.
    pub bytes_max: usize,
    /// The bytes that its head announces, if it does.
    pub announced: Option<usize>,
    /// Permits for the bytes of bodies, and who needs them; `None` for a body that is too small to
    /// need any.
    pub budget: Option<(&'a Pool, &'a Subject)>,
    /// The permits that a body of so many bytes needs, which are more than its bytes if values are
    /// made from these.
    pub weight: fn(usize) -> usize,
}

/// A body that was read, and its share of the pool, which is held while the body is in memory; `None`
/// for a small body.
pub type CollectedBody = (Vec<u8>, Option<Permit>);

/// Why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// It is longer than the limit; with the bytes until there.
    TooLong(Vec<u8>),
    /// The connection ended before the body.
    BrokeOff,
    /// The sender was silent, or did not send all or find room beside others, for too long.
    Late,
    /// Too many large bodies of the same sender wait already.
    Crowded,
}

impl BodyError {
    /// Says what is wrong with the request.
    pub fn message(&self, bytes_max: usize) -> String {
        match self {
            BodyError::TooLong(_) => format!("the request is longer than {bytes_max} bytes"),
            BodyError::BrokeOff => "the request broke off before its end".to_owned(),
            BodyError::Late => format!(
                "the request did not arrive, or found no room beside others: it has to come within {CALL_SECONDS_MAX} s, and no pause in it may be longer than {} s",
                SILENCE_MAX.as_secs()
            ),
            BodyError::Crowded => {
                "too many large requests of yours wait already; try again when some are answered"
                    .to_owned()
            }
        }
    }
}

/// Reads a body within its limit and its time.
///
/// # Errors
/// As the variants of [`BodyError`] say. The rest of the body is then still unread.
pub async fn collect<B>(body: &mut B, limit: &BodyLimit<'_>) -> Result<CollectedBody, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let whole = Duration::from_secs(CALL_SECONDS_MAX);
    timeout(whole, collect_all(body, limit))
        .await
        .unwrap_or(Err(BodyError::Late))
}

async fn collect_all<B>(body: &mut B, limit: &BodyLimit<'_>) -> Result<CollectedBody, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let expected = limit
        .announced
        .unwrap_or(limit.bytes_max)
        .min(limit.bytes_max);
    // At once what a small body may have, because a vector that grows by a few bytes doubles.
    let mut kept = Vec::with_capacity(expected.min(FREE_BYTES_MAX));
    let mut permit = None;
    loop {
        let frame = timeout(SILENCE_MAX, body.frame())
            .await
            .map_err(|_elapsed| BodyError::Late)?;
        let Some(frame) = frame else {
            return Ok((kept, permit));
        };
        let Ok(data) = frame.map_err(|_| BodyError::BrokeOff)?.into_data() else {
            continue;
        };
        if let Some((pool, subject)) = limit.budget
            && permit.is_none()
            && kept.len() + data.len() > FREE_BYTES_MAX
        {
            let weight = (limit.weight)(expected);
            let share = pool.acquire_in_queue(subject, weight).await;
            permit = Some(share.ok_or(BodyError::Crowded)?);
            // As many as are announced, so that the memory is not that of a doubled vector.
            kept.reserve_exact(expected.saturating_sub(kept.len()).max(data.len()));
        }
        let room = data.len().min(limit.bytes_max - kept.len());
        kept.extend_from_slice(&data[..room]);
        if room < data.len() {
            return Err(BodyError::TooLong(kept));
        }
    }
}
