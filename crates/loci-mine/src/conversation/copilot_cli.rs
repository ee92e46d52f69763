//! GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, an event a line with its
//! type, its time and its `data`.

use serde_json::Value;

use super::value::{Tally, kinds, moment, title};
use super::{Conversation, ConversationReader};

/// Sources of messages that no person wrote, each also as the beginning of a longer name.
const SYSTEM_SOURCES: [&str; 4] = ["autopilot", "schedule", "skill", "system"];
/// The start of a message in which the program tells the model about a skill.
const SKILL_BEGINS: &str = "<skill-context";

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    let data = &line["data"];
    match line["type"].as_str() {
        Some("session.start") => data["sessionId"].is_string(),
        Some("user.message" | "assistant.message") => data["content"].is_string(),
        _ => false,
    }
}

/// The words gathered from a session.
#[derive(Default)]
pub(super) struct CopilotCli {
    conversation: Conversation,
    tally: Tally,
}

impl CopilotCli {
    /// Takes an event; none if it is broken.
    fn event(&mut self, event: &Value) -> Option<()> {
        let data = &event["data"];
        match event["type"].as_str()? {
            "session.start" | "session.resume" => {
                let folder = title(&data["context"]["cwd"]).or_else(|| title(&data["cwd"]));
                let known = &mut self.conversation.folder;
                *known = known.take().or(folder);
            }
            "user.message" => self.message("user", event)?,
            "assistant.message" => {
                self.message("assistant", event)?;
                for _ in data["toolRequests"].as_array().into_iter().flatten() {
                    self.tally.leave(kinds::TOOL_CALL);
                }
                if title(&data["reasoningText"]).is_some() {
                    self.tally.leave(kinds::REASONING);
                }
            }
            "assistant.reasoning" => self.tally.leave(kinds::REASONING),
            "system.message" => self.tally.leave(kinds::INSTRUCTION),
            "tool.execution_complete" => self.tally.leave(kinds::TOOL_RESULT),
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, speaker: &str, event: &Value) -> Option<()> {
        let data = &event["data"];
        let text = data["content"].as_str()?;
        let source = data["source"].as_str().unwrap_or_default();
        let is_of_program = SYSTEM_SOURCES
            .iter()
            .any(|system| source.starts_with(system))
            || text.trim_start().starts_with(SKILL_BEGINS);
        let is_of_helper = event["agentId"].is_string() || data["parentToolCallId"].is_string();
        if is_of_helper {
            self.tally.leave(kinds::HELPER);
        } else if is_of_program {
            self.tally.leave(kinds::PROGRAM);
        } else {
            self.conversation
                .say(speaker, moment(&event["timestamp"]), text);
            for _ in data["attachments"].as_array().into_iter().flatten() {
                self.tally.leave(kinds::ATTACHMENT);
            }
        }
        Some(())
    }
}

impl ConversationReader for CopilotCli {
    fn take(&mut self, value: &Value) {
        let taken = self.event(value);
        self.tally.check(taken);
    }

    fn resume(&mut self, head: &Value) {
        let before = std::mem::take(&mut self.tally);
        let _ = self.event(head);
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
