//! Statements that change memories. They run on the writer's thread, inside its transaction.

use loci_core::{
    Access, AccessIncrement, EnrichmentStatus, Error, Expect, Memory, MemoryId, Passage, Space,
    Timestamp, Vector,
};
use loci_index::records::noted;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::{Result, map_unique_violation, memory_conflict};
use crate::integrity::checksum;
use crate::opening::reanalysis::renew_memory;
use crate::statements::change_feed::record_change;
use crate::statements::filter_sql::bound;
use crate::statements::passages::{
    PASSAGE_HOLDS, POSITION_BITS, delete_passages, insert_passages, model, passage_keys,
};
use crate::statements::row::MEMORY_HOLDS;
use crate::statements::{jobs, open_items};
use loci_index::codec::{
    encode_attributes, encode_citations, encode_links, encode_names, encode_vector,
};

pub(crate) fn put(
    connection: &Connection,
    memory: &Memory,
    passages: Option<&[Passage]>,
    expect: Expect,
) -> Result<()> {
    let found = find(connection, &memory.space, &memory.id)?;
    let row = match expected(found, expect, &memory.id)? {
        Some(row) => {
            write_memory(connection, memory, Some(row), passages.is_some())?;
            if passages.is_some() {
                delete_passages(connection, row)?;
            }
            row
        }
        None => write_memory(connection, memory, None, true)?,
    };
    if passages.is_some() || found.is_none() {
        let sql = "INSERT INTO content (memory, text) VALUES (?1, ?2)
            ON CONFLICT (memory) DO UPDATE SET text = excluded.text";
        connection
            .prepare_cached(sql)?
            .execute(params![row, memory.content])?;
    }
    insert_passages(connection, row, passages.unwrap_or_default())?;
    record_change(connection, row)
}

/// Takes a soft deletion of that time back. A sweep may have removed some of the passages.
pub(crate) fn undelete(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
    deleted_at: Timestamp,
    passages: &[Passage],
) -> Result<()> {
    let sql = format!(
        "UPDATE memory AS m SET deleted_at = NULL WHERE space = ?1 AND id = ?2 AND deleted_at = ?3 \
         AND {MEMORY_HOLDS} RETURNING row"
    );
    let row: Option<i64> = connection
        .prepare_cached(&sql)?
        .query_row(
            params![space.as_str(), id.as_str(), deleted_at.microseconds()],
            |row| row.get(0),
        )
        .optional()?;
    let row =
        row.ok_or_else(|| memory_conflict(id, "is not deleted any more, or gone for good"))?;
    delete_passages(connection, row)?;
    insert_passages(connection, row, passages)?;
    record_change(connection, row)
}

/// Stores a memory with its returns, in the place of a softly deleted one.
pub(crate) fn import_memory(
    connection: &Connection,
    memory: &Memory,
    passages: &[Passage],
) -> Result<()> {
    if let Some(found) =
        find(connection, &memory.space, &memory.id)?.filter(|found| found.is_deleted)
    {
        delete(connection, found.row)?;
    }
    put(connection, memory, Some(passages), Expect::Absent)?;
    let Memory {
        space, id, access, ..
    } = memory;
    if *access == Access::default() {
        return Ok(());
    }
    touch(
        connection,
        &[AccessIncrement {
            space: space.clone(),
            id: id.clone(),
            access: *access,
        }],
    )
}

/// Writes the columns of `memory` into that row, or into a new one; returns the row. Notes the
/// checksum of the text if that is written, too.
fn write_memory(
    connection: &Connection,
    memory: &Memory,
    row: Option<i64>,
    has_text: bool,
) -> Result<i64> {
    const INSERT: &str = "INSERT INTO memory (row, space, id, collection, section, kind, tags, weight, delivery, \
         owner, visibility, supersedes, expires_at, created_at, updated_at, revision, tier, source, summary, thread, \
         position, enrichment, links, origin, actor, attributes, citations, forgotten_at, title, \
         text_checksum, updated_by, by_admin, said_by, program, session) VALUES (?1, ?2, ?3, \
         ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, \
         ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35)";
    const UPDATE: &str = "UPDATE memory SET space = ?2, id = ?3, collection = ?4, section = ?5, kind = ?6, \
         tags = ?7, weight = ?8, delivery = ?9, owner = ?10, visibility = ?11, supersedes = ?12, \
         expires_at = ?13, created_at = ?14, updated_at = ?15, revision = ?16, tier = ?17, source = ?18, \
         summary = ?19, thread = ?20, position = ?21, enrichment = ?22, links = ?23, origin = ?24, actor = ?25, \
         attributes = ?26, citations = ?27, forgotten_at = ?28, title = ?29, \
         text_checksum = ifnull(?30, text_checksum), updated_by = ?31, by_admin = ?32, \
         said_by = ?33, program = ?34, session = ?35 WHERE row = ?1";
    let sql = if row.is_some() { UPDATE } else { INSERT };
    let written = connection.prepare_cached(sql)?.execute(params![
        row,
        memory.space.as_str(),
        memory.id.as_str(),
        memory.location.collection,
        memory.location.section,
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
        memory
            .thread
            .as_ref()
            .map(|thread| thread.position.cast_signed()),
        memory.enrichment.map(EnrichmentStatus::name),
        encode_links(&memory.links),
        memory.origin,
        memory.actor,
        encode_attributes(&memory.attributes),
        encode_citations(&memory.citations),
        memory.forgotten_at.map(Timestamp::microseconds),
        memory.title,
        has_text.then(|| checksum::of(std::iter::once(ValueRef::Text(memory.content.as_bytes())))),
        memory.updated_by,
        memory.by_admin,
        noted(memory.provenance.said_by),
        memory.provenance.program,
        memory.provenance.session,
    ]);
    // The id was looked up before, so it must be the place in the thread.
    map_unique_violation(written, || {
        format!(
            "another message has the position of `{}` in its thread; take the next one and retry",
            memory.id
        )
    })?;
    Ok(row.unwrap_or_else(|| connection.last_insert_rowid()))
}

pub(crate) fn embed(connection: &Connection, row: i64, vectors: &[Vector]) -> Result<()> {
    let count = format!(
        "SELECT count(*), ifnull(max(NOT {PASSAGE_HOLDS}), 0) FROM passage WHERE row BETWEEN ?1 AND ?2"
    );
    let (mut passages, is_broken): (i64, bool) = connection
        .prepare_cached(&count)?
        .query_row(passage_keys(row), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if is_broken {
        passages = renew_memory(connection, row, true)? as i64;
    }
    if passages != vectors.len() as i64 {
        return Err(Error::internal("an embedding must bring one vector for each passage").into());
    }
    // The newest lies with the passage: while a model reads all texts again, what it has not read is
    // found at once.
    let keep = "INSERT INTO further_vector (passage, model, scale, vector)
        SELECT row, model, scale, vector FROM passage WHERE row = ?1 AND model <> ?2
        ON CONFLICT DO UPDATE SET scale = excluded.scale, vector = excluded.vector";
    let mut keep = connection.prepare_cached(keep)?;
    let replace = "DELETE FROM further_vector WHERE passage = ?1 AND model = ?2";
    let mut replace = connection.prepare_cached(replace)?;
    let sql = "UPDATE passage SET model = ?2, scale = ?3, vector = ?4 WHERE row = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for (key, vector) in (row << POSITION_BITS..).zip(vectors) {
        let model = model(connection, &vector.model)?;
        keep.execute([key, model])?;
        replace.execute([key, model])?;
        statement.execute(params![
            key,
            model,
            f64::from(vector.scale),
            encode_vector(&vector.values)
        ])?;
    }
    record_change(connection, row)
}

/// The passages that the model of row `?1` made a further vector of.
pub(crate) const RETIRED_FURTHER: &str =
    "SELECT passage FROM further_vector WHERE model = ?1 LIMIT ?2";
/// The passages whose own vector is of the model of row `?1`.
pub(crate) const RETIRED: &str = "SELECT row FROM passage WHERE model = ?1 LIMIT ?2";

/// Removes the vectors of the model of that row from at most `limit` passages; returns from how
/// many. Where there is a further one, it takes the place of the passage's own.
pub(crate) fn retire_model(connection: &Connection, model: i64, limit: usize) -> Result<usize> {
    let select = |sql: &str, limit: usize| -> Result<Vec<i64>> {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![model, bound(limit)], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let mut passages = select(RETIRED_FURTHER, limit)?;
    let remove = "DELETE FROM further_vector WHERE passage = ?1 AND model = ?2";
    let mut remove = connection.prepare_cached(remove)?;
    for passage in &passages {
        remove.execute([*passage, model])?;
    }
    let own = select(RETIRED, limit - passages.len())?;
    // Nulls if it is absent.
    let replace = format!(
        "UPDATE passage SET (model, scale, vector) = (
            SELECT model, scale, vector FROM further_vector
            WHERE passage = ?1 AND checksum IS loci_checksum(passage, model, scale, vector) ORDER BY model LIMIT 1
        ) WHERE row = ?1 AND {PASSAGE_HOLDS} RETURNING model"
    );
    let mut replace = connection.prepare_cached(&replace)?;
    for passage in &own {
        match replace
            .query_row([passage], |row| row.get::<_, Option<i64>>(0))
            .optional()?
        {
            Some(Some(other)) => {
                remove.execute([*passage, other])?;
            }
            Some(None) => {}
            None => renew_or_remove(connection, passage >> POSITION_BITS)?,
        }
    }
    passages.extend(own);
    let mut memories: Vec<i64> = passages
        .iter()
        .map(|passage| passage >> POSITION_BITS)
        .collect();
    memories.sort_unstable();
    memories.dedup();
    for memory in memories {
        record_change(connection, memory)?;
    }
    Ok(passages.len())
}

/// Rebuilds the passages of a memory, some of which are damaged; of a damaged memory it removes
/// them.
fn renew_or_remove(connection: &Connection, row: i64) -> Result<()> {
    match renew_memory(connection, row, true) {
        Err(failure) if failure.is_damage() => delete_passages(connection, row),
        renewed => renewed.map(|_| ()),
    }
}

/// Removes the former versions of the memory of row `?1`.
pub(crate) const REMOVE_VERSIONS: &str = "DELETE FROM version WHERE memory = ?1";

/// Removes a memory for good, with all that hangs on it.
pub(crate) fn delete(connection: &Connection, row: i64) -> Result<()> {
    open_items::leave(connection, row)?;
    for sql in [
        "DELETE FROM memory WHERE row = ?1",
        "DELETE FROM content WHERE memory = ?1",
        "DELETE FROM access WHERE memory = ?1",
        jobs::REMOVE,
        REMOVE_VERSIONS,
    ] {
        connection.prepare_cached(sql)?.execute([row])?;
    }
    delete_passages(connection, row)?;
    record_change(connection, row)
}

/// A memory with an id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExistingMemory {
    pub(crate) row: i64,
    revision: u64,
    /// Softly: it keeps the id, and is gone for everything else.
    pub(crate) is_deleted: bool,
}

impl ExistingMemory {
    /// Returns whether the memory is there, with this revision.
    pub(crate) fn has(self, revision: u64) -> bool {
        !self.is_deleted && self.revision == revision
    }
}

/// Finds the memory with this id, also a soft-deleted one.
pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
) -> Result<Option<ExistingMemory>> {
    let sql =
        "SELECT row, revision, deleted_at IS NOT NULL FROM memory WHERE space = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([space.as_str(), id.as_str()], |row| {
        Ok(ExistingMemory {
            row: row.get(0)?,
            revision: row.get::<_, i64>(1)?.cast_unsigned(),
            is_deleted: row.get(2)?,
        })
    });
    Ok(found.optional()?)
}

/// The row of what was found, if it is what was expected.
pub(crate) fn expected(
    found: Option<ExistingMemory>,
    expect: Expect,
    id: &MemoryId,
) -> Result<Option<i64>> {
    let holds = match expect {
        Expect::Absent => found.is_none(),
        Expect::Revision(revision) => found.is_some_and(|found| found.has(revision)),
    };
    if holds {
        return Ok(found.map(|found| found.row));
    }
    let problem = match (expect, found) {
        (
            Expect::Absent,
            Some(ExistingMemory {
                is_deleted: true, ..
            }),
        ) => "was deleted, and its id is taken until it is removed for good; choose another id",
        (Expect::Absent, _) => "exists already; read it again and retry",
        (
            Expect::Revision(_),
            Some(ExistingMemory {
                is_deleted: false, ..
            }),
        ) => "changed meanwhile; read it again and retry",
        (Expect::Revision(_), _) => "is gone; read it again and retry",
    };
    Err(memory_conflict(id, problem))
}

/// Counts returns of memories, which does not change them.
pub(crate) fn touch(connection: &Connection, touches: &[AccessIncrement]) -> Result<()> {
    let sql = "INSERT INTO access (memory, count, last) SELECT row, ?3, ?4 FROM memory WHERE space = ?1 AND id = ?2
        ON CONFLICT (memory) DO UPDATE SET count = count + excluded.count,
            last = coalesce(max(last, excluded.last), last, excluded.last)";
    let mut statement = connection.prepare_cached(sql)?;
    for AccessIncrement { space, id, access } in touches {
        let last = access.last.map(Timestamp::microseconds);
        statement.execute(params![
            space.as_str(),
            id.as_str(),
            access.count.cast_signed(),
            last
        ])?;
    }
    Ok(())
}
