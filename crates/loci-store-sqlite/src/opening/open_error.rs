//! Why a store does not open, and the names of its files.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use loci_core::Error;
use rusqlite::ErrorCode;

use crate::failure::{is_disk_full, is_full};

pub(crate) const DATABASE: &str = "loci.db";
/// The file that notes the store that a log belongs to.
pub(crate) const IDENTITY_FILE: &str = "loci.identity";
pub(crate) const LOCK: &str = "loci.lock";
/// The fewest bytes of a database: SQLite takes a smaller file for one that is not made yet.
pub(crate) const BYTES_MIN: u64 = 512;

/// Why a store cannot be opened. Each text says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer loci wrote the database.
    Newer {
        /// The database file.
        database: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version that this build knows.
        known: i64,
    },
    /// A newer loci analysed the texts in the database.
    NewerAnalysis {
        /// The database file.
        database: PathBuf,
        /// The version of the analysis.
        found: i64,
        /// The newest version that this build knows.
        known: i64,
    },
    /// The folder or the database cannot be written.
    ReadOnly {
        /// The path that cannot be written.
        path: PathBuf,
    },
    /// The folder is on a file system on which databases get damaged.
    NetworkFileSystem {
        /// The folder.
        folder: PathBuf,
        /// The kind of its file system, as Linux names it.
        kind: String,
    },
    /// A file lies at the path of the folder.
    NotAFolder {
        /// The path.
        folder: PathBuf,
    },
    /// The folder belongs to another user.
    NotOwner {
        /// The folder.
        folder: PathBuf,
        /// The user id of its owner.
        uid: u32,
    },
    /// The file is damaged or was never a database of loci.
    NotADatabase {
        /// The file.
        database: PathBuf,
    },
    /// A database of an older schema is corrupt, and its upgrade would write over rows that can
    /// still be read.
    Damaged {
        /// The database file.
        database: PathBuf,
        /// The first problem.
        problem: String,
    },
    /// The database is gone and its write-ahead log is there.
    LogAlone {
        /// The database file.
        database: PathBuf,
    },
    /// The write-ahead log beside the database is that of another.
    ForeignLog {
        /// The database file.
        database: PathBuf,
    },
    /// The disk is full, so that it can only be read.
    Full {
        /// The path that could not be written.
        path: PathBuf,
    },
    /// The store is encrypted, and its key is not there.
    Locked {
        /// The folder.
        folder: PathBuf,
        /// The problem and its remedy.
        problem: String,
    },
    /// Another process holds the database locked.
    Busy {
        /// The locked path.
        path: PathBuf,
    },
    /// Another process has the store open, and this needs it for itself.
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// A restore was cut off when it was decided already.
    Restoring {
        /// The folder.
        folder: PathBuf,
    },
    /// An upgrade to this build's schema failed; the database is as it was.
    Upgrade {
        /// The database file.
        database: PathBuf,
        /// The error of the upgrade.
        problem: String,
    },
    /// Anything else that the operating system or the database reports.
    Io {
        /// The path that could not be read or written.
        path: PathBuf,
        /// The reported error.
        problem: String,
    },
}

/// The way out where another version wrote the database.
const UPDATE: &str = "update loci, or choose another folder with --data";

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            OpenError::Newer { found, known, .. } => {
                write!(
                    formatter,
                    "{path} was written by a newer loci (schema {found}; this one knows {known}): {UPDATE}"
                )
            }
            OpenError::NewerAnalysis { found, known, .. } => write!(
                formatter,
                "the texts in {path} were analysed by a newer loci (analysis {found}; this one knows {known}), so that \
                 this one would not find them: {UPDATE}"
            ),
            OpenError::ReadOnly { .. } => write!(
                formatter,
                "{path} cannot be written: make it writable, or choose another folder with --data; `loci search`, `list`, \
                 `export` and `backup` read it as it is"
            ),
            OpenError::NetworkFileSystem { kind, .. } => write!(
                formatter,
                "{path} is on a network file system ({kind}), where databases get damaged: choose a local disk with --data"
            ),
            OpenError::NotAFolder { .. }
            | OpenError::NotOwner { .. }
            | OpenError::Locked { .. } => self.write_of_folder(formatter),
            OpenError::NotADatabase { .. } => write!(
                formatter,
                "{path} is damaged or not a database of loci: `loci doctor --fix` rebuilds a damaged one; or restore a backup \
                 over it, or move it away and start with an empty one; if it was encrypted, bring its encryption.json back first"
            ),
            OpenError::Damaged { problem, .. } => write!(
                formatter,
                "{path} is damaged ({problem}), and is not upgraded so that nothing is lost: run `loci doctor --fix`, or restore a backup over it"
            ),
            OpenError::LogAlone { .. } | OpenError::ForeignLog { .. } => {
                self.write_of_log(formatter)
            }
            OpenError::Full { .. } => {
                write!(
                    formatter,
                    "the disk that holds {path} is full: free some space and try again; what only reads goes on"
                )
            }
            OpenError::Busy { .. } => write!(
                formatter,
                "another process holds {path} locked: wait until it is done, or end it, and try again"
            ),
            OpenError::InUse { .. } => write!(
                formatter,
                "a loci has {path} open, where this needs it to itself: stop `loci serve` and every agent that runs \
                 `loci mcp`, and try again"
            ),
            OpenError::Restoring { .. } => {
                write!(
                    formatter,
                    "a restore into {path} was cut off: run `loci doctor`, which finishes it"
                )
            }
            OpenError::Upgrade { problem, .. } => write!(
                formatter,
                "{path} could not be upgraded ({problem}) and is as it was: report this, and use the loci that wrote it"
            ),
            OpenError::Io { problem, .. } => {
                write!(
                    formatter,
                    "{path} cannot be opened ({problem}): check the disk and try again"
                )
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Error::unavailable(error.to_string())
    }
}

impl OpenError {
    /// Returns the path that it is about.
    fn path(&self) -> &Path {
        match self {
            OpenError::Newer { database: path, .. }
            | OpenError::NewerAnalysis { database: path, .. }
            | OpenError::NotADatabase { database: path }
            | OpenError::Damaged { database: path, .. }
            | OpenError::LogAlone { database: path }
            | OpenError::ForeignLog { database: path }
            | OpenError::Upgrade { database: path, .. }
            | OpenError::NetworkFileSystem { folder: path, .. }
            | OpenError::NotAFolder { folder: path }
            | OpenError::NotOwner { folder: path, .. }
            | OpenError::Locked { folder: path, .. }
            | OpenError::InUse { folder: path }
            | OpenError::Restoring { folder: path }
            | OpenError::ReadOnly { path }
            | OpenError::Full { path }
            | OpenError::Busy { path }
            | OpenError::Io { path, .. } => path,
        }
    }

    /// Writes about what lies at the path of the folder.
    fn write_of_folder(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            OpenError::Locked { problem, .. } => formatter.write_str(problem),
            OpenError::NotOwner { uid, .. } => write!(
                formatter,
                "{path} belongs to another user (uid {uid}): run loci as that user, change the owner, or choose another \
                 folder with --data"
            ),
            _ => write!(
                formatter,
                "{path} is a file, where the folder of a loci must be: name a folder with --data (LOCI_DATA)"
            ),
        }
    }

    /// Writes about a log without its database.
    fn write_of_log(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        if matches!(self, OpenError::LogAlone { .. }) {
            return write!(
                formatter,
                "{path} is missing, and its write-ahead log {path}-wal is there: bring the database back; `loci doctor \
                 --salvage FILE` reads what is in the log; move the log away to begin with an empty store"
            );
        }
        write!(
            formatter,
            "{path} was put in the place of the database that the write-ahead log {path}-wal belongs to; together they \
             would be damaged, so both are kept as they are: bring the former database back, or move the log into another \
             folder to open this one; `loci doctor --salvage FILE --data THAT_FOLDER` reads what is in the log. If database \
             and log were copied here together, remove {IDENTITY_FILE} beside them instead"
        )
    }

    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                OpenError::ReadOnly { path }
            }
            _ if is_full(error) => OpenError::Full { path },
            _ => OpenError::Io {
                path,
                problem: error.to_string(),
            },
        }
    }

    pub(crate) fn from_database(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                OpenError::NotADatabase { database: path }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                OpenError::ReadOnly { path }
            }
            _ if is_disk_full(error) => OpenError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
            _ => OpenError::Io {
                path,
                problem: error.to_string(),
            },
        }
    }
}
