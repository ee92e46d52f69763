//! The tool `update_memory`: replaces the text of a record.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{id, in_words, record_id};
use super::outcome::Outcome;
use super::record::visibility;
use crate::faults::Faults;
use crate::wire::{Replaced, pending};
use crate::{Hints, Reply, TypedTool};

pub struct UpdateMemory;

/// Replace the text of a memory or discovery of yours, when it holds no longer as it stands. Scope,
/// labels and citations stay; of a discovery, the summary goes, since it was of the text before. To
/// give a discovery other citations, labels or a new summary, call `store_discovery` with its id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of what to change.
    id: String,
    /// The new text, kept exactly as given (at most 1 MiB; 64 KiB for a discovery).
    content: String,
    /// True to let others read it, false to make it private; left out, that stays as it is.
    shared: Option<bool>,
}

impl TypedTool for UpdateMemory {
    const NAME: &'static str = "update_memory";
    const TITLE: &'static str = "Update a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Outcome;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("id", record_id)
            .check("content", check::content)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            id: sent,
            content,
            shared,
        } = arguments;
        let id = id(call, &sent)?;
        let updated = call.memories().update(&id, &content, shared);
        let (memory, embedding) = updated.map_err(in_words(&sent))?;
        let visibility = Some(visibility(&memory));
        Outcome {
            id: id.to_string(),
            status: "updated",
            visibility,
            replaced: call
                .memories()
                .replaced_by(&memory)
                .map(|version| Replaced::of_version(&version)),
            notice: pending("updated", embedding),
        }
        .reply()
    }
}
