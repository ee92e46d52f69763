//! The tool `loci_view_keep`: decides that one memory of a pair holds, and takes the decision back.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, ConflictResolution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argument::named;
use super::shown_memory::reply;
use crate::{Hints, Reply, TypedTool};

pub struct KeepMemory;

/// Keep one memory of a pair, which replaces the other, or take that back. Views call this when a person
/// presses a button.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the memory that is kept.
    kept: String,
    /// The id of the other one.
    other: String,
    /// The decision to take back, as this tool returned it.
    undo: Option<Settled>,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// What became of the other memory.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// The weight that it had before the kept one replaced it; none if it was forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    weight: Option<f64>,
}

/// The decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// By which it can be taken back.
    undo: Settled,
}

impl From<ConflictResolution> for Settled {
    fn from(settled: ConflictResolution) -> Self {
        Settled {
            weight: match settled {
                ConflictResolution::Superseded { weight } => Some(weight),
                ConflictResolution::Forgotten => None,
            },
        }
    }
}

impl From<Settled> for ConflictResolution {
    fn from(settled: Settled) -> Self {
        settled
            .weight
            .map_or(ConflictResolution::Forgotten, |weight| {
                ConflictResolution::Superseded { weight }
            })
    }
}

impl TypedTool for KeepMemory {
    const NAME: &'static str = "loci_view_keep";
    const TITLE: &'static str = "Keep one of two memories";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let kept = named(call, "kept", &arguments.kept)?.id;
        let other = named(call, "other", &arguments.other)?.id;
        if kept == other {
            return Err(Error::invalid("other", "must be another memory"));
        }
        let undo = match arguments.undo {
            Some(undo) => {
                call.memories()
                    .undo_resolution(&kept, &other, &undo.into())?;
                undo
            }
            None => call.memories().resolve_conflict(&kept, &other)?.into(),
        };
        reply("Decided.", &Output { undo }, None)
    }
}
