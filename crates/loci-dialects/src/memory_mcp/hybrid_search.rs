//! The tool `hybrid_search`: searches by words and by vector, with reciprocal rank fusion.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CONVERSATION_ALIASES, Search};
use super::record::{Document, SearchResults};
use crate::wire::rounded;
use crate::{Hints, Reply, TypedTool};

pub struct HybridSearch;

/// Find memories of a user by the words of a query and by its meaning alike, whatever their age and
/// importance: the best of both rankings come first. Good for names, codes and exact terms.
#[derive(Deserialize, JsonSchema)]
pub struct Arguments(Search);

/// A memory with its score.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    #[serde(flatten)]
    memory: Document,
    /// Its reciprocal rank fusion score: higher is better, and only comparisons are meaningful.
    rrf_score: f64,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
}

impl TypedTool for HybridSearch {
    const NAME: &'static str = "hybrid_search";
    const TITLE: &'static str = "Search by words and meaning";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "search";
    const QUERY: Option<&'static str> = Some("query");
    const ALIASES: &'static [(&'static str, &'static str)] = CONVERSATION_ALIASES;
    type Arguments = Arguments;
    type Output = SearchResults<Hit>;

    fn run(call: &Call<'_>, Arguments(search): Arguments) -> Result<Reply> {
        let weights = call.engine().policy().fusion;
        let results = search.run(call, &|signals| signals.reciprocal_rank(weights), false)?;
        let hit = |memory, times_said, score| Hit {
            memory,
            times_said,
            rrf_score: rounded(score, 6),
        };
        SearchResults::reply(call.caller(), results, hit)
    }
}
