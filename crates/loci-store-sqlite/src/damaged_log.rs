//! A damaged write-ahead log, made good before SQLite sees it.
//!
//! SQLite reads a log up to the first page that is not as it was written, lays what it read over
//! the database, and deletes the log. So one flipped bit loses all commits after it; and pages that
//! a checkpoint copied long ago, and that are still in the log, come back over newer ones. Who
//! opens a store alone therefore looks at the log first. A damaged one is kept, with the database,
//! in `backups/damaged-log-<moment>`; then the log is rebuilt from what counts of it
//! (`salvage/log.rs`). A loss of power may leave such a log, too, so that this needs nobody to
//! decide anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::backup::{BACKUPS, DAMAGED_LOG, is_restoring};
use crate::folder;
use crate::open::{BYTES_MIN, DATABASE, OpenError};
use crate::presence;
use crate::salvage::{Log, log_of};

/// Looks at the log that somebody left in the folder, unless somebody has the store open, who
/// looked at it. A log that is whole is flushed.
pub(crate) fn repair_wal(folder: &Path) -> Result<(), OpenError> {
    let database = folder.join(DATABASE);
    let log = log_of(&database);
    let is_there = database
        .metadata()
        .is_ok_and(|metadata| metadata.len() >= BYTES_MIN);
    if !has_bytes(&log) || !is_there || is_restoring(folder) {
        return Ok(());
    }
    let _alone = match presence::lock_exclusive(folder) {
        Err(OpenError::InUse { .. }) => return Ok(()),
        alone => alone?,
    };
    let unreadable = |error: loci_core::Error| OpenError::Io {
        path: log.clone(),
        problem: error.message,
    };
    let Some(found) = Log::read(&database).map_err(unreadable)? else {
        return Ok(());
    };
    if !found.state.is_damaged() {
        return write_again(&log)
            .and_then(|()| folder::flush(folder))
            .map_err(|error| OpenError::from_io(&error, &log));
    }
    let kept = keep(folder, [&database, &log])?;
    let draft = log.with_extension("db-wal.part");
    replace(&found, &draft, &log)
        .and_then(|()| folder::flush(folder))
        .map_err(|error| OpenError::from_io(&error, &log))?;
    let problem = found.state.problem().unwrap_or_default();
    tracing::warn!(
        "{problem}; database and log as they were are kept in {kept}: `loci doctor --salvage FILE --data '{kept}'` \
         reads what is in them",
        kept = kept.display()
    );
    Ok(())
}

/// Whether there is a file with something in it.
pub(crate) fn has_bytes(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// Writes what is in the file to where it is, and flushes it. A flush that failed for whoever left
/// the log may have lost pages that the system still shows; nobody is told of that again, and what
/// comes later would stand on them (ADR 21).
fn write_again(log: &Path) -> io::Result<()> {
    const PART_BYTES: usize = 1 << 20;
    let mut file = OpenOptions::new().read(true).write(true).open(log)?;
    let mut part = Vec::new();
    let mut place = 0;
    while (&file).take(PART_BYTES as u64).read_to_end(&mut part)? > 0 {
        file.seek(SeekFrom::Start(place))?;
        file.write_all(&part)?;
        place += part.len() as u64;
        part.clear();
    }
    file.sync_all()
}

fn replace(found: &Log, draft: &Path, log: &Path) -> io::Result<()> {
    let _ = fs::remove_file(draft);
    let mut output = BufWriter::new(folder::create_file(draft)?);
    found.write_anew(&mut output)?;
    output.flush()?;
    output.get_ref().sync_all()?;
    fs::rename(draft, log)
}

/// Copies the files into a folder of backups, which has its name when they are whole and on the
/// disk.
fn keep(folder: &Path, files: [&Path; 2]) -> Result<PathBuf, OpenError> {
    let backups = folder.join(BACKUPS);
    let unfinished = backups.join("unfinished-log");
    let failed = |error: io::Error| OpenError::from_io(&error, &backups);
    let _ = fs::remove_dir_all(&unfinished);
    folder::prepare(&unfinished)?;
    for file in files {
        let Some(name) = file.file_name() else {
            continue;
        };
        let copy = || {
            let mut copy = folder::create_file(&unfinished.join(name))?;
            io::copy(&mut File::open(file)?, &mut copy)?;
            copy.sync_all()
        };
        copy().map_err(|error| {
            // Half a copy would take the room that is missing.
            let _ = fs::remove_dir_all(&unfinished);
            failed(error)
        })?;
    }
    let now = "SELECT strftime('%Y%m%dT%H%M%fZ', 'now')";
    let now = Connection::open_in_memory()
        .and_then(|clock| clock.query_row(now, [], |row| row.get::<_, String>(0)));
    let now = now.map_err(|error| OpenError::from_database(&error, &backups))?;
    let kept = backups.join(format!("{DAMAGED_LOG}{now}"));
    let named = folder::flush(&unfinished).and_then(|()| fs::rename(&unfinished, &kept));
    named
        .and_then(|()| folder::flush(&backups))
        .and_then(|()| folder::flush(folder))
        .map_err(failed)?;
    Ok(kept)
}

#[cfg(test)]
mod tests;
