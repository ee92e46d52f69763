//! A memory in a list.

use loci_core::{Caller, CollectionFilter, Delivery, Memory, Timestamp};
use loci_engine::{owner_name, shown_title};
use loci_text::sentences;
use serde::Serialize;
use utoipa::ToSchema;

use crate::encoding::encoded;
use crate::utc_timestamp::UtcTimestamp;

/// The characters of a text that are read for a list.
pub(crate) const CHARACTERS_READ: usize = 2_000;
/// The characters of a text that a list shows.
const OPENING_CHARACTERS: usize = 240;
/// Returns the path of a memory.
pub(crate) fn memory_path(id: &str) -> String {
    format!("/memory/{}", encoded(id))
}

/// Returns the path of a room; of no wing if `wing` is `None`.
pub(crate) fn room_path(wing: Option<&str>, room: &str) -> String {
    let wing = encoded(wing.unwrap_or_default());
    format!("/palace/room?wing={wing}&room={}", encoded(room))
}

/// Returns the collections that a parameter `wing` names: all without it, those without a name if
/// it is empty.
pub(crate) fn collections_of(wing: Option<&str>) -> CollectionFilter {
    match wing {
        None => CollectionFilter::Any,
        Some("") => CollectionFilter::Global,
        Some(name) => CollectionFilter::Only(name.to_owned()),
    }
}

/// A memory in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Card {
    pub(crate) id: String,
    /// Its title, or its first words.
    pub(crate) title: String,
    /// The beginning of its text.
    pub(crate) opening: String,
    /// The wing, project or scope; `None` is global.
    pub(crate) wing: Option<String>,
    pub(crate) room: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) tags: Vec<String>,
    /// The dialect that it came in through.
    pub(crate) via: String,
    /// The user who filed it.
    pub(crate) owner: Option<String>,
    /// `private`, `shared` or `common`, as its readers and writers are.
    pub(crate) visibility: &'static str,
    /// True if every session begins with it.
    pub(crate) pinned: bool,
    pub(crate) forgotten: bool,
    pub(crate) superseded_by: Option<String>,
    pub(crate) created_at: UtcTimestamp,
    pub(crate) updated_at: UtcTimestamp,
}

impl Card {
    pub(crate) fn of(reader: &Caller, memory: &Memory) -> Self {
        Card {
            id: memory.id.as_str().to_owned(),
            title: shown_title(memory).into_owned(),
            opening: sentences::opening(&memory.content, OPENING_CHARACTERS),
            wing: memory.location.collection.clone(),
            room: memory.location.section.clone(),
            kind: memory.kind.clone(),
            tags: memory.tags.clone(),
            via: memory.origin.clone(),
            owner: owner_name(reader, memory.owner.as_deref()),
            visibility: memory.visibility.name(),
            pinned: memory.delivery == Delivery::Bootstrap,
            forgotten: memory.forgotten_at.is_some(),
            superseded_by: memory
                .superseded_by
                .as_ref()
                .map(|id| id.as_str().to_owned()),
            created_at: UtcTimestamp(memory.created_at),
            updated_at: UtcTimestamp(memory.updated_at),
        }
    }

    pub(crate) fn path(&self) -> String {
        memory_path(&self.id)
    }

    /// Returns the id as a part of a path.
    pub(crate) fn path_id(&self) -> String {
        encoded(&self.id)
    }

    pub(crate) fn room_path(&self) -> String {
        room_path(self.wing.as_deref(), &self.room)
    }
}

/// Returns a time as a setting of a caller holds it.
pub(crate) fn stored(moment: Timestamp) -> String {
    moment.microseconds().to_string()
}

/// Returns the time in a setting of a caller.
pub(crate) fn read_back(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(Timestamp::from_microseconds)
}
