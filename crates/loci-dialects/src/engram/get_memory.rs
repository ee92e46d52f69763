//! The tool `get_memory`: returns one record by id.

use loci_core::{Error, Forgotten, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{id, in_words, record_id};
use super::record::Record;
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::Offset;
use crate::{Hints, Reply, TypedTool};

pub struct GetMemory;

/// Read one memory or discovery by its id, word for word. A text that is too long for one reply
/// comes in pages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id, as storing, listing or searching gave it.
    id: String,
    /// Where in the text to start, in characters: the `next_offset` of the page before.
    offset: Option<Offset>,
    as_of: Option<AsOf>,
}

impl TypedTool for GetMemory {
    const NAME: &'static str = "get_memory";
    const TITLE: &'static str = "Get a memory";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Record;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("id", record_id)
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = id(call, &arguments.id)?;
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let memory = call
            .memories()
            .show_at(&id, Forgotten::Hide, as_of)
            .map_err(in_words(&arguments.id))?;
        let page = call.engine().budgets().text_page(
            memory,
            arguments.offset.map_or(0, |offset| offset.0),
            None,
        )?;
        Reply::json(&Record::page(page), None)
    }
}
