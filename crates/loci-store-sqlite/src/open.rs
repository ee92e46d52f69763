//! Opening a store: quick where it is current; else made, upgraded or refused.

use std::fmt;
use std::fs::TryLockError;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Error;
use refinery::Migration;
use rusqlite::{Connection, ErrorCode};

use crate::backup::{back_up, has_backup, is_restoring};
use crate::connection::Database;
use crate::failure::Failure;
use crate::files::{has_bytes, log_of};
use crate::{doctor, folder, identity, reanalysis, schema};

pub(crate) const DATABASE: &str = "loci.db";
pub(crate) const LOCK: &str = "loci.lock";
/// What is in the file of the lock since there is a database.
const MADE: &[u8] = b"made\n";
/// What SQLite takes for a database that is not made yet has fewer bytes.
pub(crate) const BYTES_MIN: u64 = 512;

/// How a store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long a write waits for other processes before it fails. Default: 10 seconds.
    pub busy_timeout: Duration,
    /// From how many memories on the index is kept as a file, beside the database, which spares
    /// each start the loading. Default: 2,000, which load in about 10 milliseconds.
    pub segment_min: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            busy_timeout: Duration::from_secs(10),
            segment_min: 2_000,
        }
    }
}

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
        /// What cannot be written.
        path: PathBuf,
    },
    /// The folder is on a file system on which databases get damaged.
    NetworkFileSystem {
        /// The folder.
        folder: PathBuf,
        /// The kind of its file system, as Linux names it.
        kind: String,
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
        /// What is wrong first of all.
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
    /// The disk is full.
    Full {
        /// What could not be written.
        path: PathBuf,
    },
    /// Another process holds the database locked.
    Busy {
        /// What is locked.
        path: PathBuf,
    },
    /// Somebody has the store open, where it must be nobody.
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
        /// What the upgrade reported.
        problem: String,
    },
    /// Anything else that the operating system or the database reports.
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// What was reported.
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
            OpenError::NotOwner { uid, .. } => write!(
                formatter,
                "{path} belongs to another user (uid {uid}): run loci as that user, change the owner, or choose another \
                 folder with --data"
            ),
            OpenError::NotADatabase { .. } => write!(
                formatter,
                "{path} is damaged or not a database of loci: `loci doctor --fix` rebuilds a damaged one; or restore a backup \
                 over it, or move it away and start with an empty one"
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
                    "the disk that holds {path} is full: free some space and try again"
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
    /// What it is about.
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
            | OpenError::NotOwner { folder: path, .. }
            | OpenError::InUse { folder: path }
            | OpenError::Restoring { folder: path }
            | OpenError::ReadOnly { path }
            | OpenError::Full { path }
            | OpenError::Busy { path }
            | OpenError::Io { path, .. } => path,
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
             and log were copied here together, remove {FILE} beside them instead",
            FILE = identity::FILE
        )
    }

    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                OpenError::ReadOnly { path }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => OpenError::Full { path },
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
            Some(ErrorCode::DiskFull) => OpenError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
            _ => OpenError::Io {
                path,
                problem: error.to_string(),
            },
        }
    }
}

/// Opens the database in the folder with a connection that may write.
pub(crate) fn open(folder: &Path, options: Options) -> Result<(Database, Connection), OpenError> {
    let folder = folder::prepare(folder)?;
    if is_restoring(&folder) {
        return Err(OpenError::Restoring { folder });
    }
    let database = Database::new(folder.join(DATABASE), options.busy_timeout);
    let has_log = has_bytes(&log_of(&database.path));
    if has_log && !database.path.exists() {
        return Err(OpenError::LogAlone {
            database: database.path,
        });
    }
    if database.path.exists() {
        // SQLite would take it for a new one, and delete the log.
        let bytes = database
            .path
            .metadata()
            .map_or(0, |metadata| metadata.len());
        let is_new = bytes == 0 && !has_bytes(&folder.join(LOCK)) && !has_log;
        if bytes < BYTES_MIN && !is_new {
            return Err(OpenError::NotADatabase {
                database: database.path,
            });
        }
        let connection = connect(&database)?;
        let found = version(&connection, &database)?;
        if found == schema::VERSION
            && analysis(&connection, &database, found)? == reanalysis::VERSION
        {
            keep_log(&connection, &database)?;
            identity::record(&folder, &connection)?;
            return Ok((database, connection));
        }
    }
    let migrations = schema::migrations().map_err(|error| upgrade_error(&error, &database))?;
    let connection = make_current(&folder, &database, &migrations, schema::VERSION)?;
    identity::record(&folder, &connection)?;
    Ok((database, connection))
}

fn connect(database: &Database) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let connection = database.open().map_err(failed)?;
    if connection.is_readonly(c"main").map_err(failed)? {
        return Err(OpenError::ReadOnly {
            path: database.path.clone(),
        });
    }
    Ok(connection)
}

/// The version of the schema, 0 if there is none yet; an error if this build must not touch it.
pub(crate) fn version(connection: &Connection, database: &Database) -> Result<i64, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let (application, found) = schema::identity(connection).map_err(failed)?;
    let fresh = found == 0 && application == 0 && schema::is_empty(connection).map_err(failed)?;
    if !fresh && application != schema::APPLICATION_ID {
        return Err(OpenError::NotADatabase {
            database: database.path.clone(),
        });
    }
    if found > schema::VERSION {
        return Err(OpenError::Newer {
            database: database.path.clone(),
            found,
            known: schema::VERSION,
        });
    }
    Ok(found)
}

/// The version of the analysis that the terms were made with, 0 if none is noted; an error if this
/// build would search for other terms than are there.
pub(crate) fn analysis(
    connection: &Connection,
    database: &Database,
    schema: i64,
) -> Result<i64, OpenError> {
    if schema < reanalysis::NOTED_SINCE {
        return Ok(0);
    }
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let (found, known) = (
        reanalysis::version(connection).map_err(failed)?,
        reanalysis::VERSION,
    );
    if found > known {
        return Err(OpenError::NewerAnalysis {
            database: database.path.clone(),
            found,
            known,
        });
    }
    Ok(found)
}

/// Puts the write-ahead log on, which stays on in the file; a restored copy may have it off.
fn keep_log(connection: &Connection, database: &Database) -> Result<(), OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let switch = "PRAGMA journal_mode = WAL";
    let mode: String = connection
        .query_row(switch, [], |row| row.get(0))
        .map_err(failed)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(OpenError::Io {
        path: database.path.clone(),
        problem: format!("its journal stays in mode {mode}"),
    })
}

/// Makes or upgrades the database, while other processes that would do the same wait.
fn make_current(
    folder: &Path,
    database: &Database,
    migrations: &[Migration],
    latest: i64,
) -> Result<Connection, OpenError> {
    let lock_path = folder.join(LOCK);
    let failed_lock = |error: io::Error| OpenError::from_io(&error, &lock_path);
    let mut lock = folder::create_file(&lock_path).map_err(failed_lock)?;
    wait_for(
        || lock.try_lock(),
        database.busy_timeout.max(Duration::from_mins(1)),
        &lock_path,
    )?;
    if !database.path.exists() {
        lock.set_len(0).map_err(failed_lock)?;
    }
    folder::create_file(&database.path)
        .and_then(|_| folder::flush(folder))
        .map_err(|error| OpenError::from_io(&error, &database.path))?;
    let mut connection = connect(database)?;
    let found = version(&connection, database)?;
    let has_terms_of_old = analysis(&connection, database, found)? < reanalysis::VERSION;
    if found > 0 && found < latest {
        // To drop a tree that is not sound would free pages of others.
        let problems =
            doctor::check_older(&connection).map_err(|failure| read_error(failure, database))?;
        if let Some(problem) = problems.into_iter().next() {
            return Err(OpenError::Damaged {
                database: database.path.clone(),
                problem: problem.text,
            });
        }
    }
    keep_log(&connection, database)?;
    // A renewal that is cut off comes again: the backup from before the first attempt is the one to
    // keep.
    let target = format!("to-v{latest}.{}", reanalysis::VERSION);
    let mut backup = None;
    if found > 0 && (found < latest || has_terms_of_old && !has_backup(folder, &target)) {
        backup = Some(back_up(
            folder,
            database,
            &connection,
            &format!("v{found}-{target}"),
        )?);
    }
    if found < latest {
        schema::migrate(&mut connection, migrations).map_err(|error| {
            // The database is as it was. Whoever starts again and again must not fill the disk with
            // copies.
            let _ = backup.map(std::fs::remove_file);
            upgrade_error(&error, database)
        })?;
        if found == 0 {
            tracing::info!(schema = latest, "made the database");
        } else {
            tracing::info!(from = found, to = latest, "upgraded the database");
        }
    }
    // In a transaction of its own: if it is cut off, the database says that it is still to be done.
    if has_terms_of_old {
        let passages =
            reanalysis::renew(&mut connection).map_err(|failure| read_error(failure, database))?;
        if passages > 0 {
            tracing::info!(
                passages,
                analysis = reanalysis::VERSION,
                "analysed the texts again"
            );
        }
    }
    // Only now. Where it fails nothing is lost but the sight of a database that is cut off to
    // nothing.
    let _ = lock
        .set_len(0)
        .and_then(|()| lock.write_all(MADE))
        .and_then(|()| lock.sync_all());
    Ok(connection)
}

/// Waits for a file lock, which ends with the file.
#[expect(
    clippy::disallowed_methods,
    reason = "no system offers to wait for a file lock with a limit, so we poll"
)]
pub(crate) fn wait_for(
    try_lock: impl Fn() -> Result<(), TryLockError>,
    limit: Duration,
    path: &Path,
) -> Result<(), OpenError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let start = Instant::now();
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Busy {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(OpenError::from_io(&error, path)),
        }
    }
}

fn read_error(failure: Failure, database: &Database) -> OpenError {
    let path = &database.path;
    match failure {
        Failure::Database(error) => OpenError::from_database(&error, path),
        Failure::Refused(error) => OpenError::Io {
            path: path.clone(),
            problem: error.message,
        },
    }
}

fn upgrade_error(error: &refinery::Error, database: &Database) -> OpenError {
    let cause =
        std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<rusqlite::Error>());
    match cause.map(|cause| OpenError::from_database(cause, &database.path)) {
        Some(
            error @ (OpenError::Full { .. } | OpenError::ReadOnly { .. } | OpenError::Busy { .. }),
        ) => error,
        _ => OpenError::Upgrade {
            database: database.path.clone(),
            problem: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
