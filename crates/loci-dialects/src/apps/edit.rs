//! The tool `loci_view_edit`: replaces the text of a memory that a person saw.

use loci_core::{Result, Scope};
use loci_engine::{Call, Refile};
use schemars::JsonSchema;
use serde::Deserialize;

use super::argument::{named, require_revision};
use super::shown_memory::{ChangedMemory, changed};
use crate::{Hints, Reply, TypedTool};

pub struct EditMemory;

/// Replace the text of a memory. Views call this when a person saves a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// The new text.
    content: String,
    /// The version that the person saw; a later one is not overwritten.
    revision: u64,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

impl TypedTool for EditMemory {
    const NAME: &'static str = "loci_view_edit";
    const TITLE: &'static str = "Edit a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = ChangedMemory;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memory = named(call, "id", &arguments.id)?;
        require_revision(&memory, arguments.revision)?;
        let change = Refile {
            content: Some(arguments.content),
            ..Refile::default()
        };
        call.memories().refile(&memory.id, change)?;
        changed(call, &arguments.id)
    }
}
