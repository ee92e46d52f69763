//! A row of the `memory` table as a record.

use loci_core::{Delivery, Memory, MemoryId, Place, Space, Timestamp, Visibility};
use rusqlite::Row;

use crate::codec::decode_names;
use crate::failure::{Result, damaged};

/// The columns of `memory AS m` that [`read_memory`] reads, in its order.
pub(crate) const COLUMNS: &str = "m.space, m.id, m.collection, m.section, m.kind, m.tags, m.weight, m.delivery, \
     m.owner, m.visibility, m.supersedes, m.expires_at, m.created_at, m.updated_at, m.revision";
/// The first column after those.
pub(crate) const NEXT_COLUMN: usize = 15;

/// The record in the row, without its content and without what supersedes it.
pub(crate) fn read_memory(row: &Row<'_>) -> Result<Memory> {
    let name = |column| -> Result<&str> { row.get_ref(column)?.as_str().map_err(|_| damaged().into()) };
    let moment = |microseconds: i64| Timestamp::from_microseconds(microseconds);
    Ok(Memory {
        space: read_space(name(0)?)?,
        id: MemoryId::new(name(1)?),
        content: String::new(),
        place: Place { collection: row.get(2)?, section: row.get(3)? },
        kind: row.get(4)?,
        tags: decode_names(name(5)?)?,
        weight: row.get(6)?,
        delivery: Delivery::from_name(name(7)?).ok_or_else(damaged)?,
        owner: row.get(8)?,
        visibility: Visibility::from_name(name(9)?).ok_or_else(damaged)?,
        supersedes: row.get::<_, Option<String>>(10)?.map(MemoryId::new),
        superseded_by: None,
        expires_at: row.get::<_, Option<i64>>(11)?.map(moment),
        created_at: moment(row.get(12)?),
        updated_at: moment(row.get(13)?),
        revision: row.get::<_, i64>(14)?.cast_unsigned(),
    })
}

/// The space with a stored name.
pub(crate) fn read_space(name: &str) -> Result<Space> {
    Space::parse("space", name).map_err(|_| damaged().into())
}
