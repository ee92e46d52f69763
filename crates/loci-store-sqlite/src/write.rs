//! Statements that change memories. They run on the writer's thread, inside its transaction.

use loci_core::{
    Batch, Change, Error, ErrorCode, Expect, Memory, MemoryId, ModelId, Passage, Space, Timestamp, Vector,
};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::codec::{encode_names, encode_terms, encode_vector};
use crate::failure::Result;
use crate::read::POSITION_BITS;

/// Newest rows of the change log that a trim leaves. A process that is further behind loads its
/// index anew, which costs about as much as reading that many changes.
const CHANGES_KEPT: i64 = 10_000;
/// Passages of one memory.
const PASSAGES_MAX: usize = 1 << POSITION_BITS;

/// Makes all changes of a batch.
pub(crate) fn apply(connection: &Connection, batch: &Batch) -> Result<()> {
    for change in &batch.changes {
        match change {
            Change::Put { memory, passages, expect } => {
                if memory.space != batch.space {
                    return Err(Error::internal("a memory must be in the space of its batch").into());
                }
                put(connection, memory, passages.as_deref(), *expect)?;
            }
            Change::Delete { id, revision } => {
                let found = find(connection, &batch.space, id)?;
                if let Some(row) = expected(found, Expect::Revision(*revision), id)? {
                    delete(connection, row)?;
                }
            }
            Change::Embed { id, revision, vectors } => {
                if let Some((row, found)) = find(connection, &batch.space, id)?
                    && found == *revision
                {
                    embed(connection, row, vectors)?;
                }
            }
        }
    }
    Ok(())
}

/// Removes up to `limit` memories that have expired, the first to expire first, and trims the
/// change log. Returns how many were removed.
pub(crate) fn sweep(connection: &Connection, now: Timestamp, limit: usize) -> Result<usize> {
    let sql = "SELECT row FROM memory WHERE expires_at <= ?1 ORDER BY expires_at, space, id LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([now.microseconds(), limit], |row| row.get(0))?;
    let rows: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
    for row in &rows {
        delete(connection, *row)?;
    }
    let trim = "DELETE FROM change WHERE number <= (SELECT max(number) FROM change) - ?1";
    connection.prepare_cached(trim)?.execute([CHANGES_KEPT])?;
    Ok(rows.len())
}

/// Whether a sweep would find anything to do.
pub(crate) fn needs_sweep(connection: &Connection, now: Timestamp) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM memory WHERE expires_at <= ?1)
        OR (SELECT max(number) FROM change) - (SELECT min(number) FROM change) > 2 * ?2";
    let parameters = [now.microseconds(), CHANGES_KEPT];
    Ok(connection.prepare_cached(sql)?.query_row(parameters, |row| row.get::<_, Option<bool>>(0))?.unwrap_or(false))
}

fn put(connection: &Connection, memory: &Memory, passages: Option<&[Passage]>, expect: Expect) -> Result<()> {
    let found = find(connection, &memory.space, &memory.id)?;
    let row = match expected(found, expect, &memory.id)? {
        Some(row) => {
            write_memory(connection, memory, Some(row))?;
            if passages.is_some() {
                delete_passages(connection, row)?;
            }
            row
        }
        None => write_memory(connection, memory, None)?,
    };
    if passages.is_some() || found.is_none() {
        let sql = "INSERT INTO content (memory, text) VALUES (?1, ?2)
            ON CONFLICT (memory) DO UPDATE SET text = excluded.text";
        connection.prepare_cached(sql)?.execute(params![row, memory.content])?;
    }
    insert_passages(connection, row, passages.unwrap_or_default())?;
    log(connection, row)
}

/// Writes the columns of `memory` into that row, or into a new one; returns the row.
fn write_memory(connection: &Connection, memory: &Memory, row: Option<i64>) -> Result<i64> {
    const INSERT: &str = "INSERT INTO memory (row, space, id, collection, section, kind, tags, weight, delivery, \
         owner, visibility, supersedes, expires_at, created_at, updated_at, revision) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    const UPDATE: &str = "UPDATE memory SET space = ?2, id = ?3, collection = ?4, section = ?5, kind = ?6, \
         tags = ?7, weight = ?8, delivery = ?9, owner = ?10, visibility = ?11, supersedes = ?12, \
         expires_at = ?13, created_at = ?14, updated_at = ?15, revision = ?16 WHERE row = ?1";
    let sql = if row.is_some() { UPDATE } else { INSERT };
    connection.prepare_cached(sql)?.execute(params![
        row,
        memory.space.as_str(),
        memory.id.as_str(),
        memory.place.collection,
        memory.place.section,
        memory.kind,
        encode_names(&memory.tags),
        memory.weight,
        memory.delivery.name(),
        memory.owner,
        memory.visibility.name(),
        memory.supersedes.as_ref().map(MemoryId::as_str),
        memory.expires_at.map(Timestamp::microseconds),
        memory.created_at.microseconds(),
        memory.updated_at.microseconds(),
        memory.revision.cast_signed(),
    ])?;
    Ok(row.unwrap_or_else(|| connection.last_insert_rowid()))
}

fn insert_passages(connection: &Connection, row: i64, passages: &[Passage]) -> Result<()> {
    if passages.len() > PASSAGES_MAX {
        return Err(Error::internal(format!("a memory may have at most {PASSAGES_MAX} passages")).into());
    }
    let sql = "INSERT INTO passage (row, first_byte, end_byte, terms, model, scale, vector)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut statement = connection.prepare_cached(sql)?;
    for (key, passage) in (row << POSITION_BITS..).zip(passages) {
        let vector = passage.vector.as_ref();
        let model = vector.map(|vector| model(connection, &vector.model)).transpose()?;
        statement.execute(params![
            key,
            passage.range.start as i64,
            passage.range.end as i64,
            encode_terms(&passage.terms),
            model,
            vector.map(|vector| f64::from(vector.scale)),
            vector.map(|vector| encode_vector(&vector.values)),
        ])?;
    }
    Ok(())
}

fn embed(connection: &Connection, row: i64, vectors: &[Vector]) -> Result<()> {
    let count = "SELECT count(*) FROM passage WHERE row BETWEEN ?1 AND ?2";
    let passages: i64 = connection.prepare_cached(count)?.query_row(passage_keys(row), |row| row.get(0))?;
    if passages != vectors.len() as i64 {
        return Err(Error::internal("an embedding must bring one vector for each passage").into());
    }
    let sql = "UPDATE passage SET model = ?2, scale = ?3, vector = ?4 WHERE row = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for (key, vector) in (row << POSITION_BITS..).zip(vectors) {
        let model = model(connection, &vector.model)?;
        statement.execute(params![key, model, f64::from(vector.scale), encode_vector(&vector.values)])?;
    }
    log(connection, row)
}

fn delete(connection: &Connection, row: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM memory WHERE row = ?1")?.execute([row])?;
    connection.prepare_cached("DELETE FROM content WHERE memory = ?1")?.execute([row])?;
    delete_passages(connection, row)?;
    log(connection, row)
}

fn delete_passages(connection: &Connection, row: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM passage WHERE row BETWEEN ?1 AND ?2")?.execute(passage_keys(row))?;
    Ok(())
}

/// The first and the last key that a passage of the memory may have.
pub(crate) fn passage_keys(row: i64) -> [i64; 2] {
    [row << POSITION_BITS, (row << POSITION_BITS) + (PASSAGES_MAX as i64 - 1)]
}

fn log(connection: &Connection, row: i64) -> Result<()> {
    connection.prepare_cached("INSERT INTO change (memory) VALUES (?1)")?.execute([row])?;
    Ok(())
}

/// The row and the revision of a memory.
fn find(connection: &Connection, space: &Space, id: &MemoryId) -> Result<Option<(i64, u64)>> {
    let mut statement = connection.prepare_cached("SELECT row, revision FROM memory WHERE space = ?1 AND id = ?2")?;
    let found = statement
        .query_row([space.as_str(), id.as_str()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))
        .optional()?;
    Ok(found)
}

/// The row of what was found, if it is what was expected.
fn expected(found: Option<(i64, u64)>, expect: Expect, id: &MemoryId) -> Result<Option<i64>> {
    let holds = match expect {
        Expect::Absent => found.is_none(),
        Expect::Revision(revision) => found.is_some_and(|(_, found)| found == revision),
    };
    if holds {
        return Ok(found.map(|(row, _)| row));
    }
    let problem = match (expect, found) {
        (Expect::Absent, _) => "exists already",
        (Expect::Revision(_), None) => "is gone",
        (Expect::Revision(_), Some(_)) => "changed meanwhile",
    };
    let message = format!("memory `{id}` {problem}; read it again and retry");
    Err(Error::new(ErrorCode::Conflict, message).into())
}

/// The row of a model, which is made if it is new.
fn model(connection: &Connection, model: &ModelId) -> Result<i64> {
    let parameters: [&dyn ToSql; 1] = [&model.as_str()];
    let mut statement = connection.prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?;
    if let Some(row) = statement.query_row(parameters, |row| row.get(0)).optional()? {
        return Ok(row);
    }
    connection.prepare_cached("INSERT INTO model (fingerprint) VALUES (?1)")?.execute(parameters)?;
    Ok(connection.last_insert_rowid())
}
