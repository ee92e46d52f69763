//! The view *Browse*: places, the memories in them, and what is done with these.

use std::collections::BTreeMap;

use loci_core::{
    CollectionFilter, FilingOrder, Forgotten, LocationCount, MemoryId, Page, Result, SortKey,
    Sorting,
};
use loci_engine::{Browse, BrowsePage};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::card::{CHARACTERS_READ, Card, room_path};
use crate::encoding::encoded;
use crate::projects::{collections_of, project_of};
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
/// The length of the bar that stands for the largest place, in units of its picture.
const BAR: u64 = 60;

/// A wing.
#[derive(Serialize, ToSchema)]
pub(crate) struct Wing {
    /// Its name; `None` is global.
    pub(crate) name: Option<String>,
    pub(crate) memories: u64,
    /// Its rooms, by name.
    pub(crate) rooms: Vec<Room>,
    #[serde(skip)]
    pub(crate) path: String,
    /// The length of its bar.
    #[serde(skip)]
    pub(crate) bar: u64,
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

impl Room {
    /// Returns true if it has a name of its own: one that is named like the type of all its memories is
    /// a filter by that type and no place.
    pub(crate) fn is_place(&self) -> bool {
        self.types != [self.name.as_str()]
    }
}

impl Wing {
    /// Returns the rooms that are places.
    pub(crate) fn places(&self) -> Vec<&Room> {
        self.rooms.iter().filter(|room| room.is_place()).collect()
    }

    /// Returns the name as a parameter.
    pub(crate) fn value(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// Returns the wings that a caller may read something in, by name, the global one first.
pub(crate) fn wings(context: &RequestContext<'_>) -> Result<Vec<Wing>> {
    Ok(wings_of(context.call().listings().count_by_location()?))
}

fn wings_of(counts: Vec<LocationCount>) -> Vec<Wing> {
    let mut wings: BTreeMap<Option<String>, BTreeMap<String, Room>> = BTreeMap::new();
    for count in counts {
        let project = count.collection.as_deref().map(project_of);
        let rooms = wings.entry(project.map(str::to_owned)).or_default();
        let room = rooms.entry(count.section.clone()).or_insert_with(|| Room {
            path: room_path(project, &count.section),
            name: count.section,
            memories: 0,
            types: Vec::new(),
        });
        room.memories += count.memories;
        if !room.types.contains(&count.kind) {
            room.types.push(count.kind);
        }
    }
    let wing = |(name, rooms): (Option<String>, BTreeMap<String, Room>)| Wing {
        memories: rooms.values().map(|room| room.memories).sum(),
        path: wing_path(name.as_deref()),
        name,
        rooms: rooms.into_values().collect(),
        bar: 0,
    };
    let mut wings: Vec<Wing> = wings.into_iter().map(wing).collect();
    let largest = wings.iter().map(|wing| wing.memories).max().unwrap_or(0);
    for wing in &mut wings {
        wing.bar = (wing.memories * BAR).div_ceil(largest.max(1));
    }
    wings
}

/// Returns the path of the memories of a wing; of no wing if it is `None`.
pub(crate) fn wing_path(wing: Option<&str>) -> String {
    format!("/browse/room?wing={}", encoded(wing.unwrap_or_default()))
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ListOrder)]
pub(crate) enum Order {
    Newest,
    Oldest,
    Changed,
    Used,
    Unused,
    Idle,
    Largest,
    Smallest,
    Type,
    Host,
}

/// The way in which the store gets a list into its order.
enum StoreOrder {
    Filing(FilingOrder),
    Sorted(Sorting),
}

impl Order {
    const ALL: [Order; 10] = [
        Order::Newest,
        Order::Oldest,
        Order::Changed,
        Order::Used,
        Order::Unused,
        Order::Idle,
        Order::Largest,
        Order::Smallest,
        Order::Type,
        Order::Host,
    ];

    /// Returns its name as a parameter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Newest => "newest",
            Order::Oldest => "oldest",
            Order::Changed => "changed",
            Order::Used => "used",
            Order::Unused => "unused",
            Order::Idle => "idle",
            Order::Largest => "largest",
            Order::Smallest => "smallest",
            Order::Type => "type",
            Order::Host => "host",
        }
    }

    fn of_store(self) -> StoreOrder {
        let sorted = |key, is_descending| StoreOrder::Sorted(Sorting { key, is_descending });
        match self {
            Order::Newest => StoreOrder::Filing(FilingOrder::LastFirst),
            Order::Oldest => StoreOrder::Filing(FilingOrder::FirstFirst),
            Order::Changed => sorted(SortKey::Update, true),
            Order::Used => sorted(SortKey::Uses, true),
            Order::Unused => sorted(SortKey::Uses, false),
            Order::Idle => sorted(SortKey::LastUse, false),
            Order::Largest => sorted(SortKey::Size, true),
            Order::Smallest => sorted(SortKey::Size, false),
            Order::Type => sorted(SortKey::Kind, false),
            Order::Host => sorted(SortKey::Program, false),
        }
    }
}

/// The place, and the memories to show.
#[derive(Deserialize, Default, Clone, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RoomQuery {
    /// The project; empty is no project, all if it is left out.
    #[param(example = "shop")]
    pub(crate) wing: Option<String>,
    /// The topic; all topics if it is left out.
    #[param(example = "payments")]
    pub(crate) room: Option<String>,
    /// Only memories of these types.
    #[serde(rename = "type", default)]
    #[param(example = json!(["fact"]))]
    pub(crate) kind: Vec<String>,
    /// Only memories with all of these tags.
    #[serde(default)]
    #[param(example = json!(["deploy"]))]
    pub(crate) tag: Vec<String>,
    /// Only memories that these apps filed, by the names that they give themselves.
    #[serde(default)]
    #[param(example = json!(["claude-code"]))]
    pub(crate) program: Vec<String>,
    /// True to show what was forgotten, and nothing else.
    #[serde(default)]
    #[param(example = false)]
    pub(crate) forgotten: bool,
    /// The order; the newest first if it is left out.
    #[param(inline, example = "used")]
    pub(crate) sort: Option<Order>,
    /// Only memories that were stored on this day or instant, or earlier.
    #[param(example = "2026-08-31")]
    pub(crate) until: Option<String>,
    /// The number of memories to skip.
    #[serde(default)]
    #[param(example = 50)]
    pub(crate) offset: usize,
}

impl RoomQuery {
    /// Returns what it selects.
    ///
    /// # Errors
    /// `invalid_argument` for a time that cannot be read.
    fn browse(&self) -> Result<Browse> {
        let until = self.until.as_deref();
        let until = until.map(|until| UtcTimestamp::parse("until", until, true));
        let mut browse = Browse {
            collections: collections_of(self.wing.as_deref()),
            sections: self.room.iter().cloned().collect(),
            kinds: self.kind.clone(),
            tags: self.tag.clone(),
            forgotten: if self.forgotten {
                Forgotten::Only
            } else {
                Forgotten::Hide
            },
            offset: self.offset,
            limit: LIMIT,
            characters_max: Some(CHARACTERS_READ),
            ..Browse::default()
        };
        browse.facets.created_until = until.transpose()?;
        browse.facets.programs.clone_from(&self.program);
        Ok(browse)
    }

    fn order(&self) -> Order {
        self.sort.unwrap_or(Order::Newest)
    }

    /// Returns its parameters but for order and offset, e.g. to select the whole list.
    fn selection(&self) -> String {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        let single = [
            ("wing", &self.wing),
            ("room", &self.room),
            ("until", &self.until),
        ];
        for (name, value) in single {
            pairs.extend(value.as_deref().map(|value| (name, value)));
        }
        pairs.extend(self.kind.iter().map(|kind| ("type", kind.as_str())));
        pairs.extend(self.tag.iter().map(|tag| ("tag", tag.as_str())));
        let programs = self.program.iter();
        pairs.extend(programs.map(|program| ("program", program.as_str())));
        if self.forgotten {
            pairs.push(("forgotten", "true"));
        }
        let pairs = pairs.into_iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        pairs.join("&")
    }

    /// Returns the path of this list with an order and an offset.
    fn path(&self, order: Order, offset: usize) -> String {
        let mut path = format!("/browse/room?{}", self.selection());
        if order != Order::Newest {
            path += &format!("&sort={}", order.name());
        }
        if offset > 0 {
            path += &format!("&offset={offset}");
        }
        path
    }
}

/// Returns the ids of at most `limit` memories that the parameters of a list select.
///
/// # Errors
/// `invalid_argument` if they cannot be read.
pub(super) fn ids_of_all(
    context: &RequestContext<'_>,
    parameters: &str,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let wrong = |error: &dyn std::fmt::Display| {
        loci_core::Error::invalid("all_of", format!("cannot be read: {error}"))
    };
    let query: RoomQuery = serde_html_form::from_str(parameters).map_err(|error| wrong(&error))?;
    let listings = context.call().listings();
    listings.ids_of_browsed(&query.browse()?, limit)
}

/// The places, and the memories of one place or of all.
#[derive(Serialize, ToSchema)]
pub(crate) struct RoomView {
    pub(crate) wing: Option<String>,
    pub(crate) room: Option<String>,
    pub(crate) forgotten: bool,
    pub(crate) offset: usize,
    /// The order.
    pub(crate) sort: Order,
    /// The memories, in that order.
    pub(crate) memories: Vec<Row>,
    /// The messages that `delete_memory` deleted and that are not removed yet, last deleted first, at most 200: on the
    /// first page of what was forgotten in all wings.
    pub(crate) deleted: Vec<DeletedCard>,
    pub(crate) total: u64,
    /// All wings and their rooms.
    pub(crate) wings: Vec<Wing>,
    /// The types of the memories in this place, with their numbers.
    pub(crate) types: BTreeMap<String, u64>,
    #[serde(skip)]
    pub(crate) query: RoomQuery,
    /// True if the list is of everything, and so a small screen shows the places first.
    #[serde(skip)]
    pub(crate) is_start: bool,
}

/// A memory in a list, with its use.
#[derive(Serialize, ToSchema)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) card: Card,
    /// The number of times that it was returned.
    pub(crate) uses: u64,
    /// The time at which it was last returned.
    pub(crate) used_at: Option<UtcTimestamp>,
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

view!(RoomView, Tab::Browse, "room.html", ["wing"]);

/// Lists all places, and all memories.
#[utoipa::path(get, path = "/browse", operation_id = "browse", params(RoomQuery), responses((status = OK, body = RoomView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: RoomQuery) -> Result<RoomView> {
    let is_start = query.selection().is_empty() && query.offset == 0;
    Ok(RoomView {
        is_start,
        ..room(context, query)?
    })
}

/// Returns a page of a list in an order.
fn page(context: &RequestContext<'_>, browse: Browse, order: Order) -> Result<BrowsePage> {
    let listings = context.call().listings();
    match order.of_store() {
        StoreOrder::Filing(order) => listings.browse(Browse { order, ..browse }),
        StoreOrder::Sorted(sorting) => listings.browse_sorted(&browse, sorting),
    }
}

/// Lists the memories of a place.
#[utoipa::path(get, path = "/browse/room", operation_id = "browse_room", params(RoomQuery), responses((status = OK, body = RoomView, description = "The content of the view")))]
pub(crate) fn room(context: &RequestContext<'_>, query: RoomQuery) -> Result<RoomView> {
    let BrowsePage { memories, total } = page(context, query.browse()?, query.order())?;
    let is_first_of_all = query.wing.is_none() && query.room.is_none() && query.offset == 0;
    let deleted = if query.forgotten && is_first_of_all {
        context.call().memories().deleted(DELETED)?
    } else {
        Vec::new()
    };
    let counts = context.call().listings().count_by_location()?;
    let here = collections_of(query.wing.as_deref());
    let types = types(&counts, &here, query.room.as_deref());
    Ok(RoomView {
        deleted: deleted
            .iter()
            .map(|found| DeletedCard {
                deleted_at: UtcTimestamp(found.deleted_at),
                conversation: found.memory.conversation().map(str::to_owned),
                card: context.card(&found.memory),
            })
            .collect(),
        memories: memories
            .iter()
            .map(|memory| Row {
                card: context.card(memory),
                uses: memory.access.count,
                used_at: memory.access.last.map(UtcTimestamp),
            })
            .collect(),
        total,
        types,
        wings: wings_of(counts),
        wing: query
            .wing
            .as_deref()
            .map(|wing| project_of(wing).to_owned()),
        room: query.room.clone(),
        forgotten: query.forgotten,
        offset: query.offset,
        sort: query.order(),
        query,
        is_start: false,
    })
}

/// Returns the types of the memories of a place.
fn types(
    counts: &[LocationCount],
    here: &CollectionFilter,
    room: Option<&str>,
) -> BTreeMap<String, u64> {
    let mut types = BTreeMap::new();
    for count in counts {
        let is_room = room.is_none_or(|room| count.section == room);
        if is_room && here.admits(count.collection.as_deref()) {
            *types.entry(count.kind.clone()).or_default() += count.memories;
        }
    }
    types
}

/// A choice of a list, with the path to it.
pub(crate) struct Choice {
    /// The name, or the message that names it.
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) is_chosen: bool,
    pub(crate) memories: u64,
}

impl RoomView {
    /// Returns the path of this page.
    pub(crate) fn path(&self) -> String {
        self.query.path(self.sort, self.offset)
    }

    /// Returns the parameters that select all of this list.
    pub(crate) fn selection(&self) -> String {
        self.query.selection()
    }

    /// Returns the path of the page before this one.
    pub(crate) fn previous(&self) -> Option<String> {
        let offset = self.offset.saturating_sub(LIMIT);
        (self.offset > 0).then(|| self.query.path(self.sort, offset))
    }

    /// Returns the path of the next page.
    pub(crate) fn next(&self) -> Option<String> {
        let next = self.offset + self.memories.len();
        ((next as u64) < self.total).then(|| self.query.path(self.sort, next))
    }

    /// Returns the first number that is shown, from 1.
    pub(crate) fn first(&self) -> usize {
        self.offset + 1
    }

    /// Returns the last number that is shown.
    pub(crate) fn last(&self) -> usize {
        self.offset + self.memories.len()
    }

    /// Returns the orders, with the messages that name them.
    pub(crate) fn orders(&self) -> Vec<Choice> {
        let choice = |order: Order| Choice {
            name: format!("b-order-{}", order.name()),
            path: self.query.path(order, 0),
            is_chosen: order == self.sort,
            memories: 0,
        };
        Order::ALL.map(choice).into()
    }

    /// Returns the message that names the order.
    pub(crate) fn order_label(&self) -> String {
        format!("b-order-{}", self.sort.name())
    }

    /// Returns the path to the order by a column: the other direction if it is in that order already.
    pub(crate) fn by(&self, column: &str) -> String {
        let order = match (column, self.sort) {
            ("created", Order::Newest) => Order::Oldest,
            ("used", Order::Used) => Order::Unused,
            ("text", Order::Largest) => Order::Smallest,
            ("used", _) => Order::Used,
            ("text", _) => Order::Largest,
            ("type", _) => Order::Type,
            ("host", _) => Order::Host,
            _ => Order::Newest,
        };
        self.query.path(order, 0)
    }

    /// Returns how a column is sorted, for programs that read the page aloud.
    pub(crate) fn sorted(&self, column: &str) -> &'static str {
        match (column, self.sort) {
            ("created", Order::Newest) | ("used", Order::Used) | ("text", Order::Largest) => {
                "descending"
            }
            ("created", Order::Oldest)
            | ("used", Order::Unused)
            | ("text", Order::Smallest)
            | ("type", Order::Type)
            | ("host", Order::Host) => "ascending",
            _ => "none",
        }
    }

    /// Returns the types that the list can be filtered by, most memories first.
    pub(crate) fn type_choices(&self) -> Vec<Choice> {
        let choice = |(name, memories): (&String, &u64)| {
            let mut query = self.query.clone();
            let is_chosen = query.kind.contains(name);
            if is_chosen {
                query.kind.retain(|kind| kind != name);
            } else {
                query.kind.push(name.clone());
            }
            Choice {
                path: query.path(self.sort, 0),
                name: name.clone(),
                is_chosen,
                memories: *memories,
            }
        };
        let mut choices: Vec<Choice> = self.types.iter().map(choice).collect();
        choices.sort_by_key(|choice| std::cmp::Reverse(choice.memories));
        choices
    }

    /// Returns true if this wing is the one that is shown.
    pub(crate) fn is_at(&self, wing: &Wing) -> bool {
        self.wing.as_deref() == Some(wing.value())
    }

    /// Returns true if this room of the shown wing is shown.
    pub(crate) fn is_in(&self, room: &Room) -> bool {
        self.room.as_deref() == Some(room.name.as_str())
    }

    /// Returns true if the list is of everything.
    pub(crate) fn is_of_all(&self) -> bool {
        self.wing.is_none() && self.room.is_none() && !self.forgotten
    }

    /// Returns the number of all memories.
    pub(crate) fn everything(&self) -> u64 {
        self.wings.iter().map(|wing| wing.memories).sum()
    }

    /// Returns the names of the wings that memories can be moved to.
    pub(crate) fn wing_names(&self) -> Vec<&str> {
        let named = self.wings.iter().filter_map(|wing| wing.name.as_deref());
        named.collect()
    }
}
