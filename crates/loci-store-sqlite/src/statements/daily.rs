//! Statements over the counts of calls by day.

use loci_core::{DailyCount, DailyQuery, Space};
use loci_index::records::DAILY;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::failure::Result;
use crate::statements::filter_sql::parameters;
use crate::statements::row::read_all;

/// The condition that a row is as it was written.
macro_rules! holds {
    () => {
        "checksum IS loci_checksum(row, space, day, user, via, client, tool, outcome, calls, results, weak, \
         tokens_start, tokens_prompt, tokens_reply, stored, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)"
    };
}

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

/// Removes the counts of a user, through any tool set or through that of `?3`.
pub(crate) const WIPED: &str =
    "DELETE FROM daily WHERE space = ?1 AND user = ?2 AND (?3 IS NULL OR via = ?3)";

/// The columns of a count.
pub(crate) fn columns() -> String {
    format!("{}, {DAILY}", holds!())
}

/// Adds counts to those of the space. A damaged row stays as it is, because a change would give it
/// a checksum that holds.
pub(crate) fn add(connection: &Connection, space: &Space, counts: &[DailyCount]) -> Result<()> {
    let places: Vec<String> = (1..=26).map(|place| format!("?{place}")).collect();
    let sums = NUMBERS.map(|number| format!("{number} = {number} + excluded.{number}"));
    let sql = format!(
        "INSERT INTO daily (space, {DAILY}) VALUES ({}) \
         ON CONFLICT (space, day, user, via, client, tool, outcome) DO UPDATE SET {} WHERE {}",
        places.join(", "),
        sums.join(", "),
        holds!()
    );
    let mut statement = connection.prepare_cached(&sql)?;
    for count in counts {
        let names = count.key().map(|name| Value::from(name.to_owned()));
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
        let values = [space.as_str().to_owned().into(), Value::from(count.day)]
            .into_iter()
            .chain(names)
            .chain(numbers.map(|number| Value::from(number.cast_signed())));
        statement.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// Returns the counts that a query asks for, in the order of their keys.
pub(crate) fn read(connection: &Connection, query: &DailyQuery) -> Result<Vec<DailyCount>> {
    let mut values = vec![
        (":space", Value::from(query.space.as_str().to_owned())),
        (":from", Value::from(query.from)),
        (":until", Value::from(query.until)),
    ];
    values.extend(query.user.clone().map(|user| (":user", Value::from(user))));
    read_all(
        connection,
        &select(query.user.is_some()),
        &*parameters(&values),
    )
}

/// The statement of a query, of one user or of all.
pub(crate) fn select(of_user: bool) -> String {
    let user = if of_user { " AND user = :user" } else { "" };
    format!(
        "SELECT {} FROM daily WHERE space = :space AND day BETWEEN :from AND :until{user} \
         ORDER BY day, user, via, client, tool, outcome",
        columns()
    )
}
