//! A value that takes much memory, and is dropped when it was not used for a while.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Result;

/// A value that its first use loads, and that is dropped a time after its last use. A thread waits
/// for that, from the load to the end of the value.
pub(crate) struct Idle<T> {
    shared: Arc<SharedState<T>>,
    kept_for: Duration,
}

struct SharedState<T> {
    state: Mutex<State<T>>,
    /// Told when the owner is dropped.
    ended: Condvar,
}

struct State<T> {
    value: Option<Arc<T>>,
    used: Instant,
    has_ended: bool,
}

impl<T> SharedState<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the value was not used for a time, and drops it.
    fn drop_when_idle(&self, kept_for: Duration) {
        let mut state = self.state();
        while !state.has_ended {
            let left = kept_for.saturating_sub(state.used.elapsed());
            // Work that holds the value uses it.
            let is_held = state
                .value
                .as_ref()
                .is_some_and(|value| Arc::strong_count(value) > 1);
            let left = if left.is_zero() && is_held {
                kept_for
            } else {
                left
            };
            if left.is_zero() {
                break;
            }
            let waited = self.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.value = None;
    }
}

impl<T: Send + Sync + 'static> Idle<T> {
    pub(crate) fn new(kept_for: Duration) -> Self {
        let state = State {
            value: None,
            used: Instant::now(),
            has_ended: false,
        };
        Idle {
            shared: Arc::new(SharedState {
                state: Mutex::new(state),
                ended: Condvar::new(),
            }),
            kept_for,
        }
    }

    /// Returns the value, which is loaded if it is absent. Concurrent callers wait for it.
    ///
    /// # Errors
    /// The errors of `load`; the next call tries again.
    pub(crate) fn get_or_load(&self, load: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut state = self.shared.state();
        state.used = Instant::now();
        if let Some(value) = &state.value {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(load()?);
        state.used = Instant::now();
        let (shared, kept_for) = (Arc::clone(&self.shared), self.kept_for);
        let waiting = thread::Builder::new().name("loci-idle".to_owned());
        // Without a thread that drops it, it is not kept.
        if waiting
            .spawn(move || shared.drop_when_idle(kept_for))
            .is_ok()
        {
            state.value = Some(Arc::clone(&value));
        }
        Ok(value)
    }
}

impl<T> Drop for Idle<T> {
    fn drop(&mut self) {
        self.shared.state().has_ended = true;
        self.shared.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_value_is_dropped_when_it_is_idle_and_loaded_again() {
        let loads = AtomicUsize::new(0);
        let idle = Idle::new(Duration::from_millis(20));
        let get = || {
            idle.get_or_load(|| {
                loads.fetch_add(1, Ordering::SeqCst);
                Ok("value")
            })
            .unwrap()
        };
        let first = get();
        let weak = Arc::downgrade(&first);
        assert!(Arc::ptr_eq(&first, &get()), "it is kept");
        assert_eq!(loads.load(Ordering::SeqCst), 1);
        drop(first);
        // The thread lets go of the value last.
        while weak.upgrade().is_some() {
            thread::yield_now();
        }
        get();
        assert_eq!(loads.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_value_that_is_held_stays() {
        let idle = Idle::new(Duration::from_millis(1));
        let held = idle.get_or_load(|| Ok(1)).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {
            thread::yield_now();
        }
        assert!(Arc::ptr_eq(&held, &idle.get_or_load(|| Ok(2)).unwrap()));
    }

    #[test]
    fn a_failed_load_is_tried_again() {
        let idle = Idle::new(Duration::from_mins(1));
        let failed = idle.get_or_load(|| Err(loci_core::Error::unavailable("not now")));
        assert!(failed.map(|_: Arc<i32>| ()).is_err());
        assert_eq!(*idle.get_or_load(|| Ok(1)).unwrap(), 1);
    }
}
