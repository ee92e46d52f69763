//! Statements over the answers that users may want again.

use std::cmp::{Ordering, Reverse};

use loci_core::{CacheEntry, MemoryId, QueryVector, Space, Timestamp};
use loci_index::codec::{decode_vector, encode_vector};
use loci_index::records::ReadColumns;
use loci_index::structures::Vectors;

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::{Transaction, lower};
use crate::value::{Columns, values};

/// The columns of an entry.
pub(crate) const COLUMNS: &str =
    "space, id, owner, query, response, model, scale, vector, created_at, expires_at";

pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    entry: &CacheEntry,
    since: u64,
) -> Result<()> {
    transaction.not_wiped(&entry.owner, None, since)?;
    let vector = entry.vector.as_ref();
    let sql = format!(
        "INSERT INTO @cache_entry ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING"
    );
    let values = values![
        transaction.name(),
        &entry.id,
        &entry.owner,
        &entry.query,
        &entry.response,
        vector.map(|vector| vector.model.as_str()),
        vector.map(|vector| vector.scale),
        vector.map(|vector| encode_vector(&vector.values)),
        entry.created_at,
        entry.expires_at,
    ];
    if transaction.execute(&sql, values).await? == 0 {
        return Err(conflict(format!(
            "a cached answer with the id `{}` exists; choose another",
            entry.id
        )));
    }
    lower(&mut transaction.row.expires_from, Some(entry.expires_at));
    Ok(())
}

/// Adds an entry, and removes the entries that its owner had for the same question.
pub(crate) async fn replace(
    transaction: &mut Transaction<'_>,
    entry: &CacheEntry,
    since: u64,
) -> Result<()> {
    put(transaction, entry, since).await?;
    transaction.queue(
        "DELETE FROM @cache_entry WHERE space = $1 AND owner = $2 AND query = $3 AND id <> $4",
        values![transaction.name(), &entry.owner, &entry.query, &entry.id],
    );
    Ok(())
}

/// The nearness of an entry, and what decides among equals.
type Nearness = (bool, f32, Timestamp, Reverse<String>);

/// An owner's live entries that are nearest to a question.
pub(crate) async fn nearest(
    session: &Session,
    space: &Space,
    owner: &str,
    query: &str,
    vector: Option<&QueryVector>,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(CacheEntry, f32)>> {
    let sql = "SELECT query, created_at, id, scale, CASE WHEN model = $4 THEN vector END FROM @cache_entry \
        WHERE space = $1 AND owner = $2 AND expires_at > $3";
    let model = vector.map(|vector| vector.model.as_str());
    let rows = session
        .query(sql, &values![space, owner, now, model])
        .await?;
    let mut compared = Vectors::new(vector.map_or(0, |vector| vector.values.len()));
    let mut values = Vec::new();
    let mut nearest: Vec<Nearness> = Vec::new();
    for row in &rows {
        let mut columns = Columns::of(row);
        let is_same = columns.take::<&str>()? == query;
        let (created_at, id) = (columns.time()?, columns.string()?);
        let (scale, bytes): (Option<f32>, Option<&[u8]>) = (columns.take()?, columns.take()?);
        let cosine = match (vector, scale.zip(bytes)) {
            _ if is_same => Some(1.0),
            (Some(vector), Some((scale, bytes))) => {
                decode_vector(bytes, &mut values);
                compared.set(0, scale, &values);
                // Quantisation may leave a vector a little longer than one.
                let cosine = compared.cosine(&vector.values, 0);
                cosine.map(|cosine| cosine.min(1.0))
            }
            _ => None,
        };
        nearest.extend(cosine.map(|cosine| (is_same, cosine, created_at, Reverse(id))));
    }
    nearest.sort_by(|a, b| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    nearest.truncate(limit);
    let ids: Vec<String> = nearest.iter().map(|(.., Reverse(id))| id.clone()).collect();
    let sql = format!("SELECT {COLUMNS} FROM @cache_entry WHERE space = $1 AND id = ANY($2)");
    let mut entries: Vec<CacheEntry> = session.records(&sql, &values![space, ids]).await?;
    let take = |(_, cosine, _, Reverse(id)): Nearness| {
        let place = entries.iter().position(|entry| entry.id.as_str() == id)?;
        Some((entries.swap_remove(place), cosine))
    };
    Ok(nearest.into_iter().filter_map(take).collect())
}

pub(crate) async fn queries(
    session: &Session,
    space: &Space,
    owner: &str,
    now: Timestamp,
) -> Result<Vec<(MemoryId, String)>> {
    let sql = "SELECT id, query FROM @cache_entry WHERE space = $1 AND owner = $2 AND expires_at > $3 ORDER BY id";
    let rows = session.query(sql, &values![space, owner, now]).await?;
    rows.iter()
        .map(|row| Ok((MemoryId::new(row.try_get::<_, String>(0)?), row.try_get(1)?)))
        .collect()
}

/// Deletes entries; returns how many there were.
pub(crate) async fn delete(
    transaction: &mut Transaction<'_>,
    owner: &str,
    ids: &[MemoryId],
) -> Result<u64> {
    let sql = "DELETE FROM @cache_entry WHERE space = $1 AND owner = $2 AND id = ANY($3)";
    transaction
        .execute(sql, values![transaction.name(), owner, ids])
        .await
}
