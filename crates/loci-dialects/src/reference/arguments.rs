//! The arguments that several tools of this dialect have.

use loci_core::{Error, Result};
use loci_engine::{NodeTexts, check};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::faults::{Faults, items};

/// The most entities, relations or names of one call.
pub const ITEMS_MAX: usize = 1_000;
/// The most observations of one entity in one call.
pub const TEXTS_MAX: usize = 1_000;

/// A relation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelationArgument {
    /// The name of the entity where the relation starts.
    pub from: String,
    /// The name of the entity where the relation ends.
    pub to: String,
    /// The type of the relation.
    pub relation_type: String,
}

impl RelationArgument {
    /// Returns the ends of the relations, and their kind between the two.
    pub fn parts(relations: Vec<Self>) -> Vec<[String; 3]> {
        relations
            .into_iter()
            .map(|relation| [relation.from, relation.relation_type, relation.to])
            .collect()
    }
}

/// Returns texts about an entity.
pub fn texts(name: String, texts: Vec<String>) -> NodeTexts {
    NodeTexts { name, texts }
}

/// Checks these fields of every item of a list, which are names.
pub fn check_names(arguments: &Value, list: &str, fields: &[&str]) -> Vec<Error> {
    let faults = items(arguments, list, ITEMS_MAX).flat_map(|(place, item)| {
        let faults = fields.iter().filter_map(move |field| {
            let text = item.get(field)?.as_str()?;
            check_node_name(&format!("{place}.{field}"), text).err()
        });
        faults.collect::<Vec<Error>>()
    });
    faults.collect()
}

/// Checks the texts in this field of every item of a list.
pub fn check_texts(arguments: &Value, list: &str, field: &str) -> Vec<Error> {
    let faults = items(arguments, list, ITEMS_MAX).flat_map(|(place, item)| {
        let faults = Faults::of(item).items(field, TEXTS_MAX, |name, text| {
            check::content(&format!("{place}.{name}"), text)
        });
        faults.found()
    });
    faults.collect()
}

/// Checks a name of the knowledge graph: not blank, without control characters, of at most 256
/// characters.
fn check_node_name(argument: &str, name: &str) -> Result<()> {
    check::name(argument, name)?;
    if loci_engine::name_key(name).is_empty() {
        let problem = "must be a name: more than spaces, hyphens and underscores";
        return Err(Error::invalid(argument, problem));
    }
    Ok(())
}
