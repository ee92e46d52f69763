//! The tool `loci_view_dismiss`: decides that both memories of a pair hold, and takes the decision back.

use loci_core::{Result, Scope};
use loci_engine::{Call, ItemKind, item_key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argument::named;
use super::shown_memory::reply;
use crate::{Hints, Reply, TypedTool};

pub struct DismissPair;

/// Keep both memories of a pair, so that it does not come up for review, or take that back. Views call
/// this when a person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the newer memory.
    newer: String,
    /// The id of the older one.
    older: String,
    /// false to take it back.
    dismissed: bool,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// True if the pair does not come up any more.
    dismissed: bool,
}

impl TypedTool for DismissPair {
    const NAME: &'static str = "loci_view_dismiss";
    const TITLE: &'static str = "Keep both memories";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let newer = named(call, "newer", &arguments.newer)?;
        let older = named(call, "older", &arguments.older)?;
        let dismissed = arguments.dismissed;
        let of = [older.id.as_str(), newer.id.as_str()];
        let key = item_key(ItemKind::Contradiction.name(), &of);
        call.settings().set_dismissed(&key, dismissed)?;
        reply("Decided.", &Output { dismissed }, None)
    }
}
