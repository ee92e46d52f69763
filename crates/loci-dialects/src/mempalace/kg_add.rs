//! `mempalace_kg_add`: note a fact.

use loci_core::{Error, Result, Scope};
use loci_engine::{Relate, Related, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ALREADY_EXISTS, Faults, given};
use super::fact::{entity, sentence};
use super::times::period;
use crate::{Context, Hints, Reply, TypedTool};

pub struct KgAdd;

/// Note a fact: something stands in a relation to something else, from a day on. One that is noted and has no end yet
/// is not added again. When a fact changes, end the old one first (`mempalace_kg_invalidate`), then add the new one:
/// both stay, each with its time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What the fact is about, such as Max (this and `object`: at most 512 bytes).
    subject: String,
    /// The relation, such as works_on (1 to 128 characters, first and last a letter or digit, no / or \).
    predicate: String,
    /// What the subject stands in that relation to, such as loci.
    object: String,
    /// The first day (YYYY-MM-DD) or moment (RFC 3339 with offset) on which it holds; left out, it always held.
    valid_from: Option<String>,
    /// The last day or moment on which it holds, if its end is known.
    valid_to: Option<String>,
    /// Where you read it: a drawer's id, a file, a name (at most 4 KiB).
    source_closet: Option<String>,
}

/// What was noted.
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
}

impl TypedTool for KgAdd {
    const NAME: &'static str = "mempalace_kg_add";
    const TITLE: &'static str = "Note a fact";
    const SCOPE: Scope = Scope::Write;
    // One with an end is added each time.
    const HINTS: Hints = Hints { read_only: false, destructive: false, idempotent: false, open_world: false };
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("subject", entity)
            .name("predicate")
            .check("object", entity)
            .time("valid_from")
            .time("valid_to")
            .optional("source_closet", check::reference)
            .found()
    }

    fn run(context: Context<'_>, arguments: Arguments) -> Result<Reply> {
        let request = Relate {
            valid_from: period("valid_from", arguments.valid_from.as_deref())?,
            valid_to: period("valid_to", arguments.valid_to.as_deref())?,
            subject: arguments.subject,
            predicate: arguments.predicate,
            object: arguments.object,
            source: given(arguments.source_closet),
        };
        let (fact, reason) = match context.engine.relate(context.caller, request)? {
            Related::New(fact) => (fact, None),
            Related::Before(fact) => (fact, Some(ALREADY_EXISTS)),
        };
        let output = Output { success: true, fact: sentence(&fact), triple_id: fact.id, reason };
        Ok(Reply::json(crate::tool::to_value(&output)?))
    }
}
