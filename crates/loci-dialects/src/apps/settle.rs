//! The tool `loci_view_settle`: dismisses an item of the review, or accepts a memory that came in a
//! file, and takes that back.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argument::named;
use super::shown_memory::reply;
use crate::{Hints, Reply, TypedTool};

pub struct SettleItem;

/// Dismiss something that waits for a decision, or accept a memory that came in a file, or take that
/// back. Views call this when a person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The key of the item to dismiss.
    item: Option<String>,
    /// The id of the memory to accept.
    accept: Option<String>,
    /// false to take it back.
    settled: bool,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// True if the item does not wait any more.
    settled: bool,
}

impl TypedTool for SettleItem {
    const NAME: &'static str = "loci_view_settle";
    const TITLE: &'static str = "Settle an item of the review";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let settled = arguments.settled;
        match (arguments.item, arguments.accept) {
            (Some(key), None) => call.settings().set_dismissed(&key, settled)?,
            (None, Some(id)) => {
                let memory = named(call, "accept", &id)?;
                if settled {
                    call.memories().accept(&memory.id)?;
                } else {
                    call.memories().hold(&memory.id)?;
                }
            }
            _ => return Err(Error::invalid("item", "needs one of `item` and `accept`")),
        }
        reply("Decided.", &Output { settled }, None)
    }
}
