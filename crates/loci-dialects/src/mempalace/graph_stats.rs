//! The tool `mempalace_graph_stats`: counts the graph of rooms.

use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::{Call, Room};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::wing;
use super::graph::largest_wings;
use crate::overview::{NAMES_MAX, OVERVIEW_BYTES_MAX, fitting, is_zero, largest};
use crate::{Hints, Reply, TypedTool};

/// The maximum bytes for the counts of wings, and likewise for the rooms that bridge most.
const HALF_BYTES_MAX: usize = OVERVIEW_BYTES_MAX / 2 - 128;

pub struct GraphStats;

/// Count rooms, the ties between them, and the rooms that bridge most wings. Rooms called `general`
/// do not count; those named after a type (fact, decision, note) tie nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The graph in figures.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Rooms, each name once.
    total_rooms: u64,
    /// Rooms that bridge wings.
    tunnel_rooms: u64,
    /// Ties: of each room the pairs of its wings, and the tunnels.
    total_edges: u64,
    /// For each wing its rooms; of many, the 50 wings with most.
    rooms_per_wing: BTreeMap<String, u64>,
    /// The number of further wings.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The rooms that bridge most wings, at most ten.
    top_tunnels: Vec<Top>,
}

#[derive(Serialize, JsonSchema)]
struct Top {
    /// The room.
    room: String,
    /// The wings that it stands in; of many, the five with most of its drawers.
    wings: Vec<String>,
    /// The number of further wings that it stands in.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The number of drawers in it.
    count: u64,
}

impl From<Room> for Top {
    fn from(room: Room) -> Self {
        let (wings, more_wings) = largest_wings(room.collections);
        Top {
            room: room.section,
            wings,
            more_wings,
            count: room.memories,
        }
    }
}

impl TypedTool for GraphStats {
    const NAME: &'static str = "mempalace_graph_stats";
    const TITLE: &'static str = "Palace graph in figures";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let counts = call.graph().map_counts()?;
        let rooms = counts
            .rooms_per_collection
            .into_iter()
            .map(|(name, rooms)| (wing(name), rooms))
            .collect();
        let (rooms_per_wing, more_wings) = largest(rooms, NAMES_MAX, HALF_BYTES_MAX);
        let output = Output {
            total_rooms: counts.rooms,
            tunnel_rooms: counts.bridging_rooms,
            total_edges: counts.edges,
            rooms_per_wing,
            more_wings,
            top_tunnels: fitting(
                counts.top.into_iter().map(Top::from).collect(),
                HALF_BYTES_MAX,
            ),
        };
        Reply::json(&output, None)
    }
}
