//! The versions of a database, compared with this build's.

use std::cmp::Ordering;

use loci_core::Error;
use rusqlite::Connection;

use crate::failure::Failure;
use crate::opening::{reanalysis, schema};

/// Compares the versions of the database with this build's, first the schema's and then the version
/// of the analysis of texts.
pub(crate) fn compare(connection: &Connection) -> rusqlite::Result<Ordering> {
    let schema: i64 = connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))?;
    match schema.cmp(&schema::VERSION) {
        // Only of this schema is it known where the version of the analysis is.
        Ordering::Equal => Ok(reanalysis::version(connection)?.cmp(&reanalysis::VERSION)),
        other => Ok(other),
    }
}

/// Another process brought the database to a version that this one must not write and may not
/// understand.
pub(crate) fn upgraded() -> Error {
    Error::unavailable(
        "a newer loci has upgraded this database; start this one again, in the newer version",
    )
}

/// Fails if another process brought the database to a newer version than this build knows. Damage
/// is left to the reads that meet it.
pub(crate) fn refuse_upgraded(connection: &Connection) -> Result<(), Error> {
    match compare(connection) {
        Ok(Ordering::Greater) => Err(upgraded()),
        _ => Ok(()),
    }
}

/// Returns the failure of a read for a caller. A row that this build cannot read is not corrupt if
/// a newer one has upgraded the database since; the versions cost a look only then.
pub(crate) fn describe_read(failure: Failure, connection: &Connection) -> Error {
    refuse_upgraded(connection)
        .err()
        .unwrap_or_else(|| failure.into())
}
