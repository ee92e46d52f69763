//! Runs independent pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Error, Result};

/// Returns the results of `work` for each index below `order.len()`, sorted by index. `order`
/// contains each index once, in the order of their starts; at most `threads` threads take the next
/// one each. The first failure ends the rest.
pub(crate) fn spread<T: Send>(
    order: &[usize],
    threads: usize,
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
    let parts =
        std::thread::scope(|scope| {
            // If the system does not grant a thread, the caller's own thread does the work.
            let spawned = (1..threads.min(order.len()))
                .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, worker).ok());
            let helpers: Vec<_> = spawned.collect();
            let mut parts = vec![worker()];
            for helper in helpers {
                let part = helper.join();
                parts.push(part.unwrap_or_else(|_| {
                    Err(Error::internal("a thread that embeds texts panicked"))
                }));
            }
            parts.into_iter().collect::<Result<Vec<_>>>()
        })?;
    let mut results: Vec<_> = parts.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, value)| value).collect())
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
            for order in [&forwards, &backwards] {
                let doubled = spread(order, threads, |index| Ok(index * 2)).unwrap();
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
        let failed = spread(&[3, 1, 0, 2], 1, |index| {
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
        let failed = spread(&order, 4, |index| {
            if index == 40 {
                Err(Error::unavailable("40"))
            } else {
                Ok(index)
            }
        });
        assert_eq!(failed.unwrap_err().message, "40");
    }
}
