//! Wakes a thread of the background, and survives its panics.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use loci_core::{Error, Result};

/// Signals the thread that waits for it; a signal without a waiting thread counts for the next
/// wait.
#[derive(Debug, Default)]
pub struct Wakeup {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Wakeup {
    /// Wakes the waiting threads.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }

    /// Waits for a signal, at most that long; returns true if there was one.
    pub fn wait(&self, timeout: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ringing
            .wait_timeout_while(rung, timeout, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}

/// Runs background work. The message of a panic may quote contents, so it goes no further than the
/// panic hook.
///
/// # Errors
/// The errors of the work; `internal` if it panics.
pub fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // No state is left half changed: locks are taken over from a thread that panicked, and the
    // state that they guard is valid at every line; a commit of the store is atomic.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Error::internal("the work panicked; please report this")))
}
