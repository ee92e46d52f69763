use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::subject::Subject;

/// Subjects that are known before the ones without a permit are forgotten.
const KNOWN_MAX: usize = 1_024;
/// The requests of one subject that wait where each holds memory while it waits.
const WAITING_MAX: usize = 16;

/// Permits that subjects share.
///
/// A subject waits for its own part first and then, with at most as many of its other requests,
/// for the pool. So a request of another subject waits behind a bounded number of a greedy one's,
/// whatever that one sends.
#[derive(Debug)]
pub struct Pool {
    all: Arc<Semaphore>,
    /// The permits that one subject may hold.
    each: usize,
    parts: Mutex<HashMap<Subject, Part>>,
}

/// The part of a subject.
#[derive(Debug, Clone)]
struct Part {
    permits: Arc<Semaphore>,
    /// Places of requests that wait, as [`Pool::acquire_in_queue`] does.
    queue: Arc<Semaphore>,
}

/// Permits that a subject holds until this is dropped.
#[derive(Debug)]
pub struct Permit {
    part: OwnedSemaphorePermit,
    all: OwnedSemaphorePermit,
}

/// Returns the part of so many permits that one subject may hold where no other part is chosen:
/// three quarters, rounded up.
pub const fn usual_share(all: usize) -> usize {
    all - all / 4
}

impl Pool {
    /// Returns a pool of so many permits, of which one subject may hold the
    /// [usual share](usual_share).
    pub fn shared(all: usize) -> Self {
        Pool::new(all, usual_share(all))
    }

    /// Returns a pool of so many permits, of which one subject may hold `each`, clamped to 1 to
    /// `all`.
    pub fn new(all: usize, each: usize) -> Self {
        Pool {
            all: Arc::new(Semaphore::new(all)),
            each: each.clamp(1, all.max(1)),
            parts: Mutex::default(),
        }
    }

    /// Waits for permits: at most as many as one subject may hold, so a larger number counts as
    /// that. `None` once the pool is closed.
    pub async fn acquire(&self, subject: &Subject, permits: usize) -> Option<Permit> {
        let count = self.count(permits);
        let part = self.part(subject).permits;
        let part = part.acquire_many_owned(count).await.ok()?;
        let all = Arc::clone(&self.all).acquire_many_owned(count).await.ok()?;
        Some(Permit { part, all })
    }

    /// Does the same for a request that holds memory while it waits, of which one subject can have
    /// 16 that wait. `None` beyond that as well.
    pub async fn acquire_in_queue(&self, subject: &Subject, permits: usize) -> Option<Permit> {
        let _place = self.part(subject).queue.try_acquire_owned().ok()?;
        self.acquire(subject, permits).await
    }

    /// Takes permits if they are free now.
    pub fn try_acquire(&self, subject: &Subject, permits: usize) -> Option<Permit> {
        let count = self.count(permits);
        let part = self.part(subject).permits;
        let part = part.try_acquire_many_owned(count).ok()?;
        let all = Arc::clone(&self.all).try_acquire_many_owned(count).ok()?;
        Some(Permit { part, all })
    }

    /// Returns the number of free permits.
    pub fn free(&self) -> usize {
        self.all.available_permits()
    }

    fn count(&self, permits: usize) -> u32 {
        u32::try_from(permits.min(self.each)).unwrap_or(u32::MAX)
    }

    fn part(&self, subject: &Subject) -> Part {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= KNOWN_MAX {
            // The others are referred to by a permit, or by a request that waits for one.
            parts.retain(|_, part| {
                Arc::strong_count(&part.permits) > 1 || Arc::strong_count(&part.queue) > 1
            });
        }
        let new = || Part {
            permits: Arc::new(Semaphore::new(self.each)),
            queue: Arc::new(Semaphore::new(WAITING_MAX)),
        };
        parts.entry(subject.clone()).or_insert_with(new).clone()
    }
}

impl Permit {
    /// Gives back all permits but so many.
    pub fn shrink(&mut self, permits: usize) {
        for held in [&mut self.part, &mut self.all] {
            let spare = held.num_permits().saturating_sub(permits);
            drop(held.split(spare));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Subject {
        Subject::User(loci_core::Space::default(), name.to_owned())
    }

    #[tokio::test]
    async fn a_greedy_subject_keeps_out_no_other() {
        let pool = Arc::new(Pool::new(4, 3));
        let greedy = user("greedy");
        let held: Vec<_> = std::iter::from_fn(|| pool.try_acquire(&greedy, 1)).collect();
        assert_eq!((held.len(), pool.free()), (3, 1));
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let (pool, greedy) = (Arc::clone(&pool), greedy.clone());
                tokio::spawn(async move { pool.acquire(&greedy, 1).await })
            })
            .collect();
        tokio::task::yield_now().await;
        let other = pool.acquire(&user("other"), 1).await;
        assert!(other.is_some() && pool.try_acquire(&user("third"), 1).is_none());
        for task in waiting {
            task.abort();
        }
    }

    #[tokio::test]
    async fn few_requests_of_a_subject_wait_with_memory() {
        let pool = Arc::new(Pool::new(4, 3));
        let greedy = user("greedy");
        let _held = pool.acquire(&greedy, 3).await;
        let waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| {
                let (pool, greedy) = (Arc::clone(&pool), greedy.clone());
                tokio::spawn(async move { pool.acquire_in_queue(&greedy, 1).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(pool.acquire_in_queue(&greedy, 1).await.is_none());
        assert!(pool.acquire_in_queue(&user("other"), 1).await.is_some());
        for task in waiting {
            task.abort();
        }
    }

    #[tokio::test]
    async fn what_is_not_needed_is_given_back_and_idle_subjects_are_forgotten() {
        let pool = Pool::new(100, 60);
        let mut held = pool.acquire(&user("ann"), 1_000).await.unwrap();
        assert_eq!(pool.free(), 40);
        held.shrink(10);
        assert_eq!(pool.free(), 90);
        assert!(pool.try_acquire(&user("ann"), 51).is_none());
        for number in 0..3 * KNOWN_MAX {
            drop(pool.acquire(&user(&number.to_string()), 1).await);
        }
        let known = pool.parts.lock().unwrap().len();
        assert!(known <= KNOWN_MAX, "{known}");
        assert!(pool.try_acquire(&user("ann"), 51).is_none());
    }
}
