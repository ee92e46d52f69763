//! Kimi: `~/.kimi/sessions/<project>/<session>/context.jsonl`, a message a line as the model gets it,
//! without a time, between lines of the program whose roles start with `_`.

use serde_json::Value;

use super::marks::KIMI;
use super::value::{Tally, blocks, kinds, text_of};
use super::{Conversation, ConversationReader};

/// The start of a message in which a summary takes the place of the conversation.
const COMPACTED: &str = "<system>Previous context has been compacted";

/// Returns whether only this form has such a line.
pub(super) fn tells(line: &Value) -> bool {
    match line["role"].as_str() {
        Some("_checkpoint") => line["id"].is_number(),
        Some("_usage") => line["token_count"].is_number(),
        Some("_system_prompt") => line["content"].is_string(),
        _ => false,
    }
}

/// The words gathered from a session.
#[derive(Default)]
pub(super) struct Kimi {
    conversation: Conversation,
    tally: Tally,
}

impl Kimi {
    /// Takes a line; none if it is broken.
    fn line(&mut self, line: &Value) -> Option<()> {
        let speaker = match line["role"].as_str()? {
            "user" => "user",
            "assistant" => "assistant",
            "tool" => {
                self.tally.leave(kinds::TOOL_RESULT);
                return Some(());
            }
            "system" | "_system_prompt" => {
                self.tally.leave(kinds::INSTRUCTION);
                return Some(());
            }
            _ => return Some(()),
        };
        for _ in line["tool_calls"].as_array().into_iter().flatten() {
            self.tally.leave(kinds::TOOL_CALL);
        }
        // A message that only calls tools has none.
        if line["content"].is_null() {
            return Some(());
        }
        let blocks = blocks(&line["content"])?;
        let begins = |block: &Value| {
            let text = block.as_str().or_else(|| block["text"].as_str());
            text.is_some_and(|text| text.trim_start().starts_with(COMPACTED))
        };
        if blocks.iter().any(begins) {
            self.tally.leave(kinds::SUMMARY);
            return Some(());
        }
        for block in blocks {
            if block["type"] == "think" {
                self.tally.leave(kinds::REASONING);
                continue;
            }
            let Some(text) = text_of(block, &["text"], &mut self.tally) else {
                continue;
            };
            let said = match speaker {
                "user" => KIMI.spoken(text, false),
                _ => Some(text),
            };
            match said {
                Some(said) => self.conversation.say(speaker, None, said),
                None if text.trim().is_empty() => {}
                None => self.tally.leave(kinds::PROGRAM),
            }
        }
        Some(())
    }
}

impl ConversationReader for Kimi {
    fn take(&mut self, value: &Value) {
        let taken = self.line(value);
        self.tally.check(taken);
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}
