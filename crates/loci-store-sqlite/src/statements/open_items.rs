//! Statements over what people should decide, and over the memories that were examined for it.

use std::collections::HashSet;

use loci_core::{Examined, ExaminedUntil, Filter, MemoryId, OpenItem, Space, ToExamine};
use loci_index::codec::encode_names;
use loci_index::records::OPEN_ITEM;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::row::{read_all, read_space};

/// The changes that one step looks at.
const CHANGES_READ: usize = 2_000;
/// The first and the last change of the log, each by itself, because both in one query read all of it.
pub(crate) const LOG_ENDS: &str = "SELECT ifnull((SELECT min(number) FROM change), 0), \
    ifnull((SELECT max(number) FROM change), 0)";
/// A row that has a memory examined again: of no revision, so that no reader sees it, and with a
/// memory that there is not as the other one of a pair, by which the rows are found.
const AGAIN: &str =
    "INSERT OR IGNORE INTO open_item (space, key, memory, revision, kind, other, certainty)";

/// The place that was reached by these rules; without one, or if the log of changes does not reach
/// back to it, the end of all memories.
fn place(connection: &Connection, rules: u32) -> Result<(ExaminedUntil, bool)> {
    let sql = "SELECT rules, change, row FROM examined";
    let kept = connection
        .prepare_cached(sql)?
        .query_row([], |row| {
            Ok(ExaminedUntil {
                rules: row.get(0)?,
                change: row.get(1)?,
                row: row.get(2)?,
            })
        })
        .optional()?;
    let (first, last): (i64, i64) = connection
        .prepare_cached(LOG_ENDS)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match kept {
        Some(kept) if kept.rules == rules && first <= kept.change + 1 && kept.change <= last => {
            Ok((kept, false))
        }
        _ => Ok((
            ExaminedUntil {
                rules,
                change: last,
                row: i64::MAX,
            },
            true,
        )),
    }
}

pub(crate) fn to_examine(
    connection: &Connection,
    rules: u32,
    limit: usize,
) -> Result<Option<ToExamine>> {
    let snapshot = connection.unchecked_transaction()?;
    let (mut until, is_new) = place(&snapshot, rules)?;
    let before = until;
    let mut rows: Vec<i64> = Vec::new();
    let sql = "SELECT number, memory FROM change WHERE number > ?1 ORDER BY number LIMIT ?2";
    let mut statement = snapshot.prepare_cached(sql)?;
    let changes = statement.query_map(params![until.change, bound(CHANGES_READ)], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    for change in changes {
        let (number, row): (i64, i64) = change?;
        // A memory before the place comes with the others there.
        let is_due = row >= until.row && row != 0;
        if is_due && !rows.contains(&row) {
            if rows.len() == limit {
                break;
            }
            rows.push(row);
        }
        until.change = number;
    }
    drop(statement);
    let again = if rows.len() < limit {
        again(&snapshot, limit - rows.len())?
    } else {
        Vec::new()
    };
    if rows.is_empty() && again.is_empty() && until.row > 0 {
        let sql = "SELECT row FROM memory WHERE row < ?1 AND deleted_at IS NULL ORDER BY row DESC LIMIT ?2";
        let mut statement = snapshot.prepare_cached(sql)?;
        let found = statement.query_map(params![until.row, bound(limit)], |row| row.get(0))?;
        rows = found.collect::<rusqlite::Result<_>>()?;
        until.row = if rows.len() < limit {
            0
        } else {
            rows.last().copied().unwrap_or(0)
        };
    }
    let has_rows = !rows.is_empty();
    let mut memories = Vec::new();
    let mut statement = snapshot.prepare_cached("SELECT space, id FROM memory WHERE row = ?1")?;
    for row in rows {
        let found: Option<(String, String)> = statement
            .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((space, id)) = found {
            memories.push((read_space(&space)?, MemoryId::new(id)));
        }
    }
    drop(statement);
    let known: HashSet<(Space, MemoryId)> = memories.iter().cloned().collect();
    memories.extend(again.into_iter().filter(|again| !known.contains(again)));
    snapshot.finish()?;
    // The place is kept now and then, so that the log still reaches back to it, and where all of the
    // memories are removed ones, after which others may wait.
    let moves = is_new
        || (has_rows && memories.is_empty())
        || until.row != before.row
        || until.change >= before.change + CHANGES_READ as i64 / 2;
    let is_backlog = until.row != before.row;
    Ok((!memories.is_empty() || moves).then_some(ToExamine {
        memories,
        until,
        is_backlog,
    }))
}

/// Returns memories that lost a pair, and are to be examined again.
fn again(connection: &Connection, limit: usize) -> Result<Vec<(Space, MemoryId)>> {
    let sql = "SELECT space, memory FROM open_item WHERE other = '' LIMIT ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map([bound(limit)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut again = Vec::new();
    for row in found {
        let (space, id): (String, String) = row?;
        again.push((read_space(&space)?, MemoryId::new(id)));
    }
    Ok(again)
}

/// Has the other memories of the pairs of a memory examined again, before it is removed with them.
pub(crate) fn leave(connection: &Connection, row: i64) -> Result<()> {
    for [end, left] in [["memory", "other"], ["other", "memory"]] {
        let sql = format!(
            "{AGAIN} SELECT o.space, '~' || o.{left}, o.{left}, 0, 'again', '', 0
             FROM memory AS m JOIN open_item AS o ON o.{end} = m.id AND +o.space = m.space
             WHERE m.row = ?1 AND o.other <> ''"
        );
        connection.prepare_cached(&sql)?.execute([row])?;
    }
    Ok(())
}

/// Returns whether there are memories to examine.
pub(crate) fn needs_examination(connection: &Connection, rules: u32) -> Result<bool> {
    Ok(to_examine(connection, rules, 1)?.is_some())
}

pub(crate) fn put_examined(
    connection: &Connection,
    until: Option<ExaminedUntil>,
    examined: &[Examined],
) -> Result<()> {
    let found = examined.iter().flat_map(|examined| &examined.items);
    let found: Vec<String> = found.map(|item| item.key.clone()).collect();
    for Examined {
        space,
        memory,
        kinds,
        as_older,
        ..
    } in examined
    {
        let kinds = encode_names(kinds);
        for [end, left] in [["memory", "other"], ["other", "memory"]] {
            let held = match (end, as_older) {
                ("memory", _) => &[][..],
                (_, Some(held)) => held,
                (_, None) => continue,
            };
            let held = [held, &found].concat();
            let values = params![space.as_str(), memory.as_str(), kinds, encode_names(&held)];
            let gone = format!(
                "+space = ?1 AND {end} = ?2 AND kind IN (SELECT value FROM json_each(?3))
                 AND key NOT IN (SELECT value FROM json_each(?4))"
            );
            let sql = format!(
                "{AGAIN} SELECT space, '~' || {left}, {left}, 0, 'again', '', 0
                 FROM open_item WHERE other <> '' AND {gone}"
            );
            connection.prepare_cached(&sql)?.execute(values)?;
            let sql = format!("DELETE FROM open_item WHERE {gone}");
            connection.prepare_cached(&sql)?.execute(values)?;
        }
    }
    for examined in examined {
        put(connection, &examined.space, &examined.items)?;
        if examined.as_older.is_some() {
            let sql = "DELETE FROM open_item WHERE space = ?1 AND key = '~' || ?2";
            let values = params![examined.space.as_str(), examined.memory.as_str()];
            connection.prepare_cached(sql)?.execute(values)?;
        }
    }
    if let Some(until) = until {
        let sql =
            "INSERT OR REPLACE INTO examined (number, rules, change, row) VALUES (1, ?1, ?2, ?3)";
        connection
            .prepare_cached(sql)?
            .execute(params![until.rules, until.change, until.row])?;
    }
    Ok(())
}

fn put(connection: &Connection, space: &Space, items: &[OpenItem]) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO open_item (space, {OPEN_ITEM}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    for item in items {
        statement.execute(params![
            space.as_str(),
            item.key,
            item.memory.as_str(),
            item.revision.cast_signed(),
            item.kind,
            item.other.as_ref().map(MemoryId::as_str),
            item.certainty,
        ])?;
    }
    Ok(())
}

/// Returns the items whose memory passes the filter and is as it was examined.
pub(crate) fn list(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<OpenItem>> {
    let Conditions {
        sql, mut values, ..
    } = Conditions::of(filter);
    values.push((":limit", bound(limit)));
    let sql = format!(
        "SELECT 1, o.key, o.memory, o.revision, o.kind, o.other, o.certainty FROM open_item AS o CROSS JOIN memory AS m ON m.space = o.space AND m.id = o.memory
         WHERE o.space = :space AND m.revision = o.revision AND {sql}
         ORDER BY o.certainty DESC, o.key LIMIT :limit"
    );
    read_all(connection, &sql, &*parameters(&values))
}
