//! The tool `create_relations`: creates relations.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ITEMS_MAX, RelationArgument, check_names};
use super::record::{RelationRecord, reply};
use crate::{Hints, Reply, TypedTool};

pub struct CreateRelations;

/// Create multiple new relations between entities in the knowledge graph. Relations should be in
/// active voice. A relation that holds already is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The relations.
    #[schemars(length(max = ITEMS_MAX))]
    relations: Vec<RelationArgument>,
}

/// The relations that were created.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The new relations.
    relations: Vec<RelationRecord>,
}

impl TypedTool for CreateRelations {
    const NAME: &'static str = "create_relations";
    const TITLE: &'static str = "Create Relations";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        check_names(arguments, "relations", &["from", "to", "relationType"])
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let relations = RelationArgument::parts(arguments.relations);
        let created = call
            .nodes()
            .relate(relations)
            .map_err(|error| error.renamed("predicate", "relationType"))?;
        let relations: Vec<RelationRecord> = created
            .into_iter()
            .map(|fact| RelationRecord::of(call.caller(), fact))
            .collect();
        let output = Output { relations };
        reply(&output.relations, &output, None)
    }
}
