//! Everything that the store holds, in order: read in one transaction, row by row.

use std::collections::BTreeSet;

use loci_core::{Archived, CacheEntry, MemoryId, Record, Space, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::failure::Result;
use crate::statements::row::{MEMORY_HOLDS, WHOLE_COLUMNS, WHOLE_TABLES, read, read_space};
use crate::statements::{
    answers, decisions, facts, idempotent_replies, note_files, settings, source_files, tombstones,
    tunnels,
};

/// The statements that read the records of one kind.
struct Kind {
    /// A table with an index that starts with the space.
    table: &'static str,
    /// Selects the records of the space `?1` that are live at `?2`. Of what is damaged it is not
    /// known when it ends: it is read, and is a failure.
    sql: String,
    read: fn(&Row<'_>) -> Result<Record>,
}

/// A condition that always holds, for tables where nothing expires, so that every statement has the
/// same parameters.
const ALWAYS: &str = "?2 IS NOT NULL";

fn kind(
    table: &'static str,
    read: fn(&Row<'_>) -> Result<Record>,
    columns: &str,
    tables: &str,
    condition: &str,
    order: &str,
) -> Kind {
    Kind {
        table,
        sql: format!("SELECT {columns} FROM {tables} WHERE {condition} ORDER BY {order}"),
        read,
    }
}

/// The kinds in the order of [`Record`].
fn kinds() -> [Kind; 11] {
    let [memories, folders, files] = kinds_of_memories();
    let [facts, tunnels, settings, sources] = kinds_of_the_palace();
    let [entries, decisions, answers] = kinds_of_users();
    [
        memories,
        folders,
        files,
        facts,
        tunnels,
        settings,
        sources,
        entries,
        decisions,
        answers,
        tombstones_kind(),
    ]
}

fn tombstones_kind() -> Kind {
    kind(
        "tombstone",
        |row| Ok(Record::Tombstone(Box::new(read(row)?))),
        &tombstones::columns(),
        "tombstone",
        &format!("space = ?1 AND {ALWAYS}"),
        "text, memory",
    )
}

fn kinds_of_memories() -> [Kind; 3] {
    [
        kind(
            "memory",
            |row| Ok(Record::Memory(Box::new(read(row)?))),
            WHOLE_COLUMNS,
            &WHOLE_TABLES.replacen(" AS m", " AS m INDEXED BY memory_filed", 1),
            &format!(
                "m.space = ?1 AND m.deleted_at IS NULL
                 AND (m.expires_at IS NULL OR m.expires_at > ?2 OR NOT {MEMORY_HOLDS})"
            ),
            "m.row",
        ),
        kind(
            "note_folder",
            |row| Ok(Record::NoteFolder(note_files::read_folder(row)?)),
            note_files::FOLDER_COLUMNS,
            "note_folder",
            &format!("space = ?1 AND {ALWAYS}"),
            "space",
        ),
        kind(
            "note_file",
            |row| Ok(Record::NoteFile(Box::new(read(row)?))),
            &note_files::columns(),
            "note_file",
            &format!("space = ?1 AND {ALWAYS}"),
            "path",
        ),
    ]
}

fn kinds_of_the_palace() -> [Kind; 4] {
    // Only numbers of rows are sorted: no index has them in their order.
    let filed = format!(
        "(SELECT row FROM fact WHERE space = ?1 AND {ALWAYS} ORDER BY row) AS filed CROSS JOIN fact AS f"
    );
    [
        kind(
            "fact",
            |row| Ok(Record::Fact(Box::new(read(row)?))),
            &facts::columns(),
            &filed,
            "f.row = filed.row",
            "filed.row",
        ),
        kind(
            "tunnel",
            |row| Ok(Record::Tunnel(Box::new(read(row)?))),
            &tunnels::columns(),
            "tunnel",
            &format!("space = ?1 AND {ALWAYS}"),
            "id",
        ),
        kind(
            "setting",
            |row| {
                settings::read(row).map(|(owner, name, value)| Record::Setting {
                    owner,
                    name,
                    value,
                })
            },
            settings::COLUMNS,
            "setting",
            &format!("space = ?1 AND {ALWAYS}"),
            "setting.owner, name",
        ),
        kind(
            "source_file",
            |row| Ok(Record::SourceFile(Box::new(read(row)?))),
            source_files::COLUMNS,
            "source_file",
            &format!("space = ?1 AND {ALWAYS}"),
            "machine, source_file.collection, path",
        ),
    ]
}

fn kinds_of_users() -> [Kind; 3] {
    let entries = format!(
        "{} WHERE e.space = ?1 AND (e.expires_at > ?2 OR NOT {}) ORDER BY e.id",
        answers::entries(),
        answers::HOLDS
    );
    [
        Kind {
            table: "cache_entry",
            sql: entries,
            read: |row| {
                Ok(Record::CacheEntry(Box::new(CacheEntry {
                    vector: None,
                    ..read(row)?
                })))
            },
        },
        kind(
            "decision",
            |row| Ok(Record::Decision(Box::new(read(row)?))),
            &decisions::columns(),
            "decision",
            &format!(
                "space = ?1 AND (expires_at IS NULL OR expires_at > ?2 OR NOT {})",
                decisions::HOLDS
            ),
            "owner, key",
        ),
        kind(
            "keyed_answer",
            |row| Ok(Record::IdempotentReply(Box::new(read(row)?))),
            &idempotent_replies::columns(),
            "keyed_answer",
            &format!(
                "space = ?1 AND (expires_at > ?2 OR NOT {})",
                idempotent_replies::HOLDS
            ),
            "ifnull(owner, 0), operation, key",
        ),
    ]
}

/// Gives everything to `visit`, as of one moment.
pub(crate) fn all(
    connection: &Connection,
    now: Timestamp,
    visit: &mut dyn FnMut(Archived) -> loci_core::Result<()>,
) -> Result<()> {
    let snapshot = connection.unchecked_transaction()?;
    let kinds = kinds();
    let mut spaces = BTreeSet::new();
    for Kind { table, .. } in &kinds {
        let mut statement = snapshot.prepare_cached(&spaces_sql(table))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            spaces.insert(read_space(&row.get::<_, String>(0)?)?);
        }
    }
    for space in spaces {
        for Kind { sql, read, .. } in &kinds {
            let mut statement = snapshot.prepare_cached(sql)?;
            let mut rows = statement.query(params![space.as_str(), now.microseconds()])?;
            while let Some(row) = rows.next()? {
                let mut record = read(row)?;
                if let Record::IdempotentReply(answer) = &record
                    && !are_archived(&snapshot, &space, &answer.memories, now)?
                {
                    continue;
                }
                if let Record::Tunnel(tunnel) = &mut record {
                    for end in [&mut tunnel.source, &mut tunnel.target] {
                        if let Some(memory) = &end.memory
                            && !is_archived(&snapshot, &space, memory, now)?
                        {
                            end.memory = None;
                        }
                    }
                }
                visit(Archived {
                    space: space.clone(),
                    record,
                })?;
            }
        }
    }
    Ok(snapshot.finish()?)
}

/// The spaces in a table, each found from the one before it.
fn spaces_sql(table: &str) -> String {
    format!(
        "WITH RECURSIVE found (space) AS (
             SELECT min(space) FROM {table}
             UNION ALL SELECT (SELECT min(space) FROM {table} WHERE space > found.space) FROM found
             WHERE found.space IS NOT NULL
         ) SELECT space FROM found WHERE space IS NOT NULL"
    )
}

/// The condition that a memory is in the archive.
const IS_ARCHIVED: &str = "SELECT 1 FROM memory WHERE space = ?1 AND id = ?2 AND deleted_at IS NULL
    AND (expires_at IS NULL OR expires_at > ?3)";

fn is_archived(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
    now: Timestamp,
) -> Result<bool> {
    let mut statement = connection.prepare_cached(IS_ARCHIVED)?;
    Ok(statement.exists(params![space.as_str(), id.as_str(), now.microseconds()])?)
}

fn are_archived(
    connection: &Connection,
    space: &Space,
    ids: &[MemoryId],
    now: Timestamp,
) -> Result<bool> {
    for id in ids {
        if !is_archived(connection, space, id, now)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrity::checksum;
    use crate::opening::schema;

    /// The steps by which a fresh database would run a statement.
    fn plan(sql: &str) -> Vec<String> {
        let mut connection = Connection::open_in_memory().unwrap();
        checksum::register(&connection).unwrap();
        schema::migrate(&mut connection, &schema::migrations().unwrap()).unwrap();
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        statement
            .raw_query()
            .mapped(|row| row.get("detail"))
            .collect::<rusqlite::Result<_>>()
            .unwrap()
    }

    #[test]
    fn an_archive_reads_by_index_and_sorts_no_records() {
        for Kind { table, sql, .. } in kinds() {
            let steps = plan(&sql);
            let scans = steps
                .iter()
                .filter(|step| step.starts_with("SCAN") && *step != "SCAN filed");
            assert_eq!(
                scans.collect::<Vec<_>>(),
                Vec::<&String>::new(),
                "{table}: {steps:?}"
            );
            let sorts = steps
                .iter()
                .filter(|step| step.contains("ORDER BY"))
                .count();
            assert_eq!(sorts, usize::from(table == "fact"), "{table}: {steps:?}");
            let steps = plan(&spaces_sql(table));
            assert!(
                !steps
                    .iter()
                    .any(|step| step.starts_with(&format!("SCAN {table}"))),
                "{table}: {steps:?}"
            );
        }
        assert!(plan(IS_ARCHIVED)[0].contains("SEARCH memory USING INDEX memory_by_id"));
    }
}
