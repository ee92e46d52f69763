//! The tool `add_observations`: adds observations to entities.

use loci_core::{Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ITEMS_MAX, TEXTS_MAX, check_names, check_texts, texts};
use super::record::reply;
use crate::{Hints, Reply, TypedTool};

pub struct AddObservations;

/// Add new observations to existing entities in the knowledge graph. A text that an entity has
/// already is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The observations, by entity.
    #[schemars(length(max = ITEMS_MAX))]
    observations: Vec<Addition>,
}

/// New observations of an entity.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Addition {
    /// The name of the entity to add the observations to.
    entity_name: String,
    /// An array of observation contents to add.
    #[schemars(length(max = TEXTS_MAX))]
    contents: Vec<String>,
}

/// What was added.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// What was added to each entity.
    results: Vec<Added>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Added {
    /// The entity.
    entity_name: String,
    /// Its new observations.
    added_observations: Vec<String>,
}

impl TypedTool for AddObservations {
    const NAME: &'static str = "add_observations";
    const TITLE: &'static str = "Add Observations";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let mut faults = check_names(arguments, "observations", &["entityName"]);
        faults.extend(check_texts(arguments, "observations", "contents"));
        faults
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let additions = arguments.observations.into_iter();
        let additions = additions.map(|addition| texts(addition.entity_name, addition.contents));
        let added = call.nodes().observe(additions.collect())?;
        let results: Vec<Added> = added
            .into_iter()
            .map(|added| Added {
                entity_name: added.name,
                added_observations: added.texts,
            })
            .collect();
        let output = Output { results };
        reply(&output.results, &output, None)
    }
}
