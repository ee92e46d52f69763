//! The tool `open_nodes`: returns entities by their names.

use loci_core::{Result, Scope};
use loci_engine::{Call, name_key};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::ITEMS_MAX;
use super::record::{GraphRecord, graph_reply};
use crate::{Hints, Reply, TypedTool};

pub struct OpenNodes;

/// Open specific nodes in the knowledge graph by their names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// An array of entity names to retrieve.
    #[schemars(length(max = ITEMS_MAX))]
    names: Vec<String>,
}

impl TypedTool for OpenNodes {
    const NAME: &'static str = "open_nodes";
    const TITLE: &'static str = "Open Nodes";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = GraphRecord;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let names = &arguments.names;
        let keys: Vec<String> = names.iter().map(|name| name_key(name)).collect();
        let graph = call
            .nodes()
            .graph()?
            .narrowed(|node| names.contains(&node.name) || keys.contains(&name_key(&node.name)));
        graph_reply(call, graph, None)
    }
}
