//! The tool `delete_memory`: deletes one record.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{id, in_words, record_id};
use super::outcome::Outcome;
use crate::faults::Faults;
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool, forgetting};

pub struct DeleteMemory;

/// Delete one memory or discovery of yours for good, by its id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of what to delete.
    id: String,
}

impl TypedTool for DeleteMemory {
    const NAME: &'static str = "delete_memory";
    const TITLE: &'static str = "Delete a memory";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Outcome;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("id", record_id).found()
    }

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        Question::of_deleting(call, &id(call, &arguments.id)?)
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = id(call, &arguments.id)?;
        let forgetting = call
            .memories()
            .forget_text(&id)
            .map_err(in_words(&arguments.id))?;
        Outcome {
            id: id.to_string(),
            status: "deleted",
            visibility: None,
            replaced: None,
            notice: forgetting::notice(forgetting),
        }
        .reply()
    }
}
