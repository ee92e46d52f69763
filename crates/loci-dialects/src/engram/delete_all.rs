//! The tool `delete_all`: deletes the caller's records of a scope.

use loci_core::{Error, Result, Scope};
use loci_engine::{Call, check, shown_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::only;
use crate::faults::Faults;
use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

/// The status that clients match on.
const CLEARED: &str = "scope cleared";

pub struct DeleteAll;

/// Delete for good all memories and discoveries that you stored with these tools in one scope, for
/// instance after an evaluation. What others stored there stays, and so does what came in through
/// other tools. Nothing brings the rest back; if it is a person's, ask first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The scope to clear, exactly as it was given on storing; one of discoveries, too.
    scope: String,
}

/// The result of the deletion.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The same words as the text.
    status: &'static str,
    /// The number of records that were deleted.
    deleted: usize,
}

impl TypedTool for DeleteAll {
    const NAME: &'static str = "delete_all";
    const TITLE: &'static str = "Clear a scope";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments).check("scope", check::name).found()
    }

    fn question(_call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let scope = shown_name(&arguments.scope);
        let what = format!("everything that you stored in the scope \u{201c}{scope}\u{201d}");
        Ok(Some(Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let deleted = call.memories().clear(only(arguments.scope))?;
        let output = Output {
            status: CLEARED,
            deleted,
        };
        Ok(Reply::new(
            CLEARED.to_owned(),
            crate::tool::to_value(&output)?,
            Some(deleted as u64),
        ))
    }
}
