//! The tool `set_visibility`: shares or unshares a record.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{id, in_words, record_id};
use super::outcome::Outcome;
use super::record::visibility;
use crate::faults::Faults;
use crate::{Hints, Reply, TypedTool};

pub struct SetVisibility;

/// Share a memory or discovery of yours, or take that back. Everyone with a name here may read what
/// is shared; only you ever change it. Ask the person whose words it holds before you share it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the record.
    id: String,
    /// True to let others read it, false to make it private.
    shared: bool,
}

impl TypedTool for SetVisibility {
    const NAME: &'static str = "set_visibility";
    const TITLE: &'static str = "Share or unshare a memory";
    const SCOPE: Scope = Scope::Write;
    // It grants or removes the read access of others.
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Outcome;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("id", record_id).found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = id(call, &arguments.id)?;
        let changed = call.memories().set_shared(&id, arguments.shared);
        let memory = changed.map_err(in_words(&arguments.id))?;
        let visibility = Some(visibility(&memory));
        Outcome {
            id: id.to_string(),
            status: "visibility updated",
            visibility,
            replaced: None,
            notice: None,
        }
        .reply()
    }
}
