//! The tool `delete_observations`: deletes observations of entities.

use loci_core::{Memory, Result, Scope};
use loci_engine::{Call, NodeTexts, shown_name};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{ITEMS_MAX, TEXTS_MAX, texts};
use super::record::{Deleted, deleted};
use crate::questions::Question;
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

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let graph = call.nodes().graph()?;
        let found = arguments.deletions.iter().flat_map(|deletion| {
            let node = graph.node(&deletion.entity_name);
            let texts = node.map_or(&[][..], |node| node.observations.as_slice());
            let is_named = |memory: &&Memory| deletion.observations.contains(&memory.content);
            texts.iter().filter(is_named)
        });
        let found: Vec<&Memory> = found.collect();
        let what = match found.as_slice() {
            [] => return Ok(None),
            [one] => format!(
                "the observation \u{201c}{}\u{201d}",
                shown_name(&one.content)
            ),
            several => format!("{} observations", several.len()),
        };
        Ok(Some(Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let deletions = arguments.deletions.into_iter();
        let deletions: Vec<NodeTexts> = deletions
            .map(|deletion| texts(deletion.entity_name, deletion.observations))
            .collect();
        call.nodes().delete_observations(&deletions)?;
        deleted("Observations deleted successfully")
    }
}
