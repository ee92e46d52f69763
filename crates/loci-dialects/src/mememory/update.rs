//! The tool `update`: replaces the text of a memory.

use loci_core::{Result, Scope};
use loci_engine::{Call, Embedding};
use schemars::JsonSchema;
use serde::Deserialize;

use super::record::Record;
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

impl TypedTool for Update {
    const NAME: &'static str = "update";
    const TITLE: &'static str = "Update";
    const SCOPE: Scope = Scope::Write;
    // The reply returns the memory's other fields besides the new text.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints {
        read_only: false,
        destructive: true,
        idempotent: true,
        open_world: false,
    };
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Record;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = call.memories().memory_id("id", &arguments.id)?;
        let (memory, embedding) = call.memories().update(&id, &arguments.content, None)?;
        let notice = match embedding {
            Embedding::Done => None,
            Embedding::Pending(reason) => Some(format!(
                "updated and found by its words, not yet by its meaning: {reason}"
            )),
        };
        Ok(Reply::json(&Record::of(call.caller(), memory), None)?.with_notice(notice))
    }
}
