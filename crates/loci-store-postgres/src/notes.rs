//! Statements over what is known of files of notes.

use loci_core::{Filter, MemoryId, NoteFile, Space};
use loci_index::records::NOTE_FILE;

use crate::failure::{Result, memory_conflict};
use crate::filter::Conditions;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{digest, values};

/// True for a file that is there or expected, so that its memory is a note.
const IS_NOTE: &str = "coalesce(missing_since, 0) = 0";

fn key(path: &str) -> Vec<u8> {
    digest(&[Some(path)])
}

pub(crate) fn put(transaction: &mut Transaction<'_>, file: &NoteFile) {
    let problem = file.problem.as_ref();
    let row = values![
        transaction.name(),
        key(&file.path),
        &file.path,
        file.stamp.bytes.cast_signed(),
        file.stamp.modified_nanoseconds,
        file.is_settled,
        file.hash.0,
        file.memory.as_ref(),
        file.says_id,
        file.links.as_slice(),
        problem.map(|problem| problem.kind.name()),
        problem.map(|problem| problem.message.as_str()),
        file.missing_since,
    ];
    transaction.insert_rows(
        &format!("INSERT INTO @note_file (space, note, {NOTE_FILE})"),
        vec![row],
        " ON CONFLICT (space, note) DO UPDATE SET bytes = excluded.bytes, modified = excluded.modified, \
         settled = excluded.settled, hash = excluded.hash, memory = excluded.memory, says_id = excluded.says_id, \
         links = excluded.links, problem = excluded.problem, message = excluded.message, \
         missing_since = excluded.missing_since",
    );
    transaction.forget_notes();
}

/// Records that a file is about to be put there, unless one is.
pub(crate) async fn expect(transaction: &mut Transaction<'_>, file: &NoteFile) -> Result<()> {
    if is_there(transaction, file, "missing_since IS NULL").await? {
        return Ok(());
    }
    let expected = NoteFile {
        missing_since: Some(NoteFile::EXPECTED),
        ..file.clone()
    };
    put(transaction, &expected);
    Ok(())
}

/// Returns true if an import leaves the file as it is known: a missing one makes room for one that
/// is there.
pub(crate) async fn is_known(transaction: &mut Transaction<'_>, file: &NoteFile) -> Result<bool> {
    let condition = if file.missing_since.is_some() {
        "TRUE"
    } else {
        "missing_since IS NULL"
    };
    is_there(transaction, file, condition).await
}

async fn is_there(
    transaction: &mut Transaction<'_>,
    file: &NoteFile,
    condition: &str,
) -> Result<bool> {
    let sql = format!("SELECT 1 FROM @note_file WHERE space = $1 AND note = $2 AND {condition}");
    let values = values![transaction.name(), key(&file.path)];
    Ok(!transaction.query(&sql, values).await?.is_empty())
}

pub(crate) fn delete(transaction: &mut Transaction<'_>, path: &str) {
    transaction.queue(
        "DELETE FROM @note_file WHERE space = $1 AND note = $2",
        values![transaction.name(), key(path)],
    );
    transaction.forget_notes();
}

pub(crate) async fn all(session: &Session, space: &Space) -> Result<Vec<NoteFile>> {
    let sql = format!("SELECT {NOTE_FILE} FROM @note_file WHERE space = $1 ORDER BY path");
    session.records(&sql, &values![space]).await
}

/// Returns the file of a memory that is not soft-deleted. Files that are there come before expected
/// ones.
pub(crate) async fn of_memory(
    session: &Session,
    space: &Space,
    memory: &MemoryId,
) -> Result<Option<NoteFile>> {
    let sql = format!(
        "SELECT {NOTE_FILE} FROM @note_file WHERE space = $1 AND memory = $2 AND {IS_NOTE} \
         AND EXISTS (SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.id = $2 AND m.deleted_at IS NULL) \
         ORDER BY missing_since NULLS FIRST, path LIMIT 1"
    );
    session.record(&sql, &values![space, memory]).await
}

/// Fails if the memory is a note.
pub(crate) async fn none_of(transaction: &mut Transaction<'_>, id: &MemoryId) -> Result<()> {
    let found = transaction.find(id).await?;
    if found.is_none_or(|found| found.deleted_at.is_some()) {
        return Ok(());
    }
    let is_note = if let Some(is_note) = transaction.is_note(id) {
        is_note
    } else {
        let sql = format!(
            "SELECT 1 FROM @note_file WHERE space = $1 AND memory = $2 AND {IS_NOTE} LIMIT 1"
        );
        let values = values![transaction.name(), id];
        !transaction.query(&sql, values).await?.is_empty()
    };
    if is_note {
        return Err(memory_conflict(
            id,
            "is a note by now; change it in its file",
        ));
    }
    Ok(())
}

pub(crate) async fn among(
    session: &Session,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let mut conditions = Conditions::of(filter);
    let limit = conditions.bind(limit);
    let sql = format!(
        "SELECT DISTINCT m.id FROM @note_file AS n JOIN @memory AS m ON m.space = $1 AND m.id = n.memory \
         WHERE n.space = $1 AND n.memory IS NOT NULL AND coalesce(n.missing_since, 0) = 0 AND {} \
         ORDER BY m.id LIMIT {limit}",
        conditions.sql
    );
    let rows = session.query(&sql, &conditions.values).await?;
    rows.iter()
        .map(|row| Ok(MemoryId::new(row.try_get::<_, String>(0)?)))
        .collect()
}

pub(crate) fn put_folder(transaction: &mut Transaction<'_>, identity: &str) {
    transaction.queue(
        "INSERT INTO @note_folder (space, identity) VALUES ($1, $2) \
         ON CONFLICT (space) DO UPDATE SET identity = excluded.identity",
        values![transaction.name(), identity],
    );
}

pub(crate) async fn has_folder(transaction: &mut Transaction<'_>) -> Result<bool> {
    let sql = "SELECT 1 FROM @note_folder WHERE space = $1";
    let values = values![transaction.name()];
    Ok(!transaction.query(sql, values).await?.is_empty())
}

pub(crate) async fn folder(session: &Session, space: &Space) -> Result<Option<String>> {
    let sql = "SELECT identity FROM @note_folder WHERE space = $1";
    let row = session.query_one(sql, &values![space]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
