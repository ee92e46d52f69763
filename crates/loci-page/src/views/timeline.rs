//! The view *Time*: the facts of an entity, on lanes along the time for which they hold.

pub(super) mod change;
pub(super) mod entities;
mod lanes;

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Caller, Direction, Fact, Period, Result};
use loci_engine::{FactAuthor, name_key, shown_name};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::encoding::encoded;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

pub(crate) use change::{add, correct, end};
pub(crate) use entities::entities;
pub(crate) use lanes::Lanes;

/// The facts that are shown at a time.
const SHOWN: usize = 200;
/// The names of entities that are offered.
const NAMES_MAX: usize = 300;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TimelineQuery {
    /// The name of the entity.
    entity: Option<String>,
    /// The day at which facts are looked at; today if it is left out.
    as_of: Option<String>,
    #[serde(default)]
    offset: usize,
}

/// The facts of an entity.
#[derive(Serialize, ToSchema)]
#[schema(as = Time)]
pub(crate) struct TimelineView {
    /// The entity, as it was spelled first; `None` if none was named.
    pub(crate) entity: Option<String>,
    /// The day (UTC) for which a fact `holds`.
    pub(crate) as_of: String,
    /// The names of entities that are offered, in order: those in the facts on the lanes, and
    /// without such facts those in the first facts of all.
    pub(crate) entities: Vec<String>,
    /// The names of all relations.
    pub(crate) predicates: Vec<String>,
    /// Its facts, on lanes by their relation and direction.
    pub(crate) lanes: Vec<Lane>,
    /// The offset of the next facts, if there are more.
    pub(crate) next_offset: Option<usize>,
    #[serde(skip)]
    pub(crate) drawn: Lanes,
}

/// The facts of an entity with one relation and direction.
#[derive(Serialize, ToSchema)]
pub(crate) struct Lane {
    pub(crate) predicate: String,
    /// `outgoing` if the entity is the subject, else `incoming`.
    pub(crate) direction: &'static str,
    /// The facts, by their start.
    pub(crate) facts: Vec<FactRow>,
}

/// A fact on a lane.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FactShown)]
pub(crate) struct FactRow {
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) predicate: String,
    pub(crate) object: String,
    /// The first moment at which it holds; `None` if it always held.
    pub(crate) valid_from: Option<UtcTimestamp>,
    /// The last moment at which it holds; `None` if its end is open.
    pub(crate) valid_to: Option<UtcTimestamp>,
    pub(crate) source: Option<String>,
    /// Who asserted it, `anonymous` for a caller without a name; `None` if that is not known.
    pub(crate) author: Option<String>,
    /// True if it holds at any moment of the day `as_of`.
    pub(crate) holds: bool,
    /// The first and the last day, as numbers of days since 1970.
    #[serde(skip)]
    pub(crate) days: [Option<i64>; 2],
    /// True if the reader asserted it.
    #[serde(skip)]
    pub(crate) is_own: bool,
    /// The path of the other entity.
    #[serde(skip)]
    pub(crate) other_path: String,
    /// The other entity.
    #[serde(skip)]
    pub(crate) other: String,
}

view!(TimelineView, Tab::Time, "timeline.html");

/// Returns the path of the facts of an entity at a day.
pub(crate) fn time_path(entity: &str, as_of: Option<&str>) -> String {
    let path = format!("/time?entity={}", encoded(entity));
    match as_of {
        Some(as_of) => format!("{path}&as_of={}", encoded(as_of)),
        None => path,
    }
}

/// Parses a day or an instant of the argument `argument` as a period.
fn period(argument: &str, text: &str) -> Result<Period> {
    Ok(Period {
        first: UtcTimestamp::parse(argument, text, false)?,
        last: UtcTimestamp::parse(argument, text, true)?,
    })
}

/// Returns the facts of an entity along the time.
#[utoipa::path(get, tag = "time", path = "/time", operation_id = "time", params(TimelineQuery), responses((status = OK, body = TimelineView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: TimelineQuery) -> Result<TimelineView> {
    let graph = context.call().graph();
    let today = UtcTimestamp(context.engine().now());
    // An instant is looked at with the rest of its day, as the slider has whole days.
    let day = match &query.as_of {
        Some(text) => UtcTimestamp(UtcTimestamp::parse("as_of", text, false)?).day(),
        None => today.day(),
    };
    let as_of = period("as_of", &day)?;
    let (mut facts, mut is_cut) = (Vec::new(), false);
    let mut entity = None;
    if let Some(name) = query.entity {
        let about = graph.facts_about(&name, Direction::Both, None, query.offset)?;
        is_cut = about.is_cut || about.facts.len() > SHOWN;
        facts = about.facts;
        facts.truncate(SHOWN);
        let key = name_key(&name);
        let known = facts
            .iter()
            .flat_map(|fact| [&fact.subject, &fact.object])
            .find(|other| other.key == key);
        entity = Some(known.map_or(name, |known| known.spelling.clone()));
    }
    let named = if facts.is_empty() {
        &graph.timeline(None, 0)?.facts
    } else {
        &facts
    };
    let names = named.iter().flat_map(|fact| [&fact.subject, &fact.object]);
    let entities: BTreeMap<&str, &str> = names
        .map(|name| (name.key.as_str(), name.spelling.as_str()))
        .collect();
    let reader = context.call().caller();
    let lanes = lanes_of(reader, &facts, entity.as_deref(), as_of);
    Ok(TimelineView {
        drawn: Lanes::of(&lanes, [as_of.first, today.0]),
        lanes,
        entity,
        as_of: day,
        entities: entities
            .into_values()
            .take(NAMES_MAX)
            .map(str::to_owned)
            .collect(),
        predicates: graph.fact_counts()?.predicates,
        next_offset: is_cut.then(|| query.offset.saturating_add(SHOWN)),
    })
}

/// Returns the facts of an entity by their relation and direction, those whose subject it is first.
fn lanes_of(reader: &Caller, facts: &[Fact], entity: Option<&str>, as_of: Period) -> Vec<Lane> {
    let key = entity.map(name_key).unwrap_or_default();
    let mut lanes: BTreeMap<(bool, &str), Vec<&Fact>> = BTreeMap::new();
    for fact in facts {
        let is_incoming = fact.subject.key != key;
        let lane = lanes.entry((is_incoming, &fact.predicate.key));
        lane.or_default().push(fact);
    }
    let fact_row = |is_incoming: bool, fact: &Fact| {
        let other = if is_incoming {
            &fact.subject.spelling
        } else {
            &fact.object.spelling
        };
        FactRow {
            other_path: time_path(other, None),
            other: other.clone(),
            id: fact.id.clone(),
            subject: fact.subject.spelling.clone(),
            predicate: fact.predicate.spelling.clone(),
            object: fact.object.spelling.clone(),
            valid_from: fact.valid_from.map(|from| UtcTimestamp(from.first)),
            valid_to: fact.valid_to.map(|to| UtcTimestamp(to.last)),
            source: fact.source.clone(),
            author: fact.author.as_deref().map(shown_name),
            is_own: FactAuthor::of(reader, fact) == FactAuthor::Reader,
            holds: fact.holds_in(as_of),
            days: [
                fact.valid_from.map(|from| lanes::day(from.first)),
                fact.valid_to.map(|to| lanes::day(to.last)),
            ],
        }
    };
    lanes
        .into_iter()
        .map(|((is_incoming, _), facts)| Lane {
            predicate: facts
                .first()
                .map_or_else(String::new, |fact| fact.predicate.spelling.clone()),
            direction: if is_incoming { "incoming" } else { "outgoing" },
            facts: facts
                .into_iter()
                .map(|fact| fact_row(is_incoming, fact))
                .collect(),
        })
        .collect()
}

impl TimelineView {
    /// Returns the names of the entities that the facts on the lanes lead to, in order.
    pub(crate) fn neighbours(&self) -> Vec<(&str, &str)> {
        let facts = self.lanes.iter().flat_map(|lane| &lane.facts);
        let all: BTreeSet<_> = facts
            .map(|fact| (fact.other.as_str(), fact.other_path.as_str()))
            .filter(|(name, _)| Some(*name) != self.entity.as_deref())
            .collect();
        all.into_iter().collect()
    }

    /// Returns the path of the facts of an entity.
    pub(crate) fn path_of(&self, entity: &str) -> String {
        time_path(entity, Some(&self.as_of))
    }

    /// Returns the path of the next facts.
    pub(crate) fn next(&self) -> Option<String> {
        let entity = self.entity.as_deref()?;
        let path = self.path_of(entity);
        Some(format!("{path}&offset={}", self.next_offset?))
    }

    /// Returns the number of facts that hold at the day.
    pub(crate) fn holding(&self) -> usize {
        let facts = self.lanes.iter().flat_map(|lane| &lane.facts);
        facts.filter(|fact| fact.holds).count()
    }
}

impl FactRow {
    /// Returns the first day as an attribute; empty if it always held.
    pub(crate) fn first_day(&self) -> String {
        self.days[0].map_or_else(String::new, |day| day.to_string())
    }

    /// Returns the last day as an attribute; empty if its end is open.
    pub(crate) fn last_day(&self) -> String {
        self.days[1].map_or_else(String::new, |day| day.to_string())
    }

    /// Returns the day of its start as a field of a form has it.
    pub(crate) fn start_field(&self) -> String {
        self.valid_from.map_or_else(String::new, UtcTimestamp::day)
    }

    /// Returns the day of its end as a field of a form has it.
    pub(crate) fn end_field(&self) -> String {
        self.valid_to.map_or_else(String::new, UtcTimestamp::day)
    }

    /// Returns what it says, in one line.
    pub(crate) fn sentence(&self) -> String {
        format!("{} {} {}", self.subject, self.predicate, self.object)
    }
}
