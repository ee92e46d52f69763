//! The tool `forget`: deletes a memory.

use loci_core::Result;
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::questions::Question;
use crate::{Hints, Reply, TypedTool, forgetting};

pub struct Forget;

/// Delete a memory for good. `recall` and `list` show the ids.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
}

/// The memory that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the memory.
    id: String,
    /// Always true; an unknown id is a failure.
    deleted: bool,
}

impl TypedTool for Forget {
    const NAME: &'static str = "forget";
    const TITLE: &'static str = "Forget";
    const SCOPE: loci_core::Scope = loci_core::Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let id = call.memories().memory_id("id", &arguments.id)?;
        Question::of_deleting(call, &id)
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = call.memories().memory_id("id", &arguments.id)?;
        let forgetting = call.memories().forget_text(&id)?;
        let structured = crate::tool::to_value(&Output {
            id: id.to_string(),
            deleted: true,
        })?;
        Ok(
            Reply::new(format!("Memory {id} deleted"), structured, Some(1))
                .with_notice(forgetting::notice(forgetting)),
        )
    }
}
