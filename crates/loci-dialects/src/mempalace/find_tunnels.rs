//! The tool `mempalace_find_tunnels`: finds rooms that bridge wings.

use loci_core::{Error, Result, Scope};
use loci_engine::{Bridge, Call, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{collection, resolve_place};
use super::graph::{Node, overview};
use super::times::date;
use crate::faults::Faults;
use crate::wire::string_or_null;
use crate::{Hints, Reply, TypedTool};

pub struct FindTunnels;

/// Find rooms that bridge two wings: they stand in both, or a tunnel ties them. With one wing, its
/// bridges to any other; with none, all. Fullest first, at most 50.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// One wing.
    wing_a: Option<String>,
    /// The other one.
    wing_b: Option<String>,
}

/// A room that bridges wings.
#[derive(Serialize, JsonSchema)]
pub struct BridgeRoom {
    /// The room.
    #[serde(flatten)]
    room: Node,
    /// The day on which the newest drawer in it was filed (YYYY-MM-DD); null if none is left.
    #[schemars(schema_with = "string_or_null")]
    recent: Option<String>,
}

impl From<Bridge> for BridgeRoom {
    fn from(bridge: Bridge) -> Self {
        BridgeRoom {
            room: bridge.room.into(),
            recent: bridge.newest.map(date),
        }
    }
}

impl TypedTool for FindTunnels {
    const NAME: &'static str = "mempalace_find_tunnels";
    const TITLE: &'static str = "Find bridging rooms";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Vec<BridgeRoom>;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .optional("wing_a", check::name)
            .optional("wing_b", check::name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let [a, b] = [
            resolve_place(call, arguments.wing_a, None)?,
            resolve_place(call, arguments.wing_b, None)?,
        ];
        let between = [a.wing, b.wing].map(|wing| wing.map(collection));
        let between = between
            .each_ref()
            .map(|wing| wing.as_ref().map(Option::as_deref));
        let (bridges, total) = call.graph().bridges(between)?;
        let reply = overview(bridges.into_iter().map(BridgeRoom::from).collect(), total)?;
        Ok(reply.with_notice(a.notice).with_notice(b.notice))
    }
}
