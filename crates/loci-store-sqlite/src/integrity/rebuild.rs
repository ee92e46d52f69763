//! A rebuild: a fresh database with all rows of a corrupt one whose checksums hold.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use loci_core::{Error, Maintenance, RebuildReport, Timestamp};
use loci_keys::{FILE as KEY_FILE, Keys};
use rusqlite::Connection;

use crate::failure::Failure;
use crate::integrity::salvage::{SalvageScope, Scratch, collect};
use crate::key::StoreKey;
use crate::opening::open::{Options, open};
use crate::opening::open_error::{DATABASE, OpenError};
use crate::opening::{backup, folder};
use crate::store::SqliteStore;

/// Makes a fresh database, the file `fresh`, from the rows of the database in the file `database`
/// and its write-ahead log whose checksums hold: records, texts, vectors, tokens, the audit log.
/// Derived rows that are missing are made from the texts; embeddings that are missing are made
/// again by the next process that serves the store. The fresh database has the key of the other. The database and its log are not changed; no
/// process may change them while it runs.
///
/// # Errors
/// `unavailable` if the file cannot be read, or the fresh one not written.
pub fn rebuild(
    database: &Path,
    keys: &Keys,
    fresh: &Path,
    now: Timestamp,
) -> Result<RebuildReport, Error> {
    let key = StoreKey::beside(keys, database).map_err(Error::from)?;
    let (scratch, mut report) = collect(database, key.as_ref(), now, SalvageScope::All)?;
    report.salvaged.records = scratch.counts()?.into_values().sum::<i64>().cast_unsigned();
    let failed = |error: io::Error| Error::from(OpenError::from_io(&error, fresh));
    let parent = fresh.parent().unwrap_or(Path::new("."));
    // In a folder of its own, because an open store keeps other files beside its database.
    let folder = tempfile::tempdir_in(parent).map_err(failed)?;
    if key.is_some() {
        fs::copy(
            database.with_file_name(KEY_FILE),
            folder.path().join(KEY_FILE),
        )
        .map_err(failed)?;
    }
    let options = Options {
        keys: keys.clone(),
        ..Options::default()
    };
    let (_, connection) = open(folder.path(), options.clone())?;
    fill(&scratch, &connection)?;
    drop((scratch, connection));
    let store = SqliteStore::open(folder.path(), options)?;
    let repaired = store.repair()?.done;
    drop(store);
    let made = folder.path().join(DATABASE);
    let inspected = backup::inspect(&made, key)?;
    File::open(&made)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&made, fresh))
        .and_then(|()| folder::flush(parent))
        .map_err(failed)?;
    Ok(RebuildReport {
        salvaged: report.salvaged,
        repaired,
        problems: inspected.problems,
        memories: inspected.memories,
    })
}

fn fill(scratch: &Scratch, fresh: &Connection) -> Result<(), Failure> {
    // A row may refer to one that is copied later, or that is lost; the repair looks for those.
    fresh.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")?;
    scratch.copy_into(fresh)?;
    Ok(fresh.execute_batch("COMMIT")?)
}
