//! The conversations that a program keeps in a database.

use serde_json::Value;

use super::value::Tally;
use super::{Conversation, VALUE_BYTES_MAX};

/// The conversations of a database, and what was counted.
#[derive(Default)]
pub(super) struct StoredConversations {
    pub(super) conversations: Vec<Conversation>,
    pub(super) tally: Tally,
    pub(super) repairs: u64,
}

impl StoredConversations {
    /// Returns the value of a cell; none if it is missing, too long or no JSON, which is counted as broken
    /// by the caller.
    pub(super) fn value(&mut self, text: Option<&str>) -> Option<Value> {
        let text = text.filter(|text| text.len() as u64 <= VALUE_BYTES_MAX)?;
        let (value, repairs) = loci_json::from_slice::<Value>(text.as_bytes()).ok()?;
        self.repairs += repairs;
        Some(value)
    }

    /// Adds a conversation, unless nothing was said in it.
    pub(super) fn add(&mut self, conversation: Conversation) {
        if !conversation.messages.is_empty() {
            self.conversations.push(conversation);
        }
    }
}
