//! Timestamps and clocks.

use std::time::Duration;

/// A timestamp: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

    /// The earliest timestamp.
    pub const MIN: Timestamp = Timestamp(i64::MIN);

    /// Creates a timestamp from microseconds since 1970.
    pub const fn from_microseconds(microseconds: i64) -> Self {
        Timestamp(microseconds)
    }

    /// Returns the microseconds since 1970.
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// Adds a number of seconds, saturating on overflow.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Timestamp(
            self.0
                .saturating_add(seconds.saturating_mul(Self::MICROSECONDS_PER_SECOND)),
        )
    }

    /// Returns the days since `earlier` with fractions; negative if `earlier` is later.
    pub fn days_since(self, earlier: Timestamp) -> f64 {
        const MICROSECONDS_PER_DAY: f64 = 86_400_000_000.0;
        self.0.saturating_sub(earlier.0) as f64 / MICROSECONDS_PER_DAY
    }
}

/// A source of the current time, so that tests can set it.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns the time since an arbitrary start, from a clock that only goes forward at the speed
    /// of real time, even if the system clock is set in between. The default uses `now`, which
    /// suits a clock that is never set.
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now().microseconds().max(0).cast_unsigned())
    }
}
