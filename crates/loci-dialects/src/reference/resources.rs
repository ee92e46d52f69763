//! The resource with the whole graph.

use loci_core::Result;
use loci_engine::Call;

use super::record::fitted;
use crate::{Resource, Resources};

const GRAPH: &str = "memory://knowledge-graph";

pub const RESOURCES: Resources = Resources {
    fixed: &[Resource {
        uri: GRAPH,
        name: "knowledge-graph",
        title: "Knowledge Graph",
        description: "The full knowledge graph with all entities and relations",
        mime_type: "application/json",
    }],
    templates: &[],
    read,
    complete: |_, _, _, _| Ok(None),
};

fn read(call: &Call<'_>, uri: &str) -> Result<Option<String>> {
    if uri != GRAPH {
        return Ok(None);
    }
    let (graph, _) = fitted(call, call.nodes().graph()?)?;
    Ok(Some(format!("{:#}", crate::tool::to_value(&graph)?)))
}
