//! Statements over decisions.

use loci_core::{Decision, Space, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::failure::{Result, damaged};
use crate::statements::row::{read_moment, read_space, verify_checksum};
use crate::statements::wipes::not_wiped;

/// The condition that a row is as it was written.
pub(crate) const HOLDS: &str =
    "checksum IS loci_checksum(space, owner, key, value, created_at, updated_at, expires_at)";

/// The columns that [`read`] reads, in its order.
pub(crate) fn columns() -> String {
    format!("space, owner, key, value, created_at, updated_at, expires_at, {HOLDS}")
}

pub(crate) fn put(connection: &Connection, decision: &Decision, since: u64) -> Result<bool> {
    decision.check()?;
    let Decision {
        space,
        owner,
        key,
        value,
        created_at,
        updated_at,
        expires_at,
    } = decision;
    not_wiped(connection, space, owner, None, since)?;
    let before = find(connection, space, owner, key, *updated_at)?;
    let created_at = before
        .as_ref()
        .map_or(*created_at, |before| before.created_at);
    let sql = "INSERT OR REPLACE INTO decision (space, owner, key, value, created_at, updated_at, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        owner,
        key,
        value,
        created_at.microseconds(),
        updated_at.microseconds(),
        expires_at.map(Timestamp::microseconds),
    ])?;
    Ok(before.is_none())
}

pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    owner: &str,
    key: &str,
    now: Timestamp,
) -> Result<Option<Decision>> {
    // Of what is damaged, it is not known when it ends.
    let sql = format!(
        "SELECT {} FROM decision WHERE space = ?1 AND owner = ?2 AND key = ?3
         AND (expires_at IS NULL OR expires_at > ?4 OR NOT {HOLDS})",
        columns()
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![space.as_str(), owner, key, now.microseconds()])?;
    rows.next()?.map(read).transpose()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Decision> {
    verify_checksum(row, 7, "decision", 2)?;
    Ok(Decision {
        space: read_space(&row.get::<_, String>(0)?)?,
        owner: row.get(1)?,
        key: row.get(2)?,
        value: row.get(3)?,
        created_at: read_moment(row, 4)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, 5)?.ok_or_else(damaged)?,
        expires_at: read_moment(row, 6)?,
    })
}
