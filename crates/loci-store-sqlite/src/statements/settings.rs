//! Statements over settings.

use loci_core::Space;
use rusqlite::{Connection, Row, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::row::verify_checksum;

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str =
    "checksum IS loci_checksum(space, owner, name, value), nullif(owner, 0), name, value";

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

/// Removes a setting, if it exists.
pub(crate) fn delete(
    connection: &Connection,
    space: &Space,
    owner: Option<&str>,
    name: &str,
) -> Result<()> {
    let sql = "DELETE FROM setting WHERE space = ?1 AND owner = ifnull(?2, 0) AND name = ?3";
    connection
        .prepare_cached(sql)?
        .execute(params![space.as_str(), owner, name])?;
    record_other_change(connection)
}

/// Fails with `conflict` unless a setting has this value, or does not exist for `None`.
pub(crate) fn expect(
    connection: &Connection,
    space: &Space,
    owner: Option<&str>,
    name: &str,
    value: Option<&str>,
) -> Result<()> {
    if find(connection, space, owner, name)?.as_deref() != value {
        return Err(conflict(format!(
            "the setting `{name}` changed since it was read; read it again and retry"
        )));
    }
    Ok(())
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
    verify_checksum(row, "setting", 2)?;
    Ok((row.get(1)?, row.get(2)?, row.get(3)?))
}
