//! A store that cannot be written, because its disk is full or read-only, or because its permissions
//! do not allow it, opened to be read.
//!
//! No lock and no log can be made in its folder, which decides how SQLite may read the database:
//! while another process has the store open (its folder is mounted twice), by the shared memory
//! that this process keeps; as a file that does not change, if the log is empty and the schema
//! current; else from a copy for temporary files, in which the log is repaired and moved into the
//! database, and the schema upgraded, as by any other start.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use tempfile::TempDir;

use crate::connection::{Access, Database};
use crate::key::StoreKey;
use crate::opening::copies::is_restoring;
use crate::opening::files::{copy_with_log, has_bytes, log_of};
use crate::opening::open::{Options, analysis, version};
use crate::opening::open_database::OpenDatabase;
use crate::opening::open_error::{DATABASE, LOCK, OpenError};
use crate::opening::read_only_files::{FileState, ReadOnlyFiles};
use crate::opening::{folder, identity, presence, reanalysis, schema};

/// As [`SqliteStore::open_read_only`](crate::SqliteStore::open_read_only).
pub(crate) fn open(folder: &Path, options: &Options) -> Result<OpenDatabase, OpenError> {
    // Before anything is read, so that a change from now on is seen.
    let state = FileState::of(folder);
    let (database, copy) = database(folder, options)?;
    let connection = database
        .open()
        .map_err(|error| OpenError::from_database(&error, &database.path))?;
    let mut opened = OpenDatabase::start(database, connection, None, options)?;
    let is_unlocked = opened.database.access == Access::Immutable && copy.is_none();
    opened.read_only = Some(ReadOnlyFiles {
        folder: folder.to_owned(),
        state: is_unlocked.then_some(state),
        copy,
    });
    Ok(opened)
}

/// The database of a store to be read, and the folder of its copy, if there had to be one, which
/// goes when it is dropped.
fn database(folder: &Path, options: &Options) -> Result<(Database, Option<TempDir>), OpenError> {
    let folder = folder::prepare(folder)?;
    if is_restoring(&folder) {
        return Err(OpenError::Restoring { folder });
    }
    // A note of another store stays, where it cannot be removed.
    let key = StoreKey::of(&options.keys, &folder)?;
    if let Err(error @ OpenError::ForeignLog { .. }) = identity::compare(&folder, key.as_ref()) {
        return Err(error);
    }
    let path = folder.join(DATABASE);
    if !path.exists() {
        return Err(OpenError::ReadOnly { path });
    }
    let database = |access| Database {
        access,
        ..Database::new(path.clone(), options.busy_timeout).with_key(key.clone())
    };
    if is_open_elsewhere(&folder) {
        return Ok((database(Access::ReadOnly), None));
    }
    let immutable = database(Access::Immutable);
    if !has_bytes(&log_of(&path)) && is_current(&immutable)? {
        return Ok((immutable, None));
    }
    let copy = copy_with_log(&path)
        .and_then(|copy| {
            // That there was a database once, as its own folder says.
            let mark = path.with_file_name(LOCK);
            if mark.exists() {
                fs::write(copy.path().join(LOCK), fs::read(mark)?)?;
            }
            Ok(copy)
        })
        .map_err(|error| OpenError::from_io(&error, &std::env::temp_dir()))?;
    // Closed again, it has neither a log nor a lock.
    drop(OpenDatabase::open(copy.path(), options)?);
    let path = copy.path().join(DATABASE);
    Ok((
        Database {
            access: Access::Immutable,
            ..Database::new(path, options.busy_timeout).with_key(key)
        },
        Some(copy),
    ))
}

/// Returns whether another process has the store open, whose shared memory says what counts of the
/// log.
fn is_open_elsewhere(folder: &Path) -> bool {
    let has_shared_memory = has_bytes(&folder.join(format!("{DATABASE}-shm")));
    let lock = File::open(folder.join(presence::LOCK));
    has_shared_memory
        && lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Returns whether this build can read the database without an upgrade.
fn is_current(database: &Database) -> Result<bool, OpenError> {
    let connection = database
        .open()
        .map_err(|error| OpenError::from_database(&error, &database.path))?;
    let found = version(&connection, database)?;
    Ok(found == schema::VERSION && analysis(&connection, database, found)? == reanalysis::VERSION)
}
