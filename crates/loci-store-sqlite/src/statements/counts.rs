//! How many memories there are in each place.

use loci_core::{Filter, LocationCount};
use rusqlite::Connection;

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, asks_for_places_alone, by_owner, parameters};

/// Counts by what the database keeps count of, where the filter asks for nothing else.
pub(crate) fn count_by_location(
    connection: &Connection,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    let conditions = Conditions::of(filter);
    let sql = if asks_for_places_alone(filter) {
        counted_sql(filter, &conditions)
    } else {
        recount_sql(filter, &conditions)
    };
    read(connection, &sql, &conditions)
}

/// Counts by a look at every memory.
pub(crate) fn count_uncached(
    connection: &Connection,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    let conditions = Conditions::of(filter);
    read(connection, &recount_sql(filter, &conditions), &conditions)
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

pub(crate) fn recount_sql(filter: &Filter, conditions: &Conditions) -> String {
    format!(
        "SELECT m.collection, m.section, m.kind, count(*) FROM memory AS m{} WHERE {} \
         GROUP BY m.collection, m.section, m.kind ORDER BY m.collection, m.section, m.kind",
        by_owner(filter),
        conditions.sql
    )
}

/// Counts that are kept, shown under the names of the columns that they are of, and a look at the
/// memories that are to expire.
pub(crate) fn counted_sql(filter: &Filter, conditions: &Conditions) -> String {
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
        "SELECT collection, section, kind, sum(memories) FROM (
             SELECT m.collection, m.section, m.kind, m.memories FROM ({counts}) AS m WHERE {sql}
             UNION ALL
             SELECT m.collection, m.section, m.kind, 1 FROM memory AS m INDEXED BY memory_expiring
             WHERE m.expires_at > :now AND {sql}
         ) GROUP BY collection, section, kind ORDER BY collection, section, kind"
    )
}
