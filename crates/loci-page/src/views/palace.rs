//! The view *Palace*: wings, their rooms, and the memories in a room.

use std::collections::BTreeMap;

use loci_core::{CollectionFilter, FilingOrder, Forgotten, Page, Result};
use loci_engine::Browse;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::card::{CHARACTERS_READ, Card, collections_of, room_path};
use crate::encoding::encoded;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The memories of one page.
const LIMIT: usize = 50;
/// The deleted memories that are shown.
const DELETED: Page = Page {
    offset: 0,
    limit: 200,
};

#[derive(Deserialize)]
pub(crate) struct PalaceQuery {}

/// All wings and their rooms.
#[derive(Serialize, ToSchema)]
pub(crate) struct Palace {
    pub(crate) wings: Vec<Wing>,
    pub(crate) memories: u64,
}

/// A wing.
#[derive(Serialize, ToSchema)]
pub(crate) struct Wing {
    /// Its name; `None` is global.
    pub(crate) name: Option<String>,
    pub(crate) memories: u64,
    /// Its rooms, by name.
    pub(crate) rooms: Vec<Room>,
}

/// A room.
#[derive(Serialize, ToSchema)]
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) memories: u64,
    /// The types of its memories.
    pub(crate) types: Vec<String>,
    #[serde(skip)]
    pub(crate) path: String,
}

view!(Palace, Tab::Palace, "palace.html");

/// Returns the wings that a caller may read something in, by name, the global one first.
pub(crate) fn wings(context: &RequestContext<'_>) -> Result<Vec<Wing>> {
    let mut wings: BTreeMap<Option<String>, BTreeMap<String, Room>> = BTreeMap::new();
    for count in context.call().listings().count_by_location()? {
        let rooms = wings.entry(count.collection.clone()).or_default();
        let room = rooms.entry(count.section.clone()).or_insert_with(|| Room {
            path: room_path(count.collection.as_deref(), &count.section),
            name: count.section,
            memories: 0,
            types: Vec::new(),
        });
        room.memories += count.memories;
        room.types.push(count.kind);
    }
    let wing = |(name, rooms): (Option<String>, BTreeMap<String, Room>)| Wing {
        name,
        memories: rooms.values().map(|room| room.memories).sum(),
        rooms: rooms.into_values().collect(),
    };
    Ok(wings.into_iter().map(wing).collect())
}

/// Lists wings and their rooms.
#[utoipa::path(get, path = "/palace", operation_id = "palace", responses((status = OK, body = Palace, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, _: PalaceQuery) -> Result<Palace> {
    let wings = wings(context)?;
    Ok(Palace {
        memories: wings.iter().map(|wing| wing.memories).sum(),
        wings,
    })
}

/// Which memories of a room to show.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RoomQuery {
    /// The wing; empty is global, all if it is left out.
    wing: Option<String>,
    /// The room; all rooms if it is left out.
    room: Option<String>,
    /// True to show what was forgotten, and nothing else.
    #[serde(default)]
    forgotten: bool,
    #[serde(default)]
    offset: usize,
}

/// The memories of a room.
#[derive(Serialize, ToSchema)]
pub(crate) struct RoomView {
    pub(crate) wing: Option<String>,
    pub(crate) room: Option<String>,
    pub(crate) forgotten: bool,
    pub(crate) offset: usize,
    /// The memories, last filed first.
    pub(crate) memories: Vec<Card>,
    /// The messages that `delete_memory` deleted and that are not removed yet, last deleted first, at most 200: on the
    /// first page of what was forgotten in all wings.
    pub(crate) deleted: Vec<DeletedCard>,
    pub(crate) total: u64,
    /// The wings that memories can be moved to.
    pub(crate) wings: Vec<String>,
}

/// A memory that `delete_memory` deleted.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedCard {
    pub(crate) deleted_at: UtcTimestamp,
    /// The conversation that it is of.
    pub(crate) conversation: Option<String>,
    #[serde(flatten)]
    pub(crate) card: Card,
}

view!(RoomView, Tab::Palace, "room.html", ["wing"]);

/// Lists the memories of a room.
#[utoipa::path(get, path = "/palace/room", operation_id = "palace_room", params(RoomQuery), responses((status = OK, body = RoomView, description = "The content of the view")))]
pub(crate) fn room(context: &RequestContext<'_>, query: RoomQuery) -> Result<RoomView> {
    let (listings, caller) = (context.call().listings(), context.caller());
    let collections: CollectionFilter = collections_of(query.wing.as_deref());
    let browsed = listings.browse(Browse {
        collections,
        sections: query.room.iter().cloned().collect(),
        forgotten: if query.forgotten {
            Forgotten::Only
        } else {
            Forgotten::Hide
        },
        order: FilingOrder::LastFirst,
        offset: query.offset,
        limit: LIMIT,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    })?;
    let is_first_of_all = query.wing.is_none() && query.room.is_none() && query.offset == 0;
    let deleted = if query.forgotten && is_first_of_all {
        context.call().memories().deleted(DELETED)?
    } else {
        Vec::new()
    };
    Ok(RoomView {
        deleted: deleted
            .iter()
            .map(|found| DeletedCard {
                deleted_at: UtcTimestamp(found.deleted_at),
                conversation: found.memory.conversation().map(str::to_owned),
                card: Card::of(caller, &found.memory),
            })
            .collect(),
        memories: browsed
            .memories
            .iter()
            .map(|memory| Card::of(caller, memory))
            .collect(),
        total: browsed.total,
        wings: listings.collections()?,
        wing: query.wing,
        room: query.room,
        forgotten: query.forgotten,
        offset: query.offset,
    })
}

impl RoomView {
    /// Returns the path of this room with an offset.
    fn path_at(&self, offset: usize) -> String {
        let mut path = format!("/palace/room?offset={offset}");
        for (name, value) in [("wing", &self.wing), ("room", &self.room)] {
            if let Some(value) = value {
                path += &format!("&{name}={}", encoded(value));
            }
        }
        if self.forgotten {
            path += "&forgotten=true";
        }
        path
    }

    /// Returns the path of this page.
    pub(crate) fn path(&self) -> String {
        self.path_at(self.offset)
    }

    /// Returns the path of the page before this one.
    pub(crate) fn previous(&self) -> Option<String> {
        (self.offset > 0).then(|| self.path_at(self.offset.saturating_sub(LIMIT)))
    }

    /// Returns the path of the next page.
    pub(crate) fn next(&self) -> Option<String> {
        let next = self.offset + self.memories.len();
        ((next as u64) < self.total).then(|| self.path_at(next))
    }

    /// Returns the first number that is shown, from 1.
    pub(crate) fn first(&self) -> usize {
        self.offset + 1
    }

    /// Returns the last number that is shown.
    pub(crate) fn last(&self) -> usize {
        self.offset + self.memories.len()
    }
}
