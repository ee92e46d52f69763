//! A fact of the knowledge graph in the format of this dialect.

use loci_core::limits::{ENTITY_BYTES_MAX, FACTS_MAX};
use loci_core::{Caller, Error, Fact, Result, Timestamp};
use loci_engine::check;
use schemars::JsonSchema;
use serde::Serialize;

use super::times::shown;
use crate::wire::{FactAuthorship, string_or_null};

/// A fact.
#[derive(Serialize, JsonSchema)]
pub struct FactRecord {
    /// `outgoing` if the entity that was asked about is the subject, `incoming` if it is the
    /// object.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    /// The subject.
    subject: String,
    /// The relation.
    predicate: String,
    /// The object.
    object: String,
    /// The start of its validity, a day or a moment; null if it has always held.
    #[schemars(schema_with = "string_or_null")]
    valid_from: Option<String>,
    /// Its last day, or the moment at which it ends and no longer holds; null if it is open.
    #[schemars(schema_with = "string_or_null")]
    valid_to: Option<String>,
    /// True if it holds now: it has started, and its end is open or in the future.
    current: bool,
    /// Its id.
    triple_id: String,
    /// The source; null if the writer gave no source.
    #[schemars(schema_with = "string_or_null")]
    source_closet: Option<String>,
    #[serde(flatten)]
    authorship: FactAuthorship,
}

impl FactRecord {
    /// Converts a fact for this reader as of `now`. `direction` is the role of the queried entity in
    /// it, if there was one.
    pub fn of(
        reader: &Caller,
        fact: Fact,
        now: Timestamp,
        direction: Option<&'static str>,
    ) -> Self {
        FactRecord {
            authorship: FactAuthorship::of(reader, &fact),
            direction,
            current: fact.is_open_after(now) && !fact.begins_after(now),
            subject: fact.subject.spelling,
            predicate: fact.predicate.spelling,
            object: fact.object.spelling,
            valid_from: fact.valid_from.map(shown),
            valid_to: fact.valid_to.map(shown),
            triple_id: fact.id,
            source_closet: fact.source,
        }
    }
}

/// Formats a fact as one line.
pub fn sentence(fact: &Fact) -> String {
    format!(
        "{} → {} → {}",
        fact.subject.spelling, fact.predicate.spelling, fact.object.spelling
    )
}

/// Checks the name of an entity without the blanks around it: not empty, without control
/// characters, of at most [`ENTITY_BYTES_MAX`] bytes.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the byte limit, naming the argument.
pub fn entity(argument: &str, name: &str) -> Result<()> {
    let name = name.trim();
    check::text(argument, name, ENTITY_BYTES_MAX)?;
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(argument, "must not hold control characters"));
    }
    Ok(())
}

/// Returns a notice that a list has more facts, with the offset of the next page.
pub fn cut(is_cut: bool, offset: usize) -> Option<String> {
    let next = offset.saturating_add(FACTS_MAX);
    is_cut.then(|| {
        format!("there are more than these {FACTS_MAX} facts; the next start at `offset` {next}")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{Batch, Caller, Change, Name, Store};
    use loci_engine::{Engine, SearchMode};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
    use serde_json::{Value, json};

    use super::*;
    use crate::Context;
    use crate::mempalace::DIALECT;

    #[test]
    fn a_list_that_is_cut_says_so() {
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(0)));
        let embedder = Arc::new(HashingEmbedder::new(8));
        let store = Arc::new(NaiveStore::new());
        let engine = Engine::new(store.clone(), embedder, clock, SearchMode::Words);
        let caller = Caller::local();
        let notices = || {
            let calls = [
                ("mempalace_kg_query", json!({"entity": "Max"})),
                ("mempalace_kg_timeline", json!({"entity": "Max"})),
                ("mempalace_kg_timeline", json!({})),
            ];
            calls.map(|(tool, arguments)| {
                let Value::Object(arguments) = arguments else {
                    panic!("{tool}")
                };
                let context = Context {
                    engine: &engine,
                    caller: &caller,
                };
                let reply = DIALECT
                    .call(DIALECT.tool(tool).unwrap(), context, arguments)
                    .unwrap();
                assert_eq!(reply.structured["count"], FACTS_MAX);
                reply.structured.get("notice").cloned()
            })
        };
        let name = |name: String| Name {
            key: name.clone(),
            spelling: name,
        };
        let put = |number: usize| {
            Change::PutFact(Box::new(Fact {
                space: caller.space.clone(),
                id: number.to_string(),
                subject: name("max".to_owned()),
                predicate: name("counts".to_owned()),
                object: name(number.to_string()),
                valid_from: None,
                valid_to: None,
                source: None,
                author: Fact::author_of(Some("local")),
                created_at: Timestamp::from_microseconds(0),
            }))
        };
        let commit = |changes| {
            store
                .commit(Batch::new(caller.space.clone(), changes))
                .unwrap();
        };
        commit((1..=FACTS_MAX).map(put).collect());
        assert_eq!(notices(), [None, None, None]);
        commit(vec![put(0)]);
        for notice in notices() {
            let notice = notice.unwrap();
            assert!(
                notice
                    .as_str()
                    .unwrap()
                    .starts_with("there are more than these 1000 facts; "),
                "{notice}"
            );
        }
    }
}
