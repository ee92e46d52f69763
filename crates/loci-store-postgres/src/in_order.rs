//! Futures that start one after the other.

use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{MaybeDone, maybe_done, poll_fn};

/// Waits for all of these, and polls each in their order before it returns. A statement is sent when
/// it is polled first, and none may come after the commit that follows them; `join_all` makes no such
/// promise of more than 30.
pub(crate) async fn all_in_order<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<Pin<Box<MaybeDone<F>>>> =
        futures.map(|future| Box::pin(maybe_done(future))).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for future in &mut all {
            is_done &= future.as_mut().poll(context).is_ready();
        }
        if is_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    all.iter_mut()
        .filter_map(|future| future.as_mut().take_output())
        .collect()
}
