//! The tool `read_graph`: returns the whole graph.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;

use super::record::{GraphRecord, graph_reply};
use crate::{Hints, Reply, TypedTool};

pub struct ReadGraph;

/// Read the entire knowledge graph, as far as a reply has room.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

impl TypedTool for ReadGraph {
    const NAME: &'static str = "read_graph";
    const TITLE: &'static str = "Read Graph";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = GraphRecord;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        graph_reply(call, call.nodes().graph()?, None)
    }
}
