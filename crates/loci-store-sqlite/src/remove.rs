//! Removal of what nobody may see any more: softly, of a user's data, and of what has had its time.

use loci_core::{Filter, MemoryId, Space, Sweep, Timestamp, Wiped};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::{Result, conflict};
use crate::filter_sql::Conditions;
use crate::jobs;
use crate::read::{bound, parameters};
use crate::write::{delete, log};

/// Newest rows of the change log that a trim leaves. A process that is further behind loads its
/// index anew, which costs about as much as reading that many changes.
const CHANGES_KEPT: i64 = 10_000;
/// Rows of the change log that one sweep trims at most: about a millisecond's work.
const CHANGES_TRIMMED_MAX: i64 = 5_000;

/// Softly deletes memories; returns how many passed the filter.
pub(crate) fn soft_delete(
    connection: &Connection,
    filter: &Filter,
    id: Option<&MemoryId>,
    now: Timestamp,
    limit: usize,
) -> Result<usize> {
    let conditions = Conditions::of(filter);
    let sql = soft_delete_sql(&conditions, id.is_some());
    let mut values = conditions.values;
    values.push((":limit", bound(limit)));
    values.extend(id.map(|id| (":id", Value::from(id.as_str().to_owned()))));
    let mut statement = connection.prepare_cached(&sql)?;
    let passed = statement.query_map(&*parameters(&values), |row| row.get(0))?;
    let passed: Vec<i64> = passed.collect::<rusqlite::Result<_>>()?;
    let mut offspring = connection.prepare_cached(OFFSPRING)?;
    for row in &passed {
        hide(connection, *row, now)?;
        let rows = offspring.query_map([row], |row| row.get(0))?;
        for row in rows.collect::<rusqlite::Result<Vec<i64>>>()? {
            hide(connection, row, now)?;
        }
    }
    Ok(passed.len())
}

/// In the order of tiers, which has what was made from a message before the message: so none of
/// what passes is deleted with another and not counted.
pub(crate) fn soft_delete_sql(conditions: &Conditions, with_id: bool) -> String {
    let id = if with_id { " AND m.id = :id" } else { "" };
    format!("SELECT m.row FROM memory AS m WHERE {}{id} ORDER BY m.tier LIMIT :limit", conditions.sql)
}

/// The memories made from that of row `?1` which still wait for their enrichment.
pub(crate) const OFFSPRING: &str = "SELECT o.row FROM memory AS m JOIN memory AS o
        ON o.space = m.space AND o.source = m.id AND o.owner IS m.owner
    WHERE m.row = ?1 AND o.enrichment = 'pending' AND o.deleted_at IS NULL";

fn hide(connection: &Connection, row: i64, now: Timestamp) -> Result<()> {
    let sql = "UPDATE memory SET deleted_at = ?2 WHERE row = ?1";
    connection.prepare_cached(sql)?.execute([row, now.microseconds()])?;
    connection.prepare_cached(jobs::REMOVE)?.execute([row])?;
    log(connection, row)
}

/// A user's memories, and of each whether it goes with the user.
pub(crate) const WIPED: &str = "SELECT row, visibility = 'private' OR tier = 'short_term' OR enrichment IS NOT NULL
    FROM memory WHERE space = ?1 AND owner = ?2";
/// What else is a user's.
pub(crate) const WIPES: [&str; 3] = [
    "DELETE FROM cache_entry WHERE space = ?1 AND owner = ?2",
    "DELETE FROM audit WHERE space = ?1 AND user = ?2",
    "DELETE FROM decision WHERE space = ?1 AND owner = ?2",
];

pub(crate) fn wipe(connection: &Connection, space: &Space, owner: &str, now: Timestamp) -> Result<Wiped> {
    let whose = [space.as_str(), owner];
    let mut statement = connection.prepare_cached(WIPED)?;
    let memories = statement.query_map(whose, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut wiped = Wiped::default();
    for (row, goes) in memories.collect::<rusqlite::Result<Vec<(i64, bool)>>>()? {
        if goes {
            delete(connection, row)?;
            wiped.memories += 1;
        } else {
            let sql = "UPDATE memory SET owner = NULL, revision = revision + 1 WHERE row = ?1";
            connection.prepare_cached(sql)?.execute([row])?;
            log(connection, row)?;
        }
    }
    for (sql, removed) in
        WIPES.into_iter().zip([&mut wiped.cache_entries, &mut wiped.audit_entries, &mut wiped.decisions])
    {
        *removed = connection.prepare_cached(sql)?.execute(whose)? as u64;
    }
    // A change of no memory: its number comes after all that was there before the wipe, even if
    // the user had no memory.
    log(connection, 0)?;
    let number = connection.last_insert_rowid();
    let sql = "INSERT INTO wipe (space, owner, at, number) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (space, owner) DO UPDATE SET at = max(at, excluded.at), number = excluded.number";
    connection.prepare_cached(sql)?.execute(params![space.as_str(), owner, now.microseconds(), number])?;
    Ok(wiped)
}

/// A `conflict` if the data of this user was wiped after the change `since`.
pub(crate) fn not_wiped(connection: &Connection, space: &Space, owner: &str, since: u64) -> Result<()> {
    let sql = "SELECT number FROM wipe WHERE space = ?1 AND owner = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let wiped: Option<i64> = statement.query_row([space.as_str(), owner], |row| row.get(0)).optional()?;
    if wiped.is_some_and(|number| number.cast_unsigned() > since) {
        return Err(conflict(
            "the data of this user was wiped while this call ran; nothing was stored; call again to store it anew",
        ));
    }
    Ok(())
}

/// What a sweep finds: the rows of a table that a moment has reached, first the earliest.
pub(crate) struct Due {
    pub(crate) table: &'static str,
    /// A condition on that moment, `?1`.
    pub(crate) condition: &'static str,
    /// An index has it.
    pub(crate) order: &'static str,
    pub(crate) moment: Timestamp,
}

impl Due {
    /// All kinds, memories first.
    pub(crate) fn all(sweep: &Sweep) -> [Due; 6] {
        let due = |table, condition, order, moment| Due { table, condition, order, moment };
        [
            due("memory", "expires_at <= ?1", "expires_at, space, id", sweep.expired_at),
            due("memory", "deleted_at <= ?1", "deleted_at, space, id", sweep.deleted_until),
            due("cache_entry", "expires_at <= ?1", "expires_at, space, id", sweep.expired_at),
            due("decision", "expires_at <= ?1", "expires_at, space, owner, key", sweep.expired_at),
            due("audit", "at < ?1", "at, number", sweep.audited_before),
            due("wipe", "at < ?1", "at, space, owner", sweep.wiped_before),
        ]
    }

    pub(crate) fn sql(&self) -> String {
        let Due { table, condition, order, .. } = self;
        format!("SELECT rowid FROM {table} WHERE {condition} ORDER BY {order} LIMIT ?2")
    }
}

/// Removes what is due, and trims the change log.
pub(crate) fn sweep(connection: &Connection, sweep: &Sweep, limit: usize) -> Result<usize> {
    let mut swept = 0;
    for due in Due::all(sweep) {
        let mut statement = connection.prepare_cached(&due.sql())?;
        let parameters = params![due.moment.microseconds(), bound(limit - swept)];
        let rows = statement.query_map(parameters, |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for row in &rows {
            if due.table == "memory" {
                delete(connection, *row)?;
            } else {
                let sql = format!("DELETE FROM {} WHERE rowid = ?1", due.table);
                connection.prepare_cached(&sql)?.execute([row])?;
            }
        }
        swept += rows.len();
    }
    connection.prepare_cached(TRIM)?.execute([CHANGES_KEPT, CHANGES_TRIMMED_MAX])?;
    Ok(swept)
}

/// Trims the change log to `?1` rows, by at most `?2`.
pub(crate) const TRIM: &str = "DELETE FROM change WHERE number <= min(
    (SELECT max(number) FROM change) - ?1, (SELECT min(number) FROM change) + ?2 - 1)";

/// Whether there is something to sweep. The log is let grow to twice its length first.
pub(crate) fn needs_sweep(connection: &Connection, sweep: &Sweep) -> Result<bool> {
    for due in Due::all(sweep) {
        if connection.prepare_cached(&due.sql())?.exists([due.moment.microseconds(), 1])? {
            return Ok(true);
        }
    }
    let sql = "SELECT (SELECT max(number) FROM change) - (SELECT min(number) FROM change) >= 2 * ?1";
    let is_long: Option<bool> = connection.prepare_cached(sql)?.query_row([CHANGES_KEPT], |row| row.get(0))?;
    Ok(is_long.unwrap_or(false))
}
