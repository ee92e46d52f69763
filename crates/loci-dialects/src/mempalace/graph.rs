//! Rooms and tunnels in this dialect's terms.

use loci_core::{Caller, Error, ErrorCode, Tunnel, TunnelEnd};
use loci_engine::Room;
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::wing;
use crate::wire::{Authorship, offset8601};

/// A room, wherever it stands.
#[derive(Serialize, JsonSchema)]
pub struct Node {
    /// Its name.
    room: String,
    /// The wings that it stands in.
    wings: Vec<String>,
    /// What kinds of things are in it: facts, events, decisions, preferences, advice, diary.
    halls: Vec<&'static str>,
    /// How many drawers are in it.
    count: u64,
}

impl From<Room> for Node {
    fn from(room: Room) -> Self {
        Node {
            halls: halls(&room.kinds),
            room: room.section,
            wings: room.collections.into_iter().map(wing).collect(),
            count: room.memories,
        }
    }
}

/// What kinds of things a room holds, in order.
fn halls(kinds: &[String]) -> Vec<&'static str> {
    const HALLS: [(&str, &str); 6] = [
        ("advice", "advice"),
        ("decision", "decisions"),
        ("diary", "diary"),
        ("event", "events"),
        ("fact", "facts"),
        ("preference", "preferences"),
    ];
    HALLS.into_iter().filter(|(kind, _)| kinds.iter().any(|there| there == kind)).map(|(_, hall)| hall).collect()
}

/// The failure of a walk that begins where nothing is, with the argument that says where, and the tool that shows what
/// there is.
pub fn not_found_in<'a>(argument: &'a str, tool: &'a str) -> impl Fn(Error) -> Error + 'a {
    move |error| match error.code {
        ErrorCode::NotFound => {
            let message = error.message.replace("list what there is", &format!("{tool} shows what there is"));
            Error::not_found(format!("`{argument}`: {message}"))
        }
        _ => error,
    }
}

/// One end of a tunnel.
#[derive(Serialize, JsonSchema)]
pub struct End {
    /// The wing.
    wing: String,
    /// The room in it.
    room: String,
    /// The drawer there that is meant, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawer_id: Option<String>,
}

impl From<TunnelEnd> for End {
    fn from(end: TunnelEnd) -> Self {
        End { wing: wing(end.collection), room: end.section, drawer_id: end.memory.map(|id| id.to_string()) }
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
    /// What ties them; empty if nobody said.
    label: String,
    /// When it was made.
    created_at: String,
    /// When it last changed.
    updated_at: String,
    #[serde(flatten)]
    authorship: Authorship,
}

impl TunnelRecord {
    /// A tunnel as this reader sees it.
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
            (&["decision", "diary", "drawer", "fact"], &["decisions", "diary", "facts"]),
            (
                &["preference", "fact", "event", "diary", "decision", "advice"],
                &["advice", "decisions", "diary", "events", "facts", "preferences"],
            ),
        ];
        for (kinds, expected) in rows {
            let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            assert_eq!(super::halls(&kinds), expected, "{kinds:?}");
        }
    }
}
