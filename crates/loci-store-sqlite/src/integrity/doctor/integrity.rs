//! SQLite's own integrity check.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use crate::connection::{Access, Database};
use crate::failure::{Result, damage};
use crate::key::StoreKey;

/// Faults that SQLite lists, at most.
pub(crate) const LINES_MAX: usize = 1_000;

/// The faults that SQLite finds, in its words; empty if it finds none.
pub(crate) fn integrity_check(connection: &Connection, lines_max: usize) -> Result<Vec<String>> {
    faults(connection, &lines_max.to_string())
}

/// The faults of one table and its indexes.
pub(crate) fn faults_of(connection: &Connection, table: &str) -> Result<Vec<String>> {
    faults(connection, &format!("\"{table}\""))
}

fn faults(connection: &Connection, of: &str) -> Result<Vec<String>> {
    const NO_FAULT: &str = "ok";
    /// Starts the title above the faults of a database.
    const TITLE: &str = "*** in database";
    let mut faults = Vec::new();
    let problem = damage((|| {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({of})"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(0)?;
            faults.extend(
                text.lines()
                    .filter(|line| *line != NO_FAULT && !line.starts_with(TITLE))
                    .map(str::to_owned),
            );
        }
        Ok(())
    })())?;
    faults.extend(problem.map(|problem| format!("the check could not go on: {problem}")));
    Ok(faults)
}

/// The first fault that SQLite finds in a database file that no process changes and that has no
/// write-ahead log; none if it is sound.
pub(crate) fn first_fault(database: &Path, key: Option<&StoreKey>) -> Result<Option<String>> {
    let database = Database {
        access: Access::Immutable,
        ..Database::new(database.to_owned(), Duration::ZERO).with_key(key.cloned())
    };
    let mut fault = None;
    let problem = damage((|| {
        fault = integrity_check(&database.open()?, 1)?.pop();
        Ok(())
    })())?;
    Ok(fault.or(problem))
}
