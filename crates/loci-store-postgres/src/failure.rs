//! Failures of the server, and their messages for the person who has to act.

use std::error::Error as _;
use std::time::Duration;

use deadpool_postgres::{PoolError, TimeoutType};
use loci_core::{Error, ErrorCode, MemoryId, Space, StoreFault};
use tokio_postgres::error::SqlState;

use crate::migrations;

/// The reason why a piece of work did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server refused a statement, or the connection to it was lost.
    #[error("the server refused a statement")]
    Database(#[from] tokio_postgres::Error),
    /// There is no connection.
    #[error("there is no connection")]
    Unreachable(#[from] PoolError),
    /// The store refuses.
    #[error(transparent)]
    Refused(#[from] Error),
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Returns the state that the server told, if it told one.
    pub(crate) fn state(&self) -> Option<&SqlState> {
        match self {
            Failure::Database(error) | Failure::Unreachable(PoolError::Backend(error)) => {
                error.code()
            }
            _ => None,
        }
    }

    /// Returns true if the connection is gone, so that it is not known what the server did with the
    /// last statement.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Failure::Database(error) => {
                error.is_closed()
                    || error
                        .source()
                        .is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
                    || error.code().is_some_and(is_shutdown)
            }
            _ => false,
        }
    }

    /// Returns true if the same work may succeed when it is started again: the server ended the
    /// transaction in favour of another one, is starting, or has no connection left now.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_lost()
            || self.state().is_some_and(|state| {
                *state == SqlState::T_R_SERIALIZATION_FAILURE
                    || *state == SqlState::T_R_DEADLOCK_DETECTED
                    || *state == SqlState::LOCK_NOT_AVAILABLE
                    || *state == SqlState::TOO_MANY_CONNECTIONS
                    || is_shutdown(state)
            })
    }

    /// Returns true if the tables keep the spaces apart and the transaction declared no scope: row
    /// security was turned on after this process looked.
    pub(crate) fn is_undeclared(&self) -> bool {
        let Failure::Database(error) = self else {
            return false;
        };
        error.as_db_error().is_some_and(|told| {
            *told.code() == SqlState::UNDEFINED_OBJECT && told.message().contains("loci.space")
        })
    }

    /// Returns true if there is no server that takes a connection: none runs there, the pooler or proxy
    /// before it has none, or no server of the setting takes writes.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Failure::Unreachable(PoolError::Backend(error)) => error.as_db_error().is_none(),
            Failure::Unreachable(PoolError::Timeout(TimeoutType::Create)) => true,
            _ => false,
        }
    }

    /// Returns true if the server only reads, as a standby does, and a primary while another one takes
    /// its place.
    pub(crate) fn is_read_only(&self) -> bool {
        let (Failure::Database(error) | Failure::Unreachable(PoolError::Backend(error))) = self
        else {
            return false;
        };
        error
            .as_db_error()
            .is_some_and(|told| is_read_only(told.code(), told.message()))
    }

    /// Returns true if the server refuses this write, and most likely the next one as well: its disk
    /// is full, or it only reads.
    pub(crate) fn refuses_writes(&self) -> bool {
        self.is_read_only()
            || self
                .state()
                .is_some_and(|state| *state == SqlState::DISK_FULL)
    }

    /// Returns the name of the constraint that the rows of a statement broke, if they did. Of a shard,
    /// Citus tells it only in the words, and the number of the shard is at its end.
    pub(crate) fn constraint(&self) -> Option<&str> {
        let Failure::Database(error) = self else {
            return None;
        };
        let error = error.as_db_error()?;
        (*error.code() == SqlState::UNIQUE_VIOLATION)
            .then(|| error.constraint().or_else(|| of_shard(error.message())))
            .flatten()
    }
}

/// Returns the index of loci whose part in a shard is named in the words of a worker, which may be of any
/// language.
fn of_shard(told: &str) -> Option<&str> {
    let names = told.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
    let indexes = names.filter_map(|name| name.rsplit_once('_'));
    let mut indexes = indexes.map(|(name, _)| name);
    indexes.find(|name| migrations::has_index(name))
}

/// Returns true if the server takes no writes, such as a standby.
fn is_read_only(state: &SqlState, reason: &str) -> bool {
    *state == SqlState::READ_ONLY_SQL_TRANSACTION
        || (*state == SqlState::FEATURE_NOT_SUPPORTED && reason.contains("recovery"))
}

/// Returns true if the server stops, starts, or has ended the connection.
fn is_shutdown(state: &SqlState) -> bool {
    *state == SqlState::ADMIN_SHUTDOWN
        || *state == SqlState::CRASH_SHUTDOWN
        || *state == SqlState::CANNOT_CONNECT_NOW
        || state.code().starts_with("08")
        || *state == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Database(error) | Failure::Unreachable(PoolError::Backend(error)) => {
                describe(&error)
            }
            Failure::Unreachable(PoolError::Timeout(TimeoutType::Create)) => Error::of_store(
                StoreFault::Away,
                "PostgreSQL: the server takes connections and does not answer; check that it works, and that the \
                 setting `store` names it",
            ),
            Failure::Unreachable(PoolError::Timeout(_)) => Error::unavailable(
                "all connections to PostgreSQL are in use; try again, or raise `store_connections`",
            ),
            Failure::Unreachable(error) => Error::of_store(
                StoreFault::Away,
                &format!("PostgreSQL: there is no connection ({error})"),
            ),
        }
    }
}

/// Returns the error for a person: the reason and the remedy. It never holds a password.
fn describe(error: &tokio_postgres::Error) -> Error {
    let Some(told) = error.as_db_error() else {
        return describe_connection(error);
    };
    let reason = told.message();
    let state = told.code();
    let remedy = if reason.contains("pg_hba.conf") {
        "allow this user, address and sslmode in pg_hba.conf of the server"
    } else if *state == SqlState::INVALID_PASSWORD
        || *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    {
        "check the user in the setting `store` and the password in PGPASSWORD or `store_password_file`"
    } else if *state == SqlState::INVALID_CATALOG_NAME {
        "create the database, or name another one in the setting `store`"
    } else if *state == SqlState::INSUFFICIENT_PRIVILEGE && !reason.contains("row-level security") {
        "grant the role of loci the rights that docs/postgres.md lists; a role that may not create tables needs \
         `store_migrate` = `never`"
    } else if *state == SqlState::TOO_MANY_CONNECTIONS {
        "lower `store_connections`, or raise the limit of the server, the database or the role"
    } else if *state == SqlState::DISK_FULL {
        let details = format!("PostgreSQL: {reason}; make room on the server");
        return Error::of_store(StoreFault::DiskFull, &details);
    } else if *state == SqlState::UNDEFINED_TABLE || *state == SqlState::INVALID_SCHEMA_NAME {
        "the schema of the store is incomplete; restore it from a backup, or run `loci doctor`"
    } else if is_read_only(state, reason) {
        let details = format!(
            "PostgreSQL: {reason}; this server only reads, such as a standby; name the primary in the setting `store`"
        );
        return Error::of_store(StoreFault::ReadOnly, &details);
    } else if *state == SqlState::OUT_OF_MEMORY || state.code().starts_with("53") {
        "the server has too few resources now; try again"
    } else if *state == SqlState::LOCK_NOT_AVAILABLE {
        "other processes write in the same space; try again in a few seconds"
    } else if is_shutdown(state) {
        "try again in a few seconds"
    } else if *state == SqlState::QUERY_CANCELED {
        "set statement_timeout to 0 for the role of loci"
    } else if *state == SqlState::DATA_CORRUPTED || *state == SqlState::INDEX_CORRUPTED {
        return Error::corrupt(format!(
            "PostgreSQL reports corrupt data ({reason}); restore the database from a backup"
        ));
    } else {
        return Error::internal(format!(
            "PostgreSQL refused a statement ({reason}, {}); please report this",
            state.code()
        ));
    };
    Error::unavailable(format!("PostgreSQL: {reason}; {remedy}"))
}

/// Returns the error for a person where the server told none.
fn describe_connection(error: &tokio_postgres::Error) -> Error {
    let kind = error.to_string();
    let reason = error
        .source()
        .map_or_else(|| kind.clone(), ToString::to_string);
    let remedy = if reason == "password missing" {
        "set the password in PGPASSWORD or `store_password_file`"
    } else if reason == "database does not allow writes" {
        "no server that the setting `store` names takes writes: bring the primary back"
    } else if kind.contains("TLS") {
        "check sslmode and sslrootcert in the setting `store`, and the certificate of the server"
    } else {
        "check that the server runs and that the setting `store` names it"
    };
    let details = format!("PostgreSQL: {reason}; {remedy}");
    Error::of_store(StoreFault::Away, &details)
}

/// Returns the failure for a refused change, of which nothing was done.
pub(crate) fn conflict(message: impl Into<String>) -> Failure {
    Error::new(ErrorCode::Conflict, message).into()
}

/// Returns the failure for a memory that is not as a change expects it.
pub(crate) fn memory_conflict(id: &MemoryId, problem: &str) -> Failure {
    Error::about(ErrorCode::Conflict, "memory", format!("`{id}` {problem}")).into()
}

/// Returns the failure of work that a server did not start in its time.
pub(crate) fn silent(limit: Duration) -> Failure {
    Error::unavailable(format!(
        "the server that has this space does not answer for {} seconds; nothing was stored by this; try again when it \
         answers (`loci doctor` names it)",
        limit.as_secs()
    ))
    .into()
}

/// Returns the failure of a read that a server did not answer in its time.
pub(crate) fn silent_read(limit: Duration) -> Failure {
    Error::unavailable(format!(
        "the server that has this space does not answer for {} seconds; try again when it does (`loci doctor` names it)",
        limit.as_secs()
    ))
    .into()
}

/// Returns the failure of a change that a server did not answer, although it may be done.
pub(crate) fn silent_change(limit: Duration) -> Failure {
    Error::unavailable(format!(
        "the server that has this space does not answer for {} seconds while it stores this; look whether it is there \
         before you try again (`loci doctor` names the server)",
        limit.as_secs()
    ))
    .into()
}

/// Returns the failure of a commit that the server has not answered in time.
pub(crate) fn unanswered(limit: Duration) -> Failure {
    let seconds = limit.as_secs();
    Error::unavailable(format!(
        "PostgreSQL has not confirmed this within {seconds} seconds, e.g. because a standby does not answer, and will \
         most likely store it; look whether it is there before you try again, and check the standby (`loci doctor`)"
    ))
    .into()
}

/// Returns the failure of a write that was not begun, because commits wait for a standby for so many
/// seconds.
pub(crate) fn stalled(seconds: i64) -> Failure {
    Error::unavailable(format!(
        "PostgreSQL waits for a standby, for {seconds} seconds so far, and a write would wait as well; nothing of this \
         one is stored; bring the standby back (`loci doctor` names it) and try again"
    ))
    .into()
}

/// Fails if a record lies in another space than its batch.
pub(crate) fn assert_same_space(space: &Space, other: &Space, noun: &str) -> Result<()> {
    if space == other {
        return Ok(());
    }
    Err(Error::internal(format!("{noun} must be in the space of its batch")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_shard_is_read_from_the_words() {
        let told = "doppelter Schlüsselwert verletzt Unique-Constraint »memory_by_id_102345«";
        assert_eq!(of_shard(told), Some("memory_by_id"));
        assert_eq!(of_shard("a unique_constraint \"mine_1\""), None);
    }
}
