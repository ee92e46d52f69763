//! Statements over the vectors of passages, and which are missing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use loci_core::{FilingOrder, MemoryId, ModelId, Space, Vector};
use loci_index::codec::decode_vector;
use loci_index::records::ReadColumns;

use crate::failure::Result;
use crate::session::{PIPELINED_MAX, Session};
use crate::transaction::Transaction;
use crate::value::{Columns, values};

/// The number of a model in the space `$1`; null if it is unknown there.
fn model(parameter: &str) -> String {
    format!("(SELECT row FROM @model WHERE space = $1 AND fingerprint = {parameter})")
}

/// Returns the vectors of a memory's passages; none if one has no vector of the model.
pub(crate) async fn of_memory(
    session: &Session,
    space: &Space,
    id: &MemoryId,
    fingerprint: &ModelId,
) -> Result<Vec<Vector>> {
    let model = model("$3");
    let sql = format!(
        "SELECT CASE WHEN p.model = {model} THEN p.scale ELSE f.scale END, \
             CASE WHEN p.model = {model} THEN p.vector ELSE f.vector END \
         FROM @memory AS m JOIN @passage AS p ON p.space = $1 AND p.memory = m.row \
         LEFT JOIN @further_vector AS f ON f.space = $1 AND f.memory = m.row AND f.position = p.position \
             AND f.model = {model} \
         WHERE m.space = $1 AND m.id = $2 AND m.deleted_at IS NULL ORDER BY p.position"
    );
    let values = values![space, id, fingerprint.as_str()];
    let mut vectors = Vec::new();
    for row in session.query(&sql, &values).await? {
        let mut columns = Columns::of(&row);
        let (scale, bytes): (Option<f32>, Option<&[u8]>) = (columns.take()?, columns.take()?);
        let Some((scale, bytes)) = scale.zip(bytes) else {
            return Ok(Vec::new());
        };
        let mut values = Vec::new();
        decode_vector(bytes, &mut values);
        vectors.push(Vector {
            model: fingerprint.clone(),
            scale,
            values,
        });
    }
    Ok(vectors)
}

/// Returns the memories of a space that have a passage without a vector of the model: first the
/// ones that have none at all.
pub(crate) async fn without(
    session: &Session,
    space: &str,
    fingerprint: &ModelId,
    order: FilingOrder,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let direction = match order {
        FilingOrder::FirstFirst => "",
        FilingOrder::LastFirst => " DESC",
    };
    let model = model("$2");
    let of_others = format!(
        "p.model IS NOT NULL AND p.model IS DISTINCT FROM {model} AND NOT EXISTS (\
         SELECT 1 FROM @further_vector AS f WHERE f.space = $1 AND f.memory = p.memory AND f.position = p.position \
         AND f.model = {model})"
    );
    let (mut ids, mut known) = (Vec::new(), HashSet::new());
    for condition in ["p.model IS NULL AND $2::text IS NOT NULL", &of_others] {
        let sql = format!(
            "SELECT m.id FROM @memory AS m WHERE m.space = $1 AND m.deleted_at IS NULL AND m.row IN (\
             SELECT p.memory FROM @passage AS p WHERE p.space = $1 AND {condition}) \
             ORDER BY m.row{direction} LIMIT $3"
        );
        let values = values![space, fingerprint.as_str(), limit];
        for row in session.query(&sql, &values).await? {
            let id = MemoryId::new(row.try_get::<_, String>(0)?);
            if ids.len() < limit && known.insert(id.clone()) {
                ids.push(id);
            }
        }
    }
    Ok(ids)
}

/// Returns the spaces that may have a passage without a vector of the model, in order.
pub(crate) async fn spaces_to_embed(session: &Session, model: &ModelId) -> Result<Vec<String>> {
    let sql = "SELECT space FROM @space WHERE space <> '' AND embedded IS DISTINCT FROM $1 ORDER BY space";
    let rows = session.query(sql, &values![model.as_str()]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the spaces that know a model, in order.
pub(crate) async fn spaces_with(session: &Session, model: &ModelId) -> Result<Vec<String>> {
    let known = known(session, Some(model)).await?;
    Ok(known.into_iter().map(|known| known.space).collect())
}

/// A model that a space knows.
struct KnownModel {
    space: String,
    row: i64,
    fingerprint: String,
}

/// Returns the models that spaces know, or one model, in the order of the spaces.
async fn known(session: &Session, model: Option<&ModelId>) -> Result<Vec<KnownModel>> {
    let sql = "SELECT space, row, fingerprint FROM @model WHERE $1::text IS NULL OR fingerprint = $1 ORDER BY space";
    let rows = session
        .query(sql, &values![model.map(ModelId::as_str)])
        .await?;
    rows.iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            Ok(KnownModel {
                space: columns.take()?,
                row: columns.take()?,
                fingerprint: columns.take()?,
            })
        })
        .collect()
}

/// Notes that a model has embedded all passages of a space as of its newest change.
pub(crate) async fn note_embedded(
    session: &Session,
    space: &str,
    model: &ModelId,
    version: i64,
) -> Result<()> {
    let sql = "UPDATE @space SET embedded = $2 WHERE space = $1 AND version = $3";
    session
        .write(sql, &values![space, model.as_str(), version])
        .await?;
    Ok(())
}

/// Returns the models of all spaces with their numbers of passages.
pub(crate) async fn models(session: &Session) -> Result<Vec<(ModelId, u64)>> {
    let sql = "SELECT (SELECT count(*) FROM @passage WHERE space = $1 AND model = $2) \
        + (SELECT count(*) FROM @further_vector WHERE space = $1 AND model = $2)";
    let mut passages: BTreeMap<String, u64> = BTreeMap::new();
    for known in known(session, None).await?.chunks(PIPELINED_MAX) {
        let count = |known: &KnownModel| (sql.to_owned(), values![&known.space, known.row]);
        let statements: Vec<_> = known.iter().map(count).collect();
        let found = session.pipeline(&statements).await?;
        for (known, row) in known.iter().zip(found.iter().flat_map(|(rows, _)| rows)) {
            *passages.entry(known.fingerprint.clone()).or_default() += Columns::of(row).number()?;
        }
    }
    let mut models: Vec<_> = passages
        .into_iter()
        .filter(|(_, passages)| *passages > 0)
        .collect();
    models.sort_by_key(|(_, passages)| Reverse(*passages));
    let models = models.into_iter();
    Ok(models
        .map(|(model, passages)| (ModelId::new(model), passages))
        .collect())
}

/// Returns true if a passage of the space has a vector of the model.
pub(crate) async fn has_any(session: &Session, space: &str, fingerprint: &ModelId) -> Result<bool> {
    let model = model("$2");
    exists(
        session,
        space,
        fingerprint,
        &format!(
            "EXISTS (SELECT 1 FROM @passage WHERE space = $1 AND model = {model}) \
             OR EXISTS (SELECT 1 FROM @further_vector WHERE space = $1 AND model = {model})"
        ),
    )
    .await
}

/// Returns true if the model has a vector with another number of components.
pub(crate) async fn has_other_dimensions(
    session: &Session,
    space: &str,
    fingerprint: &ModelId,
    dimensions: usize,
) -> Result<bool> {
    let condition = format!("model = {} AND length(vector) <> {dimensions}", model("$2"));
    exists(
        session,
        space,
        fingerprint,
        &format!(
            "EXISTS (SELECT 1 FROM @passage WHERE space = $1 AND {condition}) \
             OR EXISTS (SELECT 1 FROM @further_vector WHERE space = $1 AND {condition})"
        ),
    )
    .await
}

async fn exists(session: &Session, space: &str, model: &ModelId, condition: &str) -> Result<bool> {
    let sql = format!("SELECT {condition}");
    let row = session
        .query_one(&sql, &values![space, model.as_str()])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
}

/// Removes the vectors of a model from at most `limit` passages; returns from how many. Where there
/// is a further one, it takes the place of the passage's own.
pub(crate) async fn retire(
    transaction: &mut Transaction<'_>,
    fingerprint: &ModelId,
    limit: usize,
) -> Result<usize> {
    let name = transaction.name();
    let sql = "SELECT row FROM @model WHERE space = $1 AND fingerprint = $2";
    let found = transaction
        .query(sql, values![name, fingerprint.as_str()])
        .await?;
    let Some(row) = found.first() else {
        return Ok(0);
    };
    let model: i64 = row.try_get(0)?;
    let sql =
        "SELECT memory, position FROM @further_vector WHERE space = $1 AND model = $2 LIMIT $3";
    let further = transaction.query(sql, values![name, model, limit]).await?;
    let mut changed = Vec::new();
    for row in &further {
        let (memory, position): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        changed.push(memory);
        transaction.queue(REMOVE_FURTHER, values![name, memory, position, model]);
    }
    let sql = "SELECT p.memory, p.position, \
        (SELECT min(f.model) FROM @further_vector AS f WHERE f.space = $1 AND f.memory = p.memory \
         AND f.position = p.position AND f.model <> $2) \
        FROM @passage AS p WHERE p.space = $1 AND p.model = $2 LIMIT $3";
    let left = limit - further.len();
    let own = transaction.query(sql, values![name, model, left]).await?;
    for row in &own {
        let mut columns = Columns::of(row);
        let (memory, position): (i64, i64) = (columns.take()?, columns.take()?);
        let other: Option<i64> = columns.take()?;
        changed.push(memory);
        let values = values![name, memory, position, other];
        // Nulls if it is absent.
        transaction.queue(
            "UPDATE @passage SET model = $4, \
             scale = (SELECT scale FROM @further_vector WHERE space = $1 AND memory = $2 AND position = $3 AND model = $4), \
             vector = (SELECT vector FROM @further_vector WHERE space = $1 AND memory = $2 AND position = $3 AND model = $4) \
             WHERE space = $1 AND memory = $2 AND position = $3",
            values.clone(),
        );
        if other.is_some() {
            transaction.queue(REMOVE_FURTHER, values);
        }
    }
    let retired = changed.len();
    changed.sort_unstable();
    changed.dedup();
    for memory in changed {
        transaction.record_change(memory);
    }
    if retired > 0 {
        transaction.row.embedded = None;
    }
    Ok(retired)
}

const REMOVE_FURTHER: &str =
    "DELETE FROM @further_vector WHERE space = $1 AND memory = $2 AND position = $3 AND model = $4";

/// Returns the newest change of a space.
pub(crate) async fn version(session: &Session, space: &str) -> Result<i64> {
    let sql = "SELECT version FROM @space WHERE space = $1";
    let row = session.query_one(sql, &values![space]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0))
}
