//! The clock that everything else asks.

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
use std::time::Instant;
use std::time::{Duration, SystemTime};

use loci_core::{Clock, Timestamp};

/// The clock of this machine.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that everything else asks"
        )]
        let now = SystemTime::now();
        let since_1970 = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_microseconds(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
    }

    /// Returns the time since the machine was started, including sleep.
    #[cfg(target_os = "linux")]
    fn monotonic(&self) -> Duration {
        let since_start = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        since_start.try_into().unwrap_or_default()
    }

    /// Returns the time since the machine was started, including sleep.
    #[cfg(target_vendor = "apple")]
    fn monotonic(&self) -> Duration {
        let since_start = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        since_start.try_into().unwrap_or_default()
    }

    /// Returns the time since the first call.
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn monotonic(&self) -> Duration {
        static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        FIRST.get_or_init(Instant::now).elapsed()
    }
}
