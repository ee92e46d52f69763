//! The counts of places, counted again.

use std::collections::HashMap;

use tokio_postgres::Row;

use crate::failure::Result;
use crate::row::{PLACE_COLUMNS, Place};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, values};

/// Memories by place.
type Counts = HashMap<Place, i64>;

fn kept() -> String {
    format!(
        "SELECT {PLACE_COLUMNS}, m.is_forgotten, m.memories FROM @place_count AS m WHERE m.space = $1"
    )
}

fn counted() -> String {
    format!(
        "SELECT {PLACE_COLUMNS}, m.forgotten_at IS NOT NULL, count(*) FROM @memory AS m WHERE m.space = $1 \
         AND m.expires_at IS NULL AND m.deleted_at IS NULL GROUP BY {PLACE_COLUMNS}, m.forgotten_at IS NOT NULL"
    )
}

fn read(rows: &[Row]) -> Result<Counts> {
    let mut counts = Counts::new();
    for row in rows {
        let mut columns = Columns::of(row);
        let place = Place::read(&mut columns)?;
        *counts.entry(place).or_default() += columns.take::<i64>()?;
    }
    Ok(counts)
}

/// Returns of how many places the count that the space keeps differs from that of its memories.
pub(crate) async fn differences(session: &Session, space: &str) -> Result<usize> {
    let kept = read(&session.query(&kept(), &values![space]).await?)?;
    let counted = read(&session.query(&counted(), &values![space]).await?)?;
    let lost = kept.keys().filter(|place| !counted.contains_key(place));
    let wrong = counted
        .iter()
        .filter(|(place, memories)| kept.get(place) != Some(memories));
    Ok(lost.count() + wrong.count())
}

/// Counts the memories of all places of the space again.
pub(crate) async fn recount(transaction: &mut Transaction<'_>) -> Result<()> {
    let name = transaction.name();
    let counted = read(&transaction.query(&counted(), values![name]).await?)?;
    transaction.queue("DELETE FROM @place_count WHERE space = $1", values![name]);
    transaction.add_counts(counted);
    Ok(())
}
