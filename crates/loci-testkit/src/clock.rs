use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use loci_core::{Clock, Timestamp};

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct FixedClock {
    microseconds: AtomicI64,
    /// The microseconds by which it jumped, during which no time passed.
    jumped: AtomicI64,
}

impl FixedClock {
    /// Creates a clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        FixedClock {
            microseconds: AtomicI64::new(now.microseconds()),
            jumped: AtomicI64::new(0),
        }
    }

    /// Sets it to `now`, which may be earlier than before.
    pub fn set(&self, now: Timestamp) {
        self.microseconds
            .store(now.microseconds(), Ordering::SeqCst);
    }

    /// Advances it by a number of seconds and returns the new time.
    pub fn advance(&self, seconds: i64) -> Timestamp {
        let now = self.now().plus_seconds(seconds);
        self.set(now);
        now
    }
}

impl FixedClock {
    /// Sets it forward by a number of seconds, though no time passes, and returns the new time.
    pub fn jump(&self, seconds: i64) -> Timestamp {
        let before = self.now();
        let now = self.advance(seconds);
        self.jumped
            .fetch_add(now.microseconds() - before.microseconds(), Ordering::SeqCst);
        now
    }
}

impl Default for FixedClock {
    /// Creates a clock that shows 2026-01-01T00:00:00Z.
    fn default() -> Self {
        FixedClock::new(Timestamp::from_microseconds(1_767_225_600_000_000))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(self.microseconds.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        let passed = self.now().microseconds() - self.jumped.load(Ordering::SeqCst);
        Duration::from_micros(passed.max(0).cast_unsigned())
    }
}
