//! The settings of an installation.

/// Times, thresholds and weights that a user may set. The defaults are the ones in the
/// documentation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Seconds for which a message of a conversation is kept.
    pub message_ttl_seconds: u64,
    /// The most results of one search of a conversation's memories; a larger number clamps to it.
    pub results_max: usize,
    /// The token budget of a reply that shows several texts, or a part of one, if the caller names
    /// none.
    pub reply_tokens: usize,
    /// Seconds from a soft deletion to the permanent removal.
    pub purge_after_seconds: u64,
    /// The similarity from which a cached answer is used, if the caller names none: 0 to 1, the
    /// mean of 1 and the cosine.
    pub cache_similarity_min: f64,
    /// Seconds for which a cached answer is kept.
    pub cache_ttl_seconds: u64,
    /// Weights in reciprocal rank fusion.
    pub fusion: FusionWeights,
    /// Weights in the ranking of conversations' memories.
    pub ranking: RankingWeights,
    /// Seconds for which an entry of the audit log is kept.
    pub audit_retention_seconds: u64,
    /// Seconds for which the version before a change of a memory is kept; 0 keeps it for ever.
    pub history_seconds: u64,
    /// Seconds between two [consolidations](crate::Consolidation::consolidate) in the background; 0
    /// for none.
    pub consolidate_seconds: u64,
    /// Seconds for which a reply is kept under its idempotency key.
    pub idempotent_reply_ttl_seconds: u64,
    /// The number of audit entries that triggers a write at once.
    pub audit_buffer: usize,
    /// The helper of Anthropic's SDKs whose words the memory tool has.
    pub memory_tool: HelperLanguage,
}

/// The language of a helper in Anthropic's SDKs. The two differ in some replies, e.g. of `insert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HelperLanguage {
    /// The helper of the SDK for Python.
    #[default]
    Python,
    /// The helper of the SDK for TypeScript.
    TypeScript,
}

/// The weights of the two ranks in reciprocal rank fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// The rank by meaning.
    pub vector: f64,
    /// The rank by words.
    pub text: f64,
}

/// Weights in the ranking by recency, importance and relevance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingWeights {
    /// The weight of recency.
    pub recency: f64,
    /// The weight of importance.
    pub importance: f64,
    /// The weight of relevance.
    pub relevance: f64,
    /// Days in which recency falls to 1/e.
    pub decay_days: f64,
}

pub(crate) const DAY_SECONDS: u64 = 86_400;

impl Policy {
    /// The policy of an installation that sets nothing.
    pub const DEFAULT: Policy = Policy {
        message_ttl_seconds: DAY_SECONDS,
        results_max: 100,
        reply_tokens: 25_000,
        purge_after_seconds: 30 * DAY_SECONDS,
        cache_similarity_min: 0.95,
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
        history_seconds: 30 * DAY_SECONDS,
        consolidate_seconds: 0,
        idempotent_reply_ttl_seconds: DAY_SECONDS,
        audit_buffer: 100,
        memory_tool: HelperLanguage::Python,
    };
}

impl Default for Policy {
    fn default() -> Self {
        Policy::DEFAULT
    }
}
