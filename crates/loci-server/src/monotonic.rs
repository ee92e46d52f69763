//! A monotonic clock for rates and pauses, which tests can control.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Measures the time since some fixed moment; it never goes back, even if the system date does.
#[derive(Clone)]
pub struct MonotonicTime(Arc<dyn Fn() -> Duration + Send + Sync>);

impl MonotonicTime {
    /// Returns a clock that reads the time from this function.
    pub fn new(elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        MonotonicTime(Arc::new(elapsed))
    }

    pub(crate) fn now(&self) -> Duration {
        (self.0)()
    }
}

impl Default for MonotonicTime {
    fn default() -> Self {
        let start = Instant::now();
        MonotonicTime::new(move || start.elapsed())
    }
}

impl fmt::Debug for MonotonicTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("MonotonicTime")
            .field(&self.now())
            .finish()
    }
}

impl governor::clock::Clock for MonotonicTime {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.now()
    }
}
