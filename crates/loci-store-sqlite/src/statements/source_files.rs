//! Statements over what is known of files that memories were made from.

use loci_core::{ContentHash, FileStamp, SourceFile, Space};
use rusqlite::{Connection, Params, Row, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::filter_sql::bound;
use crate::statements::row::verify_checksum;

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str = "machine, nullif(collection, 0), path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole, \
     checksum IS loci_checksum(space, machine, collection, path, root, format, bytes, modified, bytes_read, hash, parts, \
     is_pending, is_whole)";

/// The condition that a row has this key.
const IS_MEANT: &str = "space = ?1 AND machine = ?2 AND collection = ifnull(?3, 0) AND path = ?4";

pub(crate) fn put(
    connection: &Connection,
    space: &Space,
    file: &SourceFile,
    expect: Option<&SourceFile>,
) -> Result<()> {
    let SourceFile {
        machine,
        collection,
        path,
        root,
        format,
        stamp,
        bytes_read,
        hash,
        parts,
        is_pending,
        is_whole,
    } = file;
    expected(connection, space, file, expect)?;
    let sql = "INSERT OR REPLACE INTO source_file (space, machine, collection, path, root, format, bytes, modified,
            bytes_read, hash, parts, is_pending, is_whole)
        VALUES (?1, ?2, ifnull(?3, 0), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        machine,
        collection,
        path,
        root,
        format,
        stamp.bytes.cast_signed(),
        stamp.modified_nanoseconds,
        bytes_read.cast_signed(),
        hash.0,
        parts.cast_signed(),
        is_pending,
        is_whole,
    ])?;
    record_other_change(connection)
}

/// Fails unless that is what is known of the file with the key of this one.
fn expected(
    connection: &Connection,
    space: &Space,
    file: &SourceFile,
    expect: Option<&SourceFile>,
) -> Result<()> {
    let SourceFile {
        machine,
        collection,
        path,
        ..
    } = file;
    if find(connection, space, machine, collection.as_deref(), path)?.as_ref() == expect {
        return Ok(());
    }
    Err(conflict(
        "the file was read by another process meanwhile; read what is known of it again and retry",
    ))
}

pub(crate) fn delete(connection: &Connection, space: &Space, expect: &SourceFile) -> Result<()> {
    let SourceFile {
        machine,
        collection,
        path,
        ..
    } = expect;
    expected(connection, space, expect, Some(expect))?;
    let sql = format!("DELETE FROM source_file WHERE {IS_MEANT}");
    connection
        .prepare_cached(&sql)?
        .execute(params![space.as_str(), machine, collection, path])?;
    record_other_change(connection)
}

pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    machine: &str,
    collection: Option<&str>,
    path: &str,
) -> Result<Option<SourceFile>> {
    let sql = format!("SELECT {COLUMNS} FROM source_file WHERE {IS_MEANT}");
    let key = params![space.as_str(), machine, collection, path];
    Ok(query(connection, &sql, key)?.pop())
}

pub(crate) fn of_collection(
    connection: &Connection,
    space: &Space,
    machine: &str,
    collection: Option<&str>,
) -> Result<Vec<SourceFile>> {
    query(
        connection,
        &of_collection_sql(),
        params![space.as_str(), machine, collection],
    )
}

pub(crate) fn of_collection_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file WHERE space = ?1 AND machine = ?2 AND collection = ifnull(?3, 0)
         ORDER BY path"
    )
}

pub(crate) fn at(
    connection: &Connection,
    space: &Space,
    machine: &str,
    path: &str,
) -> Result<Vec<SourceFile>> {
    query(connection, &at_sql(), [space.as_str(), machine, path])
}

/// A number, which stands for no collection, comes before every text.
pub(crate) fn at_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file WHERE space = ?1 AND machine = ?2 AND path = ?3
         ORDER BY source_file.collection"
    )
}

pub(crate) fn pending(
    connection: &Connection,
    space: &Space,
    machine: &str,
    limit: usize,
) -> Result<Vec<SourceFile>> {
    query(
        connection,
        &pending_sql(),
        params![space.as_str(), machine, bound(limit)],
    )
}

/// The index is named, because another would find all files of the space.
pub(crate) fn pending_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file INDEXED BY source_file_pending
         WHERE space = ?1 AND machine = ?2 AND is_pending ORDER BY path, collection LIMIT ?3"
    )
}

fn query(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<SourceFile>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        files.push(read(row)?);
    }
    Ok(files)
}

pub(crate) fn read(row: &Row<'_>) -> Result<SourceFile> {
    verify_checksum(row, 12, "source file", 2)?;
    let number = |column| -> Result<u64> { Ok(row.get::<_, i64>(column)?.cast_unsigned()) };
    Ok(SourceFile {
        machine: row.get(0)?,
        collection: row.get(1)?,
        path: row.get(2)?,
        root: row.get(3)?,
        format: row.get(4)?,
        stamp: FileStamp {
            bytes: number(5)?,
            modified_nanoseconds: row.get(6)?,
        },
        bytes_read: number(7)?,
        hash: ContentHash(row.get(8)?),
        parts: number(9)?,
        is_pending: row.get(10)?,
        is_whole: row.get(11)?,
    })
}
