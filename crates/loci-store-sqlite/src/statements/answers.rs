//! Statements over the answers that users may want again. The index in memory is elsewhere, in
//! `cache`.

use std::cmp::{Ordering, Reverse};

use loci_core::{CacheEntry, MemoryId, QueryVector, Space, Timestamp};
use loci_index::structures::Vectors;
use rusqlite::{Connection, OptionalExtension, params};

use loci_index::codec::{decode_vector, encode_vector};
use loci_index::records::StoredRecord;

use crate::failure::{Result, map_unique_violation};
use crate::statements::passages::model;
use crate::statements::row::{read, verify_checksum};
use crate::statements::wipes::not_wiped;
use crate::writer::WorkSlice;

pub(crate) fn put(connection: &Connection, entry: &CacheEntry, since: u64) -> Result<()> {
    not_wiped(connection, &entry.space, &entry.owner, None, since)?;
    let vector = entry.vector.as_ref();
    let model = vector
        .map(|vector| model(connection, &vector.model))
        .transpose()?;
    let sql = "INSERT INTO cache_entry
        (space, id, owner, created_at, expires_at, query, model, scale, vector, response)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let written = connection.prepare_cached(sql)?.execute(params![
        entry.space.as_str(),
        entry.id.as_str(),
        entry.owner,
        entry.created_at.microseconds(),
        entry.expires_at.microseconds(),
        entry.query,
        model,
        vector.map(|vector| f64::from(vector.scale)),
        vector.map(|vector| encode_vector(&vector.values)),
        entry.response,
    ]);
    map_unique_violation(written, || {
        format!(
            "a cached answer with the id `{}` exists; choose another",
            entry.id
        )
    })
    .map(|_| ())
}

/// Adds an entry, and removes what its owner had for the same question.
pub(crate) fn replace(connection: &Connection, entry: &CacheEntry, since: u64) -> Result<()> {
    entry.check()?;
    put(connection, entry, since)?;
    let sql = "DELETE FROM cache_entry WHERE space = ?1 AND owner = ?2 AND query = ?3 AND id <> ?4";
    let parameters = [
        entry.space.as_str(),
        &entry.owner,
        &entry.query,
        entry.id.as_str(),
    ];
    connection.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

/// The nearness of an entry, and what decides among equals.
type Nearness = (bool, f32, Timestamp, Reverse<String>);

/// An owner's live entries, without their responses.
pub(crate) const LIVE: &str = "SELECT row, query, created_at, id, scale, vector, model = ?4
    FROM cache_entry WHERE space = ?1 AND owner = ?2 AND expires_at > ?3";

/// Whose entries are looked for, and what they are compared with.
pub(crate) struct CacheLookup<'a> {
    pub(crate) space: &'a Space,
    pub(crate) owner: &'a str,
    pub(crate) query: &'a str,
    pub(crate) vector: Option<&'a QueryVector>,
    pub(crate) now: Timestamp,
}

pub(crate) fn nearest(
    connection: &Connection,
    asked: &CacheLookup<'_>,
    limit: usize,
) -> Result<Vec<(CacheEntry, f32)>> {
    let CacheLookup {
        space,
        owner,
        query,
        vector,
        now,
    } = *asked;
    let snapshot = connection.unchecked_transaction()?;
    let model: Option<i64> = match vector {
        Some(vector) => snapshot
            .prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?
            .query_row([vector.model.as_str()], |row| row.get(0))
            .optional()?,
        None => None,
    };
    let mut nearest: Vec<(Nearness, i64)> = Vec::new();
    let keep_nearest = |nearest: &mut Vec<(Nearness, i64)>| {
        nearest.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
        nearest.truncate(limit);
    };
    let mut compared = Vectors::new(vector.map_or(0, |vector| vector.values.len()));
    let mut values = Vec::new();
    let mut statement = snapshot.prepare_cached(LIVE)?;
    let mut rows = statement.query(params![space.as_str(), owner, now.microseconds(), model])?;
    while let Some(row) = rows.next()? {
        let is_same = row.get_ref(1)?.as_str()? == query;
        let cosine = match vector {
            _ if is_same => Some(1.0),
            Some(vector) if row.get::<_, Option<bool>>(6)? == Some(true) => {
                decode_vector(row.get_ref(5)?.as_blob()?, &mut values);
                compared.set(0, row.get::<_, f64>(4)? as f32, &values);
                // Quantisation may leave a vector a little longer than one.
                compared
                    .cosine(&vector.values, 0)
                    .map(|cosine| cosine.min(1.0))
            }
            _ => None,
        };
        let Some(cosine) = cosine else { continue };
        let created_at = Timestamp::from_microseconds(row.get(2)?);
        let nearness = (is_same, cosine, created_at, Reverse(row.get(3)?));
        nearest.push((nearness, row.get(0)?));
        if nearest.len() > 2 * limit {
            keep_nearest(&mut nearest);
        }
    }
    keep_nearest(&mut nearest);
    let sql = format!("{} WHERE e.row = ?1", entries());
    let mut statement = snapshot.prepare_cached(&sql)?;
    let mut read = |((_, cosine, ..), row): (Nearness, i64)| {
        Ok((statement.query_row([row], |row| Ok(read(row)))??, cosine))
    };
    nearest.into_iter().map(&mut read).collect()
}

/// The condition that a row of `cache_entry AS e` is as it was written.
pub(crate) const HOLDS: &str = "e.checksum IS loci_checksum(e.row, e.space, e.id, e.owner, e.created_at, e.expires_at, \
     e.query, e.model, e.scale, e.vector, e.response)";

/// Selects all entries, whole.
pub(crate) fn entries() -> String {
    format!(
        "SELECT {HOLDS}, e.space, e.id, e.owner, e.query, e.response, m.fingerprint, e.scale, e.vector, e.created_at,
            e.expires_at FROM cache_entry AS e LEFT JOIN model AS m ON m.row = e.model"
    )
}

pub(crate) fn queries(
    connection: &Connection,
    space: &Space,
    owner: &str,
    now: Timestamp,
) -> Result<Vec<(MemoryId, String)>> {
    let sql = format!(
        "SELECT {HOLDS}, id, query FROM cache_entry AS e
         WHERE space = ?1 AND owner = ?2 AND expires_at > ?3 ORDER BY id"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![space.as_str(), owner, now.microseconds()])?;
    let mut queries = Vec::new();
    while let Some(row) = rows.next()? {
        verify_checksum(row, CacheEntry::NOUN, 1)?;
        queries.push((MemoryId::new(row.get::<_, String>(1)?), row.get(2)?));
    }
    Ok(queries)
}

/// Deletes entries for one turn: at how many of the ids it has looked, and how many entries there
/// were.
pub(crate) fn delete(
    connection: &Connection,
    space: &Space,
    owner: &str,
    ids: &[MemoryId],
) -> Result<(usize, u64)> {
    let mut turn = WorkSlice::begin();
    let sql = "DELETE FROM cache_entry WHERE space = ?1 AND owner = ?2 AND id = ?3 RETURNING octet_length(response)";
    let mut statement = connection.prepare_cached(sql)?;
    let (mut seen, mut deleted) = (0, 0);
    for id in ids {
        if seen > 0 && turn.is_over() {
            break;
        }
        let removed = statement
            .query_row([space.as_str(), owner, id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(bytes) = removed {
            turn.remove(bytes);
            deleted += 1;
        }
        seen += 1;
    }
    Ok((seen, deleted))
}
