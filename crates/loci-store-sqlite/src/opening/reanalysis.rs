//! Stored passages, cut and analysed again when the analysis of texts has changed.

use loci_core::{Memory, SOURCE_FILE, SOURCE_PATH, SourceFile};
use loci_text::{analysis, document, indexed};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use loci_index::codec::{decode_owned_terms, encode_attributes, encode_terms};

use crate::failure::Result;
use crate::statements::passages::{PASSAGE_HOLDS, delete_passages, insert_passages, passage_keys};
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_one};
use crate::statements::source_files;

/// The version of the analysis that this build makes terms with.
pub(crate) const VERSION: i64 = analysis::VERSION as i64;
/// The first version of the schema in which the database notes it.
pub(crate) const NOTED_SINCE: i64 = 3;

/// The first version of the analysis whose vectors are of [`document::embedded_text`]; those from
/// before are of the passages as they stand in the text.
const EMBEDS_TEXT_SINCE: i64 = 2;

/// The version of the analysis that the terms in the database were made with, 0 if that is lost.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("SELECT version FROM analysis")?;
    Ok(statement
        .query_row([], |row| row.get(0))
        .optional()?
        .unwrap_or(0))
}

/// Cuts all texts into passages again and makes their terms, in one transaction. Vectors stay where
/// a text is cut as before and its passages are embedded as before; where not, they wait for new
/// ones. Returns how many passages there are.
pub(crate) fn renew(connection: &mut Connection) -> Result<usize> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let embeds_text = version(&transaction)? >= EMBEDS_TEXT_SINCE;
    let rows: Vec<i64> = {
        let mut rows =
            transaction.prepare("SELECT row FROM memory WHERE deleted_at IS NULL ORDER BY row")?;
        rows.query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?
    };
    let mut renewed = 0;
    for row in rows {
        let savepoint = transaction.savepoint()?;
        match renew_memory(&savepoint, row, embeds_text) {
            Ok(passages) => {
                savepoint.commit()?;
                renewed += passages;
            }
            // It is for `loci doctor` to say, which needs a store that opens; the terms stay.
            Err(failure) if failure.is_damage() => savepoint.finish()?,
            Err(failure) => return Err(failure),
        }
    }
    let note = "INSERT INTO analysis (row, version) VALUES (1, ?1)
        ON CONFLICT (row) DO UPDATE SET version = excluded.version";
    transaction.execute(note, [VERSION])?;
    transaction.commit()?;
    Ok(renewed)
}

/// Returns how many passages the memory has.
pub(crate) fn renew_memory(connection: &Connection, row: i64, embeds_text: bool) -> Result<usize> {
    let sql = format!("SELECT {WHOLE_COLUMNS} FROM {WHOLE_TABLES} WHERE m.row = ?1");
    let Some(mut memory) = read_one::<Memory>(connection, &sql, [row])? else {
        return Ok(0);
    };
    add_source_path(connection, row, &mut memory)?;
    let passages = indexed::passages(&memory);
    // A corrupt passage has no vector that could stay.
    let forget = format!("DELETE FROM passage WHERE row BETWEEN ?1 AND ?2 AND NOT {PASSAGE_HOLDS}");
    connection
        .prepare_cached(&forget)?
        .execute(passage_keys(row))?;
    let sql =
        "SELECT row, first_byte, end_byte FROM passage WHERE row BETWEEN ?1 AND ?2 ORDER BY row";
    let mut statement = connection.prepare_cached(sql)?;
    let stored = statement.query_map(passage_keys(row), |passage| {
        Ok((
            passage.get(0)?,
            passage.get::<_, i64>(1)?,
            passage.get::<_, i64>(2)?,
        ))
    })?;
    let stored: Vec<(i64, i64, i64)> = stored.collect::<rusqlite::Result<_>>()?;
    let bounds = passages
        .iter()
        .map(|passage| (passage.range.start as i64, passage.range.end as i64));
    if stored
        .iter()
        .map(|(_, first, end)| (*first, *end))
        .eq(bounds)
    {
        let mut update =
            connection.prepare_cached("UPDATE passage SET terms = ?2 WHERE row = ?1")?;
        let forget = "UPDATE passage SET model = NULL, scale = NULL, vector = NULL WHERE row = ?1";
        let mut forget = connection.prepare_cached(forget)?;
        let mut forget_further =
            connection.prepare_cached("DELETE FROM further_vector WHERE passage = ?1")?;
        for ((key, ..), passage) in stored.iter().zip(&passages) {
            update.execute(params![key, encode_terms(&passage.terms)])?;
            let range = passage.range.clone();
            if !embeds_text
                && document::embedded_text(&memory.content, range.clone()) != memory.content[range]
            {
                forget.execute([key])?;
                forget_further.execute([key])?;
            }
        }
    } else {
        delete_passages(connection, row)?;
        insert_passages(connection, row, &passages)?;
    }
    Ok(passages.len())
}

/// Notes the path of its file in a memory that was filed before paths were noted.
fn add_source_path(connection: &Connection, row: i64, memory: &mut Memory) -> Result<()> {
    if memory.source_path().is_some() {
        return Ok(());
    }
    let Some(file) = memory.attributes.get(SOURCE_FILE) else {
        return Ok(());
    };
    let source = source_files::find(
        connection,
        &memory.space,
        memory.source_machine(),
        memory.location.collection.as_deref(),
        file,
    )?;
    let path = source.filter(|source| source.is_whole);
    let Some(path) = path.and_then(|source| SourceFile::path_in_root(&source.root, &source.path))
    else {
        return Ok(());
    };
    memory.attributes.insert(SOURCE_PATH.to_owned(), path);
    let attributes = encode_attributes(&memory.attributes);
    connection
        .prepare_cached("UPDATE memory SET attributes = ?2 WHERE row = ?1")?
        .execute(params![row, attributes])?;
    Ok(())
}

/// Returns whether the passages of the memory belong to its text, and have the words that it gives.
/// Marks are not compared: they may tell of the day of an earlier version of the record.
pub(crate) fn fits(connection: &Connection, row: i64) -> Result<bool> {
    let sql = format!("SELECT {WHOLE_COLUMNS} FROM {WHOLE_TABLES} WHERE m.row = ?1");
    let memory = read_one(connection, &sql, [row])?;
    memory.map_or(Ok(true), |memory| fits_memory(connection, row, &memory))
}

/// The same, for the memory of that row.
pub(crate) fn fits_memory(connection: &Connection, row: i64, memory: &Memory) -> Result<bool> {
    let sql = "SELECT row, first_byte, end_byte, terms FROM passage WHERE row BETWEEN ?1 AND ?2 ORDER BY row";
    let mut statement = connection.prepare_cached(sql)?;
    let keys = passage_keys(row);
    let mut rows = statement.query(keys)?;
    let mut stored = Vec::new();
    while let Some(passage) = rows.next()? {
        let number = |column| passage.get::<_, i64>(column);
        let bounds = (number(0), number(1), number(2));
        let terms = passage.get_ref(3)?.as_blob()?;
        let (Ok(terms), (Ok(key), Ok(first), Ok(end))) = (decode_owned_terms(terms), bounds) else {
            return Ok(false);
        };
        if key != keys[0] + stored.len() as i64 {
            return Ok(false);
        }
        let range = first.cast_unsigned() as usize..end.cast_unsigned() as usize;
        stored.push((range, terms));
    }
    Ok(indexed::fit(memory, &stored))
}
