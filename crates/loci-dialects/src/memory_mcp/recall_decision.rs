//! The tool `recall_decision`: returns the decision under a key.

use loci_core::{Decision, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::iso8601;
use crate::{Hints, Reply, TypedTool};

pub struct RecallDecision;

/// Look up what the user chose under a name (`store_decision`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose choice it is.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// The name that it was stored under.
    key: String,
}

/// The decision, if there is one.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The name.
    key: String,
    /// True if there is a choice under it.
    found: bool,
    /// The choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Document>,
}

#[derive(Serialize, JsonSchema)]
struct Document {
    /// The key.
    key: String,
    /// The decision.
    value: String,
    /// The user that it belongs to.
    user_id: String,
    /// The time at which it was first stored.
    created_at: String,
    /// The time at which it was last stored.
    updated_at: String,
    /// The time at which it expires; absent if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl From<Decision> for Document {
    fn from(decision: Decision) -> Self {
        Document {
            key: decision.key,
            value: decision.value,
            user_id: decision.owner,
            created_at: iso8601(decision.created_at),
            updated_at: iso8601(decision.updated_at),
            expires_at: decision.expires_at.map(iso8601),
        }
    }
}

impl TypedTool for RecallDecision {
    const NAME: &'static str = "recall_decision";
    const TITLE: &'static str = "Recall a decision";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "decision:read";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let decision = call
            .conversations()
            .decided(&arguments.key)?
            .map(Document::from);
        let output = Output {
            key: arguments.key,
            found: decision.is_some(),
            decision,
        };
        Reply::json(&output, Some(output.found.into()))
    }
}
