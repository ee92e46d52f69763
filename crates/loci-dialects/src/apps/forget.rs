//! The tool `loci_view_forget`: forgets a memory so that it can be restored, and restores it.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;

use super::argument::named;
use super::shown_memory::{ChangedMemory, changed};
use crate::{Hints, Reply, TypedTool};

pub struct ForgetMemory;

/// Forget a memory, or restore it. Nothing is deleted. Views call this when a person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// false to restore it.
    forgotten: bool,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

impl TypedTool for ForgetMemory {
    const NAME: &'static str = "loci_view_forget";
    const TITLE: &'static str = "Forget a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = ChangedMemory;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memory = named(call, "id", &arguments.id)?;
        if arguments.forgotten {
            call.memories().forget_softly(&memory.id)?;
        } else {
            call.memories().unforget(&memory.id)?;
        }
        changed(call, &arguments.id)
    }
}
