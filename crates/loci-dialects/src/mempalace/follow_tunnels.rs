//! The tool `mempalace_follow_tunnels`: lists the places that a room is linked to in other wings.

use loci_core::{Caller, Error, Result, Scope, TunnelEnd};
use loci_engine::{Call, TunnelConnection, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ResolvedPlace, collection, resolve_place, wing};
use super::graph::not_found_in;
use super::record::preview;
use crate::faults::Faults;
use crate::wire::Authorship;
use crate::{Hints, Reply, TypedTool};

/// The number of drawers shown for each place.
const PREVIEWS_MAX: usize = 3;

pub struct FollowTunnels;

/// See what a room is tied to, by tunnels and by the same name in other wings, each place with the
/// beginnings of a few drawers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The wing.
    wing: String,
    /// The room.
    room: String,
}

/// A place that is tied to the room.
#[derive(Serialize, JsonSchema)]
pub struct ConnectedRoom {
    /// The wing.
    wing: String,
    /// The room there.
    room: String,
    /// The relation between the two; empty if the tunnel has no label.
    label: String,
    /// `explicit` if there is a tunnel, `passive` if the two only share their name.
    kind: &'static str,
    /// The id of the tunnel, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel_id: Option<String>,
    /// `outgoing` if the tunnel was made from here, `incoming` if it was made from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    /// The number of drawers there.
    count: u64,
    /// A few of these drawers.
    previews: Vec<Preview>,
    /// Of the tunnel.
    #[serde(flatten)]
    authorship: Authorship,
}

#[derive(Serialize, JsonSchema)]
struct Preview {
    /// The id of the drawer.
    drawer_id: String,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its first 200 characters.
    #[serde(rename = "preview")]
    beginning: String,
    #[serde(flatten)]
    authorship: Authorship,
}

impl ConnectedRoom {
    /// Converts a place that is linked to the room.
    fn of(
        reader: &Caller,
        followed: TunnelConnection,
        collection: Option<&str>,
        section: &str,
    ) -> Self {
        let memories = followed.memories.into_iter();
        let is_source =
            |end: &TunnelEnd| end.collection.as_deref() == collection && end.section == section;
        ConnectedRoom {
            wing: wing(followed.end.collection),
            room: followed.end.section,
            kind: if followed.tunnel.is_some() {
                "explicit"
            } else {
                "passive"
            },
            direction: followed.tunnel.as_ref().map(|tunnel| {
                if is_source(&tunnel.source) {
                    "outgoing"
                } else {
                    "incoming"
                }
            }),
            authorship: followed
                .tunnel
                .as_ref()
                .map_or_else(Authorship::default, |tunnel| {
                    Authorship::of_owner(reader, tunnel.owner.as_deref())
                }),
            previews: memories
                .map(|memory| Preview {
                    beginning: preview(&memory.content),
                    drawer_id: memory.id.to_string(),
                    authorship: Authorship::of(reader, &memory),
                    title: memory.title,
                })
                .collect(),
            count: followed.total,
            label: followed
                .tunnel
                .as_ref()
                .map_or_else(String::new, |tunnel| tunnel.label.clone()),
            tunnel_id: followed.tunnel.map(|tunnel| tunnel.id),
        }
    }
}

impl TypedTool for FollowTunnels {
    const NAME: &'static str = "mempalace_follow_tunnels";
    const TITLE: &'static str = "Follow tunnels";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Vec<ConnectedRoom>;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("wing", check::name)
            .check("room", check::name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let ResolvedPlace { wing, room, notice } =
            resolve_place(call, Some(arguments.wing), Some(arguments.room))?;
        let (collection, section) = (
            wing.and_then(collection),
            room.as_deref().unwrap_or_default(),
        );
        let followed = call
            .graph()
            .follow_tunnels(collection.as_deref(), section, PREVIEWS_MAX);
        let followed = followed.map_err(|error| {
            let places = call.listings().places().unwrap_or_default();
            if places.iter().any(|place| place.collection == collection) {
                not_found_in("room", "mempalace_list_rooms")(error)
            } else {
                not_found_in("wing", "mempalace_list_wings")(error)
            }
        })?;
        let places: Vec<ConnectedRoom> = followed
            .into_iter()
            .map(|followed| {
                ConnectedRoom::of(call.caller(), followed, collection.as_deref(), section)
            })
            .collect();
        Ok(Reply::json(&places, Some(places.len() as u64))?.with_notice(notice))
    }
}
