//! At most one inference per core, however many threads call.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rten::ThreadPool;

/// Lends out cores: single-threaded pools, made on demand, at most one per core. Whoever comes
/// when all are lent waits.
pub(crate) struct Cores {
    limit: usize,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Arc<ThreadPool>>,
    made: usize,
}

impl Cores {
    /// As many as the process may use.
    pub(crate) fn available() -> Self {
        Cores::limited(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn limited(limit: usize) -> Self {
        Cores { limit, state: Mutex::default(), returned: Condvar::new() }
    }

    /// How many there are.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Waits for a core and takes it until the guard is dropped.
    pub(crate) fn take(&self) -> Core<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing_free = |state: &mut State| state.idle.is_empty() && state.made == self.limit;
        let mut state = self.returned.wait_while(state, nothing_free).unwrap_or_else(PoisonError::into_inner);
        let pool = state.idle.pop().unwrap_or_else(|| {
            state.made += 1;
            Arc::new(ThreadPool::with_num_threads(1))
        });
        Core { cores: self, pool }
    }
}

/// A core on loan.
pub(crate) struct Core<'a> {
    cores: &'a Cores,
    pool: Arc<ThreadPool>,
}

impl Core<'_> {
    /// Where to run.
    pub(crate) fn pool(&self) -> Arc<ThreadPool> {
        Arc::clone(&self.pool)
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        let mut state = self.cores.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.idle.push(Arc::clone(&self.pool));
        self.cores.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn never_lends_more_than_there_are() {
        let cores = Cores::limited(2);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let core = cores.take();
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        core.pool().run(|| std::hint::black_box((0..1000).sum::<u64>()));
                        running.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 2);
        assert!(cores.state.into_inner().unwrap().made <= 2);
    }
}
