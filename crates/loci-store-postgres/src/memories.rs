//! Statements that change memories, with their passages.

use loci_core::{
    Access, AccessIncrement, Error, Expect, Memory, MemoryId, Passage, Timestamp, Vector,
    Visibility,
};
use loci_index::codec::{encode_terms, encode_vector};

use crate::failure::{Result, memory_conflict};
use crate::open_items;
use crate::row::{ExistingMemory, FOUND_COLUMNS, WRITTEN_COLUMNS, written};
use crate::server::Server;
use crate::transaction::{BEGIN, Transaction};
use crate::value::{Value, values};

/// Stores a memory under its id.
pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    memory: &Memory,
    passages: Option<&[Passage]>,
    expect: Expect,
) -> Result<()> {
    let found = transaction.find(&memory.id).await?;
    expected(found.as_ref(), expect, &memory.id)?;
    let row = if let Some(found) = &found {
        update(transaction, memory, found, passages.is_some());
        found.row
    } else {
        let row = transaction.next_row();
        insert(transaction, memory, row);
        row
    };
    if found.is_some() && passages.is_some() {
        delete_passages(transaction, &[row]);
    }
    insert_passages(transaction, row, passages.unwrap_or_default()).await?;
    if let Some(found) = &found {
        drop_replies(transaction, memory, found);
    }
    let after = ExistingMemory::of(memory, row);
    transaction.replace(&memory.id, found.as_ref(), Some(after));
    transaction.record_change(row);
    Ok(())
}

fn insert(transaction: &mut Transaction<'_>, memory: &Memory, row: i64) {
    let columns = WRITTEN_COLUMNS.join(", ");
    let head = format!("INSERT INTO @memory (space, row, {columns})");
    transaction.insert_rows(&head, vec![written(memory, row)], "");
}

fn update(
    transaction: &mut Transaction<'_>,
    memory: &Memory,
    found: &ExistingMemory,
    has_text: bool,
) {
    let mut values = written(memory, found.row);
    let mut columns = WRITTEN_COLUMNS.as_slice();
    if !has_text {
        // The content is the last column.
        values.pop();
        columns = &columns[..columns.len() - 1];
    }
    let set: Vec<_> = (3..)
        .zip(columns)
        .map(|(number, column)| format!("{column} = ${number}"))
        .collect();
    let sql = format!(
        "UPDATE @memory SET {} WHERE space = $1 AND row = $2",
        set.join(", ")
    );
    transaction.queue(&sql, values);
}

/// Drops the replies that hold the text of a memory which their readers may not read any more.
fn drop_replies(transaction: &mut Transaction<'_>, memory: &Memory, before: &ExistingMemory) {
    if memory.forgotten_at.is_some() {
        delete_replies(transaction, std::slice::from_ref(&memory.id));
        return;
    }
    let Some(owner) = &memory.owner else { return };
    let is_withdrawn = memory.visibility != Visibility::Common
        && (before.owner.as_ref() != Some(owner)
            || (before.visibility != Visibility::Private
                && before.visibility != memory.visibility));
    if is_withdrawn {
        transaction.queue(
            "DELETE FROM @reply WHERE space = $1 AND owner IS DISTINCT FROM $3 AND reply IN \
             (SELECT reply FROM @reply_memory WHERE space = $1 AND memory = $2)",
            values![transaction.name(), &memory.id, owner],
        );
    }
}

/// Deletes the replies that hold the text of one of these memories.
fn delete_replies(transaction: &mut Transaction<'_>, ids: &[MemoryId]) {
    const OF_THESE: &str =
        "(SELECT reply FROM @reply_memory WHERE space = $1 AND memory = ANY($2))";
    for table in ["@reply", "@reply_memory"] {
        transaction.queue(
            &format!("DELETE FROM {table} WHERE space = $1 AND reply IN {OF_THESE}"),
            values![transaction.name(), ids],
        );
    }
}

/// Stores a memory with its access count, in the place of a soft-deleted one.
pub(crate) async fn import(
    transaction: &mut Transaction<'_>,
    memory: &Memory,
    passages: &[Passage],
) -> Result<()> {
    if let Some(found) = transaction.find(&memory.id).await?
        && found.deleted_at.is_some()
    {
        delete(transaction, &[found]);
    }
    put(transaction, memory, Some(passages), Expect::Absent).await?;
    if memory.access == Access::default() {
        return Ok(());
    }
    if let Some(found) = transaction.find(&memory.id).await? {
        let row = counted(transaction.name(), found.row, memory.access);
        transaction.insert_rows(INSERT_ACCESS, vec![row], COUNT_ACCESS);
    }
    Ok(())
}

const INSERT_ACCESS: &str = "INSERT INTO @access AS a (space, memory, count, last)";
const COUNT_ACCESS: &str = " ON CONFLICT (space, memory) DO UPDATE SET count = a.count + excluded.count, \
    last = greatest(a.last, excluded.last)";

fn counted(name: &str, row: i64, access: Access) -> Vec<Value> {
    values![name, row, access.count.cast_signed(), access.last]
}

/// Counts returns of memories, which changes no memory and waits for no other writer.
pub(crate) fn touch(server: &Server, touches: &[AccessIncrement]) -> Result<(), Error> {
    let mut spaces: Vec<_> = touches.iter().map(|touch| &touch.space).collect();
    spaces.sort_unstable();
    spaces.dedup();
    for space in spaces {
        let ids: Vec<_> = touches
            .iter()
            .filter(|touch| touch.space == *space)
            .map(|touch| touch.id.clone())
            .collect();
        server.read(space, async |session| {
            // The lock keeps the memories from being removed before that. All take it in one order.
            let find = (
                "SELECT id, row FROM @memory WHERE space = $1 AND id = ANY($2) ORDER BY row FOR KEY SHARE"
                    .to_owned(),
                values![space, ids.as_slice()],
            );
            let mut asked = vec![find];
            if session.may_move() {
                // A change, though of no row, keeps the shard where it is (`transaction::lock_statement`).
                let stay = "UPDATE @space SET version = version WHERE space = $1 AND version = $2";
                asked.insert(0, (stay.to_owned(), values![space, -1_i64]));
            }
            let found = session.begin(BEGIN, &asked).await?;
            let mut statements = Vec::new();
            for row in found.iter().flat_map(|(rows, _)| rows) {
                let (id, row): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
                for touch in touches {
                    if touch.space == *space && touch.id.as_str() == id {
                        let sql = format!("{INSERT_ACCESS} VALUES ($1, $2, $3, $4){COUNT_ACCESS}");
                        statements.push((sql, counted(space.as_str(), row, touch.access)));
                    }
                }
            }
            session.commit(&statements).await?;
            Ok(())
        })?;
    }
    Ok(())
}

/// Inserts the passages of a memory that has none.
pub(crate) async fn insert_passages(
    transaction: &mut Transaction<'_>,
    row: i64,
    passages: &[Passage],
) -> Result<()> {
    let mut rows = Vec::with_capacity(passages.len());
    for (position, passage) in (0_i64..).zip(passages) {
        let vector = passage.vector.as_ref();
        let fingerprint = vector.map(|vector| vector.model.as_str());
        if fingerprint != transaction.row.embedded.as_deref() {
            transaction.row.embedded = None;
        }
        let model = match fingerprint {
            Some(fingerprint) => Some(transaction.model(fingerprint).await?),
            None => None,
        };
        rows.push(values![
            transaction.name(),
            row,
            position,
            passage.range.start,
            passage.range.end,
            encode_terms(&passage.terms),
            model,
            vector.map(|vector| vector.scale),
            vector.map(|vector| encode_vector(&vector.values)),
        ]);
    }
    transaction.insert_rows(
        "INSERT INTO @passage (space, memory, position, first_byte, end_byte, terms, model, scale, vector)",
        rows,
        "",
    );
    Ok(())
}

/// Removes the passages of these memories, with their vectors.
pub(crate) fn delete_passages(transaction: &mut Transaction<'_>, rows: &[i64]) {
    for table in ["@passage", "@further_vector"] {
        transaction.queue(
            &format!("DELETE FROM {table} WHERE space = $1 AND memory = ANY($2)"),
            values![transaction.name(), rows.to_vec()],
        );
    }
}

/// Adds the vectors of a memory's passages.
pub(crate) async fn embed(
    transaction: &mut Transaction<'_>,
    row: i64,
    vectors: &[Vector],
) -> Result<()> {
    let sql = "SELECT position, model, scale, vector FROM @passage WHERE space = $1 AND memory = $2 ORDER BY position";
    let passages = transaction
        .query(sql, values![transaction.name(), row])
        .await?;
    if passages.len() != vectors.len() {
        return Err(Error::internal("an embedding must bring one vector for each passage").into());
    }
    for (passage, vector) in passages.iter().zip(vectors) {
        let model = transaction.model(vector.model.as_str()).await?;
        let (position, before): (i64, Option<i64>) = (passage.try_get(0)?, passage.try_get(1)?);
        let name = transaction.name();
        // The newest lies with the passage, so that an index is loaded by one read.
        if let Some(before) = before.filter(|before| *before != model) {
            let (scale, values): (Option<f32>, Option<Vec<u8>>) =
                (passage.try_get(2)?, passage.try_get(3)?);
            transaction.queue(
                "INSERT INTO @further_vector (space, memory, position, model, scale, vector) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (space, memory, position, model) \
                 DO UPDATE SET scale = excluded.scale, vector = excluded.vector",
                values![name, row, position, before, scale, values],
            );
        }
        transaction.queue(
            "DELETE FROM @further_vector WHERE space = $1 AND memory = $2 AND position = $3 AND model = $4",
            values![name, row, position, model],
        );
        transaction.queue(
            "UPDATE @passage SET model = $4, scale = $5, vector = $6 \
             WHERE space = $1 AND memory = $2 AND position = $3",
            values![
                name,
                row,
                position,
                model,
                vector.scale,
                encode_vector(&vector.values)
            ],
        );
    }
    transaction.record_change(row);
    Ok(())
}

/// Removes memories permanently, with all that belongs to them.
pub(crate) fn delete(transaction: &mut Transaction<'_>, memories: &[ExistingMemory]) {
    if memories.is_empty() {
        return;
    }
    let name = transaction.name();
    let rows: Vec<i64> = memories.iter().map(|found| found.row).collect();
    let ids: Vec<MemoryId> = memories.iter().map(|found| found.id.clone()).collect();
    transaction.queue(
        "DELETE FROM @memory WHERE space = $1 AND row = ANY($2)",
        values![name, rows.clone()],
    );
    for table in ["@access", "@job", "@version"] {
        transaction.queue(
            &format!("DELETE FROM {table} WHERE space = $1 AND memory = ANY($2)"),
            values![name, rows.clone()],
        );
    }
    delete_passages(transaction, &rows);
    delete_replies(transaction, &ids);
    open_items::delete(transaction, &ids);
    for end in ["source_memory", "target_memory"] {
        transaction.queue(
            &format!("UPDATE @tunnel SET {end} = NULL WHERE space = $1 AND {end} = ANY($2)"),
            values![name, ids.as_slice()],
        );
    }
    for found in memories {
        transaction.replace(&found.id, Some(found), None);
        transaction.record_change(found.row);
    }
}

/// Soft-deletes memories that are not.
pub(crate) fn hide(transaction: &mut Transaction<'_>, memories: &[ExistingMemory], now: Timestamp) {
    if memories.is_empty() {
        return;
    }
    let name = transaction.name();
    let rows: Vec<i64> = memories.iter().map(|found| found.row).collect();
    let ids: Vec<MemoryId> = memories.iter().map(|found| found.id.clone()).collect();
    transaction.queue(
        "UPDATE @memory SET deleted_at = $3 WHERE space = $1 AND row = ANY($2)",
        values![name, rows.clone(), now],
    );
    transaction.queue(
        "DELETE FROM @job WHERE space = $1 AND memory = ANY($2)",
        values![name, rows],
    );
    delete_replies(transaction, &ids);
    open_items::delete(transaction, &ids);
    for found in memories {
        let after = ExistingMemory {
            deleted_at: Some(now),
            ..found.clone()
        };
        transaction.replace(&found.id, Some(found), Some(after));
        transaction.record_change(found.row);
    }
}

/// Takes a soft deletion of that time back.
pub(crate) async fn undelete(
    transaction: &mut Transaction<'_>,
    id: &MemoryId,
    deleted_at: Timestamp,
    passages: &[Passage],
) -> Result<()> {
    let found = transaction.find(id).await?;
    let Some(found) = found.filter(|found| found.deleted_at == Some(deleted_at)) else {
        return Err(memory_conflict(
            id,
            "is not deleted any more, or gone for good",
        ));
    };
    transaction.queue(
        "UPDATE @memory SET deleted_at = NULL WHERE space = $1 AND row = $2",
        values![transaction.name(), found.row],
    );
    delete_passages(transaction, &[found.row]);
    insert_passages(transaction, found.row, passages).await?;
    let after = ExistingMemory {
        deleted_at: None,
        ..found.clone()
    };
    transaction.replace(id, Some(&found), Some(after));
    transaction.record_change(found.row);
    Ok(())
}

/// Returns the memories that a condition on `@memory AS m` selects.
pub(crate) async fn select(
    transaction: &mut Transaction<'_>,
    condition: &str,
    values: Vec<Value>,
) -> Result<Vec<ExistingMemory>> {
    let sql = format!("SELECT {FOUND_COLUMNS} FROM @memory AS m WHERE {condition}");
    let rows = transaction.query(&sql, values).await?;
    rows.iter().map(ExistingMemory::read).collect()
}

/// Fails unless what was found is what was expected.
pub(crate) fn expected(
    found: Option<&ExistingMemory>,
    expect: Expect,
    id: &MemoryId,
) -> Result<()> {
    let holds = match expect {
        Expect::Absent => found.is_none(),
        Expect::Revision(revision) => found.is_some_and(|found| found.has(revision)),
    };
    if holds {
        return Ok(());
    }
    let is_deleted = found.is_some_and(|found| found.deleted_at.is_some());
    let problem = match (expect, found) {
        (Expect::Absent, Some(_)) if is_deleted => {
            "was deleted, and its id is taken until it is removed for good; choose another id"
        }
        (Expect::Absent, _) => "exists already; read it again and retry",
        (Expect::Revision(_), Some(_)) if !is_deleted => {
            "changed meanwhile; read it again and retry"
        }
        (Expect::Revision(_), _) => "is gone; read it again and retry",
    };
    Err(memory_conflict(id, problem))
}
