//! What a thread waits for that is told of changes by another one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::events::Change;

/// A burst of changes is over when nothing has changed for so long.
const QUIET: Duration = Duration::from_millis(150);
/// A burst of changes is told of at the latest so long after it began.
const LATEST: Duration = Duration::from_millis(500);

/// Rung at each change, it wakes the one who waits once for a burst of them.
#[derive(Debug, Default)]
pub struct Bell {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    burst: Option<Burst>,
    is_stopped: bool,
    gives_up: bool,
}

/// Changes that were not told of yet.
#[derive(Debug, Clone, Copy)]
struct Burst {
    first: Instant,
    last: Instant,
    change: Change,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// There will be no more.
    Stop,
    /// Another process is to watch.
    GiveUp,
    /// A burst of changes is over; of its kinds, the greatest.
    Rung(Change),
    /// It is the time that was waited for.
    Time,
}

impl Bell {
    /// Notes a change.
    pub fn ring(&self, change: Change) {
        let mut state = self.lock();
        state.ring(change, Instant::now());
        self.changed.notify_all();
    }

    /// Ends this wait and all later ones.
    pub fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Ends the next wait, or the one that goes on.
    pub fn give_up(&self) {
        self.lock().gives_up = true;
        self.changed.notify_all();
    }

    /// Waits until the end of a burst of changes, a time, or a wish of this process.
    pub fn wait(&self, until: Instant) -> Wake {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            match state.wake(now, until) {
                Ok(wake) => return wake,
                Err(next) => {
                    let waited = self
                        .changed
                        .wait_timeout(state, next.saturating_duration_since(now));
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ring(&mut self, change: Change, now: Instant) {
        let burst = self.burst.get_or_insert(Burst {
            first: now,
            last: now,
            change,
        });
        burst.last = now;
        burst.change = burst.change.max(change);
    }

    /// What there is to wake up for, or when to look again.
    fn wake(&mut self, now: Instant, until: Instant) -> Result<Wake, Instant> {
        if self.is_stopped {
            return Ok(Wake::Stop);
        }
        if std::mem::take(&mut self.gives_up) {
            return Ok(Wake::GiveUp);
        }
        if until <= now {
            return Ok(Wake::Time);
        }
        let end = |burst: &Burst| (burst.last + QUIET).min(burst.first + LATEST);
        match self.burst.take_if(|burst| end(burst) <= now) {
            Some(burst) => Ok(Wake::Rung(burst.change)),
            None => Err(self
                .burst
                .as_ref()
                .map_or(until, |burst| end(burst).min(until))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_is_over_when_it_is_quiet_or_lasts_too_long() {
        let rows: [(&[u64], u64); 4] = [
            (&[0], 150),
            (&[0, 100], 250),
            (&[0, 149, 298], 448),
            (&[0, 140, 280, 420, 490], 500),
        ];
        for (rings, end) in rows {
            let start = Instant::now();
            let mut state = State::default();
            for at in rings {
                state.ring(Change::Notes, after(start, *at));
            }
            let until = after(start, 10_000);
            assert_eq!(
                state.wake(after(start, end - 1), until),
                Err(after(start, end)),
                "{rings:?}"
            );
            assert_eq!(
                state.wake(after(start, end), until),
                Ok(Wake::Rung(Change::Notes)),
                "{rings:?}"
            );
            assert_eq!(
                state.wake(after(start, end), until),
                Err(until),
                "a burst is told of once"
            );
        }
    }

    #[test]
    fn of_several_kinds_the_greatest_counts() {
        let start = Instant::now();
        let mut state = State::default();
        for change in [Change::Notes, Change::Folders, Change::Notes] {
            state.ring(change, start);
        }
        assert_eq!(
            state.wake(after(start, 150), after(start, 200)),
            Ok(Wake::Rung(Change::Folders))
        );
    }

    #[test]
    fn neither_time_nor_stop_waits_for_the_end_of_a_burst() {
        let start = Instant::now();
        let mut state = State::default();
        state.ring(Change::Notes, start);
        assert_eq!(state.wake(start, after(start, 50)), Err(after(start, 50)));
        assert_eq!(
            state.wake(after(start, 50), after(start, 50)),
            Ok(Wake::Time)
        );
        state.is_stopped = true;
        assert_eq!(state.wake(start, after(start, 50)), Ok(Wake::Stop));
        let bell = Bell::default();
        bell.stop();
        assert_eq!(bell.wait(after(start, 3_600_000)), Wake::Stop);
    }
}
