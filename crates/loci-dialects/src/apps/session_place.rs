//! The tool `loci_view_move`: moves a memory at the start of sessions, and takes that back.

use loci_core::{Error, MemoryId, Result, Scope};
use loci_engine::{BootstrapPlace, Call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argument::named;
use super::shown_memory::reply;
use crate::{Hints, Reply, TypedTool};

pub struct MoveMemory;

/// Move a memory that sessions start with to another place under its heading. Views call this when a
/// person presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory.
    id: String,
    /// The place.
    to: Place,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// A place among the memories under one heading. One of the three.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// `up` or `down`, past the neighbour.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<Direction>,
    /// The id of the memory that comes after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The id of the memory that comes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Up,
    Down,
}

/// The way back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The place where it was.
    back: Place,
}

impl Place {
    fn read(self) -> Result<BootstrapPlace> {
        let id = |argument: &str, id: &str| MemoryId::parse(argument, id);
        match (self.direction, self.before, self.after) {
            (Some(Direction::Up), None, None) => Ok(BootstrapPlace::Up),
            (Some(Direction::Down), None, None) => Ok(BootstrapPlace::Down),
            (None, Some(before), None) => Ok(BootstrapPlace::Before(id("to.before", &before)?)),
            (None, None, Some(after)) => Ok(BootstrapPlace::After(id("to.after", &after)?)),
            _ => Err(Error::invalid(
                "to",
                "needs one of `direction`, `before` and `after`",
            )),
        }
    }

    fn of(place: &BootstrapPlace) -> Self {
        match place {
            BootstrapPlace::Up => Place {
                direction: Some(Direction::Up),
                ..Place::default()
            },
            BootstrapPlace::Down => Place {
                direction: Some(Direction::Down),
                ..Place::default()
            },
            BootstrapPlace::Before(id) => Place {
                before: Some(id.to_string()),
                ..Place::default()
            },
            BootstrapPlace::After(id) => Place {
                after: Some(id.to_string()),
                ..Place::default()
            },
        }
    }
}

impl TypedTool for MoveMemory {
    const NAME: &'static str = "loci_view_move";
    const TITLE: &'static str = "Move a memory";
    const SCOPE: Scope = Scope::Write;
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "settings:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memory = named(call, "id", &arguments.id)?;
        let to = arguments.to.read()?;
        let back = call.context().move_in_bootstrap(&memory.id, &to)?;
        let back = Place::of(&back);
        reply("Moved.", &Output { back }, None)
    }
}
