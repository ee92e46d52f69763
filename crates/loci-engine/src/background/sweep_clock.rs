//! The trust of a sweep in the clock: permanently removed records do not come back when the clock
//! is corrected.
//!
//! The store keeps the latest trusted time. A clock that is more than a day ahead of the time that
//! has passed since then, or more than a day behind it, counts as having jumped. Until the jump is
//! confirmed, a sweep uses the expected time. A user confirms it
//! ([`Background::trust_clock`](crate::Background::trust_clock)). If no process saw the jump, so
//! that the machine may have been off, it is also confirmed once the clock has continued from there
//! for a day of running time, over any number of processes. Reads use the clock: records that have
//! expired by it are hidden.

use std::sync::PoisonError;
use std::time::Duration;

use loci_core::{ClockJump, Result, SweepClock, Timestamp};

use crate::background::Background;

/// The most seconds by which the clock may differ from the expected time, and the seconds for which
/// it must continue after a jump.
const DAY_SECONDS: i64 = 86_400;
/// Seconds by which the trusted time advances before it is written to the store.
const TRUSTED_NOTED_SECONDS: i64 = 3_600;
/// Seconds for which the clock continues after a jump before that is written to the store.
const STOOD_NOTED_SECONDS: i64 = 600;

/// The knowledge of this process about the clock since its last reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockReading {
    /// The state that was stored then.
    stored: Option<SweepClock>,
    /// The state that was computed then, which may not have been worth a write.
    clock: SweepClock,
    /// The time of the reading, by a monotonic clock.
    at: Duration,
}

impl Background<'_> {
    /// Returns the time by which to remove records permanently. Writes the state of the clock to
    /// the store at most once an hour, or every ten minutes after a jump.
    pub(crate) fn sweep_moment(&self) -> Result<Timestamp> {
        let mut look = self
            .rounds
            .clock_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (now, at) = (self.clock.now(), self.clock.monotonic());
        let stored = self.store.sweep_clock()?;
        // A state that another process has written since then counts, and is as of now.
        let last = look.filter(|last| last.stored == stored);
        let known = last.map_or(stored, |last| Some(last.clock));
        let passed = last.map_or(Duration::ZERO, |last| at.saturating_sub(last.at));
        let (clock, moment) = judge(
            known,
            now,
            i64::try_from(passed.as_secs()).unwrap_or(i64::MAX),
            last.is_some(),
        );
        match (known.and_then(|known| known.jump), clock.jump) {
            (None, Some(_)) => tracing::warn!(
                "the clock is more than a day from where it should be (it jumped, or the store was not used for long or \
                 comes from a backup): what has expired is hidden, but not removed for good; `loci doctor` says until when"
            ),
            (Some(_), None) => tracing::info!("the clock is trusted again"),
            _ => {}
        }
        let mut kept = stored;
        if stored.is_none_or(|stored| is_worth_a_write(stored, clock)) {
            self.store.put_sweep_clock(&clock)?;
            kept = Some(clock);
        }
        *look = Some(ClockReading {
            stored: kept,
            clock,
            at,
        });
        Ok(moment)
    }

    /// Trusts the clock as it is now, because a user says that it is right: records that have
    /// expired by it may be removed.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn trust_clock(&self) -> Result<()> {
        self.store.put_sweep_clock(&SweepClock {
            trusted: self.clock.now(),
            jump: None,
        })
    }
}

/// Returns the state of the clock now, and the time by which to remove records, `passed` seconds
/// after `known`. `is_watched` means that a process has watched the clock all that time.
fn judge(
    known: Option<SweepClock>,
    now: Timestamp,
    passed: i64,
    is_watched: bool,
) -> (SweepClock, Timestamp) {
    let trusted = (
        SweepClock {
            trusted: now,
            jump: None,
        },
        now,
    );
    let Some(SweepClock {
        trusted: last,
        jump,
    }) = known
    else {
        return trusted;
    };
    let expected = last.plus_seconds(passed);
    if is_near(now, expected) {
        return trusted;
    }
    let went_on = jump.filter(|jump| is_near(now, jump.seen.plus_seconds(passed)));
    // Several processes at once do not make time pass faster.
    let stood_since = |jump: ClockJump| {
        Some(jump.stood_seconds? + passed.min(seconds_between(jump.seen, now)).max(0))
    };
    let stood = went_on.map_or((!is_watched).then_some(0), stood_since);
    if stood.is_some_and(|stood| stood >= DAY_SECONDS) {
        return trusted;
    }
    let jump = Some(ClockJump {
        seen: now,
        stood_seconds: stood,
    });
    (
        SweepClock {
            trusted: expected,
            jump,
        },
        now.min(expected),
    )
}

fn is_near(now: Timestamp, expected: Timestamp) -> bool {
    seconds_between(expected, now).abs() <= DAY_SECONDS
}

/// Returns the seconds from one time to another; negative if that is earlier.
fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.microseconds().saturating_sub(from.microseconds()) / 1_000_000
}

fn is_worth_a_write(stored: SweepClock, clock: SweepClock) -> bool {
    let moved = seconds_between(stored.trusted, clock.trusted).abs() >= TRUSTED_NOTED_SECONDS;
    let jumped = match (stored.jump, clock.jump) {
        (None, None) => false,
        (Some(old), Some(new)) => {
            let stood = old.stood_seconds.zip(new.stood_seconds);
            stood.map_or(old.stood_seconds != new.stood_seconds, |(old, new)| {
                new < old || new - old >= STOOD_NOTED_SECONDS
            })
        }
        _ => true,
    };
    moved || jumped
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_microseconds(1_767_225_600_000_000);
    const YEAR: i64 = 365 * DAY_SECONDS;

    #[test]
    fn a_clock_is_trusted_within_a_day_of_what_has_passed() {
        let known = Some(SweepClock {
            trusted: NOON,
            jump: None,
        });
        for (passed, shown, is_trusted) in [
            (0, 0, true),
            (0, DAY_SECONDS, true),
            (0, DAY_SECONDS + 1, false),
            (0, -DAY_SECONDS, true),
            (0, -DAY_SECONDS - 1, false),
            (YEAR, YEAR, true),
            (YEAR, YEAR + DAY_SECONDS + 1, false),
            (YEAR, 0, false),
        ] {
            let now = NOON.plus_seconds(shown);
            let (clock, moment) = judge(known, now, passed, passed > 0);
            let expected = NOON.plus_seconds(passed);
            assert_eq!(clock.jump.is_none(), is_trusted, "{passed} {shown}");
            assert_eq!(
                moment,
                if is_trusted { now } else { now.min(expected) },
                "{passed} {shown}"
            );
            assert_eq!(
                clock.trusted,
                if is_trusted { now } else { expected },
                "{passed} {shown}"
            );
        }
        assert_eq!(
            judge(None, NOON, 0, false),
            (
                SweepClock {
                    trusted: NOON,
                    jump: None
                },
                NOON
            )
        );
        for extreme in [i64::MIN, i64::MAX] {
            let (clock, _) = judge(known, Timestamp::from_microseconds(extreme), 1, true);
            assert!(clock.jump.is_some());
        }
    }

    /// Holds for any number of processes, of which each sees a part of the time.
    #[test]
    fn a_jump_is_confirmed_when_the_clock_has_gone_on_for_a_day() {
        let mut now = NOON.plus_seconds(YEAR);
        let mut clock = judge(
            Some(SweepClock {
                trusted: NOON,
                jump: None,
            }),
            now,
            0,
            false,
        )
        .0;
        for hours in 1..24 {
            // The machine is off for an hour between two processes.
            now = now.plus_seconds(3_600);
            clock = judge(Some(clock), now, 0, false).0;
            now = now.plus_seconds(3_600);
            let moment;
            (clock, moment) = judge(Some(clock), now, 3_600, true);
            assert_eq!(
                clock.jump.map(|jump| jump.stood_seconds),
                Some(Some(hours * 3_600))
            );
            assert_eq!(
                moment,
                NOON.plus_seconds(hours * 3_600),
                "it goes by what has passed"
            );
        }
        now = now.plus_seconds(3_600);
        assert_eq!(
            judge(Some(clock), now, 3_600, true),
            (
                SweepClock {
                    trusted: now,
                    jump: None
                },
                now
            )
        );
        // Another jump, or one back, starts again.
        for seconds in [YEAR, -YEAR / 2] {
            for (is_watched, stood) in [(false, Some(0)), (true, None)] {
                let again = judge(Some(clock), now.plus_seconds(seconds), 3_600, is_watched).0;
                assert_eq!(again.jump.map(|jump| jump.stood_seconds), Some(stood));
            }
        }
        let back = NOON.plus_seconds(23 * 3_600);
        assert_eq!(
            judge(Some(clock), back, 0, false).1,
            back,
            "a clock that was set right is trusted at once"
        );
    }

    #[test]
    fn a_jump_that_was_seen_is_confirmed_by_a_person_alone() {
        let mut now = NOON.plus_seconds(YEAR);
        let mut clock = judge(
            Some(SweepClock {
                trusted: NOON,
                jump: None,
            }),
            now,
            60,
            true,
        )
        .0;
        for days in 1..=10 {
            now = now.plus_seconds(DAY_SECONDS);
            let moment;
            (clock, moment) = judge(Some(clock), now, DAY_SECONDS, days % 2 == 0);
            assert_eq!(
                moment,
                NOON.plus_seconds(60 + days * DAY_SECONDS),
                "a sweep goes by the time that has passed"
            );
            assert_eq!(clock.jump.map(|jump| jump.stood_seconds), Some(None));
        }
    }

    #[test]
    fn two_processes_at_once_do_not_count_twice() {
        let jumped = NOON.plus_seconds(YEAR);
        let clock = SweepClock {
            trusted: NOON,
            jump: Some(ClockJump {
                seen: jumped,
                stood_seconds: Some(100),
            }),
        };
        let (clock, _) = judge(Some(clock), jumped.plus_seconds(10), 600, true);
        assert_eq!(clock.jump.map(|jump| jump.stood_seconds), Some(Some(110)));
    }
}
