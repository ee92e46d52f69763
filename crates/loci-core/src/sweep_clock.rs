//! How far a store trusts the clock when it removes for good.

use crate::Timestamp;

/// The trust in the clock that is kept from sweep to sweep, for all processes that sweep one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepClock {
    /// The newest moment that is trusted.
    pub trusted: Timestamp,
    /// A jump of the clock away from it that nothing has confirmed yet.
    pub jump: Option<ClockJump>,
}

/// A jump of the clock that nothing has confirmed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// The moment that the clock showed when it was last looked at.
    pub seen: Timestamp,
    /// Seconds for which the clock has gone on since the jump, without another one, while a process
    /// looked at it. None if a process saw it jump, so that only a person can confirm it.
    pub stood_seconds: Option<i64>,
}
