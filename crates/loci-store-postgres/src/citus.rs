//! The names and messages that a cluster with Citus needs (`docs/adr/0117-a-store-on-citus.md`).

use std::borrow::Cow;

/// The beginning of the names of the tables in which rows of the whole store lie apart from those of
/// spaces.
pub(crate) const APART: &str = "store_";

/// The tables that have rows of spaces and rows of the whole store. The latter lie on the coordinator,
/// in a table of the same form, because the death of a worker would stop what concerns no space
/// otherwise, e.g. that a token is revoked.
pub(crate) const KEPT_APART: [&str; 3] = ["space", "change", "writer"];

/// The table that tells that the others are distributed.
pub(crate) const MARK: &str = "store_space";

/// The tables that have only rows of the whole store. They are tables of the coordinator as on plain
/// PostgreSQL: each call reads a token, whichever worker is dead.
pub(crate) const OF_STORE: [&str; 5] = [
    "migration",
    "migration_lock",
    "installation",
    "token",
    "lease",
];

/// Returns true if the text begins with the name of a table whose rows of the whole store lie apart.
pub(crate) fn is_kept_apart(text: &str) -> bool {
    let is_of_name = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
    let end = text.find(|sign| !is_of_name(sign)).unwrap_or(text.len());
    KEPT_APART.contains(&&text[..end])
}

/// Returns true if a table is one that only distributed stores have.
pub(crate) fn is_of_cluster(table: &str) -> bool {
    table
        .strip_prefix(APART)
        .is_some_and(|name| KEPT_APART.contains(&name))
}

/// Returns the changes of tables whose rows of the whole store lie apart, for the tables with these.
pub(crate) fn repeated(messages: &[String]) -> Vec<String> {
    let repeated = messages.iter().filter_map(|sql| {
        let rest = sql.strip_prefix("ALTER TABLE @")?;
        is_kept_apart(rest).then(|| format!("ALTER TABLE @{APART}{rest}"))
    });
    repeated.collect()
}

/// Returns the messages that start a transaction on a cluster, whose settings reach its workers. Citus
/// sends the whole message of a setting on to them, so that the start may not be in it.
pub(crate) fn beginning<'a>(begin: &str) -> Vec<Cow<'a, str>> {
    const PROPAGATE: &str = "SET LOCAL citus.propagate_set_commands = 'local'";
    match begin.split_once("; ") {
        Some((begin, settings)) => vec![
            format!("{begin}; {PROPAGATE}").into(),
            settings.to_owned().into(),
        ],
        None => vec![begin.to_owned().into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_rows_of_the_store_are_repeated() {
        let messages = [
            "ALTER TABLE @space ADD COLUMN more bigint",
            "ALTER TABLE @space_more ADD COLUMN more bigint",
            "CREATE TABLE @space",
        ];
        let repeated = repeated(&messages.map(str::to_owned));
        assert_eq!(
            repeated,
            ["ALTER TABLE @store_space ADD COLUMN more bigint"]
        );
    }

    #[test]
    fn settings_are_sent_apart_from_the_beginning() {
        assert_eq!(beginning("BEGIN"), ["BEGIN"]);
        let begin = "BEGIN; SET LOCAL a = 1; SET LOCAL b = 2";
        let expected = [
            "BEGIN; SET LOCAL citus.propagate_set_commands = 'local'",
            "SET LOCAL a = 1; SET LOCAL b = 2",
        ];
        assert_eq!(beginning(begin), expected);
    }
}
