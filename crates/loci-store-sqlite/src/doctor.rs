//! Looking for damage.

use loci_core::Error;
use rusqlite::Connection;
use rusqlite::types::FromSqlError;

use crate::codec::decode_terms;
use crate::failure::{Failure, Result, damaged};
use crate::read::POSITION_BITS;
use crate::row::{COLUMNS, NEXT_COLUMN, read_memory};
use crate::{schema, tokens};

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
    for (what, read) in [("memories", memories as Reading), ("passages", passages), ("tokens", read_tokens)] {
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

fn references(connection: &Connection, findings: &mut Vec<String>) -> Result<()> {
    let counts = [
        ("memories without content", "memory WHERE row NOT IN (SELECT memory FROM content)".to_owned()),
        ("contents without a memory", "content WHERE memory NOT IN (SELECT row FROM memory)".to_owned()),
        (
            "memories without passages, which no search finds",
            format!("memory WHERE row NOT IN (SELECT row >> {POSITION_BITS} FROM passage)"),
        ),
        ("passages without a memory", format!("passage WHERE row >> {POSITION_BITS} NOT IN (SELECT row FROM memory)")),
        (
            "vectors of an unknown model",
            "passage WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model)".to_owned(),
        ),
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

fn memories(connection: &Connection, whole: &mut usize) -> Result<()> {
    let sql = format!("SELECT {COLUMNS}, c.text FROM memory AS m JOIN content AS c ON c.memory = m.row ORDER BY m.row");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        read_memory(row)?;
        row.get_ref(NEXT_COLUMN)?.as_str().map_err(unreadable)?;
        *whole += 1;
    }
    Ok(())
}

fn passages(connection: &Connection, whole: &mut usize) -> Result<()> {
    let mut statement = connection.prepare("SELECT terms, model, scale, vector FROM passage ORDER BY row")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        decode_terms(row.get_ref(0)?.as_blob().map_err(unreadable)?)?;
        if row.get::<_, Option<i64>>(1)?.is_some() {
            row.get::<_, f64>(2)?;
            row.get_ref(3)?.as_blob().map_err(unreadable)?;
        }
        *whole += 1;
    }
    Ok(())
}

fn read_tokens(connection: &Connection, whole: &mut usize) -> Result<()> {
    *whole = tokens::all(connection)?.len();
    Ok(())
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
