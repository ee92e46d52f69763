//! The tool `mempalace_reconnect`: reloads everything from the store.

use loci_core::{Result, Scope};
use loci_engine::{Call, SearchMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Hints, Reply, TypedTool};

pub struct Reconnect;

/// Read the store again and count the drawers one by one, if something looks out of date. What
/// other programs write is seen without it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The result of the reload.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The same for people.
    message: String,
    /// The number of drawers that you may read, entries of diaries included.
    drawers: u64,
    /// True if nothing is compared by meaning.
    vector_disabled: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_disabled_reason: Option<String>,
}

impl TypedTool for Reconnect {
    const NAME: &'static str = "mempalace_reconnect";
    const TITLE: &'static str = "Read the store again";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "admin:health";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let places = call.listings().count_uncached()?;
        let drawers = places.iter().map(|place| place.memories).sum();
        let problem = call.engine().models().model_problem();
        let search = match (call.engine().models().search_mode(), &problem) {
            (SearchMode::Vector, Some(_)) => "fail until the model answers",
            (SearchMode::Vector, None) => "go by meaning alone",
            (SearchMode::Words, _) | (SearchMode::Hybrid, Some(_)) => "go by words alone",
            (SearchMode::Hybrid, None) => "go by words and by meaning",
        };
        let output = Output {
            success: true,
            message: format!(
                "The store was read again: {drawers} drawer{}; searches {search}.",
                if drawers == 1 { "" } else { "s" }
            ),
            drawers,
            vector_disabled: problem.is_some(),
            vector_disabled_reason: problem,
        };
        Reply::json(&output, None)
    }
}
