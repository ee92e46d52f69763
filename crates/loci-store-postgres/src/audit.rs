//! Statements over the audit log.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loci_core::{AuditEntry, AuditQuery, AuditRecord, Error, Space};
use loci_index::records::{AUDIT_ENTRY, AUDIT_RECORD};
use loci_index::sql::of_audit;

use crate::daily;
use crate::failure::Result;
use crate::filter::Postgres;
use crate::read;
use crate::server::Server;
use crate::session::{PIPELINED_MAX, Session};
use crate::transaction::{Needs, Transaction, lower};
use crate::value::values;

/// Appends entries, all of one space in one transaction.
pub(crate) fn append(server: &Server, entries: &[AuditEntry]) -> Result<(), Error> {
    entries.iter().try_for_each(AuditEntry::check)?;
    let mut by_space: BTreeMap<&Space, Vec<&AuditEntry>> = BTreeMap::new();
    for entry in entries {
        by_space.entry(&entry.space).or_default().push(entry);
    }
    for (space, entries) in by_space {
        let owners: BTreeSet<_> = entries
            .iter()
            .filter_map(|entry| entry.user.clone())
            .collect();
        let needs = Needs {
            owners: owners.into_iter().collect(),
            ..Needs::default()
        };
        server.write(space, &needs, async |transaction| {
            append_in(transaction, &entries);
            Ok(())
        })?;
    }
    Ok(())
}

fn append_in(transaction: &mut Transaction<'_>, entries: &[&AuditEntry]) {
    let (mut rows, mut record_rows, mut counted) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let wiped_at = entry
            .user
            .as_ref()
            .map(|user| transaction.last_wipe(user, Some(&entry.dialect)).0);
        if wiped_at.is_some_and(|wiped_at| wiped_at > entry.at.microseconds()) {
            continue;
        }
        counted.push(*entry);
        transaction.row.audits += 1;
        let number = transaction.row.audits;
        lower(&mut transaction.row.audited_from, Some(entry.at));
        let failure = entry.failure.as_ref();
        rows.push(values![
            number,
            transaction.name(),
            entry.at,
            &entry.user,
            &entry.caller,
            &entry.dialect,
            &entry.tool,
            &entry.operation,
            entry.duration_microseconds,
            &entry.query,
            entry.results.map(u64::cast_signed),
            failure.map(|failure| failure.code.name()),
            failure.and_then(|failure| failure.message.as_deref()),
            &entry.client,
            &entry.session,
            entry.reply_tokens.map(u64::cast_signed),
        ]);
        for (position, AuditRecord { id, verb, is_own }) in entry.records.iter().enumerate() {
            let is_last = position + 1 == entry.records.len();
            let further = if is_last { entry.further_records } else { 0 };
            record_rows.push(values![
                transaction.name(),
                number,
                position,
                verb.name(),
                id,
                *is_own,
                further
            ]);
        }
    }
    transaction.insert_rows(&format!("INSERT INTO @audit ({AUDIT_ENTRY})"), rows, "");
    transaction.insert_rows(
        "INSERT INTO @audit_record (space, entry, position, verb, id, is_own, further)",
        record_rows,
        "",
    );
    daily::add(transaction, counted);
}

/// Returns the entries that a query asks for, in the order of their numbers.
pub(crate) async fn read(session: &Session, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
    let (conditions, values) = of_audit::<Postgres>(query);
    let sql = format!("SELECT {AUDIT_ENTRY} FROM @audit {conditions}");
    let mut entries: Vec<(u64, AuditEntry)> = session.records(&sql, &values).await?;
    entries.sort_unstable_by_key(|(number, _)| *number);
    read_records(session, &query.space, &mut entries).await?;
    Ok(entries)
}

/// Returns the spaces that have entries.
pub(crate) async fn spaces(session: &Session) -> Result<Vec<Space>> {
    let mut with_entries = Vec::new();
    for spaces in read::spaces(session).await?.chunks(PIPELINED_MAX) {
        let sql = "SELECT 1 FROM @audit WHERE space = $1 LIMIT 1";
        let statements = spaces.iter().map(|space| (sql.to_owned(), values![space]));
        let statements: Vec<_> = statements.collect();
        let found = session.pipeline(&statements).await?;
        let of_spaces = spaces.iter().zip(found);
        let of_spaces = of_spaces.filter(|(_, (rows, _))| !rows.is_empty());
        with_entries.extend(of_spaces.map(|(space, _)| space.clone()));
    }
    Ok(with_entries)
}

/// Adds to the entries of a space the records that they name.
async fn read_records(
    session: &Session,
    space: &Space,
    entries: &mut [(u64, AuditEntry)],
) -> Result<()> {
    let numbers: Vec<i64> = entries
        .iter()
        .map(|(number, _)| number.cast_signed())
        .collect();
    if numbers.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT {AUDIT_RECORD} FROM @audit_record WHERE space = $1 AND entry = ANY($2) ORDER BY entry, position"
    );
    let mut by_number: HashMap<u64, &mut AuditEntry> = entries
        .iter_mut()
        .map(|(number, entry)| (*number, entry))
        .collect();
    for (number, record, further) in session.records(&sql, &values![space, numbers]).await? {
        if let Some(entry) = by_number.get_mut(&number) {
            entry.records.push(record);
            entry.further_records += further;
        }
    }
    Ok(())
}
