//! Statements over settings.

use loci_core::Space;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Result;
use crate::write::log_other;

pub(crate) fn put(connection: &Connection, space: &Space, owner: Option<&str>, name: &str, value: &str) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO setting (space, owner, name, value) VALUES (?1, ifnull(?2, 0), ?3, ?4)";
    connection.prepare_cached(sql)?.execute(params![space.as_str(), owner, name, value])?;
    log_other(connection)
}

pub(crate) fn find(connection: &Connection, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>> {
    let sql = "SELECT value FROM setting WHERE space = ?1 AND owner = ifnull(?2, 0) AND name = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![space.as_str(), owner, name], |row| row.get(0)).optional()?)
}
