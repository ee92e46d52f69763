//! The tool `recall_memory`: searches memories.

use loci_core::{Result, Scope};
use loci_engine::{Call, RankingWeights, Signals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CONVERSATION_ALIASES, Search};
use super::record::{Document, SearchResults};
use crate::wire::rounded;
use crate::{Hints, Reply, TypedTool};

/// The cap of the access count, on the scale of `1 + ln(returns + 1)`.
const FAMILIARITY_MAX: f64 = 3.0;

pub struct RecallMemory;

/// Find what a user said and what is known about them. Of the memories that fit the question,
/// recent, important and often recalled ones come first. A message and the memory made from it
/// count as one.
#[derive(Deserialize, JsonSchema)]
pub struct Arguments(Search);

/// A memory with its score.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    #[serde(flatten)]
    memory: Document,
    /// Recency, importance and relevance, weighted; 0 to 1 unless the installation says otherwise.
    final_score: f64,
    /// The number of times that this was found, if more than once: memories that say the same are one
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_said: Option<usize>,
}

impl TypedTool for RecallMemory {
    const NAME: &'static str = "recall_memory";
    const TITLE: &'static str = "Recall memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const QUERY: Option<&'static str> = Some("query");
    const ALIASES: &'static [(&'static str, &'static str)] = CONVERSATION_ALIASES;
    type Arguments = Arguments;
    type Output = SearchResults<Hit>;

    fn run(call: &Call<'_>, Arguments(search): Arguments) -> Result<Reply> {
        let weights = call.engine().policy().ranking;
        let results = search.run(call, &|signals| score(signals, &weights), true)?;
        let hit = |memory, times_said, score| Hit {
            memory,
            times_said,
            final_score: rounded(score, 4),
        };
        SearchResults::reply(call.caller(), results, hit)
    }
}

/// Returns the calibrated score of the original: `a x recency + b x importance + c x relevance`.
/// Recency is `exp(-age / decay)` in days; importance is the memory's own, times its familiarity,
/// `min(1 + ln(returns + 1), 3) / 3`.
fn score(signals: &Signals, weights: &RankingWeights) -> f64 {
    let recency = (-signals.age_days / weights.decay_days).exp();
    let familiarity =
        (1.0 + (signals.access_count as f64).ln_1p()).min(FAMILIARITY_MAX) / FAMILIARITY_MAX;
    weights.recency * recency
        + weights.importance * signals.weight * familiarity
        + weights.relevance * signals.relevance
}

#[cfg(test)]
mod tests {
    use loci_engine::Policy;

    use super::*;

    #[test]
    fn the_score_is_a_weighted_sum() {
        let signals = Signals::default();
        let rows = [
            (signals.clone(), 0.2),
            (
                Signals {
                    age_days: 30.0,
                    ..signals.clone()
                },
                0.2 / std::f64::consts::E,
            ),
            (
                Signals {
                    relevance: 1.0,
                    ..signals.clone()
                },
                0.7,
            ),
            (
                Signals {
                    weight: 1.0,
                    ..signals.clone()
                },
                0.3,
            ),
            (
                Signals {
                    weight: 0.5,
                    access_count: 2,
                    ..signals.clone()
                },
                0.2 + 0.15 * (1.0 + 3f64.ln()) / 3.0,
            ),
            (
                Signals {
                    weight: 1.0,
                    access_count: 7,
                    relevance: 1.0,
                    ..signals.clone()
                },
                1.0,
            ),
            (
                Signals {
                    weight: 1.0,
                    access_count: u64::MAX,
                    relevance: 1.0,
                    ..signals
                },
                1.0,
            ),
        ];
        for (signals, expected) in rows {
            let found = score(&signals, &Policy::default().ranking);
            assert!(
                (found - expected).abs() < 1e-9,
                "{found} {expected} {signals:?}"
            );
        }
    }
}
