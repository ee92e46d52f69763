//! The tool `create_entities`: creates entities with their observations.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, NewNode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ITEMS_MAX, TEXTS_MAX, check_names, check_texts};
use super::record::{EntityRecord, reply};
use crate::{Hints, Reply, TypedTool};

pub struct CreateEntities;

/// Create multiple new entities in the knowledge graph. An entity whose name is there already is
/// left out; add to it with `add_observations`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The entities.
    #[schemars(length(max = ITEMS_MAX))]
    entities: Vec<EntityArgument>,
}

/// An entity.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntityArgument {
    /// The name of the entity.
    name: String,
    /// The type of the entity.
    entity_type: String,
    /// An array of observation contents associated with the entity.
    #[schemars(length(max = TEXTS_MAX))]
    observations: Vec<String>,
}

/// The entities that were created.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The new entities.
    entities: Vec<EntityRecord>,
}

impl TypedTool for CreateEntities {
    const NAME: &'static str = "create_entities";
    const TITLE: &'static str = "Create Entities";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let mut faults = check_names(arguments, "entities", &["name", "entityType"]);
        faults.extend(check_texts(arguments, "entities", "observations"));
        faults
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let new = arguments.entities.into_iter().map(|entity| NewNode {
            name: entity.name,
            kind: entity.entity_type,
            observations: entity.observations,
        });
        let created = call.nodes().create(new.collect())?;
        let entities: Vec<EntityRecord> = created
            .into_iter()
            .map(|node| EntityRecord::of(call.caller(), node))
            .collect();
        let output = Output { entities };
        reply(&output.entities, &output, None)
    }
}
