//! The export of Claude.ai: `conversations.json`, an array of conversations, each with its messages
//! in order.

use serde_json::Value;

use super::value::{moment, texts, title};
use super::{Conversation, Gather};

/// Whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["chat_messages"].is_array()
}

/// What was gathered.
#[derive(Default)]
pub(super) struct ClaudeAi {
    conversations: Vec<Conversation>,
    taken: usize,
}

impl Gather for ClaudeAi {
    fn take(&mut self, value: &Value) -> u64 {
        self.taken += 1;
        let Some(messages) = value["chat_messages"].as_array() else {
            return 1;
        };
        let id = title(&value["uuid"]).unwrap_or_else(|| format!("#{}", self.taken));
        let mut conversation = Conversation {
            id,
            title: title(&value["name"]),
            ..Conversation::default()
        };
        let broken = messages
            .iter()
            .filter(|message| said(message, &mut conversation).is_none())
            .count();
        self.conversations.push(conversation);
        broken as u64
    }

    fn conversations(self: Box<Self>) -> Vec<Conversation> {
        self.conversations
    }
}

/// Adds a message; none if it is broken.
fn said(message: &Value, conversation: &mut Conversation) -> Option<()> {
    let speaker = match message["sender"].as_str()? {
        "human" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    // Where there are blocks, `text` is what a program that does not know all of them would show.
    let blocks = texts(&message["content"], &["text"]).filter(|blocks| !blocks.is_empty());
    let texts = match blocks {
        Some(blocks) => blocks,
        None => texts(&message["text"], &[])?,
    };
    let at = moment(&message["created_at"]);
    for text in texts {
        conversation.say(speaker, at, text);
    }
    Some(())
}
