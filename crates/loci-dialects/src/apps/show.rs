//! The tool `loci_view_memories`: reads the memories that a view shows.

use loci_core::{ErrorCode, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argument::named;
use super::shown_memory::{ShownMemory, reply};
use crate::{Hints, Reply, TypedTool};

/// The most memories that a view reads by one call.
pub(super) const IDS_MAX: usize = 50;

pub struct ShowMemories;

/// Read memories for a view of the conversation. Views call this; a model has no use for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The ids.
    #[schemars(length(min = 1, max = IDS_MAX))]
    ids: Vec<String>,
    /// true for the whole texts, and not only the beginning of long ones.
    whole: Option<bool>,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The memories that are there.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, in the order of the ids; one that is not there any more is left out.
    memories: Vec<ShownMemory>,
}

impl TypedTool for ShowMemories {
    const NAME: &'static str = "loci_view_memories";
    const TITLE: &'static str = "Memories of a view";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let is_whole = arguments.whole.unwrap_or(false);
        let mut memories = Vec::new();
        for id in &arguments.ids {
            match named(call, "ids", id) {
                Ok(memory) => memories.push(ShownMemory::of(call, &memory, is_whole)),
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        reply("Read.", &Output { memories }, None)
    }
}
