//! Statements over decisions.

use loci_core::{Decision, Space, Timestamp};
use loci_index::records::DECISION;
use rusqlite::{Connection, params};

use crate::failure::Result;
use crate::statements::row::read_one;
use crate::statements::wipes::not_wiped;

/// The condition that a row is as it was written.
pub(crate) const HOLDS: &str =
    "checksum IS loci_checksum(space, owner, key, value, created_at, updated_at, expires_at)";

/// The columns of a decision.
pub(crate) fn columns() -> String {
    format!("{HOLDS}, {DECISION}")
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
    let sql =
        format!("INSERT OR REPLACE INTO decision ({DECISION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    connection.prepare_cached(&sql)?.execute(params![
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
    let key = params![space.as_str(), owner, key, now.microseconds()];
    read_one(connection, &sql, key)
}
