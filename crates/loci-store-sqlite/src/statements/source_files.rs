//! Statements over what is known of files that memories were made from.

use loci_core::{SourceFile, Space};
use rusqlite::{Connection, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::filter_sql::bound;
use crate::statements::row::{read_all, read_one};

/// The columns of a file.
pub(crate) const COLUMNS: &str = "checksum IS loci_checksum(space, machine, collection, path, root, format, bytes, modified, bytes_read, hash, parts, \
     is_pending, is_whole), machine, nullif(collection, 0), path, root, format, bytes, modified, bytes_read, hash, parts, \
     is_pending, is_whole";

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
        "another process read the file first; read what is known about it again and retry",
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
    read_one(connection, &sql, key)
}

pub(crate) fn of_collection(
    connection: &Connection,
    space: &Space,
    machine: &str,
    collection: Option<&str>,
) -> Result<Vec<SourceFile>> {
    read_all(
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
    read_all(connection, &at_sql(), [space.as_str(), machine, path])
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
    read_all(
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
