//! The view *Recalls*: what agents asked and were told, and what hooks put before them, with its
//! cost in tokens. So one sees whether the memory is used at all.

use std::collections::{BTreeSet, HashMap};

use loci_core::{AuditEntry, AuditQuery, Forgotten, Memory, MemoryId, RecordVerb, Result};
use loci_engine::shown_title;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::activity::{Call, numbered};
use super::card::memory_path;
use crate::request::{CLIENT, RequestContext};
use crate::view::{Tab, view};

/// The audit entries that one request looks at.
const LOOKED_AT: usize = 100;
/// The memories of a call that are named; the others are counted.
const NAMED: usize = 3;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecallsQuery {
    /// Only calls before the one with this number.
    before: Option<u64>,
}

/// The questions of agents, and their results.
#[derive(Serialize, ToSchema)]
pub(crate) struct Recalls {
    /// How many calls these are.
    pub(crate) count: usize,
    /// How many of them brought nothing back.
    pub(crate) empty: usize,
    /// The tokens that hooks put before agents.
    pub(crate) hook_tokens: u64,
    /// The tokens of the other replies.
    pub(crate) reply_tokens: u64,
    /// Those that brought nothing back first, then the last ones first.
    pub(crate) calls: Vec<RecallRow>,
    /// The number before which there are more calls.
    pub(crate) before: Option<u64>,
}

/// A question, or what a hook put before an agent.
#[derive(Serialize, ToSchema)]
#[schema(as = RecallShown)]
pub(crate) struct RecallRow {
    pub(crate) call: Call,
    pub(crate) is_empty: bool,
    /// The memories that came back, best first.
    pub(crate) returned: Vec<RecalledMemory>,
    /// How many more came back.
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

impl RecalledMemory {
    pub(crate) fn path(&self) -> String {
        memory_path(&self.id)
    }
}

view!(Recalls, Tab::Recalls, "recalls.html");

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
#[utoipa::path(get, path = "/recalls", operation_id = "recalls", params(RecallsQuery), responses((status = OK, body = Recalls, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: RecallsQuery) -> Result<Recalls> {
    let entries = numbered(
        context,
        AuditQuery {
            before: query.before,
            limit: LOOKED_AT,
            ..AuditQuery::default()
        },
    )?;
    let before = (entries.len() == LOOKED_AT)
        .then(|| entries.last().map(|(number, _)| *number))
        .flatten();
    let entries = entries.into_iter().map(|(_, entry)| entry);
    let entries: Vec<AuditEntry> = entries.filter(is_recall).collect();
    let titles = titles(context, &entries)?;
    let mut recalls: Vec<RecallRow> = entries
        .into_iter()
        .map(|entry| recall_row(entry, &titles))
        .collect();
    // A stable sort keeps the order of time.
    recalls.sort_by_key(|recall| !recall.is_empty);
    let tokens = |of_hooks: bool| {
        recalls
            .iter()
            .filter(|recall| (recall.call.dialect == "hook") == of_hooks)
            .filter_map(|recall| recall.call.tokens)
            .sum()
    };
    Ok(Recalls {
        count: recalls.len(),
        empty: recalls.iter().filter(|recall| recall.is_empty).count(),
        hook_tokens: tokens(true),
        reply_tokens: tokens(false),
        calls: recalls,
        before,
    })
}

fn recall_row(entry: AuditEntry, titles: &HashMap<String, String>) -> RecallRow {
    let ids: Vec<&String> = returned(&entry).collect();
    let returned: Vec<RecalledMemory> = ids
        .iter()
        .take(NAMED)
        .map(|id| RecalledMemory {
            id: (*id).clone(),
            title: titles.get(*id).cloned(),
        })
        .collect();
    let more = (ids.len() - returned.len()) as u64 + entry.further_records;
    RecallRow {
        is_empty: entry.results.map_or(ids.is_empty(), |results| results == 0),
        returned,
        more,
        call: Call::of(entry),
    }
}

/// Returns the ids of the memories that a call brought back.
fn returned(entry: &AuditEntry) -> impl Iterator<Item = &String> {
    let records = entry.records.iter();
    records
        .filter(|record| record.verb <= RecordVerb::Read)
        .map(|record| &record.id)
}

/// Returns the titles of the memories that are named, by their ids.
fn titles(context: &RequestContext<'_>, entries: &[AuditEntry]) -> Result<HashMap<String, String>> {
    let named = entries.iter().flat_map(|entry| returned(entry).take(NAMED));
    let named: BTreeSet<MemoryId> = named.map(MemoryId::new).collect();
    let named: Vec<MemoryId> = named.into_iter().collect();
    let memories = context.call().memories();
    let found = memories.show_all(&named, Forgotten::Show)?;
    let title = |memory: &Memory| {
        let title = shown_title(memory).into_owned();
        (memory.id.as_str().to_owned(), title)
    };
    Ok(found.iter().map(title).collect())
}

impl Recalls {
    /// Returns the path of the calls before these.
    pub(crate) fn older(&self) -> Option<String> {
        self.before
            .map(|before| format!("/recalls?before={before}"))
    }
}
