//! Runs independent pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Error, Result};

/// How much lower the priority of [`Priority::Low`] is, as `nice` counts it: beside a thread that
/// wants the whole core, it gets a tenth (sched(7), "The nice value").
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The priority of threads for the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// That of the caller.
    OfCaller,
    /// Other threads of all processes go first. Only Linux gives threads a priority of their own.
    Low,
}

/// Returns the results of `work` for each index below `order.len()`, sorted by index. `order`
/// contains each index once, in the order of their starts; at most `threads` threads take the next
/// one each. The first failure ends the rest.
pub(crate) fn spread<T: Send>(
    order: &[usize],
    threads: usize,
    priority: Priority,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            match work(index) {
                Ok(value) => done.push((index, value)),
                Err(error) => {
                    next.store(order.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let parts = std::thread::scope(|scope| {
        let threads = threads.min(order.len());
        // A thread cannot raise its priority again, so the caller's own does no work at a low one.
        let spawned = match priority {
            Priority::OfCaller => threads.saturating_sub(1),
            Priority::Low => threads,
        };
        let spawn = |_| {
            let helper = std::thread::Builder::new();
            let work = move || {
                lower(priority);
                worker()
            };
            helper.spawn_scoped(scope, work).ok()
        };
        let helpers: Vec<_> = (0..spawned).filter_map(spawn).collect();
        let mut parts = Vec::new();
        // If the system does not grant a thread, the caller's own does the work.
        if helpers.len() < threads.max(1) && (priority == Priority::OfCaller || helpers.is_empty())
        {
            parts.push(worker());
        }
        for helper in helpers {
            let part = helper.join();
            parts.push(
                part.unwrap_or_else(|_| {
                    Err(Error::internal("a thread that embeds texts panicked"))
                }),
            );
        }
        parts.into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut results: Vec<_> = parts.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, value)| value).collect())
}

/// Gives the calling thread its priority. Where the system refuses it, the thread keeps its own.
fn lower(priority: Priority) {
    if priority == Priority::Low {
        // On Linux it is that of a thread, in spite of its name (setpriority(2), "C library/kernel
        // differences").
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(NICENESS);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn results_stand_by_index_whatever_the_order() {
        for (count, threads) in [(0, 4), (1, 4), (7, 1), (100, 8)] {
            let forwards: Vec<usize> = (0..count).collect();
            let backwards: Vec<usize> = (0..count).rev().collect();
            for (order, priority) in [
                (&forwards, Priority::OfCaller),
                (&backwards, Priority::OfCaller),
                (&backwards, Priority::Low),
            ] {
                let doubled = spread(order, threads, priority, |index| Ok(index * 2)).unwrap();
                assert_eq!(
                    doubled,
                    (0..count).map(|index| index * 2).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn work_begins_in_the_order_given_and_stops_at_a_failure() {
        let begun = Mutex::new(Vec::new());
        let failed = spread(&[3, 1, 0, 2], 1, Priority::OfCaller, |index| {
            begun.lock().unwrap().push(index);
            if index == 0 {
                Err(Error::unavailable("0"))
            } else {
                Ok(index)
            }
        });
        assert_eq!(failed.unwrap_err().message, "0");
        assert_eq!(begun.into_inner().unwrap(), [3, 1, 0]);
    }

    #[test]
    fn a_failure_on_any_thread_is_the_result() {
        let order: Vec<usize> = (0..100).collect();
        let failed = spread(&order, 4, Priority::OfCaller, |index| {
            if index == 40 {
                Err(Error::unavailable("40"))
            } else {
                Ok(index)
            }
        });
        assert_eq!(failed.unwrap_err().message, "40");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_at_a_low_priority_leaves_that_of_the_caller() {
        let own = rustix::process::nice(0).unwrap();
        let of_work = spread(&[0, 1], 2, Priority::Low, |_| {
            Ok(rustix::process::nice(0).unwrap())
        });
        let low = (own + NICENESS).min(19);
        assert_eq!(of_work.unwrap(), [low, low]);
        assert_eq!(rustix::process::nice(0).unwrap(), own);
    }
}
