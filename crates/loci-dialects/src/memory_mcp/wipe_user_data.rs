//! The tool `wipe_user_data`: permanently removes all data of a user.

use loci_core::{Error, ErrorCode, Result, Scope};
use loci_engine::{Call, shown_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::questions::Question;
use crate::{Hints, Reply, TypedTool};

/// The message that clients of the original match on.
const UNCONFIRMED: &str =
    "wipe_user_data requires confirm=true. This will permanently delete ALL user data.";

pub struct WipeUserData;

/// Remove everything of the user for good: messages and memories, cached answers, decisions, and
/// what the audit log says of the user. What other tools filed for everyone stays, without the
/// name; on a server that asks for no token, whatever came in through other tools stays as it is.
/// Nothing brings the rest back; ask the user before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose data to remove.
    user_id: String,
    /// Must be true.
    #[serde(default)]
    confirm: bool,
}

/// The numbers of removed records.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whose data it was.
    user_id: String,
    /// Messages and memories, those deleted before and not yet removed included.
    memories_deleted: u64,
    /// Cached answers.
    cache_deleted: u64,
    /// Entries of the audit log.
    audit_deleted: u64,
    /// Decisions.
    decisions_deleted: u64,
}

impl TypedTool for WipeUserData {
    const NAME: &'static str = "wipe_user_data";
    const TITLE: &'static str = "Remove a user's data";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = loci_engine::WIPE;
    type Arguments = Arguments;
    type Output = Output;

    fn question(_call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let user = shown_name(&arguments.user_id);
        let what = format!("all data of {user} (messages, memories, cached answers, decisions)");
        Ok(arguments.confirm.then(|| Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        if !arguments.confirm {
            return Err(Error::new(ErrorCode::InvalidArgument, UNCONFIRMED).of_argument("confirm"));
        }
        let wiped = call.wipe()?;
        let output = Output {
            user_id: arguments.user_id,
            memories_deleted: wiped.memories,
            cache_deleted: wiped.cache_entries,
            audit_deleted: wiped.audit_entries,
            decisions_deleted: wiped.decisions,
        };
        Reply::json(&output, Some(wiped.memories))
    }
}
