//! The tool `mempalace_kg_invalidate`: ends a fact.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{name, time};
use super::fact::{entity, sentence};
use super::times::{period, shown};
use crate::faults::Faults;
use crate::wire::FactAuthorship;
use crate::{Hints, Reply, TypedTool};

pub struct KgInvalidate;

/// End a fact that no longer holds. It stays, with its end, for questions about the time before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// As it was noted.
    subject: String,
    /// The relation.
    predicate: String,
    /// As it was noted.
    object: String,
    /// The last day (YYYY-MM-DD) on which it held, or the moment (RFC 3339 with offset) at which it
    /// ended; left out, it is over now.
    ended: Option<String>,
}

/// The facts that were ended.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The fact as a line.
    fact: String,
    /// When it ended.
    ended: String,
    /// The number of facts that said this and were ended.
    closed: usize,
    #[serde(flatten)]
    authorship: Option<FactAuthorship>,
}

impl TypedTool for KgInvalidate {
    const NAME: &'static str = "mempalace_kg_invalidate";
    const TITLE: &'static str = "End a fact";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals existing data.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("subject", entity)
            .check("predicate", name)
            .check("object", entity)
            .check("ended", time)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            subject,
            predicate,
            object,
            ended,
        } = arguments;
        let ended = period("ended", ended.as_deref())?;
        let outcome = call
            .graph()
            .end_facts([&subject, &predicate, &object], ended);
        let (facts, ended) = outcome
            .map_err(|error| error.with_remedy("ask mempalace_kg_query about the subject"))?;
        let output = Output {
            success: true,
            fact: facts.first().map(sentence).unwrap_or_default(),
            ended: shown(ended),
            closed: facts.len(),
            authorship: facts
                .first()
                .map(|fact| FactAuthorship::of(call.caller(), fact)),
        };
        Reply::json(&output, None)
    }
}
