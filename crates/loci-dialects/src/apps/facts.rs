//! The tool `loci_view_facts`: shows a view the facts of an entity, along the time.

use loci_core::{Direction, Fact, Period, Result, Scope};
use loci_engine::{Call, FactAuthor, name_key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown_memory::reply;
use crate::wire::rfc3339;
use crate::{Hints, Reply, TypedTool};

/// The most facts that are shown.
const SHOWN: usize = 120;
/// The most entities that are offered.
const ENTITIES_MAX: usize = 60;

pub struct ShowFacts;

/// Read the facts of an entity for a view of the conversation. Views call this; a model has no use for
/// it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name of the entity; without it, the one with the most facts.
    entity: Option<String>,
    /// The user, in tool sets whose calls name one.
    #[serde(rename = "user_id")]
    _user_id: Option<String>,
}

/// The facts of an entity.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The entity; none if there are no facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<String>,
    /// Its facts, by their start.
    facts: Vec<ShownFact>,
    /// True if it has further ones.
    is_cut: bool,
    /// The entities with the most facts.
    entities: Vec<String>,
    /// The time at which a fact `holds`.
    now: String,
}

/// A fact.
#[derive(Serialize, JsonSchema)]
struct ShownFact {
    /// The relation.
    predicate: String,
    /// The other entity.
    other: String,
    /// True if the entity is the object of the fact.
    incoming: bool,
    /// The first moment at which it holds; always, without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    /// The last moment at which it holds; its end is open without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<String>,
    /// True if it holds now.
    holds: bool,
    /// Who asserted it, if that is not the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl TypedTool for ShowFacts {
    const NAME: &'static str = "loci_view_facts";
    const TITLE: &'static str = "Facts over time";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "graph:read";
    const BY_A_PERSON: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let graph = call.graph();
        let now = call.engine().now();
        let found = graph.entities("", ENTITIES_MAX)?.into_iter();
        let entities: Vec<String> = found.map(|entity| entity.name.spelling).collect();
        let named = arguments.entity.filter(|name| !name.trim().is_empty());
        let Some(entity) = named.or_else(|| entities.first().cloned()) else {
            let nothing = Output {
                entity: None,
                facts: Vec::new(),
                is_cut: false,
                entities,
                now: rfc3339(now),
            };
            return reply("Read.", &nothing, None);
        };
        let about = graph.facts_about(&entity, Direction::Both, None, 0, SHOWN)?;
        let key = name_key(&entity);
        let shown = |fact: &Fact| {
            let incoming = fact.subject.key != key;
            let other = if incoming {
                &fact.subject
            } else {
                &fact.object
            };
            ShownFact {
                predicate: fact.predicate.spelling.clone(),
                other: other.spelling.clone(),
                incoming,
                valid_from: fact.valid_from.map(|from| rfc3339(from.first)),
                valid_to: fact.valid_to.map(|to| rfc3339(to.last)),
                holds: fact.holds_in(Period {
                    first: now,
                    last: now,
                }),
                author: match FactAuthor::of(call.caller(), fact) {
                    FactAuthor::Other(name) => Some(name),
                    FactAuthor::Reader | FactAuthor::Unknown => None,
                },
            }
        };
        let names = about
            .facts
            .iter()
            .flat_map(|fact| [&fact.subject, &fact.object]);
        let spelled = names.clone().find(|name| name.key == key);
        let output = Output {
            entity: Some(spelled.map_or(entity, |name| name.spelling.clone())),
            is_cut: about.is_cut,
            facts: about.facts.iter().map(shown).collect(),
            entities,
            now: rfc3339(now),
        };
        reply("Read.", &output, None)
    }
}
