//! The tool `loci_view_pin`: has every session begin with a memory, or no longer.

use loci_core::{Delivery, Result, Scope};
use loci_engine::{Call, Refile};
use schemars::JsonSchema;
use serde::Deserialize;

use super::argument::named;
use super::shown_memory::{ChangedMemory, changed};
use crate::{Hints, Reply, TypedTool};

pub struct PinMemory;

/// Have every session begin with a memory, or no longer. Views call this when a person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// false to unpin it.
    pinned: bool,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

impl TypedTool for PinMemory {
    const NAME: &'static str = "loci_view_pin";
    const TITLE: &'static str = "Pin a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = ChangedMemory;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memory = named(call, "id", &arguments.id)?;
        let delivery = if arguments.pinned {
            Delivery::Bootstrap
        } else {
            Delivery::OnDemand
        };
        let change = Refile {
            delivery: Some(delivery),
            ..Refile::default()
        };
        call.memories().refile(&memory.id, change)?;
        changed(call, &arguments.id)
    }
}
