//! Statements over settings.

use loci_core::Space;

use crate::failure::Result;
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
