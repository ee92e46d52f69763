//! The tool `loci_view_share`: shares a memory with the others in the space, or no longer.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;

use super::argument::named;
use super::shown_memory::{ChangedMemory, changed};
use crate::{Hints, Reply, TypedTool};

pub struct ShareMemory;

/// Share a memory with others, or no longer. Views call this when a person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// false to stop sharing it.
    shared: bool,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

impl TypedTool for ShareMemory {
    const NAME: &'static str = "loci_view_share";
    const TITLE: &'static str = "Share a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = ChangedMemory;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memory = named(call, "id", &arguments.id)?;
        call.memories().set_shared(&memory.id, arguments.shared)?;
        changed(call, &arguments.id)
    }
}
