//! `mempalace_get_taxonomy`: all wings with their rooms.

use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::wing;
use crate::{Context, Hints, Reply, TypedTool};

pub struct GetTaxonomy;

/// Show every wing with its rooms and how many drawers each holds. Use these names when you file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The layout.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// By wing, then by room, how many drawers there are.
    taxonomy: BTreeMap<String, BTreeMap<String, u64>>,
}

impl TypedTool for GetTaxonomy {
    const NAME: &'static str = "mempalace_get_taxonomy";
    const TITLE: &'static str = "Wings and rooms";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(context: Context<'_>, _: Arguments) -> Result<Reply> {
        let mut taxonomy: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for place in context.engine.places(context.caller)? {
            *taxonomy.entry(wing(place.collection)).or_default().entry(place.section).or_default() += place.memories;
        }
        Ok(Reply::json(crate::tool::to_value(&Output { taxonomy })?))
    }
}
