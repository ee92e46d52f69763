//! Statements over the tunnels between places.

use loci_core::{MemoryId, Space, Tunnel, TunnelEnd};
use rusqlite::{Connection, Params, Row, params};

use crate::failure::{Result, conflict, damaged};
use crate::statements::change_feed::record_other_change;
use crate::statements::row::{read_id, read_moment, read_space, verify_checksum};

const COLUMNS: &str = "space, id, source_collection, source_section, source_memory, target_collection, \
     target_section, target_memory, label, owner, is_common, created_at, updated_at";
/// The condition that a row is as it was written.
macro_rules! holds {
    () => {
        "checksum IS loci_checksum(row, space, id, source_collection, source_section, source_memory, \
         target_collection, target_section, target_memory, label, owner, is_common, created_at, updated_at)"
    };
}
pub(crate) use holds;

/// The columns that [`read`] reads, in its order.
pub(crate) fn columns() -> String {
    format!("{COLUMNS}, {}", holds!())
}

pub(crate) fn put(connection: &Connection, tunnel: &Tunnel, expect: Option<&Tunnel>) -> Result<()> {
    let Tunnel {
        space,
        id,
        source,
        target,
        label,
        owner,
        is_common,
        created_at,
        updated_at,
    } = tunnel;
    if find(connection, space, id)?.as_ref() != expect {
        return Err(conflict(format!(
            "the tunnel `{id}` changed meanwhile; read it again and retry"
        )));
    }
    let mut is_there =
        connection.prepare_cached("SELECT 1 FROM memory WHERE space = ?1 AND id = ?2")?;
    for memory in [source, target]
        .into_iter()
        .filter_map(|end| end.memory.as_ref())
    {
        if !is_there.exists([space.as_str(), memory.as_str()])? {
            return Err(conflict(format!(
                "memory `{memory}` is gone, and no tunnel leads to it; read again and retry"
            )));
        }
    }
    let sql = format!(
        "INSERT OR REPLACE INTO tunnel ({COLUMNS})
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    );
    connection.prepare_cached(&sql)?.execute(params![
        space.as_str(),
        id,
        source.collection,
        source.section,
        source.memory.as_ref().map(MemoryId::as_str),
        target.collection,
        target.section,
        target.memory.as_ref().map(MemoryId::as_str),
        label,
        owner,
        is_common,
        created_at.microseconds(),
        updated_at.microseconds(),
    ])?;
    record_other_change(connection)
}

pub(crate) fn delete(connection: &Connection, space: &Space, id: &str) -> Result<()> {
    let sql = "DELETE FROM tunnel WHERE space = ?1 AND id = ?2";
    if connection
        .prepare_cached(sql)?
        .execute([space.as_str(), id])?
        == 0
    {
        return Err(conflict(format!(
            "the tunnel `{id}` is gone; read them again and retry"
        )));
    }
    record_other_change(connection)
}

pub(crate) fn all(connection: &Connection, space: &Space) -> Result<Vec<Tunnel>> {
    let sql = format!(
        "SELECT {} FROM tunnel WHERE space = ?1 ORDER BY created_at, id",
        columns()
    );
    query(connection, &sql, [space.as_str()])
}

fn find(connection: &Connection, space: &Space, id: &str) -> Result<Option<Tunnel>> {
    let sql = format!(
        "SELECT {} FROM tunnel WHERE space = ?1 AND id = ?2",
        columns()
    );
    Ok(query(connection, &sql, [space.as_str(), id])?.pop())
}

fn query(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<Tunnel>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut tunnels = Vec::new();
    while let Some(row) = rows.next()? {
        tunnels.push(read(row)?);
    }
    Ok(tunnels)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Tunnel> {
    verify_checksum(row, 13, "tunnel", 1)?;
    let end = |first: usize| -> Result<TunnelEnd> {
        Ok(TunnelEnd {
            collection: row.get(first)?,
            section: row.get(first + 1)?,
            memory: read_id(row, first + 2)?,
        })
    };
    Ok(Tunnel {
        space: read_space(&row.get::<_, String>(0)?)?,
        id: row.get(1)?,
        source: end(2)?,
        target: end(5)?,
        label: row.get(8)?,
        owner: row.get(9)?,
        is_common: row.get(10)?,
        created_at: read_moment(row, 11)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, 12)?.ok_or_else(damaged)?,
    })
}
