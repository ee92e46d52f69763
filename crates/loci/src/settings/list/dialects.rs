//! Limits and weights of single dialects, and the services that they call.

use std::time::Duration;

use loci_core::limits::{LIST_RESULTS_MAX, REPLY_TOKENS_MAX, TTL_DAYS_MAX};
use loci_engine::Policy;

use super::HOURS_MAX;
use crate::settings::value::{UNNAMED, Value};
use crate::settings::{DAY_SECONDS, DefaultValue, HOUR_SECONDS, Setting, TypedSetting, ValueType};

/// The longest timeout of a request to a language model, in seconds: three tries fit into the lease
/// of a job.
const LLM_SECONDS_MAX: u64 = 90;
/// The largest weight. It restricts no one, since only the ratio of weights counts.
const WEIGHT_MAX: f64 = 1_000.0;

settings! {
    DIALECTS_SETTINGS;

    /// The retention of messages.
    MESSAGE_TTL_HOURS: u64 = {
        key: "conversation.message_ttl_hours", variable: "LOCI_CONVERSATION_MESSAGE_TTL_HOURS",
        alias: Some("STM_TTL_HOURS"),
        default: DefaultValue::Whole(Policy::DEFAULT.message_ttl_seconds / HOUR_SECONDS),
        form: ValueType::Whole { min: 1, max: HOURS_MAX },
        meaning: "Hours that a message of a conversation is kept (its short-term memory)",
    };
    /// The limit for the results of one search.
    RESULTS_MAX: u64 = {
        key: "conversation.results_max", variable: "LOCI_CONVERSATION_RESULTS_MAX",
        alias: Some("MAX_RESULTS_PER_QUERY"),
        default: DefaultValue::Whole(Policy::DEFAULT.results_max as u64),
        form: ValueType::Whole { min: 1, max: LIST_RESULTS_MAX as u64 },
        meaning: "Results of one search by the memory-mcp tools; a larger limit clamps to it",
    };
    /// The token budget of a reply.
    REPLY_TOKENS: u64 = {
        key: "reply_tokens", variable: "LOCI_REPLY_TOKENS",
        default: DefaultValue::Whole(Policy::DEFAULT.reply_tokens as u64),
        form: ValueType::Whole { min: 1_000, max: REPLY_TOKENS_MAX as u64 },
        meaning: "Tokens of a reply to a search, list or recall, where the call has no `budget_tokens`; of long texts, the parts that answer are shown",
    };
    /// The helper whose words Anthropic's memory tool has.
    MEMORY_TOOL_HELPER: String = {
        key: "memory_tool.helper", variable: "LOCI_MEMORY_TOOL_HELPER",
        default: DefaultValue::Text("python"),
        form: ValueType::Choice(&["python", "typescript"]),
        meaning: "The SDK of Anthropic whose helper the memory tool speaks like, byte for byte: python or typescript, which differ in `insert`, in the list of a folder and in sizes",
    };
    /// The retention of softly deleted memories.
    PURGE_DAYS: u64 = {
        key: "conversation.purge_days", variable: "LOCI_CONVERSATION_PURGE_DAYS",
        alias: Some("SOFT_DELETE_PURGE_DAYS"),
        default: DefaultValue::Whole(Policy::DEFAULT.purge_after_seconds / DAY_SECONDS),
        form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days after which softly deleted memories are removed for good",
    };
    /// The least similarity of a cached question.
    CACHE_SIMILARITY_THRESHOLD: f64 = {
        key: "cache.similarity_threshold", variable: "LOCI_CACHE_SIMILARITY_THRESHOLD",
        alias: Some("CACHE_SIMILARITY_THRESHOLD"),
        default: DefaultValue::Number(Policy::DEFAULT.cache_similarity_min),
        form: ValueType::Number { max: 1.0 },
        meaning: "Lowest similarity of a cached question that counts as the same, on the scale (1 + cosine) / 2",
    };
    /// The retention of cached answers.
    CACHE_TTL_SECONDS: Duration = {
        key: "cache.ttl_seconds", variable: "LOCI_CACHE_TTL_SECONDS",
        alias: Some("CACHE_TTL_SECONDS"),
        default: DefaultValue::Whole(Policy::DEFAULT.cache_ttl_seconds),
        form: ValueType::Seconds,
        meaning: "Seconds that a cached answer is kept",
    };
    /// The weight of the rank by meaning.
    FUSION_VECTOR_WEIGHT: f64 = {
        key: "fusion.vector_weight", variable: "LOCI_FUSION_VECTOR_WEIGHT",
        alias: Some("RRF_VECTOR_WEIGHT"),
        default: DefaultValue::Number(Policy::DEFAULT.fusion.vector),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of the search by meaning in `hybrid_search`",
    };
    /// The weight of the rank by words.
    FUSION_TEXT_WEIGHT: f64 = {
        key: "fusion.text_weight", variable: "LOCI_FUSION_TEXT_WEIGHT",
        alias: Some("RRF_TEXT_WEIGHT"),
        default: DefaultValue::Number(Policy::DEFAULT.fusion.text),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of the search by words in `hybrid_search`",
    };
    /// The weight of recency.
    RANKING_RECENCY: f64 = {
        key: "ranking.recency_weight", variable: "LOCI_RANKING_RECENCY_WEIGHT",
        alias: Some("RANKING_ALPHA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.recency),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of recency in `recall_memory`",
    };
    /// The weight of importance.
    RANKING_IMPORTANCE: f64 = {
        key: "ranking.importance_weight", variable: "LOCI_RANKING_IMPORTANCE_WEIGHT",
        alias: Some("RANKING_BETA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.importance),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of importance and earlier accesses in `recall_memory`",
    };
    /// The weight of relevance.
    RANKING_RELEVANCE: f64 = {
        key: "ranking.relevance_weight", variable: "LOCI_RANKING_RELEVANCE_WEIGHT",
        alias: Some("RANKING_GAMMA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.relevance),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of relevance in `recall_memory`",
    };
    /// The decay time of recency.
    RANKING_DECAY_DAYS: u64 = {
        key: "ranking.decay_days", variable: "LOCI_RANKING_DECAY_DAYS",
        default: DefaultValue::Whole(Policy::DEFAULT.ranking.decay_days as u64),
        form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days in which recency falls to 1/e (37 %) in `recall_memory`",
    };
    /// The web search service.
    WEB_SEARCH_URL: String = {
        key: "web_search.url", variable: "LOCI_WEB_SEARCH_URL",
        alias: Some("TAVILY_BASE_URL"),
        default: DefaultValue::Text("https://api.tavily.com"),
        meaning: "Base URL of the Tavily API, or of a proxy for it",
    };
    /// The API key for that service.
    WEB_SEARCH_API_KEY: String = {
        key: "web_search.api_key", variable: "LOCI_WEB_SEARCH_API_KEY",
        alias: Some("TAVILY_API_KEY"),
        form: ValueType::Secret,
        meaning: "Key for that API; without it `search_web` says that it is not available; never shown",
    };
    /// The endpoint of a language model.
    LLM_URL: String = {
        key: "llm.url", variable: "LOCI_LLM_URL",
        meaning: "Base URL of an OpenAI-compatible endpoint whose model judges new memories, such as http://localhost:11434/v1; without it local rules do",
    };
    /// The name of the model at that endpoint.
    LLM_MODEL: String = {
        key: "llm.model", variable: "LOCI_LLM_MODEL",
        meaning: "Name of the model at that endpoint",
    };
    /// The API key for that endpoint.
    LLM_API_KEY: String = {
        key: "llm.api_key", variable: "LOCI_LLM_API_KEY",
        form: ValueType::Secret,
        meaning: "Key for that endpoint, sent as a bearer token; never shown",
    };
    /// The timeout of that endpoint.
    LLM_TIMEOUT_SECONDS: u64 = {
        key: "llm.timeout_seconds", variable: "LOCI_LLM_TIMEOUT_SECONDS",
        default: DefaultValue::Text("30"),
        form: ValueType::Whole { min: 1, max: LLM_SECONDS_MAX },
        meaning: "Seconds that one request to that endpoint may take, at most 90",
    };
}
