//! The tool `mempalace_delete_drawer`: deletes a drawer.

use loci_core::{Error, Forgotten, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::drawer_id;
use super::record::{drawer_among, in_words};
use crate::faults::Faults;
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool, forgetting};

pub struct DeleteDrawer;

/// Remove a drawer or diary entry for good. The file of a note stays, and is not shown any more.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id.
    drawer_id: String,
}

/// The drawer that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the drawer.
    drawer_id: String,
}

impl TypedTool for DeleteDrawer {
    const NAME: &'static str = "mempalace_delete_drawer";
    const TITLE: &'static str = "Delete a drawer";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("drawer_id", drawer_id).found()
    }

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let id = call
            .memories()
            .memory_id("drawer_id", &arguments.drawer_id)?;
        drawer_among(call, &id, Forgotten::Show, None)?;
        Question::of_deleting(call, &id)
    }

    fn run(call: &Call<'_>, Arguments { drawer_id }: Arguments) -> Result<Reply> {
        let id = call.memories().memory_id("drawer_id", &drawer_id)?;
        // A drawer that was only forgotten can still be deleted.
        drawer_among(call, &id, Forgotten::Show, None)?;
        let forgetting = call.memories().forget_text(&id).map_err(in_words(&id))?;
        let output = Output {
            success: true,
            drawer_id: id.to_string(),
        };
        Ok(Reply::json(&output, None)?.with_notice(forgetting::notice(forgetting)))
    }
}
