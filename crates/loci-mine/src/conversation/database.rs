//! Databases in which programs keep all their conversations. They are read from a copy, with what is only in
//! their logs so far.

use std::io;
use std::path::Path;

use loci_core::{ContentHash, FileStamp};
use loci_databases::{Database, DatabaseError, is_database, log_of};
use sha2::{Digest, Sha256};

use super::stored_conversations::{StoredConversations, unreadable};
use super::value::Tally;
use super::{
    Format, GROWING_BYTES_MAX, Mark, Source, Take, TranscriptReading, Whole, cursor, opencode,
};
use crate::project::stamp_of;

/// Reads a database; none if the file is no database, or that of another program.
///
/// # Errors
/// If it cannot be read; `FileTooLarge` for more than 4 GiB; the first error of `take`.
pub(super) fn read(
    source: &Source<'_>,
    take: &mut Take<'_>,
) -> io::Result<Option<TranscriptReading>> {
    if !is_database(source.path) {
        return Ok(None);
    }
    source.check_size(GROWING_BYTES_MAX)?;
    let stamp = stamp(source.path, source.stamp);
    let database = match Database::copied(source.path) {
        Err(DatabaseError::Form(_)) => return Ok(None),
        copied => copied.map_err(unreadable)?,
    };
    let Some(format) = format_of(&database).map_err(unreadable)? else {
        return Ok(None);
    };
    let mut found = StoredConversations {
        format,
        take,
        tally: Tally::default(),
        repairs: 0,
    };
    match format {
        Format::OpenCode => opencode::read_database(&database, &mut found)?,
        _ => cursor::read_database(&database, &mut found)?,
    }
    let StoredConversations {
        mut tally, repairs, ..
    } = found;
    tally.notice = database.notice();
    let whole = Whole {
        format,
        repairs,
        tally,
    };
    Ok(Some(whole.reading(stamp, mark(stamp))))
}

/// Returns the form of a database; none for that of another program.
fn format_of(database: &Database) -> loci_databases::Result<Option<Format>> {
    let is_of_opencode = database.has(&["session"])?
        && [("message", "session_id"), ("part", "message_id")]
            .into_iter()
            .try_fold(true, |is_so_far, (table, key)| {
                let columns = database.columns(table)?;
                let has = |name: &str| columns.iter().any(|column| column == name);
                Ok(is_so_far && has(key) && has("data"))
            })?;
    if is_of_opencode {
        return Ok(Some(Format::OpenCode));
    }
    Ok(database.has(&[cursor::TABLE])?.then_some(Format::Cursor))
}

/// Returns the size and time of a file that may be a database with a log beside it: what its program writes
/// shows first there.
pub(super) fn stamp(path: &Path, own: FileStamp) -> FileStamp {
    let log = log_of(path).and_then(|log| log.metadata().ok());
    log.map_or(own, |log| {
        let log = stamp_of(&log);
        FileStamp {
            bytes: own.bytes.saturating_add(log.bytes),
            modified_nanoseconds: own.modified_nanoseconds.max(log.modified_nanoseconds),
        }
    })
}

/// Returns the mark of a database as it was read: it is another one after each write, because no part of
/// the file stays as it was.
fn mark(stamp: FileStamp) -> Mark {
    let mut hash = Sha256::new();
    hash.update(stamp.bytes.to_be_bytes());
    hash.update(stamp.modified_nanoseconds.to_be_bytes());
    Mark {
        bytes: stamp.bytes,
        hash: ContentHash(hash.finalize().into()),
    }
}
