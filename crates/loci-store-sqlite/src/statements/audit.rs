//! Statements over the audit log.

use loci_core::{AuditEntry, AuditFailure, AuditQuery, AuditRecord, ErrorCode, RecordVerb, Space};
use loci_index::sql::of_audit;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params};

use crate::failure::{Result, damaged};
use crate::statements::filter_sql::{Sqlite, parameters};
use crate::statements::row::{read_moment, read_space, verify_checksum};
use crate::statements::wipes::is_wiped;

const COLUMNS: &str = "space, at, user, dialect, tool, operation, duration, query, results, code, message, caller, client, \
     session, reply_tokens";
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

/// The columns of `audit_record` that [`read_record`] reads, in its order.
pub(crate) const RECORD_COLUMNS: &str =
    concat!("entry, verb, id, is_own, further, ", record_holds!());

/// The columns that [`read_entry`] reads, in its order.
pub(crate) fn columns() -> String {
    format!("number, {COLUMNS}, {}", holds!())
}

pub(crate) fn append(connection: &Connection, entries: &[AuditEntry]) -> Result<()> {
    entries.iter().try_for_each(AuditEntry::check)?;
    let sql = format!(
        "INSERT INTO audit ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
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
        let failure = entry.failure.as_ref();
        statement.execute(params![
            entry.space.as_str(),
            entry.at.microseconds(),
            entry.user,
            entry.dialect,
            entry.tool,
            entry.operation,
            entry.duration_microseconds.cast_signed(),
            entry.query,
            entry.results.map(u64::cast_signed),
            failure.map(|failure| failure.code.name()),
            failure.and_then(|failure| failure.message.as_deref()),
            entry.caller,
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
    Ok(())
}

pub(crate) fn read(connection: &Connection, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
    let (sql, values) = select(query);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let (records, further_records) = read_records(connection, number)?;
        entries.push((
            number.cast_unsigned(),
            AuditEntry {
                records,
                further_records,
                ..read_entry(row)?
            },
        ));
    }
    if query.after.is_none() {
        entries.reverse();
    }
    Ok(entries)
}

/// The records that an entry names, and how many more there were.
fn read_records(connection: &Connection, number: i64) -> Result<(Vec<AuditRecord>, u64)> {
    let sql =
        format!("SELECT {RECORD_COLUMNS} FROM audit_record WHERE entry = ?1 ORDER BY position");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([number])?;
    let (mut records, mut all_further) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let (record, further) = read_record(row)?;
        records.push(record);
        all_further += further;
    }
    Ok((records, all_further))
}

/// The record in the columns of [`RECORD_COLUMNS`], and how many more there were after it.
pub(crate) fn read_record(row: &Row<'_>) -> Result<(AuditRecord, u64)> {
    verify_checksum(row, 5, "record of the audit entry", 0)?;
    let verb = RecordVerb::from_name(row.get_ref(1)?.as_str()?).ok_or_else(damaged)?;
    Ok((
        AuditRecord {
            verb,
            id: row.get(2)?,
            is_own: row.get(3)?,
        },
        row.get::<_, i64>(4)?.cast_unsigned(),
    ))
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

/// The entry in the columns after the first, without its records.
pub(crate) fn read_entry(row: &Row<'_>) -> Result<AuditEntry> {
    verify_checksum(row, 16, "audit entry", 0)?;
    let failure = match row.get::<_, Option<String>>(10)? {
        Some(name) => {
            let code = ErrorCode::ALL
                .into_iter()
                .find(|code| code.name() == name)
                .ok_or_else(damaged)?;
            Some(AuditFailure {
                code,
                message: row.get(11)?,
            })
        }
        None => None,
    };
    Ok(AuditEntry {
        space: read_space(&row.get::<_, String>(1)?)?,
        at: read_moment(row, 2)?.ok_or_else(damaged)?,
        user: row.get(3)?,
        dialect: row.get(4)?,
        tool: row.get(5)?,
        operation: row.get(6)?,
        duration_microseconds: row.get::<_, i64>(7)?.cast_unsigned(),
        query: row.get(8)?,
        results: row.get::<_, Option<i64>>(9)?.map(i64::cast_unsigned),
        failure,
        caller: row.get(12)?,
        client: row.get(13)?,
        session: row.get(14)?,
        reply_tokens: row.get::<_, Option<i64>>(15)?.map(i64::cast_unsigned),
        records: Vec::new(),
        further_records: 0,
    })
}
