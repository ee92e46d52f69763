//! The tool `store_decision`: stores a decision under a key.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{Replaced, Whole};
use crate::{Hints, Reply, TypedTool};

pub struct StoreDecision;

/// Keep a choice of the user under a name, such as a preferred language or a setting. It holds in
/// every conversation, and replaces what stood under the name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose choice it is.
    user_id: String,
    /// The name to find it under (at most 256 characters).
    key: String,
    /// The choice, kept exactly as given (at most 1 MiB).
    value: String,
    /// Days until it is forgotten, at most 36500; never, if left out.
    ttl_days: Option<Whole<1>>,
}

/// The result of storing the decision.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The name.
    key: String,
    /// `created`, or `updated` if something stood under the name.
    action: &'static str,
    /// Whose choice it is.
    user_id: String,
    /// The choice that stood under the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<Replaced>,
}

impl TypedTool for StoreDecision {
    const NAME: &'static str = "store_decision";
    const TITLE: &'static str = "Store a decision";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "decision:write";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let ttl_days = arguments.ttl_days.map(|days| days.0 as u64);
        let before = call.conversations().decision_before(&arguments.key);
        let is_new = call
            .conversations()
            .decide(&arguments.key, &arguments.value, ttl_days)?;
        let action = if is_new { "created" } else { "updated" };
        let output = Output {
            key: arguments.key,
            action,
            user_id: arguments.user_id,
            replaced: before
                .filter(|_| !is_new)
                .map(|before| Replaced::of(&before.value, before.updated_at)),
        };
        Reply::json(&output, None)
    }
}
