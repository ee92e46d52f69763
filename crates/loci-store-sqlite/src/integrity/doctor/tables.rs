//! The rows of each table: whether their checksums hold, and whether loci can read them.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

use loci_core::ProblemKind::{Damaged, Derived};
use loci_core::{
    AuditEntry, AuditRecord, CacheEntry, DailyCount, Decision, Error, Fact, IdempotentReply,
    Memory, NoteFile, Problem, ProblemKind, RecordVersion, SourceFile, Token, Tombstone, Tunnel,
    Version,
};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};
use tempfile::NamedTempFile;

use super::{ProblemRows, damaged};
use crate::failure;
use crate::failure::{Failure, Result, damage, readable};
use crate::key::StoreKey;
use crate::opening::copies;
use crate::opening::open_error::OpenError;
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read};
use crate::statements::{
    answers, audit, daily, decisions, facts, idempotent_replies, note_files, record_versions,
    settings, source_files, tokens, tombstones, tunnels, versions,
};
use crate::tables::{OF_PASSAGE, Origin, TABLES, Table};
use loci_index::codec::decode_terms;
use loci_index::records::StoredRecord;

/// A condition that rows of the table meet whose checksums do not hold.
pub(crate) fn is_broken(connection: &Connection, table: &str) -> Result<String> {
    let sql = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let sql: String = connection
        .prepare_cached(sql)?
        .query_row([table], |row| row.get(0))?;
    let call = sql
        .split_once("loci_checksum(")
        .and_then(|(_, rest)| rest.split_once(')'));
    let (values, _) = call.ok_or_else(failure::damaged)?;
    Ok(format!("checksum IS NOT loci_checksum({values})"))
}

/// The outcome of the check of all checksums.
#[derive(Debug)]
pub(super) struct ChecksumReport {
    /// The rows whose checksums do not hold, by table and key.
    pub(super) broken: HashSet<(&'static str, String)>,
    /// True if all tables could be read to their ends.
    pub(super) is_readable: bool,
}

/// A copy of the database, for those who look at its pages: to open the file besides SQLite would
/// end its locks.
pub(crate) fn copy_aside(connection: &Connection, key: Option<&StoreKey>) -> Result<NamedTempFile> {
    let folder = connection
        .path()
        .and_then(|path| Path::new(path).parent())
        .unwrap_or(Path::new("."));
    let failed = |error: io::Error| Error::from(OpenError::from_io(&error, folder));
    let aside = tempfile::Builder::new()
        .prefix("doctor-")
        .suffix(".part")
        .tempfile_in(folder)
        .map_err(failed)?;
    copies::copy(connection, key, aside.path())?;
    Ok(aside)
}

/// Reads all rows from their tables, not from indexes; some tables are left out.
pub(super) fn check_checksums(
    connection: &Connection,
    left_out: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) -> Result<ChecksumReport> {
    let mut checked = ChecksumReport {
        broken: HashSet::new(),
        is_readable: true,
    };
    for table in checked_tables(left_out) {
        let Table {
            name, rows, key, ..
        } = *table;
        let mut broken = ProblemRows::default();
        let sql = format!(
            "SELECT {key} FROM {name} AS t NOT INDEXED WHERE {}",
            is_broken(connection, name)?
        );
        let problem = damage(each(connection, &sql, |row| {
            let key = row.get_ref(0)?;
            broken.add(key);
            // A read of a memory reads both.
            checked.broken.insert((
                if name == "content" { "memory" } else { name },
                readable(key),
            ));
            Ok(())
        }))?;
        broken.report(
            kind_of(table),
            rows,
            ", whose checksums do not hold",
            problems,
        );
        checked.is_readable &= problem.is_none();
        problems.extend(problem.map(|problem| Problem {
            kind: kind_of(table),
            text: format!("the {rows} cannot be read on: {problem}"),
        }));
    }
    Ok(checked)
}

/// The tables whose rows carry checksums, but for these.
fn checked_tables(left_out: &BTreeSet<String>) -> impl Iterator<Item = &'static Table> {
    TABLES
        .iter()
        .filter(|table| table.has_checksums() && !left_out.contains(table.name))
}

fn kind_of(table: &Table) -> ProblemKind {
    match table.origin {
        Origin::Filed => Damaged,
        Origin::Derived | Origin::Counted | Origin::Internal => Derived,
    }
}

/// Reads the other rows as loci does: they are as they were written, but loci may not have written
/// them. Some tables are left out.
pub(super) fn check_values(
    connection: &Connection,
    all_broken: &HashSet<(&'static str, String)>,
    left_out: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    for Table { name, rows, .. } in checked_tables(left_out) {
        let (name, rows) = (*name, *rows);
        let Some((sql, read)) = reading(name) else {
            continue;
        };
        let (mut odd, mut whole) = (ProblemRows::default(), 0);
        // A read of a fact reads its names, and a read of an answer its model: a damaged name does
        // not say of which.
        let names = match name {
            "fact" => "graph_name",
            "cache_entry" => "model",
            _ => "",
        };
        let has_broken_names = all_broken.iter().any(|(name, _)| *name == names);
        let problem = damage(each(connection, &sql, |row| {
            let key = row.get_ref(row.as_ref().column_count() - 1)?;
            match read(row) {
                Ok(()) => whole += 1,
                Err(failure)
                    if failure.is_damage()
                        && (has_broken_names || all_broken.contains(&(name, readable(key)))) => {}
                Err(failure) if failure.is_damage() => odd.add(key),
                Err(failure) => return Err(failure),
            }
            Ok(())
        }))?;
        // Passages are rebuilt where they are not what the texts give.
        let kind = if name == "passage" { Derived } else { Damaged };
        odd.report(kind, rows, ", which loci did not write", problems);
        problems.extend(problem.map(|problem| {
            damaged(format!(
                "the {rows} cannot be read after {whole}: {problem}"
            ))
        }));
    }
    Ok(())
}

/// Reads a whole row.
type Read = fn(&Row<'_>) -> Result<()>;

/// The statement that reads the rows of a table, the key last, and what reads a row.
fn reading(table: &str) -> Option<(String, Read)> {
    let select =
        |columns: &str, key: &str, from: &str| format!("SELECT {columns}, {key} FROM {from}");
    let reading: (String, Read) = match table {
        "memory" => (
            select(WHOLE_COLUMNS, "m.id", WHOLE_TABLES),
            readable_as::<Memory>,
        ),
        "passage" => (select("terms", OF_PASSAGE, "passage AS t"), readable_terms),
        "token" => (
            select(&tokens::columns(), "id", "token"),
            readable_as::<Token>,
        ),
        "cache_entry" => (
            answers::entries().replacen(" FROM ", ", e.id FROM ", 1),
            readable_as::<CacheEntry>,
        ),
        "decision" => (
            select(&decisions::columns(), "key", "decision"),
            readable_as::<Decision>,
        ),
        "audit" => (
            select(&audit::columns(), "number", "audit"),
            readable_as::<(u64, AuditEntry)>,
        ),
        "audit_record" => (
            select(&audit::record_columns(), "entry", "audit_record"),
            readable_as::<(u64, AuditRecord, u64)>,
        ),
        "daily" => (
            select(&daily::columns(), "day", "daily"),
            readable_as::<DailyCount>,
        ),
        "note_file" => (
            select(&note_files::columns(), "path", "note_file"),
            readable_as::<NoteFile>,
        ),
        "keyed_answer" => (
            select(&idempotent_replies::columns(), "row", "keyed_answer"),
            readable_as::<IdempotentReply>,
        ),
        "fact" => (
            select(&facts::columns(), "f.id", "fact AS f"),
            readable_as::<Fact>,
        ),
        "tunnel" => (
            select(&tunnels::columns(), "id", "tunnel"),
            readable_as::<Tunnel>,
        ),
        "setting" => (select(settings::COLUMNS, "name", "setting"), |row| {
            settings::read(row).map(drop)
        }),
        "tombstone" => (
            select(&tombstones::columns(), "hex(text)", "tombstone"),
            readable_as::<Tombstone>,
        ),
        "source_file" => (
            select(source_files::COLUMNS, "path", "source_file"),
            readable_as::<SourceFile>,
        ),
        other => return reading_of_versions(other),
    };
    Some(reading)
}

/// Returns the same for the tables of former versions.
fn reading_of_versions(table: &str) -> Option<(String, Read)> {
    let (columns, read): (String, Read) = match table {
        "version" => (versions::columns("v.id"), readable_as::<Version>),
        "record_version" => (record_versions::columns(), readable_as::<RecordVersion>),
        _ => return None,
    };
    Some((format!("SELECT {columns}, v.id FROM {table} AS v"), read))
}

/// Fails unless the row holds the terms of a passage.
fn readable_terms(row: &Row<'_>) -> Result<()> {
    let terms = row.get_ref(0)?.as_blob().map_err(unreadable)?;
    Ok(decode_terms(terms).map(drop)?)
}

/// Fails unless the row is a record of this type.
fn readable_as<T: StoredRecord>(row: &Row<'_>) -> Result<()> {
    read::<T>(row).map(drop)
}

/// Does something with every row of a statement.
fn each(
    connection: &Connection,
    sql: &str,
    mut visit: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(row)?;
    }
    Ok(())
}

fn unreadable(_: FromSqlError) -> Failure {
    failure::damaged().into()
}
