//! Lists in an order that no index has.

use loci_core::{Filter, Memory, Page, SortKey, Sorting};
use rusqlite::Connection;

use crate::failure::Result;
use crate::statements::filed::passes;
use crate::statements::filter_sql::Conditions;
use crate::statements::read::read_page;
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES};

pub(crate) fn sorted(
    connection: &Connection,
    filter: &Filter,
    sorting: Sorting,
    page: Page,
) -> Result<Vec<Memory>> {
    let conditions = Conditions::of(filter);
    read_page(
        connection,
        &sorted_sql(filter, &conditions, sorting),
        conditions.values,
        page,
    )
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
