//! Opening a store: quick where it is current; else made, upgraded or refused.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use loci_keys::Keys;
use refinery::Migration;
use rusqlite::Connection;

use crate::connection::Database;
use crate::failure::Failure;
use crate::integrity::doctor;
use crate::key::StoreKey;
use crate::opening::copies::{back_up, has_backup, is_restoring};
use crate::opening::files::{has_bytes, log_of};
use crate::opening::open_error::{BYTES_MIN, DATABASE, LOCK, OpenError};
use crate::opening::presence::wait_for;
use crate::opening::{folder, identity, reanalysis, schema};

/// The content of the lock file once there is a database.
const MADE: &[u8] = b"made\n";
/// Options of an open store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The time that a write waits for other processes before it fails. Default: 10 seconds.
    pub busy_timeout: Duration,
    /// From how many memories on the index is kept as a file, beside the database, which spares
    /// each start the loading. Default: 2,000, which load in about 10 milliseconds.
    pub segment_min: usize,
    /// Where the key of an encrypted store is found. Default: nowhere.
    pub keys: Keys,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            busy_timeout: Duration::from_secs(10),
            segment_min: 2_000,
            keys: Keys::default(),
        }
    }
}

/// Opens the database in the folder with a connection that may write.
pub(crate) fn open(folder: &Path, options: Options) -> Result<(Database, Connection), OpenError> {
    let folder = folder::prepare(folder)?;
    if is_restoring(&folder) {
        return Err(OpenError::Restoring { folder });
    }
    let key = StoreKey::of(&options.keys, &folder)?;
    let database = Database::new(folder.join(DATABASE), options.busy_timeout).with_key(key);
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
            identity::record(&folder, &connection, database.key.as_ref())?;
            return Ok((database, connection));
        }
    }
    let migrations = schema::migrations().map_err(|error| upgrade_error(&error, &database))?;
    let connection = make_current(&folder, &database, &migrations, schema::VERSION)?;
    identity::record(&folder, &connection, database.key.as_ref())?;
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

/// The version of the schema, 0 without a schema; an error if this build must not touch it.
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
            // The database is as it was. A process that starts again and again must not fill the
            // disk with copies.
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
