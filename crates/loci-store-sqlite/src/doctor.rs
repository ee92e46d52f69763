//! Looking for damage.

use loci_core::{AuditQuery, Error};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};

use crate::codec::decode_terms;
use crate::failure::{Failure, Result, damaged};
use crate::read::POSITION_BITS;
use crate::row::{COLUMNS, FURTHER_COLUMNS, WHOLE_TABLES, read_whole};
use crate::{answers, audit, facts, keyed_answers, note_files, read, schema, source_files, tokens, tunnels};

/// What is wrong with the database, in words; empty if nothing is. Reads all of it.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    structure(connection, &mut findings)?;
    if definitions(connection, &mut findings)? {
        references(connection, &mut findings)?;
        records(connection, &mut findings)?;
    }
    Ok(findings)
}

fn records(connection: &Connection, findings: &mut Vec<String>) -> Result<()> {
    for (what, read) in [
        ("memories", memories as Reading),
        ("passages", passages),
        ("tokens", read_tokens),
        ("cached answers", cached_answers),
        ("decisions", decisions),
        ("audit entries", audit_entries),
        ("files of notes", files_of_notes),
        ("answers under keys", answers_under_keys),
        ("secrets", secrets),
        ("facts", read_facts),
        ("tunnels", read_tunnels),
        ("settings", settings),
        ("files that memories were made from", files_of_memories),
    ] {
        let mut whole = 0;
        if let Some(problem) = damage(read(connection, &mut whole))? {
            findings.push(format!("the {what} stop reading after {whole}: {problem}"));
        }
    }
    Ok(())
}

/// Reads all of something, and counts what was whole.
type Reading = fn(&Connection, &mut usize) -> Result<()>;

/// The damage at which something ended, in words. Other failures stay failures.
fn damage(outcome: Result<()>) -> Result<Option<String>> {
    match outcome {
        Ok(()) => Ok(None),
        Err(failure) if failure.is_damage() => Ok(Some(match failure {
            Failure::Database(error) => error.to_string(),
            Failure::Refused(_) => "what comes next was not written by loci".to_owned(),
        })),
        Err(failure) => Err(failure),
    }
}

fn structure(connection: &Connection, findings: &mut Vec<String>) -> Result<()> {
    let problem = damage((|| {
        let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let lines: String = row.get(0)?;
            let lines = lines.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
            findings.extend(lines.map(str::to_owned));
        }
        Ok(())
    })())?;
    findings.extend(problem.map(|problem| format!("the check of all pages could not go on: {problem}")));
    Ok(())
}

/// Whether every table and index is as loci makes it; without that, no further question can be
/// asked.
fn definitions(connection: &Connection, findings: &mut Vec<String>) -> Result<bool> {
    let mut fresh = Connection::open_in_memory()?;
    schema::migrations().and_then(|migrations| schema::migrate(&mut fresh, &migrations)).map_err(|error| {
        Error::internal(format!("the schema cannot be made in memory to compare with ({error}); please report this"))
    })?;
    let sql = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name";
    let mut statement = fresh.prepare(sql)?;
    let expected = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut are_ours = true;
    for definition in expected {
        let (name, sql): (String, String) = definition?;
        let find = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?1 AND sql = ?2)";
        let mut is_ours = false;
        let problem = damage((|| {
            is_ours = connection.prepare_cached(find)?.query_row([&name, &sql], |row| row.get(0))?;
            Ok(())
        })())?;
        if !is_ours {
            let problem = problem.map_or_else(String::new, |problem| format!(": {problem}"));
            findings.push(format!("the definition of {name} is not what loci writes{problem}"));
            are_ours = false;
        }
    }
    Ok(are_ours)
}

/// What counts of places that are kept and those that are made afresh have not in common.
const MISCOUNTED_PLACES: &str = "(
    WITH afresh AS (
        SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten, count(*)
        FROM countable GROUP BY space, visibility, owner, collection, section, kind, tier, origin, is_forgotten)
    SELECT * FROM (SELECT * FROM place_count EXCEPT SELECT * FROM afresh)
    UNION ALL SELECT * FROM (SELECT * FROM afresh EXCEPT SELECT * FROM place_count))";
/// The same of graphs.
const MISCOUNTED_GRAPHS: &str = "(
    WITH afresh AS (
        SELECT space, sum(is_thing), sum(is_fact) FROM (
            SELECT space, NOT is_relation AS is_thing, 0 AS is_fact FROM graph_name
            UNION ALL SELECT space, 0, 1 FROM fact) GROUP BY space)
    SELECT * FROM (SELECT * FROM graph_count EXCEPT SELECT * FROM afresh)
    UNION ALL SELECT * FROM (SELECT * FROM afresh EXCEPT SELECT * FROM graph_count))";

fn references(connection: &Connection, findings: &mut Vec<String>) -> Result<()> {
    let counts = [
        ("memories without content", "memory WHERE row NOT IN (SELECT memory FROM content)".to_owned()),
        ("contents without a memory", "content WHERE memory NOT IN (SELECT row FROM memory)".to_owned()),
        (
            "memories without passages, which no search finds",
            // The passages of what is removed for good go first.
            format!("memory WHERE deleted_at IS NULL AND row NOT IN (SELECT row >> {POSITION_BITS} FROM passage)"),
        ),
        ("passages without a memory", format!("passage WHERE row >> {POSITION_BITS} NOT IN (SELECT row FROM memory)")),
        (
            "vectors of an unknown model",
            "(SELECT model FROM passage UNION ALL SELECT model FROM cache_entry) \
             WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model)"
                .to_owned(),
        ),
        ("jobs without a memory", "job WHERE memory NOT IN (SELECT row FROM memory)".to_owned()),
        ("counts of returns without a memory", "access WHERE memory NOT IN (SELECT row FROM memory)".to_owned()),
        (
            "ends of tunnels at a memory that is not there",
            "(SELECT space, source_memory AS id FROM tunnel UNION ALL SELECT space, target_memory FROM tunnel) AS named \
             WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory WHERE space = named.space AND id = named.id)"
                .to_owned(),
        ),
        ("differences between the counts of places and their memories", MISCOUNTED_PLACES.to_owned()),
        ("differences between the counts of facts and the facts", MISCOUNTED_GRAPHS.to_owned()),
    ];
    for (what, condition) in counts {
        let mut count: i64 = 0;
        let problem = damage((|| {
            let sql = format!("SELECT count(*) FROM {condition}");
            count = connection.query_row(&sql, [], |row| row.get(0))?;
            Ok(())
        })())?;
        findings.extend(problem.map(|problem| format!("{what} cannot be counted: {problem}")));
        if count > 0 {
            findings.push(format!("{count} {what}"));
        }
    }
    Ok(())
}

/// Reads every row by that statement.
fn each(connection: &Connection, sql: &str, whole: &mut usize, read: impl Fn(&Row<'_>) -> Result<()>) -> Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        read(row)?;
        *whole += 1;
    }
    Ok(())
}

fn memories(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {COLUMNS}, {FURTHER_COLUMNS} FROM {WHOLE_TABLES} ORDER BY m.row");
    each(connection, &sql, whole, |row| read_whole(row).map(drop))
}

fn passages(connection: &Connection, whole: &mut usize) -> Result<()> {
    each(connection, "SELECT terms, model, scale, vector FROM passage ORDER BY row", whole, |row| {
        decode_terms(row.get_ref(0)?.as_blob().map_err(unreadable)?)?;
        if row.get::<_, Option<i64>>(1)?.is_some() {
            row.get::<_, f64>(2)?;
            row.get_ref(3)?.as_blob().map_err(unreadable)?;
        }
        Ok(())
    })
}

fn read_tokens(connection: &Connection, whole: &mut usize) -> Result<()> {
    *whole = tokens::all(connection)?.len();
    Ok(())
}

fn cached_answers(connection: &Connection, whole: &mut usize) -> Result<()> {
    each(connection, answers::ENTRIES, whole, |row| answers::read_entry(row).map(drop))
}

fn decisions(connection: &Connection, whole: &mut usize) -> Result<()> {
    each(connection, "SELECT space, owner, key, value FROM decision", whole, texts)
}

fn audit_entries(connection: &Connection, whole: &mut usize) -> Result<()> {
    let mut query = AuditQuery { after: Some(0), limit: 1_000, ..AuditQuery::default() };
    loop {
        let entries = audit::read(connection, &query)?;
        let Some((number, _)) = entries.last() else { return Ok(()) };
        query.after = Some(*number);
        *whole += entries.len();
    }
}

fn files_of_notes(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {} FROM note_file ORDER BY space, path", note_files::COLUMNS);
    each(connection, &sql, whole, |row| note_files::read_file(row).map(drop))
}

fn answers_under_keys(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {} FROM keyed_answer", keyed_answers::COLUMNS);
    each(connection, &sql, whole, |row| keyed_answers::read(row).map(drop))
}

fn secrets(connection: &Connection, whole: &mut usize) -> Result<()> {
    read::secret(connection)?;
    *whole = 1;
    Ok(())
}

fn read_facts(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {} FROM fact AS f ORDER BY f.row", facts::COLUMNS);
    each(connection, &sql, whole, |row| facts::read(row).map(drop))
}

fn read_tunnels(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {} FROM tunnel ORDER BY row", tunnels::COLUMNS);
    each(connection, &sql, whole, |row| tunnels::read(row).map(drop))
}

fn settings(connection: &Connection, whole: &mut usize) -> Result<()> {
    each(connection, "SELECT space, name, value FROM setting", whole, texts)
}

fn files_of_memories(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {} FROM source_file", source_files::COLUMNS);
    each(connection, &sql, whole, |row| source_files::read(row).map(drop))
}

/// Reads a row of texts.
fn texts(row: &Row<'_>) -> Result<()> {
    (0..row.as_ref().column_count()).try_for_each(|column| row.get_ref(column)?.as_str().map(drop).map_err(unreadable))
}

fn unreadable(_: FromSqlError) -> Failure {
    damaged().into()
}

#[cfg(test)]
mod tests {
    use loci_core::Store;
    use loci_testkit::contract::{memory, passage, put};

    use crate::{Options, SqliteStore};

    use super::*;

    /// What is found after this statement did to the database what loci never does.
    fn findings_after(sql: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        store.commit(put(&memory("kept"), vec![passage("word")])).unwrap();
        assert_eq!(store.integrity_check(), Ok(Vec::new()));
        let connection = Connection::open(folder.path().join("loci.db")).unwrap();
        connection.execute_batch(sql).unwrap();
        store.integrity_check().unwrap()
    }

    #[test]
    fn what_no_page_shows_is_found_too() {
        let rows = [
            ("UPDATE content SET text = CAST(x'ff' AS TEXT)", "memories stop reading after 0"),
            ("UPDATE memory SET tags = 'none'", "memories stop reading after 0"),
            ("UPDATE passage SET terms = x'01'", "passages stop reading after 0"),
            ("UPDATE passage SET model = 7, vector = x'00', scale = 1", "1 vectors of an unknown model"),
            ("DELETE FROM content", "1 memories without content"),
            ("INSERT INTO job (memory, attempts) VALUES (7, 1)", "1 jobs without a memory"),
            ("INSERT INTO access (memory, count) VALUES (7, 1)", "1 counts of returns without a memory"),
            ("UPDATE memory SET links = '[1]'", "memories stop reading after 0"),
            ("UPDATE memory SET citations = '[1]'", "memories stop reading after 0"),
            ("UPDATE memory SET attributes = '{\"a\": 1}'", "memories stop reading after 0"),
            (
                "INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, model, scale, vector, response)
                    VALUES ('main', 'a', 'ann', 0, 1, 'q', 7, 1, x'00', 'r')",
                "1 vectors of an unknown model",
            ),
            (
                "INSERT INTO cache_entry (space, id, owner, created_at, expires_at, query, response)
                    VALUES ('', 'a', 'ann', 0, 1, 'q', 'r')",
                "cached answers stop reading after 0",
            ),
            (
                "INSERT INTO decision (space, owner, key, value, created_at, updated_at)
                    VALUES ('main', 'ann', 'k', CAST(x'ff' AS TEXT), 0, 0)",
                "decisions stop reading after 0",
            ),
            (
                "INSERT INTO audit (space, at, dialect, tool, operation, duration, code)
                    VALUES ('main', 0, 'd', 't', 'o', 0, 'unheard of')",
                "audit entries stop reading after 0",
            ),
            (
                "INSERT INTO note_file (space, path, bytes, modified, settled, hash, says_id, problem, message, links)
                    VALUES ('main', 'a.md', 0, 0, 1, zeroblob(32), 0, 'unheard of', 'm', '[]')",
                "files of notes stop reading after 0",
            ),
            (
                "INSERT INTO note_file (space, path, bytes, modified, settled, hash, says_id, links)
                    VALUES ('main', 'a.md', 0, 0, 1, zeroblob(32), 0, '{}')",
                "files of notes stop reading after 0",
            ),
            (
                "INSERT INTO keyed_answer (space, origin, operation, key, request, created_at, expires_at, answer)
                    VALUES ('main', 'vault', 'o', 'k', zeroblob(32), 0, 1, CAST(x'ff' AS TEXT))",
                "answers under keys stop reading after 0",
            ),
            ("DELETE FROM secret", "secrets stop reading after 0"),
            ("UPDATE place_count SET memories = 2", "2 differences between the counts of places and their memories"),
            ("DELETE FROM place_count", "1 differences between the counts of places and their memories"),
            (
                "INSERT INTO place_count VALUES ('main', 'private', 'ann', 0, 's', 'k', 'long_term', 'o', 0, 1)",
                "1 differences between the counts of places and their memories",
            ),
            (
                "INSERT INTO fact (space, id, subject, predicate, object, created_at)
                    VALUES ('main', 'a', 's', 'p', 'o', 0)",
                "facts stop reading after 0",
            ),
            (
                "INSERT INTO graph_name VALUES ('main', 0, 's', 'S'); DELETE FROM graph_count",
                "1 differences between the counts of facts and the facts",
            ),
            (
                "INSERT INTO graph_count VALUES ('main', 1, 0)",
                "1 differences between the counts of facts and the facts",
            ),
            (
                "INSERT INTO tunnel VALUES (1, '', 'a', NULL, 's', NULL, NULL, 't', NULL, '', NULL, 1, 0, 0)",
                "tunnels stop reading after 0",
            ),
            (
                "INSERT INTO tunnel VALUES (1, 'main', 'a', NULL, 's', 'kept', NULL, 't', 'gone', '', NULL, 1, 0, 0)",
                "1 ends of tunnels at a memory that is not there",
            ),
            (
                "INSERT INTO tunnel VALUES (1, 'other', 'a', NULL, 's', 'kept', NULL, 't', NULL, '', NULL, 1, 0, 0)",
                "1 ends of tunnels at a memory that is not there",
            ),
            (
                "INSERT INTO setting VALUES ('main', 0, 'n', CAST(x'ff' AS TEXT))",
                "settings stop reading after 0",
            ),
            (
                "INSERT INTO source_file VALUES ('main', 7, 'p', 'r', 'f', 0, 0, 0, zeroblob(32), 0, 0, 0)",
                "files that memories were made from stop reading after 0",
            ),
            ("DELETE FROM passage", "1 memories without passages"),
            ("ALTER TABLE memory RENAME COLUMN weight TO weight2", "definition of memory is not what loci writes"),
            ("DROP INDEX memory_by_update", "definition of memory_by_update is not what loci writes"),
        ];
        for (sql, expected) in rows {
            let findings = findings_after(sql);
            assert!(findings.iter().any(|finding| finding.contains(expected)), "{sql}: {findings:?}");
        }
    }
}
