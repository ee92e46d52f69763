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
//!
//! A second fault must not undo what protects from the first one:
//!
//! - After a jump that was seen, a later one that nobody saw waits for a person, too.
//! - A clock that went back and then returns was wrong before or is wrong now. It is trusted again
//!   once it has continued for a day; until then a sweep goes by the earlier one.
//! - Small steps add up: while a process watches, the trusted time follows the clock by an hour a
//!   day.
//! - A process that saw its clock jump remembers that, also where another machine with the store,
//!   whose clock is right, keeps writing that nothing jumped.

use std::sync::PoisonError;
use std::time::Duration;

use loci_core::{ClockJump, Result, SweepClock, Timestamp};

use crate::background::Background;

/// The most seconds by which the clock may differ from the expected time, and the seconds for which
/// it must continue after a jump.
const DAY_SECONDS: i64 = 86_400;
/// Seconds by which the trusted time advances before it is written to the store.
const TRUSTED_NOTED_SECONDS: i64 = 3_600;
/// A process makes good one second of a difference to the clock in so many seconds.
const SECONDS_PER_CORRECTION: i64 = 24;
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
    /// The time that the clock showed.
    shown: Timestamp,
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
        let seconds_since = |last: ClockReading| {
            i64::try_from(at.saturating_sub(last.at).as_secs()).unwrap_or(i64::MAX)
        };
        let watch = match *look {
            Some(own) if last.is_some() || has_jumped(own, now, seconds_since(own)) => Watch::Whole,
            Some(_) => Watch::Clock,
            None => Watch::No,
        };
        let (clock, moment) = judge(known, now, last.map_or(0, seconds_since), watch);
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
            shown: now,
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

/// What this process has watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// Nothing yet: the machine may have been off.
    No,
    /// The clock, which did not jump. The state is that of another process.
    Clock,
    /// The clock since the known state; or that it jumped.
    Whole,
}

/// Returns whether the clock of this process jumped since its last reading, or did so before and
/// goes on from there.
fn has_jumped(last: ClockReading, now: Timestamp, passed: i64) -> bool {
    let is_steady = is_near(now, last.shown.plus_seconds(passed));
    let was_seen = last
        .clock
        .jump
        .is_some_and(|jump| jump.stood_seconds.is_none());
    !is_steady || was_seen
}

/// Returns the state of the clock now, and the time by which to remove records, `passed` seconds
/// after `known`.
fn judge(
    known: Option<SweepClock>,
    now: Timestamp,
    passed: i64,
    watch: Watch,
) -> (SweepClock, Timestamp) {
    let trusting = |trusted| SweepClock {
        trusted,
        jump: None,
    };
    let Some(SweepClock {
        trusted: last,
        jump,
    }) = known
    else {
        return (trusting(now), now);
    };
    let expected = last.plus_seconds(passed);
    let distrusting = |expected: Timestamp, stood_seconds| {
        let jump = Some(ClockJump {
            seen: now,
            stood_seconds,
        });
        let clock = SweepClock {
            trusted: expected,
            jump,
        };
        (clock, now.min(expected))
    };
    if is_near(now, expected) {
        let went_back = jump.filter(|jump| !is_near(jump.seen, last) && jump.seen < last);
        return match (went_back, watch) {
            (Some(back), _) => distrusting(back.seen.plus_seconds(passed), Some(0)),
            (None, Watch::No) => (trusting(now), now),
            (None, Watch::Clock | Watch::Whole) => {
                let correction_max = passed.max(0) / SECONDS_PER_CORRECTION;
                let correction = seconds_between(expected, now);
                let correction = correction.clamp(-correction_max, correction_max);
                (trusting(expected.plus_seconds(correction)), now)
            }
        };
    }
    let went_on = jump.filter(|jump| is_near(now, jump.seen.plus_seconds(passed)));
    // Several processes at once do not make time pass faster.
    let stood_since = |jump: ClockJump| {
        Some(jump.stood_seconds? + passed.min(seconds_between(jump.seen, now)).max(0))
    };
    let was_seen = jump.is_some_and(|jump| jump.stood_seconds.is_none());
    let is_seen = watch == Watch::Whole || was_seen;
    let stood = went_on.map_or((!is_seen).then_some(0), stood_since);
    if stood.is_some_and(|stood| stood >= DAY_SECONDS) {
        return (trusting(now), now);
    }
    distrusting(expected, stood)
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

    fn watch(is_watched: bool) -> Watch {
        if is_watched { Watch::Whole } else { Watch::No }
    }

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
            let (clock, moment) = judge(known, now, passed, watch(passed > 0));
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
            judge(None, NOON, 0, Watch::No),
            (
                SweepClock {
                    trusted: NOON,
                    jump: None
                },
                NOON
            )
        );
        for extreme in [i64::MIN, i64::MAX] {
            let (clock, _) = judge(
                known,
                Timestamp::from_microseconds(extreme),
                1,
                Watch::Whole,
            );
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
            Watch::No,
        )
        .0;
        for hours in 1..24 {
            // The machine is off for an hour between two processes.
            now = now.plus_seconds(3_600);
            clock = judge(Some(clock), now, 0, Watch::No).0;
            now = now.plus_seconds(3_600);
            let moment;
            (clock, moment) = judge(Some(clock), now, 3_600, Watch::Whole);
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
            judge(Some(clock), now, 3_600, Watch::Whole),
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
                let again = judge(
                    Some(clock),
                    now.plus_seconds(seconds),
                    3_600,
                    watch(is_watched),
                )
                .0;
                assert_eq!(again.jump.map(|jump| jump.stood_seconds), Some(stood));
            }
        }
        let back = NOON.plus_seconds(23 * 3_600);
        assert_eq!(
            judge(Some(clock), back, 0, Watch::No).1,
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
            Watch::Whole,
        )
        .0;
        for days in 1..=10 {
            now = now.plus_seconds(DAY_SECONDS);
            let moment;
            (clock, moment) = judge(Some(clock), now, DAY_SECONDS, watch(days % 2 == 0));
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
        let (clock, _) = judge(Some(clock), jumped.plus_seconds(10), 600, Watch::Whole);
        assert_eq!(clock.jump.map(|jump| jump.stood_seconds), Some(Some(110)));
    }

    /// A step of the clock: the seconds that pass, those by which it is wrong then, and whether a
    /// process watched.
    type Step = (i64, i64, bool);

    /// Two faults one after the other: a sweep never goes beyond the right time by more than the day
    /// that the clock may differ, however long it runs then.
    #[test]
    fn a_second_fault_does_not_undo_the_guard_against_the_first() {
        const HOUR: i64 = 3_600;
        let cases: [(&str, &[Step]); 8] = [
            (
                "seen, then another while nobody watched",
                &[(60, YEAR, true), (60, 2 * YEAR, false)],
            ),
            (
                "seen, then the machine was off for days",
                &[(60, YEAR, true), (3 * DAY_SECONDS, YEAR, false)],
            ),
            (
                "two that are each less than a day",
                &[(60, 20 * HOUR, true), (60, 40 * HOUR, true)],
            ),
            (
                "back, then ahead of where it was",
                &[(60, -YEAR, true), (60, YEAR, true)],
            ),
            (
                "back while nobody watched, then ahead",
                &[(60, -YEAR, false), (60, YEAR, true)],
            ),
            (
                "back, then further back, then ahead",
                &[(60, -YEAR, true), (60, -2 * YEAR, false), (60, YEAR, false)],
            ),
            ("ahead twice", &[(60, YEAR, true), (HOUR, 2 * YEAR, true)]),
            (
                "ahead, set right, ahead again",
                &[(60, YEAR, true), (60, 0, true), (60, YEAR, true)],
            ),
        ];
        for (name, steps) in cases {
            let (mut right, mut wrong) = (NOON, 0);
            let mut clock = trusted(NOON);
            let mut go = |seconds: i64, is_wrong_by: i64, is_watched: bool| {
                right = right.plus_seconds(seconds);
                let passed = if is_watched { seconds } else { 0 };
                let moment;
                let now = right.plus_seconds(is_wrong_by);
                (clock, moment) = judge(Some(clock), now, passed, watch(is_watched));
                assert!(
                    seconds_between(right, moment) <= DAY_SECONDS,
                    "{name}: {clock:?}"
                );
            };
            for (seconds, is_wrong_by, is_watched) in steps {
                go(*seconds, *is_wrong_by, *is_watched);
                wrong = *is_wrong_by;
            }
            for _ in 0..72 {
                go(HOUR, wrong, true);
            }
        }
    }

    fn trusted(trusted: Timestamp) -> SweepClock {
        SweepClock {
            trusted,
            jump: None,
        }
    }

    /// The store was made while the clock was ahead, so that it trusts that.
    #[test]
    fn a_clock_that_was_wrong_at_first_is_not_trusted_when_it_is_wrong_again() {
        let mut clock = trusted(NOON.plus_seconds(YEAR));
        let mut moment;
        (clock, _) = judge(Some(clock), NOON, 60, Watch::Whole);
        (clock, moment) = judge(Some(clock), NOON.plus_seconds(YEAR), 60, Watch::Whole);
        assert_eq!(moment, NOON.plus_seconds(60), "{clock:?}");
        (clock, moment) = judge(Some(clock), NOON.plus_seconds(120), 60, Watch::Whole);
        assert_eq!((clock.jump, moment), (None, NOON.plus_seconds(120)));
        // One that only went back for a while is trusted again after a day.
        let mut now = NOON.plus_seconds(180);
        (clock, _) = judge(Some(clock), NOON.plus_seconds(-YEAR), 60, Watch::Whole);
        for _ in 0..=24 {
            (clock, moment) = judge(Some(clock), now, 3_600, Watch::Whole);
            now = now.plus_seconds(3_600);
        }
        assert_eq!((clock.jump, seconds_between(moment, now)), (None, 3_600));
    }

    /// The clock of one machine jumped, and another with the same store keeps writing that all is
    /// well.
    #[test]
    fn a_jump_that_one_machine_saw_is_not_forgotten_because_of_another() {
        let (jumped, right) = (NOON.plus_seconds(YEAR), trusted(NOON));
        let (clock, _) = judge(Some(right), jumped, 60, Watch::Whole);
        let reading = |clock, shown| ClockReading {
            stored: Some(clock),
            clock,
            at: Duration::ZERO,
            shown,
        };
        assert!(has_jumped(reading(right, NOON), jumped, 60));
        assert!(has_jumped(
            reading(clock, jumped),
            jumped.plus_seconds(60),
            60
        ));
        assert!(!has_jumped(reading(right, NOON), NOON.plus_seconds(60), 60));
        let (again, _) = judge(Some(right), jumped, 0, Watch::Whole);
        assert_eq!(again.jump.map(|jump| jump.stood_seconds), Some(None));
    }
}
