//! The tool `memory_search`: finds notes and other memories, with pagination.

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Error, Forgotten, Result, Scope};
use loci_engine::{Call, PageRequest, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{await_notes, both};
use super::record::MemoryHit;
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Count, Offset, explained, rounded, string_or_null};
use crate::{Hints, Reply, TypedTool};

/// The default of `top_k`.
const TOP_K_DEFAULT: usize = 5;
/// The decimal places of a score.
const SCORE_DIGITS: i32 = 6;

pub struct MemorySearch;

/// Find notes and other memories about something, by meaning and by words, best first. Of a long
/// one you get the parts that answer; its `id` reads it word for word. Where there are more, the
/// reply has a `next_cursor`: give it back as `cursor`, with the same query, for the next ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A question, or key words. Required, unless there is an `id`.
    query: Option<String>,
    /// The maximum number of results: 5 if left out, at most 100.
    top_k: Option<Count>,
    /// True to find what was forgotten, superseded or expired, too; the `status` says which.
    #[serde(default)]
    include_deleted: bool,
    /// The `next_cursor` of the page before; leave it out for the first page.
    cursor: Option<String>,
    /// The id of a memory to read, without a query. A text that is too long for one reply comes in
    /// pages.
    id: Option<String>,
    /// With `id`: where in the text to start, in characters.
    offset: Option<Offset>,
    as_of: Option<AsOf>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// A page of results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The results, best first; those with equal scores in the order of ids.
    results: Vec<MemoryHit>,
    /// Where the next page starts; null if no page follows.
    #[schemars(schema_with = "string_or_null")]
    next_cursor: Option<String>,
}

impl TypedTool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const TITLE: &'static str = "Search notes";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const QUERY: Option<&'static str> = Some("query");
    const ALIASES: &'static [(&'static str, &'static str)] = &[("limit", "top_k")];
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let is_missing = arguments.get("query").is_none() && arguments.get("id").is_none();
        Faults::of(arguments)
            .check("query", check::query)
            .and(AsOf::faults(arguments))
            .and(is_missing.then(missing_query))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let unread = await_notes(call);
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let at = AsOf::moment(call, arguments.as_of.as_ref())?;
        let query = match (arguments.query, arguments.id) {
            (Some(_), Some(_)) => return Err(Error::invalid("id", "does not go with `query`")),
            (Some(query), None) => query,
            (None, Some(id)) => {
                let id = call.memories().memory_id("id", &id)?;
                let forgotten = if arguments.include_deleted {
                    Forgotten::Show
                } else {
                    Forgotten::Hide
                };
                let memory = call.memories().show_at(&id, forgotten, at)?;
                let page = call.engine().budgets().text_page(
                    memory,
                    arguments.offset.map_or(0, |offset| offset.0),
                    tokens,
                )?;
                let output = Output {
                    results: vec![MemoryHit::page(call.caller(), page)],
                    next_cursor: None,
                };
                return Ok(Reply::json(&output, Some(1))?.with_notice(unread));
            }
            (None, None) => return Err(missing_query()),
        };
        let request = PageRequest {
            query: &query,
            with_forgotten: arguments.include_deleted,
            limit: arguments
                .top_k
                .map_or(TOP_K_DEFAULT, |count| count.0)
                .min(RECALL_RESULTS_MAX),
            cursor: arguments.cursor.as_deref(),
            budget_tokens: tokens,
            as_of: at.zip(arguments.as_of.as_ref().map(AsOf::words)),
        };
        let page = call.search().page(&request)?;
        let (answers, said) = (page.answers(), page.notice());
        let mut hits = page.hits;
        for hit in &mut hits {
            hit.score = rounded(hit.score, SCORE_DIGITS);
        }
        // Scores that are equal after rounding count as equal.
        hits.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.memory.id.cmp(&b.memory.id))
        });
        let explanations = hits.iter().map(explained).collect();
        let output = Output {
            results: hits
                .into_iter()
                .map(|hit| MemoryHit::of(call.caller(), hit))
                .collect(),
            next_cursor: page.next_cursor,
        };
        let reply = Reply::json(&output, Some(answers))?.with_notice(both(unread, said));
        Ok(reply.with_explanations(explanations))
    }
}

fn missing_query() -> Error {
    Error::invalid(
        "query",
        "is missing; it must be a string, unless there is an `id`",
    )
}
