//! Statements over the counts of calls by day.

use loci_core::{AuditEntry, DailyCount, DailyQuery};
use loci_index::records::DAILY;

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Value, values};

/// The numbers of a row that a further count is added to.
const NUMBERS: [&str; 19] = [
    "calls",
    "results",
    "weak",
    "tokens_start",
    "tokens_prompt",
    "tokens_reply",
    "stored",
    "t0",
    "t1",
    "t2",
    "t3",
    "t4",
    "t5",
    "t6",
    "t7",
    "t8",
    "t9",
    "t10",
    "t11",
];

/// Adds entries of the space to the counts of their days.
pub(crate) fn add(transaction: &mut Transaction<'_>, entries: Vec<&AuditEntry>) {
    let mut rows = Vec::new();
    for count in DailyCount::all(entries).into_values().flatten() {
        let mut row = values![transaction.name(), count.day];
        row.extend(count.key().map(Value::from));
        let numbers = [
            count.calls,
            count.results,
            count.weak,
            count.tokens_start,
            count.tokens_prompt,
            count.tokens_reply,
            count.stored,
        ];
        let numbers = numbers.into_iter().chain(count.time_buckets);
        row.extend(numbers.map(|number| Value::from(number.cast_signed())));
        rows.push(row);
    }
    let sums = NUMBERS.map(|number| format!("{number} = d.{number} + excluded.{number}"));
    transaction.insert_rows(
        &format!("INSERT INTO @daily AS d (space, {DAILY})"),
        rows,
        &format!(
            " ON CONFLICT (space, day, \"user\", via, client, tool, outcome) DO UPDATE SET {}",
            sums.join(", ")
        ),
    );
}

/// Removes the counts of a user, through any tool set or through one.
pub(crate) fn wipe(transaction: &mut Transaction<'_>, owner: &str, origin: Option<&str>) {
    transaction.queue(
        "DELETE FROM @daily WHERE space = $1 AND \"user\" = $2 AND ($3::text IS NULL OR via = $3)",
        values![transaction.name(), owner, origin],
    );
}

/// Returns the counts that a query asks for, in the order of their keys.
pub(crate) async fn read(session: &Session, query: &DailyQuery) -> Result<Vec<DailyCount>> {
    let sql = format!(
        "SELECT {DAILY} FROM @daily WHERE space = $1 AND day BETWEEN $2 AND $3 \
         AND ($4::text IS NULL OR \"user\" = $4) ORDER BY day, \"user\", via, client, tool, outcome"
    );
    let values = values![&query.space, query.from, query.until, &query.user];
    session.records(&sql, &values).await
}
