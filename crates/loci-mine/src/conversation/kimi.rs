//! Kimi: `~/.kimi/sessions/<project>/<session>/context.jsonl`, a message a line as the model gets it,
//! without a time, between lines of the program whose roles start with `_`.

use loci_core::Timestamp;
use serde_json::Value;

use super::Conversation;
use super::marks::KIMI;
use super::value::{Tally, blocks, kinds, text_of};

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

/// Takes a line into the conversation; none if it is broken.
pub(super) fn take(line: &Value, said: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let speaker = match line["role"].as_str()? {
        "user" => "user",
        "assistant" => "assistant",
        "tool" => {
            tally.leave(kinds::TOOL_RESULT);
            return Some(());
        }
        "system" | "_system_prompt" => {
            tally.leave(kinds::INSTRUCTION);
            return Some(());
        }
        _ => return Some(()),
    };
    for _ in line["tool_calls"].as_array().into_iter().flatten() {
        tally.leave(kinds::TOOL_CALL);
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
        tally.leave(kinds::SUMMARY);
        return Some(());
    }
    say(blocks, (speaker, None), said, tally);
    Some(())
}

/// Adds the words in the blocks of a message.
pub(super) fn say(
    blocks: &[Value],
    (speaker, at): (&str, Option<Timestamp>),
    conversation: &mut Conversation,
    tally: &mut Tally,
) {
    for block in blocks {
        if block["type"] == "think" {
            tally.leave(kinds::REASONING);
            continue;
        }
        let Some(text) = text_of(block, &["text"], tally) else {
            continue;
        };
        let said = match speaker {
            "user" => KIMI.spoken(text, false),
            _ => Some(text),
        };
        match said {
            Some(said) => conversation.say(speaker, at, said),
            None if text.trim().is_empty() => {}
            None => tally.leave(kinds::PROGRAM),
        }
    }
}
