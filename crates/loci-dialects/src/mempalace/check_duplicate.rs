//! The tool `mempalace_check_duplicate`: checks if a text is filed already.

use loci_core::{Caller, CollectionFilter, Error, Result, Scope};
use loci_engine::{Call, FittedMemory, SimilarMemory, SimilarQuery, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::wing;
use super::record::reading;
use crate::faults::Faults;
use crate::wire::{Authorship, Count, Truncation, both, left_out, rounded};
use crate::{Hints, Reply, TypedTool};

/// The default of `threshold`.
const THRESHOLD_DEFAULT: f64 = 0.87;
/// The maximum number of matches.
const MATCHES_MAX: usize = 5;
/// The decimal places of a similarity.
const DIGITS: i32 = 4;
/// The most that rounding to these places adds.
const ROUNDING: f64 = 0.000_1;

pub struct CheckDuplicate;

/// See whether a text is filed already, in these words or others. Nothing is stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text (at most 1 MiB).
    content: String,
    /// The similarity that a drawer must have: 0.87 if left out, 1 for the same text.
    #[schemars(range(min = 0.0, max = 1.0))]
    threshold: Option<f64>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The duplicates that were found.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// True if anything is similar enough.
    is_duplicate: bool,
    /// The similar drawers, nearest first: five at most.
    matches: Vec<Match>,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    /// The id of the drawer.
    id: String,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// Its similarity, 0 to 1: of a long text, how much is there and how near, on the average.
    similarity: f64,
    /// Its title, if it has one: that of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its text, or the beginning.
    content: String,
    #[serde(flatten)]
    cut: Truncation,
    #[serde(flatten)]
    authorship: Authorship,
}

impl Match {
    /// Converts a drawer for this reader.
    fn of(reader: &Caller, FittedMemory { memory, length }: FittedMemory, similarity: f64) -> Self {
        Match {
            cut: Truncation::of(length, |offset| reading(&memory.id, offset)),
            authorship: Authorship::of(reader, &memory),
            id: memory.id.to_string(),
            wing: wing(memory.location.collection),
            room: memory.location.section,
            title: memory.title,
            similarity,
            content: memory.content,
        }
    }
}

impl TypedTool for CheckDuplicate {
    const NAME: &'static str = "mempalace_check_duplicate";
    const TITLE: &'static str = "Check for duplicates";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "search";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("content", check::content)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let threshold = arguments.threshold.unwrap_or(THRESHOLD_DEFAULT);
        let query = SimilarQuery {
            collections: CollectionFilter::Any,
            limit: MATCHES_MAX,
            cosine_min: (threshold - ROUNDING) as f32,
        };
        let resembling = call.search().find_duplicates(&arguments.content, &query)?;
        let similarity =
            |similar: &SimilarMemory| rounded(f64::from(similar.cosine).clamp(0.0, 1.0), DIGITS);
        let mut similar = resembling.similar;
        similar.retain(|similar| similarity(similar) >= threshold);
        let similarities: Vec<f64> = similar.iter().map(similarity).collect();
        let memories = similar.into_iter().map(|similar| similar.memory).collect();
        let shown = call
            .engine()
            .budgets()
            .cut_to_budget(memories, arguments.budget_tokens.map(|count| count.0))?;
        let left_out = left_out(
            shown.len(),
            similarities.len() - shown.len(),
            "give a higher `threshold`",
        );
        let found = |(shown, similarity)| Match::of(call.caller(), shown, similarity);
        let matches: Vec<Match> = shown.into_iter().zip(similarities).map(found).collect();
        let output = Output {
            is_duplicate: !matches.is_empty(),
            matches,
        };
        Ok(Reply::json(&output, Some(output.matches.len() as u64))?
            .with_notice(both(resembling.degraded, left_out)))
    }
}
