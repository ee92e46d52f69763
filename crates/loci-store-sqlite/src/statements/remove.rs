//! Removal: soft deletes, wipes of a user's data, and sweeps of expired rows.

use loci_core::{Filter, MemoryId, Space, Sweep, Timestamp, WipeCounts, check_texts};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Result;
use crate::statements::change_feed::{record_change, record_other_change};
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::note_files::IS_NOTE;
use crate::statements::passages::passage_keys;
use crate::statements::row::{MEMORY_HOLDS, memory_holds};
use crate::statements::write::delete;
use crate::statements::{
    audit, daily, facts, jobs, open_items, record_versions, tunnels, versions,
};
use crate::writer::WorkSlice;

/// Newest rows of the change log that a trim leaves. A process that is further behind loads its
/// index again, which costs about as much as reading that many changes.
const CHANGES_KEPT: i64 = 10_000;
/// Rows of the change log that one sweep trims at most: about a millisecond's work.
const CHANGES_TRIMMED_MAX: i64 = 5_000;
/// Passages of a memory that a sweep removes at once: about half a millisecond's work.
const PASSAGES_SWEPT_MAX: usize = 64;

/// Returns the conditions of a soft delete: memories that pass the filter, are not notes, and have
/// the id, if there is one.
pub(crate) fn chosen(filter: &Filter, id: Option<&MemoryId>) -> Conditions {
    let mut conditions = Conditions::of(filter);
    conditions.sql.push_str(&format!(
        " AND NOT EXISTS (SELECT 1 FROM note_file AS f WHERE f.space = m.space AND f.memory = m.id AND {IS_NOTE})"
    ));
    if let Some(id) = id {
        conditions.sql.push_str(" AND m.id = :id");
        conditions
            .values
            .push((":id", Value::from(id.as_str().to_owned())));
    }
    conditions
}

/// The rows of at most `limit` chosen memories. Only reads, because that may take long.
pub(crate) fn deletable(
    connection: &Connection,
    chosen: &Conditions,
    limit: usize,
) -> Result<Vec<i64>> {
    select_rows(
        connection,
        &deletable_sql(chosen),
        chosen,
        (":limit", bound(limit)),
    )
}

/// In the order of tiers, which has what was made from a message before the message: so none of
/// what passes is deleted with another and not counted.
pub(crate) fn deletable_sql(chosen: &Conditions) -> String {
    format!(
        "SELECT m.row FROM memory AS m WHERE {} ORDER BY m.tier LIMIT :limit",
        chosen.sql
    )
}

/// Softly deletes the memories of these rows, as far as they are still chosen; returns how many.
pub(crate) fn soft_delete(
    connection: &Connection,
    chosen: &Conditions,
    rows: &[i64],
    now: Timestamp,
) -> Result<usize> {
    let rows = Value::from(format!("{rows:?}"));
    let passing = select_rows(
        connection,
        &still_chosen_sql(chosen),
        chosen,
        (":rows", rows),
    )?;
    let mut offspring = connection.prepare_cached(OFFSPRING)?;
    for row in &passing {
        hide(connection, *row, now)?;
        let rows = offspring.query_map([row], |row| row.get(0))?;
        for row in rows.collect::<rusqlite::Result<Vec<i64>>>()? {
            hide(connection, row, now)?;
        }
    }
    Ok(passing.len())
}

/// Looks only at the rows in a JSON array.
pub(crate) fn still_chosen_sql(chosen: &Conditions) -> String {
    format!(
        "SELECT m.row FROM json_each(:rows) AS found CROSS JOIN memory AS m ON m.row = found.value WHERE {}",
        chosen.sql
    )
}

fn select_rows(
    connection: &Connection,
    sql: &str,
    conditions: &Conditions,
    further: (&'static str, Value),
) -> Result<Vec<i64>> {
    let mut values = conditions.values.clone();
    values.push(further);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(&*parameters(&values), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The memories made from that of row `?1`.
pub(crate) const OFFSPRING: &str = "SELECT o.row FROM memory AS m JOIN memory AS o
        ON o.space = m.space AND o.source = m.id AND o.owner IS m.owner
    WHERE m.row = ?1 AND o.deleted_at IS NULL";

/// Deletes a memory softly, unless that was done before; one that is damaged for good. Whether it
/// is gone for good.
fn hide(connection: &Connection, row: i64, now: Timestamp) -> Result<bool> {
    if is_broken(connection, row)? {
        delete(connection, row)?;
        return Ok(true);
    }
    open_items::leave(connection, row)?;
    let sql = "UPDATE memory SET deleted_at = ?2 WHERE row = ?1 AND deleted_at IS NULL";
    if connection
        .prepare_cached(sql)?
        .execute([row, now.microseconds()])?
        > 0
    {
        connection.prepare_cached(jobs::REMOVE)?.execute([row])?;
        record_change(connection, row)?;
    }
    Ok(false)
}

/// Returns whether the row of a memory is damaged. A change of some of its columns would give it a
/// checksum that holds.
fn is_broken(connection: &Connection, row: i64) -> Result<bool> {
    let sql = format!("SELECT 1 FROM memory AS m WHERE m.row = ?1 AND NOT {MEMORY_HOLDS}");
    Ok(connection.prepare_cached(&sql)?.exists([row])?)
}

/// A user's memories of any origin or that of `?3`, and of each whether it goes with the user.
pub(crate) const WIPED: &str =
    "SELECT row, visibility <> 'common' OR tier = 'short_term' OR enrichment IS NOT NULL
    FROM memory WHERE space = ?1 AND owner = ?2 AND (?3 IS NULL OR origin = ?3)";
/// Further data of a user that every wipe removes: only one dialect keeps it.
pub(crate) const WIPES: [&str; 2] = [
    "DELETE FROM cache_entry WHERE space = ?1 AND owner = ?2",
    "DELETE FROM decision WHERE space = ?1 AND owner = ?2",
];
/// The data of a user that belongs to no dialect, which a wipe of all dialects removes. So does a
/// tunnel that is damaged.
pub(crate) const WIPES_OF_ALL: [&str; 4] = [
    concat!(
        "DELETE FROM tunnel WHERE space = ?1 AND owner = ?2 AND NOT (is_common AND ",
        tunnels::holds!(),
        ")"
    ),
    "DELETE FROM setting WHERE space = ?1 AND owner = ?2",
    record_versions::WIPED,
    record_versions::WIPED_DAMAGE,
];
/// The tunnels of a user that are left then, which get the pseudonym `?3`, if there is one.
pub(crate) const TUNNELS_LEFT: &str =
    "UPDATE tunnel SET owner = ?3 WHERE space = ?1 AND owner = ?2";
/// A user's answers under keys, through any tool set or through that of `?3`. Written as in their
/// index.
pub(crate) const WIPED_ANSWERS: &str = "DELETE FROM keyed_answer WHERE space = ?1 AND ifnull(owner, 0) = ?2 AND (?3 IS NULL OR origin = ?3)";
/// A user's calls through any tool set or through that of `?3`.
pub(crate) const WIPED_CALLS: &str =
    "DELETE FROM audit WHERE space = ?1 AND user = ?2 AND (?3 IS NULL OR dialect = ?3)";
/// The memories of others that a user wrote the text of, of any origin or that of `?3`, but for
/// damaged ones: a change would give them a checksum that holds.
pub(crate) const REWRITTEN: &str = concat!(
    "SELECT m.row FROM memory AS m WHERE m.space = ?1 AND m.updated_by = ?2 AND (?3 IS NULL OR m.origin = ?3) AND ",
    memory_holds!()
);
/// Leaves a user's calls through any tool set or through that of `?3`, which did something to
/// records that are not the user's own, under the pseudonym `?4`.
pub(crate) const PSEUDONYMISED_CALLS: &str = concat!(
    "UPDATE audit SET user = ?4, caller = NULL, query = NULL, results = NULL, message = NULL, client = NULL,
        session = NULL, reply_tokens = NULL
    WHERE space = ?1 AND user = ?2 AND (?3 IS NULL OR dialect = ?3) AND ",
    audit::holds!(),
    " AND EXISTS (SELECT 1 FROM audit_record WHERE entry = number AND NOT is_own AND verb NOT IN ('returned', 'read'))"
);
/// The other records of the calls under a pseudonym.
pub(crate) const PSEUDONYMISED_RECORDS: &str = concat!(
    "DELETE FROM audit_record WHERE entry IN (SELECT number FROM audit WHERE user = ?1)
    AND (is_own OR verb IN ('returned', 'read') OR NOT ",
    audit::record_holds!(),
    ")"
);
/// The counts of further records of those calls, which may be the user's own.
pub(crate) const PSEUDONYMISED_COUNTS: &str = "UPDATE audit_record SET further = 0 WHERE further > 0 AND entry IN (SELECT number FROM audit WHERE user = ?1)";
/// Calls that the user made for others and whose entries are damaged.
pub(crate) const WIPED_DAMAGE: &str = concat!(
    "DELETE FROM audit WHERE space = ?1 AND caller = ?2 AND (?3 IS NULL OR dialect = ?3) AND NOT ",
    audit::holds!()
);
/// The note of an earlier wipe, if it is damaged: the new one does not go on from it.
pub(crate) const WIPED_NOTE: &str =
    "DELETE FROM wipe WHERE space = ?1 AND owner = ?2 AND ifnull(origin, 0) = ifnull(?3, 0)
    AND checksum IS NOT loci_checksum(space, owner, origin, at, number)";
/// Calls that the user made for others stay theirs.
pub(crate) const UNNAME: &str = "UPDATE audit SET caller = NULL WHERE space = ?1 AND caller = ?2 AND (?3 IS NULL OR dialect = ?3)";

pub(crate) fn wipe(
    connection: &Connection,
    space: &Space,
    owner: &str,
    origin: Option<&str>,
    pseudonym: Option<&str>,
    now: Timestamp,
) -> Result<WipeCounts> {
    check_texts([
        ("owner", Some(owner)),
        ("origin", origin),
        ("pseudonym", pseudonym),
    ])?;
    let mut wiped = WipeCounts {
        memories: wipe_memories(connection, space, owner, origin, pseudonym)?,
        ..WipeCounts::default()
    };
    if let Some(pseudonym) = pseudonym {
        wiped.audit_entries += leave_pseudonym(connection, space, owner, origin, pseudonym)?;
    }
    for (sql, removed) in WIPES
        .into_iter()
        .zip([&mut wiped.cache_entries, &mut wiped.decisions])
    {
        *removed = connection
            .prepare_cached(sql)?
            .execute([space.as_str(), owner])? as u64;
    }
    if origin.is_none() {
        for sql in WIPES_OF_ALL {
            connection
                .prepare_cached(sql)?
                .execute([space.as_str(), owner])?;
        }
        for sql in [
            TUNNELS_LEFT,
            facts::DISOWNED,
            record_versions::DISOWNED,
            record_versions::CHANGES_DISOWNED,
        ] {
            connection
                .prepare_cached(sql)?
                .execute(params![space.as_str(), owner, pseudonym])?;
        }
    }
    let whose = params![space.as_str(), owner, origin];
    wiped.audit_entries += connection.prepare_cached(WIPED_CALLS)?.execute(whose)? as u64;
    for sql in [
        daily::WIPED,
        WIPED_ANSWERS,
        WIPED_DAMAGE,
        WIPED_NOTE,
        UNNAME,
    ] {
        connection.prepare_cached(sql)?.execute(whose)?;
    }
    // A change of no memory: its number comes after all that was there before the wipe, even if
    // the user had no memory.
    record_other_change(connection)?;
    let number = connection.last_insert_rowid();
    let sql = "INSERT INTO wipe (space, owner, origin, at, number) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (space, owner, ifnull(origin, 0))
        DO UPDATE SET at = max(at, excluded.at), number = excluded.number";
    let at = now.microseconds();
    connection
        .prepare_cached(sql)?
        .execute(params![space.as_str(), owner, origin, at, number])?;
    Ok(wiped)
}

/// Deletes the memories of a user, and puts the pseudonym in the place of the owner of memories that
/// others have a part in; returns the number of deleted ones.
fn wipe_memories(
    connection: &Connection,
    space: &Space,
    owner: &str,
    origin: Option<&str>,
    pseudonym: Option<&str>,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(WIPED)?;
    let memories = statement.query_map(params![space.as_str(), owner, origin], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    let mut deleted = 0;
    for (row, goes) in memories.collect::<rusqlite::Result<Vec<(i64, bool)>>>()? {
        if goes || is_broken(connection, row)? {
            delete(connection, row)?;
            deleted += 1;
        } else {
            let sql = "UPDATE memory SET owner = ?2, actor = NULL, program = NULL, session = NULL,
                revision = revision + 1 WHERE row = ?1";
            connection
                .prepare_cached(sql)?
                .execute(params![row, pseudonym])?;
            connection
                .prepare_cached(versions::LEFT_BY_OWNER)?
                .execute([row])?;
            record_change(connection, row)?;
        }
    }
    Ok(deleted)
}

/// Puts the pseudonym in the place of the user's name where it stands on what others have, and on
/// calls that did something to that; returns how many calls these are.
fn leave_pseudonym(
    connection: &Connection,
    space: &Space,
    owner: &str,
    origin: Option<&str>,
    pseudonym: &str,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(REWRITTEN)?;
    let rows = statement.query_map(params![space.as_str(), owner, origin], |row| row.get(0))?;
    for row in rows.collect::<rusqlite::Result<Vec<i64>>>()? {
        let sql = "UPDATE memory SET updated_by = ?2, revision = revision + 1 WHERE row = ?1";
        connection
            .prepare_cached(sql)?
            .execute(params![row, pseudonym])?;
        record_change(connection, row)?;
    }
    let whose = params![space.as_str(), owner, origin, pseudonym];
    for sql in [versions::REWRITTEN, versions::CHANGES_REWRITTEN] {
        connection.prepare_cached(sql)?.execute(whose)?;
    }
    for sql in [versions::WIPED_DAMAGE, versions::WIPED_DAMAGED_CHANGES] {
        connection
            .prepare_cached(sql)?
            .execute(params![space.as_str(), owner, origin])?;
    }
    let calls = connection
        .prepare_cached(PSEUDONYMISED_CALLS)?
        .execute(whose)? as u64;
    for sql in [PSEUDONYMISED_RECORDS, PSEUDONYMISED_COUNTS] {
        connection.prepare_cached(sql)?.execute([pseudonym])?;
    }
    Ok(calls)
}

/// The rows of a table that a sweep removes, whose moment has come, the earliest first.
pub(crate) struct DueRows {
    pub(crate) table: &'static str,
    /// A condition on that moment, `?1`.
    pub(crate) condition: &'static str,
    /// Its column, which has an index.
    pub(crate) order: &'static str,
    pub(crate) moment: Timestamp,
}

impl DueRows {
    /// All kinds, memories first.
    pub(crate) fn all(sweep: &Sweep) -> [DueRows; 10] {
        let due = |table, condition, order, moment| DueRows {
            table,
            condition,
            order,
            moment,
        };
        [
            due("memory", "expires_at <= ?1", "expires_at", sweep.expired_at),
            due(
                "memory",
                "deleted_at <= ?1",
                "deleted_at",
                sweep.deleted_until,
            ),
            due(
                "cache_entry",
                "expires_at <= ?1",
                "expires_at",
                sweep.expired_at,
            ),
            due(
                "decision",
                "expires_at <= ?1",
                "expires_at",
                sweep.expired_at,
            ),
            due(
                "keyed_answer",
                "expires_at <= ?1",
                "expires_at",
                sweep.expired_at,
            ),
            // As in its index.
            due(
                "audit",
                "at < ?1 AND (user IS NULL OR user NOT GLOB 'wiped-????????????????????????????????')",
                "at",
                sweep.audited_before,
            ),
            due("wipe", "at < ?1", "at", sweep.wiped_before),
            // Its moments are days.
            due(
                "daily",
                "day < ?1",
                "day",
                Timestamp::from_microseconds(sweep.counted_before),
            ),
            due("version", versions::DUE, "changed_at", sweep.changed_before),
            due(
                "record_version",
                record_versions::DUE,
                "changed_at",
                sweep.changed_before,
            ),
        ]
    }

    pub(crate) fn sql(&self) -> String {
        let DueRows {
            table,
            condition,
            order,
            ..
        } = self;
        format!("SELECT rowid FROM {table} WHERE {condition} ORDER BY {order} LIMIT ?2")
    }

    /// Bytes of the texts of a row, if it has long ones.
    fn bytes(&self, connection: &Connection, row: i64) -> Result<i64> {
        let sql = match self.table {
            "memory" => {
                "SELECT octet_length(c.text) + octet_length(m.citations)
                FROM memory AS m JOIN content AS c ON c.memory = m.row WHERE m.row = ?1"
            }
            "cache_entry" => "SELECT octet_length(response) FROM cache_entry WHERE row = ?1",
            "version" => "SELECT octet_length(content) FROM version WHERE row = ?1",
            "keyed_answer" => "SELECT octet_length(answer) FROM keyed_answer WHERE row = ?1",
            _ => return Ok(0),
        };
        Ok(connection
            .prepare_cached(sql)?
            .query_row([row], |row| row.get::<_, Option<i64>>(0))
            .optional()?
            .flatten()
            .unwrap_or(0))
    }

    /// Removes a row, or a part of a large memory, which is hidden from then on; whether it is
    /// gone.
    fn remove(&self, connection: &Connection, row: i64) -> Result<bool> {
        if self.table != "memory" {
            let sql = format!("DELETE FROM {} WHERE rowid = ?1", self.table);
            connection.prepare_cached(&sql)?.execute([row])?;
            return Ok(true);
        }
        let [first, last] = passage_keys(row);
        let mut removed = 0;
        for (table, key) in [("further_vector", "passage"), ("passage", "row")] {
            let sql = format!(
                "DELETE FROM {table} WHERE {key} IN (
                    SELECT row FROM passage WHERE row BETWEEN ?1 AND ?2 ORDER BY row LIMIT ?3)"
            );
            removed = connection.prepare_cached(&sql)?.execute(params![
                first,
                last,
                bound(PASSAGES_SWEPT_MAX)
            ])?;
        }
        if removed == PASSAGES_SWEPT_MAX {
            return hide(connection, row, self.moment);
        }
        delete(connection, row)?;
        Ok(true)
    }
}

/// Removes what is due, then trims the change log, for one turn at most. Returns in how many steps:
/// nothing is left after none.
pub(crate) fn sweep(connection: &Connection, sweep: &Sweep, limit: usize) -> Result<usize> {
    let mut turn = WorkSlice::begin();
    let mut steps = 0;
    for due in DueRows::all(sweep) {
        let mut statement = connection.prepare_cached(&due.sql())?;
        let parameters = params![due.moment.microseconds(), bound(limit - steps)];
        let rows = statement
            .query_map(parameters, |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<i64>>>()?;
        for row in rows {
            let bytes = due.bytes(connection, row)?;
            let mut is_gone = false;
            while !is_gone {
                if steps == limit || (steps > 0 && turn.is_over()) {
                    return Ok(steps);
                }
                is_gone = due.remove(connection, row)?;
                steps += 1;
            }
            turn.remove(bytes);
        }
    }
    if steps < limit {
        let trimmed = connection
            .prepare_cached(TRIM)?
            .execute([CHANGES_KEPT, CHANGES_TRIMMED_MAX])?;
        // More than that is left; what comes in while it sweeps is no reason to go on.
        steps += usize::from(trimmed == CHANGES_TRIMMED_MAX as usize);
    }
    Ok(steps)
}

/// Trims the change log to `?1` rows, by at most `?2`.
pub(crate) const TRIM: &str = "DELETE FROM change WHERE number <= min(
    (SELECT max(number) FROM change) - ?1, (SELECT min(number) FROM change) + ?2 - 1)";

/// Returns whether there is something to sweep. The log is let grow to twice its length first.
pub(crate) fn needs_sweep(connection: &Connection, sweep: &Sweep) -> Result<bool> {
    for due in DueRows::all(sweep) {
        if connection
            .prepare_cached(&due.sql())?
            .exists([due.moment.microseconds(), 1])?
        {
            return Ok(true);
        }
    }
    let sql =
        "SELECT (SELECT max(number) FROM change) - (SELECT min(number) FROM change) >= 2 * ?1";
    let is_long: Option<bool> = connection
        .prepare_cached(sql)?
        .query_row([CHANGES_KEPT], |row| row.get(0))?;
    Ok(is_long.unwrap_or(false))
}
