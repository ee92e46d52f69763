//! The candidate lines of the text of a session's start.

use loci_core::{Caller, Memory, MemoryId, Timestamp};

use super::CONVERSATIONS;

/// A candidate line of the text.
pub(super) struct Line {
    /// The sort key: its part, and its position in that part.
    pub(super) place: (usize, usize, i64, u64),
    pub(super) heading: String,
    pub(super) text: String,
    /// The drawer that it shows, its filing time, and the conversation that it belongs to.
    pub(super) id: MemoryId,
    /// True if a wipe of the reader would remove it.
    pub(super) is_own: bool,
    pub(super) filed_at: Timestamp,
    pub(super) conversation: Option<String>,
    /// The group in which the text counts it.
    pub(super) counted: CountGroup,
}

/// The group in which the last line counts a memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CountGroup {
    /// A memory that every session should start with.
    Always,
    /// Another memory that is filed in the wing, or in any wing if no wing is given.
    Note,
    /// Not counted.
    Not,
}

/// Returns the line that shows a memory to this reader.
pub(super) fn line(
    reader: &Caller,
    memory: &Memory,
    place: (usize, usize, i64),
    heading: &str,
    text: String,
    counted: CountGroup,
) -> Line {
    let said = memory
        .thread
        .as_ref()
        .filter(|_| memory.location.section == CONVERSATIONS);
    Line {
        place: (
            place.0,
            place.1,
            place.2,
            said.map_or(0, |thread| thread.position),
        ),
        heading: heading.to_owned(),
        text,
        id: memory.id.clone(),
        is_own: reader.owns(memory),
        filed_at: memory.created_at,
        conversation: said.map(|thread| thread.name.clone()),
        counted,
    }
}
