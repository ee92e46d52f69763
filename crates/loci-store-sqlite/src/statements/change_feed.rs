//! The change feed: rows that tell every process of a change.

use rusqlite::Connection;

use crate::failure::Result;

/// Records a change of the memory of that row.
pub(crate) fn record_change(connection: &Connection, row: i64) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO change (memory) VALUES (?1)")?
        .execute([row])?;
    Ok(())
}

/// Records a change of something else than a memory.
pub(crate) fn record_other_change(connection: &Connection) -> Result<()> {
    record_change(connection, 0)
}
