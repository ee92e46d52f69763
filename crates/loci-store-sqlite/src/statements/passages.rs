//! Passages of memories: their keys, and how they are written and removed.

use loci_core::{Error, ModelId, Passage};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::failure::Result;
use loci_index::codec::{encode_terms, encode_vector};

/// Positions of a memory's passages take that many bits of a passage's key.
pub(crate) const POSITION_BITS: u32 = 20;
/// Passages of one memory.
const PASSAGES_MAX: usize = 1 << POSITION_BITS;
/// True for a row of `passage` whose checksum holds, as SQL.
pub(crate) const PASSAGE_HOLDS: &str =
    "checksum IS loci_checksum(row, first_byte, end_byte, terms, model, scale, vector)";

/// Writes the passages of a memory that has none.
pub(crate) fn insert_passages(
    connection: &Connection,
    row: i64,
    passages: &[Passage],
) -> Result<()> {
    if passages.len() > PASSAGES_MAX {
        return Err(
            Error::internal(format!("a memory may have at most {PASSAGES_MAX} passages")).into(),
        );
    }
    let sql = "INSERT INTO passage (row, first_byte, end_byte, terms, model, scale, vector)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut statement = connection.prepare_cached(sql)?;
    for (key, passage) in (row << POSITION_BITS..).zip(passages) {
        let vector = passage.vector.as_ref();
        let model = vector
            .map(|vector| model(connection, &vector.model))
            .transpose()?;
        statement.execute(params![
            key,
            passage.range.start as i64,
            passage.range.end as i64,
            encode_terms(&passage.terms),
            model,
            vector.map(|vector| f64::from(vector.scale)),
            vector.map(|vector| encode_vector(&vector.values)),
        ])?;
    }
    Ok(())
}

/// Removes the passages of a memory, with their vectors.
pub(crate) fn delete_passages(connection: &Connection, row: i64) -> Result<()> {
    for sql in [
        "DELETE FROM passage WHERE row BETWEEN ?1 AND ?2",
        "DELETE FROM further_vector WHERE passage BETWEEN ?1 AND ?2",
    ] {
        connection.prepare_cached(sql)?.execute(passage_keys(row))?;
    }
    Ok(())
}

/// The first and the last key that a passage of the memory may have.
pub(crate) fn passage_keys(row: i64) -> [i64; 2] {
    [
        row << POSITION_BITS,
        (row << POSITION_BITS) + (PASSAGES_MAX as i64 - 1),
    ]
}

/// The row of a model, which is made if it is new.
pub(crate) fn model(connection: &Connection, model: &ModelId) -> Result<i64> {
    let parameters: [&dyn ToSql; 1] = [&model.as_str()];
    let mut statement =
        connection.prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?;
    if let Some(row) = statement
        .query_row(parameters, |row| row.get(0))
        .optional()?
    {
        return Ok(row);
    }
    connection
        .prepare_cached("INSERT INTO model (fingerprint) VALUES (?1)")?
        .execute(parameters)?;
    Ok(connection.last_insert_rowid())
}
