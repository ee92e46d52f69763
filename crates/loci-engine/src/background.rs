//! When background work has something to do, and what it remembers from round to round.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use loci_core::Result;
use uuid::Uuid;

use crate::Engine;

/// Seconds that a lease on a kind of background work lasts if the process that has it ends.
const LEASE_SECONDS: i64 = 60;

/// Rings for the thread that waits for it; a ring while nobody waits counts for the next wait.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Bell {
    /// Wakes whoever waits.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }

    /// Waits for a ring, at most that long; says whether there was one.
    pub fn wait(&self, timeout: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ringing.wait_timeout_while(rung, timeout, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}

/// What the rounds of one engine remember.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Names this engine among all that work on the store.
    holder: String,
    /// How many memories without embedding the next round of maintenance passes over, because the
    /// model refused them.
    pub(crate) refused: AtomicUsize,
    /// Whether the enricher failed the last time.
    pub(crate) is_enricher_failing: AtomicBool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds {
            holder: Uuid::now_v7().to_string(),
            refused: AtomicUsize::new(0),
            is_enricher_failing: AtomicBool::new(false),
        }
    }
}

impl Engine {
    /// Does work that one engine at a time should do, under the lease of that name; none if
    /// another one has it.
    ///
    /// # Errors
    /// Those of the work; `unavailable` if the store cannot be written.
    pub(crate) fn under_lease<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let (holder, now) = (&self.rounds.holder, self.now());
        if !self.store.lease(name, holder, now, now.plus_seconds(LEASE_SECONDS))? {
            return Ok(None);
        }
        let done = work();
        let now = self.now();
        let given_back = self.store.lease(name, holder, now, now);
        let done = done?;
        given_back.map(|_| Some(done))
    }
}
