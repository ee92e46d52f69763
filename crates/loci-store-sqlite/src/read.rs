//! Reads that need no index: by id, by filter, counts.

use std::collections::BTreeSet;

use loci_core::{Filter, Memory, MemoryId, ModelId, Page, Space, Tally};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::failure::Result;
use crate::filter_sql::Conditions;
use crate::row::{COLUMNS, NEXT_COLUMN, read_memory, read_space};

/// Positions of a memory's passages take that many bits of a passage's key.
pub(crate) const POSITION_BITS: u32 = 20;

pub(crate) fn get_all(connection: &Connection, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
    let Conditions { sql, successor, mut values } = Conditions::of(filter);
    let sql = format!(
        "SELECT {COLUMNS}, c.text, ({successor}) \
         FROM memory AS m JOIN content AS c ON c.memory = m.row WHERE m.id = :id AND {sql}"
    );
    // One snapshot for all, which also costs the locks of one.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(&sql)?;
    let mut memories = Vec::with_capacity(ids.len());
    for id in ids {
        values.push((":id", Value::from(id.as_str().to_owned())));
        let mut rows = statement.query(&*parameters(&values))?;
        if let Some(row) = rows.next()? {
            memories.push(read_whole(row)?);
        }
        values.pop();
    }
    drop(statement);
    snapshot.finish()?;
    Ok(memories)
}

pub(crate) fn list(connection: &Connection, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
    let Conditions { sql, successor, mut values } = Conditions::of(filter);
    let sql = format!(
        "SELECT {COLUMNS}, c.text, ({successor}) \
         FROM memory AS m JOIN content AS c ON c.memory = m.row WHERE {sql} \
         ORDER BY m.updated_at DESC, m.id LIMIT :limit OFFSET :offset"
    );
    let bound = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    values.extend([(":limit", bound(page.limit)), (":offset", bound(page.offset))]);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push(read_whole(row)?);
    }
    Ok(memories)
}

fn read_whole(row: &Row<'_>) -> Result<Memory> {
    let superseded_by = row.get::<_, Option<String>>(NEXT_COLUMN + 1)?.map(MemoryId::new);
    Ok(Memory { content: row.get(NEXT_COLUMN)?, superseded_by, ..read_memory(row)? })
}

pub(crate) fn tally(connection: &Connection, filter: &Filter) -> Result<Vec<Tally>> {
    let Conditions { sql, values, .. } = Conditions::of(filter);
    let sql = format!(
        "SELECT m.collection, m.section, count(*) FROM memory AS m WHERE {sql} \
         GROUP BY m.collection, m.section ORDER BY m.collection, m.section"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let tallies = statement.query_map(&*parameters(&values), |row| {
        let memories: i64 = row.get(2)?;
        Ok(Tally { collection: row.get(0)?, section: row.get(1)?, memories: memories.cast_unsigned() })
    })?;
    Ok(tallies.collect::<rusqlite::Result<_>>()?)
}

fn parameters<'a>(values: &'a [(&'static str, Value)]) -> Vec<(&'a str, &'a dyn ToSql)> {
    values.iter().map(|(name, value)| (*name, value as &dyn ToSql)).collect()
}

pub(crate) fn without_vector(connection: &Connection, model: &ModelId, limit: usize) -> Result<Vec<(Space, MemoryId)>> {
    let model: Option<i64> = connection
        .prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?
        .query_row([model.as_str()], |row| row.get(0))
        .optional()?;
    // Three ranges of one index, so that the cost is that of what is missing. An unknown model
    // counts as row 0, which no model has.
    let model = model.unwrap_or(0);
    let mut rows = BTreeSet::new();
    for range in ["model IS NULL", "model < ?1", "model > ?1"] {
        if rows.len() < limit {
            let sql = format!(
                "SELECT DISTINCT row >> {POSITION_BITS} FROM passage WHERE {range} AND ?1 IS NOT NULL LIMIT ?2"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let found = statement.query_map([model, limit], |row| row.get::<_, i64>(0))?;
            rows.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
        }
    }
    let mut statement = connection.prepare_cached("SELECT space, id FROM memory WHERE row = ?1")?;
    let mut named = Vec::new();
    for row in rows.into_iter().take(limit) {
        let (space, id): (String, String) = statement.query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        named.push((read_space(&space)?, MemoryId::new(id)));
    }
    Ok(named)
}

/// The number of the newest change.
pub(crate) fn version(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(number), 0) FROM change")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// How many memories and passages there are.
pub(crate) fn counts(connection: &Connection) -> Result<(u64, u64)> {
    let sql = "SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM passage)";
    let counts: (i64, i64) = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((counts.0.cast_unsigned(), counts.1.cast_unsigned()))
}
