//! Reads that need no index: by id, by filter, counts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use loci_core::{
    Delivery, EnrichmentStatus, FilingOrder, Filter, Location, Memory, MemoryId, ModelId, Page,
    Space, StatusCount, Tier, Timestamp, Vector,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::{Result, damaged};
use crate::statements::filter_sql::{Conditions, bound, by_owner, parameters};
use crate::statements::passages::{PASSAGE_HOLDS, POSITION_BITS};
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_space, read_superseded};
use loci_index::codec::{decode_attributes, decode_vector, encode_names};

pub(crate) fn get_all(
    connection: &Connection,
    filter: &Filter,
    ids: &[MemoryId],
) -> Result<Vec<Memory>> {
    let conditions = Conditions::of(filter);
    let columns = format!("{WHOLE_COLUMNS}, ({})", conditions.successor);
    let whole = [&*columns, WHOLE_TABLES];
    with_ids(connection, whole, conditions, ids, read_superseded)
}

pub(crate) fn places_of(
    connection: &Connection,
    filter: &Filter,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryId, Location)>> {
    let place = ["m.id, m.collection, m.section", "memory AS m"];
    with_ids(connection, place, Conditions::of(filter), ids, |row| {
        Ok((
            MemoryId::new(row.get::<_, String>(0)?),
            Location {
                collection: row.get(1)?,
                section: row.get(2)?,
            },
        ))
    })
}

/// That an id begins or ends with a part of `:characters` characters. Compared as bytes, not by LIKE:
/// an id may hold its wildcards.
pub(super) const HAS_PART: &str =
    "(substr(m.id, 1, :characters) = :part OR substr(m.id, -:characters) = :part)";

pub(crate) fn ids_with(
    connection: &Connection,
    filter: &Filter,
    part: &str,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let Conditions {
        sql, mut values, ..
    } = Conditions::of(filter);
    let sql = format!(
        "SELECT m.id FROM memory AS m WHERE {HAS_PART} AND {sql} ORDER BY m.id LIMIT :limit"
    );
    values.push((":part", Value::from(part.to_owned())));
    values.push((":characters", Value::from(part.chars().count() as i64)));
    values.push((":limit", Value::from(limit as i64)));
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_and_then(&*parameters(&values), |row| {
        Ok(MemoryId::new(row.get::<_, String>(0)?))
    })?;
    rows.collect()
}

pub(crate) fn attribute_values(
    connection: &Connection,
    filter: &Filter,
    name: &str,
) -> Result<Vec<(String, u64)>> {
    let Conditions {
        sql, mut values, ..
    } = Conditions::of(filter);
    // Few memories have the attribute, and only those are decoded.
    let sql = format!(
        "SELECT m.attributes FROM memory AS m WHERE instr(m.attributes, :name) > 0 AND {sql}"
    );
    values.push((
        ":name",
        Value::from(serde_json::Value::from(name).to_string()),
    ));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if let Some(value) = decode_attributes(&row.get::<_, String>(0)?)?.remove(name) {
            *counts.entry(value).or_default() += 1;
        }
    }
    Ok(counts.into_iter().collect())
}

/// Selects from the memories with these ids that meet the conditions, in the order of the ids.
fn with_ids<T>(
    connection: &Connection,
    [columns, from]: [&str; 2],
    Conditions {
        sql, mut values, ..
    }: Conditions,
    ids: &[MemoryId],
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    // A join that keeps this order, so that the ids lead.
    let sql = format!(
        "SELECT {columns} FROM json_each(:ids) AS wanted CROSS JOIN {from} WHERE m.id = wanted.value AND {sql}"
    );
    // None that is stored holds NUL, at which a text of JSON would end.
    let ids = ids
        .iter()
        .map(MemoryId::as_str)
        .filter(|id| !id.contains('\0'));
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    values.push((":ids", Value::from(encode_names(&ids))));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut found = Vec::with_capacity(ids.len());
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

pub(crate) fn list(connection: &Connection, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
    let conditions = Conditions::of(filter);
    read_page(
        connection,
        &list_sql(filter, &conditions),
        conditions.values,
        page,
    )
}

/// The records of a page, whose bounds are the parameters `:limit` and `:offset`.
pub(crate) fn read_page(
    connection: &Connection,
    sql: &str,
    mut values: Vec<(&'static str, Value)>,
    page: Page,
) -> Result<Vec<Memory>> {
    values.extend([
        (":limit", bound(page.limit)),
        (":offset", bound(page.offset)),
    ]);
    read_all_superseded(connection, sql, &values)
}

/// The records that a statement selects, each with what supersedes it.
pub(crate) fn read_all_superseded(
    connection: &Connection,
    sql: &str,
    values: &[(&'static str, Value)],
) -> Result<Vec<Memory>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(&*parameters(values))?;
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push(read_superseded(row)?);
    }
    Ok(memories)
}

pub(crate) fn list_sql(filter: &Filter, conditions: &Conditions) -> String {
    let Conditions { sql, successor, .. } = conditions;
    // A session starts with these. SQLite would walk all memories in their order instead.
    let is_of_bootstrap = filter.delivery == Some(Delivery::Bootstrap) && filter.thread.is_none();
    let tables = if is_of_bootstrap {
        &WHOLE_TABLES.replacen(" AS m", " AS m INDEXED BY memory_of_bootstrap", 1)
    } else {
        WHOLE_TABLES
    };
    format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}) FROM {tables} WHERE {sql} \
         ORDER BY m.updated_at DESC, m.id LIMIT :limit OFFSET :offset"
    )
}

pub(crate) fn direction(order: FilingOrder) -> &'static str {
    match order {
        FilingOrder::FirstFirst => "",
        FilingOrder::LastFirst => " DESC",
    }
}

pub(crate) fn revisions(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<(MemoryId, u64)>> {
    let conditions = Conditions::of(filter);
    let sql = revisions_sql(filter, &conditions);
    let mut values = conditions.values;
    values.push((":limit", bound(limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let revisions = statement.query_map(&*parameters(&values), |row| {
        Ok((
            MemoryId::new(row.get::<_, String>(0)?),
            row.get::<_, i64>(1)?.cast_unsigned(),
        ))
    })?;
    Ok(revisions.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn revisions_sql(filter: &Filter, conditions: &Conditions) -> String {
    format!(
        "SELECT m.id, m.revision FROM memory AS m{} WHERE {} ORDER BY m.updated_at DESC, m.id LIMIT :limit",
        by_owner(filter),
        conditions.sql
    )
}

/// A user's memories made from that with the id `?3`, but for softly deleted ones.
pub(crate) const MADE_FROM: &str =
    "SELECT id FROM memory WHERE space = ?1 AND owner = ?2 AND source = ?3 AND deleted_at IS NULL";

pub(crate) fn made_from(
    connection: &Connection,
    space: &Space,
    owner: &str,
    sources: &[MemoryId],
) -> Result<Vec<MemoryId>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(MADE_FROM)?;
    let mut made = BTreeSet::new();
    for source in sources {
        let ids = statement.query_map([space.as_str(), owner, source.as_str()], |row| {
            row.get::<_, String>(0)
        })?;
        made.extend(
            ids.collect::<rusqlite::Result<Vec<_>>>()?
                .into_iter()
                .map(MemoryId::new),
        );
    }
    drop(statement);
    snapshot.finish()?;
    Ok(made.into_iter().collect())
}

/// The position after the last of a thread. Only what is removed for good frees its position.
pub(crate) const THREAD_END: &str = "SELECT coalesce(max(position) + 1, 0) FROM memory WHERE space = ?1 AND owner = ?2 AND thread = ?3";

pub(crate) fn thread_end(
    connection: &Connection,
    space: &Space,
    owner: &str,
    thread: &str,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(THREAD_END)?;
    Ok(statement
        .query_row([space.as_str(), owner, thread], |row| row.get::<_, i64>(0))?
        .cast_unsigned())
}

pub(crate) fn accesses(
    connection: &Connection,
    space: &Space,
    ids: &[MemoryId],
) -> Result<Vec<u64>> {
    let sql = "SELECT a.count FROM memory AS m JOIN access AS a ON a.memory = m.row WHERE m.space = ?1 AND m.id = ?2";
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(sql)?;
    let mut counts = Vec::with_capacity(ids.len());
    for id in ids {
        let count = statement
            .query_row([space.as_str(), id.as_str()], |row| row.get::<_, i64>(0))
            .optional()?;
        counts.push(count.unwrap_or(0).cast_unsigned());
    }
    drop(statement);
    snapshot.finish()?;
    Ok(counts)
}

/// Two ranges of one index, which has all of the columns.
pub(crate) const CENSUS: &str = "SELECT tier, enrichment, count(*) FROM memory
    WHERE space = ?1 AND owner = ?2 AND tier = 'short_term'
        AND (expires_at IS NULL OR expires_at > ?3) AND deleted_at IS NULL AND forgotten_at IS NULL
    GROUP BY enrichment
    UNION ALL SELECT tier, enrichment, count(*) FROM memory
    WHERE space = ?1 AND owner = ?2 AND tier = 'long_term' AND enrichment IS NOT NULL
        AND (expires_at IS NULL OR expires_at > ?3) AND deleted_at IS NULL AND forgotten_at IS NULL
    GROUP BY enrichment";

pub(crate) fn count_by_status(
    connection: &Connection,
    space: &Space,
    owner: &str,
    now: Timestamp,
) -> Result<Vec<StatusCount>> {
    let mut statement = connection.prepare_cached(CENSUS)?;
    let mut rows = statement.query(params![space.as_str(), owner, now.microseconds()])?;
    let mut census = Vec::new();
    while let Some(row) = rows.next()? {
        let tier: String = row.get(0)?;
        let status: Option<String> = row.get(1)?;
        census.push(StatusCount {
            tier: Tier::from_name(&tier).ok_or_else(damaged)?,
            enrichment: status
                .map(|name| EnrichmentStatus::from_name(&name).ok_or_else(damaged))
                .transpose()?,
            memories: row.get::<_, i64>(2)?.cast_unsigned(),
        });
    }
    census.sort_unstable();
    Ok(census)
}

pub(crate) fn vectors(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
    model: &ModelId,
) -> Result<Vec<Vector>> {
    let Some(model_row) = model_row(connection, model)? else {
        return Ok(Vec::new());
    };
    let sql = format!(
        "SELECT iif(p.model IS ?3, p.scale, f.scale), iif(p.model IS ?3, p.vector, f.vector) FROM memory AS m \
         JOIN passage AS p ON p.row BETWEEN m.row << {POSITION_BITS} AND (m.row + 1 << {POSITION_BITS}) - 1 \
         LEFT JOIN further_vector AS f ON f.passage = p.row AND f.model = ?3 \
         WHERE m.space = ?1 AND m.id = ?2 AND m.deleted_at IS NULL ORDER BY p.row"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![space.as_str(), id.as_str(), model_row])?;
    let mut vectors = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(scale) = row.get::<_, Option<f64>>(0)? else {
            return Ok(Vec::new());
        };
        let mut values = Vec::new();
        decode_vector(row.get_ref(1)?.as_blob()?, &mut values);
        vectors.push(Vector {
            model: model.clone(),
            scale: scale as f32,
            values,
        });
    }
    Ok(vectors)
}

pub(crate) fn passage_range(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
    passage: u32,
) -> Result<Option<Range<usize>>> {
    let sql = format!(
        "SELECT p.first_byte, p.end_byte FROM memory AS m JOIN passage AS p ON p.row = (m.row << {POSITION_BITS}) + ?3 \
         WHERE m.space = ?1 AND m.id = ?2 AND m.deleted_at IS NULL AND ?3 < 1 << {POSITION_BITS}"
    );
    let range = |row: &Row<'_>| {
        let byte = |column| {
            row.get::<_, i64>(column)
                .map(|byte| usize::try_from(byte).unwrap_or_default())
        };
        Ok(byte(0)?..byte(1)?)
    };
    Ok(connection
        .prepare_cached(&sql)?
        .query_row(params![space.as_str(), id.as_str(), passage], range)
        .optional()?)
}

/// The row of a model, if it is known.
pub(crate) fn model_row(connection: &Connection, model: &ModelId) -> Result<Option<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT row FROM model WHERE fingerprint = ?1")?;
    Ok(statement
        .query_row([model.as_str()], |row| row.get(0))
        .optional()?)
}

/// Counts the passages that each model has read. It reads only indexes.
pub(crate) const MODELS: &str =
    "SELECT (SELECT fingerprint FROM model WHERE row = c.model) AS name, sum(passages) FROM (
        SELECT model, count(*) AS passages FROM passage WHERE model > 0 GROUP BY model
        UNION ALL SELECT model, count(*) FROM further_vector GROUP BY model
    ) AS c GROUP BY name ORDER BY sum(passages) DESC, name";

pub(crate) fn models(connection: &Connection) -> Result<Vec<(ModelId, u64)>> {
    let mut statement = connection.prepare_cached(MODELS)?;
    let models = statement.query_map([], |row| {
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?))
    })?;
    let named = |(name, passages): (Option<String>, i64)| {
        Some((ModelId::new(name?), passages.cast_unsigned()))
    };
    // One without a name is for `loci doctor` to say.
    Ok(models
        .collect::<rusqlite::Result<Vec<_>>>()?
        .into_iter()
        .filter_map(named)
        .collect())
}

pub(crate) fn pending_embeddings(
    connection: &Connection,
    model: &ModelId,
    count_max: usize,
) -> Result<usize> {
    Ok(rows_without_vector(connection, model, FilingOrder::FirstFirst, count_max)?.len())
}

/// The condition that a passage has a vector of the model.
pub(crate) const HAS_VECTORS: &str = "SELECT 1 FROM model AS m WHERE m.fingerprint = ?1
    AND (EXISTS (SELECT 1 FROM passage WHERE model = m.row)
        OR EXISTS (SELECT 1 FROM further_vector WHERE model = m.row))";

pub(crate) fn has_vectors(connection: &Connection, model: &ModelId) -> Result<bool> {
    Ok(connection
        .prepare_cached(HAS_VECTORS)?
        .exists([model.as_str()])?)
}

/// Returns whether the model has a vector of another number of components. A vector has a byte for
/// each, so that of others none is read.
pub(crate) fn has_other_dimensions(
    connection: &Connection,
    model: &ModelId,
    dimensions: usize,
) -> Result<bool> {
    // A damaged one says nothing of the model.
    let sql = format!(
        "WITH known (row) AS (SELECT row FROM model WHERE fingerprint = ?1)
        SELECT EXISTS (SELECT 1 FROM passage WHERE model IN known AND length(vector) <> ?2 AND {PASSAGE_HOLDS})
            OR EXISTS (SELECT 1 FROM further_vector WHERE model IN known AND length(vector) <> ?2
                AND checksum IS loci_checksum(passage, model, scale, vector))"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row(params![model.as_str(), bound(dimensions)], |row| row.get(0))?)
}

/// The rows of memories that have a passage without a vector of the model, each once.
fn rows_without_vector(
    connection: &Connection,
    model: &ModelId,
    order: FilingOrder,
    limit: usize,
) -> Result<Vec<i64>> {
    // An unknown model counts as row 0, which no model has.
    let model = model_row(connection, model)?.unwrap_or(0);
    let (mut rows, mut known) = (Vec::new(), HashSet::new());
    for range in WITHOUT_MODEL {
        let mut statement = connection.prepare_cached(&without_vector_sql(range, order))?;
        let mut passages = statement.query([model])?;
        // Read one by one: a memory may have any number of passages.
        while rows.len() < limit
            && let Some(passage) = passages.next()?
        {
            let row = passage.get(0)?;
            if known.insert(row) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// The conditions for passages whose own vector is not of the model of row `?1`: three ranges of
/// one index, so that the cost is that of the missing vectors. While two models are kept, it is
/// that of the passages that the other one read last.
pub(crate) const WITHOUT_MODEL: [&str; 3] = ["model IS NULL", "model < ?1", "model > ?1"];

/// The memory of each passage, in the order of the index.
pub(crate) fn without_vector_sql(range: &str, order: FilingOrder) -> String {
    let direction = direction(order);
    format!(
        "SELECT p.row >> {POSITION_BITS} FROM passage AS p WHERE p.{range} AND ?1 IS NOT NULL \
         AND NOT EXISTS (SELECT 1 FROM further_vector INDEXED BY further_vector_by_model \
             WHERE model = ?1 AND passage = p.row) \
         AND EXISTS (SELECT 1 FROM memory WHERE row = p.row >> {POSITION_BITS} AND deleted_at IS NULL) \
         ORDER BY p.model{direction}, p.row{direction}"
    )
}

pub(crate) fn without_vector(
    connection: &Connection,
    model: &ModelId,
    order: FilingOrder,
    limit: usize,
) -> Result<Vec<(Space, MemoryId)>> {
    let rows = rows_without_vector(connection, model, order, limit)?;
    let mut statement = connection.prepare_cached("SELECT space, id FROM memory WHERE row = ?1")?;
    let mut named = Vec::new();
    for row in rows {
        let (space, id): (String, String) =
            statement.query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        named.push((read_space(&space)?, MemoryId::new(id)));
    }
    Ok(named)
}

/// The number of the newest change.
pub(crate) fn version(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(number), 0) FROM change")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// The random bytes of the database.
pub(crate) fn secret(connection: &Connection) -> Result<[u8; 32]> {
    let secret = connection
        .prepare_cached("SELECT bytes FROM secret")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(secret.ok_or_else(damaged)?)
}

/// Counts the memories and passages.
pub(crate) fn counts(connection: &Connection) -> Result<(u64, u64)> {
    let sql = "SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM passage)";
    let counts: (i64, i64) = connection
        .prepare_cached(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((counts.0.cast_unsigned(), counts.1.cast_unsigned()))
}
