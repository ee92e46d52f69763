//! `mempalace_graph_stats`: the graph of rooms in figures.

use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::Room;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::wing;
use crate::{Context, Hints, Reply, TypedTool};

pub struct GraphStats;

/// Count rooms, the ties between them, and the rooms that bridge most wings. Rooms called `general` do not count.
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
    /// For each wing its rooms.
    rooms_per_wing: BTreeMap<String, u64>,
    /// The rooms that bridge most wings, at most ten.
    top_tunnels: Vec<Top>,
}

#[derive(Serialize, JsonSchema)]
struct Top {
    /// The room.
    room: String,
    /// The wings that it stands in.
    wings: Vec<String>,
    /// How many drawers are in it.
    count: u64,
}

impl From<Room> for Top {
    fn from(room: Room) -> Self {
        let wings = room.collections.into_iter().map(wing).collect();
        Top { room: room.section, wings, count: room.memories }
    }
}

impl TypedTool for GraphStats {
    const NAME: &'static str = "mempalace_graph_stats";
    const TITLE: &'static str = "Palace graph in figures";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const OPERATION: &'static str = "graph:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(context: Context<'_>, _: Arguments) -> Result<Reply> {
        let counts = context.engine.map_counts(context.caller)?;
        let output = Output {
            total_rooms: counts.rooms,
            tunnel_rooms: counts.bridging_rooms,
            total_edges: counts.edges,
            rooms_per_wing: counts.rooms_per_collection.into_iter().map(|(name, rooms)| (wing(name), rooms)).collect(),
            top_tunnels: counts.top.into_iter().map(Top::from).collect(),
        };
        Ok(Reply::json(crate::tool::to_value(&output)?))
    }
}
