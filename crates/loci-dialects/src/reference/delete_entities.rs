//! The tool `delete_entities`: deletes entities.

use loci_core::{Result, Scope};
use loci_engine::{Call, shown_name};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::ITEMS_MAX;
use super::record::{Deleted, deleted};
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

pub struct DeleteEntities;

/// Delete multiple entities and their associated relations from the knowledge graph. Their
/// observations are deleted for good, but for notes, whose files stay; relations are ended.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Arguments {
    /// An array of entity names to delete.
    #[schemars(length(max = ITEMS_MAX))]
    entity_names: Vec<String>,
}

impl TypedTool for DeleteEntities {
    const NAME: &'static str = "delete_entities";
    const TITLE: &'static str = "Delete Entities";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Deleted;

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let graph = call.nodes().graph()?;
        let names = &arguments.entity_names;
        let found = names.iter().filter_map(|name| graph.node(name));
        let observations: usize = found.map(|node| node.observations.len()).sum();
        let shown = shown_name(&names.join(", "));
        let what = format!("the observations of {shown}, {observations} in number,");
        Ok((observations > 0).then(|| Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        call.nodes().delete(&arguments.entity_names)?;
        deleted("Entities deleted successfully")
    }
}
