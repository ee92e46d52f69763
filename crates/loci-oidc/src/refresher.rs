//! The thread that refreshes the keys.

use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loci_core::{Error, Result};

use crate::keys::Keys;

/// The longest wait after a failed fetch.
const BACKOFF_MAX: Duration = Duration::from_mins(1);
/// The longest wait for a running fetch at the end, which may take as long as the provider's
/// timeout.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// Fetches the keys at once and then at intervals, sooner after a failure, until it is dropped. A
/// fetch that is running then goes on to its own timeout.
#[must_use = "dropping it ends the refreshing"]
pub struct Refresher {
    /// Never sends: the thread ends when this is dropped.
    stop: Option<Sender<()>>,
    /// Receives nothing: this closes when the first fetch has ended.
    fetched: Receiver<()>,
    /// Receives nothing: this closes when the thread has ended.
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Refresher {
    pub(crate) fn start(keys: Arc<Keys>, refresh: Duration, backoff: Duration) -> Result<Self> {
        let ((stop, stopped), (fetching, fetched), (ending, ended)) =
            (channel(), channel(), channel());
        let run = move || {
            let _ending = ending;
            keep_fresh(&keys, fetching, &stopped, pace(refresh, backoff));
        };
        let thread = thread::Builder::new()
            .name("identity provider".to_owned())
            .spawn(run)
            .map_err(|error| {
                Error::internal(format!(
                    "there is no thread to fetch the identity provider's keys: {error}"
                ))
            })?;
        Ok(Refresher {
            stop: Some(stop),
            fetched,
            ended,
            thread: Some(thread),
        })
    }

    /// Waits until the first fetch has succeeded or failed, for at most this time. A server that
    /// starts before that has to refuse valid tokens.
    pub fn wait_for_first_fetch(&self, timeout: Duration) {
        let _closed_or_late = self.fetched.recv_timeout(timeout);
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        self.stop = None;
        if self.ended.recv_timeout(END_TIMEOUT) == Err(RecvTimeoutError::Disconnected)
            && let Some(thread) = self.thread.take()
        {
            let _panicked = thread.join();
        }
    }
}

fn keep_fresh(
    keys: &Keys,
    fetching: Sender<()>,
    stopped: &Receiver<()>,
    mut wait_after: impl FnMut(bool) -> Duration,
) {
    let mut first = Some(fetching);
    loop {
        // A failure was logged when it started.
        let has_failed = keys.refresh().is_err();
        drop(first.take());
        if stopped.recv_timeout(wait_after(has_failed)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
}

/// Returns a function from the success of a fetch to the wait after it, which doubles from one
/// failure to the next.
fn pace(refresh: Duration, backoff: Duration) -> impl FnMut(bool) -> Duration {
    let longest = BACKOFF_MAX.min(refresh);
    let shortest = backoff.min(longest);
    let mut next = shortest;
    move |has_failed| {
        if has_failed {
            let doubled = longest.min(2 * next);
            mem::replace(&mut next, doubled)
        } else {
            next = shortest;
            refresh
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_followed_up_sooner_and_ever_less_so() {
        // Refresh, backoff, and the waits in seconds after a success, eight failures, a success and
        // a failure.
        let rows = [
            (600, 1, [600, 1, 2, 4, 8, 16, 32, 60, 60, 600, 1]),
            (
                86_400,
                45,
                [86_400, 45, 60, 60, 60, 60, 60, 60, 60, 86_400, 45],
            ),
            (5, 1, [5, 1, 2, 4, 5, 5, 5, 5, 5, 5, 1]),
            (1, 7, [1; 11]),
        ];
        for (refresh, backoff, waits) in rows {
            let wait_after = pace(Duration::from_secs(refresh), Duration::from_secs(backoff));
            let failures = (0..waits.len()).map(|fetch| fetch % 9 != 0);
            assert_eq!(
                failures.map(wait_after).collect::<Vec<_>>(),
                waits.map(Duration::from_secs),
                "{refresh}"
            );
        }
        // A backoff may be of any length.
        assert_eq!(
            pace(Duration::from_mins(10), Duration::MAX)(true),
            BACKOFF_MAX
        );
    }
}
