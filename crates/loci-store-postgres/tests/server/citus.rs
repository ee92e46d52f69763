//! What Citus refuses of statements about tables that are distributed by space, as its planner says
//! (`docs/adr/0115-a-store-on-citus-is-prepared.md`).

use std::fs;

use crate::lint::{files, folder, table};

/// Functions that do not return the same for the same arguments at any time. Citus takes none where a
/// statement writes, beside columns or within a CASE.
const CHANGING: [&str; 8] = [
    "now(",
    "clock_timestamp(",
    "statement_timestamp(",
    "random(",
    "gen_random_uuid(",
    "nextval(",
    "current_setting(",
    "set_config(",
];

/// Returns what Citus refuses of a statement as it is written. One over all spaces concerns many shards.
pub(crate) fn refusals(sql: &str, is_over_all_spaces: bool) -> Vec<String> {
    let mut refusals = Vec::new();
    let mut refuse = |is_refused: bool, reason: &str| {
        if is_refused {
            refusals.push(format!("Citus: {reason}"));
        }
    };
    let is_insert = sql.starts_with("INSERT");
    let is_change = sql.starts_with("UPDATE") || sql.starts_with("DELETE");
    // Rows that are selected are not a subquery; the values and what follows a conflict are.
    let of_insert = sql.find(" VALUES ").or_else(|| sql.find(" ON CONFLICT "));
    let has_subquery = |part: &str| part.contains("SELECT ");
    refuse(
        is_insert && of_insert.is_some_and(|start| has_subquery(&sql[start..])),
        "a subquery in the values of an INSERT",
    );
    refuse(
        sql.starts_with("WITH") && sql.contains("INSERT INTO"),
        "a common table expression with an INSERT",
    );
    refuse(
        is_over_all_spaces && is_change && has_subquery(sql),
        "a subquery in a change of many shards",
    );
    let locks_rows = ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"]
        .iter()
        .any(|mode| sql.contains(&format!(" FOR {mode}")));
    refuse(
        is_over_all_spaces && locks_rows,
        "locks of rows in many shards",
    );
    refuse(
        sql.contains("advisory"),
        "an advisory lock, which holds on one node alone",
    );
    let sets_space = [" SET space =", ", space ="]
        .iter()
        .any(|part| sql.contains(part));
    refuse(sets_space, "another space of a row");
    refuse(
        (is_insert || is_change) && CHANGING.iter().any(|name| sql.contains(name)),
        "a function in a change whose result is not always the same",
    );
    if is_over_all_spaces {
        for alias in joined_otherwise(sql) {
            refuse(
                true,
                &format!("the table {alias} is not joined by the space"),
            );
        }
    }
    refusals
}

/// Returns the tables of a statement that are used with others, and whose space is compared with that
/// of none. A subquery without a relation to what is around it is no join.
fn joined_otherwise(sql: &str) -> Vec<String> {
    let words: Vec<_> = sql.split_whitespace().collect();
    let tables = words.iter().enumerate().filter_map(|(number, word)| {
        let table = table(word)?;
        let has_alias = words.get(number + 1) == Some(&"AS");
        let name = if has_alias { words[number + 2] } else { table };
        let is_joined = words[number - 1] == "JOIN" || words[number - 1].ends_with(',');
        Some((name.trim_matches([')', ',']), has_alias, is_joined))
    });
    let tables: Vec<_> = tables.collect();
    let is_compared = |name: &str| {
        let column = format!("{name}.space");
        words.windows(3).any(|triple| {
            let [left, right] =
                [triple[0], triple[2]].map(|side| side.trim_matches(['(', ')', ',']));
            let is_space = |side: &str| {
                side.rsplit_once('.')
                    .is_some_and(|(_, column)| column == "space")
            };
            triple[1] == "="
                && is_space(left)
                && is_space(right)
                && left != right
                && (left == column || right == column)
        })
    };
    // A table without an alias is on its own, unless it is joined.
    let with_others = tables
        .iter()
        .filter(|(_, has_alias, is_joined)| *is_joined || *has_alias);
    let with_others: Vec<_> = with_others.collect();
    if with_others.len() + usize::from(tables.len() > with_others.len()) < 2 {
        return Vec::new();
    }
    with_others
        .into_iter()
        .filter(|(name, ..)| !is_compared(name))
        .map(|(name, ..)| (*name).to_owned())
        .collect()
}

/// A statement that is refused, whether it is over all spaces, and a part of the reason.
const REFUSED: [(&str, bool, &str); 14] = [
    (
        "INSERT INTO @fact (space, row) VALUES ($1, (SELECT max(row) FROM @fact WHERE space = $1))",
        false,
        "values of an INSERT",
    ),
    (
        "INSERT INTO @fact (space, row) SELECT space, row FROM @fact WHERE space = $1 \
         ON CONFLICT (space, row) DO UPDATE SET row = (SELECT 1)",
        false,
        "values of an INSERT",
    ),
    (
        "WITH a AS (SELECT 1) INSERT INTO @fact (space) SELECT $1",
        false,
        "common table expression",
    ),
    (
        "DELETE FROM @job WHERE memory IN (SELECT row FROM @memory)",
        true,
        "change of many shards",
    ),
    ("SELECT space FROM @space FOR UPDATE", true, "locks of rows"),
    (
        "SELECT space FROM @space FOR NO KEY UPDATE SKIP LOCKED",
        true,
        "locks of rows",
    ),
    ("SELECT pg_advisory_xact_lock($1)", false, "advisory"),
    ("SELECT pg_try_advisory_lock($1)", false, "advisory"),
    (
        "UPDATE @fact SET space = $2 WHERE space = $1",
        false,
        "another space",
    ),
    (
        "INSERT INTO @fact (space) VALUES ($1) ON CONFLICT (row) DO UPDATE SET id = $2, space = $3",
        false,
        "another space",
    ),
    (
        "UPDATE @fact SET created_at = extract(epoch FROM now()) WHERE space = $1",
        false,
        "function",
    ),
    (
        "SELECT s.space FROM @space AS s JOIN @job AS j ON j.memory = s.rows",
        true,
        "table s is not joined",
    ),
    (
        "SELECT s.space FROM @space AS s WHERE EXISTS (SELECT 1 FROM @job AS j WHERE j.memory = 1)",
        true,
        "table j is not joined",
    ),
    (
        "SELECT s.space FROM @space AS s JOIN @job ON memory = 1",
        true,
        "table job is not joined",
    ),
];

/// Statements of the same form that are taken, and whether they are over all spaces.
const TAKEN: [(&str, bool); 6] = [
    (
        "INSERT INTO @fact (space, row) SELECT space, 1 + coalesce(max(row), 0) FROM @fact WHERE space = $1 \
         ON CONFLICT (space, row) DO UPDATE SET id = excluded.id",
        false,
    ),
    ("SELECT 1 FROM @space WHERE space = $1 FOR UPDATE", false),
    (
        "DELETE FROM @job WHERE space = $1 AND memory IN (SELECT row FROM @memory WHERE space = $1)",
        false,
    ),
    (
        "SELECT s.space FROM @space AS s LEFT JOIN @job AS j ON j.space = s.space WHERE j.space IS NULL",
        true,
    ),
    (
        "SELECT s.space FROM @space AS s WHERE EXISTS (SELECT 1 FROM @job AS j WHERE j.space = s.space)",
        true,
    ),
    (
        "SELECT (SELECT count(*) FROM @memory), (SELECT count(*) FROM @fact)",
        true,
    ),
];

#[test]
fn statements_that_citus_refuses_are_faults() {
    for (sql, is_over_all_spaces, reason) in REFUSED {
        let refusals = refusals(sql, is_over_all_spaces);
        assert!(
            refusals.iter().any(|refusal| refusal.contains(reason)),
            "{sql}: {refusals:?}"
        );
    }
    for (sql, is_over_all_spaces) in TAKEN {
        assert_eq!(refusals(sql, is_over_all_spaces), [""; 0], "{sql}");
    }
}

/// Beside the lock of migrations, which earlier processes know, and the test of the rules for them.
#[test]
fn no_file_takes_an_advisory_lock() {
    for file in files(&folder("src")) {
        let may = ["migration_lock.rs", "migrations.rs"];
        if !may.iter().any(|name| file.ends_with(name)) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("advisory_"), "{}", file.display());
        }
    }
}
