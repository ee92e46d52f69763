//! The tool `mempalace_status`: gives an overview of the palace and how to use it.

use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aaak::SPECIFICATION;
use super::record::{by_room, by_wing};
use crate::overview::{NAMES_MAX, OVERVIEW_BYTES_MAX, is_zero, largest};
use crate::{Hints, Reply, TypedTool};

/// The instructions for an agent.
const PROTOCOL: &str = "\
1. Wake up: call mempalace_status when a session starts, then mempalace_diary_read with your name.
2. Look up before you assert: whatever you would say of a person, a project or a decision from memory, ask \
mempalace_search (what was said) or mempalace_kg_query (what holds, and since when) first. If neither knows, say so.
3. File while it is fresh: what a later session needs goes into mempalace_add_drawer word for word, with its reason, \
in the wing of its person or project and the room of its subject. Use the names that mempalace_get_taxonomy shows \
before you make new ones. No secrets.
4. Correct, never contradict: when a fact changed, mempalace_kg_invalidate the old one, then mempalace_kg_add the new \
one. A drawer that says it wrong is changed by mempalace_update_drawer.
5. Write your diary (mempalace_diary_write) before a session ends: what you did, what you learned, what is open.";

/// The maximum bytes for the counts of wings, and likewise of rooms: half of the space besides the
/// texts.
const COUNTS_BYTES_MAX: usize = (OVERVIEW_BYTES_MAX - 4_096) / 2;

pub struct Status;

/// See what the palace holds, by wing and room, the rules for using it, and the shorthand for
/// diaries. Call it first in every session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// An overview.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// All drawers that you may read, entries of diaries included.
    total_drawers: u64,
    /// The number of drawers in each wing, of the 50 largest; `global` is for what is filed under
    /// none.
    wings: BTreeMap<String, u64>,
    /// The number of further wings.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The number of drawers in each room, in whichever wings it stands, of the 50 largest.
    rooms: BTreeMap<String, u64>,
    /// The number of further rooms.
    #[serde(skip_serializing_if = "is_zero")]
    more_rooms: u64,
    /// The rules for using the palace.
    protocol: &'static str,
    /// The shorthand that diaries are written in.
    aaak_dialect: &'static str,
}

impl TypedTool for Status {
    const NAME: &'static str = "mempalace_status";
    const TITLE: &'static str = "Palace overview";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let places = call.listings().places()?;
        let (wings, more_wings) = largest(by_wing(&places), NAMES_MAX, COUNTS_BYTES_MAX);
        let (rooms, more_rooms) = largest(by_room(&places), NAMES_MAX, COUNTS_BYTES_MAX);
        let output = Output {
            total_drawers: places.iter().map(|place| place.memories).sum(),
            wings,
            more_wings,
            rooms,
            more_rooms,
            protocol: PROTOCOL,
            aaak_dialect: SPECIFICATION,
        };
        Reply::json(&output, None)
    }
}
