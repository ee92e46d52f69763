//! The memories that a host shows at the start of every session.

use loci_core::limits::{SESSION_START_BYTES_MAX, SESSION_START_FRAME_BYTES};
use loci_core::{Caller, CollectionFilter, Delivery, Memory, Result, Scope};
use loci_text::sentences::opening;

use crate::authors::writer_of;
use crate::context::Context;

/// The most characters of a memory that a session's start shows, in whole sentences.
pub const START_CHARACTERS: usize = 500;
/// The number of last characters that identify an id: the first ones of a UUID v7 encode its time.
const SHORT_ID_CHARACTERS: usize = 8;

/// The memories that every session starts with: rules and feedback first, then other types; within
/// each by weight, then oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStart {
    /// Memories of authors whose directives the caller [takes](crate::Trust).
    pub directives: Vec<Memory>,
    /// The number of the first of these that fit into the text of the smallest host.
    pub fitting: usize,
    /// Memories of other authors, but for the ones that are held back.
    pub of_others: Vec<Memory>,
    /// The number of memories of other authors that are [held back](crate::HeldBack).
    pub held_back: usize,
}

/// Reports that the smallest host does not show all memories that every session starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartOverflow {
    /// The number of memories that it shows.
    pub shown: usize,
    /// The number of all these memories.
    pub total: usize,
    /// True if it shows the memory that was just stored.
    pub shows_this: bool,
}

impl Context<'_> {
    /// Returns the memories of these collections that every session starts with, except superseded
    /// ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn session_start(&self, collections: CollectionFilter) -> Result<SessionStart> {
        let trust = self.settings.trust()?;
        let memories = self.bootstrap_memories(collections)?;
        let (directives, mut of_others): (Vec<Memory>, Vec<Memory>) = memories
            .into_iter()
            .partition(|memory| trust.includes(memory));
        let mut room = SESSION_START_BYTES_MAX - SESSION_START_FRAME_BYTES;
        let fits = |memory: &&Memory| {
            // With its line feed.
            let left = room.checked_sub(start_line(&self.caller, memory).len() + 1);
            room = left.unwrap_or(room);
            left.is_some()
        };
        let fitting = directives.iter().take_while(fits).count();
        Ok(SessionStart {
            directives,
            fitting,
            held_back: self.settings.held_back()?.remove_from(&mut of_others),
            of_others,
        })
    }

    /// Reports whether sessions that start with this memory have more to start with than the
    /// smallest host shows; `None` if they do not, if the memory is not for session starts, or if
    /// the caller may not read their number.
    pub(crate) fn start_overflow(&self, stored: &Memory) -> Option<StartOverflow> {
        if stored.delivery != Delivery::Bootstrap
            || !self.caller.principal.scopes.allow(Scope::Read)
        {
            return None;
        }
        let collection = stored.location.collection.clone();
        let collections = collection.map_or(CollectionFilter::Global, CollectionFilter::GlobalAnd);
        let start = self.session_start(collections);
        // The memory is stored even if this fails.
        let start = start
            .inspect_err(|error| tracing::warn!(%error, "what sessions begin with was not counted"))
            .ok()?;
        let SessionStart {
            directives,
            fitting,
            of_others: _,
            held_back: _,
        } = start;
        let shows_this = directives[..fitting]
            .iter()
            .any(|memory| memory.id == stored.id);
        (fitting < directives.len()).then_some(StartOverflow {
            shown: fitting,
            total: directives.len(),
            shows_this,
        })
    }
}

/// Formats a memory for a session's start and this reader, in one line: its title, its first
/// sentences, the end of its id, and its author if that is not the reader.
pub fn start_line(reader: &Caller, memory: &Memory) -> String {
    let title = memory
        .title
        .as_ref()
        .map_or_else(String::new, |title| format!("{title}: "));
    let by = writer_of(reader, memory).map_or_else(String::new, |name| format!(" (by {name})"));
    format!(
        "- {title}{} [{}]{by}",
        opening(&memory.content, START_CHARACTERS),
        short_id(memory.id.as_str())
    )
}

/// Returns the last characters of an id, for texts; a short id whole. The first ones of a UUID v7
/// encode the time and are the same for about a minute. Every tool that takes an id accepts them.
pub fn short_id(id: &str) -> &str {
    id.char_indices()
        .rev()
        .nth(SHORT_ID_CHARACTERS - 1)
        .map_or(id, |(start, _)| &id[start..])
}
