//! pi: `~/.pi/agent/sessions/--<project>--/<time>_<session>.jsonl`, an entry a line. The first one names
//! the session and its folder; the others form a tree, of which every branch is read, each message once.

use serde_json::Value;

use super::value::{Tally, kinds, moment, text_of, title};
use super::{Conversation, ConversationReader};

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    match line["type"].as_str() {
        Some("session") => line["id"].is_string() && line["cwd"].is_string(),
        Some("message") => line["message"]["role"].is_string() && line["timestamp"].is_string(),
        _ => false,
    }
}

/// The words gathered from a session.
#[derive(Default)]
pub(super) struct Pi {
    conversation: Conversation,
    tally: Tally,
}

impl Pi {
    /// Takes an entry; none if it is broken.
    fn entry(&mut self, entry: &Value) -> Option<()> {
        match entry["type"].as_str()? {
            "session" => {
                let known = &mut self.conversation.folder;
                *known = known.take().or_else(|| title(&entry["cwd"]));
            }
            "session_info" => {
                let known = &mut self.conversation.title;
                *known = title(&entry["name"]).or_else(|| known.take());
            }
            "message" => self.message(entry)?,
            "compaction" | "branch_summary" => self.tally.leave(kinds::SUMMARY),
            "custom_message" => self.tally.leave(kinds::PROGRAM),
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, entry: &Value) -> Option<()> {
        let message = &entry["message"];
        let speaker = match message["role"].as_str()? {
            "user" => "user",
            "assistant" => "assistant",
            role => {
                self.tally.leave(match role {
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
                self.tally.leave(kinds::TOOL_CALL);
            } else if let Some(text) = text_of(block, &["text"], &mut self.tally) {
                self.conversation.say(speaker, at, text);
            }
        }
        Some(())
    }
}

impl ConversationReader for Pi {
    fn take(&mut self, value: &Value) {
        let taken = self.entry(value);
        self.tally.check(taken);
    }

    fn resume(&mut self, head: &Value) {
        let before = std::mem::take(&mut self.tally);
        let _ = self.entry(head);
        self.conversation.messages.clear();
        self.tally = before;
    }

    fn folder(&self) -> Option<&str> {
        self.conversation.folder.as_deref()
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
