//! The view *Activity*: figures of a range of days, and below them the questions that found nothing,
//! and all calls, with what they got and its cost in tokens. So one sees whether the memory is used
//! at all.

mod sessions;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use loci_core::{
    AuditEntry, AuditQuery, Forgotten, Memory, MemoryId, RecordVerb, Result, start_of_day,
};
use loci_engine::{name_key, shown_title};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::calls::{Call, numbered};
use super::insights::{self, Insights, InsightsQuery};
use crate::card::memory_path;
use crate::encoding::encoded;
use crate::projects::projects_of;
use crate::request::{CLIENT, RequestContext};
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The audit entries that one request looks at.
const LOOKED_AT: usize = 300;
/// The rows of calls, and the questions without an answer, that are shown.
const CALLS_SHOWN: usize = 60;
const QUESTIONS_SHOWN: usize = 20;
/// The memories of a call that are named; the others are counted.
const NAMED: usize = 3;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecallsQuery {
    /// Only calls before the one with this number.
    #[serde(default)]
    before: Option<u64>,
    /// The days of the figures, up to today: 30 if it is left out.
    #[serde(default)]
    days: Option<i64>,
    /// Only calls of this program.
    #[serde(default)]
    client: Option<String>,
}

/// The questions of agents, and their results.
#[derive(Serialize, ToSchema)]
pub(crate) struct Recalls {
    /// The figures of a range of days.
    pub(crate) figures: Insights,
    /// The number of calls of the range that were looked at for the following, the last ones.
    pub(crate) looked_at: usize,
    /// The tokens that agents got in a session, by program.
    pub(crate) sessions: Vec<SessionTokens>,
    /// The questions that nothing stored answers, the ones that were asked most first.
    pub(crate) questions: Vec<Question>,
    /// All calls, the last ones first; equal ones in a row are one.
    pub(crate) calls: Vec<RecallRow>,
    /// The number before which there are more calls.
    pub(crate) before: Option<u64>,
    /// The projects that the answer to a question can be put into.
    #[serde(skip)]
    pub(crate) wings: Vec<String>,
}

/// A question that nothing stored answers.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenQuestion)]
pub(crate) struct Question {
    pub(crate) query: String,
    /// The number of times that it was asked.
    pub(crate) asked: u64,
    pub(crate) last_asked_at: UtcTimestamp,
    /// The program that asked last.
    pub(crate) client: Option<String>,
    /// True if memories came back that are only loosely related to it.
    pub(crate) is_weak: bool,
    /// These memories, as far as the last call named them.
    pub(crate) returned: Vec<RecalledMemory>,
}

/// A call of an agent, or of a hook that put something before one.
#[derive(Serialize, ToSchema)]
#[schema(as = RecallShown)]
pub(crate) struct RecallRow {
    /// The call; of several, the last one.
    pub(crate) call: Call,
    /// The number of equal calls in a row.
    pub(crate) repeated: u64,
    /// True if it is a search, or what a hook put before an agent.
    pub(crate) is_recall: bool,
    /// True if nothing that came back may answer.
    pub(crate) is_empty: bool,
    /// True if memories came back that are only loosely related to the question.
    pub(crate) is_weak: bool,
    /// The memories that came back, best first.
    pub(crate) returned: Vec<RecalledMemory>,
    /// The number of further memories that came back.
    pub(crate) more: u64,
}

/// A memory that came back.
#[derive(Serialize, ToSchema, Clone)]
#[schema(as = Returned)]
pub(crate) struct RecalledMemory {
    pub(crate) id: String,
    /// Its title; `None` if it is gone, or the reader may not read it.
    pub(crate) title: Option<String>,
}

impl Question {
    /// Returns the path of a search for it.
    pub(crate) fn path(&self) -> String {
        format!("/search?q={}", encoded(&self.query))
    }
}

impl RecalledMemory {
    pub(crate) fn path(&self) -> String {
        memory_path(&self.id)
    }
}

pub(crate) use sessions::SessionTokens;

view!(Recalls, Tab::Activity, "recalls.html");

/// Returns true for a search, or for what a hook put before an agent.
fn is_recall(entry: &AuditEntry) -> bool {
    let returns = |entry: &AuditEntry| {
        entry
            .records
            .iter()
            .any(|record| record.verb == RecordVerb::Returned)
    };
    entry.client.as_deref() != Some(CLIENT)
        && entry.failure.is_none()
        && (entry.query.is_some() || entry.dialect == "hook" || returns(entry))
}

/// Lists what agents asked and were told.
#[utoipa::path(get, path = "/activity", operation_id = "activity", params(RecallsQuery), responses((status = OK, body = Recalls, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: RecallsQuery) -> Result<Recalls> {
    let (before, client) = (query.before, query.client.clone());
    let figures = insights::view(
        context,
        InsightsQuery {
            days: query.days,
            client: query.client,
            ..InsightsQuery::default()
        },
    )?;
    let entries = numbered(
        context,
        AuditQuery {
            before,
            client,
            since: Some(start_of_day(figures.first_day)),
            limit: LOOKED_AT,
            ..AuditQuery::default()
        },
    )?;
    let is_cut = entries.len() == LOOKED_AT;
    let last = entries.last().map(|(number, _)| *number);
    let of_agents = entries
        .into_iter()
        .filter(|(_, entry)| entry.client.as_deref() != Some(CLIENT));
    let entries: Vec<(u64, AuditEntry)> = of_agents.collect();
    let runs = runs(&entries);
    let shown = &runs[..runs.len().min(CALLS_SHOWN)];
    let next = runs.get(CALLS_SHOWN).and_then(|run| run.first());
    let unanswered = unanswered(&entries);
    let named = shown.iter().filter_map(|run| run.first());
    let named = named.map(|(_, entry)| entry);
    let named = named.chain(unanswered.iter().map(|(entry, _)| *entry));
    let titles = titles(context, named)?;
    let questions = unanswered.iter().map(|(entry, asked)| Question {
        query: context
            .masked(entry.query.as_deref().unwrap_or_default())
            .into_owned(),
        asked: *asked,
        last_asked_at: UtcTimestamp(entry.at),
        client: entry.client.clone(),
        is_weak: returned(entry).next().is_some(),
        returned: named_of(entry, &titles),
    });
    Ok(Recalls {
        looked_at: entries.len(),
        sessions: sessions::of(entries.iter().map(|(_, entry)| entry)),
        questions: questions.collect(),
        calls: shown
            .iter()
            .filter_map(|run| recall_row(context, run, &titles))
            .collect(),
        before: match next {
            Some((number, _)) => Some(number + 1),
            None => last.filter(|_| is_cut),
        },
        wings: projects_of(context.call().listings().collections()?),
        figures,
    })
}

/// Returns calls in runs of equal ones: of the same tool in the same session, without a question and
/// without a failure, such as 30 memories that an agent stores one after the other.
fn runs(entries: &[(u64, AuditEntry)]) -> Vec<&[(u64, AuditEntry)]> {
    let is_same = |one: &(u64, AuditEntry), other: &(u64, AuditEntry)| {
        let of = |entry: &AuditEntry| {
            let is_plain = entry.query.is_none() && entry.failure.is_none();
            (is_plain && !is_recall(entry)).then(|| {
                let by = (
                    entry.user.clone(),
                    entry.client.clone(),
                    entry.session.clone(),
                );
                (by, entry.dialect.clone(), entry.tool.clone())
            })
        };
        of(&one.1).is_some_and(|one| of(&other.1) == Some(one))
    };
    entries.chunk_by(is_same).collect()
}

/// Returns true for a recall whose reply has nothing that may answer.
fn is_empty(entry: &AuditEntry) -> bool {
    match entry.results {
        Some(results) => results == 0,
        None => returned(entry).next().is_none(),
    }
}

/// Returns the last call of each question that nothing stored answers, with the number of its calls,
/// the most asked ones first.
fn unanswered(entries: &[(u64, AuditEntry)]) -> Vec<(&AuditEntry, u64)> {
    let mut found: Vec<(&AuditEntry, u64)> = Vec::new();
    for (_, entry) in entries {
        let Some(query) = &entry.query else { continue };
        if !is_recall(entry) || !is_empty(entry) {
            continue;
        }
        let key = name_key(query);
        let known = found.iter_mut().find(|(other, _)| {
            let other = other.query.as_deref();
            other.is_some_and(|other| name_key(other) == key)
        });
        match known {
            Some((_, asked)) => *asked += 1,
            None => found.push((entry, 1)),
        }
    }
    // A stable sort keeps the order of time.
    found.sort_by_key(|(_, asked)| Reverse(*asked));
    found.truncate(QUESTIONS_SHOWN);
    found
}

/// Returns the memories of a call that are named.
fn named_of(entry: &AuditEntry, titles: &HashMap<String, String>) -> Vec<RecalledMemory> {
    let named = returned(entry).take(NAMED).map(|id| RecalledMemory {
        id: id.clone(),
        title: titles.get(id).cloned(),
    });
    named.collect()
}

fn recall_row(
    context: &RequestContext<'_>,
    run: &[(u64, AuditEntry)],
    titles: &HashMap<String, String>,
) -> Option<RecallRow> {
    let (_, entry) = run.first()?;
    let (is_recall, is_empty) = (is_recall(entry), is_empty(entry));
    let ids = returned(entry).count();
    let returned = named_of(entry, titles);
    Some(RecallRow {
        repeated: run.len() as u64,
        is_recall,
        is_empty: is_recall && is_empty,
        is_weak: is_recall && is_empty && ids > 0,
        more: (ids - returned.len()) as u64 + entry.further_records,
        returned,
        call: Call::of(context, entry.clone()),
    })
}

/// Returns the ids of the memories that a call brought back.
fn returned(entry: &AuditEntry) -> impl Iterator<Item = &String> {
    let records = entry.records.iter();
    records
        .filter(|record| record.verb <= RecordVerb::Read)
        .map(|record| &record.id)
}

/// Returns the titles of the memories that are named, by their ids.
fn titles<'e>(
    context: &RequestContext<'_>,
    entries: impl Iterator<Item = &'e AuditEntry>,
) -> Result<HashMap<String, String>> {
    let named = entries.flat_map(|entry| returned(entry).take(NAMED));
    let named: BTreeSet<MemoryId> = named.map(MemoryId::new).collect();
    let named: Vec<MemoryId> = named.into_iter().collect();
    let memories = context.call().memories();
    let found = memories.show_all(&named, Forgotten::Show)?;
    let title = |memory: &Memory| {
        let title = context.masked(&shown_title(memory)).into_owned();
        (memory.id.as_str().to_owned(), title)
    };
    Ok(found.iter().map(title).collect())
}

impl Recalls {
    /// Returns the path of this range.
    pub(crate) fn path(&self) -> String {
        let client = self.figures.client.as_deref().map(encoded);
        let client = client.map_or_else(String::new, |client| format!("&client={client}"));
        format!("/activity?days={}{client}", self.figures.days)
    }

    /// Returns the path of the calls before these.
    pub(crate) fn older(&self) -> Option<String> {
        let path = self.path();
        self.before.map(|before| format!("{path}&before={before}"))
    }
}
