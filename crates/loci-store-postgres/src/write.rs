//! Runs transactions until they are known to be committed or refused.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use loci_core::{Error, Space};
use tokio_postgres::error::SqlState;

use crate::failure::{Failure, Result, silent_change, unanswered};
use crate::pool::WAIT_MAX;
use crate::scope::Scope;
use crate::server::{Retry, Server};
use crate::session::Session;
use crate::transaction::{
    BEGIN, Commit, Needs, Transaction, create_space_statement, lock_statement,
};
use crate::value::values;

impl Server {
    /// Runs a transaction in a space and returns when it is durable. Starts again where the server
    /// ended it, and finds out whether it was committed if the connection was lost before the
    /// reply.
    pub(crate) fn write<T>(
        &self,
        space: &Space,
        needs: &Needs,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.write_since(Instant::now(), space, needs, work)
    }

    /// The same for callers of whom the first has waited since then: the server is waited for as long as
    /// that one may wait.
    pub(crate) fn write_since<T>(
        &self,
        since: Instant,
        space: &Space,
        needs: &Needs,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.block_on(self.write_async(Retry::since(since), space.into(), needs, work))
    }

    /// Runs a transaction on what belongs to the whole store.
    pub(crate) fn write_whole<T>(
        &self,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.block_on(self.write_async(Retry::new(), Scope::Store, &Needs::default(), work))
    }

    async fn write_async<T>(
        &self,
        mut retry: Retry,
        scope: Scope<'_>,
        needs: &Needs,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        loop {
            match self.attempt(scope, needs, &work).await {
                Ok(value) => {
                    self.note_written();
                    return Ok(value);
                }
                Err(Attempt::Failed(failure)) => {
                    if failure.refuses_writes() {
                        self.has_refused.store(true, Ordering::Relaxed);
                    }
                    if failure.state() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                        // Another try would wait as long as this one, if the holder waits for a standby.
                        self.connect(scope).await?.check_standby().await?;
                    }
                    self.pause(&mut retry, failure).await?;
                }
                Err(Attempt::Unknown(value, commit, failure)) => {
                    if self
                        .was_committed(scope, &commit, &mut retry, failure)
                        .await?
                    {
                        return Ok(value);
                    }
                }
            }
        }
    }

    async fn attempt<T>(
        &self,
        scope: Scope<'_>,
        needs: &Needs,
        work: &impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T, Attempt<T>> {
        let name = scope.name();
        let permit = self.pending.admit(name, WAIT_MAX).await?;
        let session = self.session(scope).await?;
        session.check_not_stalled().await?;
        let mut transaction = match Transaction::begin(&session, name, needs).await {
            Ok(transaction) => transaction,
            Err(failure) => return Err(session.give_up(failure).await.into()),
        };
        let value = match work(&mut transaction).await {
            Ok(value) => value,
            Err(failure) => return Err(session.give_up(failure).await.into()),
        };
        if transaction.is_unchanged() {
            session.roll_back().await?;
            return Ok(value);
        }
        let (commit, statements) = transaction.finish();
        let change_max = session.change_max();
        let run_at = Arc::new(OnceLock::new());
        let mut committing = Box::pin({
            let run_at = Arc::clone(&run_at);
            async move {
                let outcome = session.commit_noting(&statements, &run_at).await;
                (session, outcome)
            }
        });
        // Only the commit is limited, as a rule: large changes take their time before.
        let (limit, begun) = (self.options().commit_timeout, Instant::now());
        let left = || match run_at.get() {
            Some(at) => limit.saturating_sub(Instant::elapsed(at)),
            None => change_max.map_or(limit, |most| most.saturating_sub(begun.elapsed())),
        };
        let mut answer = None;
        while answer.is_none() && !left().is_zero() {
            answer = tokio::time::timeout(left(), &mut committing).await.ok();
        }
        let Some((session, outcome)) = answer else {
            self.shared.note_unanswered();
            let pending = self.pending.note(name, permit);
            tokio::spawn(async move {
                let (_session, outcome) = committing.await;
                match outcome {
                    Ok(_) => tracing::info!("PostgreSQL has confirmed a write that was given up"),
                    Err(failure) => {
                        tracing::warn!(error = %Error::from(failure), "a write that was given up failed");
                    }
                }
                drop(pending);
            });
            return Err(given_up(&run_at, limit, begun).into());
        };
        match outcome {
            Ok(true) => {
                self.note_committed(name, commit.newest_change);
                Ok(value)
            }
            Ok(false) => {
                self.shared.unconfirmed.fetch_add(1, Ordering::Relaxed);
                Err(unconfirmed().into())
            }
            Err(failure) if failure.is_lost() => Err(Attempt::Unknown(value, commit, failure)),
            Err(failure) => Err(session.give_up(failure).await.into()),
        }
    }

    /// Finds out whether a transaction was committed, by the number that it wrote.
    async fn was_committed(
        &self,
        scope: Scope<'_>,
        commit: &Commit,
        retry: &mut Retry,
        mut failure: Failure,
    ) -> Result<bool> {
        loop {
            if self.pause(retry, failure).await.is_err() {
                return Err(Error::unavailable(
                    "the connection to PostgreSQL was lost while it stored this, and the server has not come back; \
                     look whether it is there before you try again",
                )
                .into());
            }
            match self.look_for(scope, commit).await {
                Ok(found) => return Ok(found),
                Err(next) => failure = next,
            }
        }
    }

    async fn look_for(&self, scope: Scope<'_>, commit: &Commit) -> Result<bool> {
        let (session, name) = (self.session(scope).await?, scope.name());
        // Both wait for the end of the transaction, should the server still work on it: the first for
        // one that creates the row of its space, the lock for any other.
        let create = create_space_statement(name);
        let lock = lock_statement(&session, name);
        let change = (
            "SELECT 1 FROM @change WHERE space = $1 AND number = $2 AND writer = $3".to_owned(),
            values![name, commit.first_change, commit.writer],
        );
        let writer = (
            "SELECT 1 FROM @writer WHERE space = $1 AND writer = $2".to_owned(),
            values![name, commit.writer],
        );
        session.begin(BEGIN, &[create, lock]).await?;
        let found = session.pipeline(&[change, writer]).await?;
        if found.iter().all(|(rows, _)| rows.is_empty()) {
            session.roll_back().await?;
            return Ok(false);
        }
        // The row may be visible before a standby has it. A later commit waits for all earlier ones.
        let touch = (
            "UPDATE @space SET version = version WHERE space = $1".to_owned(),
            values![name],
        );
        if session.commit(&[touch]).await? {
            Ok(true)
        } else {
            Err(unconfirmed())
        }
    }
}

/// Returns the failure of a commit that is not waited for any longer: its statements ran at a moment, or have not
/// since they were sent.
fn given_up(run_at: &OnceLock<Instant>, limit: Duration, sent: Instant) -> Failure {
    match run_at.get() {
        Some(_) => unanswered(limit),
        None => silent_change(sent.elapsed()),
    }
}

/// Returns the failure of a commit that only one server has.
fn unconfirmed() -> Failure {
    Error::unavailable(
        "PostgreSQL stored this, but its standby did not confirm it, as a warning says; look whether it is there before \
         you try again, and check the standby",
    )
    .into()
}

impl Session {
    /// Rolls back after a failure, and returns it. The connection is dropped with the session where it
    /// leads to no server that takes writes: another one may lead to the primary.
    pub(crate) async fn give_up(&self, failure: Failure) -> Failure {
        if !failure.is_lost() && !failure.is_read_only() && !self.is_unanswered() {
            // A connection that cannot even do that is dropped with the session.
            let _ = self.roll_back().await;
        }
        failure
    }
}

/// The outcome of an attempt that is not known to have succeeded.
enum Attempt<T> {
    Failed(Failure),
    /// The connection was lost in the commit.
    Unknown(T, Commit, Failure),
}

impl<T> From<Failure> for Attempt<T> {
    fn from(failure: Failure) -> Self {
        Attempt::Failed(failure)
    }
}
