//! The tool `stats`: counts memories.

use std::collections::BTreeMap;

use loci_core::Result;
use loci_engine::{Call, DeliveryCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::overview::{NAMES_MAX, OVERVIEW_BYTES_MAX, is_zero, largest};
use crate::{Hints, Reply, TypedTool};

/// The maximum bytes for the counts of projects.
const PROJECTS_BYTES_MAX: usize = OVERVIEW_BYTES_MAX / 2;
/// The maximum bytes for the counts of types.
const TYPES_BYTES_MAX: usize = OVERVIEW_BYTES_MAX / 4;

pub struct Stats;

/// Count the memories in total and by scope, project, type and delivery.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Counts of memories.
#[derive(Default, Serialize, JsonSchema)]
pub struct Output {
    /// All memories.
    total: u64,
    /// Memories by scope.
    by_scope: Scopes,
    /// Memories of each project; of many, the 50 largest.
    by_project: BTreeMap<String, u64>,
    /// The number of further projects.
    #[serde(skip_serializing_if = "is_zero")]
    more_projects: u64,
    /// Memories by how agents get them.
    by_delivery: Deliveries,
    /// Memories of each type; of many, the 50 largest.
    by_type: BTreeMap<String, u64>,
    /// The number of further types.
    #[serde(skip_serializing_if = "is_zero")]
    more_types: u64,
    /// Keys, tokens and passwords that were taken out of memories before these were stored, by
    /// kind, if any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    redacted: BTreeMap<String, u64>,
}

#[derive(Default, Serialize, JsonSchema)]
struct Scopes {
    /// Memories without a project.
    global: u64,
    /// Memories of a project.
    project: u64,
}

#[derive(Default, Serialize, JsonSchema)]
struct Deliveries {
    /// At the start of a session.
    bootstrap: u64,
    /// By a search.
    on_demand: u64,
    /// At every prompt as well.
    pinned: u64,
}

impl TypedTool for Stats {
    const NAME: &'static str = "stats";
    const TITLE: &'static str = "Statistics";
    const SCOPE: loci_core::Scope = loci_core::Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:count";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, _: Arguments) -> Result<Reply> {
        let mut output = Output::default();
        for tally in call.listings().count_by_location()? {
            output.total += tally.memories;
            *output.by_type.entry(tally.section).or_default() += tally.memories;
            match tally.collection {
                Some(project) => {
                    output.by_scope.project += tally.memories;
                    *output.by_project.entry(project).or_default() += tally.memories;
                }
                None => output.by_scope.global += tally.memories,
            }
        }
        (output.by_project, output.more_projects) =
            largest(output.by_project, NAMES_MAX, PROJECTS_BYTES_MAX);
        (output.by_type, output.more_types) = largest(output.by_type, NAMES_MAX, TYPES_BYTES_MAX);
        let DeliveryCounts { bootstrap, pinned } = call.context().delivery_counts()?;
        output.by_delivery = Deliveries {
            bootstrap,
            on_demand: output.total.saturating_sub(bootstrap + pinned),
            pinned,
        };
        let (_, redactions) = call.secrets().redactions()?;
        output.redacted = redactions
            .iter()
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect();
        Reply::json(&output, None)
    }
}
