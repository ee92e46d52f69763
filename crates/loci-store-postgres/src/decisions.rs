//! Statements over decisions.

use loci_core::{Decision, Space, Timestamp};
use loci_index::records::DECISION;

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::{Transaction, lower};
use crate::value::{digest, read_record, values};

fn key(owner: &str, key: &str) -> Vec<u8> {
    digest(&[Some(owner), Some(key)])
}

fn find_sql() -> String {
    format!(
        "SELECT {DECISION} FROM @decision WHERE space = $1 AND decision = $2 AND (expires_at IS NULL OR expires_at > $3)"
    )
}

/// Stores a decision; returns true if there was none under its key.
pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    decision: &Decision,
    since: u64,
) -> Result<bool> {
    transaction.not_wiped(&decision.owner, None, since)?;
    let before = find(transaction, decision, decision.updated_at).await?;
    let created_at = before
        .as_ref()
        .map_or(decision.created_at, |before| before.created_at);
    let decision = Decision {
        created_at,
        ..decision.clone()
    };
    write(transaction, &decision);
    Ok(before.is_none())
}

/// Returns the live decision under the same key.
pub(crate) async fn find(
    transaction: &mut Transaction<'_>,
    decision: &Decision,
    now: Timestamp,
) -> Result<Option<Decision>> {
    let key = key(&decision.owner, &decision.key);
    let values = values![transaction.name(), key, now];
    let found = transaction.query(&find_sql(), values).await?.pop();
    found.as_ref().map(read_record).transpose()
}

/// Stores a decision in the place of the one under its key.
pub(crate) fn write(transaction: &mut Transaction<'_>, decision: &Decision) {
    lower(&mut transaction.row.expires_from, decision.expires_at);
    transaction.queue(
        &format!(
            "INSERT INTO @decision (decision, {DECISION}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (space, decision) DO UPDATE SET value = excluded.value, created_at = excluded.created_at, \
             updated_at = excluded.updated_at, expires_at = excluded.expires_at"
        ),
        values![
            key(&decision.owner, &decision.key),
            transaction.name(),
            &decision.owner,
            &decision.key,
            &decision.value,
            decision.created_at,
            decision.updated_at,
            decision.expires_at,
        ],
    );
}

pub(crate) async fn get(
    session: &Session,
    space: &Space,
    owner: &str,
    name: &str,
    now: Timestamp,
) -> Result<Option<Decision>> {
    let values = values![space, key(owner, name), now];
    session.record(&find_sql(), &values).await
}
