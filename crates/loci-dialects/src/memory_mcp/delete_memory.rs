//! The tool `delete_memory`: soft-deletes memories.

use loci_core::{Error, ErrorCode, Result, Scope};
use loci_engine::{Call, Discard, check, shown_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{CONVERSATION_ALIASES, TimeRange};
use crate::questions::Question;
use crate::wire::rfc3339;
use crate::{Hints, Reply, TypedTool};

const DAY_SECONDS: u64 = 86_400;

pub struct DeleteMemory;

/// Forget memories of a user: one by its id, or all of a conversation, with certain tags, of a
/// certain time, or all three. A message goes with the memory made from it, and the other way
/// round. They are found no more at once, and removed for good after some weeks; until
/// then, people can bring them back.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose memories these are.
    user_id: String,
    /// The id of one memory, without any other condition.
    memory_id: Option<String>,
    /// Messages of this conversation, by its `conversation_id`, and the memories made from them.
    conversation: Option<String>,
    /// Memories with all of these tags, whatever the conversation unless you name one.
    #[schemars(length(min = 1))]
    tags: Option<Vec<String>>,
    /// Memories that were stored in this time: `{"start": "2026-03-01", "end": "2026-03-31"}`.
    time_range: Option<TimeRange>,
    /// Must be true to delete by `conversation`, `tags` or `time_range`.
    #[serde(default)]
    confirm: bool,
    /// True to count what would be deleted, and delete nothing.
    #[serde(default)]
    dry_run: bool,
}

/// The result of the deletion.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The number of memories that were deleted, or would be.
    deleted_count: usize,
    /// True if they were only counted.
    dry_run: bool,
    /// Of how many conversations these memories are.
    conversations: usize,
}

impl TypedTool for DeleteMemory {
    const NAME: &'static str = "delete_memory";
    const TITLE: &'static str = "Delete memories";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:delete";
    const ALIASES: &'static [(&'static str, &'static str)] = CONVERSATION_ALIASES;
    type Arguments = Arguments;
    type Output = Output;

    fn question(call: &Call<'_>, arguments: &Arguments) -> Result<Option<Question>> {
        let is_for_good = call.engine().policy().purge_after_seconds < DAY_SECONDS;
        let is_run = !arguments.dry_run && (arguments.confirm || arguments.memory_id.is_some());
        if !is_for_good || !is_run {
            return Ok(None);
        }
        let found = call
            .memories()
            .count_discarded(&conditions(call, arguments.clone())?)?;
        let noun = if found == 1 { "memory" } else { "memories" };
        let what = format!("{found} {noun} of {}", shown_name(&arguments.user_id));
        Ok((found > 0).then(|| Question::of_deletion(&what)))
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            confirm, dry_run, ..
        } = arguments;
        let which = conditions(call, arguments)?;
        if which.id.is_none() && !confirm && !dry_run {
            let message = "deleting by `conversation`, `tags` or `time_range` needs `confirm` to be true; `dry_run` \
                           counts the memories beforehand";
            return Err(Error::new(ErrorCode::InvalidArgument, message).of_argument("confirm"));
        }
        let way_back = way_back(call, &which);
        let conversations = call.memories().count_conversations(&which)?;
        let deleted_count = if dry_run {
            call.memories().count_discarded(&which)?
        } else {
            call.memories().discard(&which)?
        };
        let output = Output {
            deleted_count,
            dry_run,
            conversations,
        };
        let notice = notice(&output, &way_back);
        Ok(Reply::json(&output, Some(deleted_count as u64))?.with_notice(notice))
    }
}

/// Returns what a caller should know of a deletion, or of one that would be made: how much it is,
/// and what takes it back. `None` if it is nothing.
fn notice(output: &Output, way_back: &str) -> Option<String> {
    let counted = |count: usize, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    let memories = counted(output.deleted_count, "memory", "memories");
    let whose = match output.conversations {
        0 => String::new(),
        count => format!(" of {}", counted(count, "conversation", "conversations")),
    };
    let done = match (output.dry_run, output.deleted_count) {
        (true, _) => "would be deleted".to_owned(),
        (false, 1) => format!("is deleted; {way_back}"),
        (false, _) => format!("are deleted; {way_back}"),
    };
    (output.deleted_count > 0).then(|| format!("{memories}{whose} {done}"))
}

/// Returns what takes the deletion back, and for how long.
fn way_back(call: &Call<'_>, which: &Discard) -> String {
    let days = call.engine().policy().purge_after_seconds / DAY_SECONDS;
    if days == 0 {
        return "only a backup brings it back, as `conversation.purge_days` is 0".to_owned();
    }
    let is_plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let command = match (&which.id, &which.thread) {
        (Some(id), _) => format!("loci unforget {id}"),
        (None, Some(name))
            if name.starts_with(char::is_alphanumeric) && name.chars().all(is_plain) =>
        {
            format!("loci unforget --where --conversation {name} --yes")
        }
        (None, _) => {
            let now = rfc3339(call.engine().now());
            format!("loci unforget --where --since {now} --yes")
        }
    };
    let noun = if days == 1 { "day" } else { "days" };
    format!("for {days} {noun} `{command}` or the page brings back what has not expired by then")
}

fn conditions(call: &Call<'_>, arguments: Arguments) -> Result<Discard> {
    let Arguments {
        conversation,
        tags,
        time_range,
        ..
    } = arguments;
    let is_bulk = conversation.is_some() || tags.is_some() || time_range.is_some();
    match arguments.memory_id {
        Some(_) if is_bulk => Err(Error::invalid(
            "memory_id",
            "does not go with `conversation`, `tags` or `time_range`",
        )),
        Some(id) => {
            let id = call.memories().memory_id("memory_id", &id)?;
            Ok(Discard::of(id))
        }
        None if is_bulk => {
            conversation
                .as_deref()
                .map_or(Ok(()), |name| check::name("conversation", name))?;
            let range = time_range.map(|range| range.moments()).transpose()?;
            let (created_from, created_until) = range.unwrap_or_default();
            let tags = tags.unwrap_or_default();
            Ok(Discard {
                id: None,
                thread: conversation,
                tags,
                created_from,
                created_until,
            })
        }
        None => {
            let message = "what to delete is missing; give `memory_id`, or one or more of `conversation`, `tags` and \
                           `time_range`";
            Err(Error::new(ErrorCode::InvalidArgument, message).of_argument("memory_id"))
        }
    }
}
