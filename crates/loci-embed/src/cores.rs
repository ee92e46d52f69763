//! Limits concurrent inferences to one per core, regardless of the number of threads.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};

/// Lends cores by number, to callers in the order in which they came. A caller waits while all are
/// lent.
pub(crate) struct Cores {
    queue: Mutex<Queue>,
    /// Wakes all who wait, because only the first of them may take the core.
    changed: Condvar,
}

/// The cores that are idle, and the callers.
struct Queue {
    idle: Vec<usize>,
    /// The number of callers that have come.
    came: u64,
    /// The number of callers that have got a core.
    served: u64,
}

impl Cores {
    /// Creates the cores with these numbers.
    pub(crate) fn new(numbers: Range<usize>) -> Self {
        // The lowest number is lent first, so that a lone caller always gets the one with warm
        // caches.
        Cores {
            queue: Mutex::new(Queue {
                idle: numbers.rev().collect(),
                came: 0,
                served: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a core and takes it until the guard is dropped.
    pub(crate) fn take(&self) -> Core<'_> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let place = queue.came;
        queue.came += 1;
        loop {
            // Who comes late does not pass those who wait: a thread that returns a core to take it
            // again would do so before another one wakes.
            if queue.served == place
                && let Some(number) = queue.idle.pop()
            {
                queue.served += 1;
                if queue.served < queue.came && !queue.idle.is_empty() {
                    self.changed.notify_all();
                }
                return Core {
                    cores: self,
                    number,
                };
            }
            queue = self
                .changed
                .wait(queue)
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
    /// Returns its number, which is unique until the guard is dropped.
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        let mut queue = self
            .cores
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queue.idle.push(self.number);
        if queue.served < queue.came {
            self.cores.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn never_lends_a_core_twice() {
        let cores = Cores::new(0..2);
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
        assert_eq!(cores.queue.into_inner().unwrap().idle.len(), 2);
    }

    #[test]
    fn a_lone_caller_keeps_its_core() {
        let cores = Cores::new(4..7);
        let numbers: Vec<usize> = (0..5).map(|_| cores.take().number()).collect();
        assert_eq!(numbers, [4; 5]);
    }

    #[test]
    fn a_caller_that_returns_its_core_does_not_pass_one_that_waits() {
        let cores = Cores::new(0..1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = cores.take();
            scope.spawn(|| {
                let _core = cores.take();
                order.lock().unwrap().push("waited");
            });
            while cores.queue.lock().unwrap().came < 2 {
                std::thread::yield_now();
            }
            drop(held);
            let _core = cores.take();
            order.lock().unwrap().push("came again");
        });
        assert_eq!(order.into_inner().unwrap(), ["waited", "came again"]);
    }
}
