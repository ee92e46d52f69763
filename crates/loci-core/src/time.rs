//! Time as a number, and where it comes from.

use std::time::Duration;

/// A moment: microseconds since 1970-01-01T00:00:00Z, leap seconds ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

    /// Before everything.
    pub const MIN: Timestamp = Timestamp(i64::MIN);

    /// From microseconds since 1970.
    pub const fn from_microseconds(microseconds: i64) -> Self {
        Timestamp(microseconds)
    }

    /// Microseconds since 1970.
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// This moment moved by a number of seconds, at the ends of the range where it would overflow.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Timestamp(
            self.0
                .saturating_add(seconds.saturating_mul(Self::MICROSECONDS_PER_SECOND)),
        )
    }

    /// Days from `earlier` to this moment, fractional; negative if `earlier` is later.
    pub fn days_since(self, earlier: Timestamp) -> f64 {
        const MICROSECONDS_PER_DAY: f64 = 86_400_000_000.0;
        self.0.saturating_sub(earlier.0) as f64 / MICROSECONDS_PER_DAY
    }
}

/// Where the time comes from, so that tests can move it.
pub trait Clock: Send + Sync {
    /// The moment now.
    fn now(&self) -> Timestamp;

    /// The time since some moment, by a clock that only ever goes on, and as fast as time does:
    /// what passed between two looks at it did pass, however `now` was set meanwhile. One that
    /// nothing sets needs no other than `now`.
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now().microseconds().max(0).cast_unsigned())
    }
}
