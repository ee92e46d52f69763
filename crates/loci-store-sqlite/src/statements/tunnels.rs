//! Statements over the tunnels between places.

use loci_core::{MemoryId, Space, Tunnel};
use loci_index::records::TUNNEL;
use rusqlite::{Connection, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::row::{read_all, read_one};

/// The condition that a row is as it was written.
macro_rules! holds {
    () => {
        "checksum IS loci_checksum(row, space, id, source_collection, source_section, source_memory, \
         target_collection, target_section, target_memory, label, owner, is_common, created_at, updated_at)"
    };
}
pub(crate) use holds;

/// The columns of a tunnel.
pub(crate) fn columns() -> String {
    format!("{}, {TUNNEL}", holds!())
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
        "INSERT OR REPLACE INTO tunnel ({TUNNEL})
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
    read_all(connection, &sql, [space.as_str()])
}

fn find(connection: &Connection, space: &Space, id: &str) -> Result<Option<Tunnel>> {
    let sql = format!(
        "SELECT {} FROM tunnel WHERE space = ?1 AND id = ?2",
        columns()
    );
    read_one(connection, &sql, [space.as_str(), id])
}
