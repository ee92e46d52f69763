//! The tool `delete_relations`: ends relations.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{ITEMS_MAX, RelationArgument, check_names};
use super::record::{Deleted, deleted};
use crate::{Hints, Reply, TypedTool};

pub struct DeleteRelations;

/// Delete multiple relations from the knowledge graph. They end now; what held until then stays
/// known to people.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// An array of relations to delete.
    #[schemars(length(max = ITEMS_MAX))]
    relations: Vec<RelationArgument>,
}

impl TypedTool for DeleteRelations {
    const NAME: &'static str = "delete_relations";
    const TITLE: &'static str = "Delete Relations";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "graph:delete";
    type Arguments = Arguments;
    type Output = Deleted;

    fn faults(arguments: &Value) -> Vec<Error> {
        check_names(arguments, "relations", &["from", "to", "relationType"])
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let relations = RelationArgument::parts(arguments.relations);
        call.nodes().unrelate(&relations)?;
        deleted("Relations deleted successfully")
    }
}
