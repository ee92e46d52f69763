//! Lists in an order that no index of memories has.

use loci_core::{CollectionFilter, Filter, Memory, Page, SortKey, Sorting};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::failure::Result;
use crate::statements::filed::passes;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::read::{read_all_superseded, read_page};
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES};

/// The memories that are looked at together in the order of a ranking.
const LOOKED_AT_ONCE: usize = 128;

pub(crate) fn sorted(
    connection: &Connection,
    filter: &Filter,
    sorting: Sorting,
    page: Page,
) -> Result<Vec<Memory>> {
    let conditions = Conditions::of(filter);
    let is_narrow = !filter.asks_for_places_only()
        || filter.collections != CollectionFilter::Any
        || !filter.sections.is_empty()
        || !filter.kinds.is_empty();
    match Ranking::of(sorting) {
        Some(ranking) if !is_narrow => {
            let snapshot = connection.unchecked_transaction()?;
            let found = ranking.page(&snapshot, filter, conditions, page)?;
            snapshot.finish()?;
            Ok(found)
        }
        _ => {
            let sql = sorted_sql(filter, &conditions, sorting);
            read_page(connection, &sql, conditions.values, page)
        }
    }
}

/// An order of memories that is read without a look at each of them.
struct Ranking {
    /// Selects rows in the order.
    ranked: String,
    /// A condition of the memories that it leaves out, which come in the order of their filing.
    others: Option<&'static str>,
    /// True if the others come last.
    are_others_last: bool,
}

impl Ranking {
    fn of(sorting: Sorting) -> Option<Self> {
        let (ranked, others) = match sorting.key {
            SortKey::Uses => (
                "memory FROM access WHERE count > 0 ORDER BY count",
                Some(
                    "NOT EXISTS (SELECT 1 FROM access AS a WHERE a.memory = m.row AND a.count > 0)",
                ),
            ),
            SortKey::LastUse => (
                "memory FROM access WHERE last IS NOT NULL ORDER BY last",
                Some(
                    "NOT EXISTS (SELECT 1 FROM access AS a WHERE a.memory = m.row AND a.last IS NOT NULL)",
                ),
            ),
            SortKey::Size => ("memory FROM content ORDER BY octet_length(text)", None),
            SortKey::Kind | SortKey::Program | SortKey::Update => return None,
        };
        let direction = if sorting.is_descending { " DESC" } else { "" };
        Some(Ranking {
            ranked: format!("SELECT {ranked}{direction}, memory DESC"),
            others,
            are_others_last: sorting.is_descending,
        })
    }

    fn page(
        &self,
        connection: &Connection,
        filter: &Filter,
        conditions: Conditions,
        page: Page,
    ) -> Result<Vec<Memory>> {
        let passes = passes(filter, &conditions);
        let wanted = page.offset.saturating_add(page.limit);
        let mut rows = Vec::new();
        if !self.are_others_last {
            self.add_others(connection, &passes, &conditions, wanted, &mut rows)?;
        }
        self.add_ranked(connection, &passes, &conditions, wanted, &mut rows)?;
        if self.are_others_last {
            self.add_others(connection, &passes, &conditions, wanted, &mut rows)?;
        }
        let shown = rows.get(page.offset..).unwrap_or_default();
        let sql = format!(
            "SELECT {WHOLE_COLUMNS}, ({}) FROM json_each(:rows) AS page CROSS JOIN {WHOLE_TABLES} \
             WHERE m.row = page.value AND ({passes}) ORDER BY page.key",
            conditions.successor
        );
        let mut values = conditions.values;
        values.push((":rows", json(&shown[..shown.len().min(page.limit)])));
        read_all_superseded(connection, &sql, &values)
    }

    /// Adds ranked memories that pass, until there are as many as wanted.
    fn add_ranked(
        &self,
        connection: &Connection,
        passes: &str,
        conditions: &Conditions,
        wanted: usize,
        found: &mut Vec<i64>,
    ) -> Result<()> {
        let sql = format!(
            "SELECT m.row FROM json_each(:rows) AS ranked CROSS JOIN memory AS m \
             WHERE m.row = ranked.value AND ({passes}) ORDER BY ranked.key"
        );
        let mut passing = connection.prepare_cached(&sql)?;
        let mut ranked = connection.prepare_cached(&self.ranked)?;
        let mut ranked = ranked.query_map([], |row| row.get::<_, i64>(0))?;
        while found.len() < wanted {
            let looked_at = ranked.by_ref().take(LOOKED_AT_ONCE);
            let looked_at: Vec<i64> = looked_at.collect::<rusqlite::Result<_>>()?;
            if looked_at.is_empty() {
                break;
            }
            let mut values = conditions.values.clone();
            values.push((":rows", json(&looked_at)));
            let rows = passing.query_map(&*parameters(&values), |row| row.get(0))?;
            found.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
        }
        Ok(())
    }

    /// Adds the last filed memories that pass and have no rank, until there are as many as wanted.
    fn add_others(
        &self,
        connection: &Connection,
        passes: &str,
        conditions: &Conditions,
        wanted: usize,
        found: &mut Vec<i64>,
    ) -> Result<()> {
        let Some(others) = self.others else {
            return Ok(());
        };
        let sql = format!(
            "SELECT m.row FROM memory AS m WHERE {passes} AND {others} ORDER BY m.row DESC LIMIT :limit"
        );
        let mut values = conditions.values.clone();
        values.push((":limit", bound(wanted.saturating_sub(found.len()))));
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(&*parameters(&values), |row| row.get(0))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
        Ok(())
    }
}

/// Returns numbers as a JSON array.
fn json(numbers: &[i64]) -> Value {
    serde_json::Value::from(numbers).to_string().into()
}

/// A look at everything that passes, of which only the page is read whole, and of what is plain no
/// row. The length of a text is in the head of its row, so that no text is read for it.
fn sorted_sql(filter: &Filter, conditions: &Conditions, sorting: Sorting) -> String {
    let (passes, successor) = (passes(filter, conditions), &conditions.successor);
    let [first, second] = match sorting.key {
        SortKey::Uses => ["ifnull(a.count, 0)", "0"],
        SortKey::LastUse => ["a.last IS NOT NULL", "a.last"],
        SortKey::Size => ["octet_length(c.text)", "0"],
        SortKey::Kind => ["m.kind", "0"],
        SortKey::Program => ["ifnull(m.program, '')", "0"],
        SortKey::Update => ["m.updated_at", "0"],
    };
    let joined = match sorting.key {
        SortKey::Uses | SortKey::LastUse => " LEFT JOIN access AS a ON a.memory = m.row",
        SortKey::Size => " JOIN content AS c ON c.memory = m.row",
        SortKey::Kind | SortKey::Program | SortKey::Update => "",
    };
    let direction = if sorting.is_descending { " DESC" } else { "" };
    format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}) FROM (
             SELECT m.row AS row, {first} AS major, {second} AS minor FROM memory AS m{joined} WHERE {passes}
             ORDER BY major{direction}, minor{direction}, m.row DESC LIMIT :limit OFFSET :offset
         ) AS page CROSS JOIN {WHOLE_TABLES} WHERE m.row = page.row
         ORDER BY page.major{direction}, page.minor{direction}, page.row DESC"
    )
}
