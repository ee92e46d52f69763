//! Rebuilds derived data in place: indexes, counts, passages and their words; removes derived rows
//! that refer to nothing. Where that does not suffice, only a rebuild of the database does
//! (`rebuild.rs`).
//!
//! The work goes to the writer in parts, with pauses in which other processes write.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Error, ProblemKind, ReindexCounts, Repair, RepairStep, Result};
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode};

use crate::connection::Readers;
use crate::failure::{Failure, Result as Outcome};
use crate::integrity::doctor::references::{COUNTS, RULES, Rule, VECTORS, differences};
use crate::integrity::doctor::tables::is_broken;
use crate::integrity::doctor::{check, each_wrong_text, integrity, structure};
use crate::opening::reanalysis;
use crate::statements::change_feed::record_change;
use crate::statements::passages::POSITION_BITS;
use crate::writer::Writer;

/// The time for which one part of the work holds up others, about.
const PART_MAX: Duration = Duration::from_millis(50);
/// Vectors that one part drops.
const VECTORS_MAX: usize = 1_000;

/// Why a unique index cannot be rebuilt.
const DOUBLED: &str = "two rows have the same key";

fn doubled(error: rusqlite::Error) -> Failure {
    if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
        return error.into();
    }
    Error::unavailable(DOUBLED).into()
}

/// The parts of a store that the work needs.
pub(crate) struct Work<'a> {
    pub(crate) readers: &'a Readers,
    pub(crate) writer: &'a Writer,
}

impl Work<'_> {
    /// Repairs derived data, unless filed rows are corrupt: a write may land on rows that can still
    /// be read.
    pub(crate) fn repair(&self) -> Result<Repair> {
        let mut done = Vec::new();
        let needs_rebuild = self.is_damaged()? || self.rebuild_indexes(&mut done)?;
        if !needs_rebuild {
            self.repair_rows(&mut done)?;
        }
        Ok(Repair {
            done,
            needs_rebuild,
        })
    }

    /// Returns whether a row that a caller filed is known to be corrupt or lost.
    fn is_damaged(&self) -> Result<bool> {
        let problems = self
            .readers
            .read(|connection| check(connection, self.readers.key(), false))?;
        Ok(problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Damaged))
    }

    /// Repairs derived rows in a database whose structure is sound.
    fn repair_rows(&self, done: &mut Vec<RepairStep>) -> Result<()> {
        // First of all, because whatever else changes a row gives it a checksum that holds.
        let broken = self.readers.read(|connection| {
            let broken = is_broken(connection, "passage")?;
            column(
                connection,
                &format!("SELECT DISTINCT row >> {POSITION_BITS} FROM passage WHERE {broken}"),
            )
        })?;
        let (mut renewed, _) = self.renew(&broken)?;
        done.extend(self.writer.run(broken_rows)?.into_iter().map(Ok));
        for rule in RULES
            .iter()
            .chain([&VECTORS])
            .filter(|rule| !rule.repair.is_empty())
        {
            let repaired = self.writer.run(|connection| apply(connection, rule))?;
            if repaired > 0 {
                done.push(Ok(format!("put right {repaired} {}", rule.what)));
            }
        }
        let mut wrong = Vec::new();
        self.readers
            .read(|connection| each_wrong_text(connection, |row, _| wrong.push(row)))?;
        renewed += self.renew(&wrong)?.0;
        if renewed > 0 {
            done.push(Ok(format!(
                "made the passages and words of {renewed} memories from their texts"
            )));
        }
        let noted = self.writer.run(|connection| {
            let broken = is_broken(connection, "analysis")?;
            let note = format!("UPDATE analysis SET version = ?1 WHERE {broken}");
            Ok(connection.execute(&note, [reanalysis::VERSION])?)
        })?;
        done.extend((noted > 0).then(|| Ok("noted the version of the analysis".to_owned())));
        done.extend(
            self.writer
                .run(|connection| counts(connection, false))?
                .into_iter()
                .map(Ok),
        );
        Ok(())
    }

    /// Rebuilds all indexes if SQLite finds a fault; returns whether a fault is left.
    fn rebuild_indexes(&self, done: &mut Vec<RepairStep>) -> Result<bool> {
        let is_faulty = || -> Result<bool> {
            self.readers
                .read(|connection| Ok(!integrity::integrity_check(connection, 1)?.is_empty()))
        };
        if !is_faulty()? {
            return Ok(false);
        }
        for index in self.indexes()? {
            if let Err(error) = self.make_index(&index) {
                let problem = format!("could not rebuild the index {index}: {}", error.message);
                done.push(Err(problem));
            }
        }
        let is_left = is_faulty()?;
        if !is_left {
            done.push(Ok("rebuilt the indexes".to_owned()));
        }
        Ok(is_left)
    }

    /// Rebuilds everything, whether it is wrong or not.
    pub(crate) fn reindex(&self, embeddings: bool) -> Result<ReindexCounts> {
        let indexes = self.indexes()?;
        for index in &indexes {
            paced(|| self.make_index(index))?;
        }
        self.writer.run(|connection| counts(connection, true))?;
        let vectors = if embeddings { self.drop_vectors()? } else { 0 };
        let sql = "SELECT row FROM memory WHERE deleted_at IS NULL ORDER BY row";
        let rows: Vec<i64> = self.readers.read(|connection| column(connection, sql))?;
        let (memories, damaged) = self.renew(&rows)?;
        Ok(ReindexCounts {
            indexes: indexes.len(),
            memories,
            damaged,
            vectors,
        })
    }

    fn indexes(&self) -> Result<Vec<String>> {
        self.readers.read(structure::indexes)
    }

    fn make_index(&self, index: &str) -> Result<()> {
        let sql = structure::reindexing(index);
        self.writer
            .run(move |connection| connection.execute_batch(&sql).map_err(doubled))
    }

    /// Makes the passages of these memories from their texts; returns of how many, and how many
    /// texts are damaged.
    fn renew(&self, rows: &[i64]) -> Result<(usize, usize)> {
        let (mut done, mut renewed, mut damaged) = (0, 0, 0);
        while done < rows.len() {
            let rest = rows[done..].iter().copied().take(1_000).collect();
            let part = paced(|| {
                self.writer
                    .run(move |connection| renew_part(connection, rest))
            })?;
            done += part.seen;
            renewed += part.renewed;
            damaged += part.damaged;
        }
        Ok((renewed, damaged))
    }

    /// Drops all vectors of texts; returns of how many passages.
    fn drop_vectors(&self) -> Result<usize> {
        let mut dropped = 0;
        loop {
            let part = paced(|| self.writer.run(drop_part))?;
            dropped += part;
            if part == 0 {
                return Ok(dropped);
            }
        }
    }
}

/// Does a part, then waits for as long, so that other processes find the database free.
#[expect(
    clippy::disallowed_methods,
    reason = "the lock of the database has no queue: others try now and then"
)]
fn paced<T>(part: impl FnOnce() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    let done = part()?;
    thread::sleep(begun.elapsed());
    Ok(done)
}

/// One part of renewing.
struct Part {
    seen: usize,
    renewed: usize,
    damaged: usize,
}

fn renew_part(connection: &Connection, rows: Vec<i64>) -> Outcome<Part> {
    let begun = Instant::now();
    let mut part = Part {
        seen: 0,
        renewed: 0,
        damaged: 0,
    };
    for row in rows {
        if part.seen > 0 && begun.elapsed() > PART_MAX {
            break;
        }
        part.seen += 1;
        connection.execute_batch("SAVEPOINT renewal")?;
        let renewed = reanalysis::renew_memory(connection, row, true)
            .and_then(|_| record_change(connection, row));
        match renewed {
            Ok(()) => part.renewed += 1,
            Err(failure) if failure.is_damage() => {
                connection.execute_batch("ROLLBACK TO renewal")?;
                part.damaged += 1;
            }
            Err(failure) => return Err(failure),
        }
        connection.execute_batch("RELEASE renewal")?;
    }
    Ok(part)
}

fn drop_part(connection: &Connection) -> Outcome<usize> {
    let mut passages = BTreeSet::new();
    for sql in [
        "DELETE FROM further_vector WHERE (passage, model) IN (SELECT passage, model FROM further_vector LIMIT ?1)
            RETURNING passage",
        "UPDATE passage SET model = NULL, scale = NULL, vector = NULL
            WHERE row IN (SELECT row FROM passage WHERE model IS NOT NULL LIMIT ?1) RETURNING row",
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([VECTORS_MAX as i64], |row| row.get::<_, i64>(0))?;
        passages.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    log_all(
        connection,
        passages.iter().map(|passage| passage >> POSITION_BITS),
    )?;
    Ok(passages.len())
}

/// The only column of a statement.
fn column<T: FromSql>(connection: &Connection, sql: &str) -> Outcome<Vec<T>> {
    Ok(connection
        .prepare(sql)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// Notes a change of each of these memories, once.
fn log_all(connection: &Connection, memories: impl Iterator<Item = i64>) -> Outcome<()> {
    let memories: BTreeSet<i64> = memories.filter(|memory| *memory > 0).collect();
    memories
        .into_iter()
        .try_for_each(|memory| record_change(connection, memory))
}

/// Makes an end of what a rule forbids; returns of how many rows.
fn apply(connection: &Connection, rule: &Rule) -> Outcome<usize> {
    let memories: Vec<i64> = column(connection, &format!("SELECT memory FROM ({})", rule.found))?;
    if !memories.is_empty() {
        connection.execute_batch(rule.repair)?;
        log_all(connection, memories.iter().copied())?;
    }
    Ok(memories.len())
}

/// Counts again what is counted wrongly, or all; returns what was done, in words.
fn counts(connection: &Connection, all: bool) -> Outcome<Vec<String>> {
    let mut done = Vec::new();
    for count in &COUNTS {
        if all || differences(connection, count)? > 0 {
            connection.execute_batch(&format!(
                "DELETE FROM {0}; INSERT INTO {0} {1}",
                count.table, count.afresh
            ))?;
            done.push(format!("counted again {}", count.what));
        }
    }
    Ok(done)
}

/// Removes derived rows whose checksums do not hold; passages are left to the renewal. Returns the
/// actions, in words.
fn broken_rows(connection: &Connection) -> Outcome<Vec<String>> {
    let mut done = Vec::new();
    let mut say = |count: usize, what: &str| {
        if count > 0 {
            done.push(format!("{what} ({count})"));
        }
    };
    // First of all, because whatever else changes a row gives it a checksum that holds.
    for (table, what) in [
        ("access", "forgot damaged counts of returns"),
        ("cache_entry", "removed damaged cached answers"),
    ] {
        let broken = is_broken(connection, table)?;
        say(
            connection.execute(&format!("DELETE FROM {table} WHERE {broken}"), [])?,
            what,
        );
    }

    let models = is_broken(connection, "model")?;
    let models = format!("SELECT row FROM model WHERE {models}");
    let memories: Vec<i64> = column(
        connection,
        &format!("SELECT row >> {POSITION_BITS} FROM passage WHERE model IN ({models})"),
    )?;
    connection.execute_batch(&format!(
        "UPDATE passage SET model = NULL, scale = NULL, vector = NULL WHERE model IN ({models});
         UPDATE cache_entry SET model = NULL, scale = NULL, vector = NULL WHERE model IN ({models});
         DELETE FROM further_vector WHERE model IN ({models})"
    ))?;
    log_all(connection, memories.into_iter())?;
    say(
        connection.execute(&format!("DELETE FROM model WHERE row IN ({models})"), [])?,
        "dropped the vectors of models",
    );

    let vectors = is_broken(connection, "further_vector")?;
    let passages: Vec<i64> = column(
        connection,
        &format!("DELETE FROM further_vector WHERE {vectors} RETURNING passage"),
    )?;
    log_all(
        connection,
        passages.iter().map(|passage| passage >> POSITION_BITS),
    )?;
    say(passages.len(), "dropped damaged further vectors");

    let jobs = is_broken(connection, "job")?;
    let restart = format!(
        "INSERT OR REPLACE INTO job (memory, due_at, attempts) SELECT row, 0, 0 FROM memory
         WHERE enrichment = 'pending' AND deleted_at IS NULL AND row IN (SELECT memory FROM job WHERE {jobs})"
    );
    say(
        connection.execute(&restart, [])?,
        "started damaged jobs again",
    );
    say(
        connection.execute(&format!("DELETE FROM job WHERE {jobs}"), [])?,
        "removed damaged jobs that wait for nothing",
    );
    Ok(done)
}
