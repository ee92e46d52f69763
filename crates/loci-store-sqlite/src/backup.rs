//! Copies of the database: those from before an upgrade, those that go into a backup, and those
//! that come back from one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{Error, Inspected};
use rusqlite::Connection;
use rusqlite::backup::Backup;

use crate::connection::Database;
use crate::doctor;
use crate::failure::Failure;
use crate::open::{OpenError, Options, analysis, version};
use crate::opened::Opened;
use crate::{folder, schema};

pub(crate) const BACKUPS: &str = "backups";
/// The file in the folder of a store that says that a restore was decided and is not done yet.
/// While it is there, the database and what lies beside it may be of two stores, so that none
/// opens.
pub const RESTORE_MARK: &str = "restoring/decided.json";

/// The database as of one moment. While it lives, the log keeps what it needs, and grows.
#[derive(Debug)]
pub(crate) struct Snapshot {
    connection: Connection,
    /// Closed after the connection.
    _opened: Arc<Opened>,
}

impl Snapshot {
    pub(crate) fn of(opened: Arc<Opened>) -> Result<Self, Error> {
        let begin = || -> Result<Connection, Failure> {
            let connection = opened.database.connect_reader()?;
            // The transaction begins with the first read.
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master;")?;
            Ok(connection)
        };
        Ok(Snapshot {
            connection: begin()?,
            _opened: opened,
        })
    }
}

impl loci_core::Snapshot for Snapshot {
    /// The copy has no log beside it.
    fn copy_to(&self, file: &Path) -> Result<(), Error> {
        copy(&self.connection, file).map_err(Failure::from)?;
        let flushed = fs::File::open(file).and_then(|file| file.sync_all());
        Ok(flushed.map_err(|error| OpenError::from_io(&error, file))?)
    }
}

/// Looks through a database that lies somewhere on its own, after what its log may hold was moved
/// into it.
pub(crate) fn inspect(file: &Path) -> Result<Inspected, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, file);
    let database = Database::new(file.to_owned(), Options::default().busy_timeout);
    let connection = database.open().map_err(failed)?;
    let schema = version(&connection, &database)?;
    if schema <= 0 {
        return Err(OpenError::NotADatabase {
            database: file.to_owned(),
        });
    }
    analysis(&connection, &database, schema)?;
    connection
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .map_err(failed)?;
    let is_current = schema == schema::VERSION;
    // What is made of the words can be made again.
    let problems = if is_current {
        doctor::check(&connection, false)
    } else {
        doctor::check_foreign(&connection, schema)
    };
    let problems = problems.map_err(|failure| match failure {
        Failure::Database(error) => failed(error),
        Failure::Refused(error) => OpenError::Io {
            path: file.to_owned(),
            problem: error.message,
        },
    })?;
    let sql = "SELECT count(*) FROM memory WHERE deleted_at IS NULL";
    let count: i64 = connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(failed)?;
    Ok(Inspected {
        schema,
        memories: count.cast_unsigned(),
        problems,
    })
}

/// Copies all pages in one step, which is one read of the source, so that no writer makes it begin
/// again. The target is worth nothing until it is whole, so that it needs no journal.
pub(crate) fn copy(source: &Connection, target: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(target)?;
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    Backup::new(source, &mut copy)?.run_to_completion(i32::MAX, Duration::from_millis(10), None)
}

/// Whether a restore into the folder was decided and is not done.
pub(crate) fn is_restoring(folder: &Path) -> bool {
    folder.join(RESTORE_MARK).exists()
}

/// Whether there is a backup from before the upgrade to these versions.
pub(crate) fn has_backup(folder: &Path, target: &str) -> bool {
    let Ok(mut files) = fs::read_dir(folder.join(BACKUPS)) else {
        return false;
    };
    let target = format!("-{target}-");
    files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().contains(&target)))
}

/// Copies the database as it is into the folder of backups. The copy has its final name only when
/// it is whole and on the disk.
pub(crate) fn back_up(
    folder: &Path,
    database: &Database,
    connection: &Connection,
    versions: &str,
) -> Result<PathBuf, OpenError> {
    let backups = folder.join(BACKUPS);
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &backups);
    let io_failed = |error: std::io::Error| OpenError::from_io(&error, &backups);
    folder::prepare(&backups)?;
    let now = "SELECT strftime('%Y%m%dT%H%M%SZ', 'now')";
    let now: String = connection
        .query_row(now, [], |row| row.get(0))
        .map_err(failed)?;
    let unfinished = backups.join("unfinished.db");
    let _ = fs::remove_file(&unfinished);
    let file = folder::create_file(&unfinished).map_err(io_failed)?;
    copy(connection, &unfinished).map_err(failed)?;
    file.sync_all().map_err(io_failed)?;
    let backup = backups.join(format!("loci-{versions}-{now}.db"));
    fs::rename(&unfinished, &backup)
        .and_then(|()| folder::flush(&backups))
        .map_err(io_failed)?;
    tracing::info!(backup = %backup.display(), of = %database.path.display(), "backed up before the upgrade");
    Ok(backup)
}
