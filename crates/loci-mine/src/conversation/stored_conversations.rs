//! The conversations that a program keeps in a database.

use std::io;

use loci_databases::DatabaseError;
use serde_json::Value;

use super::value::Tally;
use super::{Beginning, Conversation, Format, Take, VALUE_BYTES_MAX};

/// Passes on the conversations of a database, and counts.
pub(super) struct StoredConversations<'t, 'f> {
    pub(super) format: Format,
    pub(super) take: &'t mut Take<'f>,
    pub(super) tally: Tally,
    pub(super) repairs: u64,
}

impl StoredConversations<'_, '_> {
    /// Returns the value of a cell; none if it is missing, too long or no JSON, which is counted as broken
    /// by the caller.
    pub(super) fn value(&mut self, text: Option<&str>) -> Option<Value> {
        let text = text.filter(|text| text.len() as u64 <= VALUE_BYTES_MAX)?;
        let (value, repairs) = loci_json::from_slice::<Value>(text.as_bytes()).ok()?;
        self.repairs += repairs;
        Some(value)
    }

    /// Passes on a conversation, unless nothing was said in it.
    ///
    /// # Errors
    /// That of the receiver.
    pub(super) fn add(&mut self, conversation: Conversation) -> io::Result<()> {
        if conversation.messages.is_empty() {
            return Ok(());
        }
        let beginning = Beginning {
            format: self.format,
            is_from_start: true,
        };
        (self.take)(beginning, conversation)
    }
}

/// Returns the error of a database as one of its file.
pub(super) fn unreadable(error: DatabaseError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
