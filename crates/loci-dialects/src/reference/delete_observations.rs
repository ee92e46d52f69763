//! The tool `delete_observations`: deletes observations of entities.

use loci_core::{Result, Scope};
use loci_engine::{Call, NodeTexts};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{ITEMS_MAX, TEXTS_MAX, texts};
use super::record::{Deleted, deleted};
use crate::{Hints, Reply, TypedTool};

pub struct DeleteObservations;

/// Delete specific observations from entities in the knowledge graph.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The observations to delete, by entity.
    #[schemars(length(max = ITEMS_MAX))]
    deletions: Vec<Deletion>,
}

/// Observations of an entity.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Deletion {
    /// The name of the entity containing the observations.
    entity_name: String,
    /// An array of observations to delete.
    #[schemars(length(max = TEXTS_MAX))]
    observations: Vec<String>,
}

impl TypedTool for DeleteObservations {
    const NAME: &'static str = "delete_observations";
    const TITLE: &'static str = "Delete Observations";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Deleted;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let deletions = arguments.deletions.into_iter();
        let deletions: Vec<NodeTexts> = deletions
            .map(|deletion| texts(deletion.entity_name, deletion.observations))
            .collect();
        call.nodes().delete_observations(&deletions)?;
        deleted("Observations deleted successfully")
    }
}
