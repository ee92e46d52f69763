//! The settings of an installation that the engine follows.

/// Times, thresholds and weights that a person may set. The defaults are those of the
/// documentation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Seconds that a message of a conversation is kept.
    pub message_ttl_seconds: u64,
    /// Results of one search of a conversation's memories; a larger number clamps to it.
    pub results_max: usize,
    /// Tokens of a reply that shows several texts, or a part of one, where the caller names no
    /// number.
    pub reply_tokens: usize,
    /// Seconds from a soft deletion to the removal for good.
    pub purge_after_seconds: u64,
    /// The similarity from which a cached answer serves, where the caller names none: a cosine.
    pub cache_cosine_min: f32,
    /// Seconds that a cached answer is kept.
    pub cache_ttl_seconds: u64,
    /// Weights in reciprocal rank fusion.
    pub fusion: FusionWeights,
    /// Weights in the ranking of conversations' memories.
    pub ranking: RankingWeights,
    /// Seconds that an entry of the audit log is kept.
    pub audit_retention_seconds: u64,
    /// Seconds that an answer is kept under its key.
    pub keyed_answer_ttl_seconds: u64,
    /// Audit entries that are written without waiting for their time.
    pub audit_buffer: usize,
}

/// The weights of ranks in reciprocal rank fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// By meaning.
    pub vector: f64,
    /// By words.
    pub text: f64,
}

/// The weights of recency, importance and relevance in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingWeights {
    /// Recency.
    pub recency: f64,
    /// Importance.
    pub importance: f64,
    /// Relevance.
    pub relevance: f64,
    /// Days in which recency falls to 1/e.
    pub decay_days: f64,
}

pub(crate) const DAY_SECONDS: u64 = 86_400;

impl Default for Policy {
    fn default() -> Self {
        Policy {
            message_ttl_seconds: DAY_SECONDS,
            results_max: 100,
            reply_tokens: 25_000,
            purge_after_seconds: 30 * DAY_SECONDS,
            cache_cosine_min: 0.9,
            cache_ttl_seconds: 3_600,
            fusion: FusionWeights {
                vector: 1.0,
                text: 0.7,
            },
            ranking: RankingWeights {
                recency: 0.2,
                importance: 0.3,
                relevance: 0.5,
                decay_days: 30.0,
            },
            audit_retention_seconds: 90 * DAY_SECONDS,
            keyed_answer_ttl_seconds: DAY_SECONDS,
            audit_buffer: 100,
        }
    }
}
