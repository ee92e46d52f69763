//! The tool `mempalace_traverse`: traverses the graph of rooms.

use loci_core::limits::HOPS_MAX;
use loci_core::{Error, Result, Scope};
use loci_engine::{Call, RoomLink, Step, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ResolvedPlace, resolve_place, wing};
use super::graph::{Node, not_found_in, overview};
use crate::faults::Faults;
use crate::overview::{fitting, is_zero};
use crate::wire::Count;
use crate::{Hints, Reply, TypedTool};

/// The default of `max_hops`.
const HOPS_DEFAULT: usize = 2;

/// The maximum number of connections named for a room.
const CONNECTIONS_MAX: usize = 5;
/// The maximum bytes of their names.
const CONNECTIONS_BYTES_MAX: usize = 512;

pub struct Traverse;

/// Walk from a room to those tied to it, by a wing that both stand in or a tunnel. Nearest first,
/// then fullest, at most 50.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The room.
    start_room: String,
    /// Steps: 2 if left out, up to 10.
    max_hops: Option<Count>,
}

/// A room on the path.
#[derive(Serialize, JsonSchema)]
pub struct PathRoom {
    /// The room.
    #[serde(flatten)]
    room: Node,
    /// The number of steps from the start, which is 0.
    hop: usize,
    /// The links to it from the step before: `wing:` and the name of a wing that both stand in, or
    /// `tunnel:` and the id of a tunnel.
    connected_via: Vec<String>,
    /// The number of further links, if they are many.
    #[serde(skip_serializing_if = "is_zero")]
    more_connections: u64,
}

impl From<Step> for PathRoom {
    fn from(step: Step) -> Self {
        let name = |via| match via {
            RoomLink::Collection(collection) => format!("wing:{}", wing(collection)),
            RoomLink::Tunnel(id) => format!("tunnel:{id}"),
        };
        let via = step.connected_via.len();
        let names = step
            .connected_via
            .into_iter()
            .take(CONNECTIONS_MAX)
            .map(name)
            .collect();
        let connected_via = fitting(names, CONNECTIONS_BYTES_MAX);
        let more_connections = (via - connected_via.len()) as u64;
        PathRoom {
            room: step.room.into(),
            hop: step.hop,
            connected_via,
            more_connections,
        }
    }
}

impl TypedTool for Traverse {
    const NAME: &'static str = "mempalace_traverse";
    const TITLE: &'static str = "Walk the palace";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Vec<PathRoom>;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("start_room", check::name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let hops_max = arguments
            .max_hops
            .map_or(HOPS_DEFAULT, |count| count.0)
            .min(HOPS_MAX);
        let ResolvedPlace { room, notice, .. } =
            resolve_place(call, None, Some(arguments.start_room))?;
        let steps = call.graph().traverse(&room.unwrap_or_default(), hops_max);
        let (steps, total) = steps.map_err(not_found_in("start_room", "mempalace_list_rooms"))?;
        let reply = overview(steps.into_iter().map(PathRoom::from).collect(), total)?;
        Ok(reply.with_notice(notice))
    }
}
