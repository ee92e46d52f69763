//! The tool `mempalace_search`: searches drawers.

use loci_core::limits::{CONTENT_BYTES_MAX, RECALL_RESULTS_MAX};
use loci_core::{Caller, Error, LINES, Result, Scope, Tier};
use loci_engine::{Call, Facets, Hit, Recall, RecallResults, Signals, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{FILED, ResolvedPlace, asked, collections, resolve_place, wing};
use super::diary_write::DIARY;
use super::question::{Sanitizer, question};
use super::record::{is_of_file, reading};
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{
    Authorship, Count, Truncation, both, explained, left_out, offset8601, rounded, source_file,
    string_or_null, times_said,
};
use crate::{Hints, Reply, TypedTool};

/// The default of `limit`.
const LIMIT_DEFAULT: usize = 5;

pub struct Search;

/// Find drawers by a question, by meaning and by words, best first, word for word; of a long one,
/// the parts that answer. Ask before you say what a person said, decided or prefers. Write the bare
/// question: of anything above 250 characters, only the question in it is searched. Diaries are
/// found only in the room `diary`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A question or key words (at most 1 MiB).
    query: String,
    /// At most: 5 if left out, up to 100.
    limit: Option<Count>,
    /// Only this wing.
    wing: Option<String>,
    /// Only this room.
    room: Option<String>,
    /// Only drawers of this file: its absolute path, or the path that drawers show.
    source_file: Option<String>,
    /// Only what was filed on this day or moment, or later.
    since: Option<String>,
    /// Only what was filed before this day or moment.
    before: Option<String>,
    as_of: Option<AsOf>,
    /// Leave out what is further away, which is 1 less its `similarity`: 0.3 is strict, 0.7 loose.
    #[schemars(range(min = 0.0, max = 2.0))]
    max_distance: Option<f64>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The results of a search.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The question that was searched for.
    query: String,
    /// Where.
    filters: Filters,
    /// The drawers, best first.
    results: Vec<DrawerHit>,
    /// True if the query was too long and its question was searched for instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_sanitized: Option<bool>,
    /// The way in which that question was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    sanitizer: Option<Sanitizer>,
}

#[derive(Serialize, JsonSchema)]
struct Filters {
    /// The wing; null if all.
    #[schemars(schema_with = "string_or_null")]
    wing: Option<String>,
    /// The room; null if all.
    #[schemars(schema_with = "string_or_null")]
    room: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_file: Option<String>,
    /// From when on.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

/// A drawer with its relevance.
#[derive(Serialize, JsonSchema)]
struct DrawerHit {
    /// Its id.
    drawer_id: String,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text, or its parts that fit.
    text: String,
    #[serde(flatten)]
    cut: Truncation,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// The path of the file that it comes from, relative to the mined folder; null if it comes from
    /// no file.
    #[schemars(schema_with = "string_or_null")]
    source_file: Option<String>,
    /// The lines of that file that are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<String>,
    /// Its similarity to the query, 0 to 1: the cosine of the best passage, or its relevance by
    /// words if it has not been embedded yet.
    similarity: f64,
    /// The time at which it was first stored.
    created_at: String,
    /// The ranking that found it: `words`, `meaning`, or `both`.
    matched_via: &'static str,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
    #[serde(flatten)]
    authorship: Authorship,
}

impl DrawerHit {
    fn of(reader: &Caller, hit: Hit, limit: usize) -> Self {
        DrawerHit {
            authorship: Authorship::of(reader, &hit.memory),
            similarity: similarity(&hit.signals),
            matched_via: matched_via(&hit.signals, limit),
            times_said: times_said(&hit),
            source_file: source_file(&hit.memory),
            lines: hit.memory.attributes.get(LINES).cloned(),
            drawer_id: hit.memory.id.to_string(),
            title: hit.memory.title,
            cut: Truncation::of(hit.length, |offset| reading(&hit.memory.id, offset)),
            text: hit.memory.content,
            wing: wing(hit.memory.location.collection),
            room: hit.memory.location.section,
            created_at: offset8601(hit.memory.created_at),
        }
    }
}

/// Returns the similarity, 0 to 1.
fn similarity(signals: &Signals) -> f64 {
    let similarity = signals.cosine.map_or(signals.relevance, f64::from);
    rounded(similarity.clamp(0.0, 1.0), 4)
}

/// Returns which of the two rankings by itself would have found it among the first `limit` results;
/// if neither, the one that ranks it higher.
fn matched_via(signals: &Signals, limit: usize) -> &'static str {
    let rank = |rank: Option<usize>| rank.unwrap_or(usize::MAX);
    let (words, meaning) = (rank(signals.rank_by_words), rank(signals.rank_by_meaning));
    let first = words.min(meaning).max(limit);
    match (words <= first, meaning <= first) {
        (true, true) => "both",
        (true, false) => "words",
        (false, _) => "meaning",
    }
}

/// Returns the results of one source file. The drawers of a file that was mined are a thread; of the
/// drawers that a tool filed with such a name, the best of many are looked through.
fn of_file(
    call: &Call<'_>,
    request: Recall<'_>,
    tokens: Option<usize>,
    file: &str,
) -> Result<RecallResults> {
    let (limit, facets) = (request.limit, request.facets.clone());
    let thread = Some(call.sources().thread_of(file));
    let mined = Recall {
        facets: Facets {
            thread,
            ..facets.clone()
        },
        ..request
    };
    let recalled = call.search().recall_within(&mined, tokens)?;
    if !recalled.hits.is_empty() {
        return Ok(recalled);
    }
    let any = Recall {
        facets,
        limit: RECALL_RESULTS_MAX,
        ..mined
    };
    let mut recalled = call.search().recall_within(&any, tokens)?;
    recalled.hits.retain(|hit| is_of_file(&hit.memory, file));
    recalled.hits.truncate(limit);
    Ok(RecallResults {
        left_out: 0,
        ..recalled
    })
}

/// Returns the notice that the nearest result lies beyond the distance that was asked for.
fn nothing_near(distance: f64) -> String {
    let distance = rounded(distance, 4);
    format!("nothing is within `max_distance`; the nearest is {distance} away")
}

impl TypedTool for Search {
    const NAME: &'static str = "mempalace_search";
    const TITLE: &'static str = "Search drawers";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "search";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        // Only the question of an over-long query is searched.
        let query = |argument: &str, query: &str| check::text(argument, query, CONTENT_BYTES_MAX);
        Faults::of(arguments)
            .check("query", query)
            .optional("wing", check::name)
            .optional("room", check::name)
            .optional("source_file", check::reference)
            .and(FILED.faults(arguments))
            .and(AsOf::faults(arguments))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let (query, sanitizer) = question(&arguments.query);
        let ResolvedPlace { wing, room, notice } =
            resolve_place(call, arguments.wing, arguments.room)?;
        let limit = arguments
            .limit
            .map_or(LIMIT_DEFAULT, |count| count.0)
            .min(RECALL_RESULTS_MAX);
        let is_near = |signals: &Signals| {
            arguments
                .max_distance
                .is_none_or(|max| 1.0 - similarity(signals) <= max)
        };
        // A hit beyond the distance ranks last, so that it takes no place of a nearer one.
        let ranking = |signals: &Signals| {
            if is_near(signals) {
                signals.relevance
            } else {
                f64::NEG_INFINITY
            }
        };
        let request = Recall {
            // Diaries are searched only in their own room.
            tiers: if room.as_deref() == Some(DIARY) {
                vec![Tier::LongTerm, Tier::Unlisted]
            } else {
                vec![Tier::LongTerm]
            },
            collections: collections(wing.as_deref()),
            sections: room.iter().cloned().collect(),
            as_of: AsOf::moment(call, arguments.as_of.as_ref())?,
            facets: FILED.facets(arguments.since.as_deref(), arguments.before.as_deref())?,
            ..Recall::new(query, limit, &ranking)
        };
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let file = asked(arguments.source_file);
        let mut recalled = match &file {
            Some(file) => of_file(call, request, tokens, file.trim())?,
            None => call.search().recall_within(&request, tokens)?,
        };
        let beyond = recalled.hits.extract_if(.., |hit| !is_near(&hit.signals));
        let nearest_beyond = beyond
            .map(|hit| 1.0 - similarity(&hit.signals))
            .reduce(f64::min);
        let beyond = nearest_beyond
            .filter(|_| recalled.hits.is_empty())
            .map(nothing_near);
        let left_out = left_out(recalled.hits.len(), recalled.left_out, "ask more narrowly");
        let explanations = recalled.hits.iter().map(explained).collect();
        let (answers, notice) = (recalled.answers(), both(notice, recalled.notice()));
        let output = Output {
            query: query.to_owned(),
            filters: Filters {
                wing,
                room,
                source_file: file,
                since: asked(arguments.since),
                before: asked(arguments.before),
            },
            results: recalled
                .hits
                .into_iter()
                .map(|hit| DrawerHit::of(call.caller(), hit, limit))
                .collect(),
            query_sanitized: sanitizer.is_some().then_some(true),
            sanitizer,
        };
        let reply = Reply::json(&output, Some(answers))?.with_explanations(explanations);
        Ok(reply.with_notice(both(both(notice, left_out), beyond)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_brought_it_up_is_what_would_have_alone() {
        let rows = [
            (Some(1), Some(1), "both"),
            (Some(5), Some(5), "both"),
            (Some(1), Some(6), "words"),
            (Some(6), Some(1), "meaning"),
            (Some(1), None, "words"),
            (None, Some(9), "meaning"),
            (Some(9), Some(7), "meaning"),
            (Some(7), Some(9), "words"),
            (Some(8), Some(8), "both"),
        ];
        for (rank_by_words, rank_by_meaning, expected) in rows {
            let signals = Signals {
                rank_by_words,
                rank_by_meaning,
                ..Signals::default()
            };
            assert_eq!(
                matched_via(&signals, 5),
                expected,
                "{rank_by_words:?} {rank_by_meaning:?}"
            );
        }
    }

    #[test]
    fn similarity_is_the_cosine_if_there_is_one() {
        for (cosine, expected) in [
            (Some(0.870_049), 0.87),
            (Some(-0.5), 0.0),
            (Some(1.000_1), 1.0),
            (None, 0.5),
        ] {
            assert!(
                (similarity(&Signals {
                    cosine,
                    relevance: 0.5,
                    ..Signals::default()
                }) - expected)
                    .abs()
                    < 1e-9
            );
        }
    }
}
