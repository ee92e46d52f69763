//! The tool `check_cache`: looks up a cached answer.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::rounded;
use crate::{Hints, Reply, TypedTool};

pub struct CheckCache;

/// Look whether a question like this one was answered for the user not long ago (`store_cache`), to
/// save the work of answering it again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose answers to look through.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// The question.
    query: String,
    /// The similarity that the questions must have: 1 is the same, 0.5 is unrelated; 0.95 if left
    /// out, unless the installation says otherwise.
    #[schemars(range(min = 0.0, max = 1.0))]
    similarity_threshold: Option<f64>,
}

/// The cached answer, if there is one.
#[derive(Default, Serialize, JsonSchema)]
pub struct Output {
    /// True if there is an answer; without one, nothing else is said.
    cache_hit: bool,
    /// The question that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    /// The similarity of the questions, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl TypedTool for CheckCache {
    const NAME: &'static str = "check_cache";
    const TITLE: &'static str = "Look for a cached answer";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "cache:read";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        // The similarity on the wire is (1 + cosine) / 2.
        let cosine_min = arguments
            .similarity_threshold
            .map(|similarity| (2.0 * similarity - 1.0) as f32);
        let (answer, notice) = call
            .conversations()
            .cached_answer(&arguments.query, cosine_min)?;
        let output = answer.map_or_else(Output::default, |answer| Output {
            cache_hit: true,
            query: Some(answer.entry.query),
            response: Some(answer.entry.response),
            score: Some(rounded(f64::midpoint(1.0, answer.cosine.into()), 4)),
        });
        Ok(Reply::json(&output, Some(output.cache_hit.into()))?.with_notice(notice))
    }
}
