//! The view *Facts*: the entities, and of one what holds, what it leads to, and lanes along the time
//! for which its facts hold.

pub(super) mod change;
pub(super) mod entities;
pub(super) mod facts;
mod lanes;
mod neighbours;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Caller, Direction, Fact, Name, Period, Result, Timestamp};
use loci_engine::{FactAuthor, Facts, name_key, shown_name};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::encoding::encoded;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};
use crate::views::search::filters::past_time;

pub(crate) use change::{add, correct, end};
pub(crate) use entities::{EntityRow, entities, list as list_entities};
pub(crate) use facts::list as list_facts;
pub(crate) use lanes::{Bar, LaneDrawing, Lanes};

/// The facts that are shown at a time.
const SHOWN: usize = 200;
/// The names of entities that are offered.
const NAMES_MAX: usize = 300;
/// The entities that are listed beside the facts; a view of its own lists all.
const LISTED_MAX: usize = 40;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TimelineQuery {
    /// The name of the entity.
    entity: Option<String>,
    /// The day or the instant at which facts are looked at; today if it is left out.
    as_of: Option<String>,
    /// The facts as they were known at this instant, or at the end of this day: without what was noted,
    /// ended or taken back since.
    known_at: Option<String>,
    #[serde(default)]
    offset: usize,
    /// A text in the names of the entities that are listed; all if it is left out.
    #[serde(default)]
    text: String,
}

/// The facts of an entity.
#[derive(Serialize, ToSchema)]
#[schema(as = Time)]
pub(crate) struct TimelineView {
    /// The entity, as it was spelled first; `None` if none was named.
    pub(crate) entity: Option<String>,
    /// The day (UTC) for which a fact `holds`; the day of an instant, if one was asked for.
    pub(crate) as_of: String,
    /// The time at which the facts were known, as it was asked for; `None` for now.
    pub(crate) known_at: Option<String>,
    /// The names of entities that are offered, in order: those in the facts on the lanes, and
    /// without such facts those with the most facts.
    pub(crate) entities: Vec<String>,
    /// The text in the names of the listed entities.
    pub(crate) text: String,
    /// Entities with the numbers of their facts, the ones with most facts first.
    pub(crate) listed: Vec<EntityRow>,
    /// True if there are further entities.
    pub(crate) has_further: bool,
    /// The names of all relations.
    pub(crate) predicates: Vec<String>,
    /// Its facts, on lanes by their relation and direction, the ones that changed most first.
    pub(crate) lanes: Vec<Lane>,
    /// The offset of the next facts, if there are more.
    pub(crate) next_offset: Option<usize>,
    #[serde(skip)]
    pub(crate) drawn: Lanes,
    #[serde(skip)]
    pub(crate) around: Neighbours,
    #[serde(skip)]
    today: String,
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
    /// The last moment of its last day, or the moment at which it ends and no longer holds; `None` if
    /// its end is open.
    pub(crate) valid_to: Option<UtcTimestamp>,
    pub(crate) source: Option<String>,
    /// Who asserted it, `anonymous` for a caller without a name; `None` if that is not known.
    pub(crate) author: Option<String>,
    /// True if it holds at any moment of the day, or at the instant, that was asked for.
    pub(crate) holds: bool,
    /// Another value of this relation that holds at the same time, so that one of both may be wrong.
    pub(crate) rival: Option<String>,
    /// The first and the last day, as numbers of days since 1970.
    #[serde(skip)]
    pub(crate) days: [Option<i64>; 2],
    /// True if the reader asserted it.
    #[serde(skip)]
    pub(crate) is_own: bool,
    /// The other entity.
    #[serde(skip)]
    pub(crate) other: String,
}

pub(crate) use neighbours::Neighbours;

view!(TimelineView, Tab::Facts, "timeline.html");

/// Returns the path of the facts of an entity at a day.
pub(crate) fn time_path(entity: &str, as_of: Option<&str>) -> String {
    let path = format!("/facts?entity={}", encoded(entity));
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
#[utoipa::path(get, tag = "time", path = "/facts", operation_id = "time", params(TimelineQuery), responses((status = OK, body = TimelineView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: TimelineQuery) -> Result<TimelineView> {
    let graph = context.call().graph();
    let today = UtcTimestamp(context.engine().now());
    let as_of = match &query.as_of {
        Some(text) => period("as_of", text)?,
        None => period("as_of", &today.day())?,
    };
    let known_at = query.known_at.filter(|text| !text.is_empty());
    let known_words = known_at.clone();
    let known_at = past_time(context, "known_at", known_at.as_deref())?;
    let day = UtcTimestamp(as_of.first).day();
    let (mut facts, mut is_cut) = (Vec::new(), false);
    let mut entity = None;
    if let Some(name) = query.entity {
        let about = match known_at {
            Some(at) => known_then(context, &name, at, query.offset)?,
            None => graph.facts_about(&name, Direction::Both, None, query.offset, SHOWN)?,
        };
        (facts, is_cut) = (about.facts, about.is_cut);
        let key = name_key(&name);
        let known = facts
            .iter()
            .flat_map(|fact| [&fact.subject, &fact.object])
            .find(|other| other.key == key);
        entity = Some(known.map_or(name, |known| known.spelling.clone()));
    }
    let mut listed = graph.entities(query.text.trim(), LISTED_MAX + 1)?;
    let names = facts
        .iter()
        .flat_map(|fact| [fact.subject.clone(), fact.object.clone()]);
    let mut named: Vec<Name> = names.collect();
    if named.is_empty() {
        let most = graph.entities("", NAMES_MAX)?.into_iter();
        named = most.map(|entity| entity.name).collect();
    }
    let entities: BTreeMap<String, String> = named
        .into_iter()
        .map(|name| (name.key, name.spelling))
        .collect();
    let reader = context.call().caller();
    let mut lanes = lanes_of(reader, &facts, entity.as_deref(), as_of);
    mark_rivals(&mut lanes);
    let has_further = listed.len() > LISTED_MAX;
    listed.truncate(LISTED_MAX);
    Ok(TimelineView {
        drawn: Lanes::of(&lanes, [as_of.first, today.0]),
        around: Neighbours::of(&lanes, entity.as_deref(), &day),
        text: query.text,
        listed: listed.into_iter().map(EntityRow::of).collect(),
        has_further,
        today: today.day(),
        known_at: known_words,
        lanes,
        entity,
        as_of: day,
        entities: entities.into_values().take(NAMES_MAX).collect(),
        predicates: graph.fact_counts()?.predicates,
        next_offset: is_cut.then(|| query.offset.saturating_add(SHOWN)),
    })
}

/// Returns the facts of an entity as they were known at a time.
fn known_then(
    context: &RequestContext<'_>,
    entity: &str,
    at: Timestamp,
    offset: usize,
) -> Result<Facts> {
    let about = Some((entity, Direction::Both));
    let graph = context.call().graph();
    let mut known = graph.facts_known_at(about, None, at, offset)?;
    known.is_cut |= known.facts.len() > SHOWN;
    known.facts.truncate(SHOWN);
    Ok(known)
}

/// Returns the facts of an entity by their relation and direction, with the facts first whose subject it is.
fn lanes_of(reader: &Caller, facts: &[Fact], entity: Option<&str>, as_of: Period) -> Vec<Lane> {
    let key = entity.map(name_key).unwrap_or_default();
    let mut lanes: BTreeMap<(bool, &str), Vec<&Fact>> = BTreeMap::new();
    for fact in facts {
        let is_incoming = fact.subject.key != key;
        let lane = lanes.entry((is_incoming, &fact.predicate.key));
        lane.or_default().push(fact);
    }
    let mut lanes: Vec<Lane> = lanes
        .into_iter()
        .map(|((is_incoming, _), facts)| Lane {
            predicate: facts
                .first()
                .map_or_else(String::new, |fact| fact.predicate.spelling.clone()),
            direction: if is_incoming { "incoming" } else { "outgoing" },
            facts: facts
                .into_iter()
                .map(|fact| FactRow::of(reader, fact, is_incoming, as_of))
                .collect(),
        })
        .collect();
    // A stable sort keeps the order of directions and relations.
    lanes.sort_by_key(|lane| Reverse(lane.facts.len()));
    lanes
}

/// Marks the facts of one subject and relation that hold at the same time with another value, if
/// two facts do: of a relation with more, several values are meant, such as of `knows`.
fn mark_rivals(lanes: &mut [Lane]) {
    for lane in lanes.iter_mut().filter(|lane| lane.direction == "outgoing") {
        let rivals: Vec<Option<String>> = lane
            .facts
            .iter()
            .map(|fact| {
                let is_rival = |other: &&FactRow| other.other != fact.other && overlap(fact, other);
                let mut rivals = lane.facts.iter().filter(is_rival);
                match (rivals.next(), rivals.next()) {
                    (Some(rival), None) => Some(rival.other.clone()),
                    _ => None,
                }
            })
            .collect();
        for (fact, rival) in lane.facts.iter_mut().zip(rivals) {
            fact.rival = rival;
        }
    }
}

/// Returns true if two facts hold on one day, unless that is the day on which one ends and the other
/// one begins.
fn overlap(one: &FactRow, other: &FactRow) -> bool {
    let begin = |fact: &FactRow| fact.days[0].unwrap_or(i64::MIN);
    let end = |fact: &FactRow| fact.days[1].unwrap_or(i64::MAX);
    begin(one).max(begin(other)) < end(one).min(end(other))
}

/// Returns the last day on which a fact holds; the first, if it ends before it holds on any.
fn last_day(from: Option<Period>, to: Period) -> i64 {
    let last = Timestamp::from_microseconds(to.end().microseconds().saturating_sub(1));
    let first = from.map_or(i64::MIN, |from| lanes::day(from.first));
    lanes::day(last).max(first)
}

impl TimelineView {
    /// Returns the facts that hold at the day, or the other ones, in the order of the lanes.
    pub(crate) fn facts(&self, hold: bool) -> Vec<&FactRow> {
        let facts = self.lanes.iter().flat_map(|lane| &lane.facts);
        facts.filter(|fact| fact.holds == hold).collect()
    }

    /// Returns the name of a lane as it is drawn.
    pub(crate) fn lane_name(&self, drawn: &LaneDrawing) -> String {
        match self.lanes.get(drawn.lane) {
            Some(lane) if lane.direction == "incoming" => format!("\u{2190} {}", lane.predicate),
            Some(lane) => format!("{} \u{2192}", lane.predicate),
            None => String::new(),
        }
    }

    /// Returns the facts of a lane with their bars.
    pub(crate) fn bars_of<'v>(&'v self, drawn: &'v LaneDrawing) -> Vec<(&'v FactRow, &'v Bar)> {
        let lane = self.lanes.get(drawn.lane).into_iter();
        let facts = lane.flat_map(|lane| &lane.facts);
        facts.zip(&drawn.bars).collect()
    }

    /// Returns the number of facts that do not hold at the day.
    pub(crate) fn others(&self) -> usize {
        self.facts(false).len()
    }

    /// Returns the path of the facts of the entity today.
    pub(crate) fn today_path(&self) -> String {
        time_path(self.entity.as_deref().unwrap_or_default(), None)
    }

    /// Returns the path of the facts as they are known now.
    pub(crate) fn now_path(&self) -> String {
        time_path(
            self.entity.as_deref().unwrap_or_default(),
            Some(&self.as_of),
        )
    }

    /// Returns true if the facts of today are shown.
    pub(crate) fn is_today(&self) -> bool {
        self.as_of == self.today
    }

    /// Returns the path of the facts of an entity.
    pub(crate) fn path_of(&self, entity: &str) -> String {
        let path = time_path(entity, Some(&self.as_of));
        match &self.known_at {
            Some(known_at) => format!("{path}&known_at={}", encoded(known_at)),
            None => path,
        }
    }

    /// Returns the day at whose end the facts were known, as a field for a date has it.
    pub(crate) fn day_known(&self) -> &str {
        let text = self.known_at.as_deref().unwrap_or_default();
        text.split_once('T').map_or(text, |(day, _)| day)
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
    /// Returns a fact as `reader` sees it, from one of its ends, at a time.
    fn of(reader: &Caller, fact: &Fact, is_incoming: bool, as_of: Period) -> Self {
        let other = if is_incoming {
            &fact.subject.spelling
        } else {
            &fact.object.spelling
        };
        FactRow {
            other: other.clone(),
            id: fact.id.clone(),
            subject: fact.subject.spelling.clone(),
            predicate: fact.predicate.spelling.clone(),
            object: fact.object.spelling.clone(),
            valid_from: fact.valid_from.map(|from| UtcTimestamp(from.first)),
            valid_to: fact.valid_to.map(|to| UtcTimestamp(to.last)),
            source: fact.source.clone(),
            author: fact.author.as_deref().map(shown_name),
            rival: None,
            is_own: FactAuthor::of(reader, fact) == FactAuthor::Reader,
            holds: fact.holds_in(as_of),
            days: [
                fact.valid_from.map(|from| lanes::day(from.first)),
                fact.valid_to.map(|to| last_day(fact.valid_from, to)),
            ],
        }
    }

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
