//! The tool `update`: replaces the text of a memory.

use loci_core::{Result, Scope};
use loci_engine::{Call, Embedding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::wire::Replaced;
use crate::{Hints, Reply, TypedTool};

pub struct Update;

/// Replace the text of a memory. Everything else stays, and its age starts again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// The new text, kept exactly as given (at most 1 MiB).
    content: String,
}

/// The memory with its new text.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    memory: Record,
    /// The text that it replaced, unless the new one is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<Replaced>,
}

impl TypedTool for Update {
    const NAME: &'static str = "update";
    const TITLE: &'static str = "Update";
    const SCOPE: Scope = Scope::Write;
    // The reply returns the memory's other fields besides the new text.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = call.memories().memory_id("id", &arguments.id)?;
        let (memory, embedding) = call.memories().update(&id, &arguments.content, None)?;
        let notice = match embedding {
            Embedding::Done => None,
            Embedding::Pending(reason) => Some(format!(
                "updated and found by its words, not yet by its meaning: {reason}"
            )),
        };
        let replaced = call.memories().replaced_by(&memory);
        let output = Output {
            memory: Record::of(call.caller(), memory),
            replaced: replaced.as_ref().map(Replaced::of_version),
        };
        Ok(Reply::json(&output, None)?.with_notice(notice))
    }
}
