//! Statements over the facts of the knowledge graph.

use std::collections::BTreeSet;

use loci_core::{
    Entity, EntityQuery, Fact, FactCounts, FactQuery, Name, Period, RecordKind, Space, Timestamp,
};
use loci_index::sql::{of_entities, of_facts};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::{Result, conflict, map_unique_violation};
use crate::statements::change_feed::record_other_change;
use crate::statements::filter_sql::{Sqlite, parameters};
use crate::statements::record_versions;
use crate::statements::row::{none_broken, read_all, verify_checksum};

/// The condition that a row of `fact AS f` is as it was written.
macro_rules! holds {
    () => {
        "f.checksum IS loci_checksum(f.row, f.space, f.id, f.subject, f.predicate, f.object, f.from_first, \
         f.from_last, f.to_first, f.to_last, f.source, f.author, f.created_at)"
    };
}
const HOLDS: &str = holds!();
/// The condition that a row of `graph_name AS n` is as it was written.
const NAME_HOLDS: &str =
    "n.checksum IS loci_checksum('graph_name', n.space, n.is_relation, n.key, n.spelling)";
/// The noun of such a row in a failure, before the space.
const NAME_NOUN: &str = "a name in the facts of";

/// The columns of a fact, of `fact AS f`.
pub(crate) fn columns() -> String {
    let spelling = |is_relation: bool, key: &str| {
        format!(
            "(SELECT n.spelling FROM graph_name AS n WHERE n.space = f.space AND n.is_relation = {is_relation} \
             AND n.key = f.{key} AND {NAME_HOLDS})"
        )
    };
    format!(
        "{HOLDS}, f.space, f.id, f.subject, {}, f.predicate, {}, f.object, {}, f.from_first, f.from_last, f.to_first, \
         f.to_last, f.source, f.author, f.created_at",
        spelling(false, "subject"),
        spelling(true, "predicate"),
        spelling(false, "object")
    )
}

/// A fact that says the same from the same beginning to the same end.
pub(crate) const SAME: &str =
    "SELECT 1 FROM fact WHERE space = ?1 AND subject = ?2 AND predicate = ?3 AND object = ?4
    AND from_first IS ?5 AND from_last IS ?6 AND to_first IS ?7 AND to_last IS ?8";

/// The facts of an author `?2`, which get another author `?3`, but for damaged ones: a change would
/// give them a checksum that holds.
pub(crate) const DISOWNED: &str = concat!(
    "UPDATE fact AS f SET author = ?3 WHERE f.space = ?1 AND f.author = ?2 AND ",
    holds!()
);

pub(crate) fn put(connection: &Connection, fact: &Fact) -> Result<()> {
    let Fact {
        space,
        id,
        subject,
        predicate,
        object,
        valid_from,
        valid_to,
        source,
        author,
        created_at,
    } = fact;
    for (is_relation, name) in [(false, subject), (true, predicate), (false, object)] {
        put_name(connection, space, is_relation, name)?;
    }
    let [from_first, from_last] = bounds(*valid_from);
    let [to_first, to_last] = bounds(*valid_to);
    // An open fact is unique by an index; an ended one by this query, because stores of former
    // versions hold doubles.
    let same = params![
        space.as_str(),
        subject.key,
        predicate.key,
        object.key,
        from_first,
        from_last,
        to_first,
        to_last
    ];
    if connection.prepare_cached(SAME)?.exists(same)? {
        return Err(conflict(
            "this fact is noted already; read it again and retry",
        ));
    }
    let sql = "INSERT INTO fact (space, id, subject, predicate, object, from_first, from_last, to_first, to_last, \
               source, author, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let written = connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        id,
        subject.key,
        predicate.key,
        object.key,
        from_first,
        from_last,
        to_first,
        to_last,
        source,
        author,
        created_at.microseconds(),
    ]);
    map_unique_violation(written, || {
        "this fact is noted already; read it again and retry".to_owned()
    })?;
    record_other_change(connection)
}

/// Keeps the spelling of a name, if it is the first of its key.
fn put_name(connection: &Connection, space: &Space, is_relation: bool, name: &Name) -> Result<()> {
    let Name { key, spelling } = name;
    let sql = "INSERT OR IGNORE INTO graph_name (space, is_relation, key, spelling) VALUES (?1, ?2, ?3, ?4)";
    let is_known = connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        is_relation,
        key,
        spelling
    ])? == 0;
    if is_known {
        let broken = format!(
            "SELECT 1 FROM graph_name AS n WHERE n.space = ?1 AND n.is_relation = ?2 AND n.key = ?3 AND NOT {NAME_HOLDS}"
        );
        let key = params![space.as_str(), is_relation, key];
        none_broken(connection, &broken, key, NAME_NOUN, space.as_str())?;
    }
    Ok(())
}

/// The first and the last microsecond of a period.
fn bounds(period: Option<Period>) -> [Option<i64>; 2] {
    [
        period.map(|period| period.first.microseconds()),
        period.map(|period| period.last.microseconds()),
    ]
}

pub(crate) fn end(
    connection: &Connection,
    space: &Space,
    id: &str,
    before: Option<Period>,
    valid_to: Option<Period>,
) -> Result<()> {
    let broken =
        format!("SELECT 1 FROM fact AS f WHERE f.space = ?1 AND f.id = ?2 AND NOT {HOLDS}");
    none_broken(connection, &broken, [space.as_str(), id], "fact", id)?;
    let sql = "UPDATE fact SET to_first = ?5, to_last = ?6
        WHERE space = ?1 AND id = ?2 AND to_first IS ?3 AND to_last IS ?4";
    let [before_first, before_last] = bounds(before);
    let [to_first, to_last] = bounds(valid_to);
    let ended = connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        id,
        before_first,
        before_last,
        to_first,
        to_last,
    ]);
    // An index has each open fact once.
    let ended = map_unique_violation(ended, || {
        "the same fact is open already; read it again and retry".to_owned()
    })?;
    if ended == 0 {
        return Err(conflict(format!(
            "the fact `{id}` is not there, or its end changed; read it again and retry"
        )));
    }
    record_other_change(connection)
}

/// The names of facts that no fact has any more. `?2` says whether it is a relation, `?3` is its key.
pub(crate) const UNUSED: &str =
    "DELETE FROM graph_name WHERE space = ?1 AND is_relation = ?2 AND key = ?3
    AND NOT EXISTS (SELECT 1 FROM fact WHERE space = ?1 AND ?2 AND predicate = ?3)
    AND NOT EXISTS (SELECT 1 FROM fact WHERE space = ?1 AND NOT ?2 AND subject = ?3)
    AND NOT EXISTS (SELECT 1 FROM fact WHERE space = ?1 AND NOT ?2 AND object = ?3)";

pub(crate) fn delete(
    connection: &Connection,
    space: &Space,
    facts: &[(String, Option<Period>)],
) -> Result<()> {
    let sql = "DELETE FROM fact WHERE space = ?1 AND id = ?2 AND to_first IS ?3 AND to_last IS ?4
        RETURNING subject, predicate, object";
    let mut names: BTreeSet<(bool, String)> = BTreeSet::new();
    for (id, before) in facts {
        let [first, last] = bounds(*before);
        let removed: Option<[String; 3]> = connection
            .prepare_cached(sql)?
            .query_row(params![space.as_str(), id, first, last], |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?])
            })
            .optional()?;
        let Some([subject, predicate, object]) = removed else {
            return Err(conflict(format!(
                "the fact `{id}` is not there, or its end changed; read it again and retry"
            )));
        };
        names.extend([(false, subject), (true, predicate), (false, object)]);
        record_versions::delete(connection, space, RecordKind::Fact, id)?;
    }
    // Once for all of them, because a relation that is used is looked for among all facts.
    let mut things = 0;
    for (is_relation, key) in names {
        let removed = connection.prepare_cached(UNUSED)?.execute(params![
            space.as_str(),
            is_relation,
            key
        ])?;
        things += if is_relation { 0 } else { removed };
    }
    let sql = "UPDATE graph_count SET facts = facts - ?2, things = things - ?3 WHERE space = ?1";
    let (facts, things) = (facts.len().cast_signed(), things.cast_signed());
    connection
        .prepare_cached(sql)?
        .execute(params![space.as_str(), facts, things])?;
    record_other_change(connection)
}

/// The fact with the id `?2`.
pub(crate) fn with_id() -> String {
    format!(
        "SELECT {} FROM fact AS f WHERE f.space = ?1 AND f.id = ?2",
        columns()
    )
}

pub(crate) fn with_ids(
    connection: &Connection,
    space: &Space,
    ids: &[String],
) -> Result<Vec<Fact>> {
    let sql = with_id();
    let mut facts = Vec::new();
    for id in ids {
        facts.extend(read_all(connection, &sql, params![space.as_str(), id])?);
    }
    Ok(facts)
}

pub(crate) fn find(connection: &Connection, query: &FactQuery) -> Result<Vec<Fact>> {
    let (sql, values) = select(query);
    read_all(connection, &sql, &*parameters(&values))
}

pub(crate) fn entities(connection: &Connection, query: &EntityQuery) -> Result<Vec<Entity>> {
    let (sql, values) = of_entities::<Sqlite>(query);
    let sql = format!(
        "SELECT {NAME_HOLDS}, n.space, n.key, n.spelling, e.holding, e.ended FROM ({sql}) AS e
         JOIN graph_name AS n ON n.space = :space AND n.is_relation = 0 AND n.key = e.key
         ORDER BY e.holding + e.ended DESC, e.key"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut entities = Vec::new();
    while let Some(row) = rows.next()? {
        verify_checksum(row, NAME_NOUN, 1)?;
        entities.push(Entity {
            name: Name {
                key: row.get(2)?,
                spelling: row.get(3)?,
            },
            current: row.get::<_, i64>(4)?.cast_unsigned(),
            past: row.get::<_, i64>(5)?.cast_unsigned(),
        });
    }
    Ok(entities)
}

/// The statement of a query, and its parameters.
pub(crate) fn select(query: &FactQuery) -> (String, Vec<(&'static str, Value)>) {
    // Of what is damaged, it is not known when it held.
    let (facts, values) = of_facts::<Sqlite>(query, &format!(" OR NOT {HOLDS}"));
    (format!("SELECT {} FROM {facts}", columns()), values)
}

/// Facts whose end has no later last moment than `?2`.
pub(crate) const ENDED: &str = "SELECT count(*) FROM fact WHERE space = ?1 AND to_last <= ?2";
/// Facts that start after the moment `?3` and whose end has a later last moment than `?2`.
pub(crate) const TO_COME: &str = "SELECT count(*) FROM fact WHERE space = ?1 AND from_first > ?3 AND (to_last IS NULL OR to_last > ?2)";

pub(crate) fn counts(connection: &Connection, space: &Space, now: Timestamp) -> Result<FactCounts> {
    let snapshot = connection.unchecked_transaction()?;
    let sql = "SELECT things, facts FROM graph_count WHERE space = ?1";
    let totals: Option<(i64, i64)> = snapshot
        .prepare_cached(sql)?
        .query_row([space.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (things, facts) = totals.unwrap_or_default();
    let over = Period::last_over_at(now).microseconds();
    let ended: i64 = snapshot
        .prepare_cached(ENDED)?
        .query_row(params![space.as_str(), over], |row| row.get(0))?;
    let to_come: i64 = snapshot
        .prepare_cached(TO_COME)?
        .query_row(params![space.as_str(), over, now.microseconds()], |row| {
            row.get(0)
        })?;
    let sql = format!(
        "SELECT {NAME_HOLDS}, n.space, n.spelling FROM graph_name AS n WHERE n.space = ?1 AND n.is_relation = 1
         ORDER BY n.key"
    );
    let mut statement = snapshot.prepare_cached(&sql)?;
    let mut rows = statement.query([space.as_str()])?;
    let mut predicates = Vec::new();
    while let Some(row) = rows.next()? {
        verify_checksum(row, NAME_NOUN, 1)?;
        predicates.push(row.get(2)?);
    }
    drop(rows);
    drop(statement);
    snapshot.finish()?;
    Ok(FactCounts {
        entities: things.cast_unsigned(),
        facts: facts.cast_unsigned(),
        open: (facts - ended).cast_unsigned(),
        to_come: to_come.cast_unsigned(),
        predicates,
    })
}
