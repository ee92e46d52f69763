//! Runs transactions until they are known to be committed or refused.

use std::sync::atomic::Ordering;

use loci_core::{Error, Space};

use crate::failure::{Failure, Result};
use crate::scope::Scope;
use crate::server::{Retry, Server};
use crate::session::Session;
use crate::transaction::{BEGIN, Commit, Needs, Transaction, create_space_statement};
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
        self.block_on(self.write_async(space.into(), needs, work))
    }

    /// Runs a transaction on what belongs to the whole store.
    pub(crate) fn write_whole<T>(
        &self,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.block_on(self.write_async(Scope::Store, &Needs::default(), work))
    }

    async fn write_async<T>(
        &self,
        scope: Scope<'_>,
        needs: &Needs,
        work: impl AsyncFn(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut retry = Retry::new();
        loop {
            match self.attempt(scope, needs, &work).await {
                Ok(value) => return Ok(value),
                Err(Attempt::Failed(failure)) => {
                    if failure.refuses_writes() {
                        self.has_refused.store(true, Ordering::Relaxed);
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
        let (session, name) = (self.session(scope).await?, scope.name());
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
        match session.commit(&statements).await {
            Ok(true) => {
                self.note_committed(name, commit.newest_change);
                Ok(value)
            }
            Ok(false) => Err(unconfirmed().into()),
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
        let lock = (
            "SELECT 1 FROM @space WHERE space = $1 FOR UPDATE".to_owned(),
            values![name],
        );
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

/// Returns the failure of a commit that only one server has.
fn unconfirmed() -> Failure {
    Error::unavailable(
        "PostgreSQL stored this, but its standby did not confirm it, as a warning says; look whether it is there before \
         you try again, and check the standby",
    )
    .into()
}

impl Session {
    /// Rolls back after a failure, and returns it.
    pub(crate) async fn give_up(&self, failure: Failure) -> Failure {
        if !failure.is_lost() {
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
