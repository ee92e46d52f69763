//! Statements over what is known of files that memories were made from.

use loci_core::{ContentHash, FileStamp, SourceFile, Space};
use rusqlite::{Connection, Params, Row, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::filter_sql::bound;
use crate::statements::row::verify_checksum;

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str = "nullif(collection, 0), path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole, \
     checksum IS loci_checksum(space, collection, path, root, format, bytes, modified, bytes_read, hash, parts, \
     is_pending, is_whole)";

pub(crate) fn put(
    connection: &Connection,
    space: &Space,
    file: &SourceFile,
    expect: Option<&SourceFile>,
) -> Result<()> {
    let SourceFile {
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
    expected(connection, space, (collection.as_deref(), path), expect)?;
    let sql = "INSERT OR REPLACE INTO source_file (space, collection, path, root, format, bytes, modified, bytes_read,
            hash, parts, is_pending, is_whole)
        VALUES (?1, ifnull(?2, 0), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
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

/// An error unless that is what is known of the file of that collection and path.
fn expected(
    connection: &Connection,
    space: &Space,
    (collection, path): (Option<&str>, &str),
    expect: Option<&SourceFile>,
) -> Result<()> {
    if find(connection, space, collection, path)?.as_ref() == expect {
        return Ok(());
    }
    Err(conflict(
        "the file was read by another process meanwhile; read what is known of it again and retry",
    ))
}

pub(crate) fn delete(connection: &Connection, space: &Space, expect: &SourceFile) -> Result<()> {
    let SourceFile {
        collection, path, ..
    } = expect;
    expected(
        connection,
        space,
        (collection.as_deref(), path),
        Some(expect),
    )?;
    let sql =
        "DELETE FROM source_file WHERE space = ?1 AND collection = ifnull(?2, 0) AND path = ?3";
    connection
        .prepare_cached(sql)?
        .execute(params![space.as_str(), collection, path])?;
    record_other_change(connection)
}

pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    collection: Option<&str>,
    path: &str,
) -> Result<Option<SourceFile>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM source_file WHERE space = ?1 AND collection = ifnull(?2, 0) AND path = ?3"
    );
    Ok(query(connection, &sql, params![space.as_str(), collection, path])?.pop())
}

pub(crate) fn of_collection(
    connection: &Connection,
    space: &Space,
    collection: Option<&str>,
) -> Result<Vec<SourceFile>> {
    query(
        connection,
        &of_collection_sql(),
        params![space.as_str(), collection],
    )
}

pub(crate) fn of_collection_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file WHERE space = ?1 AND collection = ifnull(?2, 0) ORDER BY path"
    )
}

pub(crate) fn at(connection: &Connection, space: &Space, path: &str) -> Result<Vec<SourceFile>> {
    query(connection, &at_sql(), [space.as_str(), path])
}

/// A number, which stands for no collection, comes before every text.
pub(crate) fn at_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file WHERE space = ?1 AND path = ?2 ORDER BY source_file.collection"
    )
}

pub(crate) fn pending(
    connection: &Connection,
    space: &Space,
    limit: usize,
) -> Result<Vec<SourceFile>> {
    query(
        connection,
        &pending_sql(),
        params![space.as_str(), bound(limit)],
    )
}

/// The index is named, since another would find all files of the space.
pub(crate) fn pending_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM source_file INDEXED BY source_file_pending
         WHERE space = ?1 AND is_pending ORDER BY path, collection LIMIT ?2"
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
    verify_checksum(row, 11, "source file", 1)?;
    let number = |column| -> Result<u64> { Ok(row.get::<_, i64>(column)?.cast_unsigned()) };
    Ok(SourceFile {
        collection: row.get(0)?,
        path: row.get(1)?,
        root: row.get(2)?,
        format: row.get(3)?,
        stamp: FileStamp {
            bytes: number(4)?,
            modified_nanoseconds: row.get(5)?,
        },
        bytes_read: number(6)?,
        hash: ContentHash(row.get(7)?),
        parts: number(8)?,
        is_pending: row.get(9)?,
        is_whole: row.get(10)?,
    })
}
