//! The tool `mempalace_kg_add`: adds a fact.

use loci_core::limits::FACTS_MAX;
use loci_core::{Caller, Error, Fact, Period, Result, Scope};
use loci_engine::{AddedFact, Call, NewFact, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ALREADY_EXISTS, given, name, time};
use super::fact::{entity, sentence};
use super::times::{period, shown};
use crate::faults::Faults;
use crate::wire::{FactAuthorship, string_or_null};
use crate::{Hints, Reply, TypedTool};

/// The maximum number of other facts in a reply.
const OTHERS_MAX: usize = 10;

pub struct KgAdd;

/// Note a fact, from a day on. One that is noted and open is not added again. When a fact changes,
/// first end the old one (`mempalace_kg_invalidate`): both stay, each with its time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Such as Max (this and `object`: at most 512 bytes).
    subject: String,
    /// The relation, such as works_on (1 to 128 characters, first and last a letter or digit, no /
    /// or \).
    predicate: String,
    /// Such as loci.
    object: String,
    /// The first day (YYYY-MM-DD) or moment (RFC 3339 with offset); always, if left out.
    valid_from: Option<String>,
    /// Its last day, or the moment at which it ends, if known.
    valid_to: Option<String>,
    /// Where you read it: a drawer's id, a file (at most 4 KiB).
    source_closet: Option<String>,
}

/// The fact that was added.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the fact.
    triple_id: String,
    /// The fact as a line, in the spellings that it is kept under.
    fact: String,
    /// `already_exists` if it was noted before and nothing was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(flatten)]
    kept: Option<EarlierFact>,
    /// Other facts of this subject and this predicate that have no end yet, or one in the future:
    /// ten at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_open: Vec<OpenFact>,
}

/// Another open fact with the same subject and predicate.
#[derive(Serialize, JsonSchema)]
struct OpenFact {
    /// Its id.
    triple_id: String,
    /// The object.
    object: String,
    /// The start of its validity; null if it has always held.
    #[schemars(schema_with = "string_or_null")]
    valid_from: Option<String>,
    #[serde(flatten)]
    authorship: FactAuthorship,
}

impl OpenFact {
    fn of(reader: &Caller, fact: Fact) -> Self {
        OpenFact {
            authorship: FactAuthorship::of(reader, &fact),
            triple_id: fact.id,
            object: fact.object.spelling,
            valid_from: fact.valid_from.map(shown),
        }
    }
}

/// Returns a notice of how many other facts are open.
fn others_open(others: usize) -> Option<String> {
    let are = match others {
        0 => return None,
        1 => "1 other fact of this subject and predicate is".to_owned(),
        FACTS_MAX.. => {
            format!("at least {FACTS_MAX} other facts of this subject and predicate are")
        }
        _ => format!("{others} other facts of this subject and predicate are"),
    };
    Some(format!(
        "{are} open, too; end what no longer holds (mempalace_kg_invalidate)"
    ))
}

/// The validity and the author of a fact that existed already.
#[derive(Serialize, JsonSchema)]
struct EarlierFact {
    /// Of a fact that was noted before, from when it holds; null if always.
    #[schemars(schema_with = "string_or_null")]
    valid_from: Option<String>,
    /// Of a fact that was noted before, until when it holds; null if no end is known.
    #[schemars(schema_with = "string_or_null")]
    valid_to: Option<String>,
    #[serde(flatten)]
    authorship: FactAuthorship,
}

impl EarlierFact {
    fn of(reader: &Caller, fact: &Fact) -> Self {
        EarlierFact {
            authorship: FactAuthorship::of(reader, fact),
            valid_from: fact.valid_from.map(shown),
            valid_to: fact.valid_to.map(shown),
        }
    }
}

/// Returns a notice if the existing open fact has another start than the one given.
fn begun_otherwise(fact: &Fact, valid_from: Option<Period>) -> Option<String> {
    let since = fact
        .valid_from
        .map_or("always".to_owned(), |from| format!("since {}", shown(from)));
    (valid_from.is_some() && valid_from != fact.valid_from).then(|| {
        format!(
            "this fact is noted as holding {since}; to change its beginning, end it first (mempalace_kg_invalidate)"
        )
    })
}

impl TypedTool for KgAdd {
    const NAME: &'static str = "mempalace_kg_add";
    const TITLE: &'static str = "Note a fact";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("subject", entity)
            .check("predicate", name)
            .check("object", entity)
            .check("valid_from", time)
            .check("valid_to", time)
            .optional("source_closet", check::reference)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let valid_from = period("valid_from", arguments.valid_from.as_deref())?;
        let request = NewFact {
            valid_from,
            valid_to: period("valid_to", arguments.valid_to.as_deref())?,
            subject: arguments.subject,
            predicate: arguments.predicate,
            object: arguments.object,
            source: given(arguments.source_closet),
        };
        let (fact, is_new) = match call.graph().add_fact(request)? {
            AddedFact::New(fact) => (fact, true),
            AddedFact::Before(fact) => (fact, false),
        };
        let notice = begun_otherwise(&fact, valid_from);
        let others = call.graph().other_open_facts(&fact)?;
        let open = others_open(others.len());
        let output = Output {
            success: true,
            fact: sentence(&fact),
            reason: (!is_new).then_some(ALREADY_EXISTS),
            kept: (!is_new).then(|| EarlierFact::of(call.caller(), &fact)),
            other_open: others
                .into_iter()
                .take(OTHERS_MAX)
                .map(|fact| OpenFact::of(call.caller(), fact))
                .collect(),
            triple_id: fact.id,
        };
        Ok(Reply::json(&output, None)?
            .with_notice(notice)
            .with_notice(open))
    }
}
