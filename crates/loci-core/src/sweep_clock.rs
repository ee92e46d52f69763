//! The trust of a store in the clock before it removes data for good.

use crate::Timestamp;

/// The trusted clock state that is kept between sweeps and shared by all processes of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepClock {
    /// The newest trusted time.
    pub trusted: Timestamp,
    /// An unconfirmed jump of the clock away from the trusted time.
    pub jump: Option<ClockJump>,
}

/// A jump of the clock that is not confirmed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The time that the clock showed at the last check.
    pub seen: Timestamp,
    /// The seconds that the clock has gone on without another jump while a process watched it.
    /// `None` if a process saw the jump happen; then only a person can confirm it.
    pub stood_seconds: Option<i64>,
}
