//! The export of Claude.ai: `conversations.json`, an array of conversations, each with its messages
//! in order. What a person pastes stands in attachments, and documents that the model writes stand
//! in calls of its tools.

use serde_json::Value;

use super::value::{Tally, blocks, kinds, moment, text_of, texts, title};
use super::{Conversation, ConversationReader};

/// The tools that write a document for a person, and where its text stands in their input.
const WRITERS: [(&str, &[&str]); 3] = [
    ("artifacts", &["content", "new_str"]),
    ("create_file", &["file_text"]),
    ("str_replace", &["new_str"]),
];
const TEXT_KINDS: [&str; 2] = ["text", "voice_note"];

/// Returns whether only this form has such an element.
pub(super) fn tells(value: &Value) -> bool {
    value["chat_messages"].is_array()
}

/// The state of a reading.
#[derive(Default)]
pub(super) struct ClaudeAi {
    conversations: Vec<Conversation>,
    tally: Tally,
    taken: usize,
}

impl ConversationReader for ClaudeAi {
    fn take(&mut self, value: &Value) {
        self.taken += 1;
        let Some(messages) = value["chat_messages"].as_array() else {
            self.tally.broken += 1;
            return;
        };
        let id = title(&value["uuid"]).unwrap_or_else(|| format!("#{}", self.taken));
        let mut conversation = Conversation {
            id,
            title: title(&value["name"]),
            ..Conversation::default()
        };
        for message in messages {
            let taken = said(message, &mut conversation, &mut self.tally);
            self.tally.check(taken);
        }
        self.conversations.push(conversation);
    }

    fn finished(&mut self) -> Vec<Conversation> {
        std::mem::take(&mut self.conversations)
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (self.conversations, self.tally)
    }
}

/// Adds a message; none if it is broken.
fn said(message: &Value, conversation: &mut Conversation, tally: &mut Tally) -> Option<()> {
    let speaker = match message["sender"].as_str()? {
        "human" | "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let at = moment(&message["created_at"]);
    let before = conversation.messages.len();
    let content = blocks(&message["content"]).unwrap_or_default();
    for block in content {
        if let Some(document) = document(block) {
            conversation.say(speaker, at, document);
        } else if let Some(text) = text_of(block, &TEXT_KINDS, tally) {
            conversation.say(speaker, at, text);
        }
    }
    // Where there are blocks, `text` is what a program that does not know all blocks would show.
    let is_told = if conversation.messages.len() == before {
        let texts = texts(&message["text"], &[], tally);
        for text in texts.iter().flatten() {
            conversation.say(speaker, at, text);
        }
        texts.is_some() || !content.is_empty()
    } else {
        true
    };
    let attachments = message["attachments"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for attachment in attachments {
        match attachment["extracted_content"].as_str() {
            Some(text) => {
                tally.attachments += 1;
                conversation.say(speaker, at, text);
            }
            None => tally.leave(kinds::ATTACHMENT),
        }
    }
    let files = message["files"].as_array().map_or(&[][..], Vec::as_slice);
    for file in files {
        let is_image = file["file_kind"] == "image";
        tally.leave(if is_image {
            kinds::IMAGE
        } else {
            kinds::ATTACHMENT
        });
    }
    (is_told || !attachments.is_empty()).then_some(())
}

/// The text of a document that the model writes for a person by calling a tool.
fn document(block: &Value) -> Option<&str> {
    if block["type"] != "tool_use" {
        return None;
    }
    let name = block["name"].as_str()?;
    let (_, fields) = WRITERS.iter().find(|(writer, _)| *writer == name)?;
    let texts = fields
        .iter()
        .filter_map(|field| block["input"][*field].as_str());
    texts.into_iter().find(|text| !text.trim().is_empty())
}
