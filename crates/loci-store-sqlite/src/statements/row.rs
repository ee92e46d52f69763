//! A row of the `memory` table as a record.

use std::collections::BTreeMap;

use loci_core::{
    Access, Delivery, EnrichmentStatus, Location, Memory, MemoryId, Space, Thread, Tier, Timestamp,
    Visibility,
};
use rusqlite::{Connection, Params, Row};

use crate::failure::{Result, damaged, damaged_row};
use loci_index::StoredMemory;
use loci_index::codec::{
    decode_attributes, decode_citations, decode_links, decode_names, stored_space,
};

/// Declares the columns of a query: their SQL as one list, and their places in a row by name.
macro_rules! columns {
    (
        $(#[$doc:meta])+
        $list:ident, $column:ident:
        $first:ident = ($($first_sql:tt)+), $($name:ident = ($($sql:tt)+),)+
    ) => {
        $(#[$doc])+
        pub(crate) const $list: &str = concat!($($first_sql)+ $(, ", ", $($sql)+)+);

        #[derive(Clone, Copy)]
        enum $column {
            $first,
            $($name,)+
        }
    };
}

columns! {
    /// The columns of `memory AS m` that [`read_memory`] reads.
    COLUMNS, Column:
    Space = ("m.space"),
    Id = ("m.id"),
    Collection = ("m.collection"),
    Section = ("m.section"),
    Kind = ("m.kind"),
    Tags = ("m.tags"),
    Weight = ("m.weight"),
    Delivery = ("m.delivery"),
    Owner = ("m.owner"),
    Visibility = ("m.visibility"),
    Supersedes = ("m.supersedes"),
    ExpiresAt = ("m.expires_at"),
    CreatedAt = ("m.created_at"),
    UpdatedAt = ("m.updated_at"),
    Revision = ("m.revision"),
    Tier = ("m.tier"),
    Source = ("m.source"),
    Origin = ("m.origin"),
    Actor = ("m.actor"),
    ForgottenAt = ("m.forgotten_at"),
    UpdatedBy = ("m.updated_by"),
    ByAdmin = ("m.by_admin"),
}
/// The first column after those.
const NEXT_COLUMN: usize = Column::ByAdmin as usize + 1;

/// The tables that a query for whole records selects from.
pub(crate) const WHOLE_TABLES: &str =
    "memory AS m JOIN content AS c ON c.memory = m.row LEFT JOIN access AS a ON a.memory = m.row";
/// The condition that a row of `memory AS m` is as it was written.
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
columns! {
    /// The columns of these tables that [`read_whole`] reads after [`COLUMNS`].
    FURTHER_COLUMNS, Further:
    Text = ("c.text"),
    Summary = ("m.summary"),
    Thread = ("m.thread"),
    Position = ("m.position"),
    Enrichment = ("m.enrichment"),
    Links = ("m.links"),
    Count = ("a.count"),
    Last = ("a.last"),
    Attributes = ("m.attributes"),
    Citations = ("m.citations"),
    Title = ("m.title"),
    Holds = (memory_holds!(), " AND c.checksum IS loci_checksum(c.memory, c.text) AND m.text_checksum IS loci_checksum(c.text)"),
}
/// The first column after those.
pub(crate) const NEXT_WHOLE_COLUMN: usize = NEXT_COLUMN + Further::Holds as usize + 1;

columns! {
    /// The columns of `memory AS m` that [`read_stored`] reads.
    STORED_COLUMNS, Stored:
    Row = ("m.row"),
    Space = ("m.space"),
    Id = ("m.id"),
    Collection = ("m.collection"),
    Section = ("m.section"),
    Tags = ("m.tags"),
    Weight = ("m.weight"),
    Delivery = ("m.delivery"),
    Owner = ("m.owner"),
    Visibility = ("m.visibility"),
    Supersedes = ("m.supersedes"),
    ExpiresAt = ("m.expires_at"),
    CreatedAt = ("m.created_at"),
    UpdatedAt = ("m.updated_at"),
    Tier = ("m.tier"),
    Source = ("m.source"),
    Thread = ("m.thread"),
    Position = ("m.position"),
    Origin = ("m.origin"),
    IsForgotten = ("m.forgotten_at IS NOT NULL"),
    Replaces = ("(SELECT t.row FROM memory AS t WHERE t.space = m.space AND t.id = m.supersedes)"),
    Kind = ("m.kind"),
}

/// The column of those with the number of the row.
pub(crate) const STORED_ROW: usize = Stored::Row as usize;

/// Returns the properties that the index needs of the memory in the row, borrowed from it.
pub(crate) fn read_stored<'a>(row: &'a Row<'_>) -> Result<StoredMemory<'a>> {
    let name = |column: Stored| text(row, column as usize);
    let optional = |column: Stored| -> Result<Option<&str>> {
        Ok(row.get_ref(column as usize)?.as_str_or_null()?)
    };
    let position: Option<i64> = row.get(Stored::Position as usize)?;
    Ok(StoredMemory {
        space: name(Stored::Space)?,
        id: name(Stored::Id)?,
        collection: optional(Stored::Collection)?,
        section: name(Stored::Section)?,
        kind: name(Stored::Kind)?,
        tags: decode_names(name(Stored::Tags)?)?,
        weight: row.get(Stored::Weight as usize)?,
        delivery: Delivery::from_name(name(Stored::Delivery)?).ok_or_else(damaged)?,
        origin: name(Stored::Origin)?,
        owner: optional(Stored::Owner)?,
        visibility: Visibility::from_name(name(Stored::Visibility)?).ok_or_else(damaged)?,
        supersedes: optional(Stored::Supersedes)?,
        replaces: row.get(Stored::Replaces as usize)?,
        expires_at: read_moment(row, Stored::ExpiresAt as usize)?,
        created_at: read_moment(row, Stored::CreatedAt as usize)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, Stored::UpdatedAt as usize)?.ok_or_else(damaged)?,
        is_forgotten: row.get(Stored::IsForgotten as usize)?,
        tier: Tier::from_name(name(Stored::Tier)?).ok_or_else(damaged)?,
        source: optional(Stored::Source)?,
        thread: optional(Stored::Thread)?.zip(position.map(i64::cast_unsigned)),
    })
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

/// The fields of the record in the row that have a column of [`COLUMNS`].
fn read_memory(row: &Row<'_>) -> Result<Memory> {
    let name = |column: Column| text(row, column as usize);
    Ok(Memory {
        space: read_space(name(Column::Space)?)?,
        id: MemoryId::new(name(Column::Id)?),
        content: String::new(),
        title: None,
        location: Location {
            collection: row.get(Column::Collection as usize)?,
            section: row.get(Column::Section as usize)?,
        },
        kind: row.get(Column::Kind as usize)?,
        summary: None,
        tags: decode_names(name(Column::Tags)?)?,
        weight: row.get(Column::Weight as usize)?,
        tier: Tier::from_name(name(Column::Tier)?).ok_or_else(damaged)?,
        thread: None,
        source: read_id(row, Column::Source as usize)?,
        enrichment: None,
        links: Vec::new(),
        citations: Vec::new(),
        attributes: BTreeMap::new(),
        access: Access::default(),
        delivery: Delivery::from_name(name(Column::Delivery)?).ok_or_else(damaged)?,
        origin: row.get(Column::Origin as usize)?,
        owner: row.get(Column::Owner as usize)?,
        actor: row.get(Column::Actor as usize)?,
        updated_by: row.get(Column::UpdatedBy as usize)?,
        by_admin: row.get(Column::ByAdmin as usize)?,
        visibility: Visibility::from_name(name(Column::Visibility)?).ok_or_else(damaged)?,
        supersedes: read_id(row, Column::Supersedes as usize)?,
        superseded_by: None,
        expires_at: read_moment(row, Column::ExpiresAt as usize)?,
        forgotten_at: read_moment(row, Column::ForgottenAt as usize)?,
        created_at: read_moment(row, Column::CreatedAt as usize)?.ok_or_else(damaged)?,
        updated_at: read_moment(row, Column::UpdatedAt as usize)?.ok_or_else(damaged)?,
        revision: row
            .get::<_, i64>(Column::Revision as usize)?
            .cast_unsigned(),
    })
}

/// Returns the record in the row, without the memory that supersedes it. A corrupt row is a
/// failure, never a record: a list with such a memory fails as a whole and names it, so that no
/// caller takes the rest for the whole list.
pub(crate) fn read_whole(row: &Row<'_>) -> Result<Memory> {
    let column = |further: Further| NEXT_COLUMN + further as usize;
    verify_checksum(row, column(Further::Holds), "memory", Column::Id as usize)?;
    let thread: Option<String> = row.get(column(Further::Thread))?;
    let position: Option<i64> = row.get(column(Further::Position))?;
    let enrichment: Option<String> = row.get(column(Further::Enrichment))?;
    let status = |name: String| EnrichmentStatus::from_name(&name).ok_or_else(damaged);
    let count: Option<i64> = row.get(column(Further::Count))?;
    Ok(Memory {
        content: row.get(column(Further::Text))?,
        title: row.get(column(Further::Title))?,
        summary: row.get(column(Further::Summary))?,
        thread: thread.zip(position).map(|(name, position)| Thread {
            name,
            position: position.cast_unsigned(),
        }),
        enrichment: enrichment.map(status).transpose()?,
        links: decode_links(text(row, column(Further::Links))?)?,
        attributes: decode_attributes(text(row, column(Further::Attributes))?)?,
        citations: decode_citations(text(row, column(Further::Citations))?)?,
        access: Access {
            count: count.unwrap_or(0).cast_unsigned(),
            last: read_moment(row, column(Further::Last))?,
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
    Ok(stored_space(name)?)
}
