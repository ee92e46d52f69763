//! The tool `mempalace_get_taxonomy`: lists all wings with their rooms.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::wing;
use crate::overview::{NAMES_MAX, OVERVIEW_BYTES_MAX, is_zero, json_bytes, next_offset};
use crate::wire::Offset;
use crate::{Hints, Reply, TypedTool};

/// The bytes of a reply besides names and counts.
const FRAME_BYTES: usize = 128;

pub struct GetTaxonomy;

/// Show every wing with its rooms and how many drawers each holds. Use these names when you file.
/// Of many, the 50 largest wings with their largest rooms at a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Wings to skip: the `next_offset` of the page before.
    offset: Option<Offset>,
}

/// The layout.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// By wing, then by room, the number of drawers.
    taxonomy: BTreeMap<String, BTreeMap<String, u64>>,
    /// The number of further wings.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The `offset` of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// The number of further rooms of these wings; mempalace_list_rooms shows the rooms of one.
    #[serde(skip_serializing_if = "is_zero")]
    more_rooms: u64,
}

impl Output {
    /// Builds the reply: the largest wings after the first `offset`, each with its largest room, then
    /// each with its second largest, and so on, while they fit.
    fn of(taxonomy: BTreeMap<String, BTreeMap<String, u64>>, offset: usize) -> Self {
        let mut wings: Vec<(String, Vec<(String, u64)>)> = taxonomy
            .into_iter()
            .map(|(wing, rooms)| {
                let mut rooms: Vec<(String, u64)> = rooms.into_iter().collect();
                rooms.sort_by_key(|(_, drawers)| Reverse(*drawers));
                (wing, rooms)
            })
            .collect();
        wings.sort_by_key(|(_, rooms)| {
            Reverse(rooms.iter().map(|(_, drawers)| drawers).sum::<u64>())
        });
        wings.drain(..offset.min(wings.len()));
        let total = wings.len();
        wings.truncate(NAMES_MAX);
        let mut left = OVERVIEW_BYTES_MAX - FRAME_BYTES;
        let mut shown: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let rooms_max = wings
            .iter()
            .map(|(_, rooms)| rooms.len())
            .max()
            .unwrap_or(0);
        let ranks = (0..rooms_max).flat_map(|rank| wings.iter().map(move |wing| (rank, wing)));
        for (wing, room) in ranks.filter_map(|(rank, (wing, rooms))| Some((wing, rooms.get(rank)?)))
        {
            // Includes the colon and the braces of the wing.
            let of_wing = if shown.contains_key(wing) {
                0
            } else {
                json_bytes(wing) + 3
            };
            let Some(rest) = left.checked_sub(of_wing + json_bytes(room)) else {
                break;
            };
            left = rest;
            shown
                .entry(wing.clone())
                .or_default()
                .insert(room.0.clone(), room.1);
        }
        let of_shown = wings
            .iter()
            .filter(|(wing, _)| shown.contains_key(wing))
            .map(|(_, rooms)| rooms.len());
        let more_rooms = of_shown.sum::<usize>() - shown.values().map(BTreeMap::len).sum::<usize>();
        let more_wings = (total - shown.len()) as u64;
        Output {
            more_wings,
            next_offset: next_offset(offset, shown.len(), more_wings),
            more_rooms: more_rooms as u64,
            taxonomy: shown,
        }
    }
}

impl TypedTool for GetTaxonomy {
    const NAME: &'static str = "mempalace_get_taxonomy";
    const TITLE: &'static str = "Wings and rooms";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let mut taxonomy: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for place in call.listings().places()? {
            *taxonomy
                .entry(wing(place.collection))
                .or_default()
                .entry(place.section)
                .or_default() += place.memories;
        }
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        Reply::json(&Output::of(taxonomy, offset), None)
    }
}
