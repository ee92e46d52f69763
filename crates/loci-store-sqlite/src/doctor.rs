//! Looking for damage.

use rusqlite::Connection;

use crate::failure::Result;
use crate::read::POSITION_BITS;

/// What is wrong with the database, in words; empty if nothing is. Reads all of it.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    for line in lines {
        findings.push(line?);
    }
    findings.retain(|line| line != "ok");
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
        let sql = format!("SELECT count(*) FROM {condition}");
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if count > 0 {
            findings.push(format!("{count} {what}"));
        }
    }
    Ok(findings)
}
