//! The tool `mempalace_diary_write`: writes an entry in an agent's diary.

use loci_core::{Error, Result, Scope, Tier, Visibility};
use loci_engine::{Call, Remember, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{Faults, given};
use crate::wire::{offset8601, pending};
use crate::{Hints, Reply, TypedTool};

/// The room of every diary, and the kind of its entries.
pub const DIARY: &str = "diary";
/// The attribute with the subject of an entry.
pub const TOPIC: &str = "topic";
/// The topic of an entry if its writer gives none.
const TOPIC_DEFAULT: &str = "general";
/// The attribute with the writing agent.
const AGENT: &str = "agent";

pub struct DiaryWrite;

/// Write in your diary for later sessions: what you did, learned and doubt. Each agent has its own,
/// which other searches do not show. AAAK (`mempalace_get_aaak_spec`) keeps it short.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Your name, the same each time (1 to 128 characters, in any case).
    agent_name: String,
    /// The text (at most 1 MiB). No secrets.
    entry: String,
    /// Its subject, in a word or two.
    topic: Option<String>,
}

/// The entry that was written.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the entry.
    entry_id: String,
    /// Your name.
    agent: String,
    /// What it is about.
    topic: String,
    /// When it was written.
    timestamp: String,
}

/// Returns the wing of an agent's diary.
pub fn wing_of(agent: &str) -> String {
    let name = agent.trim().to_lowercase();
    format!("wing_{}", name.replace(char::is_whitespace, "_"))
}

impl TypedTool for DiaryWrite {
    const NAME: &'static str = "mempalace_diary_write";
    const TITLE: &'static str = "Write in the diary";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    };
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .name("agent_name")
            .check("entry", check::content)
            .optional_name("topic")
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let agent = arguments.agent_name.trim().to_owned();
        let topic = given(arguments.topic).unwrap_or_else(|| TOPIC_DEFAULT.to_owned());
        let said = [(AGENT, agent.clone()), (TOPIC, topic)];
        let request = Remember {
            collection: Some(wing_of(&agent)),
            tier: Tier::Unlisted,
            // Others can read it; only its writer can change it.
            visibility: Visibility::Shared,
            attributes: said.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Remember::new(arguments.entry, DIARY)
        };
        let remembered = call.memories().remember(request)?;
        let output = Output {
            success: true,
            entry_id: remembered.memory.id.to_string(),
            agent,
            // As it is stored, without secrets.
            topic: remembered
                .memory
                .attributes
                .get(TOPIC)
                .cloned()
                .unwrap_or_default(),
            timestamp: offset8601(remembered.memory.created_at),
        };
        Ok(Reply::json(&output, None)?.with_notice(pending("written", remembered.embedding)))
    }
}
