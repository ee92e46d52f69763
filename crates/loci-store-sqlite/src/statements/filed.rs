//! Lists of memories in the order of their filing.

use std::collections::BTreeSet;

use loci_core::{CollectionFilter, FilingOrder, Filter, Forgotten, Memory, Page, Tier};
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
    let (sql, values) = filed_sql(filter, order);
    read_page(connection, &sql, values, page)
}

pub(crate) fn filed_beyond(
    connection: &Connection,
    filter: &Filter,
    order: FilingOrder,
    beyond: Option<u64>,
    limit: usize,
) -> Result<Vec<(u64, Memory)>> {
    let (sql, mut values) = filed_beyond_sql(filter, order);
    // Rows are numbered from 1.
    let from = match order {
        FilingOrder::FirstFirst => 0,
        FilingOrder::LastFirst => i64::MAX,
    };
    let beyond = beyond.map_or(from, |row| i64::try_from(row).unwrap_or(i64::MAX));
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

/// The statement for the rows beyond `:beyond`, with its values but for this and `:limit`.
pub(crate) fn filed_beyond_sql(filter: &Filter, order: FilingOrder) -> (String, Values) {
    let comparison = match order {
        FilingOrder::FirstFirst => ">",
        FilingOrder::LastFirst => "<",
    };
    let Listed {
        rows,
        successor,
        values,
    } = Listed::of(
        filter,
        order,
        &format!(" AND m.row {comparison} :beyond"),
        ":limit",
    );
    let direction = direction(order);
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}), page.row FROM ({rows} LIMIT :limit) AS page CROSS JOIN {WHOLE_TABLES}
         WHERE m.row = page.row ORDER BY page.row{direction}"
    );
    (sql, values)
}

/// The statement for a page, with its values but for `:limit` and `:offset`. Rows are numbered as
/// they come. The skipped rows are counted before anything is joined.
pub(crate) fn filed_sql(filter: &Filter, order: FilingOrder) -> (String, Values) {
    let Listed {
        rows,
        successor,
        values,
    } = Listed::of(filter, order, "", REACH);
    let direction = direction(order);
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}) FROM ({rows} LIMIT :limit OFFSET :offset) AS page
         CROSS JOIN {WHOLE_TABLES} WHERE m.row = page.row ORDER BY page.row{direction}"
    );
    (sql, values)
}

/// The last memory of a page. A sum that is too large for an integer would be no limit.
const REACH: &str = ":limit + min(:offset, 0x7fffffffffffffff - :limit)";

/// The values of a statement, by the names of their parameters.
pub(crate) type Values = Vec<(&'static str, Value)>;

/// The names of the parameters for the collections of a list of several: an index has each in the
/// order of the list, and no index has them together. Beyond these, the list of all is looked at.
const COLLECTIONS: [&str; 4] = [
    ":collection",
    ":collection_2",
    ":collection_3",
    ":collection_4",
];

/// The rows of a list in its order.
struct Listed {
    /// Selects them.
    rows: String,
    /// Selects what supersedes one of them.
    successor: String,
    values: Values,
}

impl Listed {
    /// Returns the rows that pass a filter and meet a further condition. Of each collection, no more
    /// than `limit` are looked at.
    fn of(filter: &Filter, order: FilingOrder, further: &str, limit: &str) -> Self {
        let direction = direction(order);
        let select = |passes: &str| {
            format!(
                "SELECT m.row FROM memory AS m WHERE {passes}{further} ORDER BY m.row{direction}"
            )
        };
        let names: BTreeSet<&Option<String>> = match &filter.collections {
            CollectionFilter::AnyOf(names) => names.iter().collect(),
            _ => BTreeSet::new(),
        };
        if !(2..=COLLECTIONS.len()).contains(&names.len()) {
            let conditions = Conditions::of(filter);
            return Listed {
                rows: select(&passes(filter, &conditions)),
                successor: conditions.successor,
                values: conditions.values,
            };
        }
        let of_one = |collections: CollectionFilter| {
            let filter = Filter {
                collections,
                ..filter.clone()
            };
            let conditions = Conditions::of(&filter);
            (passes(&filter, &conditions), conditions)
        };
        let (global, mut conditions) = of_one(CollectionFilter::Global);
        let (named, _) = of_one(CollectionFilter::Only(String::new()));
        let mut branches = Vec::new();
        for (parameter, name) in COLLECTIONS.into_iter().zip(names) {
            let passes = match name {
                None => global.clone(),
                Some(name) => {
                    conditions.values.push((parameter, name.clone().into()));
                    named.replace(COLLECTIONS[0], parameter)
                }
            };
            branches.push(format!(
                "SELECT row FROM ({} LIMIT {limit})",
                select(&passes)
            ));
        }
        Listed {
            rows: format!(
                "SELECT row FROM ({}) ORDER BY row{direction}",
                branches.join(" UNION ALL ")
            ),
            successor: conditions.successor,
            values: conditions.values,
        }
    }
}

/// Returns the condition of the rows of a list of all that passes.
pub(super) fn passes(filter: &Filter, conditions: &Conditions) -> String {
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
