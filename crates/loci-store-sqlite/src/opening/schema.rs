//! The versions of the schema and the way from one to the next.

use std::sync::OnceLock;

use loci_core::Error;
use refinery::{Migration, Runner};
use rusqlite::{Connection, Row};

use crate::integrity::checksum;

/// "loci" in ASCII, in the header of every database of ours.
pub(crate) const APPLICATION_ID: i64 = 0x6c6f_6369;

/// Every migration that was ever released, oldest first. Each sets `user_version` to its own
/// number, so that one look tells whether there is anything to do.
const MIGRATIONS: [(&str, &str); 23] = [
    (
        "V1__memories",
        include_str!("../../migrations/V1__memories.sql"),
    ),
    (
        "V2__conversations",
        include_str!("../../migrations/V2__conversations.sql"),
    ),
    (
        "V3__analysis",
        include_str!("../../migrations/V3__analysis.sql"),
    ),
    (
        "V4__identity",
        include_str!("../../migrations/V4__identity.sql"),
    ),
    ("V5__notes", include_str!("../../migrations/V5__notes.sql")),
    (
        "V6__palace",
        include_str!("../../migrations/V6__palace.sql"),
    ),
    (
        "V7__integrity",
        include_str!("../../migrations/V7__integrity.sql"),
    ),
    (
        "V8__ends_of_answers",
        include_str!("../../migrations/V8__ends_of_answers.sql"),
    ),
    (
        "V9__authors",
        include_str!("../../migrations/V9__authors.sql"),
    ),
    (
        "V10__conversations",
        include_str!("../../migrations/V10__conversations.sql"),
    ),
    (
        "V11__machines",
        include_str!("../../migrations/V11__machines.sql"),
    ),
    (
        "V12__audit",
        include_str!("../../migrations/V12__audit.sql"),
    ),
    (
        "V13__versions",
        include_str!("../../migrations/V13__versions.sql"),
    ),
    (
        "V14__tombstones",
        include_str!("../../migrations/V14__tombstones.sql"),
    ),
    (
        "V15__authors_of_facts",
        include_str!("../../migrations/V15__authors_of_facts.sql"),
    ),
    (
        "V16__daily",
        include_str!("../../migrations/V16__daily.sql"),
    ),
    (
        "V17__open_items",
        include_str!("../../migrations/V17__open_items.sql"),
    ),
    (
        "V18__grants",
        include_str!("../../migrations/V18__grants.sql"),
    ),
    (
        "V19__provenance",
        include_str!("../../migrations/V19__provenance.sql"),
    ),
    (
        "V20__changes",
        include_str!("../../migrations/V20__changes.sql"),
    ),
    (
        "V21__lists",
        include_str!("../../migrations/V21__lists.sql"),
    ),
    (
        "V22__record_versions",
        include_str!("../../migrations/V22__record_versions.sql"),
    ),
    (
        "V23__setting_versions",
        include_str!("../../migrations/V23__setting_versions.sql"),
    ),
];

/// The version that this build reads and writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// Every migration, for refinery.
pub(crate) fn migrations() -> Result<Vec<Migration>, refinery::Error> {
    MIGRATIONS
        .iter()
        .map(|(name, sql)| Migration::unapplied(name, sql))
        .collect()
}

/// Returns the application and the version of the schema from the header.
pub(crate) fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let read = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((read("application_id")?, read("user_version")?))
}

/// Returns whether the database has no table yet; the list of migrations, which a creation that was
/// cut off may leave, does not count.
pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master WHERE tbl_name <> 'refinery_schema_history')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Brings the database to the last of the migrations, in one transaction.
pub(crate) fn migrate(
    connection: &mut Connection,
    migrations: &[Migration],
) -> Result<(), refinery::Error> {
    Runner::new(migrations)
        .set_grouped(true)
        .run(connection)
        .map(|_| ())
}

/// A table, an index, a trigger or a view.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The table that it is or belongs to.
    pub(crate) table: String,
    pub(crate) sql: String,
}

/// Returns the definitions of a database of this version, in their order. Made once in a process.
pub(crate) fn definitions() -> Result<&'static [Definition], Error> {
    static DEFINITIONS: OnceLock<Vec<Definition>> = OnceLock::new();
    if let Some(definitions) = DEFINITIONS.get() {
        return Ok(definitions);
    }
    let made = definitions_of(VERSION)?;
    Ok(DEFINITIONS.get_or_init(|| made))
}

/// The definitions in a database of that version of the schema.
///
/// # Errors
/// `internal` if it cannot be made in memory.
pub(crate) fn definitions_of(version: i64) -> Result<Vec<Definition>, Error> {
    make_definitions(version).map_err(|problem| {
        Error::internal(format!(
            "the schema cannot be made in memory ({problem}); please report this"
        ))
    })
}

fn make_definitions(version: i64) -> Result<Vec<Definition>, Box<dyn std::error::Error>> {
    let mut fresh = Connection::open_in_memory()?;
    checksum::register(&fresh)?;
    let mut migrations = migrations()?;
    migrations.truncate(usize::try_from(version)?);
    migrate(&mut fresh, &migrations)?;
    let sql =
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid";
    let mut statement = fresh.prepare(sql)?;
    let definition = |row: &Row<'_>| {
        Ok(Definition {
            kind: row.get(0)?,
            name: row.get(1)?,
            table: row.get(2)?,
            sql: row.get(3)?,
        })
    };
    Ok(statement
        .query_map([], definition)?
        .collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_migration_sets_the_version_and_marks_the_file() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(is_empty(&connection).unwrap());
        checksum::register(&connection).unwrap();
        migrate(&mut connection, &migrations().unwrap()).unwrap();
        assert_eq!(identity(&connection).unwrap(), (APPLICATION_ID, VERSION));
        assert!(!is_empty(&connection).unwrap());
    }
}
