//! The tool `memory_health`: counts the memories of a user.

use loci_core::{EnrichmentStatus, Result, Scope, Tier};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::overview::is_zero;
use crate::{Hints, Reply, TypedTool};

pub struct MemoryHealth;

/// Count what the user said here: messages, the long-term memories made from them, and how many of
/// these are sorted already.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose memories to count.
    user_id: String,
}

/// Counts of memories.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whose memories these are.
    user_id: String,
    /// Their total number.
    total_memories: u64,
    /// By tier.
    tier_stats: TierStats,
    /// Long-term memories by how far the background has come with them.
    enrichment_stats: EnrichmentStats,
}

#[derive(Serialize, JsonSchema)]
struct TierStats {
    /// Messages.
    stm: u64,
    /// Memories made from messages.
    ltm: u64,
}

#[derive(Serialize, JsonSchema)]
struct EnrichmentStats {
    /// Memories with importance, summary and type.
    completed: u64,
    /// Memories that wait for enrichment.
    pending: u64,
    /// Memories whose enrichment failed too often, if any; searches find them all the same.
    #[serde(skip_serializing_if = "is_zero")]
    failed: u64,
}

impl TypedTool for MemoryHealth {
    const NAME: &'static str = "memory_health";
    const TITLE: &'static str = "Count memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "admin:health";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let census = call.listings().count_by_status()?;
        let tier = |tier| {
            census
                .iter()
                .filter(|row| row.tier == tier)
                .map(|row| row.memories)
                .sum()
        };
        let status = |status| {
            census
                .iter()
                .filter(|row| row.enrichment == Some(status))
                .map(|row| row.memories)
                .sum()
        };
        let output = Output {
            user_id: arguments.user_id,
            total_memories: census.iter().map(|row| row.memories).sum(),
            tier_stats: TierStats {
                stm: tier(Tier::ShortTerm),
                ltm: tier(Tier::LongTerm),
            },
            enrichment_stats: EnrichmentStats {
                completed: status(EnrichmentStatus::Completed),
                pending: status(EnrichmentStatus::Pending),
                failed: status(EnrichmentStatus::Failed),
            },
        };
        Reply::json(&output, Some(output.total_memories))
    }
}
