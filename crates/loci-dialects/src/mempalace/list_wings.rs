//! The tool `mempalace_list_wings`: lists wings with their numbers of drawers.

use std::collections::BTreeMap;

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::by_wing;
use crate::overview::{NAMES_MAX, OVERVIEW_BYTES_MAX, is_zero, largest_after, next_offset};
use crate::wire::Offset;
use crate::{Hints, Reply, TypedTool};

/// The bytes of a reply besides the counts.
const FRAME_BYTES: usize = 128;

pub struct ListWings;

/// List the wings (people, projects, agents) with the number of drawers, the largest ones first: 50
/// at a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The number to skip: the `next_offset` of the page before.
    offset: Option<Offset>,
}

/// The wings.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The number of drawers in each wing, by its name; `global` is for what is filed under none.
    wings: BTreeMap<String, u64>,
    /// The number of further wings.
    #[serde(skip_serializing_if = "is_zero")]
    more_wings: u64,
    /// The `offset` of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl TypedTool for ListWings {
    const NAME: &'static str = "mempalace_list_wings";
    const TITLE: &'static str = "List wings";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let wings = by_wing(&call.listings().places()?);
        let bytes_max = OVERVIEW_BYTES_MAX - FRAME_BYTES;
        let (wings, more_wings) = largest_after(offset, wings, NAMES_MAX, bytes_max);
        let output = Output {
            next_offset: next_offset(offset, wings.len(), more_wings),
            wings,
            more_wings,
        };
        Reply::json(&output, None)
    }
}
