//! Rooms and tunnels in the format of this dialect.

use std::collections::BTreeMap;

use loci_core::{Caller, Error, ErrorCode, Result, Tunnel, TunnelEnd};
use loci_engine::Room;
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::wing;
use crate::Reply;
use crate::overview::{OVERVIEW_BYTES_MAX, fitting, is_zero, largest};
use crate::wire::{Authorship, offset8601};

/// The number of wings named for a room.
const WINGS_MAX: usize = 5;
/// The maximum bytes of their names.
const WINGS_BYTES_MAX: usize = 512;
/// The bytes of an overview besides its rooms.
const NOTICE_BYTES: usize = 128;

/// A room name, in all wings that have it.
#[derive(Serialize, JsonSchema)]
pub struct Node {
    /// Its name.
    room: String,
    /// The wings that it stands in; of many, the five with most of its drawers.
    wings: Vec<String>,
    /// The number of further wings that it stands in.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The kinds of things in it: facts, events, decisions, preferences, advice, diary.
    halls: Vec<&'static str>,
    /// The number of drawers in it.
    count: u64,
}

impl From<Room> for Node {
    fn from(room: Room) -> Self {
        let (wings, more_wings) = largest_wings(room.collections);
        Node {
            halls: halls(&room.kinds),
            room: room.section,
            wings,
            more_wings,
            count: room.memories,
        }
    }
}

/// Returns the wings with the most memories, by name, and the number of the others.
pub fn largest_wings(collections: BTreeMap<Option<String>, u64>) -> (Vec<String>, u64) {
    let counts = collections
        .into_iter()
        .map(|(collection, memories)| (wing(collection), memories))
        .collect();
    let (wings, more) = largest(counts, WINGS_MAX, WINGS_BYTES_MAX);
    (wings.into_keys().collect(), more)
}

/// Returns the halls for the kinds of memories in a room, in order.
fn halls(kinds: &[String]) -> Vec<&'static str> {
    const HALLS: [(&str, &str); 6] = [
        ("advice", "advice"),
        ("decision", "decisions"),
        ("diary", "diary"),
        ("event", "events"),
        ("fact", "facts"),
        ("preference", "preferences"),
    ];
    HALLS
        .into_iter()
        .filter(|(kind, _)| kinds.iter().any(|there| there == kind))
        .map(|(_, hall)| hall)
        .collect()
}

/// Converts the error of a traversal that starts at a missing place: adds the argument, and the
/// tool that lists the places.
pub fn not_found_in<'a>(argument: &'a str, tool: &'a str) -> impl Fn(Error) -> Error + 'a {
    move |error| match error.code {
        ErrorCode::NotFound => {
            let error = error.with_remedy(&format!("{tool} shows what there is"));
            Error::not_found(format!("`{argument}`: {}", error.message))
        }
        _ => error,
    }
}

/// Returns the first rooms that fit into an overview, with a notice of how many of `total` are left
/// out.
///
/// # Errors
/// As for [`to_value`](crate::tool::to_value).
pub fn overview<T: Serialize>(rooms: Vec<T>, total: usize) -> Result<Reply> {
    let shown = fitting(rooms, OVERVIEW_BYTES_MAX - NOTICE_BYTES);
    let more = total - shown.len();
    let notice = (more > 0).then(|| format!("{more} more rooms are not shown"));
    Ok(Reply::json(&shown, Some(shown.len() as u64))?.with_notice(notice))
}

/// One end of a tunnel.
#[derive(Serialize, JsonSchema)]
pub struct End {
    /// The wing.
    wing: String,
    /// The room in it.
    room: String,
    /// The linked drawer in that room, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawer_id: Option<String>,
}

impl From<TunnelEnd> for End {
    fn from(end: TunnelEnd) -> Self {
        End {
            wing: wing(end.collection),
            room: end.section,
            drawer_id: end.memory.map(|id| id.to_string()),
        }
    }
}

/// A tunnel.
#[derive(Serialize, JsonSchema)]
pub struct TunnelRecord {
    /// Its id.
    tunnel_id: String,
    /// One end.
    source: End,
    /// The other one.
    target: End,
    /// The reason for the link; empty if the maker gave no reason.
    label: String,
    /// The creation time.
    created_at: String,
    /// The time of the last change.
    updated_at: String,
    #[serde(flatten)]
    authorship: Authorship,
}

impl TunnelRecord {
    /// Converts a tunnel for this reader.
    pub fn of(reader: &Caller, tunnel: Tunnel) -> Self {
        TunnelRecord {
            authorship: Authorship::of_owner(reader, tunnel.owner.as_deref()),
            tunnel_id: tunnel.id,
            source: tunnel.source.into(),
            target: tunnel.target.into(),
            label: tunnel.label,
            created_at: offset8601(tunnel.created_at),
            updated_at: offset8601(tunnel.updated_at),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn halls_are_named_after_kinds_in_order() {
        let rows: [(&[&str], &[&str]); 4] = [
            (&[], &[]),
            (&["drawer", "note", "task"], &[]),
            (
                &["decision", "diary", "drawer", "fact"],
                &["decisions", "diary", "facts"],
            ),
            (
                &["preference", "fact", "event", "diary", "decision", "advice"],
                &[
                    "advice",
                    "decisions",
                    "diary",
                    "events",
                    "facts",
                    "preferences",
                ],
            ),
        ];
        for (kinds, expected) in rows {
            let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            assert_eq!(super::halls(&kinds), expected, "{kinds:?}");
        }
    }
}
