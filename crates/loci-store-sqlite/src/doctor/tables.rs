//! The rows of each table: whether their checksums hold, and whether loci can read them.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

use loci_core::Error;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};
use tempfile::NamedTempFile;

use super::ProblemKind::{Damaged, Derived};
use super::{Named, Problem, ProblemKind, damage, damaged};
use crate::codec::decode_terms;
use crate::failure::{Failure, Result, readable};
use crate::open::OpenError;
use crate::read::POSITION_BITS;
use crate::row::{COLUMNS, FURTHER_COLUMNS, WHOLE_TABLES, read_whole};
use crate::{
    answers, audit, backup, decisions, facts, failure, keyed_answers, note_files, salvage,
    settings, source_files, tokens, trees, tunnels,
};

/// A table whose rows carry checksums.
struct Table {
    name: &'static str,
    /// What its rows are.
    rows: &'static str,
    /// What names a row `t` and tells nothing of its content.
    key: &'static str,
    kind: ProblemKind,
}

const fn table(
    name: &'static str,
    rows: &'static str,
    key: &'static str,
    kind: ProblemKind,
) -> Table {
    Table {
        name,
        rows,
        key,
        kind,
    }
}

/// The id of the memory that a row belongs to.
const OF_MEMORY: &str = "ifnull((SELECT id FROM memory WHERE row = t.memory), t.memory)";
const OF_PASSAGE: &str = "ifnull((SELECT id FROM memory WHERE row = t.row >> 20), t.row >> 20)";
const OF_VECTOR: &str =
    "ifnull((SELECT id FROM memory WHERE row = t.passage >> 20), t.passage >> 20)";
const _: () = assert!(POSITION_BITS == 20);

/// All of them. What nobody filed can be left out or made again.
const TABLES: [Table; 23] = [
    table("memory", "memories", "id", Damaged),
    table("content", "contents of memories", OF_MEMORY, Damaged),
    table("passage", "passages of memories", OF_PASSAGE, Derived),
    table(
        "further_vector",
        "further vectors of memories",
        OF_VECTOR,
        Derived,
    ),
    table("model", "names of models", "row", Derived),
    table("token", "tokens", "id", Damaged),
    table(
        "access",
        "counts of returns of memories",
        OF_MEMORY,
        Derived,
    ),
    table("job", "jobs of memories", OF_MEMORY, Derived),
    table("cache_entry", "cached answers", "id", Derived),
    table("decision", "decisions", "key", Damaged),
    table("audit", "audit entries", "number", Damaged),
    table("audit_record", "records of audit entries", "entry", Damaged),
    table("wipe", "notes of wipes", "owner", Damaged),
    table("analysis", "versions of the analysis", "row", Derived),
    table("note_file", "files of notes", "path", Damaged),
    table("note_folder", "folders of notes", "space", Damaged),
    table("keyed_answer", "answers under keys", "row", Damaged),
    table("secret", "secrets", "row", Damaged),
    table("graph_name", "names in facts", "space", Damaged),
    table("fact", "facts", "id", Damaged),
    table("tunnel", "tunnels", "id", Damaged),
    table("setting", "settings", "name", Damaged),
    table(
        "source_file",
        "files that memories were made from",
        "path",
        Damaged,
    ),
];

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

/// What the rows say of themselves.
#[derive(Debug)]
pub(super) struct Checked {
    /// The rows whose checksums do not hold, by table and key.
    pub(super) broken: HashSet<(&'static str, String)>,
    /// Whether all tables could be read to their ends.
    pub(super) is_readable: bool,
}

/// Whether every table of what was filed can be read to its end.
pub(super) fn can_be_read(connection: &Connection) -> Result<bool> {
    let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let mut derived = BTreeSet::new();
    for table in tables
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?
    {
        let sql = format!("SELECT count(*) FROM \"{table}\" NOT INDEXED");
        let read = || {
            Ok(connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .map(drop)?)
        };
        if trees::is_derived(&table) {
            derived.insert(table);
        } else if damage(read())?.is_some() {
            return Ok(false);
        }
    }
    Ok(check_checksums(connection, &derived, &mut Vec::new())?.is_readable)
}

/// A copy of the database, for those who look at its pages: to open the file besides SQLite would
/// end its locks.
pub(crate) fn copy_aside(connection: &Connection) -> Result<NamedTempFile> {
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
    backup::copy(connection, aside.path())?;
    Ok(aside)
}

/// The tables that records are made from of which more rows are in the pages of the database than
/// in the table: how many there are, and how many are found.
pub(super) fn lost_rows(connection: &Connection) -> Result<Vec<(String, i64, i64)>> {
    let found = salvage::found_rows(copy_aside(connection)?.path())?;
    let mut lost = Vec::new();
    for (table, found) in found.into_iter().filter(|(_, found)| *found > 0) {
        let mut rows = 0;
        let sql = format!("SELECT count(*) FROM {table} NOT INDEXED");
        let counted = connection
            .query_row(&sql, [], |row| row.get(0))
            .map(|counted| rows = counted);
        // What cannot be counted is told elsewhere.
        damage(counted.map_err(Failure::from))?;
        if found > rows {
            lost.push((table, rows, found));
        }
    }
    Ok(lost)
}

/// Reads all rows from their tables, not from indexes; those of some tables are left out.
pub(super) fn check_checksums(
    connection: &Connection,
    left_out: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) -> Result<Checked> {
    let mut checked = Checked {
        broken: HashSet::new(),
        is_readable: true,
    };
    for Table {
        name,
        rows,
        key,
        kind,
    } in TABLES
        .into_iter()
        .filter(|table| !left_out.contains(table.name))
    {
        let mut broken = Named::default();
        let sql = format!(
            "SELECT {key} FROM {name} AS t NOT INDEXED WHERE {}",
            is_broken(connection, name)?
        );
        let problem = damage(each(connection, &sql, |row| {
            let key = row.get_ref(0)?;
            broken.add(key);
            // Whoever reads a memory reads both.
            checked.broken.insert((
                if name == "content" { "memory" } else { name },
                readable(key),
            ));
            Ok(())
        }))?;
        broken.report(kind, rows, ", whose checksums do not hold", problems);
        checked.is_readable &= problem.is_none();
        problems.extend(
            problem.map(|problem| damaged(format!("the {rows} cannot be read on: {problem}"))),
        );
    }
    Ok(checked)
}

/// Reads the other rows as loci does: they are as they were written, but loci may not have written
/// them. Those of some tables are left out.
pub(super) fn check_values(
    connection: &Connection,
    all_broken: &HashSet<(&'static str, String)>,
    left_out: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    for Table { name, rows, .. } in TABLES
        .into_iter()
        .filter(|table| !left_out.contains(table.name))
    {
        let Some((sql, read)) = reading(name) else {
            continue;
        };
        let (mut odd, mut whole) = (Named::default(), 0);
        // Whoever reads a fact reads its names, and whoever reads an answer its model: their damage
        // does not say whose.
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
        "memory" => {
            let columns = format!("{COLUMNS}, {FURTHER_COLUMNS}");
            (select(&columns, "m.id", WHOLE_TABLES), |row| {
                read_whole(row).map(drop)
            })
        }
        "passage" => (select("terms", OF_PASSAGE, "passage AS t"), |row| {
            let terms = row.get_ref(0)?.as_blob().map_err(unreadable)?;
            Ok(decode_terms(terms).map(drop)?)
        }),
        "token" => (select(&tokens::columns(), "id", "token"), |row| {
            tokens::read_token(row).map(drop)
        }),
        "cache_entry" => (
            answers::entries().replacen(" FROM ", ", e.id FROM ", 1),
            |row| answers::read_entry(row).map(drop),
        ),
        "decision" => (select(&decisions::columns(), "key", "decision"), |row| {
            decisions::read(row).map(drop)
        }),
        "audit" => (select(&audit::columns(), "number", "audit"), |row| {
            audit::read_entry(row).map(drop)
        }),
        "audit_record" => (
            select(audit::RECORD_COLUMNS, "entry", "audit_record"),
            |row| audit::read_record(row).map(drop),
        ),
        "note_file" => (select(&note_files::columns(), "path", "note_file"), |row| {
            note_files::read_file(row).map(drop)
        }),
        "keyed_answer" => (
            select(&keyed_answers::columns(), "row", "keyed_answer"),
            |row| keyed_answers::read(row).map(drop),
        ),
        "fact" => (select(&facts::columns(), "f.id", "fact AS f"), |row| {
            facts::read(row).map(drop)
        }),
        "tunnel" => (select(&tunnels::columns(), "id", "tunnel"), |row| {
            tunnels::read(row).map(drop)
        }),
        "setting" => (select(settings::COLUMNS, "name", "setting"), |row| {
            settings::read(row).map(drop)
        }),
        "source_file" => (
            select(source_files::COLUMNS, "path", "source_file"),
            |row| source_files::read(row).map(drop),
        ),
        _ => return None,
    };
    Some(reading)
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
