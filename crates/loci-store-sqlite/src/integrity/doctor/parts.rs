//! The same look at a database in parts, by several connections at once.
//!
//! Most databases are whole, and to see that takes no report: each part is looked at as of a moment
//! of its own, and where one finds anything, the whole is looked at again, as of one moment, by the
//! check that says what is wrong. The parts leave nothing out of that check. They read the rows of
//! memories and their texts once instead of five times: the row that gives the words is the one
//! whose checksums are compared.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use loci_core::{Error, Problem};
use loci_index::records::ReadColumns;
use rusqlite::Connection;

use super::{check, definitions, integrity, references, tables};
use crate::connection::Readers;
use crate::failure::Result;
use crate::opening::{reanalysis, schema};
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_first};

/// Connections that look at once, at most.
const CONNECTIONS_MAX: usize = 8;
/// Rows of memories in a range, at least.
const ROWS_MIN: i64 = 5_000;
/// Ranges of rows, about, at most.
const RANGES_MAX: i64 = 1_000;

/// A part of the check.
#[derive(Debug, Clone)]
enum Part {
    /// Pages, trees, types and keys, by SQLite's own check.
    Structure,
    /// Definitions and checksums.
    Checksums,
    /// References between rows, and counts.
    References,
    /// The values: that loci can read the rows, and the lengths of vectors.
    Values,
    /// The memories of these rows, with their texts, passages and words.
    Memories(RangeInclusive<i64>),
}

/// The problems of the database; with `words`, texts are analysed, too.
pub(crate) fn check_in_parts(readers: &Readers, words: bool) -> Result<Vec<Problem>, Error> {
    // Where a part cannot be looked at, the check of the whole says why.
    if all_are_well(readers, words).unwrap_or(false) {
        return Ok(Vec::new());
    }
    readers.read(|connection| check(connection, readers.key(), words))
}

fn all_are_well(readers: &Readers, words: bool) -> Result<bool, Error> {
    // The longest first.
    let mut parts = vec![
        Part::Structure,
        Part::References,
        Part::Checksums,
        Part::Values,
    ];
    if words {
        parts.extend(readers.read(ranges)?.into_iter().map(Part::Memories));
    }
    let connections = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(CONNECTIONS_MAX);
    let (next, is_well) = (AtomicUsize::new(0), AtomicBool::new(true));
    let work = || {
        while is_well.load(Ordering::Relaxed)
            && let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if !readers
                .read(|connection| is_part_well(connection, part, words))
                .unwrap_or(false)
            {
                is_well.store(false, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        // Where there is no thread for one, the others do it.
        for _ in 1..connections {
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    Ok(is_well.into_inner())
}

/// All rows of memories, in ranges.
fn ranges(connection: &Connection) -> Result<Vec<RangeInclusive<i64>>> {
    let sql = "SELECT ifnull((SELECT min(row) FROM memory), 0), ifnull((SELECT max(row) FROM memory), -1)";
    let (first, last): (i64, i64) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // A damaged row may have any number.
    let step = ROWS_MIN.max(last.saturating_sub(first) / RANGES_MAX + 1);
    let starts = std::iter::successors(Some(first), |start| start.checked_add(step))
        .take_while(|start| *start <= last);
    Ok(starts
        .map(|start| start..=last.min(start.saturating_add(step - 1)))
        .collect())
}

fn is_part_well(connection: &Connection, part: &Part, words: bool) -> Result<bool> {
    let snapshot = connection.unchecked_transaction()?;
    let mut problems = Vec::new();
    // Tables that are read with their words.
    let with_words = if words {
        BTreeSet::from(["memory".to_owned(), "content".to_owned()])
    } else {
        BTreeSet::new()
    };
    let mut is_well = true;
    match part {
        Part::Structure => is_well = integrity::integrity_check(&snapshot, 1)?.is_empty(),
        Part::Checksums => {
            is_well = definitions(&snapshot, schema::definitions()?, &mut problems)?;
            tables::check_checksums(&snapshot, &with_words, &mut problems)?;
        }
        Part::References => {
            references::check_filed(&snapshot, &mut problems)?;
            references::check_derived(&snapshot, &mut problems)?;
        }
        Part::Values => {
            tables::check_values(&snapshot, &HashSet::new(), &with_words, &mut problems)?;
            if words {
                references::check_vectors(&snapshot, &mut problems)?;
            }
        }
        Part::Memories(rows) => is_well = are_memories_well(&snapshot, rows)?,
    }
    snapshot.finish()?;
    Ok(is_well && problems.is_empty())
}

/// Returns whether the memories of these rows can be read, with texts whose checksums hold, and
/// have the passages and words that their texts give, unless they are deleted.
fn are_memories_well(connection: &Connection, rows: &RangeInclusive<i64>) -> Result<bool> {
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, m.row, m.deleted_at IS NULL FROM {WHOLE_TABLES} \
         WHERE m.row BETWEEN ?1 AND ?2 ORDER BY m.row"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([rows.start(), rows.end()])?;
    while let Some(row) = found.next()? {
        let (memory, mut columns) = read_first(row)?;
        let (number, is_there) = (columns.integer()?, columns.flag()?);
        if is_there && !reanalysis::fits_memory(connection, number, &memory)? {
            return Ok(false);
        }
    }
    Ok(true)
}
