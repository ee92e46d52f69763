//! The tool `search_nodes`: finds entities by what their names, types and observations contain.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::record::{GraphRecord, graph_reply};
use crate::faults::Faults;
use crate::{Hints, Reply, TypedTool};

pub struct SearchNodes;

/// Search for nodes in the knowledge graph based on a query: the ones that contain it, in any
/// case. If a query of several words is nowhere as it stands, the ones that come near it by their
/// words and meaning.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The search query to match against entity names, types, and observation content.
    query: String,
}

impl TypedTool for SearchNodes {
    const NAME: &'static str = "search_nodes";
    const TITLE: &'static str = "Search Nodes";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "search";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = GraphRecord;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("query", check::query).found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let (graph, is_near) = call.nodes().matching(&arguments.query)?;
        let notice = (is_near && !graph.nodes.is_empty())
            .then(|| "nothing contains the query as it stands; these come near it".to_owned());
        graph_reply(call, graph, notice)
    }
}
