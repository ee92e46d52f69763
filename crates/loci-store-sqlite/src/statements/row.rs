//! Rows as records, each of which says whether it is as it was written.

use loci_core::{Memory, Space};
use loci_index::StoredMemory;
use loci_index::codec::{decode_names, stored_space};
use loci_index::records::{ReadColumns, StoredRecord};
use rusqlite::{Connection, Params, Row};

use crate::failure::{Failure, Result, damaged_row};

/// The tables that a query for whole records selects from.
pub(crate) const WHOLE_TABLES: &str =
    "memory AS m JOIN content AS c ON c.memory = m.row LEFT JOIN access AS a ON a.memory = m.row";
/// The condition that a row of `memory AS m` is as it was written.
macro_rules! memory_holds {
    () => {
        "m.checksum IS loci_checksum(m.row, m.space, m.id, m.collection, m.section, m.kind, m.weight, m.tier, \
         m.delivery, m.origin, m.owner, m.actor, m.updated_by, m.by_admin, m.visibility, m.supersedes, m.source, \
         m.thread, m.position, m.enrichment, m.expires_at, m.created_at, m.updated_at, m.deleted_at, m.forgotten_at, m.revision, \
         m.text_checksum, m.title, m.tags, m.summary, m.links, m.attributes, m.citations, \
         m.said_by, m.program, m.session)"
    };
}
pub(crate) use memory_holds;
/// That as a condition.
pub(crate) const MEMORY_HOLDS: &str = memory_holds!();
/// The columns of a [`Memory`], of [`WHOLE_TABLES`].
pub(crate) const WHOLE_COLUMNS: &str = concat!(
    memory_holds!(),
    " AND c.checksum IS loci_checksum(c.memory, c.text) AND m.text_checksum IS loci_checksum(c.text), \
     m.space, m.id, c.text, m.title, m.collection, m.section, m.kind, m.summary, m.tags, m.weight, m.tier, m.thread, \
     m.position, m.source, m.enrichment, m.links, m.citations, m.attributes, a.count, a.last, m.delivery, m.origin, \
     m.owner, m.actor, m.updated_by, m.by_admin, m.said_by, m.program, m.session, m.visibility, m.supersedes, \
     m.expires_at, m.forgotten_at, m.created_at, m.updated_at, m.revision"
);
/// The columns of a [`StoredMemory`], of `memory AS m`.
pub(crate) const STORED_COLUMNS: &str = "m.row, m.space, m.id, m.collection, m.section, m.kind, m.tags, m.weight, \
     m.delivery, m.origin, m.program, m.owner, m.visibility, m.supersedes, \
     (SELECT t.row FROM memory AS t WHERE t.space = m.space AND t.id = m.supersedes), m.expires_at, \
     m.forgotten_at IS NOT NULL, m.created_at, m.updated_at, m.tier, m.source, m.thread, m.position";

/// Returns the row of a memory, and what the index needs of it, borrowed from the row.
pub(crate) fn read_stored<'a>(row: &'a Row<'_>) -> Result<(i64, StoredMemory<'a>)> {
    StoredMemory::read(&mut Columns { row, next: 0 })
}

/// Reads the columns of a row one after the other.
pub(crate) struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Columns<'_> {
    /// Returns the place of the next column, and goes on.
    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

impl<'a> ReadColumns<'a> for Columns<'a> {
    type Error = Failure;

    fn text_or_null(&mut self) -> Result<Option<&'a str>> {
        Ok(self.row.get_ref(self.place())?.as_str_or_null()?)
    }

    fn integer_or_null(&mut self) -> Result<Option<i64>> {
        Ok(self.row.get(self.place())?)
    }

    fn bytes_or_null(&mut self) -> Result<Option<&'a [u8]>> {
        Ok(self.row.get_ref(self.place())?.as_blob_or_null()?)
    }

    fn single_or_null(&mut self) -> Result<Option<f32>> {
        Ok(self.row.get(self.place())?)
    }

    fn double(&mut self) -> Result<f64> {
        Ok(self.row.get(self.place())?)
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.row.get(self.place())?)
    }

    fn texts(&mut self) -> Result<Vec<String>> {
        Ok(decode_names(self.text()?)?)
    }
}

/// Returns the record in a row, of whose columns the first says whether the row is as it was
/// written, and the columns after it. A corrupt row is a failure that names it, never a record: a
/// list with such a record fails as a whole, so that no caller takes the rest for the whole list.
pub(crate) fn read_first<'a, T: StoredRecord>(row: &'a Row<'_>) -> Result<(T, Columns<'a>)> {
    verify_checksum(row, T::NOUN, T::KEY + 1)?;
    let mut columns = Columns { row, next: 1 };
    match T::read(&mut columns) {
        Ok(record) => Ok((record, columns)),
        Err(Failure::Refused(_)) => Err(damaged_row(T::NOUN, row.get_ref(T::KEY + 1)?).into()),
        Err(failure) => Err(failure),
    }
}

/// Returns the record in a row, as [`read_first`] does.
pub(crate) fn read<T: StoredRecord>(row: &Row<'_>) -> Result<T> {
    Ok(read_first(row)?.0)
}

/// Returns the memory in a row with the memory that supersedes it, whose id is the column after
/// [`WHOLE_COLUMNS`].
pub(crate) fn read_superseded(row: &Row<'_>) -> Result<Memory> {
    let (memory, mut columns) = read_first::<Memory>(row)?;
    Ok(Memory {
        superseded_by: columns.id_or_null()?,
        ..memory
    })
}

/// Returns the same with the number of the row, which is the next column.
pub(crate) fn read_numbered(row: &Row<'_>) -> Result<(u64, Memory)> {
    let (memory, mut columns) = read_first::<Memory>(row)?;
    let superseded_by = columns.id_or_null()?;
    let number = columns.integer_or_null()?.unwrap_or_default();
    let memory = Memory {
        superseded_by,
        ..memory
    };
    Ok((number.cast_unsigned(), memory))
}

/// Returns the records that a statement finds.
pub(crate) fn read_all<T: StoredRecord>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let records = statement.query_and_then(parameters, read)?;
    records.collect()
}

/// Returns the first record that a statement finds.
pub(crate) fn read_one<T: StoredRecord>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    rows.next()?.map(read).transpose()
}

/// A failure that names the row, unless its first column says that its checksum is that of its
/// values. The column `key` has its name, which tells nothing of its content.
pub(crate) fn verify_checksum(row: &Row<'_>, noun: &str, key: usize) -> Result<()> {
    if row.get::<_, Option<bool>>(0)? == Some(true) {
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

/// The space with a stored name.
pub(crate) fn read_space(name: &str) -> Result<Space> {
    Ok(stored_space(name)?)
}
