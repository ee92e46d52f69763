//! The trees of pages in which SQLite keeps each table and index: which of them are broken, and
//! those of what is derived rebuilt, even where nothing of them can be read.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};

use crate::doctor::damage;
use crate::doctor::references::COUNTS;
use crate::failure::{self, Result};

/// Tables of what nobody filed and what is rebuilt, empty or from the rest, where it is lost;
/// [`COUNTS`] are the others.
const DERIVED_TABLES: [&str; 7] = [
    "passage",
    "further_vector",
    "model",
    "access",
    "cache_entry",
    "job",
    "lease",
];
/// The name of an index while it is made in place of one that a constraint brought.
const REPLACEMENT: &str = "loci_replacement";

/// What a line of SQLite's check of integrity is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The trees of these tables and indexes, which are derived, are not sound.
    BrokenTrees(BTreeSet<String>),
    /// This index, whose tree is sound, does not have what its table gives.
    WrongIndex(String, IndexFault),
    /// Pages that are neither used nor known to be free.
    UnusedPages,
    /// Anything else may be something that was filed.
    Other,
}

/// How an index differs from its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IndexFault {
    /// It has more or fewer entries than the table has rows.
    Count,
    /// It lacks a row of the table.
    Missing,
    /// An entry is odd.
    Entry,
}

impl Subject {
    /// Tells it from the words of a line.
    pub(crate) fn of(connection: &Connection, line: &str) -> Result<Self> {
        // Lines about the cells of a page do not say whose it is, and two trees may lead to one
        // page.
        let page = [" of page ", " on page ", "2nd reference to page "]
            .iter()
            .find_map(|words| number_after(line, words));
        let is_of_space = line.starts_with("Freelist: ") || line.ends_with(": never used");
        if let Some(page) = page {
            let sql = "SELECT DISTINCT type, m.name FROM dbstat AS s JOIN sqlite_master AS m USING (name) WHERE pageno = ?1";
            let subject = broken_trees(connection, sql, page)?;
            let is_unowned = is_of_space && !connection.prepare_cached(sql)?.exists([page])?;
            return Ok(if is_unowned {
                Subject::UnusedPages
            } else {
                subject
            });
        }
        if is_of_space {
            return Ok(Subject::UnusedPages);
        }
        if let Some(root) = number_after(line, "Tree ") {
            return broken_trees(
                connection,
                "SELECT type, name FROM sqlite_master WHERE rootpage = ?1",
                root,
            );
        }
        if let Some((start, rest)) = line.split_once("index ") {
            let sql = "SELECT name FROM sqlite_master WHERE type = 'index' AND name = ?1";
            let name = rest.split(' ').next();
            let index = connection
                .prepare_cached(sql)?
                .query_row([name], |row| row.get(0))
                .optional()?;
            let fault = match start {
                "wrong # of entries in " => IndexFault::Count,
                _ if start.ends_with(" missing from ") => IndexFault::Missing,
                _ => IndexFault::Entry,
            };
            return Ok(index.map_or(Subject::Other, |index| Subject::WrongIndex(index, fault)));
        }
        // What else is said of rows names their table at the end, or one of its columns.
        let table = line
            .rsplit(' ')
            .next()
            .and_then(|name| name.split('.').next());
        let derived = table
            .filter(|table| is_derived(table))
            .map(|table| BTreeSet::from([table.to_owned()]));
        Ok(derived.map_or(Subject::Other, Subject::BrokenTrees))
    }
}

/// Gives each line of SQLite's check of integrity of that to `visit`: of a table, or of all with as
/// many lines at most.
///
/// # Errors
/// Damage where the check could not go on, and those of `visit`.
pub(crate) fn integrity_check(
    connection: &Connection,
    of: &str,
    mut visit: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    /// What it says last if it stopped at a row.
    const STOPPED: &str = "database disk image is malformed";
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({of})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let lines: String = row.get(0)?;
        for line in lines
            .lines()
            .filter(|line| *line != "ok" && !line.starts_with("***"))
        {
            if line == STOPPED {
                return Err(failure::damaged().into());
            }
            visit(line)?;
        }
    }
    Ok(())
}

fn number_after(line: &str, words: &str) -> Option<i64> {
    line.split_once(words)?.1.split(' ').next()?.parse().ok()
}

/// Of the trees that share a page, those that are derived: one of them leads to a page of
/// another's. If it was the other way round, rows of that one are found in pages to which nothing
/// leads.
fn broken_trees(connection: &Connection, sql: &str, page: i64) -> Result<Subject> {
    let mut statement = connection.prepare_cached(sql)?;
    let trees = statement.query_map([page], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut broken = BTreeSet::new();
    for tree in trees {
        let (kind, name) = tree?;
        if kind == "index" || is_derived(&name) {
            broken.insert(name);
        }
    }
    Ok(if broken.is_empty() {
        Subject::Other
    } else {
        Subject::BrokenTrees(broken)
    })
}

/// Whether nobody filed what is in a table.
pub(crate) fn is_derived(table: &str) -> bool {
    DERIVED_TABLES.contains(&table) || is_counted(table)
}

fn is_counted(table: &str) -> bool {
    COUNTS.iter().any(|count| count.table == table)
}

/// The table that an index belongs to.
pub(crate) fn table_of(connection: &Connection, index: &str) -> Result<String> {
    let sql = "SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND name = ?1";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([index], |row| row.get(0))?)
}

/// With which of the tables the check of integrity cannot go on: those that are derived, if their
/// own trees are broken, and of the others the indexes that are known to be broken, else all; it
/// does not say which of them it is.
pub(crate) fn unreadable(
    connection: &Connection,
    broken_trees: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let mut indexes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statement =
        connection.prepare("SELECT tbl_name, name, type FROM sqlite_master WHERE rootpage > 0")?;
    for tree in statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
    })? {
        let (table, name, kind) = tree?;
        let indexes = indexes.entry(table).or_default();
        if kind == "index" {
            indexes.push(name);
        }
    }
    let mut broken = BTreeSet::new();
    for (table, indexes) in indexes {
        if damage(integrity_check(connection, &format!("\"{table}\""), |_| {
            Ok(())
        }))?
        .is_some()
        {
            let is_broken =
                broken_trees.contains(&table) || damage(read_all(connection, &table))?.is_some();
            // What is counted is counted again, whichever of its trees it is.
            if is_derived(&table) && (is_broken || indexes.is_empty() || is_counted(&table)) {
                broken.insert(table);
            } else {
                let known: Vec<_> = indexes
                    .iter()
                    .filter(|index| broken_trees.contains(*index))
                    .cloned()
                    .collect();
                broken.extend(if known.is_empty() { indexes } else { known });
            }
        }
    }
    Ok(broken)
}

/// Reads every value of a table, not from indexes.
fn read_all(connection: &Connection, table: &str) -> Result<()> {
    let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\" NOT INDEXED"))?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..width {
            row.get_ref(column)?;
        }
    }
    Ok(())
}

/// Leaves out the indexes of tables that are rebuilt, since those bring theirs.
pub(crate) fn without_indexes_of_tables(
    connection: &Connection,
    broken: &mut BTreeSet<String>,
) -> Result<()> {
    let sql = "SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND name = ?1";
    let mut table = connection.prepare_cached(sql)?;
    let mut left = BTreeSet::new();
    for name in broken.iter() {
        let table: Option<String> = table.query_row([name], |row| row.get(0)).optional()?;
        if !table.is_some_and(|table| broken.contains(&table)) {
            left.insert(name.clone());
        }
    }
    *broken = left;
    Ok(())
}

/// Makes a new tree for an index, or an empty one for a table and its indexes, inside a
/// transaction. The pages of the old one are left to a `VACUUM`: SQLite can free only what it can
/// read.
pub(crate) fn replace(connection: &Connection, name: &str) -> Result<()> {
    connection.pragma_update(None, "writable_schema", true)?;
    let replaced = replace_definition(connection, name);
    // Whatever came of it, the tables are read again from what is written.
    connection.pragma_update(None, "writable_schema", "RESET")?;
    replaced
}

fn replace_definition(connection: &Connection, name: &str) -> Result<()> {
    let sql = "SELECT sql FROM sqlite_master
        WHERE sql IS NOT NULL AND (name = ?1 OR tbl_name = ?1 AND type IN ('index', 'trigger')) ORDER BY type = 'table' DESC, rowid";
    let definitions: Vec<String> = connection
        .prepare(sql)?
        .query_map([name], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if definitions.is_empty() {
        return replace_index_of_constraint(connection, name);
    }
    let forget = "DELETE FROM sqlite_master WHERE name = ?1 OR tbl_name = ?1";
    connection.execute(forget, [name])?;
    connection.pragma_update(None, "writable_schema", "RESET")?;
    for definition in definitions {
        connection.execute_batch(&definition)?;
    }
    Ok(())
}

/// An index without a definition of its own gets the tree of one that is defined alike.
fn replace_index_of_constraint(connection: &Connection, name: &str) -> Result<()> {
    let table = table_of(connection, name)?;
    let sql = "SELECT '\"' || name || '\" COLLATE ' || coll || iif(desc, ' DESC', '') FROM pragma_index_xinfo(?1) WHERE key";
    let columns: Vec<String> = connection
        .prepare(sql)?
        .query_map([name], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    connection.execute_batch(&format!(
        "CREATE INDEX {REPLACEMENT} ON \"{table}\" ({})",
        columns.join(", ")
    ))?;
    let take = "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = ?2) WHERE name = ?1";
    connection.execute(take, [name, REPLACEMENT])?;
    connection.execute("DELETE FROM sqlite_master WHERE name = ?1", [REPLACEMENT])?;
    // That tells every other connection to read the definitions again.
    let version: i64 = connection.pragma_query_value(None, "schema_version", |row| row.get(0))?;
    Ok(connection.pragma_update(None, "schema_version", version + 1)?)
}
