//! Copies of the database file, and the folder of those from before an upgrade.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use crate::connection::Database;
use crate::key::StoreKey;
use crate::opening::folder;
use crate::opening::open_error::OpenError;

pub(crate) const BACKUPS: &str = "backups";
/// The file in the folder of a store that says that a restore was decided and is not done yet.
/// While it is there, the database and what lies beside it may be of two stores, so that none
/// opens.
pub const RESTORE_MARK: &str = "restoring/decided.json";

/// Copies all pages in one step, which is one read of the source, so that no writer makes it start
/// again. The target is worth nothing until it is whole, so that it needs no journal. It has the key
/// of the source.
pub(crate) fn copy(
    source: &Connection,
    key: Option<&StoreKey>,
    target: &Path,
) -> rusqlite::Result<()> {
    let mut copy = Connection::open(target)?;
    if let Some(key) = key {
        key.apply(&copy)?;
    }
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    Backup::new(source, &mut copy)?.run_to_completion(i32::MAX, Duration::from_millis(10), None)
}

/// Returns whether a restore into the folder was decided and is not done.
pub(crate) fn is_restoring(folder: &Path) -> bool {
    folder.join(RESTORE_MARK).exists()
}

/// Returns whether there is a backup from before the upgrade to these versions.
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
    copy(connection, database.key.as_ref(), &unfinished).map_err(failed)?;
    file.sync_all().map_err(io_failed)?;
    let backup = backups.join(format!("loci-{versions}-{now}.db"));
    fs::rename(&unfinished, &backup)
        .and_then(|()| folder::flush(&backups))
        .map_err(io_failed)?;
    tracing::info!(backup = %backup.display(), of = %database.path.display(), "backed up before the upgrade");
    Ok(backup)
}
