//! Statements over the facts of the knowledge graph.

use std::collections::BTreeSet;

use loci_core::{
    Entity, EntityQuery, Fact, FactCounts, FactQuery, Name, Period, RecordKind, Space, Timestamp,
};
use loci_index::records::ReadColumns;
use loci_index::sql::{of_entities, of_facts};

use crate::failure::{Result, conflict};
use crate::filter::Postgres;
use crate::record_versions;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, digest, values};

/// The columns of a fact, of `@fact AS f`.
pub(crate) const COLUMNS: &str = "f.space, f.id, f.subject, \
    (SELECT spelling FROM @graph_name WHERE space = $1 AND NOT is_relation AND key = f.subject), f.predicate, \
    (SELECT spelling FROM @graph_name WHERE space = $1 AND is_relation AND key = f.predicate), f.object, \
    (SELECT spelling FROM @graph_name WHERE space = $1 AND NOT is_relation AND key = f.object), \
    f.from_first, f.from_last, f.to_first, f.to_last, f.source, f.author, f.created_at";

/// Returns the first and the last microsecond of a period.
fn bounds(period: Option<Period>) -> [Option<i64>; 2] {
    [
        period.map(|period| period.first.microseconds()),
        period.map(|period| period.last.microseconds()),
    ]
}

pub(crate) async fn put(transaction: &mut Transaction<'_>, fact: &Fact) -> Result<()> {
    let [from_first, from_last] = bounds(fact.valid_from);
    let [to_first, to_last] = bounds(fact.valid_to);
    let name = transaction.name();
    let key = [&fact.subject, &fact.predicate, &fact.object];
    let key = digest(&key.map(|name| Some(name.key.as_str())));
    let sql = "SELECT 1 FROM @fact WHERE space = $1 AND id = $2 \
        UNION ALL SELECT 1 FROM @fact WHERE space = $1 AND triple = $3 AND to_first IS NOT DISTINCT FROM $6 \
        AND to_last IS NOT DISTINCT FROM $7 AND (to_last IS NULL OR (from_first IS NOT DISTINCT FROM $4 \
        AND from_last IS NOT DISTINCT FROM $5))";
    let values = values![
        name,
        &fact.id,
        key.clone(),
        from_first,
        from_last,
        to_first,
        to_last
    ];
    if !transaction.query(sql, values).await?.is_empty() {
        return Err(conflict(
            "this fact is noted already; read it again and retry",
        ));
    }
    for (is_relation, Name { key, spelling }) in [
        (false, &fact.subject),
        (true, &fact.predicate),
        (false, &fact.object),
    ] {
        transaction.queue(
            "INSERT INTO @graph_name (space, is_relation, key, spelling) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            values![name, is_relation, key, spelling],
        );
    }
    let row = transaction.next_row();
    transaction.queue(
        "INSERT INTO @fact (space, row, id, subject, predicate, object, triple, from_first, from_last, to_first, \
         to_last, source, author, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        values![
            name,
            row,
            &fact.id,
            &fact.subject.key,
            &fact.predicate.key,
            &fact.object.key,
            key,
            from_first,
            from_last,
            to_first,
            to_last,
            &fact.source,
            &fact.author,
            fact.created_at,
        ],
    );
    transaction.record_other_change();
    Ok(())
}

pub(crate) async fn end(
    transaction: &mut Transaction<'_>,
    id: &str,
    before: Option<Period>,
    valid_to: Option<Period>,
) -> Result<()> {
    let name = transaction.name().to_owned();
    if valid_to.is_none() && before.is_some() {
        let sql = "SELECT 1 FROM @fact AS f JOIN @fact AS o ON o.space = $1 AND o.triple = f.triple \
            AND o.to_last IS NULL WHERE f.space = $1 AND f.id = $2";
        if !transaction.query(sql, values![&name, id]).await?.is_empty() {
            return Err(conflict(
                "the same fact is open already; read it again and retry",
            ));
        }
    }
    let [before_first, before_last] = bounds(before);
    let [to_first, to_last] = bounds(valid_to);
    let sql = "UPDATE @fact SET to_first = $5, to_last = $6 WHERE space = $1 AND id = $2 \
        AND to_first IS NOT DISTINCT FROM $3 AND to_last IS NOT DISTINCT FROM $4";
    let values = values![&name, id, before_first, before_last, to_first, to_last];
    if transaction.execute(sql, values).await? == 0 {
        return Err(conflict(format!(
            "the fact `{id}` is not there, or its end changed; read it again and retry"
        )));
    }
    transaction.record_other_change();
    Ok(())
}

pub(crate) async fn delete(
    transaction: &mut Transaction<'_>,
    facts: &[(String, Option<Period>)],
) -> Result<()> {
    let sql = "DELETE FROM @fact WHERE space = $1 AND id = $2 AND to_first IS NOT DISTINCT FROM $3 \
        AND to_last IS NOT DISTINCT FROM $4 RETURNING subject, predicate, object";
    let name = transaction.name().to_owned();
    let mut names: BTreeSet<(bool, String)> = BTreeSet::new();
    for (id, before) in facts {
        let [first, last] = bounds(*before);
        let removed = transaction
            .query(sql, values![&name, id, first, last])
            .await?;
        let Some(removed) = removed.first() else {
            return Err(conflict(format!(
                "the fact `{id}` is not there, or its end changed; read it again and retry"
            )));
        };
        let mut columns = Columns::of(removed);
        for is_relation in [false, true, false] {
            names.insert((is_relation, columns.text()?.to_owned()));
        }
    }
    let ids: Vec<String> = facts.iter().map(|(id, _)| id.clone()).collect();
    record_versions::delete(transaction, RecordKind::Fact, &ids);
    for (is_relation, key) in names {
        let uses = if is_relation {
            "predicate = $2"
        } else {
            "(subject = $2 OR object = $2)"
        };
        let sql = format!(
            "DELETE FROM @graph_name WHERE space = $1 AND is_relation = {is_relation} AND key = $2 \
             AND NOT EXISTS (SELECT 1 FROM @fact WHERE space = $1 AND {uses})"
        );
        transaction.queue(&sql, values![&name, &key]);
    }
    transaction.record_other_change();
    Ok(())
}

/// Returns the facts with these ids, in their order.
pub(crate) async fn with_ids(
    session: &Session,
    space: &Space,
    ids: &[String],
) -> Result<Vec<Fact>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM @fact AS f WHERE f.space = $1 AND f.id = ANY($2) \
         ORDER BY array_position($2, f.id::text)"
    );
    session.records(&sql, &values![space, ids]).await
}

pub(crate) async fn find(session: &Session, query: &FactQuery) -> Result<Vec<Fact>> {
    let (facts, values) = of_facts::<Postgres>(query, "");
    let sql = format!("SELECT {COLUMNS} FROM {facts}");
    session.records(&sql, &values).await
}

/// Counts as of one moment.
pub(crate) async fn entities(session: &Session, query: &EntityQuery) -> Result<Vec<Entity>> {
    let (sql, values) = of_entities::<Postgres>(query);
    let sql = format!(
        "SELECT e.key, n.spelling, e.holding, e.ended FROM ({sql}) AS e \
         JOIN @graph_name AS n ON n.space = $1 AND NOT n.is_relation AND n.key = e.key \
         ORDER BY e.holding + e.ended DESC, e.key"
    );
    let rows = session.query(&sql, &values).await?;
    let entity = |row| {
        let mut columns = Columns::of(row);
        Ok(Entity {
            name: Name {
                key: columns.string()?,
                spelling: columns.string()?,
            },
            current: columns.number()?,
            past: columns.number()?,
        })
    };
    rows.iter().map(entity).collect()
}

pub(crate) async fn counts(session: &Session, space: &Space, now: Timestamp) -> Result<FactCounts> {
    let sql = "SELECT (SELECT count(*) FROM @graph_name WHERE space = $1 AND NOT is_relation), \
        (SELECT count(*) FROM @fact WHERE space = $1), \
        (SELECT count(*) FROM @fact WHERE space = $1 AND to_last <= $2), \
        (SELECT count(*) FROM @fact WHERE space = $1 AND from_first > $3 AND (to_last IS NULL OR to_last > $2)), \
        ARRAY(SELECT spelling FROM @graph_name WHERE space = $1 AND is_relation ORDER BY key)";
    let values = values![space, Period::last_over_at(now), now];
    let Some(row) = session.query_one(sql, &values).await? else {
        return Ok(FactCounts::default());
    };
    let mut columns = Columns::of(&row);
    let (entities, facts, ended) = (columns.number()?, columns.number()?, columns.number()?);
    Ok(FactCounts {
        entities,
        facts,
        open: facts - ended,
        to_come: columns.number()?,
        predicates: columns.texts()?,
    })
}
