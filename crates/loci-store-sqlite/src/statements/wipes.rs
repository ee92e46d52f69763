//! Finds out if a user's data was wiped while a call ran.

use loci_core::{Space, Timestamp};
use rusqlite::{Connection, params};

use crate::failure::{Result, conflict};

/// The latest moment and the newest change of the wipes that concern a user's data of the origin
/// `?3`; of any origin without `?3`.
pub(crate) const LAST_WIPE: &str = "SELECT max(at), max(number) FROM wipe
    WHERE space = ?1 AND owner = ?2 AND (?3 IS NULL OR origin IS NULL OR origin = ?3)";

/// Returns whether this user's data of that origin was wiped after the moment `at`.
pub(crate) fn is_wiped(
    connection: &Connection,
    space: &Space,
    owner: &str,
    origin: &str,
    at: Timestamp,
) -> Result<bool> {
    let mut statement = connection.prepare_cached(LAST_WIPE)?;
    let wiped: Option<i64> =
        statement.query_row([space.as_str(), owner, origin], |row| row.get(0))?;
    Ok(wiped.is_some_and(|wiped| wiped > at.microseconds()))
}

/// A `conflict` if this user's data of that origin, or of any, was wiped after the change `since`.
pub(crate) fn not_wiped(
    connection: &Connection,
    space: &Space,
    owner: &str,
    origin: Option<&str>,
    since: u64,
) -> Result<()> {
    let mut statement = connection.prepare_cached(LAST_WIPE)?;
    let wiped: Option<i64> =
        statement.query_row(params![space.as_str(), owner, origin], |row| row.get(1))?;
    if wiped.is_some_and(|number| number.cast_unsigned() > since) {
        return Err(conflict(
            "the data of this user was wiped while this call ran; nothing was stored; call again to store it",
        ));
    }
    Ok(())
}
