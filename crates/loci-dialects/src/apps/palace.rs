//! The tool `loci_view_palace`: shows a view where memories are filed, and how many.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown_memory::reply;
use crate::{Hints, Reply, TypedTool};

/// The most places that are named; the rest is one number.
const PLACES_MAX: usize = 400;

pub struct ShowPalace;

/// Count memories by their places for a view of the conversation. Views call this; a model has no use
/// for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The places.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The places, the one with the most memories first.
    places: Vec<Place>,
    /// The memories in further places.
    more: u64,
}

/// A place.
#[derive(Serialize, JsonSchema)]
struct Place {
    /// The project; none for memories of all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The topic.
    topic: String,
    /// The number of memories.
    memories: u64,
}

impl TypedTool for ShowPalace {
    const NAME: &'static str = "loci_view_palace";
    const TITLE: &'static str = "Places of memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let mut by_place: BTreeMap<(Option<String>, String), u64> = BTreeMap::new();
        for count in call.listings().places()? {
            let place = (count.collection, count.section);
            *by_place.entry(place).or_default() += count.memories;
        }
        let mut places: Vec<Place> = by_place
            .into_iter()
            .map(|((project, topic), memories)| Place {
                project,
                topic,
                memories,
            })
            .collect();
        places.sort_by_key(|place| Reverse(place.memories));
        let rest = places.iter().skip(PLACES_MAX);
        let more = rest.map(|place| place.memories).sum();
        places.truncate(PLACES_MAX);
        reply("Counted.", &Output { places, more }, None)
    }
}
