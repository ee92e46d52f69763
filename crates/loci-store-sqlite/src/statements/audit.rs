//! Statements over the audit log.

use loci_core::{AuditEntry, AuditQuery, AuditRecord, DailyCount, Space};
use loci_index::records::{AUDIT_ENTRY, AUDIT_RECORD};
use loci_index::sql::of_audit;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::failure::Result;
use crate::statements::daily;
use crate::statements::filter_sql::{Sqlite, parameters};
use crate::statements::row::{read_all, read_space};
use crate::statements::wipes::is_wiped;

/// The condition that a row is as it was written.
macro_rules! holds {
    () => {
        "checksum IS loci_checksum(number, space, at, user, caller, dialect, tool, operation, duration, query, \
         results, code, message, client, session, reply_tokens)"
    };
}
pub(crate) use holds;
/// The condition that a row of a record is as it was written.
macro_rules! record_holds {
    () => {
        "checksum IS loci_checksum(entry, position, verb, id, is_own, further)"
    };
}
pub(crate) use record_holds;

/// The columns of a record of an entry.
pub(crate) fn record_columns() -> String {
    format!("{}, {AUDIT_RECORD}", record_holds!())
}

/// The columns of an entry.
pub(crate) fn columns() -> String {
    format!("{}, {AUDIT_ENTRY}", holds!())
}

/// Appends entries, except those of wiped users, and adds them to the counts of their days.
pub(crate) fn append(connection: &Connection, entries: &[AuditEntry]) -> Result<()> {
    entries.iter().try_for_each(AuditEntry::check)?;
    let mut counted = Vec::new();
    let sql = format!(
        "INSERT INTO audit ({AUDIT_ENTRY})
         VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let sql = "INSERT INTO audit_record (entry, position, verb, id, is_own, further) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut records = connection.prepare_cached(sql)?;
    for entry in entries {
        if let Some(user) = &entry.user
            && is_wiped(connection, &entry.space, user, &entry.dialect, entry.at)?
        {
            continue;
        }
        counted.push(entry);
        let failure = entry.failure.as_ref();
        statement.execute(params![
            entry.space.as_str(),
            entry.at.microseconds(),
            entry.user,
            entry.caller,
            entry.dialect,
            entry.tool,
            entry.operation,
            entry.duration_microseconds.cast_signed(),
            entry.query,
            entry.results.map(u64::cast_signed),
            failure.map(|failure| failure.code.name()),
            failure.and_then(|failure| failure.message.as_deref()),
            entry.client,
            entry.session,
            entry.reply_tokens.map(u64::cast_signed),
        ])?;
        let number = connection.last_insert_rowid();
        for (position, AuditRecord { id, verb, is_own }) in entry.records.iter().enumerate() {
            let further = if position + 1 == entry.records.len() {
                entry.further_records.cast_signed()
            } else {
                0
            };
            records.execute(params![
                number,
                position as i64,
                verb.name(),
                id,
                is_own,
                further
            ])?;
        }
    }
    for (space, counts) in DailyCount::all(counted) {
        daily::add(connection, &space, &counts)?;
    }
    Ok(())
}

pub(crate) fn read(connection: &Connection, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
    let (sql, values) = select(query);
    let snapshot = connection.unchecked_transaction()?;
    let mut entries: Vec<(u64, AuditEntry)> = read_all(&snapshot, &sql, &*parameters(&values))?;
    let sql = format!(
        "SELECT {} FROM audit_record WHERE entry = ?1 ORDER BY position",
        record_columns()
    );
    for (number, entry) in &mut entries {
        for (_, record, further) in read_all(&snapshot, &sql, [number.cast_signed()])? {
            entry.records.push(record);
            entry.further_records += further;
        }
    }
    snapshot.finish()?;
    if query.after.is_none() {
        entries.reverse();
    }
    Ok(entries)
}

/// The statement of a query, the last entries first if it asks for those, and its parameters.
pub(crate) fn select(query: &AuditQuery) -> (String, Vec<(&'static str, Value)>) {
    let (conditions, values) = of_audit::<Sqlite>(query);
    (
        format!("SELECT {} FROM audit {conditions}", columns()),
        values,
    )
}

/// The spaces that have entries.
pub(crate) fn spaces(connection: &Connection) -> Result<Vec<Space>> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT space FROM audit ORDER BY space")?;
    let mut rows = statement.query([])?;
    let mut spaces = Vec::new();
    while let Some(row) = rows.next()? {
        spaces.push(read_space(&row.get::<_, String>(0)?)?);
    }
    Ok(spaces)
}
