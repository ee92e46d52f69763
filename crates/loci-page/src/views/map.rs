//! The view *Overview*: where memories lie, what they are, and which are never used.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use loci_core::{Page, Result, SortKey, Sorting, Superseded, TunnelEnd, limits};
use loci_engine::Browse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::palace::{Wing, wing_path, wings};
use crate::card::{CHARACTERS_READ, Card, room_path};
use crate::encoding::encoded;
use crate::projects::project_of;
use crate::request::RequestContext;
use crate::treemap::{Area, areas};
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The size of the treemap, in units of the picture.
const WHOLE: Area = Area {
    x: 0.0,
    y: 0.0,
    width: 900.0,
    height: 420.0,
};
/// The strip of a place that has its name.
const STRIP: f64 = 20.0;
/// The places of the treemap; the others are together.
const PLACES_MAX: usize = 30;
/// The rooms of a place; the others are together.
const ROOMS_MAX: usize = 12;
/// The width of a character, in units of the picture.
const CHARACTER: f64 = 7.5;
/// The tags with a bar.
const TAGS: usize = 20;
/// The length of the longest bar, in percent.
const LENGTH: u64 = 100;
/// The days in which a memory counts as used.
const USED_DAYS: i64 = 30;
/// The days after which a memory that was not used is listed.
const UNUSED_DAYS: i64 = 90;
/// The memories in that list.
const UNUSED: usize = 20;
const DAY_SECONDS: i64 = 86_400;

#[derive(Deserialize)]
pub(crate) struct MapQuery {}

/// A picture of what is stored.
#[derive(Serialize, ToSchema)]
#[schema(as = Overview)]
pub(crate) struct Map {
    /// The places, most memories first.
    pub(crate) places: Vec<Place>,
    /// The types, most memories first.
    pub(crate) types: Vec<Bar>,
    /// The 20 most used tags.
    pub(crate) tags: Vec<Bar>,
    /// The connections between rooms.
    pub(crate) tunnels: Vec<MapTunnel>,
    /// The first of the memories that were stored more than 90 days ago and not returned since.
    pub(crate) unused: Vec<Card>,
    /// The path to all of these.
    #[serde(skip)]
    pub(crate) unused_path: String,
}

/// A place, and the rooms in it.
#[derive(Serialize, ToSchema)]
#[schema(as = OverviewPlace)]
pub(crate) struct Place {
    /// Its name; `None` is no project, or for a room the rooms without a place of their own.
    pub(crate) name: Option<String>,
    pub(crate) memories: u64,
    /// The memories that were returned within 30 days.
    pub(crate) used: u64,
    /// The rooms; empty for a room.
    #[schema(no_recursion)]
    pub(crate) rooms: Vec<Place>,
    #[serde(skip)]
    pub(crate) path: String,
    /// True if it stands for several places together.
    #[serde(skip)]
    pub(crate) is_rest: bool,
    #[serde(skip)]
    area: Area,
}

/// A value with its number of memories.
#[derive(Serialize, ToSchema)]
#[schema(as = OverviewBar)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) memories: u64,
    #[serde(skip)]
    pub(crate) path: String,
    #[serde(skip)]
    pub(crate) length: u64,
}

/// A connection between two rooms.
#[derive(Serialize, ToSchema)]
pub(crate) struct MapTunnel {
    pub(crate) label: String,
    /// The rooms at its ends, as people write them.
    pub(crate) between: [String; 2],
    #[serde(skip)]
    pub(crate) paths: [String; 2],
}

view!(Map, Tab::Browse, "overview.html");

/// Shows where memories lie, what they are, and which are never used.
#[utoipa::path(get, path = "/browse/overview", operation_id = "browse_overview", responses((status = OK, body = Map, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, _: MapQuery) -> Result<Map> {
    let now = context.engine().now();
    let listings = context.call().listings();
    let since = now.plus_seconds(-USED_DAYS * DAY_SECONDS);
    let mut used: HashMap<(Option<String>, String), u64> = HashMap::new();
    for count in listings.count_used(since)? {
        let project = count.collection.as_deref().map(project_of);
        let place = (project.map(str::to_owned), count.section);
        *used.entry(place).or_default() += count.memories;
    }
    let counts = listings.facet_counts(&Browse::default(), Superseded::Show)?;
    let before = now.plus_seconds(-UNUSED_DAYS * DAY_SECONDS);
    let mut idle = Browse {
        limit: UNUSED,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    idle.facets.created_until = Some(before);
    let longest_idle = Sorting {
        key: SortKey::LastUse,
        is_descending: false,
    };
    let idle = listings.browse_sorted(&idle, longest_idle)?.memories;
    let is_unused = |last: Option<loci_core::Timestamp>| last.is_none_or(|last| last < before);
    let unused = idle.iter().filter(|memory| is_unused(memory.access.last));
    let all = Page {
        offset: 0,
        limit: limits::TUNNELS_MAX,
    };
    let (tunnels, _) = context.call().graph().tunnels(None, all)?;
    let tunnels = tunnels.into_iter().map(|tunnel| {
        let ends = [&tunnel.source, &tunnel.target];
        MapTunnel {
            between: ends.map(end_name),
            paths: ends.map(|end| room_path(end.collection.as_deref(), &end.section)),
            label: context.masked(&tunnel.label).into_owned(),
        }
    });
    let is_plain = |tag: &String| context.masked(tag) == *tag;
    let tags = counts.tags.into_iter().filter(|(tag, _)| is_plain(tag));
    Ok(Map {
        places: laid(places(wings(context)?, &used)),
        types: bars(counts.kinds, "type", usize::MAX),
        tags: bars(tags.collect(), "tag", TAGS),
        tunnels: tunnels.collect(),
        unused: unused.map(|memory| context.card(memory)).collect(),
        unused_path: format!(
            "/browse/room?sort=idle&until={}",
            UtcTimestamp(before).day()
        ),
    })
}

/// Returns the end of a tunnel as people write it.
fn end_name(end: &TunnelEnd) -> String {
    match &end.collection {
        Some(wing) => format!("{} / {}", project_of(wing), end.section),
        None => end.section.clone(),
    }
}

/// Returns values with bars, most memories first.
fn bars(counts: BTreeMap<String, u64>, parameter: &str, limit: usize) -> Vec<Bar> {
    let mut bars: Vec<Bar> = counts
        .into_iter()
        .map(|(name, memories)| Bar {
            path: format!("/browse/room?{parameter}={}", encoded(&name)),
            name,
            memories,
            length: 0,
        })
        .collect();
    bars.sort_by_key(|bar| Reverse(bar.memories));
    bars.truncate(limit);
    let longest = bars.first().map_or(1, |bar| bar.memories.max(1));
    for bar in &mut bars {
        bar.length = (bar.memories * LENGTH).div_ceil(longest);
    }
    bars
}

/// Returns the places with their rooms, most memories first.
fn places(wings: Vec<Wing>, used: &HashMap<(Option<String>, String), u64>) -> Vec<Place> {
    let place = |wing: Wing| {
        let used_in = |room: &str| used.get(&(wing.name.clone(), room.to_owned())).copied();
        let mut rooms: Vec<Place> = Vec::new();
        let mut plain = Place::of(None, wing_path(wing.name.as_deref()));
        for room in &wing.rooms {
            let used = used_in(&room.name).unwrap_or(0);
            if room.is_place() {
                rooms.push(Place {
                    memories: room.memories,
                    used,
                    ..Place::of(Some(room.name.clone()), room.path.clone())
                });
            } else {
                plain.memories += room.memories;
                plain.used += used;
            }
        }
        if plain.memories > 0 {
            rooms.push(plain);
        }
        let rooms = cut(rooms, ROOMS_MAX, &wing.path);
        Place {
            memories: wing.memories,
            used: rooms.iter().map(|room| room.used).sum(),
            rooms,
            ..Place::of(wing.name, wing.path)
        }
    };
    cut(
        wings.into_iter().map(place).collect(),
        PLACES_MAX,
        "/browse",
    )
}

/// Returns the places with most memories, and the others as one.
fn cut(mut places: Vec<Place>, limit: usize, path: &str) -> Vec<Place> {
    places.sort_by_key(|place| Reverse(place.memories));
    if places.len() <= limit {
        return places;
    }
    let others = places.split_off(limit - 1);
    let rest = Place {
        memories: others.iter().map(|place| place.memories).sum(),
        used: others.iter().map(|place| place.used).sum(),
        is_rest: true,
        ..Place::of(None, path.to_owned())
    };
    places.push(rest);
    places.sort_by_key(|place| Reverse(place.memories));
    places
}

/// Gives each place and each room its area.
fn laid(mut places: Vec<Place>) -> Vec<Place> {
    let numbers: Vec<u64> = places.iter().map(|place| place.memories).collect();
    for (place, area) in places.iter_mut().zip(areas(&numbers, WHOLE)) {
        place.area = area;
        let inner = area.within(
            2.0,
            if area.height > 2.0 * STRIP {
                STRIP
            } else {
                2.0
            },
        );
        let numbers: Vec<u64> = place.rooms.iter().map(|room| room.memories).collect();
        for (room, area) in place.rooms.iter_mut().zip(areas(&numbers, inner)) {
            room.area = area;
        }
    }
    places
}

impl Place {
    fn of(name: Option<String>, path: String) -> Self {
        Place {
            name,
            memories: 0,
            used: 0,
            rooms: Vec::new(),
            path,
            is_rest: false,
            area: Area {
                x: 0.0,
                y: 0.0,
                width: 0.0,
                height: 0.0,
            },
        }
    }

    pub(crate) fn x(&self) -> String {
        unit(self.area.x)
    }

    pub(crate) fn y(&self) -> String {
        unit(self.area.y)
    }

    pub(crate) fn width(&self) -> String {
        unit(self.area.width)
    }

    pub(crate) fn height(&self) -> String {
        unit(self.area.height)
    }

    pub(crate) fn label_x(&self) -> String {
        unit(self.area.x + 5.0)
    }

    pub(crate) fn label_y(&self) -> String {
        unit(self.area.y + 14.0)
    }

    /// Returns as much of a name as there is room for; nothing if that says nothing.
    pub(crate) fn clipped(&self, name: &str) -> String {
        let room = ((self.area.width - 8.0) / CHARACTER).floor().max(0.0) as usize;
        if room < 3 || self.area.height < STRIP - 2.0 {
            return String::new();
        }
        let length = name.chars().count();
        if length <= room {
            return name.to_owned();
        }
        let start: String = name.chars().take(room - 1).collect();
        format!("{start}…")
    }

    /// Returns the step of the shade, 0 to 4: the share that was used.
    pub(crate) fn shade(&self) -> u64 {
        (self.used * 4).div_ceil(self.memories.max(1)).min(4)
    }

    /// Returns the share that was used, as a percentage.
    pub(crate) fn percent_used(&self) -> u64 {
        self.used * 100 / self.memories.max(1)
    }
}

/// Returns a length as a picture has it.
fn unit(length: f64) -> String {
    format!("{length:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_places_are_cut_to_the_largest_and_keep_their_sum() {
        let many = (1..=50).map(|memories| Place {
            memories,
            ..Place::of(Some(format!("place {memories}")), String::new())
        });
        let cut = laid(cut(many.collect(), PLACES_MAX, "/browse"));
        assert_eq!(cut.len(), PLACES_MAX);
        let sum: u64 = cut.iter().map(|place| place.memories).sum();
        assert_eq!(sum, 50 * 51 / 2);
        let sizes: Vec<f64> = cut
            .iter()
            .map(|place| place.area.width * place.area.height)
            .collect();
        assert!(sizes.windows(2).all(|pair| pair[0] >= pair[1] - 0.001));
    }

    #[test]
    fn a_label_stays_in_its_area() {
        let mut place = Place::of(None, String::new());
        place.area.width = 60.0;
        place.area.height = 30.0;
        assert_eq!(place.clipped("shop"), "shop");
        assert_eq!(place.clipped("warehouse"), "wareh…");
        place.area.width = 20.0;
        assert_eq!(place.clipped("shop"), "");
    }
}
