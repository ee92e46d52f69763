//! Statements over decisions.

use loci_core::{Decision, Space, Timestamp};
use rusqlite::{Connection, params};

use crate::failure::{Result, damaged};
use crate::remove::not_wiped;
use crate::row::read_moment;

pub(crate) fn put(connection: &Connection, decision: &Decision, since: u64) -> Result<bool> {
    let Decision { space, owner, key, value, created_at, updated_at, expires_at } = decision;
    not_wiped(connection, space, owner, None, since)?;
    let before = find(connection, space, owner, key, *updated_at)?;
    let created_at = before.as_ref().map_or(*created_at, |before| before.created_at);
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
    let sql = "SELECT value, created_at, updated_at, expires_at FROM decision
        WHERE space = ?1 AND owner = ?2 AND key = ?3 AND (expires_at IS NULL OR expires_at > ?4)";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![space.as_str(), owner, key, now.microseconds()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Decision {
        space: space.clone(),
        owner: owner.to_owned(),
        key: key.to_owned(),
        value: row.get(0)?,
        created_at: read_moment(row, 1)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, 2)?.ok_or_else(damaged)?,
        expires_at: read_moment(row, 3)?,
    }))
}
