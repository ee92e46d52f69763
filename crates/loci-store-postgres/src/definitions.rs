//! The tables and indexes that the migrations make, compared with the server's.

use crate::failure::Result;
use crate::migrations::{self, MIGRATIONS};
use crate::options::Options;
use crate::session::Session;
use crate::value::values;

/// A table or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) kind: DefinitionKind,
    pub(crate) name: String,
    /// The statement that makes an index; empty for a table.
    sql: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinitionKind {
    Table,
    Index,
}

/// Returns all that the migrations make, in their order.
pub(crate) fn all() -> Vec<Definition> {
    let statements = MIGRATIONS
        .iter()
        .flat_map(|sql| migrations::statements(sql));
    let mut all: Vec<Definition> = Vec::new();
    for definition in statements.filter_map(|sql| read(&sql)) {
        // A later migration may replace an index.
        all.retain(|earlier| earlier.name != definition.name);
        all.push(definition);
    }
    all
}

/// Returns the policies that the migrations make: the table of each, and the statement that makes it.
pub(crate) fn policies() -> Vec<(String, String)> {
    let lines = MIGRATIONS.iter().flat_map(|migration| migration.lines());
    let policies = lines.filter_map(|line| {
        let (_, rest) = line.strip_prefix("CREATE POLICY ")?.split_once(" ON @")?;
        let (table, _) = rest.split_once(' ')?;
        Some((table.to_owned(), line.to_owned()))
    });
    policies.collect()
}

/// Returns the statement that makes the policy of a table that no migration makes.
pub(crate) fn policy_of(table: &str) -> String {
    let mut policies = policies().into_iter();
    let policy = policies.find(|(name, _)| name == "migration");
    let sql = policy.map(|(_, sql)| sql).unwrap_or_default();
    let sql = sql.trim_end_matches(';');
    sql.replacen(" ON @migration ", &format!(" ON @{table} "), 1)
}

fn read(statement: &str) -> Option<Definition> {
    let sql = statement.trim();
    if let Some(rest) = sql.strip_prefix("CREATE TABLE @") {
        return Some(Definition {
            kind: DefinitionKind::Table,
            name: rest.split(' ').next()?.to_owned(),
            sql: String::new(),
        });
    }
    let rest = sql
        .strip_prefix("CREATE INDEX ")
        .or_else(|| sql.strip_prefix("CREATE UNIQUE INDEX "))?;
    Some(Definition {
        kind: DefinitionKind::Index,
        name: rest.split(' ').next()?.to_owned(),
        sql: sql.to_owned(),
    })
}

/// Returns what is missing in the schema, and the indexes that are invalid.
pub(crate) async fn missing(session: &Session, schema: &str) -> Result<Vec<Definition>> {
    let sql = "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        LEFT JOIN pg_index AS i ON i.indexrelid = c.oid WHERE n.nspname = $1 AND coalesce(i.indisvalid, true)";
    let mut usable = Vec::new();
    for row in session.query(sql, &values![schema]).await? {
        usable.push(row.try_get::<_, String>(0)?);
    }
    let mut missing = all();
    missing.retain(|definition| !usable.contains(&definition.name));
    Ok(missing)
}

/// Returns the tables with statistics on the column `space`. Citus refuses to change that of a table
/// that is distributed, which kept what it had as a plain one.
pub(crate) async fn with_statistics(session: &Session, schema: &str) -> Result<Vec<String>> {
    if session.is_distributed() {
        return Ok(Vec::new());
    }
    let sql = "SELECT c.relname::text FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') \
        AND NOT c.relispartition AND a.attname = 'space' AND a.attstattarget IS DISTINCT FROM 0 ORDER BY 1";
    let tables = session.query(sql, &values![schema]).await?;
    let names = tables.iter().map(|row| Ok(row.try_get(0)?));
    let mut names: Vec<String> = names.collect::<Result<_>>()?;
    names.retain(|name| {
        all()
            .iter()
            .any(|it| it.kind == DefinitionKind::Table && it.name == *name)
    });
    Ok(names)
}

/// Returns true if the random bytes of the store are gone.
pub(crate) async fn lacks_secret(session: &Session) -> Result<bool> {
    let sql = "SELECT 1 FROM @installation WHERE space = ''";
    Ok(session.query(sql, &[]).await?.is_empty())
}

/// Makes the indexes that are missing or invalid, and removes the statistics on spaces; returns what
/// it did, in words.
pub(crate) async fn repair(session: &Session, options: &Options) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let schema = &options.schema;
    for Definition { kind, name, sql } in missing(session, schema).await? {
        if kind == DefinitionKind::Index {
            // Each in a message of its own, because Citus sends the whole message on to its nodes.
            session
                .batch(&format!("DROP INDEX IF EXISTS \"{schema}\".\"{name}\""))
                .await?;
            session.batch(&sql).await?;
            done.push(format!("rebuilt the index {name}"));
        }
    }
    for table in with_statistics(session, schema).await? {
        session
            .batch(&format!(
                "ALTER TABLE @{table} ALTER space SET STATISTICS 0"
            ))
            .await?;
        done.push(format!(
            "removed the statistics on the column space of the table {table}"
        ));
    }
    Ok(done)
}

/// The tables of a schema that the role owns.
const OWNED_TABLES: &str = "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE n.nspname = $1 AND c.relkind = 'r' AND pg_has_role(c.relowner, 'USAGE') ORDER BY 1";

/// Rebuilds all indexes that the role owns, while others read and write; returns their number. The
/// daily role of a server may own none. Of tables that are distributed, the indexes of all shards of a table
/// are rebuilt by one statement.
pub(crate) async fn reindex(session: &Session, options: &Options) -> Result<usize> {
    let schema = &options.schema;
    let sql = "SELECT c.relname::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'i' AND pg_has_role(c.relowner, 'USAGE') ORDER BY 1";
    let indexes = session.query(sql, &values![schema]).await?;
    let tables = if session.is_distributed() {
        session.query(OWNED_TABLES, &values![schema]).await?
    } else {
        Vec::new()
    };
    let (kind, names) = match tables.as_slice() {
        [] => ("INDEX", &indexes),
        _ => ("TABLE", &tables),
    };
    // What was rebuilt stays so where a later one is cut off.
    for row in names {
        let name: String = row.try_get(0)?;
        session
            .batch(&format!(
                "REINDEX {kind} CONCURRENTLY \"{schema}\".\"{name}\""
            ))
            .await?;
    }
    Ok(indexes.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_definition_of_the_migrations_is_read() {
        let all = all();
        let compare = |kind, text: &str| {
            let read = all.iter().filter(|definition| definition.kind == kind);
            let read: BTreeSet<&str> = read.map(|definition| &*definition.name).collect();
            let after = MIGRATIONS.iter().flat_map(|sql| sql.split(text).skip(1));
            let written = after.filter_map(|rest| rest.split(' ').next());
            // A later migration drops an index before it makes it again.
            let written: BTreeSet<&str> = written.filter(|name| *name != "IF").collect();
            assert_eq!(read, written, "{text}");
        };
        compare(DefinitionKind::Table, "CREATE TABLE @");
        compare(DefinitionKind::Index, "INDEX ");
        let tables = all
            .iter()
            .filter(|definition| definition.kind == DefinitionKind::Table)
            .map(|definition| definition.name.clone());
        let tables: Vec<_> = ["migration".to_owned()].into_iter().chain(tables).collect();
        let policies: Vec<_> = policies().into_iter().map(|(table, _)| table).collect();
        assert_eq!(policies, tables, "every table has a policy");
        let index = all
            .iter()
            .find(|definition| definition.name == "memory_position");
        assert!(index.is_some_and(|index| index.sql.ends_with("IS NOT NULL")));
    }
}
