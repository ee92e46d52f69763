//! The rate limit of each caller.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use http::header::RETRY_AFTER;
use http::{Extensions, HeaderValue, Method};
use loci_admission::Subject;
use loci_core::limits::{RATE_BURST_MAX, RATED_CALLERS_MAX};
use loci_core::{Error, ErrorCode};

use crate::body::drain;
use crate::error_reply::failure;
use crate::monotonic::MonotonicTime;
use crate::mutex::lock;
use crate::subject::subject_of;

/// A rate limit for one caller: a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Calls per minute in the long run; 0 counts as 1.
    pub per_minute: u32,
    /// Calls in a burst, clamped to 1 to [`RATE_BURST_MAX`].
    pub burst: u32,
}

/// The buckets of all callers.
struct Buckets {
    quota: Quota,
    time: MonotonicTime,
    limiter: Mutex<Limiter>,
}

type Limiter =
    RateLimiter<Subject, HashMapStateStore<Subject>, MonotonicTime, NoOpMiddleware<Duration>>;

impl Buckets {
    fn new(limit: RateLimit, time: MonotonicTime) -> Self {
        let number = |value: u32| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(number(limit.per_minute))
            .allow_burst(number(limit.burst.min(RATE_BURST_MAX)));
        let limiter = Mutex::new(Limiter::hashmap_with_clock(quota, time.clone()));
        Buckets {
            quota,
            time,
            limiter,
        }
    }

    /// Takes `count` tokens from a bucket, or returns the time until they are available. A count
    /// above the bucket's capacity is free.
    fn take(&self, payer: &Subject, count: u32) -> Result<(), Duration> {
        let Some(count) = NonZeroU32::new(count) else {
            return Ok(());
        };
        let mut limiter = lock(&self.limiter);
        if limiter.len() >= RATED_CALLERS_MAX {
            limiter.retain_recent();
            // A client with so many names or addresses is not limited by per-key buckets anyway.
            // Half of the capacity stays free, so that not every call has to clean up.
            if limiter.len() > RATED_CALLERS_MAX / 2 {
                *limiter = Limiter::hashmap_with_clock(self.quota, self.time.clone());
            }
        }
        match limiter.check_key_n(payer, count) {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(self.time.now())),
        }
    }
}

/// The limit on the calls of each caller, whichever route they take.
pub struct CallLimit {
    limit: RateLimit,
    buckets: Buckets,
}

impl CallLimit {
    /// Returns a limit by this clock, of which no caller has used anything.
    pub fn new(limit: RateLimit, time: MonotonicTime) -> Self {
        CallLimit {
            limit,
            buckets: Buckets::new(limit, time),
        }
    }

    /// Charges one call to a subject.
    ///
    /// # Errors
    /// The time until the subject may call again, if it has used up its limit.
    pub fn charge(&self, subject: &Subject) -> Result<(), Duration> {
        self.buckets.take(subject, 1)
    }

    fn refusal(&self, wait: Duration) -> Response {
        let RateLimit { per_minute, .. } = self.limit;
        refusal(
            wait,
            &format!("this caller's calls are limited to {per_minute} a minute in the long run"),
        )
    }
}

/// Answers 429 to the calls of a caller beyond its limit, without reading them. A batch counts as
/// one call here.
pub(crate) async fn limit_calls(
    State(limit): State<Arc<CallLimit>>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::POST {
        let payer = subject_of(request.extensions());
        if let Err(wait) = limit.charge(&payer) {
            drain(request).await;
            return limit.refusal(wait);
        }
        request.extensions_mut().insert(Charge { limit, payer });
    }
    next.run(request).await
}

/// The bucket that a request was charged to.
#[derive(Clone)]
struct Charge {
    limit: Arc<CallLimit>,
    payer: Subject,
}

/// Charges the elements of a batch after the first, which was charged as the request, or returns
/// the response to send instead of serving them. A batch that is larger than the bucket could never
/// be served, so it is refused with a message that says so.
pub(crate) fn charge_batch(extensions: &Extensions, elements: usize) -> Option<Response> {
    let Charge { limit, payer } = extensions.get()?;
    let quota = limit.buckets.quota;
    let burst = quota.burst_size().get();
    let Some(count) = u32::try_from(elements).ok().filter(|count| *count <= burst) else {
        let message = format!(
            "the batch has {elements} messages, each of which counts as a call; one batch may have at most {burst} here"
        );
        return Some(failure(&Error::new(ErrorCode::TooLarge, message)));
    };
    let wait = limit.buckets.take(payer, count.saturating_sub(1)).err()?;
    // The retry is charged as a request again.
    Some(limit.refusal(wait + quota.replenish_interval()))
}

fn refusal(wait: Duration, problem: &str) -> Response {
    let seconds = wait.as_millis().div_ceil(1_000).max(1) as u64;
    let mut response = failure(&Error::new(
        ErrorCode::RateLimited,
        format!("{problem}; try again in {seconds} s"),
    ));
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payer(number: u32) -> Subject {
        Subject::network(Some(number.to_be_bytes().into()))
    }

    fn time_that_stands_still() -> MonotonicTime {
        MonotonicTime::new(|| Duration::ZERO)
    }

    #[test]
    fn the_buckets_stay_bounded() {
        let buckets = Buckets::new(
            RateLimit {
                per_minute: 1,
                burst: 2,
            },
            time_that_stands_still(),
        );
        let callers = 4 * RATED_CALLERS_MAX as u32 - 1;
        for caller in 0..callers {
            assert_eq!(buckets.take(&payer(caller), 1), Ok(()));
            assert!(lock(&buckets.limiter).len() <= RATED_CALLERS_MAX);
        }
        let newest = payer(callers - 1);
        assert_eq!(buckets.take(&newest, 1), Ok(()));
        assert_eq!(buckets.take(&newest, 1), Err(Duration::from_mins(1)));
    }

    #[test]
    fn the_ends_of_the_range_are_limits_too() {
        for per_minute in [0, 1, u32::MAX] {
            let buckets = Buckets::new(
                RateLimit {
                    per_minute,
                    burst: 0,
                },
                time_that_stands_still(),
            );
            assert_eq!(buckets.take(&payer(1), 1), Ok(()));
            assert!(buckets.take(&payer(1), 1).is_err());
            let buckets = Buckets::new(
                RateLimit {
                    per_minute,
                    burst: u32::MAX,
                },
                time_that_stands_still(),
            );
            assert_eq!(buckets.take(&payer(1), RATE_BURST_MAX), Ok(()));
            assert!(buckets.take(&payer(1), 1).is_err());
        }
    }
}
