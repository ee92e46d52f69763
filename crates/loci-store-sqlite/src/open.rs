//! Opening a store: quick where it is current; else made, upgraded or refused.

use std::fmt;
use std::fs::TryLockError;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Error;
use refinery::Migration;
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode};

use crate::connection::Database;
use crate::failure::Failure;
use crate::{folder, reanalysis, schema};

const DATABASE: &str = "loci.db";
const LOCK: &str = "loci.lock";
const BACKUPS: &str = "backups";

/// How a store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long a write waits for other processes before it fails. Default: 10 seconds.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { busy_timeout: Duration::from_secs(10) }
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

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Newer { database, found, known } => write!(
                formatter,
                "{} was written by a newer loci (schema {found}; this one knows {known}): update loci, or choose \
                 another folder with --data",
                database.display()
            ),
            OpenError::NewerAnalysis { database, found, known } => write!(
                formatter,
                "the texts in {} were analysed by a newer loci (analysis {found}; this one knows {known}), so that \
                 this one would not find them: update loci, or choose another folder with --data",
                database.display()
            ),
            OpenError::ReadOnly { path } => write!(
                formatter,
                "{} cannot be written: make it writable, or choose another folder with --data",
                path.display()
            ),
            OpenError::NetworkFileSystem { folder, kind } => write!(
                formatter,
                "{} is on a network file system ({kind}), where databases get damaged: choose a folder on a local \
                 disk with --data",
                folder.display()
            ),
            OpenError::NotOwner { folder, uid } => write!(
                formatter,
                "{} belongs to another user (uid {uid}): run loci as that user, change the owner, or choose another \
                 folder with --data",
                folder.display()
            ),
            OpenError::NotADatabase { database } => write!(
                formatter,
                "{} is damaged or no database of loci: restore a backup over it, or move it away and start anew",
                database.display()
            ),
            OpenError::Full { path } => {
                write!(formatter, "the disk that holds {} is full: free some space and try again", path.display())
            }
            OpenError::Busy { path } => write!(
                formatter,
                "another process holds {} locked: wait until it is done, or end it, and try again",
                path.display()
            ),
            OpenError::Upgrade { database, problem } => write!(
                formatter,
                "{} could not be upgraded ({problem}) and is as it was: report this, and use the loci that wrote it \
                 meanwhile",
                database.display()
            ),
            OpenError::Io { path, problem } => {
                write!(formatter, "{} cannot be opened ({problem}): check the disk and try again", path.display())
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
    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => OpenError::Full { path },
            _ => OpenError::Io { path, problem: error.to_string() },
        }
    }

    fn from_database(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::NotADatabase { database: path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                OpenError::ReadOnly { path }
            }
            Some(ErrorCode::DiskFull) => OpenError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
            _ => OpenError::Io { path, problem: error.to_string() },
        }
    }
}

/// Opens the database in the folder with a connection that may write.
pub(crate) fn open(folder: &Path, options: Options) -> Result<(Database, Connection), OpenError> {
    let folder = folder::prepare(folder)?;
    let database = Database { path: folder.join(DATABASE), busy_timeout: options.busy_timeout };
    if database.path.exists() {
        let connection = connect(&database)?;
        let found = version(&connection, &database)?;
        if found == schema::VERSION && analysis(&connection, &database, found)? == reanalysis::VERSION {
            keep_log(&connection, &database)?;
            return Ok((database, connection));
        }
    }
    let migrations = schema::migrations().map_err(|error| upgrade_error(&error, &database))?;
    let connection = make_current(&folder, &database, &migrations, schema::VERSION)?;
    Ok((database, connection))
}

fn connect(database: &Database) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let connection = database.connect().map_err(failed)?;
    if connection.is_readonly(c"main").map_err(failed)? {
        return Err(OpenError::ReadOnly { path: database.path.clone() });
    }
    Ok(connection)
}

/// The version of the schema, 0 if there is none yet; an error if this build must not touch it.
fn version(connection: &Connection, database: &Database) -> Result<i64, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let (application, found) = schema::identity(connection).map_err(failed)?;
    let fresh = found == 0 && application == 0 && schema::is_empty(connection).map_err(failed)?;
    if !fresh && application != schema::APPLICATION_ID {
        return Err(OpenError::NotADatabase { database: database.path.clone() });
    }
    if found > schema::VERSION {
        return Err(OpenError::Newer { database: database.path.clone(), found, known: schema::VERSION });
    }
    Ok(found)
}

/// The version of the analysis that the terms were made with, 0 if none is noted; an error if this
/// build would search for other terms than are there.
fn analysis(connection: &Connection, database: &Database, schema: i64) -> Result<i64, OpenError> {
    if schema < reanalysis::NOTED_SINCE {
        return Ok(0);
    }
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let (found, known) = (reanalysis::version(connection).map_err(failed)?, reanalysis::VERSION);
    if found > known {
        return Err(OpenError::NewerAnalysis { database: database.path.clone(), found, known });
    }
    Ok(found)
}

/// Puts the write-ahead log on, which stays on in the file; a restored copy may have it off.
fn keep_log(connection: &Connection, database: &Database) -> Result<(), OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let switch = "PRAGMA journal_mode = WAL";
    let mode: String = connection.query_row(switch, [], |row| row.get(0)).map_err(failed)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(OpenError::Io { path: database.path.clone(), problem: format!("its journal stays in mode {mode}") })
}

/// Makes or upgrades the database, while other processes that would do the same wait.
fn make_current(
    folder: &Path,
    database: &Database,
    migrations: &[Migration],
    latest: i64,
) -> Result<Connection, OpenError> {
    let lock_path = folder.join(LOCK);
    let lock = folder::create_file(&lock_path).map_err(|error| OpenError::from_io(&error, &lock_path))?;
    wait_for(&lock, database.busy_timeout.max(Duration::from_mins(1)), &lock_path)?;
    folder::create_file(&database.path)
        .and_then(|_| folder::flush(folder))
        .map_err(|error| OpenError::from_io(&error, &database.path))?;
    let mut connection = connect(database)?;
    let found = version(&connection, database)?;
    let has_terms_of_old = analysis(&connection, database, found)? < reanalysis::VERSION;
    keep_log(&connection, database)?;
    // A renewal that is cut off comes again: the backup from before the first attempt is the one to keep.
    let target = format!("to-v{latest}.{}", reanalysis::VERSION);
    let mut backup = None;
    if found > 0 && (found < latest || has_terms_of_old && !has_backup(folder, &target)) {
        backup = Some(back_up(folder, database, &connection, &format!("v{found}-{target}"))?);
    }
    if found < latest {
        schema::migrate(&mut connection, migrations).map_err(|error| {
            // The database is as it was. Whoever starts again and again must not fill the disk with copies.
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
        let passages = reanalysis::renew(&mut connection).map_err(|failure| reanalysis_error(failure, database))?;
        if passages > 0 {
            tracing::info!(passages, analysis = reanalysis::VERSION, "analysed the texts anew");
        }
    }
    Ok(connection)
}

/// Waits for the file lock, which ends with the file.
#[expect(clippy::disallowed_methods, reason = "no system offers to wait for a file lock with a limit, so we poll")]
fn wait_for(lock: &std::fs::File, limit: Duration, path: &Path) -> Result<(), OpenError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let start = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(OpenError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(OpenError::from_io(&error, path)),
        }
    }
}

/// Whether there is a backup from before the upgrade to these versions.
fn has_backup(folder: &Path, target: &str) -> bool {
    let Ok(mut files) = std::fs::read_dir(folder.join(BACKUPS)) else { return false };
    let target = format!("-{target}-");
    files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().contains(&target)))
}

/// Copies the database as it is into the folder of backups. The copy has its final name only when
/// it is whole and on the disk.
fn back_up(folder: &Path, database: &Database, connection: &Connection, versions: &str) -> Result<PathBuf, OpenError> {
    let backups = folder.join(BACKUPS);
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &backups);
    let io_failed = |error: io::Error| OpenError::from_io(&error, &backups);
    folder::prepare(&backups)?;
    let now = "SELECT strftime('%Y%m%dT%H%M%SZ', 'now')";
    let now: String = connection.query_row(now, [], |row| row.get(0)).map_err(failed)?;
    let unfinished = backups.join("unfinished.db");
    let _ = std::fs::remove_file(&unfinished);
    let file = folder::create_file(&unfinished).map_err(io_failed)?;
    {
        let mut copy = Connection::open(&unfinished).map_err(failed)?;
        let backup = Backup::new(connection, &mut copy).map_err(failed)?;
        backup.run_to_completion(i32::MAX, Duration::from_millis(10), None).map_err(failed)?;
    }
    file.sync_all().map_err(io_failed)?;
    let backup = backups.join(format!("loci-{versions}-{now}.db"));
    std::fs::rename(&unfinished, &backup).and_then(|()| folder::flush(&backups)).map_err(io_failed)?;
    tracing::info!(backup = %backup.display(), of = %database.path.display(), "backed up before the upgrade");
    Ok(backup)
}

fn reanalysis_error(failure: Failure, database: &Database) -> OpenError {
    let path = &database.path;
    match failure {
        Failure::Database(error) => OpenError::from_database(&error, path),
        Failure::Refused(error) => OpenError::Io { path: path.clone(), problem: error.message },
    }
}

fn upgrade_error(error: &refinery::Error, database: &Database) -> OpenError {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<rusqlite::Error>());
    match cause.map(|cause| OpenError::from_database(cause, &database.path)) {
        Some(error @ (OpenError::Full { .. } | OpenError::ReadOnly { .. } | OpenError::Busy { .. })) => error,
        _ => OpenError::Upgrade { database: database.path.clone(), problem: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
