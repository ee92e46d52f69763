//! Commits of which the server has not answered within their time.
//!
//! A commit waits for a synchronous standby without an end: no timeout of PostgreSQL ends that wait, and
//! a cancel would end it as if the standby had the row. So the limit is the store's own. Its caller is
//! told that the outcome is not known, and the commit keeps its connection, which holds the lock of the
//! space until a standby answers. Until then, writers of that space are refused, because they would wait
//! for that lock. As many connections as wait are missing to the other writers, and never all of them:
//! some are kept for those who read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::Error;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::failure::Result;

/// The time that a writer gives a pending commit of its space to end. The thread that waits drives all
/// connections, so that the answer to that commit is heard.
const END_WAIT: Duration = Duration::from_secs(1);

/// The commits that wait, and the connections that writers may have.
#[derive(Debug)]
pub(crate) struct PendingCommits {
    /// The number of commits that wait, by space.
    spaces: Mutex<HashMap<String, usize>>,
    /// Told when one has ended.
    ended: Notify,
    writers: Arc<Semaphore>,
}

/// A commit that waits. It has ended when this value is dropped.
pub(crate) struct PendingCommit {
    pending: Arc<PendingCommits>,
    space: String,
    _connection: OwnedSemaphorePermit,
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        let mut spaces = self.pending.spaces();
        if let Some(number) = spaces.get_mut(&self.space) {
            *number -= 1;
            if *number == 0 {
                spaces.remove(&self.space);
            }
        }
        drop(spaces);
        self.pending.ended.notify_waiters();
    }
}

impl PendingCommits {
    /// Keeps a quarter of the connections, at least one, for those who read.
    pub(crate) fn new(connections: usize) -> Self {
        let kept = (connections / 4).max(1);
        PendingCommits {
            spaces: Mutex::default(),
            ended: Notify::new(),
            writers: Arc::new(Semaphore::new(connections.saturating_sub(kept).max(1))),
        }
    }

    fn spaces(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a writer of a space may have a connection.
    ///
    /// # Errors
    /// `unavailable` if a commit of that space waits, or others wait on all connections of writers.
    pub(crate) async fn admit(
        &self,
        space: &str,
        wait_max: Duration,
    ) -> Result<OwnedSemaphorePermit> {
        let has_ended = async {
            loop {
                let ended = self.ended.notified();
                if !self.spaces().contains_key(space) {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(END_WAIT, has_ended).await.is_err() {
            return Err(Error::unavailable(
                "an earlier write waits until a standby of PostgreSQL confirms it, and this one would wait for it; \
                 nothing of this one is stored; bring the standby back (`loci doctor` names it)",
            )
            .into());
        }
        let permit = tokio::time::timeout(wait_max, Arc::clone(&self.writers).acquire_owned());
        match permit.await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(Error::unavailable(
                "all connections for writes to PostgreSQL are in use; nothing is stored; try again, raise \
                 `store_connections`, or look whether a standby does not answer (`loci doctor`)",
            )
            .into()),
        }
    }

    /// Notes a commit that waits on a connection.
    pub(crate) fn note(
        self: &Arc<Self>,
        space: &str,
        connection: OwnedSemaphorePermit,
    ) -> PendingCommit {
        *self.spaces().entry(space.to_owned()).or_default() += 1;
        PendingCommit {
            pending: Arc::clone(self),
            space: space.to_owned(),
            _connection: connection,
        }
    }
}
