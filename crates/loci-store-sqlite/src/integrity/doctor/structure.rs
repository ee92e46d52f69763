//! Pages, trees, types and keys: SQLite's own integrity check, and whether a fault that it finds
//! concerns rows that callers filed.
//!
//! The text of a fault is for people; no code depends on it. The repair is tried on a copy instead:
//! where every table of filed rows is sound once its indexes were rebuilt, and no trace tells of
//! more rows, only derived data was wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use loci_core::Problem;
use rusqlite::Connection;

use super::integrity::{LINES_MAX, faults_of, integrity_check};
use super::tables::copy_aside;
use super::{damaged, derived};
use crate::connection::Database;
use crate::failure::{Failure, Result, damage};
use crate::integrity::salvage;
use crate::key::StoreKey;
use crate::tables::{Origin, TABLES, Table};

/// The problems that SQLite's check finds, inside a transaction: [`Damaged`] if filed rows may be
/// lost, else [`Derived`].
///
/// [`Damaged`]: loci_core::ProblemKind::Damaged
/// [`Derived`]: loci_core::ProblemKind::Derived
pub(crate) fn check(connection: &Connection, key: Option<&StoreKey>) -> Result<Vec<Problem>> {
    let lines = integrity_check(connection, LINES_MAX)?;
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let lost = lost_rows(connection, key)?;
    let problem = if lost.is_empty() { derived } else { damaged };
    Ok(lost
        .into_iter()
        .map(damaged)
        .chain(lines.into_iter().map(problem))
        .collect())
}

/// The tables of filed rows of which rows are lost, or may be, in words.
fn lost_rows(connection: &Connection, key: Option<&StoreKey>) -> Result<Vec<String>> {
    let aside = copy_aside(connection, key)?;
    let found = salvage::found_rows(aside.path(), key)?;
    let database = Database::new(aside.path().to_owned(), Duration::ZERO).with_key(key.cloned());
    let mut lost = Vec::new();
    for table in TABLES.iter().filter(|table| table.origin == Origin::Filed) {
        let found = found.get(table.name).copied().unwrap_or_default();
        // A connection of its own, which remembers nothing of another table's faults.
        let copy = database.open()?;
        let mut why = None;
        let problem = damage(why_lost(&copy, table, found).map(|reason| why = reason))?;
        lost.extend(problem.or(why).map(|why| format!("{}: {why}", table.name)));
    }
    if lost.is_empty() {
        lost = rows_of_other_trees(connection, key, &found)?;
    }
    Ok(lost)
}

/// The tables of filed rows of which a repair would take rows, in words. The damaged tree of an index
/// may name a page of another tree, which is freed and written to when the index is rebuilt. So the
/// repair is tried on a copy as it would be made, one index after the other, and the rows of all
/// tables are counted after it.
fn rows_of_other_trees(
    connection: &Connection,
    key: Option<&StoreKey>,
    found: &BTreeMap<&'static str, i64>,
) -> Result<Vec<String>> {
    let aside = copy_aside(connection, key)?;
    let database = Database::new(aside.path().to_owned(), Duration::ZERO).with_key(key.cloned());
    for index in indexes(connection)? {
        // A fault of one index does not keep the repair from the others.
        damage(
            database
                .open()?
                .execute_batch(&reindexing(&index))
                .map_err(Failure::from),
        )?;
    }
    let left = salvage::found_rows(aside.path(), key)?;
    let lost = found.iter().filter_map(|(table, rows)| {
        let left = left.get(table).copied().unwrap_or_default();
        (left < *rows).then(|| {
            format!("{table}: a damaged index leads into its pages, and {left} of {rows} rows would be left if it were rebuilt")
        })
    });
    Ok(lost.collect())
}

/// Returns the names of all indexes, in the order in which a repair rebuilds them.
pub(crate) fn indexes(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Returns the statement that rebuilds an index.
pub(crate) fn reindexing(index: &str) -> String {
    format!("REINDEX \"{}\"", index.replace('"', "\"\""))
}

/// Why rows of a table are lost, or may be: fewer can be read than there are traces of, or the table
/// stays faulty when its indexes were rebuilt. Changes the database, which is a copy.
fn why_lost(copy: &Connection, table: &Table, found: i64) -> Result<Option<String>> {
    let name = table.name;
    let count = |from: &str| -> Result<i64> {
        let sql = format!("SELECT count(*) FROM \"{name}\" {from}");
        Ok(copy.query_row(&sql, [], |row| row.get(0))?)
    };
    let rows = count("NOT INDEXED")?;
    if found > rows {
        return Ok(Some(format!(
            "it has {rows} rows, and there are {found} in all pages"
        )));
    }
    for index in whole_indexes(copy, name)? {
        let mut entries = 0;
        damage(count(&format!("INDEXED BY \"{index}\"")).map(|count| entries = count))?;
        if entries > rows {
            return Ok(Some(format!(
                "it has {rows} rows, and its index {index} has {entries}"
            )));
        }
    }
    let rebuilt = copy.execute_batch(&format!("REINDEX \"{name}\""));
    // SQLite cannot free the pages of a corrupt index. All rows that there are traces of can be read.
    if damage(rebuilt.map_err(Failure::from))?.is_some() {
        return Ok(None);
    }
    let faults = faults_of(copy, name)?;
    Ok(faults
        .into_iter()
        .next()
        .map(|fault| format!("it stays faulty when its indexes are rebuilt: {fault}")))
}

/// The indexes that have an entry for each row of the table.
fn whole_indexes(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_index_list(?1) WHERE NOT partial AND origin <> 'pk'";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}
