//! Limits the memory of requests that are read but not yet answered.
//!
//! The body of a request exists in several copies, as bytes and as values, and values take far more
//! memory than their bytes: so each request takes a share of a budget by its weight.

use std::sync::Arc;

use loci_core::limits::{REQUEST_BYTES_MAX, REQUEST_VALUES_MAX, REQUESTS_HELD_BYTES_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::message::Text;

/// The maximum bytes of a request that needs no share of the budget for large ones.
pub(crate) const SMALL_BYTES_MAX: usize = 64 << 10;
/// The bytes that one value takes in memory.
const VALUE_BYTES: usize = size_of::<serde_json::Value>();

/// The share of the budget that one request holds until this is dropped.
pub(crate) type RequestShare = OwnedSemaphorePermit;

/// The budget of one process. Small requests have a separate part, so that slow senders of large
/// ones block no other client.
pub(crate) struct RequestBudget {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl RequestBudget {
    pub(crate) fn new() -> Self {
        let part = || Arc::new(Semaphore::new(REQUESTS_HELD_BYTES_MAX));
        RequestBudget {
            small: part(),
            large: part(),
        }
    }

    /// Takes a share for a request that was read; `None` once the process ends.
    pub(crate) async fn hold(&self, request: &Text<impl AsRef<[u8]>>) -> Option<RequestShare> {
        let part = if request.len() > SMALL_BYTES_MAX {
            &self.large
        } else {
            &self.small
        };
        Arc::clone(part)
            .acquire_many_owned(weight(request.len(), request.values()))
            .await
            .ok()
    }

    /// Takes a share for a large request of at most `bytes_max` bytes; `None` once the process
    /// ends.
    pub(crate) async fn hold_large(&self, bytes_max: usize) -> Option<RequestShare> {
        let bytes_max = bytes_max.min(REQUEST_BYTES_MAX);
        Arc::clone(&self.large)
            .acquire_many_owned(weight(bytes_max, bytes_max / 2))
            .await
            .ok()
    }
}

/// Releases the part of the share that the request did not need.
pub(crate) fn shrink(share: &mut RequestShare, request: &Text<impl AsRef<[u8]>>) {
    let needed = weight(request.len(), request.values()) as usize;
    drop(share.split(share.num_permits().saturating_sub(needed)));
}

/// Returns the bytes of memory that a request takes. A request with too many values is refused
/// before they are built, so its weight counts at most the limit.
fn weight(bytes: usize, values: usize) -> u32 {
    u32::try_from(bytes + VALUE_BYTES * values.min(REQUEST_VALUES_MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_request_has_room() {
        let heaviest = weight(REQUEST_BYTES_MAX, usize::MAX / 2) as usize;
        assert!(4 * heaviest <= REQUESTS_HELD_BYTES_MAX, "{heaviest}");
    }

    #[tokio::test]
    async fn a_request_weighs_its_bytes_and_its_values_and_slow_large_ones_hold_up_no_small_one() {
        let budget = RequestBudget::new();
        let free = |part: &Semaphore| REQUESTS_HELD_BYTES_MAX - part.available_permits();
        let small = budget.hold(&Text::of("[1,2]")).await.unwrap();
        assert_eq!(free(&budget.small), 5 + 3 * VALUE_BYTES);
        drop(small);
        let mut large = Vec::new();
        while budget.large.available_permits()
            >= weight(REQUEST_BYTES_MAX, REQUEST_BYTES_MAX) as usize
        {
            large.push(budget.hold_large(usize::MAX).await.unwrap());
        }
        assert!(budget.hold(&Text::of("{}")).await.is_some());
        let mut last = large.pop().unwrap();
        drop(large);
        shrink(&mut last, &Text::of(vec![b'x'; 100_000]));
        assert_eq!(free(&budget.large), 100_000 + VALUE_BYTES);
    }
}
