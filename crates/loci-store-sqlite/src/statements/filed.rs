//! Lists of memories in the order of their filing.

use loci_core::{FilingOrder, Filter, Forgotten, Memory, Page, Tier};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::read::{direction, read_page};
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_numbered};

pub(crate) fn filed(
    connection: &Connection,
    filter: &Filter,
    order: FilingOrder,
    page: Page,
) -> Result<Vec<Memory>> {
    let conditions = Conditions::of(filter);
    read_page(
        connection,
        &filed_sql(filter, &conditions, order),
        conditions.values,
        page,
    )
}

pub(crate) fn filed_beyond(
    connection: &Connection,
    filter: &Filter,
    order: FilingOrder,
    beyond: Option<u64>,
    limit: usize,
) -> Result<Vec<(u64, Memory)>> {
    let conditions = Conditions::of(filter);
    let sql = filed_beyond_sql(filter, &conditions, order);
    // Rows are numbered from 1.
    let from = match order {
        FilingOrder::FirstFirst => 0,
        FilingOrder::LastFirst => i64::MAX,
    };
    let beyond = beyond.map_or(from, |row| i64::try_from(row).unwrap_or(i64::MAX));
    let mut values = conditions.values;
    values.extend([
        (":limit", bound(limit)),
        (":beyond", Value::Integer(beyond)),
    ]);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(&*parameters(&values))?;
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push(read_numbered(row)?);
    }
    Ok(memories)
}

pub(crate) fn filed_beyond_sql(
    filter: &Filter,
    conditions: &Conditions,
    order: FilingOrder,
) -> String {
    let (comparison, direction) = match order {
        FilingOrder::FirstFirst => (">", ""),
        FilingOrder::LastFirst => ("<", " DESC"),
    };
    format!(
        "SELECT {WHOLE_COLUMNS}, ({}), page.row FROM (
             SELECT m.row FROM memory AS m WHERE {} AND m.row {comparison} :beyond ORDER BY m.row{direction} LIMIT :limit
         ) AS page CROSS JOIN {WHOLE_TABLES} WHERE m.row = page.row ORDER BY page.row{direction}",
        conditions.successor,
        passes(filter, conditions),
    )
}

/// Rows are numbered as they come. The skipped rows are counted before anything is joined.
pub(crate) fn filed_sql(filter: &Filter, conditions: &Conditions, order: FilingOrder) -> String {
    let passes = passes(filter, conditions);
    let (successor, direction) = (&conditions.successor, direction(order));
    format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}) FROM (
             SELECT m.row FROM memory AS m WHERE {passes} ORDER BY m.row{direction} LIMIT :limit OFFSET :offset
         ) AS page CROSS JOIN {WHOLE_TABLES} WHERE m.row = page.row ORDER BY page.row{direction}"
    )
}

/// Returns the condition of the rows of a list by insertion.
fn passes(filter: &Filter, conditions: &Conditions) -> String {
    let Conditions { sql, place, .. } = conditions;
    // Of what is plain, and so not forgotten, an index says so, and nothing else is looked at.
    let shows_plain = filter.asks_for_places_only()
        && filter.forgotten != Forgotten::Only
        && filter.kinds.is_empty()
        && (filter.tiers.is_empty() || filter.tiers.contains(&Tier::LongTerm));
    if shows_plain {
        format!("{place} AND (m.is_plain OR ({sql}))")
    } else {
        format!("({sql})")
    }
}
