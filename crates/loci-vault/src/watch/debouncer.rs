//! Debounces changes that one thread reports to another.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::events::Change;

/// The time without a change after which a burst of changes is over.
const QUIET: Duration = Duration::from_millis(150);
/// The maximum time between the first change of a burst and its report.
const LATEST: Duration = Duration::from_millis(500);

/// Merges changes and wakes the waiting thread once for each burst.
#[derive(Debug, Default)]
pub struct Debouncer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    burst: Option<Burst>,
    is_stopped: bool,
    gives_up: bool,
}

/// Changes that were not reported yet.
#[derive(Debug, Clone, Copy)]
struct Burst {
    first: Instant,
    last: Instant,
    change: Change,
}

/// The reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The watch has been stopped.
    Stop,
    /// Another process should watch.
    GiveUp,
    /// A burst of changes is over; contains the greatest change.
    Changed(Change),
    /// The given time has been reached.
    Time,
}

impl Debouncer {
    /// Adds a change to the burst.
    pub fn add(&self, change: Change) {
        self.notify(|state| state.add(change, Instant::now()));
    }

    /// Ends this wait and all later ones.
    pub fn stop(&self) {
        self.notify(|state| state.is_stopped = true);
    }

    /// Ends the current wait or the next one.
    pub fn give_up(&self) {
        self.notify(|state| state.gives_up = true);
    }

    /// Waits until the end of a burst of changes, the given time, or a request of this process.
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

    fn notify(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, change: Change, now: Instant) {
        let burst = self.burst.get_or_insert(Burst {
            first: now,
            last: now,
            change,
        });
        burst.last = now;
        burst.change = burst.change.max(change);
    }

    /// Returns the reason to wake up, or the time of the next check.
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
            Some(burst) => Ok(Wake::Changed(burst.change)),
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
        for (changes, end) in rows {
            let start = Instant::now();
            let mut state = State::default();
            for at in changes {
                state.add(Change::Notes, after(start, *at));
            }
            let until = after(start, 10_000);
            assert_eq!(
                state.wake(after(start, end - 1), until),
                Err(after(start, end)),
                "{changes:?}"
            );
            assert_eq!(
                state.wake(after(start, end), until),
                Ok(Wake::Changed(Change::Notes)),
                "{changes:?}"
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
            state.add(change, start);
        }
        assert_eq!(
            state.wake(after(start, 150), after(start, 200)),
            Ok(Wake::Changed(Change::Folders))
        );
    }

    #[test]
    fn neither_time_nor_stop_waits_for_the_end_of_a_burst() {
        let start = Instant::now();
        let mut state = State::default();
        state.add(Change::Notes, start);
        assert_eq!(state.wake(start, after(start, 50)), Err(after(start, 50)));
        assert_eq!(
            state.wake(after(start, 50), after(start, 50)),
            Ok(Wake::Time)
        );
        state.is_stopped = true;
        assert_eq!(state.wake(start, after(start, 50)), Ok(Wake::Stop));
        let debouncer = Debouncer::default();
        debouncer.stop();
        assert_eq!(debouncer.wait(after(start, 3_600_000)), Wake::Stop);
    }
}
