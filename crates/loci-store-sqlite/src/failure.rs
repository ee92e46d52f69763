//! Failures of the database, and their messages for the person who has to act.

use std::io;

use loci_core::{Error, MemoryId, Space};
use loci_index::codec::DAMAGED;
pub(crate) use loci_index::codec::damaged;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE, SQLITE_IOERR_SHMSIZE};
use rusqlite::types::{FromSqlError, ValueRef};

/// Why a piece of work did not succeed: the database failed, or the store refuses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the database failed")]
    Database(#[from] rusqlite::Error),
    #[error(transparent)]
    Refused(#[from] Error),
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// A column holds a value of another type than the schema says.
impl From<FromSqlError> for Failure {
    fn from(error: FromSqlError) -> Self {
        Failure::Database(error.into())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => describe(&error),
            Failure::Refused(error) => error,
        }
    }
}

impl Failure {
    /// Returns whether what was read is nothing that any version of loci writes.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Failure::Database(error) => is_damage(error),
            Failure::Refused(error) => error.code == loci_core::ErrorCode::Corrupt,
        }
    }
}

/// Returns whether a disk has no room for a file.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Returns whether the disk has no room for a write, e.g. for the index of the log, of which SQLite
/// says only that it could not be made longer.
pub(crate) fn is_disk_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == SQLITE_IOERR_SHMSIZE)
}

/// The database's failure for a caller. No message holds a value of a row.
pub(crate) fn describe(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        _ if is_damage(error) => damaged(),
        _ if is_disk_full(error) => Error::disk_full(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::unavailable(
                "the database cannot be written: its folder or file is read-only; make it writable or choose another \
             folder with --data",
            )
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::unavailable(
            "another process holds the database locked for too long; try again, and look for a loci or sqlite3 \
             process that does not end",
        ),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            Error::unavailable(format!(
                "the disk that holds the database reports a fault ({error}): this is not acknowledged, and may be there or \
             not; check the disk, then look before you try again"
            ))
        }
        Some(ErrorCode::OutOfMemory) => {
            Error::unavailable("there is not enough memory for this; try again later")
        }
        _ => Error::internal(format!(
            "the database refused a statement ({error}); please report this"
        )),
    }
}

/// The error for a thread that the system refused, which is logged with its reason.
pub(crate) fn no_thread(error: &io::Error) -> Error {
    tracing::warn!(%error, "no thread can be started");
    Error::unavailable("no thread can be started; try again later")
}

/// The damage at which something ended, in words. Other failures stay failures.
pub(crate) fn damage(outcome: Result<()>) -> Result<Option<String>> {
    match outcome {
        Ok(()) => Ok(None),
        Err(failure) if failure.is_damage() => Ok(Some(match failure {
            Failure::Database(error) => error.to_string(),
            Failure::Refused(_) => "what comes next was not written by loci".to_owned(),
        })),
        Err(failure) => Err(failure),
    }
}

/// A row is not what was written: what it is, and what names it and tells nothing of its content.
pub(crate) fn damaged_row(noun: &str, key: ValueRef<'_>) -> Error {
    let problem = format!("`{}`{DAMAGED}", readable(key));
    Error::about(loci_core::ErrorCode::Corrupt, noun, problem)
}

/// A name that may be damaged, too, as one can be shown.
pub(crate) fn readable(name: ValueRef<'_>) -> String {
    const CHARACTERS_MAX: usize = 100;
    match name {
        ValueRef::Null => "?".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        // A hash.
        ValueRef::Blob(bytes) => {
            let digit =
                |digit: u8| char::from_digit(u32::from(digit), 16).map(|d| d.to_ascii_uppercase());
            let bytes = bytes.iter().take(CHARACTERS_MAX / 2);
            bytes
                .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
                .flatten()
                .collect()
        }
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            text.chars()
                .take(CHARACTERS_MAX)
                .flat_map(char::escape_debug)
                .collect()
        }
    }
}

/// The schema fixes the type of every column, so a value of another one is damage too.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

/// An error unless something is in the space of its batch.
pub(crate) fn assert_same_space(batch: &Space, space: &Space, what: &str) -> Result<()> {
    if space == batch {
        return Ok(());
    }
    Err(Error::internal(format!("{what} must be in the space of its batch")).into())
}

/// Returns a `conflict`, for a caller who may try again.
pub(crate) fn conflict(message: impl Into<String>) -> Failure {
    Error::new(loci_core::ErrorCode::Conflict, message).into()
}

/// A conflict about one memory.
pub(crate) fn memory_conflict(memory: &MemoryId, problem: &str) -> Failure {
    let problem = format!("`{memory}` {problem}");
    Error::about(loci_core::ErrorCode::Conflict, "memory", problem).into()
}

/// The outcome of a write, which is a `conflict` in these words if another row has the same key.
pub(crate) fn map_unique_violation<T>(
    outcome: rusqlite::Result<T>,
    message: impl FnOnce() -> String,
) -> Result<T> {
    let extended_code =
        |error: &rusqlite::Error| error.sqlite_error().map(|error| error.extended_code);
    match outcome {
        Err(error)
            if matches!(
                extended_code(&error),
                Some(SQLITE_CONSTRAINT_UNIQUE | SQLITE_CONSTRAINT_PRIMARYKEY)
            ) =>
        {
            Err(conflict(message()))
        }
        outcome => Ok(outcome?),
    }
}

/// Returns true if, after this error, nothing that the connection knows about the file can be
/// trusted.
pub(crate) fn breaks_connection(error: &rusqlite::Error) -> bool {
    use ErrorCode::{
        CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, SystemIoFailure,
    };
    matches!(
        error.sqlite_error_code(),
        Some(
            SystemIoFailure
                | DatabaseCorrupt
                | NotADatabase
                | CannotOpen
                | FileLockingProtocolFailed
        )
    )
}
