//! The tool `mempalace_create_tunnel`: links two rooms of different wings, or of one.

use loci_core::{Error, ErrorCode, Result, Scope, TunnelEnd};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{collection, drawer_id, given, name, wing};
use super::graph::End;
use super::record::drawer;
use crate::faults::Faults;
use crate::{Hints, Reply, TypedTool};

pub struct CreateTunnel;

/// Tie two places that belong together, such as an interface in one project and its user in
/// another. Drawers must lie in both. Two places have one tunnel: tying them again replaces its
/// label and drawers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// One wing.
    source_wing: String,
    /// The room there.
    source_room: String,
    /// The other wing.
    target_wing: String,
    /// The room there.
    target_room: String,
    /// Why, in a few words (at most 4 KiB).
    label: Option<String>,
    /// A drawer in the source room.
    source_drawer_id: Option<String>,
    /// A drawer in the target room.
    target_drawer_id: Option<String>,
}

/// The tunnel that was created.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the tunnel.
    tunnel_id: String,
    /// One end.
    source: End,
    /// The other one.
    target: End,
    /// The relation between them; empty if the call gave no label.
    label: String,
}

impl TypedTool for CreateTunnel {
    const NAME: &'static str = "mempalace_create_tunnel";
    const TITLE: &'static str = "Tie two rooms";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals existing data.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    // It may overwrite a label.
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        ["source_wing", "source_room", "target_wing", "target_room"]
            .into_iter()
            .fold(Faults::of(arguments), |faults, end| faults.check(end, name))
            .optional("label", check::reference)
            .optional("source_drawer_id", drawer_id)
            .optional("target_drawer_id", drawer_id)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let end = |argument: &str, wing: String, room: String, drawer: Option<String>| {
            let memory = given(drawer)
                .map(|id| call.memories().memory_id(argument, &id))
                .transpose()?;
            Ok(TunnelEnd {
                collection: collection(wing.trim()),
                section: room.trim().to_owned(),
                memory,
            })
        };
        let Arguments {
            source_wing,
            source_room,
            source_drawer_id,
            ..
        } = arguments;
        let source = end(
            "source_drawer_id",
            source_wing,
            source_room,
            source_drawer_id,
        )?;
        let Arguments {
            target_wing,
            target_room,
            target_drawer_id,
            ..
        } = arguments;
        let target = end(
            "target_drawer_id",
            target_wing,
            target_room,
            target_drawer_id,
        )?;
        let label = given(arguments.label);
        if (&source.collection, &source.section) == (&target.collection, &target.section) {
            return Err(Error::invalid(
                "target_room",
                "is the source room; a tunnel ties two places",
            ));
        }
        let tied = call
            .graph()
            .create_tunnel(source.clone(), target.clone(), label.as_deref());
        let tunnel = tied.map_err(|error| match error.code {
            ErrorCode::NotFound | ErrorCode::InvalidArgument => {
                fault(call, [("source", &source), ("target", &target)]).unwrap_or(error)
            }
            _ => error,
        })?;
        let output = Output {
            success: true,
            tunnel_id: tunnel.id,
            source: tunnel.source.into(),
            target: tunnel.target.into(),
            label: tunnel.label,
        };
        Reply::json(&output, None)
    }
}

/// Returns the error of the first invalid end, with its argument.
fn fault(call: &Call<'_>, ends: [(&str, &TunnelEnd); 2]) -> Option<Error> {
    let places = call.listings().places().ok()?;
    ends.into_iter().find_map(|(side, end)| {
        let wing = wing(end.collection.clone());
        let mut rooms = places.iter().filter(|place| place.collection == end.collection).peekable();
        if rooms.peek().is_none() {
            let problem =
                format!("`{side}_wing`: no drawer is in the wing {wing}; mempalace_list_wings shows the wings");
            return Some(Error::not_found(problem));
        }
        if rooms.all(|place| place.section != end.section) {
            let room = &end.section;
            let problem = format!("`{side}_room`: no drawer is in the room {room} of the wing {wing}");
            return Some(Error::not_found(problem + "; mempalace_list_rooms shows the rooms"));
        }
        let (argument, id) = (format!("{side}_drawer_id"), end.memory.as_ref()?);
        match drawer(call, id) {
            Err(error) => Some(Error::not_found(format!("`{argument}`: {}", error.message))),
            Ok(drawer) if drawer.location.collection != end.collection || drawer.location.section != end.section => {
                Some(Error::invalid(&argument, format!("is of a drawer elsewhere; give one in the {side} room")))
            }
            Ok(_) => None,
        }
    })
}
