//! The tool `mempalace_memories_filed_away`: returns the last save of the caller's hooks.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hooks::checkpoint;
use crate::wire::string_or_null;
use crate::{Hints, Reply, TypedTool};

pub struct MemoriesFiledAway;

/// See when the hooks of your host last saved what was said, and how much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The last save.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// True if anything was ever saved.
    filed: bool,
    /// The number of messages that were saved the last time.
    message_count: u64,
    /// When that was; null if never.
    #[schemars(schema_with = "string_or_null")]
    timestamp: Option<String>,
}

impl TypedTool for MemoriesFiledAway {
    const NAME: &'static str = "mempalace_memories_filed_away";
    const TITLE: &'static str = "What hooks saved";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "settings:read";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let last = checkpoint(call)?;
        let output = Output {
            filed: last.is_some(),
            message_count: last.as_ref().map_or(0, |last| last.message_count),
            timestamp: last.map(|last| last.timestamp),
        };
        Reply::json(&output, None)
    }
}
