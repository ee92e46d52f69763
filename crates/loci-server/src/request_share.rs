//! Limits the memory of requests that are read but not yet answered.
//!
//! The body of a request exists in several copies, as bytes and as values, and values take far more
//! memory than their bytes: so each request takes a share of a budget by its weight.

use std::sync::Arc;

use loci_admission::{Permit, Pool, Subject};
use loci_core::limits::{REQUEST_VALUES_MAX, REQUESTS_HELD_BYTES_MAX};

use crate::message::Text;

/// The bytes that one value takes in memory.
const VALUE_BYTES: usize = size_of::<serde_json::Value>();

/// The share of the budget that one request holds until this is dropped.
pub(crate) struct RequestShare(#[expect(dead_code, reason = "held, not read")] Permit);

/// The budget of one process. Small requests have a separate part, so that slow senders of large
/// ones block no other client; of each part, one subject gets three quarters.
pub(crate) struct RequestBudget {
    small: Pool,
    large: Arc<Pool>,
}

impl RequestBudget {
    pub(crate) fn new() -> Self {
        RequestBudget {
            small: Pool::shared(REQUESTS_HELD_BYTES_MAX),
            large: Arc::new(Pool::shared(REQUESTS_HELD_BYTES_MAX)),
        }
    }

    /// Returns the part for large requests, whose permits are bytes.
    pub(crate) fn large(&self) -> &Arc<Pool> {
        &self.large
    }

    /// Takes a share for a request of a subject that was read; `None` once the process ends. A large
    /// one was read with a permit, which is shrunk to its weight.
    pub(crate) async fn hold(
        &self,
        request: &Text<impl AsRef<[u8]>>,
        subject: &Subject,
        permit: Option<Permit>,
    ) -> Option<RequestShare> {
        let weight = weight(request.len(), request.values());
        if let Some(mut permit) = permit {
            permit.shrink(weight);
            return Some(RequestShare(permit));
        }
        let permit = self.small.acquire(subject, weight).await;
        permit.map(RequestShare)
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
        self.hold(line, subject, permit).await
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
        assert!(3 * heaviest <= REQUESTS_HELD_BYTES_MAX, "{heaviest}");
    }

    #[tokio::test]
    async fn a_request_weighs_its_bytes_and_its_values_and_slow_large_ones_hold_up_no_small_one() {
        let budget = RequestBudget::new();
        let subject = Subject::network(None);
        let small = budget
            .hold(&Text::of("[1,2]"), &subject, None)
            .await
            .unwrap();
        let taken = REQUESTS_HELD_BYTES_MAX - budget.small.free();
        assert_eq!(taken, 5 + 3 * VALUE_BYTES);
        drop(small);
        let heaviest = weight_at_most(REQUEST_BYTES_MAX);
        let mut large: Vec<_> =
            std::iter::from_fn(|| budget.large.try_acquire(&subject, heaviest)).collect();
        assert!(large.len() > 1);
        assert!(budget.hold(&Text::of("{}"), &subject, None).await.is_some());
        let last = large.pop();
        drop(large);
        let text = Text::of(vec![b'x'; 100_000]);
        let _share = budget.hold(&text, &subject, last).await.unwrap();
        let taken = REQUESTS_HELD_BYTES_MAX - budget.large.free();
        assert_eq!(taken, 100_000 + VALUE_BYTES);
    }

    #[tokio::test]
    async fn small_requests_of_one_subject_leave_room_for_others() {
        let budget = RequestBudget::new();
        let [greedy, other] = ["192.0.2.1", "192.0.2.2"]
            .map(|address| Subject::network(Some(address.parse().unwrap())));
        let text = Text::of(vec![b'x'; 2 << 20]);
        let mut held = Vec::new();
        while let Some(share) = at_once(budget.hold(&text, &greedy, None)).await {
            held.push(share);
        }
        assert!(held.len() > 1);
        assert!(at_once(budget.hold(&text, &other, None)).await.is_some());
    }

    /// Returns the share if there is no need to wait for it.
    async fn at_once(share: impl Future<Output = Option<RequestShare>>) -> Option<RequestShare> {
        tokio::select! {
            biased;
            share = share => share,
            () = std::future::ready(()) => None,
        }
    }
}
