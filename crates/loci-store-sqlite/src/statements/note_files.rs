//! Statements over what is known of files of notes.

use loci_core::{Filter, MemoryId, NoteFile, Space, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::failure::{Result, memory_conflict};
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::row::{read_all, read_one, verify_checksum};
use loci_index::codec::encode_names;
use loci_index::records::NOTE_FILE;

/// The condition that a file is there or expected, so that its memory is a note.
pub(crate) const IS_NOTE: &str = "coalesce(missing_since, 0) = 0";

/// The columns of a file.
pub(crate) fn columns() -> String {
    format!(
        "checksum IS loci_checksum(space, path, bytes, modified, settled, hash, memory, says_id, missing_since, \
         problem, message, links), {NOTE_FILE}"
    )
}
/// The columns that [`read_folder`] reads, in its order.
pub(crate) const FOLDER_COLUMNS: &str =
    "checksum IS loci_checksum(space, identity), space, identity";

pub(crate) fn put(connection: &Connection, space: &Space, file: &NoteFile) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO note_file ({NOTE_FILE}, space)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    let problem = file.problem.as_ref();
    connection.prepare_cached(&sql)?.execute(params![
        file.path,
        file.stamp.bytes.cast_signed(),
        file.stamp.modified_nanoseconds,
        file.is_settled,
        file.hash.0,
        file.memory.as_ref().map(MemoryId::as_str),
        file.says_id,
        encode_names(&file.links),
        problem.map(|problem| problem.kind.name()),
        problem.map(|problem| problem.message.as_str()),
        file.missing_since.map(Timestamp::microseconds),
        space.as_str(),
    ])?;
    Ok(())
}

/// Notes that a file is about to be put there, unless one is.
pub(crate) fn expect(connection: &Connection, space: &Space, file: &NoteFile) -> Result<()> {
    let sql = "SELECT 1 FROM note_file WHERE space = ?1 AND path = ?2 AND missing_since IS NULL";
    if connection
        .prepare_cached(sql)?
        .exists([space.as_str(), &file.path])?
    {
        return Ok(());
    }
    put(
        connection,
        space,
        &NoteFile {
            missing_since: Some(NoteFile::EXPECTED),
            ..file.clone()
        },
    )
}

pub(crate) fn delete(connection: &Connection, space: &Space, path: &str) -> Result<()> {
    let sql = "DELETE FROM note_file WHERE space = ?1 AND path = ?2";
    connection
        .prepare_cached(sql)?
        .execute([space.as_str(), path])?;
    Ok(())
}

pub(crate) fn all(connection: &Connection, space: &Space) -> Result<Vec<NoteFile>> {
    read_all(connection, &all_sql(), [space.as_str()])
}

pub(crate) fn all_sql() -> String {
    format!(
        "SELECT {} FROM note_file WHERE space = ?1 ORDER BY path",
        columns()
    )
}

pub(crate) fn of_memory(
    connection: &Connection,
    space: &Space,
    memory: &MemoryId,
) -> Result<Option<NoteFile>> {
    let key = [space.as_str(), memory.as_str()];
    read_one(connection, &of_memory_sql(), key)
}

/// Selects the files of a memory: files that are there come before expected ones. The index is
/// named, because a look at all files of the space would find them in the order of their paths.
pub(crate) fn of_memory_sql() -> String {
    format!(
        "SELECT {} FROM note_file INDEXED BY note_file_by_memory
         WHERE space = ?1 AND memory = ?2 AND {IS_NOTE}
             AND EXISTS (SELECT 1 FROM memory AS m WHERE m.space = ?1 AND m.id = ?2 AND m.deleted_at IS NULL)
         ORDER BY missing_since, path LIMIT 1",
        columns()
    )
}

/// An error if the memory is a note.
pub(crate) fn none_of(connection: &Connection, space: &Space, memory: &MemoryId) -> Result<()> {
    match of_memory(connection, space, memory)? {
        Some(_) => Err(memory_conflict(
            memory,
            "is a note by now; change it in its file",
        )),
        None => Ok(()),
    }
}

pub(crate) fn among(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let conditions = Conditions::of(filter);
    let sql = among_sql(&conditions);
    let mut values = conditions.values;
    values.push((":limit", bound(limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let ids = statement.query_map(&*parameters(&values), |row| {
        Ok(MemoryId::new(row.get::<_, String>(0)?))
    })?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn among_sql(conditions: &Conditions) -> String {
    format!(
        "SELECT DISTINCT n.memory FROM note_file AS n CROSS JOIN memory AS m ON m.space = n.space AND m.id = n.memory
         WHERE n.space = :space AND n.memory IS NOT NULL AND {IS_NOTE} AND {}
         ORDER BY n.memory LIMIT :limit",
        conditions.sql
    )
}

pub(crate) fn put_folder(connection: &Connection, space: &Space, identity: &str) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO note_folder (space, identity) VALUES (?1, ?2)";
    connection
        .prepare_cached(sql)?
        .execute([space.as_str(), identity])?;
    Ok(())
}

pub(crate) fn folder(connection: &Connection, space: &Space) -> Result<Option<String>> {
    let sql = format!("SELECT {FOLDER_COLUMNS} FROM note_folder WHERE space = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([space.as_str()])?;
    rows.next()?.map(read_folder).transpose()
}

/// The identity of the folder in the row.
pub(crate) fn read_folder(row: &Row<'_>) -> Result<String> {
    verify_checksum(row, "the folder of notes of", 1)?;
    Ok(row.get(2)?)
}
