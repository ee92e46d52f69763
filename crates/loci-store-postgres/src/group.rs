//! Commits of batches, by group commit.
//!
//! A commit locks the row of its space, which makes it the only writer there (`transaction.rs`). So
//! commits of one space take turns, and each waits for round trips and for a flush of the server's
//! disk. Batches that wait for their turn therefore share a transaction:
//!
//! ```text
//! writer A  queue, lead | commit A      | answer
//! writer B     queue, wait              | lead | commit B, C | answer
//! writer C        queue, wait                                | answer
//! ```
//!
//! There is no thread for it: whoever finds no leader commits all that wait, its own batch among
//! them. Each space has a queue of its own, because commits of two spaces lock different rows.
//!
//! **A refusal stays its batch's.** Where one batch is refused, e.g. by a conflict, the transaction
//! is rolled back and the others are tried again without it. Where rows break a constraint, the
//! server does not say whose they are, so each batch is committed by itself.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use loci_core::{Batch, Error, Result, Space};

use crate::batch::{apply, needs};
use crate::failure::{Failure, conflict};
use crate::server::{self, Server};
use crate::transaction::Needs;

/// The most batches of one transaction.
const BATCHES_MAX: usize = 256;

/// The batches that wait, by space.
#[derive(Debug, Default)]
pub(crate) struct Groups(Mutex<HashMap<Space, Arc<Group>>>);

/// The batches of a space.
#[derive(Debug, Default)]
struct Group {
    queue: Mutex<Queue>,
    /// Told when a commit has ended. A writer that waited for it goes on at once, also while the next one
    /// is under way, so that its next batch is there for the one after.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Arc<QueuedBatch>>,
    /// True if a thread commits.
    is_led: bool,
}

/// The turn of the thread that commits; it ends however the commit does.
struct LeaderGuard<'a>(&'a Group);

impl Drop for LeaderGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.queue).is_led = false;
        self.0.ended.notify_all();
    }
}

/// A batch that waits, and its outcome.
#[derive(Debug)]
struct QueuedBatch {
    batch: Batch,
    is_rebuildable: bool,
    since: Instant,
    outcome: Mutex<Option<Result<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Groups {
    /// Commits a batch, together with batches of other threads that wait when its turn comes.
    pub(crate) fn commit(&self, server: &Server, batch: Batch, is_rebuildable: bool) -> Result<()> {
        batch.check()?;
        let group = Arc::clone(lock(&self.0).entry(batch.space.clone()).or_default());
        let own = Arc::new(QueuedBatch {
            batch,
            is_rebuildable,
            since: Instant::now(),
            outcome: Mutex::new(None),
        });
        let mut queue = lock(&group.queue);
        queue.waiting.push_back(Arc::clone(&own));
        loop {
            if let Some(outcome) = lock(&own.outcome).take() {
                return outcome;
            }
            if queue.is_led {
                let ended = group.ended.wait(queue);
                queue = ended.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let number = queue.waiting.len().min(BATCHES_MAX);
            if number == 0 {
                return Err(Error::internal("the commit of this batch broke off"));
            }
            let together: Vec<_> = queue.waiting.drain(..number).collect();
            queue.is_led = true;
            drop(queue);
            let turn = LeaderGuard(&group);
            commit_together(server, &together);
            drop(turn);
            queue = lock(&group.queue);
        }
    }
}

/// Commits batches of one space and notes the outcome of each. A batch that is refused leaves the
/// others as they are.
fn commit_together(server: &Server, together: &[Arc<QueuedBatch>]) {
    let mut left: Vec<&QueuedBatch> = together.iter().map(Arc::as_ref).collect();
    while let Some(&first) = left.first() {
        let space = &first.batch.space;
        let mut all_needs = Needs {
            is_rebuildable: left.iter().all(|waiting| waiting.is_rebuildable),
            ..Needs::default()
        };
        for waiting in &left {
            needs(&waiting.batch, &mut all_needs);
        }
        let refused = Cell::new(None);
        let written = server.write_since(first.since, space, &all_needs, async |transaction| {
            refused.set(None);
            for (number, waiting) in left.iter().enumerate() {
                if let Err(failure) = apply(transaction, &waiting.batch).await {
                    refused.set(Some(number));
                    return Err(failure);
                }
            }
            Ok(())
        });
        match (written, refused.get()) {
            (Ok(()), _) => {
                settle(&left, &Ok(()));
                return;
            }
            // The others are tried again without it.
            (Err(Failure::Refused(error)), Some(number)) => {
                settle(&[left.remove(number)], &Err(error));
            }
            // Rows of one batch broke a constraint: each batch by itself shows if it is the one.
            (Err(failure), _) if failure.constraint().is_some() && left.len() > 1 => {
                for waiting in left {
                    commit_alone(server, waiting);
                }
                return;
            }
            (Err(failure), _) => {
                // Whoever came while the server was waited for has time left.
                let is_over = |waiting: &&QueuedBatch| server::is_over(waiting.since);
                let is_final = matches!(failure, Failure::Refused(_)) || !left.iter().any(is_over);
                let (over, younger): (Vec<_>, Vec<_>) =
                    left.into_iter().partition(|each| is_final || is_over(each));
                settle(&over, &Err(refusal(failure)));
                left = younger;
            }
        }
    }
}

fn commit_alone(server: &Server, waiting: &QueuedBatch) {
    let mut own_needs = Needs {
        is_rebuildable: waiting.is_rebuildable,
        ..Needs::default()
    };
    needs(&waiting.batch, &mut own_needs);
    let written = server.write(&waiting.batch.space, &own_needs, async |transaction| {
        apply(transaction, &waiting.batch).await
    });
    settle(&[waiting], &written.map_err(refusal));
}

/// Returns the error for the caller: a conflict where rows broke a constraint.
fn refusal(failure: Failure) -> Error {
    let message = match failure.constraint() {
        Some("memory_position") => {
            "another message has that position in its thread; take the next one and retry"
        }
        Some("fact_by_id") => "this fact is noted already; read it again and retry",
        Some(_) => "what this call stores is there already; read it again and retry",
        None => return failure.into(),
    };
    conflict(message).into()
}

fn settle(those: &[&QueuedBatch], outcome: &Result<()>) {
    for waiting in those {
        *lock(&waiting.outcome) = Some(outcome.clone());
    }
}
