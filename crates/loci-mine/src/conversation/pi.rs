//! pi: `~/.pi/agent/sessions/--<project>--/<time>_<session>.jsonl`, an entry a line. The first one names
//! the session and its folder; the others form a tree, of which every branch is read, each message once.

use serde_json::Value;

use super::Conversation;
use super::value::{Tally, kinds, moment, text_of, title};

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    match line["type"].as_str() {
        Some("session") => line["id"].is_string() && line["cwd"].is_string(),
        Some("message") => line["message"]["role"].is_string() && line["timestamp"].is_string(),
        _ => false,
    }
}

/// Takes an entry into the conversation; none if it is broken.
pub(super) fn take(entry: &Value, said: &mut Conversation, tally: &mut Tally) -> Option<()> {
    match entry["type"].as_str()? {
        "session" => {
            let known = &mut said.folder;
            *known = known.take().or_else(|| title(&entry["cwd"]));
        }
        "session_info" => {
            let known = &mut said.title;
            *known = title(&entry["name"]).or_else(|| known.take());
        }
        "message" => message(entry, said, tally)?,
        "compaction" | "branch_summary" => tally.leave(kinds::SUMMARY),
        "custom_message" => tally.leave(kinds::PROGRAM),
        _ => {}
    }
    Some(())
}

fn message(entry: &Value, said: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let message = &entry["message"];
    let speaker = match message["role"].as_str()? {
        "user" => "user",
        "assistant" => "assistant",
        role => {
            tally.leave(match role {
                "toolResult" => kinds::TOOL_RESULT,
                "bashExecution" => kinds::TOOL_CALL,
                "branchSummary" | "compactionSummary" => kinds::SUMMARY,
                _ => kinds::PROGRAM,
            });
            return Some(());
        }
    };
    let at = moment(&entry["timestamp"]).or_else(|| moment(&message["timestamp"]));
    for block in super::value::blocks(&message["content"])? {
        if block["type"] == "toolCall" {
            tally.leave(kinds::TOOL_CALL);
        } else if let Some(text) = text_of(block, &["text"], tally) {
            said.say(speaker, at, text);
        }
    }
    Some(())
}
