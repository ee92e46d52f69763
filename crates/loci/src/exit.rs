//! The exit codes and messages of commands that fail.

use std::io;

use loci_core::{Error, ErrorCode};

/// The exit codes of every command but success, which is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Anything without a code of its own.
    Failure = 1,
    /// Arguments or settings cannot be used.
    Usage = 2,
    /// The named record does not exist.
    NotFound = 3,
    /// The data folder cannot be used.
    DataFolder = 4,
    /// The database cannot be used.
    Database = 5,
    /// The address cannot be used.
    Address = 6,
    /// The embedding model cannot be used.
    Model = 7,
    /// The store is encrypted, and its key is not there.
    Key = 8,
}

impl Exit {
    /// Every code with its meaning, for the documentation.
    pub const ALL: [(Exit, &'static str); 8] = [
        (Exit::Failure, "the command failed"),
        (Exit::Usage, "the arguments or settings cannot be used"),
        (Exit::NotFound, "there is no such memory or token"),
        (
            Exit::DataFolder,
            "there is no loci in the data folder, or the folder cannot be used (read-only, full, locked, a file, on a network file system, or someone else's)",
        ),
        (
            Exit::Database,
            "the database is newer than this loci, or damaged",
        ),
        (
            Exit::Address,
            "the address cannot be used (taken, not permitted, or not of this machine)",
        ),
        (Exit::Model, "the embedding model cannot be used"),
        (
            Exit::Key,
            "the store is encrypted, and its key is not there or is another one",
        ),
    ];
}

/// The failure of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The problem and its remedy; empty if both were already printed.
    pub message: String,
}

impl Failure {
    /// Makes a failure with its message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            exit,
            message: message.into(),
        }
    }

    /// Returns the failure as an error, for the audit log.
    pub fn error(&self) -> Error {
        let code = match self.exit {
            Exit::NotFound => ErrorCode::NotFound,
            Exit::Usage => ErrorCode::InvalidArgument,
            Exit::DataFolder | Exit::Key => ErrorCode::Unavailable,
            Exit::Database => ErrorCode::Corrupt,
            Exit::Failure | Exit::Address | Exit::Model => ErrorCode::Internal,
        };
        Error::new(code, self.message.clone())
    }

    /// Makes the failure for a closed output, as in `loci list | head`, which needs no message.
    fn silent() -> Self {
        Failure::new(Exit::Failure, "")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.code {
            ErrorCode::NotFound => Exit::NotFound,
            ErrorCode::InvalidArgument | ErrorCode::TooLarge => Exit::Usage,
            // Other services only degrade a command, so this is the store.
            ErrorCode::Unavailable => Exit::DataFolder,
            ErrorCode::Corrupt => Exit::Database,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.message)
    }
}

/// Failures to write the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(),
            _ => Failure::new(
                Exit::Failure,
                format!("the output cannot be written: {error}"),
            ),
        }
    }
}
