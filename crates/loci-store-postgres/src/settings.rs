//! Statements over settings.

use loci_core::Space;

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{digest, values};

/// The owner, the name and the value.
pub(crate) const COLUMNS: &str = "owner, name, value";
const FIND: &str = "SELECT value FROM @setting WHERE space = $1 AND setting = $2";

fn key(owner: Option<&str>, name: &str) -> Vec<u8> {
    digest(&[owner, Some(name)])
}

pub(crate) fn put(transaction: &mut Transaction<'_>, owner: Option<&str>, name: &str, value: &str) {
    transaction.queue(
        "INSERT INTO @setting (space, setting, owner, name, value) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (space, setting) DO UPDATE SET value = excluded.value",
        values![transaction.name(), key(owner, name), owner, name, value],
    );
    transaction.record_other_change();
}

/// Removes a setting, if it exists.
pub(crate) fn delete(transaction: &mut Transaction<'_>, owner: Option<&str>, name: &str) {
    transaction.queue(
        "DELETE FROM @setting WHERE space = $1 AND setting = $2",
        values![transaction.name(), key(owner, name)],
    );
    transaction.record_other_change();
}

/// Fails with `conflict` unless a setting has this value, or does not exist for `None`.
pub(crate) async fn expect(
    transaction: &mut Transaction<'_>,
    owner: Option<&str>,
    name: &str,
    value: Option<&str>,
) -> Result<()> {
    let values = values![transaction.name(), key(owner, name)];
    let row = transaction.query(FIND, values).await?.pop();
    let known: Option<String> = row.map(|row| row.try_get(0)).transpose()?;
    if known.as_deref() != value {
        return Err(conflict(format!(
            "the setting `{name}` changed since it was read; read it again and retry"
        )));
    }
    Ok(())
}

pub(crate) async fn is_known(
    transaction: &mut Transaction<'_>,
    owner: Option<&str>,
    name: &str,
) -> Result<bool> {
    let values = values![transaction.name(), key(owner, name)];
    Ok(!transaction.query(FIND, values).await?.is_empty())
}

pub(crate) async fn find(
    session: &Session,
    space: &Space,
    owner: Option<&str>,
    name: &str,
) -> Result<Option<String>> {
    let row = session
        .query_one(FIND, &values![space, key(owner, name)])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
