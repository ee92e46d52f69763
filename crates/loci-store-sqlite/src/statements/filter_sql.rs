//! A filter as SQL conditions over `memory AS m`.

use loci_core::{Filter, OwnerFilter};
use loci_index::codec::encode_names;
use loci_index::sql::{self, Dialect};
use rusqlite::ToSql;
use rusqlite::types::Value;

/// The SQL of this database. Parameters have names.
#[derive(Debug)]
pub(crate) struct Sqlite;

impl Dialect for Sqlite {
    type Value = Value;
    type Bound = (&'static str, Value);

    const PREFIX: &'static str = "";
    const OF_THREAD: &'static str =
        "m.row IN (SELECT row FROM memory WHERE space = :space AND thread = ?)";
    const IN_LIST: &'static str = "IN (SELECT value FROM json_each(?))";
    const HAS_TAGS: &'static str = "NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted \
         WHERE wanted.value NOT IN (SELECT value FROM json_each(m.tags)))";
    const NAMES_RECORD: &'static str = "number IN (SELECT entry FROM audit_record WHERE id = ?)";

    fn parameter(name: &'static str, _: usize, value: Value) -> (String, Self::Bound) {
        (name.to_owned(), (name, value))
    }

    fn list(texts: &[String]) -> Value {
        encode_names(texts).into()
    }

    fn thread(name: &str) -> Value {
        name.to_owned().into()
    }

    /// A thing has few of a space's facts: nothing shall look at the others for the sake of the
    /// order.
    fn indexed_fact(condition: &str) -> String {
        format!("row IN (SELECT row FROM fact WHERE space = :space AND {condition})")
    }
}

/// Conditions over the memory `m`, with their parameters.
pub(crate) type Conditions = sql::Conditions<Sqlite>;

/// Makes a statement read the rows of the owner through their index, if the filter names an owner
/// and no thread. Other indexes have the order that it asks for, but an owner has few of a space's
/// memories.
pub(crate) fn by_owner(filter: &Filter) -> &'static str {
    let is_by_owner = matches!(filter.owner, OwnerFilter::Only(_)) && filter.thread.is_none();
    if is_by_owner {
        " INDEXED BY memory_by_owner"
    } else {
        ""
    }
}

/// A number of rows as a parameter.
pub(crate) fn bound(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Named parameters, as a statement takes them.
pub(crate) fn parameters<'a>(values: &'a [(&'static str, Value)]) -> Vec<(&'a str, &'a dyn ToSql)> {
    values
        .iter()
        .map(|(name, value)| (*name, value as &dyn ToSql))
        .collect()
}
