//! Statements over tombstones.

use loci_core::limits::TOMBSTONES_MAX;
use loci_core::{KeyedHash, Salt, Space, Tombstone};
use loci_index::records::{ReadColumns, TOMBSTONE};

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, Value, values};

/// Each salt is found from the one before it, so that not all tombstones are read.
const SALTS: &str = "WITH RECURSIVE found (salt) AS (\
    (SELECT t.salt FROM @tombstone AS t WHERE t.space = $1 ORDER BY t.salt LIMIT 1) \
    UNION ALL SELECT (SELECT t.salt FROM @tombstone AS t WHERE t.space = $1 AND t.salt > found.salt \
    ORDER BY t.salt LIMIT 1) FROM found WHERE found.salt IS NOT NULL\
    ) SELECT salt FROM found WHERE salt IS NOT NULL ORDER BY salt";

pub(crate) fn put(transaction: &mut Transaction<'_>, tombstones: &[Tombstone]) {
    insert(transaction, tombstones);
    let values = values![transaction.name(), TOMBSTONES_MAX];
    transaction.queue(
        "DELETE FROM @tombstone AS t WHERE t.space = $1 AND EXISTS (SELECT 1 FROM (\
         SELECT o.text, o.memory FROM @tombstone AS o WHERE o.space = $1 \
         ORDER BY o.forgotten_at DESC, o.text DESC, o.memory DESC OFFSET $2\
         ) AS g WHERE g.text = t.text AND g.memory = t.memory)",
        values,
    );
}

/// Stores tombstones and evicts none.
pub(crate) fn insert(transaction: &mut Transaction<'_>, tombstones: &[Tombstone]) {
    let row = |tombstone: &Tombstone| {
        let Tombstone {
            salt,
            text,
            memory,
            source,
            forgotten_at,
            is_removed,
        } = tombstone;
        values![
            transaction.name(),
            *text,
            *memory,
            salt.to_vec(),
            source.map(|source| source.to_vec()),
            *forgotten_at,
            *is_removed,
        ]
    };
    let rows: Vec<Vec<Value>> = tombstones.iter().map(row).collect();
    for row in rows {
        transaction.queue(
            &format!(
                "INSERT INTO @tombstone (space, {TOMBSTONE}) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                 ON CONFLICT (space, text, memory) DO UPDATE SET salt = excluded.salt, source = excluded.source, \
                 forgotten_at = excluded.forgotten_at, is_removed = excluded.is_removed"
            ),
            row,
        );
    }
    transaction.record_other_change();
}

/// Returns true if there is a tombstone with the key of this one.
pub(crate) async fn is_known(
    transaction: &mut Transaction<'_>,
    tombstone: &Tombstone,
) -> Result<bool> {
    let sql = "SELECT 1 FROM @tombstone WHERE space = $1 AND text = $2 AND memory = $3";
    let values = values![transaction.name(), tombstone.text, tombstone.memory];
    Ok(!transaction.query(sql, values).await?.is_empty())
}

pub(crate) fn delete(transaction: &mut Transaction<'_>, texts: &[KeyedHash]) {
    transaction.queue(
        "DELETE FROM @tombstone WHERE space = $1 AND text = ANY($2)",
        values![transaction.name(), byte_strings(texts)],
    );
    transaction.record_other_change();
}

pub(crate) async fn salts(session: &Session, space: &Space) -> Result<Vec<Salt>> {
    let rows = session.query(SALTS, &values![space]).await?;
    rows.iter().map(|row| Columns::of(row).array()).collect()
}

/// Returns those with one of these hashes of texts, in the order of their keys.
pub(crate) async fn of_texts(
    session: &Session,
    space: &Space,
    texts: &[KeyedHash],
) -> Result<Vec<Tombstone>> {
    let rest = "text = ANY($2) ORDER BY text, memory";
    select(session, rest, values![space, byte_strings(texts)]).await
}

/// Returns a page in the order of their keys.
pub(crate) async fn page(
    session: &Session,
    space: &Space,
    after: Option<&Tombstone>,
    limit: usize,
) -> Result<Vec<Tombstone>> {
    let (text, memory) = after.map_or((&[][..], &[][..]), |after| (&after.text, &after.memory));
    let rest = "(text, memory) > ($2, $3) ORDER BY text, memory LIMIT $4";
    let values = values![space, text.to_vec(), memory.to_vec(), limit];
    select(session, rest, values).await
}

async fn select(session: &Session, rest: &str, values: Vec<Value>) -> Result<Vec<Tombstone>> {
    let sql = format!("SELECT {TOMBSTONE} FROM @tombstone WHERE space = $1 AND {rest}");
    session.records(&sql, &values).await
}

fn byte_strings(hashes: &[KeyedHash]) -> Vec<Vec<u8>> {
    hashes.iter().map(|hash| hash.to_vec()).collect()
}
