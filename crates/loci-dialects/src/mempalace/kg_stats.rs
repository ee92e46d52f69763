//! The tool `mempalace_kg_stats`: counts the knowledge graph.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Hints, Reply, TypedTool};

pub struct KgStats;

/// Count the knowledge graph and list its relations: use those again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The graph in figures.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Things that facts are about.
    entities: u64,
    /// Facts.
    triples: u64,
    /// Facts that have started, and have no end or one in the future.
    current_facts: u64,
    /// Facts that ended.
    expired_facts: u64,
    /// Facts that start in the future, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    future_facts: Option<u64>,
    /// The relations, by name.
    relationship_types: Vec<String>,
}

impl TypedTool for KgStats {
    const NAME: &'static str = "mempalace_kg_stats";
    const TITLE: &'static str = "Knowledge graph in figures";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let counts = call.graph().fact_counts()?;
        let output = Output {
            entities: counts.entities,
            triples: counts.facts,
            current_facts: counts.open.saturating_sub(counts.to_come),
            expired_facts: counts.facts.saturating_sub(counts.open),
            future_facts: Some(counts.to_come).filter(|facts| *facts > 0),
            relationship_types: counts.predicates,
        };
        Reply::json(&output, None)
    }
}
