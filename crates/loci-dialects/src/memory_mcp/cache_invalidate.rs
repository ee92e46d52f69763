//! The tool `cache_invalidate`: removes cached answers.

use loci_core::{Error, ErrorCode, Result, Scope};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Hints, Reply, TypedTool};

pub struct CacheInvalidate;

/// Forget cached answers of the user that no longer hold: those whose question matches a pattern,
/// or all.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose cached answers these are.
    user_id: String,
    /// A regular expression for the questions, or a part of their text.
    pattern: Option<String>,
    /// True to forget all, whatever the pattern.
    #[serde(default)]
    invalidate_all: bool,
}

/// The result of the removal.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whose answers these were.
    user_id: String,
    /// The number of deleted answers.
    deleted_count: u64,
}

impl TypedTool for CacheInvalidate {
    const NAME: &'static str = "cache_invalidate";
    const TITLE: &'static str = "Forget cached answers";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "cache:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let pattern = arguments.pattern.filter(|_| !arguments.invalidate_all);
        if pattern.is_none() && !arguments.invalidate_all {
            let message =
                "say which answers to forget: give a `pattern`, or set `invalidate_all` to true";
            return Err(Error::new(ErrorCode::InvalidArgument, message).of_argument("pattern"));
        }
        let deleted_count = call.conversations().forget_answers(pattern.as_deref())?;
        let output = Output {
            user_id: arguments.user_id,
            deleted_count,
        };
        Reply::json(&output, Some(deleted_count))
    }
}
