//! Limits the memory of requests that are read but not yet answered.
//!
//! The body of a request exists in several copies, as bytes and as values, and values take far more
//! memory than their bytes: so each request takes a share of a budget by its weight.

use std::sync::Arc;

use loci_admission::{Permit, Pool, Subject};
use loci_core::limits::{REQUEST_VALUES_MAX, REQUESTS_HELD_BYTES_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::message::Text;

/// The bytes that one value takes in memory.
const VALUE_BYTES: usize = size_of::<serde_json::Value>();

/// The share of the budget that one request holds until this is dropped.
pub(crate) enum RequestShare {
    Small(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit),
    Large(#[expect(dead_code, reason = "held, not read")] Permit),
}

/// The budget of one process. Small requests have a separate part, so that slow senders of large
/// ones block no other client; of the part for large ones, one subject gets three quarters.
pub(crate) struct RequestBudget {
    small: Arc<Semaphore>,
    large: Arc<Pool>,
}

impl RequestBudget {
    pub(crate) fn new() -> Self {
        RequestBudget {
            small: Arc::new(Semaphore::new(REQUESTS_HELD_BYTES_MAX)),
            large: Arc::new(Pool::new(
                REQUESTS_HELD_BYTES_MAX,
                REQUESTS_HELD_BYTES_MAX / 4 * 3,
            )),
        }
    }

    /// Returns the part for large requests, whose permits are bytes.
    pub(crate) fn large(&self) -> &Arc<Pool> {
        &self.large
    }

    /// Takes a share for a request that was read; `None` once the process ends. A large one was read with a
    /// permit, which is shrunk to its weight.
    pub(crate) async fn hold(
        &self,
        request: &Text<impl AsRef<[u8]>>,
        permit: Option<Permit>,
    ) -> Option<RequestShare> {
        let weight = weight(request.len(), request.values());
        if let Some(mut permit) = permit {
            permit.shrink(weight);
            return Some(RequestShare::Large(permit));
        }
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.small).acquire_many_owned(weight).await;
        permit.ok().map(RequestShare::Small)
    }

    /// As [`RequestBudget::hold`], for a line that was read without a permit, whoever sent it.
    pub(crate) async fn hold_line(
        &self,
        line: &Text<impl AsRef<[u8]>>,
        subject: &Subject,
    ) -> Option<RequestShare> {
        let weight = weight(line.len(), line.values());
        let permit = if weight > SMALL_WEIGHT_MAX {
            Some(self.large.acquire(subject, weight).await?)
        } else {
            None
        };
        self.hold(line, permit).await
    }
}

/// The weight from which a line counts as large.
const SMALL_WEIGHT_MAX: usize = 64 << 10;

/// Returns the bytes of memory that a request of so many bytes may take.
pub(crate) fn weight_at_most(bytes: usize) -> usize {
    weight(bytes, bytes / 2)
}

/// Returns the bytes of memory that a request takes. A request with too many values is refused
/// before they are built, so its weight counts at most the limit.
fn weight(bytes: usize, values: usize) -> usize {
    bytes + VALUE_BYTES * values.min(REQUEST_VALUES_MAX)
}

#[cfg(test)]
mod tests {
    use loci_core::limits::REQUEST_BYTES_MAX;

    use super::*;

    #[test]
    fn the_heaviest_request_has_room() {
        let heaviest = weight_at_most(REQUEST_BYTES_MAX);
        assert!(4 * heaviest <= REQUESTS_HELD_BYTES_MAX, "{heaviest}");
    }

    #[tokio::test]
    async fn a_request_weighs_its_bytes_and_its_values_and_slow_large_ones_hold_up_no_small_one() {
        let budget = RequestBudget::new();
        let subject = Subject::network(None);
        let small = budget.hold(&Text::of("[1,2]"), None).await.unwrap();
        let taken = REQUESTS_HELD_BYTES_MAX - budget.small.available_permits();
        assert_eq!(taken, 5 + 3 * VALUE_BYTES);
        drop(small);
        let heaviest = weight_at_most(REQUEST_BYTES_MAX);
        let mut large: Vec<_> =
            std::iter::from_fn(|| budget.large.try_acquire(&subject, heaviest)).collect();
        assert!(large.len() > 1);
        assert!(budget.hold(&Text::of("{}"), None).await.is_some());
        let last = large.pop();
        drop(large);
        let text = Text::of(vec![b'x'; 100_000]);
        let _share = budget.hold(&text, last).await.unwrap();
        let taken = REQUESTS_HELD_BYTES_MAX - budget.large.free();
        assert_eq!(taken, 100_000 + VALUE_BYTES);
    }
}
