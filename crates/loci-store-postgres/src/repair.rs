//! Repairs of what is derived: counts, passages, words, jobs, indexes of the database.

use std::collections::HashMap;

use loci_core::{Error, ProblemKind, ReindexCounts, Repair, RepairStep, Space};
use loci_index::codec::encode_terms;
use loci_index::records::ReadColumns;
use loci_text::{analysis, indexed};

use crate::check::{self, broken, needs_passages, spaces};
use crate::counts;
use crate::definitions;
use crate::failure::{Failure, Result};
use crate::memories::{delete_passages, insert_passages};
use crate::removal::set_bounds;
use crate::row::read_whole;
use crate::row_security;
use crate::rules::{RULES, Remedy, Rule};
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::transaction::{Needs, Transaction};
use crate::value::{Columns, values};

/// Passages whose vectors one transaction drops.
const VECTORS_MAX: usize = 1_000;

/// Repairs each derived problem, unless what a caller filed is corrupt.
pub(crate) fn repair(server: &Server) -> Result<Repair, Error> {
    check_committable(server)?;
    let mut done = Vec::new();
    let problems = check::check(server, false)?;
    let is_damaged = problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::Damaged);
    if !is_damaged {
        let mended = server.read(Scope::AllSpaces, async |session| {
            definitions::repair(session, server.options()).await
        })?;
        done.extend(mended.into_iter().map(Ok));
        let schema = &server.options().schema;
        let mended = server.read(Scope::AllSpaces, async |session| {
            row_security::repair(session, schema).await
        })?;
        done.extend(mended.into_iter().map(Ok));
        for space in spaces(server)? {
            repair_space(server, &space, &mut done)?;
        }
    }
    Ok(Repair {
        done,
        needs_rebuild: false,
    })
}

/// Fails if a commit does not end in its time. A statement that makes or rebuilds an index has no such
/// limit, and waits for a standby without an end.
fn check_committable(server: &Server) -> Result<(), Error> {
    server.write_and_remove(0)
}

fn repair_space(server: &Server, space: &Space, done: &mut Vec<RepairStep>) -> Result<(), Error> {
    for rule in RULES.iter().filter(|rule| !needs_passages(rule)) {
        let repaired = server.write(space, &Needs::default(), async |transaction| {
            apply(transaction, rule).await
        })?;
        if repaired > 0 {
            done.push(Ok(format!(
                "put right {repaired} {} in the space `{space}`",
                rule.rows
            )));
        }
    }
    let renewed = renew(server, space)?.changed;
    if renewed > 0 {
        done.push(Ok(format!(
            "made the passages and words of {renewed} memories in the space `{space}` from their texts"
        )));
    }
    let counts = server.write(space, &Needs::default(), async |transaction| {
        let differences = counts::differences(transaction.session(), space.as_str()).await?;
        if differences > 0 {
            counts::recount(transaction).await?;
        }
        Ok(differences)
    })?;
    if counts > 0 {
        done.push(Ok(format!(
            "counted the memories of the places in the space `{space}` again"
        )));
    }
    Ok(())
}

/// Puts right what breaks a rule; returns how many rows did.
async fn apply(transaction: &mut Transaction<'_>, rule: &Rule) -> Result<usize> {
    let name = transaction.name();
    let found = broken(transaction.session(), name, rule).await?;
    if found.is_empty() {
        return Ok(0);
    }
    match &rule.remedy {
        Remedy::Backup | Remedy::Passages => return Ok(0),
        Remedy::Statements(statements) => {
            for sql in *statements {
                transaction.queue(sql, values![name]);
            }
        }
        Remedy::Jobs => add_jobs(transaction, &found).await?,
        Remedy::Replies => list_memories_of_replies(transaction).await?,
        Remedy::Numbers => raise_numbers(transaction).await?,
    }
    // The background looks again for passages without a vector.
    transaction.row.embedded = None;
    transaction.keep_row();
    let mut memories: Vec<i64> = found.iter().map(|(_, memory)| *memory).collect();
    memories.retain(|memory| *memory > 0);
    memories.sort_unstable();
    memories.dedup();
    for memory in memories {
        transaction.record_change(memory);
    }
    Ok(found.len())
}

/// Adds a job for each of these memories: one that is due where it waits, a parked one where it
/// failed.
async fn add_jobs(transaction: &mut Transaction<'_>, found: &[(String, i64)]) -> Result<()> {
    let name = transaction.name();
    let memories: Vec<i64> = found.iter().map(|(_, memory)| *memory).collect();
    let sql = "SELECT row, CASE WHEN enrichment = 'pending' THEN 0::bigint END FROM @memory \
        WHERE space = $1 AND row = ANY($2)";
    let mut rows = Vec::new();
    for row in transaction.query(sql, values![name, memories]).await? {
        let (memory, due_at): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        rows.push(values![name, memory, due_at, 0_i64]);
    }
    transaction.insert_rows(
        "INSERT INTO @job (space, memory, due_at, attempts)",
        rows,
        "",
    );
    Ok(())
}

/// Lists again which replies hold the text of a memory.
async fn list_memories_of_replies(transaction: &mut Transaction<'_>) -> Result<()> {
    let name = transaction.name();
    let sql = "SELECT reply, memories FROM @reply WHERE space = $1";
    let mut rows = Vec::new();
    for row in transaction.query(sql, values![name]).await? {
        let reply: Vec<u8> = row.try_get(0)?;
        let mut memories: Vec<String> = row.try_get(1)?;
        memories.sort_unstable();
        memories.dedup();
        for memory in memories {
            rows.push(values![name, memory, reply.clone()]);
        }
    }
    transaction.queue("DELETE FROM @reply_memory WHERE space = $1", values![name]);
    transaction.insert_rows("INSERT INTO @reply_memory (space, memory, reply)", rows, "");
    Ok(())
}

/// Raises the numbers that the space hands out above the numbers of its rows.
async fn raise_numbers(transaction: &mut Transaction<'_>) -> Result<()> {
    let sql = "SELECT coalesce((SELECT max(number) FROM @change WHERE space = $1), 0), \
        coalesce(greatest((SELECT max(row) FROM @memory WHERE space = $1), \
        (SELECT max(row) FROM @fact WHERE space = $1)), 0), \
        coalesce((SELECT max(number) FROM @audit WHERE space = $1), 0)";
    let rows = transaction.query(sql, values![transaction.name()]).await?;
    for row in rows {
        let (version, last, audits): (i64, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let space = &mut transaction.row;
        space.version = space.version.max(version);
        space.rows = space.rows.max(last);
        space.audits = space.audits.max(audits);
    }
    set_bounds(transaction).await
}

/// Rebuilds all indexes of the database, all counts, passages and words; with `embeddings`, first
/// drops all vectors.
pub(crate) fn reindex(server: &Server, embeddings: bool) -> Result<ReindexCounts, Error> {
    check_committable(server)?;
    let indexes = server.read(Scope::AllSpaces, async |session| {
        definitions::reindex(session, server.options()).await
    })?;
    let mut done = ReindexCounts {
        indexes,
        memories: 0,
        damaged: 0,
        vectors: 0,
    };
    for space in spaces(server)? {
        server.write(&space, &Needs::default(), async |transaction| {
            counts::recount(transaction).await
        })?;
        if embeddings {
            done.vectors += drop_vectors(server, &space)?;
        }
        let renewed = renew(server, &space)?;
        done.memories += renewed.memories;
        done.damaged += renewed.damaged;
    }
    Ok(done)
}

fn drop_vectors(server: &Server, space: &Space) -> Result<usize, Error> {
    let mut dropped = 0;
    loop {
        let part = server.write(space, &Needs::default(), async |transaction| {
            drop_part(transaction).await
        })?;
        if part == 0 {
            return Ok(dropped);
        }
        dropped += part;
    }
}

/// Drops the vectors of some passages; returns of how many.
async fn drop_part(transaction: &mut Transaction<'_>) -> Result<usize> {
    let name = transaction.name();
    let sql = "SELECT memory, position FROM @passage WHERE space = $1 AND model IS NOT NULL \
        ORDER BY memory, position LIMIT $2";
    let found = transaction.query(sql, values![name, VECTORS_MAX]).await?;
    let mut memories = Vec::new();
    for row in &found {
        memories.push(row.try_get::<_, i64>(0)?);
    }
    memories.dedup();
    // Whole memories, because the passages of one are looked up together.
    for sql in [
        "UPDATE @passage SET model = NULL, scale = NULL, vector = NULL WHERE space = $1 AND memory = ANY($2)",
        "DELETE FROM @further_vector WHERE space = $1 AND memory = ANY($2)",
    ] {
        transaction.queue(sql, values![name, memories.clone()]);
    }
    for memory in memories {
        transaction.record_change(memory);
    }
    transaction.row.embedded = None;
    Ok(found.len())
}

/// The counts of a renewal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RenewalCounts {
    /// The memories whose texts were analysed.
    pub(crate) memories: usize,
    /// Memories whose passages or words changed.
    pub(crate) changed: usize,
    /// Memories that cannot be read.
    damaged: usize,
    /// The last row.
    last: i64,
    is_through: bool,
}

/// Makes the passages and words of a space from its texts again, a page of memories in each
/// transaction. Vectors stay where a text is cut as before.
pub(crate) fn renew(server: &Server, space: &Space) -> Result<RenewalCounts, Error> {
    let mut all = RenewalCounts::default();
    while !all.is_through {
        let part = server.write(space, &Needs::default(), async |transaction| {
            renew_page(transaction, all.last).await
        })?;
        all = RenewalCounts {
            memories: all.memories + part.memories,
            changed: all.changed + part.changed,
            damaged: all.damaged + part.damaged,
            ..part
        };
    }
    Ok(all)
}

async fn renew_page(transaction: &mut Transaction<'_>, after: i64) -> Result<RenewalCounts> {
    let name = transaction.name();
    let rows = check::page(transaction.session(), name, after).await?;
    let mut done = RenewalCounts {
        is_through: rows.len() < check::PAGE,
        last: after,
        ..RenewalCounts::default()
    };
    if let Some(last) = rows.last() {
        done.last = last.try_get("row")?;
    }
    let stored = stored_passages(transaction.session(), name, after + 1, done.last).await?;
    for row in &rows {
        let number: i64 = row.try_get("row")?;
        let Ok(memory) = read_whole(row) else {
            done.damaged += 1;
            continue;
        };
        let passages = indexed::passages(&memory);
        let known = stored.get(&number).map_or(&[][..], Vec::as_slice);
        let bounds =
            |passage: &loci_core::Passage| (passage.range.start as u64, passage.range.end as u64);
        done.memories += 1;
        let is_cut_alike = known.len() == passages.len()
            && known
                .iter()
                .zip(&passages)
                .all(|((start, end, _), passage)| (*start, *end) == bounds(passage));
        if !is_cut_alike {
            delete_passages(transaction, &[number]);
            insert_passages(transaction, number, &passages).await?;
            transaction.record_change(number);
            done.changed += 1;
            continue;
        }
        let mut has_changed = false;
        for ((position, (.., terms)), passage) in (0_i64..).zip(known).zip(&passages) {
            let fresh = encode_terms(&passage.terms);
            if *terms != fresh {
                transaction.queue(
                    "UPDATE @passage SET terms = $4 WHERE space = $1 AND memory = $2 AND position = $3",
                    values![name, number, position, fresh],
                );
                has_changed = true;
            }
        }
        if has_changed {
            transaction.record_change(number);
            done.changed += 1;
        }
    }
    let current = i64::from(analysis::VERSION);
    if transaction.row.analysis != current {
        transaction.row.analysis = if done.is_through { current } else { -current };
        transaction.keep_row();
    }
    Ok(done)
}

/// The bounds and the encoded terms of a passage.
type PassageTerms = (u64, u64, Vec<u8>);

async fn stored_passages(
    session: &Session,
    space: &str,
    first: i64,
    last: i64,
) -> Result<HashMap<i64, Vec<PassageTerms>>, Failure> {
    let sql = "SELECT memory, position, first_byte, end_byte, terms FROM @passage \
        WHERE space = $1 AND memory BETWEEN $2 AND $3 ORDER BY memory, position";
    let mut passages: HashMap<i64, Vec<PassageTerms>> = HashMap::new();
    for row in session.query(sql, &values![space, first, last]).await? {
        let mut columns = Columns::of(&row);
        let of_memory = passages.entry(columns.take()?).or_default();
        let is_next = columns.number()? == of_memory.len() as u64;
        let bounds = (columns.number()?, columns.number()?);
        // One in another place does not fit, and makes all be written again.
        let (start, end) = if is_next {
            bounds
        } else {
            (u64::MAX, u64::MAX)
        };
        of_memory.push((start, end, columns.take()?));
    }
    Ok(passages)
}
