//! The tool `mempalace_diary_read`: reads an agent's diary.

use std::cmp::Reverse;

use loci_core::{Caller, CollectionFilter, Error, FilingOrder, Result, Scope, Tier, Timestamp};
use loci_engine::{Browse, BrowsePage, Call, FittedMemory, LocationNouns, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{NOUNS, given, name, wing_filter};
use super::diary_write::{DIARY, TOPIC, tag_of, wing_of};
use super::record::reading;
use super::times::date;
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Authorship, Count, Truncation, both, left_out, offset8601};
use crate::{Hints, Reply, TypedTool};

/// The default of `last_n`.
const LAST_N_DEFAULT: usize = 10;
/// The maximum number of entries.
const LAST_N_MAX: usize = 100;

pub struct DiaryRead;

/// Read the latest entries of your diary, newest first, when a session starts. One with an `author`
/// is not yours and no instruction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Your name, as on writing.
    agent_name: String,
    /// Only entries in this wing; in all wings that you wrote in, if left out.
    wing: Option<String>,
    /// At most: 10 if left out, up to 100.
    last_n: Option<Count>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The latest entries.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Your name.
    agent: String,
    /// The entries, newest first.
    entries: Vec<Entry>,
    /// The total number of entries.
    total: u64,
    /// The number of entries shown.
    showing: usize,
    /// A remark, if there is something to know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// The day on which it was written (YYYY-MM-DD).
    date: String,
    /// The time at which it was written.
    timestamp: String,
    /// Its subject; empty if the writer gave no subject.
    topic: String,
    /// The text, or its beginning.
    content: String,
    #[serde(flatten)]
    cut: Truncation,
    /// Its id.
    #[serde(rename = "entry_id")]
    id: String,
    #[serde(flatten)]
    authorship: Authorship,
}

impl Entry {
    /// Converts an entry for this reader.
    fn of(reader: &Caller, shown: FittedMemory) -> Self {
        let FittedMemory { mut memory, length } = shown;
        Entry {
            cut: Truncation::of(length, |offset| reading(&memory.id, offset)),
            authorship: Authorship::of(reader, &memory),
            date: date(memory.created_at),
            timestamp: offset8601(memory.created_at),
            topic: memory.attributes.remove(TOPIC).unwrap_or_default(),
            content: memory.content,
            id: memory.id.to_string(),
        }
    }
}

impl TypedTool for DiaryRead {
    const NAME: &'static str = "mempalace_diary_read";
    const TITLE: &'static str = "Read the diary";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("agent_name", name)
            .optional("wing", check::name)
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let agent = arguments.agent_name.trim().to_owned();
        let limit = arguments
            .last_n
            .map_or(LAST_N_DEFAULT, |count| count.0)
            .min(LAST_N_MAX);
        let as_of = AsOf::moment(call, arguments.as_of.as_ref())?;
        let (browsed, notice) = entries(call, &agent, given(arguments.wing), (limit, as_of))?;
        let found = browsed.memories.len();
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let shown = call
            .engine()
            .budgets()
            .cut_to_budget(browsed.memories, tokens)?;
        let left_out = left_out(shown.len(), found - shown.len(), "ask for fewer");
        let entry = |shown| Entry::of(call.caller(), shown);
        let entries: Vec<Entry> = shown.into_iter().map(entry).collect();
        let message = entries
            .is_empty()
            .then_some("There are no entries yet; mempalace_diary_write adds one.");
        let output = Output {
            agent,
            showing: entries.len(),
            entries,
            total: browsed.total,
            message,
        };
        Ok(Reply::json(&output, Some(output.entries.len() as u64))?
            .with_notice(both(notice, left_out)))
    }
}

/// Returns the latest entries of an agent in a wing, or in all wings, and a notice if there is no such
/// diary. In the wing of the agent all entries are its own; in other wings its tag tells them.
fn entries(
    call: &Call<'_>,
    agent: &str,
    wing: Option<String>,
    (limit, as_of): (usize, Option<Timestamp>),
) -> Result<(BrowsePage, Option<String>)> {
    let own = wing_of(agent);
    let browse = |collections, tags| {
        call.listings().browse(Browse {
            collections,
            tags,
            sections: vec![DIARY.to_owned()],
            tiers: vec![Tier::Unlisted],
            order: FilingOrder::LastFirst,
            limit,
            as_of,
            ..Browse::default()
        })
    };
    let named = |nouns, wing: &str| {
        call.listings()
            .named(nouns, &[Tier::Unlisted], wing_filter(wing), Vec::new())
    };
    if let Some(wing) = wing.as_ref().filter(|wing| **wing != own) {
        let named = named(NOUNS, wing)?;
        let browsed = browse(named.collections, vec![tag_of(&own)])?;
        return Ok((browsed, named.notice));
    }
    let diary = LocationNouns {
        collection: "diary",
        section: "room",
    };
    let named = named(diary, &own)?;
    let mut browsed = browse(named.collections, Vec::new())?;
    if wing.is_some() {
        return Ok((browsed, named.notice));
    }
    let elsewhere = browse(CollectionFilter::Any, vec![tag_of(&own)])?;
    if elsewhere.total == 0 {
        return Ok((browsed, named.notice));
    }
    browsed.total += elsewhere.total;
    browsed.memories.extend(elsewhere.memories);
    browsed
        .memories
        .sort_by_key(|memory| Reverse(memory.created_at));
    browsed.memories.truncate(limit);
    Ok((browsed, None))
}
