//! The tool `memory_forget`: hides a memory from searches.

use loci_core::{Error, ErrorCode, MemoryId, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::await_notes;
use super::record::DELETED;
use crate::faults::Faults;
use crate::wire::rfc3339;
use crate::{Hints, Reply, TypedTool};

pub struct MemoryForget;

/// Take a note or another memory out of sight, by its id: only a search with `include_deleted`
/// finds it from then on. Nothing is removed: the file of a note stays, and says `status: deleted`;
/// `status: active` in it brings it back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id, as `memory_search`, `memory_recall` or `memory_append` gave it.
    id: String,
}

/// The memory that was forgotten.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the memory.
    id: String,
    /// Always `deleted`.
    status: &'static str,
    /// When it was forgotten first.
    deleted_at: String,
}

impl TypedTool for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget a note";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("id", |name, id| MemoryId::parse(name, id).map(drop))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = call.memories().memory_id("id", &arguments.id)?;
        let unread = await_notes(call);
        let memory = call
            .memories()
            .forget_softly(&id)
            .map_err(|error| match error.code {
                ErrorCode::NotFound => {
                    let unread = unread
                        .as_ref()
                        .map_or_else(String::new, |unread| format!(" ({unread})"));
                    Error::not_found(format!(
                        "there is no memory with the id {id}; memory_search shows the ids{unread}"
                    ))
                }
                _ => error,
            })?;
        let deleted_at = rfc3339(memory.forgotten_at.unwrap_or(memory.updated_at));
        let output = Output {
            id: memory.id.to_string(),
            status: DELETED,
            deleted_at,
        };
        Ok(Reply::json(&output, None)?.with_notice(unread))
    }
}
