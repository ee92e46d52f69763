//! The tool `mempalace_list_rooms`: lists rooms with their numbers of drawers.

use std::collections::BTreeMap;

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ResolvedPlace, collection, resolve_place};
use super::record::by_room;
use crate::faults::Faults;
use crate::overview::{
    NAMES_MAX, OVERVIEW_BYTES_MAX, is_zero, json_bytes, largest_after, next_offset,
};
use crate::wire::{Offset, string_or_null};
use crate::{Hints, Reply, TypedTool};

/// The bytes of a reply besides the counts and the name of the wing.
const FRAME_BYTES: usize = 128;

pub struct ListRooms;

/// List the rooms of a wing, or of all, with the number of drawers, the largest ones first: 50 at a
/// time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The wing; all, if left out.
    wing: Option<String>,
    /// The number to skip: the `next_offset` of the page before.
    offset: Option<Offset>,
}

/// The rooms.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The wing that was asked about; null if all.
    #[schemars(schema_with = "string_or_null")]
    wing: Option<String>,
    /// The number of drawers in each room, by its name. A wing that does not exist has no rooms.
    rooms: BTreeMap<String, u64>,
    /// The number of further rooms.
    #[serde(skip_serializing_if = "is_zero")]
    more_rooms: u64,
    /// The `offset` of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl TypedTool for ListRooms {
    const NAME: &'static str = "mempalace_list_rooms";
    const TITLE: &'static str = "List rooms";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).optional("wing", check::name).found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let ResolvedPlace { wing, notice, .. } = resolve_place(call, arguments.wing, None)?;
        let mut places = call.listings().places()?;
        if let Some(wing) = &wing {
            let collection = collection(wing);
            places.retain(|place| place.collection == collection);
        }
        let bytes_max = OVERVIEW_BYTES_MAX.saturating_sub(FRAME_BYTES + json_bytes(&wing));
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let (rooms, more_rooms) = largest_after(offset, by_room(&places), NAMES_MAX, bytes_max);
        let output = Output {
            next_offset: next_offset(offset, rooms.len(), more_rooms),
            wing,
            rooms,
            more_rooms,
        };
        Ok(Reply::json(&output, None)?.with_notice(notice))
    }
}
