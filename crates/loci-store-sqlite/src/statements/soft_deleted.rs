//! Softly deleted memories.

use loci_core::{Filter, Page, SoftDeleted, Timestamp};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::read::HAS_PART;
use crate::statements::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_superseded};

/// The memories that were softly deleted at that time or later, the last ones first.
pub(crate) fn list(
    connection: &Connection,
    filter: &Filter,
    part: Option<&str>,
    deleted_from: Timestamp,
    page: Page,
) -> Result<Vec<SoftDeleted>> {
    let mut conditions = Conditions::of_deleted(filter);
    let sql = list_sql(&conditions, part.is_some());
    if let Some(part) = part {
        let characters = part.chars().count() as i64;
        conditions.values.extend([
            (":part", Value::from(part.to_owned())),
            (":characters", Value::from(characters)),
        ]);
    }
    conditions.values.extend([
        (":deleted_from", Value::from(deleted_from.microseconds())),
        (":limit", bound(page.limit)),
        (":offset", bound(page.offset)),
    ]);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_and_then(&*parameters(&conditions.values), |row| {
        let deleted_at = row.get("deleted_at")?;
        Ok(SoftDeleted {
            memory: read_superseded(row)?,
            deleted_at: Timestamp::from_microseconds(deleted_at),
        })
    })?;
    rows.collect()
}

/// Through an index that has only softly deleted memories.
fn list_sql(conditions: &Conditions, has_part: bool) -> String {
    let Conditions { sql, successor, .. } = conditions;
    let tables = WHOLE_TABLES.replacen(" AS m", " AS m INDEXED BY memory_by_deletion", 1);
    let of_part = if has_part { HAS_PART } else { "true" };
    format!(
        "SELECT {WHOLE_COLUMNS}, ({successor}), m.deleted_at AS deleted_at FROM {tables} \
         WHERE m.deleted_at >= :deleted_from AND {of_part} AND {sql} \
         ORDER BY m.deleted_at DESC, m.id LIMIT :limit OFFSET :offset"
    )
}
