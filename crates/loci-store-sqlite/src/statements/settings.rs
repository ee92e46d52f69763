//! Statements over settings.

use loci_core::Space;
use rusqlite::{Connection, Row, params};

use crate::failure::Result;
use crate::statements::change_feed::record_other_change;
use crate::statements::row::verify_checksum;

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str =
    "nullif(owner, 0), name, value, checksum IS loci_checksum(space, owner, name, value)";

pub(crate) fn put(
    connection: &Connection,
    space: &Space,
    owner: Option<&str>,
    name: &str,
    value: &str,
) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO setting (space, owner, name, value) VALUES (?1, ifnull(?2, 0), ?3, ?4)";
    connection
        .prepare_cached(sql)?
        .execute(params![space.as_str(), owner, name, value])?;
    record_other_change(connection)
}

pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    owner: Option<&str>,
    name: &str,
) -> Result<Option<String>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM setting WHERE space = ?1 AND owner = ifnull(?2, 0) AND name = ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![space.as_str(), owner, name])?;
    let found = rows.next()?.map(read).transpose()?;
    Ok(found.map(|(_, _, value)| value))
}

/// The owner, the name and the value in the row.
pub(crate) fn read(row: &Row<'_>) -> Result<(Option<String>, String, String)> {
    verify_checksum(row, 3, "setting", 1)?;
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}
