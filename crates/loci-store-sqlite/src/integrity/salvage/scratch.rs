//! A temporary database of our schema that collects the rows that are whole. Records are read from
//! it as from any store, each one once.

use std::collections::{BTreeMap, HashMap};

use loci_core::{Archived, Error, Timestamp};
use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, params, params_from_iter};
use tempfile::TempDir;

use super::Report;
use super::dbdata::PageRecord;
use super::row_formats::{Row, RowFormats};
use super::trees::TreeDefinition;
use crate::failure::Result;
use crate::integrity::checksum;
use crate::opening::open_error::OpenError;
use crate::opening::schema;
use crate::opening::schema::Definition;
use crate::statements::archive;
use crate::tables::{Origin, TABLES, Table};

/// The table of texts.
pub(crate) const TEXTS: &str = "content";
/// Takes a text in the place of one that the record does not tell of.
const RIGHT_TEXT: &str = "
    UPDATE content SET text = ?2 WHERE memory = ?1 AND EXISTS (
        SELECT 1 FROM memory WHERE row = ?1 AND text_checksum = loci_checksum(?2)
            AND text_checksum <> loci_checksum(content.text))";
/// Deletes texts that do not belong to their memory: the two rows may be of two times, or of two
/// memories.
const FOREIGN_TEXTS: &str = "
    DELETE FROM content WHERE EXISTS (
        SELECT 1 FROM memory WHERE row = content.memory AND text_checksum <> loci_checksum(content.text))";

/// Deletes the halves of memories whose other half is lost, and the versions of memories that are
/// lost or had the row before.
const HALVES: &str = "
    DELETE FROM content WHERE memory NOT IN (SELECT row FROM memory);
    DELETE FROM memory WHERE row NOT IN (SELECT memory FROM content);
    DELETE FROM version WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = version.memory
        AND version.id IN (id, substr(id, -8)));";

/// The rows that an index or a corrupt record says there are, though they may be lost.
const KNOWN: &str = "
    CREATE TEMP TABLE known (tree TEXT NOT NULL, row INTEGER NOT NULL, name TEXT, PRIMARY KEY (tree, row)) WITHOUT ROWID;";

/// The rows that salvage looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SalvageScope {
    /// Tables that records of the archive are made from, and others that callers filed.
    Filed,
    /// All that carry checksums.
    All,
}

impl SalvageScope {
    fn includes(self, table: &Table) -> bool {
        match self {
            SalvageScope::Filed => table.is_archived || table.origin == Origin::Filed,
            SalvageScope::All => table.has_checksums(),
        }
    }
}

/// A database of our schema that collects rows; it is deleted with its connection.
#[derive(Debug)]
pub(crate) struct Scratch {
    connection: Connection,
    /// Holds the file, if there is one; goes after the connection.
    _folder: Option<TempDir>,
    /// The statements that insert a row, by tables' names.
    insertions: HashMap<&'static str, String>,
}

impl Scratch {
    /// Makes one for these rows, and the forms that its rows have: among the temporary files, or in
    /// memory, for what is encrypted.
    pub(crate) fn new(wanted: SalvageScope, in_memory: bool) -> Result<(Self, RowFormats)> {
        let folder =
            if in_memory {
                None
            } else {
                let made = tempfile::Builder::new().prefix("loci-").tempdir();
                Some(made.map_err(|error| {
                    Error::from(OpenError::from_io(&error, &std::env::temp_dir()))
                })?)
            };
        let connection = match &folder {
            Some(folder) => Connection::open(folder.path().join("rows.db"))?,
            None => Connection::open_in_memory()?,
        };
        checksum::register(&connection)?;
        connection.execute_batch(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768;",
        )?;
        connection.execute_batch("BEGIN")?;
        // Triggers would count rows that are deleted again.
        let is_needed = |definition: &&Definition| {
            matches!(definition.kind.as_str(), "table" | "index")
                && !definition.name.starts_with("sqlite_")
        };
        for definition in schema::definitions()?.iter().filter(is_needed) {
            connection.execute_batch(&definition.sql)?;
        }
        connection.execute_batch(KNOWN)?;
        let formats = RowFormats::of(&connection)?;
        let insertions = TABLES
            .iter()
            .filter(|table| wanted.includes(table))
            .filter_map(|table| Some((table.name, formats.find(table.name)?.insertion())))
            .collect();
        Ok((
            Scratch {
                connection,
                _folder: folder,
                insertions,
            },
            formats,
        ))
    }

    /// Counts the rows of each table.
    pub(crate) fn counts(&self) -> Result<BTreeMap<&'static str, i64>> {
        let count = |table: &&'static str| {
            let sql = format!("SELECT count(*) FROM {table}");
            Ok((
                *table,
                self.connection.query_row(&sql, [], |row| row.get(0))?,
            ))
        };
        self.insertions.keys().map(count).collect()
    }

    /// Copies all rows into a new database of the current schema, in the place of the rows that its
    /// migrations put there.
    pub(crate) fn copy_into(&self, fresh: &Connection) -> Result<()> {
        let tables = TABLES.iter();
        for table in tables.filter(|table| self.insertions.contains_key(table.name)) {
            self.copy_table(table.name, fresh)?;
        }
        Ok(())
    }

    fn copy_table(&self, table: &str, fresh: &Connection) -> Result<()> {
        let columns =
            "SELECT group_concat(name, ', ') FROM pragma_table_xinfo(?1) WHERE hidden = 0";
        let columns: String = self
            .connection
            .query_row(columns, [table], |row| row.get(0))?;
        let sql = format!("SELECT {columns} FROM {table}");
        let mut statement = self.connection.prepare(&sql)?;
        let width = statement.column_count();
        let mut rows = statement.query([])?;
        let mut insert = fresh.prepare(&self.insertions[table])?;
        let mut is_first = true;
        while let Some(row) = rows.next()? {
            if std::mem::take(&mut is_first) {
                fresh.execute(&format!("DELETE FROM {table}"), [])?;
            }
            let values = (0..width)
                .map(|column| row.get_ref(column).map(ToSqlOutput::Borrowed))
                .collect::<rusqlite::Result<Vec<_>>>()?;
            insert.execute(params_from_iter(values))?;
        }
        Ok(())
    }

    /// Counts the tables, indexes and triggers of this version that are defined in another way, or
    /// not at all, including the indexes that constraints bring.
    pub(crate) fn wrong_definitions(
        &self,
        found: &BTreeMap<String, TreeDefinition>,
    ) -> Result<usize> {
        let is_wrong = |Definition {
                            kind,
                            name,
                            table,
                            sql,
                        }: &&Definition| {
            let is_tree = matches!(kind.as_str(), "table" | "index");
            let right = TreeDefinition {
                kind: kind.clone(),
                table: table.clone(),
                sql: Some(sql.clone()),
                is_tree,
            };
            found.get(name) != Some(&right)
        };
        let mut wrong = schema::definitions()?.iter().filter(is_wrong).count();
        self.each(
            "SELECT name, tbl_name FROM main.sqlite_master WHERE sql IS NULL",
            [],
            |row| {
                let right = TreeDefinition {
                    kind: "index".to_owned(),
                    table: row.get(1)?,
                    sql: None,
                    is_tree: true,
                };
                wrong += usize::from(found.get(&row.get::<_, String>(0)?) != Some(&right));
                Ok(())
            },
        )?;
        Ok(wrong)
    }

    /// Returns whether rows of this table matter.
    pub(crate) fn takes(&self, table: &str) -> bool {
        self.insertions.contains_key(table)
    }

    /// Takes a row; says whether it is the first with its key. Of texts the one stays that the
    /// record tells of.
    pub(crate) fn insert(&self, row: &Row<'_>) -> Result<bool> {
        let Some(sql) = self.insertions.get(row.format.name.as_str()) else {
            return Ok(true);
        };
        let execute = |sql: &str| -> Result<bool> {
            let values = row.written().map(ToSqlOutput::Borrowed);
            Ok(self
                .connection
                .prepare_cached(sql)?
                .execute(params_from_iter(values))?
                > 0)
        };
        let is_first = execute(sql)?;
        if !is_first && row.format.name == TEXTS {
            execute(RIGHT_TEXT)?;
        }
        Ok(is_first)
    }

    /// Notes that the table should have a row.
    pub(crate) fn expect(&self, table: &str, row: i64, name: Option<&str>) -> Result<()> {
        let sql = "INSERT INTO known (tree, row, name) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET name = coalesce(excluded.name, name)";
        self.connection
            .prepare_cached(sql)?
            .execute(params![table, row, name])?;
        Ok(())
    }

    /// Records the row that an entry of this table's index says there is.
    pub(crate) fn expect_indexed(&self, table: &Table, entry: &PageRecord) -> Result<()> {
        let [space, keys @ .., Value::Integer(row)] = entry.values.as_slice() else {
            return Ok(());
        };
        let text = |value: &Value| match value {
            Value::Text(text) => Some(format!("`{text}`")),
            _ => None,
        };
        let keys: Vec<_> = keys.iter().filter_map(text).collect();
        let name = format!(
            "{} in space {}",
            keys.join(" "),
            text(space).unwrap_or_default()
        );
        self.expect(table.name, *row, Some(&name))
    }
}

/// Memories that lack one half or both, except ones that no read would show.
const LOST_MEMORIES: &str = "
    WITH row_of AS (
        SELECT row FROM memory UNION SELECT memory FROM content
        UNION SELECT row FROM known WHERE tree IN ('memory', 'content'))
    SELECT row_of.row, m.space, m.id, known.name, c.memory IS NOT NULL
    FROM row_of LEFT JOIN memory AS m ON m.row = row_of.row LEFT JOIN content AS c ON c.memory = row_of.row
        LEFT JOIN known ON known.tree = 'memory' AND known.row = row_of.row
    WHERE (m.row IS NULL OR c.memory IS NULL)
        AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > ?1)
    ORDER BY row_of.row";
/// Memories whose count of returns is lost.
const LOST_COUNTS: &str = "
    SELECT m.space, m.id FROM known JOIN memory AS m ON m.row = known.row JOIN content AS c ON c.memory = m.row
    WHERE known.tree = 'access' AND known.row NOT IN (SELECT memory FROM access) ORDER BY m.row";
/// Facts that name what has no spelling any more.
const NAMELESS_FACTS: &str = "
    SELECT row, space, id FROM fact AS f WHERE
        NOT EXISTS (SELECT 1 FROM graph_name WHERE space = f.space AND is_relation = 0 AND key = f.subject)
        OR NOT EXISTS (SELECT 1 FROM graph_name WHERE space = f.space AND is_relation = 1 AND key = f.predicate)
        OR NOT EXISTS (SELECT 1 FROM graph_name WHERE space = f.space AND is_relation = 0 AND key = f.object)
    ORDER BY row";

impl Scratch {
    /// Reports each row that is known of and lost, and removes what cannot be without it.
    pub(crate) fn report_lost(&self, now: Timestamp, report: &mut Report) -> Result<()> {
        self.report_memories(now, report)?;
        for Table {
            name, row: noun, ..
        } in TABLES.iter().filter(|table| {
            table.is_archived && !matches!(table.name, "memory" | "content" | "access")
        }) {
            let number = if *name == "decision" { "rowid" } else { "row" };
            // Of the others no row has a number, and none is known of.
            let sql = format!(
                "SELECT row, name FROM known WHERE tree = ?1 AND row NOT IN (SELECT {number} FROM {name}) ORDER BY row"
            );
            if self.connection.prepare_cached(IS_KNOWN)?.exists([name])? {
                self.each(&sql, params![name], |row| {
                    let (number, name): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
                    report.lose(format!(
                        "{noun} {}",
                        name.unwrap_or_else(|| format!("in row {number}"))
                    ));
                    Ok(())
                })?;
            }
        }
        self.report_facts(report)?;
        Ok(self.connection.execute_batch(HALVES)?)
    }

    /// Gives all records to `visit`; returns how many there were.
    pub(crate) fn hand_out(
        &self,
        now: Timestamp,
        visit: &mut dyn FnMut(Archived) -> loci_core::Result<()>,
    ) -> Result<u64> {
        self.connection.execute_batch("COMMIT")?;
        let mut records = 0;
        archive::all(&self.connection, now, &mut |record| {
            visit(record)?;
            records += 1;
            Ok(())
        })?;
        Ok(records)
    }

    fn report_memories(&self, now: Timestamp, report: &mut Report) -> Result<()> {
        self.connection.execute(FOREIGN_TEXTS, [])?;
        self.each(LOST_MEMORIES, params![now.microseconds()], |row| {
            let (number, space, id): (i64, Option<String>, Option<String>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let (name, has_text): (Option<String>, bool) = (row.get(3)?, row.get(4)?);
            report.lose(match (space.zip(id), name) {
                (Some((space, id)), _) => format!("memory `{id}` in space `{space}`: its text"),
                (None, Some(name)) if has_text => format!("memory {name}: all but its text"),
                (None, Some(name)) => format!("memory {name}: all of it"),
                (None, None) if has_text => format!("a memory in row {number}: all but its text"),
                (None, None) => format!("a memory in row {number}: all of it"),
            });
            Ok(())
        })?;
        self.each(LOST_COUNTS, [], |row| {
            let (space, id): (String, String) = (row.get(0)?, row.get(1)?);
            report.lose(format!(
                "memory `{id}` in space `{space}`: how often it was returned"
            ));
            Ok(())
        })
    }

    /// A fact is told by its names. One that has lost the spelling of a name is not the one that
    /// was filed.
    fn report_facts(&self, report: &mut Report) -> Result<()> {
        let mut nameless: Vec<i64> = Vec::new();
        self.each(NAMELESS_FACTS, [], |row| {
            nameless.push(row.get(0)?);
            let (space, id): (String, String) = (row.get(1)?, row.get(2)?);
            report.lose(format!(
                "fact `{id}` in space `{space}`: how a name in it is spelled"
            ));
            Ok(())
        })?;
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM fact WHERE row = ?1")?;
        nameless
            .iter()
            .try_for_each(|row| delete.execute([row]).map(drop))?;
        Ok(())
    }

    fn each(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            read(row)?;
        }
        Ok(())
    }
}

const IS_KNOWN: &str = "SELECT 1 FROM known WHERE tree = ?1";
