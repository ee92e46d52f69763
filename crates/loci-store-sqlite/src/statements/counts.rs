//! The number of memories in each place.

use loci_core::{Filter, LocationCount, Timestamp};
use rusqlite::Connection;

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, by_owner, parameters};

/// Counts by what the database keeps count of, where the filter asks for nothing else.
pub(crate) fn count_by_location(
    connection: &Connection,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    let conditions = Conditions::of(filter);
    let sql = by_location_sql(&rows_sql(filter, &conditions));
    read(connection, &sql, &conditions)
}

/// Counts by a look at every memory.
pub(crate) fn count_uncached(
    connection: &Connection,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    let conditions = Conditions::of(filter);
    let sql = by_location_sql(&recounted_rows_sql(filter, &conditions));
    read(connection, &sql, &conditions)
}

/// Counts what was last returned at that time or later, by a look at what was ever returned.
pub(crate) fn count_used(
    connection: &Connection,
    filter: &Filter,
    since: Timestamp,
) -> Result<Vec<LocationCount>> {
    let mut conditions = Conditions::of(filter);
    let sql = by_location_sql(&format!(
        "SELECT m.collection, m.section, m.kind, 1 AS memories FROM access AS a CROSS JOIN memory AS m \
         WHERE a.last >= :since AND m.row = a.memory AND {}",
        conditions.sql
    ));
    conditions
        .values
        .push((":since", since.microseconds().into()));
    read(connection, &sql, &conditions)
}

/// Counts all memories that match.
pub(crate) fn count(connection: &Connection, filter: &Filter) -> Result<u64> {
    let conditions = Conditions::of(filter);
    let rows = rows_sql(filter, &conditions);
    let sql = format!("SELECT ifnull(sum(memories), 0) FROM ({rows})");
    let mut statement = connection.prepare_cached(&sql)?;
    let memories: i64 = statement.query_row(&*parameters(&conditions.values), |row| row.get(0))?;
    Ok(memories.cast_unsigned())
}

/// Returns the collections of memories that match, in order.
pub(crate) fn collections(connection: &Connection, filter: &Filter) -> Result<Vec<String>> {
    let conditions = Conditions::of(filter);
    let rows = rows_sql(filter, &conditions);
    let sql = format!(
        "SELECT DISTINCT collection FROM ({rows}) WHERE collection IS NOT NULL ORDER BY collection"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let names = statement.query_map(&*parameters(&conditions.values), |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

fn read(connection: &Connection, sql: &str, conditions: &Conditions) -> Result<Vec<LocationCount>> {
    let mut statement = connection.prepare_cached(sql)?;
    let tallies = statement.query_map(&*parameters(&conditions.values), |row| {
        let memories: i64 = row.get(3)?;
        Ok(LocationCount {
            collection: row.get(0)?,
            section: row.get(1)?,
            kind: row.get(2)?,
            memories: memories.cast_unsigned(),
        })
    })?;
    Ok(tallies.collect::<rusqlite::Result<_>>()?)
}

/// Adds up the memories of rows that name their places.
pub(crate) fn by_location_sql(rows: &str) -> String {
    format!(
        "SELECT collection, section, kind, sum(memories) FROM ({rows}) \
         GROUP BY collection, section, kind ORDER BY collection, section, kind"
    )
}

/// Selects places with numbers of memories, from the counts that are kept if the filter asks for
/// nothing else.
fn rows_sql(filter: &Filter, conditions: &Conditions) -> String {
    if filter.asks_for_places_only() {
        counted_rows_sql(filter, conditions)
    } else {
        recounted_rows_sql(filter, conditions)
    }
}

/// Selects the place of each memory.
pub(crate) fn recounted_rows_sql(filter: &Filter, conditions: &Conditions) -> String {
    format!(
        "SELECT m.collection, m.section, m.kind, 1 AS memories FROM memory AS m{} WHERE {}",
        by_owner(filter),
        conditions.sql
    )
}

/// Selects counts that are kept, shown under the names of the columns that they are of, and a look at the
/// memories that are to expire.
pub(crate) fn counted_rows_sql(filter: &Filter, conditions: &Conditions) -> String {
    let of_owner = |visibility: &str| format!("visibility = '{visibility}' AND owner = :subject");
    // The conditions say it again, but over all places, of which others may have many.
    let within_reach = if filter.reader.everything {
        vec!["TRUE".to_owned()]
    } else {
        let shared = if filter.reader.shared {
            "visibility = 'shared'".to_owned()
        } else {
            of_owner("shared")
        };
        vec![
            "visibility = 'common'".to_owned(),
            shared,
            of_owner("private"),
        ]
    };
    let counts = within_reach.iter().map(|reach| {
        format!(
            "SELECT space, nullif(owner, 0) AS owner, visibility, nullif(collection, 0) AS collection, section, kind, \
             tier, origin, iif(is_forgotten, 0, NULL) AS forgotten_at, NULL AS expires_at, NULL AS deleted_at, \
             memories FROM place_count WHERE space = :space AND {reach}"
        )
    });
    let counts = counts.collect::<Vec<_>>().join(" UNION ALL ");
    let sql = &conditions.sql;
    format!(
        "SELECT m.collection, m.section, m.kind, m.memories FROM ({counts}) AS m WHERE {sql}
         UNION ALL
         SELECT m.collection, m.section, m.kind, 1 FROM memory AS m INDEXED BY memory_expiring
         WHERE m.expires_at > :now AND {sql}"
    )
}
