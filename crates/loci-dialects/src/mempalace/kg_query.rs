//! The tool `mempalace_kg_query`: returns the facts about an entity.

use loci_core::limits::FACTS_MAX;
use loci_core::{Direction, Error, Result, Scope};
use loci_engine::{Call, name_key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::time;
use super::fact::{FactRecord, cut, entity};
use super::times::{period, shown};
use crate::faults::Faults;
use crate::past::KnownAt;
use crate::wire::{Offset, string_or_null};
use crate::{Hints, Reply, TypedTool};

pub struct KgQuery;

/// Look up the facts about a person, project or thing before you say something about it: all, ended
/// ones too (`current` says which hold), or those `as_of` a day. Case, spaces, hyphens and
/// underscores in names make no difference.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name.
    entity: String,
    /// Only facts that held on a day (YYYY-MM-DD) or at a moment (RFC 3339 with offset).
    as_of: Option<String>,
    known_at: Option<KnownAt>,
    /// `outgoing`: it is the subject; `incoming`: the object; `both` if left out.
    direction: Option<DirectionName>,
    /// The number of facts to skip; at most 1,000 come at a time.
    offset: Option<Offset>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DirectionName {
    Outgoing,
    Incoming,
    Both,
}

impl From<DirectionName> for Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::Outgoing => Direction::Outgoing,
            DirectionName::Incoming => Direction::Incoming,
            DirectionName::Both => Direction::Both,
        }
    }
}

/// The facts about the entity.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The name that was asked about.
    entity: String,
    /// The time that was asked about; null if any.
    #[schemars(schema_with = "string_or_null")]
    as_of: Option<String>,
    /// The facts, earliest first; those without a beginning before all others.
    facts: Vec<FactRecord>,
    /// The number of facts here.
    count: usize,
}

impl TypedTool for KgQuery {
    const NAME: &'static str = "mempalace_kg_query";
    const TITLE: &'static str = "Look up facts";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("entity", entity)
            .check("as_of", time)
            .and(KnownAt::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let as_of = period("as_of", arguments.as_of.as_deref())?;
        let direction = arguments.direction.map_or(Direction::Both, Direction::from);
        let offset = arguments.offset.map_or(0, |offset| offset.0);
        let known = KnownAt::moment(call, arguments.known_at.as_ref())?;
        let entity = &*arguments.entity;
        let found = match known {
            Some(at) => {
                let about = Some((entity, direction));
                call.graph().facts_known_at(about, as_of, at, offset)?
            }
            None => call
                .graph()
                .facts_about(entity, direction, as_of, offset, FACTS_MAX)?,
        };
        let key = name_key(entity);
        let now = known.unwrap_or_else(|| call.engine().now());
        let is_subject = |subject: &str| direction != Direction::Incoming && subject == key;
        let facts: Vec<FactRecord> = found
            .facts
            .into_iter()
            .map(|fact| {
                let direction = if is_subject(&fact.subject.key) {
                    "outgoing"
                } else {
                    "incoming"
                };
                FactRecord::of(call.caller(), fact, now, Some(direction))
            })
            .collect();
        let output = Output {
            entity: arguments.entity,
            as_of: as_of.map(shown),
            count: facts.len(),
            facts,
        };
        Ok(Reply::json(&output, Some(output.count as u64))?.with_notice(cut(found.is_cut, offset)))
    }
}
