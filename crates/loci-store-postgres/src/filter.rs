//! A filter as SQL conditions over `@memory AS m`.

use loci_core::Filter;
use loci_index::sql::{self, Dialect, KeyColumn};

use crate::value::{Value, digest};

/// The SQL of this server. Parameters have numbers.
pub(crate) struct Postgres;

impl Dialect for Postgres {
    type Value = Value;
    type Bound = Value;

    const PREFIX: &'static str = "@";
    const OF_THREAD: &'static str = "m.space = $1 AND m.thread_key = ?";
    const IN_LIST: &'static str = "= ANY(?)";
    const HAS_TAGS: &'static str = "m.tags @> ?";
    const NAMES_RECORD: &'static str =
        "number IN (SELECT entry FROM @audit_record WHERE space = $1 AND id = ?)";

    fn parameter(_: &'static str, place: usize, value: Value) -> (String, Value) {
        (format!("${place}"), value)
    }

    fn list(texts: &[String]) -> Value {
        texts.into()
    }

    fn thread(name: &str) -> Value {
        digest(&[Some(name)]).into()
    }

    fn indexed_fact(condition: &str) -> String {
        format!("(f.space = $1 AND {condition})")
    }

    fn triple(keys: &[String; 3]) -> Vec<KeyColumn<Self>> {
        let keys = keys.each_ref().map(|key| Some(key.as_str()));
        vec![(":triple", "triple", digest(&keys).into())]
    }
}

/// Conditions and the values of their parameters. The space is `$1` and the time `$2`.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// An expression; it names the memory `m`.
    pub(crate) sql: String,
    /// Selects the id of the newest live, readable and not forgotten memory that supersedes `m`.
    pub(crate) successor: String,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    pub(crate) fn of(filter: &Filter) -> Self {
        Self::from_sql(sql::Conditions::of(filter))
    }

    /// Returns the same conditions for soft-deleted memories.
    pub(crate) fn of_deleted(filter: &Filter) -> Self {
        Self::from_sql(sql::Conditions::of_deleted(filter))
    }

    fn from_sql(conditions: sql::Conditions<Postgres>) -> Self {
        Conditions {
            sql: conditions.sql,
            successor: conditions.successor,
            values: conditions.values,
        }
    }

    /// Adds a parameter; returns its name.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }
}
