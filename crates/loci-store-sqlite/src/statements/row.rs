//! A row of the `memory` table as a record.

use std::collections::BTreeMap;

use loci_core::{
    Access, Delivery, EnrichmentStatus, Location, Memory, MemoryId, Space, Thread, Tier, Timestamp,
    Visibility,
};
use rusqlite::{Connection, Params, Row};

use crate::failure::{Result, damaged, damaged_row};
use crate::statements::codec::{decode_attributes, decode_citations, decode_links, decode_names};
use loci_index::StoredMemory;

/// The columns of `memory AS m` that [`read_memory`] reads, in its order.
pub(crate) const COLUMNS: &str = "m.space, m.id, m.collection, m.section, m.kind, m.tags, m.weight, m.delivery, \
     m.owner, m.visibility, m.supersedes, m.expires_at, m.created_at, m.updated_at, m.revision, m.tier, m.source, \
     m.origin, m.actor, m.forgotten_at, m.updated_by, m.by_admin";
/// The first column after those.
pub(crate) const NEXT_COLUMN: usize = 22;

/// The tables that a query for whole records selects from.
pub(crate) const WHOLE_TABLES: &str =
    "memory AS m JOIN content AS c ON c.memory = m.row LEFT JOIN access AS a ON a.memory = m.row";
/// Whether a row of `memory AS m` is as it was written.
macro_rules! memory_holds {
    () => {
        "m.checksum IS loci_checksum(m.row, m.space, m.id, m.collection, m.section, m.kind, m.weight, m.tier, \
         m.delivery, m.origin, m.owner, m.actor, m.updated_by, m.by_admin, m.visibility, m.supersedes, m.source, \
         m.thread, m.position, m.enrichment, m.expires_at, m.created_at, m.updated_at, m.deleted_at, m.forgotten_at, m.revision, \
         m.text_checksum, m.title, m.tags, m.summary, m.links, m.attributes, m.citations)"
    };
}
pub(crate) use memory_holds;
/// That as a condition.
pub(crate) const MEMORY_HOLDS: &str = memory_holds!();
/// The columns of them that [`read_whole`] reads after [`COLUMNS`], in its order.
pub(crate) const FURTHER_COLUMNS: &str = concat!(
    "c.text, m.summary, m.thread, m.position, m.enrichment, m.links, a.count, a.last, m.attributes, m.citations, \
     m.title, ",
    memory_holds!(),
    " AND c.checksum IS loci_checksum(c.memory, c.text) AND m.text_checksum IS loci_checksum(c.text)"
);
/// The first column after those.
pub(crate) const NEXT_WHOLE_COLUMN: usize = NEXT_COLUMN + 12;

/// The columns of `memory AS m` that [`read_stored`] reads, in its order.
pub(crate) const STORED_COLUMNS: &str = "m.row, m.space, m.id, m.collection, m.section, m.tags, m.weight, m.delivery, \
     m.owner, m.visibility, m.supersedes, m.expires_at, m.created_at, m.updated_at, m.tier, m.source, m.thread, \
     m.position, m.origin, m.forgotten_at IS NOT NULL, \
     (SELECT t.row FROM memory AS t WHERE t.space = m.space AND t.id = m.supersedes), m.kind";

/// Returns the properties that the index needs of the memory in the row, borrowed from it.
pub(crate) fn read_stored<'a>(row: &'a Row<'_>) -> Result<StoredMemory<'a>> {
    let name = |column| text(row, column);
    let optional = |column| -> Result<Option<&str>> {
        row.get_ref(column)?
            .as_str_or_null()
            .map_err(|_| damaged().into())
    };
    let position: Option<i64> = row.get(17)?;
    Ok(StoredMemory {
        space: name(1)?,
        id: name(2)?,
        collection: optional(3)?,
        section: name(4)?,
        kind: name(21)?,
        tags: decode_names(name(5)?)?,
        weight: row.get(6)?,
        delivery: Delivery::from_name(name(7)?).ok_or_else(damaged)?,
        origin: name(18)?,
        owner: optional(8)?,
        visibility: Visibility::from_name(name(9)?).ok_or_else(damaged)?,
        supersedes: optional(10)?,
        replaces: row.get(20)?,
        expires_at: read_moment(row, 11)?,
        created_at: read_moment(row, 12)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, 13)?.ok_or_else(damaged)?,
        is_forgotten: row.get(19)?,
        tier: Tier::from_name(name(14)?).ok_or_else(damaged)?,
        source: optional(15)?,
        thread: optional(16)?.zip(position.map(i64::cast_unsigned)),
    })
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    row.get_ref(column)?.as_str().map_err(|_| damaged().into())
}

/// The fields of the record in the row that have a column of [`COLUMNS`].
fn read_memory(row: &Row<'_>) -> Result<Memory> {
    let name = |column| text(row, column);
    Ok(Memory {
        space: read_space(name(0)?)?,
        id: MemoryId::new(name(1)?),
        content: String::new(),
        title: None,
        location: Location {
            collection: row.get(2)?,
            section: row.get(3)?,
        },
        kind: row.get(4)?,
        summary: None,
        tags: decode_names(name(5)?)?,
        weight: row.get(6)?,
        tier: Tier::from_name(name(15)?).ok_or_else(damaged)?,
        thread: None,
        source: read_id(row, 16)?,
        enrichment: None,
        links: Vec::new(),
        citations: Vec::new(),
        attributes: BTreeMap::new(),
        access: Access::default(),
        delivery: Delivery::from_name(name(7)?).ok_or_else(damaged)?,
        origin: row.get(17)?,
        owner: row.get(8)?,
        actor: row.get(18)?,
        updated_by: row.get(20)?,
        by_admin: row.get(21)?,
        visibility: Visibility::from_name(name(9)?).ok_or_else(damaged)?,
        supersedes: read_id(row, 10)?,
        superseded_by: None,
        expires_at: read_moment(row, 11)?,
        forgotten_at: read_moment(row, 19)?,
        created_at: read_moment(row, 12)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, 13)?.ok_or_else(damaged)?,
        revision: row.get::<_, i64>(14)?.cast_unsigned(),
    })
}

/// Returns the record in the row, without the memory that supersedes it. A corrupt row is a
/// failure, never a record: a list with such a memory fails as a whole and names it, so that no
/// caller takes the rest for the whole list.
pub(crate) fn read_whole(row: &Row<'_>) -> Result<Memory> {
    let column = |number: usize| NEXT_COLUMN + number;
    verify_checksum(row, column(11), "memory", 1)?;
    let thread: Option<String> = row.get(column(2))?;
    let position: Option<i64> = row.get(column(3))?;
    let enrichment: Option<String> = row.get(column(4))?;
    let status = |name: String| EnrichmentStatus::from_name(&name).ok_or_else(damaged);
    let count: Option<i64> = row.get(column(6))?;
    Ok(Memory {
        content: row.get(column(0))?,
        title: row.get(column(10))?,
        summary: row.get(column(1))?,
        thread: thread.zip(position).map(|(name, position)| Thread {
            name,
            position: position.cast_unsigned(),
        }),
        enrichment: enrichment.map(status).transpose()?,
        links: decode_links(text(row, column(5))?)?,
        attributes: decode_attributes(text(row, column(8))?)?,
        citations: decode_citations(text(row, column(9))?)?,
        access: Access {
            count: count.unwrap_or(0).cast_unsigned(),
            last: read_moment(row, column(7))?,
        },
        ..read_memory(row)?
    })
}

/// A failure that names the row, unless the column `holds` says that its checksum is that of its
/// values. The column `key` has its name, which tells nothing of its content.
pub(crate) fn verify_checksum(row: &Row<'_>, holds: usize, noun: &str, key: usize) -> Result<()> {
    if row.get::<_, Option<bool>>(holds)? == Some(true) {
        return Ok(());
    }
    Err(damaged_row(noun, row.get_ref(key)?).into())
}

/// A failure that names a row, if the statement finds it: it is one of rows whose checksums do not
/// hold.
pub(crate) fn none_broken(
    connection: &Connection,
    broken: &str,
    parameters: impl Params,
    noun: &str,
    key: &str,
) -> Result<()> {
    if connection.prepare_cached(broken)?.exists(parameters)? {
        return Err(damaged_row(noun, key.into()).into());
    }
    Ok(())
}

/// The id in a column, if there is one.
pub(crate) fn read_id(row: &Row<'_>, column: usize) -> Result<Option<MemoryId>> {
    Ok(row.get::<_, Option<String>>(column)?.map(MemoryId::new))
}

/// The moment in a column, if there is one.
pub(crate) fn read_moment(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    Ok(row
        .get::<_, Option<i64>>(column)?
        .map(Timestamp::from_microseconds))
}

/// The space with a stored name.
pub(crate) fn read_space(name: &str) -> Result<Space> {
    Space::parse("space", name).map_err(|_| damaged().into())
}
