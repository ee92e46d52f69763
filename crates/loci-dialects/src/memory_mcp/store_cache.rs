//! The tool `store_cache`: caches an answer.

use loci_core::{Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object_id;
use crate::{Hints, Reply, TypedTool};

pub struct StoreCache;

/// Keep the answer to a question of the user for a while (an hour, unless the installation says
/// otherwise), so that `check_cache` finds it when a similar question comes. It takes the place of
/// the answer to the same question, word for word.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose question it is; no other user gets the answer.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// The question.
    query: String,
    /// The answer, kept exactly as given (at most 1 MiB).
    response: String,
}

/// The cached answer.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the cached answer.
    cache_id: String,
}

impl TypedTool for StoreCache {
    const NAME: &'static str = "store_cache";
    const TITLE: &'static str = "Cache an answer";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "cache:write";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let id = object_id::mint(call.engine().now());
        let cache_id = id.to_string();
        call.conversations()
            .cache_answer(id, &arguments.query, &arguments.response)?;
        Reply::json(&Output { cache_id }, None)
    }
}
