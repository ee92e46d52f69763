//! Limits concurrent inferences to one per core, regardless of the number of threads.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lends cores by number. A caller waits while all are lent.
pub(crate) struct Cores {
    limit: usize,
    idle: Mutex<Vec<usize>>,
    returned: Condvar,
}

impl Cores {
    /// Creates as many as the process may use.
    pub(crate) fn available() -> Self {
        Cores::limited(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn limited(limit: usize) -> Self {
        // The lowest number is lent first, so that a lone caller always gets the one with warm
        // caches.
        Cores {
            limit,
            idle: Mutex::new((0..limit).rev().collect()),
            returned: Condvar::new(),
        }
    }

    /// Returns the number of cores.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Waits for a core and takes it until the guard is dropped.
    pub(crate) fn take(&self) -> Core<'_> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(number) = idle.pop() {
                return Core {
                    cores: self,
                    number,
                };
            }
            idle = self
                .returned
                .wait(idle)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A lent core.
pub(crate) struct Core<'a> {
    cores: &'a Cores,
    number: usize,
}

impl Core<'_> {
    /// Returns its number: below the limit, and unique until the guard is dropped.
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        self.cores
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.number);
        self.cores.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn never_lends_a_core_twice() {
        let cores = Cores::limited(2);
        let borrowers = [const { AtomicUsize::new(0) }; 2];
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let core = cores.take();
                        assert_eq!(borrowers[core.number()].fetch_add(1, Ordering::SeqCst), 0);
                        std::hint::black_box((0..1000).sum::<u64>());
                        borrowers[core.number()].fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(cores.idle.into_inner().unwrap().len(), 2);
    }

    #[test]
    fn a_lone_caller_keeps_its_core() {
        let cores = Cores::limited(3);
        let numbers: Vec<usize> = (0..5).map(|_| cores.take().number()).collect();
        assert_eq!(numbers, [0; 5]);
    }
}
