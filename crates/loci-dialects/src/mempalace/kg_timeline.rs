//! The tool `mempalace_kg_timeline`: lists facts in chronological order.

use loci_core::{Direction, Error, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::given;
use super::fact::{FactRecord, cut, entity};
use crate::faults::Faults;
use crate::past::KnownAt;
use crate::wire::{Offset, string_or_null};
use crate::{Hints, Reply, TypedTool};

pub struct KgTimeline;

/// Read the facts about one thing, or all, in the order in which they started, ended ones too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name; everything, if left out.
    entity: Option<String>,
    known_at: Option<KnownAt>,
    /// The number of facts to skip; at most 1,000 come at a time.
    offset: Option<Offset>,
}

/// The timeline.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The name that was asked about; null if everything.
    #[schemars(schema_with = "string_or_null")]
    entity: Option<String>,
    /// The facts, earliest first; those without a beginning before all others.
    timeline: Vec<FactRecord>,
    /// The number of facts here.
    count: usize,
}

impl TypedTool for KgTimeline {
    const NAME: &'static str = "mempalace_kg_timeline";
    const TITLE: &'static str = "Facts in time";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .optional("entity", entity)
            .and(KnownAt::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let entity = given(arguments.entity);
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let known = KnownAt::moment(call, arguments.known_at.as_ref())?;
        let found = match known {
            Some(at) => {
                let about = entity.as_deref().map(|entity| (entity, Direction::Both));
                call.graph().facts_known_at(about, None, at, offset)?
            }
            None => call.graph().timeline(entity.as_deref(), offset)?,
        };
        let now = known.unwrap_or_else(|| call.engine().now());
        let timeline: Vec<FactRecord> = found
            .facts
            .into_iter()
            .map(|fact| FactRecord::of(call.caller(), fact, now, None))
            .collect();
        let output = Output {
            entity,
            count: timeline.len(),
            timeline,
        };
        Ok(Reply::json(&output, Some(output.count as u64))?.with_notice(cut(found.is_cut, offset)))
    }
}
