//! Statements that change memories. They run on the writer's thread, inside its transaction.

use loci_core::{
    Batch, Change, EnrichmentStatus, Error, Expect, Memory, MemoryId, ModelId, Passage, Space, Timestamp, Touch, Vector,
};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::codec::{encode_attributes, encode_citations, encode_links, encode_names, encode_terms, encode_vector};
use crate::failure::{Result, conflict, unless_taken};
use crate::read::POSITION_BITS;
use crate::remove::not_wiped;
use crate::{facts, jobs, keyed_answers, note_files, settings, source_files, tunnels};

/// Passages of one memory.
const PASSAGES_MAX: usize = 1 << POSITION_BITS;

/// Makes all changes of a batch.
pub(crate) fn apply(connection: &Connection, batch: &Batch) -> Result<()> {
    let space = &batch.space;
    for change in &batch.changes {
        match change {
            Change::Put { memory, passages, expect } => {
                within(space, &memory.space, "a memory")?;
                put(connection, memory, passages.as_deref(), *expect)?;
            }
            Change::Delete { id, revision } => {
                let found = find(connection, space, id)?;
                if let Some(row) = expected(found, Expect::Revision(*revision), id)? {
                    delete(connection, row)?;
                }
            }
            Change::Embed { id, revision, vectors } => {
                if let Some(found) = find(connection, space, id)?
                    && found.has(*revision)
                {
                    embed(connection, found.row, vectors)?;
                }
            }
            Change::Enqueue { memory, due_at } => match find(connection, space, memory)? {
                Some(found) if !found.is_deleted => jobs::enqueue(connection, found.row, memory, *due_at)?,
                _ => return Err(conflict(format!("memory `{memory}` is gone and needs no job"))),
            },
            Change::Settle { job, outcome } => {
                within(space, &job.space, "a job")?;
                jobs::settle(connection, job, outcome)?;
            }
            Change::NotWiped { owner, origin, since } => {
                not_wiped(connection, space, owner, Some(origin), *since)?;
            }
            Change::PutNoteFile(file) => note_files::put(connection, space, file)?,
            Change::DeleteNoteFile { path } => note_files::delete(connection, space, path)?,
            Change::PutNoteFolder { identity } => note_files::put_folder(connection, space, identity)?,
            Change::KeepAnswer(answer) => {
                within(space, &answer.space, "an answer")?;
                keyed_answers::keep(connection, answer)?;
            }
            Change::PutFact(fact) => {
                within(space, &fact.space, "a fact")?;
                facts::put(connection, fact)?;
            }
            Change::EndFact { id, before, valid_to } => facts::end(connection, space, id, *before, *valid_to)?,
            Change::PutTunnel { tunnel, expect } => {
                within(space, &tunnel.space, "a tunnel")?;
                tunnels::put(connection, tunnel, expect.as_deref())?;
            }
            Change::DeleteTunnel { id } => tunnels::delete(connection, space, id)?,
            Change::PutSetting { owner, name, value } => {
                settings::put(connection, space, owner.as_deref(), name, value)?;
            }
            Change::PutSourceFile { file, expect } => source_files::put(connection, space, file, expect.as_deref())?,
            Change::DeleteSourceFile { collection, path } => {
                source_files::delete(connection, space, collection.as_deref(), path)?;
            }
        }
    }
    Ok(())
}

/// An error unless something is in the space of its batch.
fn within(batch: &Space, space: &Space, what: &str) -> Result<()> {
    if space == batch {
        return Ok(());
    }
    Err(Error::internal(format!("{what} must be in the space of its batch")).into())
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
         owner, visibility, supersedes, expires_at, created_at, updated_at, revision, tier, source, summary, thread, \
         position, enrichment, links, origin, actor, attributes, citations, forgotten_at, title) VALUES (?1, ?2, ?3, \
         ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, \
         ?26, ?27, ?28, ?29)";
    const UPDATE: &str = "UPDATE memory SET space = ?2, id = ?3, collection = ?4, section = ?5, kind = ?6, \
         tags = ?7, weight = ?8, delivery = ?9, owner = ?10, visibility = ?11, supersedes = ?12, \
         expires_at = ?13, created_at = ?14, updated_at = ?15, revision = ?16, tier = ?17, source = ?18, \
         summary = ?19, thread = ?20, position = ?21, enrichment = ?22, links = ?23, origin = ?24, actor = ?25, \
         attributes = ?26, citations = ?27, forgotten_at = ?28, title = ?29 WHERE row = ?1";
    let sql = if row.is_some() { UPDATE } else { INSERT };
    let written = connection.prepare_cached(sql)?.execute(params![
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
        memory.tier.name(),
        memory.source.as_ref().map(MemoryId::as_str),
        memory.summary,
        memory.thread.as_ref().map(|thread| thread.name.as_str()),
        memory.thread.as_ref().map(|thread| thread.position.cast_signed()),
        memory.enrichment.map(EnrichmentStatus::name),
        encode_links(&memory.links),
        memory.origin,
        memory.actor,
        encode_attributes(&memory.attributes),
        encode_citations(&memory.citations),
        memory.forgotten_at.map(Timestamp::microseconds),
        memory.title,
    ]);
    // The id was looked up before, so it must be the place in the thread.
    unless_taken(written, || {
        format!("another message has the position of `{}` in its thread; take the next one and retry", memory.id)
    })?;
    Ok(row.unwrap_or_else(|| connection.last_insert_rowid()))
}

/// Writes the passages of a memory that has none.
pub(crate) fn insert_passages(connection: &Connection, row: i64, passages: &[Passage]) -> Result<()> {
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

/// Removes a memory for good, with all that hangs on it.
pub(crate) fn delete(connection: &Connection, row: i64) -> Result<()> {
    for sql in [
        "DELETE FROM memory WHERE row = ?1",
        "DELETE FROM content WHERE memory = ?1",
        "DELETE FROM access WHERE memory = ?1",
        jobs::REMOVE,
    ] {
        connection.prepare_cached(sql)?.execute([row])?;
    }
    delete_passages(connection, row)?;
    log(connection, row)
}

pub(crate) fn delete_passages(connection: &Connection, row: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM passage WHERE row BETWEEN ?1 AND ?2")?.execute(passage_keys(row))?;
    Ok(())
}

/// The first and the last key that a passage of the memory may have.
pub(crate) fn passage_keys(row: i64) -> [i64; 2] {
    [row << POSITION_BITS, (row << POSITION_BITS) + (PASSAGES_MAX as i64 - 1)]
}

/// Notes a change of the memory of that row, for those who follow.
pub(crate) fn log(connection: &Connection, row: i64) -> Result<()> {
    connection.prepare_cached("INSERT INTO change (memory) VALUES (?1)")?.execute([row])?;
    Ok(())
}

/// Notes a change of something else.
pub(crate) fn log_other(connection: &Connection) -> Result<()> {
    log(connection, 0)
}

/// A memory that has an id.
#[derive(Debug, Clone, Copy)]
struct Found {
    row: i64,
    revision: u64,
    /// Softly: it keeps the id, and is gone for everything else.
    is_deleted: bool,
}

impl Found {
    fn has(self, revision: u64) -> bool {
        !self.is_deleted && self.revision == revision
    }
}

fn find(connection: &Connection, space: &Space, id: &MemoryId) -> Result<Option<Found>> {
    let sql = "SELECT row, revision, deleted_at IS NOT NULL FROM memory WHERE space = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([space.as_str(), id.as_str()], |row| {
        Ok(Found { row: row.get(0)?, revision: row.get::<_, i64>(1)?.cast_unsigned(), is_deleted: row.get(2)? })
    });
    Ok(found.optional()?)
}

/// The row of what was found, if it is what was expected.
fn expected(found: Option<Found>, expect: Expect, id: &MemoryId) -> Result<Option<i64>> {
    let holds = match expect {
        Expect::Absent => found.is_none(),
        Expect::Revision(revision) => found.is_some_and(|found| found.has(revision)),
    };
    if holds {
        return Ok(found.map(|found| found.row));
    }
    let problem = match (expect, found) {
        (Expect::Absent, Some(Found { is_deleted: true, .. })) => {
            "was deleted, and its id is taken until it is removed for good; choose another id"
        }
        (Expect::Absent, _) => "exists already; read it again and retry",
        (Expect::Revision(_), Some(Found { is_deleted: false, .. })) => "changed meanwhile; read it again and retry",
        (Expect::Revision(_), _) => "is gone; read it again and retry",
    };
    Err(conflict(format!("memory `{id}` {problem}")))
}

/// Counts returns of memories, which is no change of them.
pub(crate) fn touch(connection: &Connection, touches: &[Touch]) -> Result<()> {
    let sql = "INSERT INTO access (memory, count, last) SELECT row, ?3, ?4 FROM memory WHERE space = ?1 AND id = ?2
        ON CONFLICT (memory) DO UPDATE SET count = count + excluded.count,
            last = coalesce(max(last, excluded.last), last, excluded.last)";
    let mut statement = connection.prepare_cached(sql)?;
    for Touch { space, id, access } in touches {
        let last = access.last.map(Timestamp::microseconds);
        statement.execute(params![space.as_str(), id.as_str(), access.count.cast_signed(), last])?;
    }
    Ok(())
}

/// The row of a model, which is made if it is new.
pub(crate) fn model(connection: &Connection, model: &ModelId) -> Result<i64> {
    let parameters: [&dyn ToSql; 1] = [&model.as_str()];
    let mut statement = connection.prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?;
    if let Some(row) = statement.query_row(parameters, |row| row.get(0)).optional()? {
        return Ok(row);
    }
    connection.prepare_cached("INSERT INTO model (fingerprint) VALUES (?1)")?.execute(parameters)?;
    Ok(connection.last_insert_rowid())
}
