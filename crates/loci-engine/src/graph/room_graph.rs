//! The room graph of this moment: a node for each name of a section (except `general`), and an edge
//! if one section exists in two collections, or if a tunnel connects two. A section that only names
//! a type is connected only by tunnels. Computed from counts of the store, and never stored.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::limits::{HOPS_MAX, TRAVERSED_MAX};
use loci_core::{
    CollectionFilter, Error, FilingOrder, Filter, MEMORY_KINDS, Page, Result, Timestamp, Tunnel,
    TunnelEnd,
};

use crate::graph::Graph;
use crate::listings::names::{alike, nothing_there};

/// The section without a subject, which connects nothing.
pub const GENERAL_SECTION: &str = "general";

/// Sections that name a type and not a subject: tool sets file under them if no room is named. They
/// connect nothing by themselves.
const TYPES: [&str; 17] = [
    "ai",
    "assistant",
    "bootstrap",
    "context",
    "convention",
    "conversations",
    "diary",
    "drawer",
    "feedback",
    "gotcha",
    "human",
    "message",
    "note",
    "rule",
    "system",
    "tool",
    "user",
];

/// Reports whether the name of a section is that of a type and not of a subject.
pub(crate) fn is_type(section: &str) -> bool {
    MEMORY_KINDS.contains(&section) || TYPES.contains(&section)
}

/// The most nodes that the statistics name.
const TOP_MAX: usize = 10;
/// The most collections of a node that are asked one by one for their last inserted memory.
const ASKED_ONE_BY_ONE_MAX: usize = 16;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The name of the section.
    pub section: String,
    /// The collections that it exists in, with its number of memories in each; `None` is global.
    pub collections: BTreeMap<Option<String>, u64>,
    /// The kinds of its memories, in order.
    pub kinds: Vec<String>,
    /// The number of its memories.
    pub memories: u64,
}

/// A node of a traversal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub room: Room,
    /// The distance from the start, in hops.
    pub hop: usize,
    /// The connections from nodes of the hop before, in order: shared collections, or tunnels by
    /// their ids.
    pub connected_via: Vec<RoomLink>,
}

/// A connection between two neighbours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomLink {
    /// Both exist in this collection; `None` is global.
    Collection(Option<String>),
    /// The tunnel with this id connects them.
    Tunnel(String),
}

/// A node that bridges collections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// The node.
    pub room: Room,
    /// The time at which its last inserted memory was first stored.
    pub newest: Option<Timestamp>,
}

/// The statistics of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MapCounts {
    /// Nodes.
    pub rooms: u64,
    /// Nodes with an edge: they exist in several collections, or are the end of a tunnel.
    pub bridging_rooms: u64,
    /// Edges: for each node the pairs of its collections, and the tunnels.
    pub edges: u64,
    /// The number of nodes of each collection; `None` is global.
    pub rooms_per_collection: BTreeMap<Option<String>, u64>,
    /// The bridging nodes in the most collections, at most ten; ties by memories, then by name.
    pub top: Vec<Room>,
}

/// The graph that a caller sees.
struct Map {
    /// The nodes, by name.
    rooms: BTreeMap<String, Room>,
    /// The tunnels between locations of nodes, oldest first.
    tunnels: Vec<Tunnel>,
}

impl Graph<'_> {
    /// Traverses the graph from a section, breadth first: by hop, then by memories (most first),
    /// then by name; returns at most [`TRAVERSED_MAX`] nodes, and the total number. Two nodes are
    /// neighbours if they exist in one collection or a tunnel connects them; for a type, only if a
    /// tunnel does.
    ///
    /// # Errors
    /// `not_found` if the caller can read nothing in a section of that name, with up to five
    /// similar names, and for [`GENERAL_SECTION`]; `unavailable` if the store cannot be read.
    pub fn traverse(&self, section: &str, hops_max: usize) -> Result<(Vec<Step>, usize)> {
        let map = self.map()?;
        let Some((start, _)) = map.rooms.get_key_value(section) else {
            if section == GENERAL_SECTION {
                let message = format!(
                    "`{GENERAL_SECTION}` ties nothing and is no part of the graph; start elsewhere"
                );
                return Err(Error::not_found(message));
            }
            let similar = alike(section, map.rooms.keys().map(String::as_str));
            return Err(nothing_there(
                "there is nothing to read under that name",
                &similar,
            ));
        };
        Ok(map.walk(start, hops_max.min(HOPS_MAX)))
    }

    /// Returns the nodes that bridge two different collections: the ones that exist in both, or
    /// from one to the other of which a tunnel leads; types only by a tunnel. With one collection
    /// given, the ones that bridge it and any other; with none, all. Most memories first, then by
    /// name; at most [`TRAVERSED_MAX`], and the total number. `Some(None)` is the global
    /// collection.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn bridges(&self, between: [Option<Option<&str>>; 2]) -> Result<(Vec<Bridge>, usize)> {
        let map = self.map()?;
        let between = between.map(|collection| match collection {
            None => CollectionFilter::Any,
            Some(None) => CollectionFilter::Global,
            Some(Some(name)) => CollectionFilter::Only(name.to_owned()),
        });
        let tied = map.tied_between(&between);
        let is_bridge =
            |room: &&Room| tied.contains(room.section.as_str()) || room.ties_both(&between);
        let mut rooms: Vec<&Room> = map.rooms.values().filter(is_bridge).collect();
        rooms.sort_by_key(|room| Reverse(room.memories));
        let bridge = |room: &Room| {
            Ok(Bridge {
                room: room.clone(),
                newest: self.newest(room)?,
            })
        };
        let total = rooms.len();
        Ok((
            rooms
                .into_iter()
                .take(TRAVERSED_MAX)
                .map(bridge)
                .collect::<Result<_>>()?,
            total,
        ))
    }

    /// Returns the time at which the last inserted memory of the node was first stored.
    fn newest(&self, room: &Room) -> Result<Option<Timestamp>> {
        let filter = Filter {
            sections: vec![room.section.clone()],
            ..self.access.places_filter()
        };
        let newest = |collections: CollectionFilter| {
            let filter = Filter {
                collections,
                ..filter.clone()
            };
            let last = self
                .store
                .list_by_insertion(
                    &filter,
                    FilingOrder::LastFirst,
                    Page {
                        offset: 0,
                        limit: 1,
                    },
                )?
                .pop();
            Ok(last.map(|memory| memory.created_at))
        };
        // A store finds the last insertion into a location directly. For a section of any
        // collection it scans back through all later insertions, which is faster for a section that
        // exists almost everywhere.
        if room.collections.len() > ASKED_ONE_BY_ONE_MAX {
            return newest(CollectionFilter::Any);
        }
        let of = |collection: &Option<String>| {
            newest(
                collection
                    .clone()
                    .map_or(CollectionFilter::Global, CollectionFilter::Only),
            )
        };
        room.collections
            .keys()
            .map(of)
            .try_fold(None, |last, next| Ok(last.max(next?)))
    }

    /// Returns the statistics of the graph.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn map_counts(&self) -> Result<MapCounts> {
        let map = self.map()?;
        let tied: BTreeSet<&str> = map.tunnels.iter().flat_map(sections).collect();
        let is_bridging = |room: &&Room| room.ties() > 0 || tied.contains(room.section.as_str());
        let mut bridging: Vec<&Room> = map.rooms.values().filter(is_bridging).collect();
        bridging.sort_by_key(|room| Reverse((room.collections.len(), room.memories)));
        let mut rooms_per_collection = BTreeMap::new();
        let mut edges = map.tunnels.len() as u64;
        for room in map.rooms.values() {
            edges += room.ties();
            for collection in room.collections.keys() {
                *rooms_per_collection.entry(collection.clone()).or_default() += 1;
            }
        }
        Ok(MapCounts {
            rooms: map.rooms.len() as u64,
            bridging_rooms: bridging.len() as u64,
            edges,
            rooms_per_collection,
            top: bridging.into_iter().take(TOP_MAX).cloned().collect(),
        })
    }

    fn map(&self) -> Result<Map> {
        let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
        for tally in self
            .listings
            .places()?
            .into_iter()
            .filter(|tally| tally.section != GENERAL_SECTION)
        {
            let room = rooms
                .entry(tally.section)
                .or_insert_with_key(|section| Room {
                    section: section.clone(),
                    collections: BTreeMap::new(),
                    kinds: Vec::new(),
                    memories: 0,
                });
            *room.collections.entry(tally.collection).or_default() += tally.memories;
            room.kinds.push(tally.kind);
            room.memories += tally.memories;
        }
        for room in rooms.values_mut() {
            room.kinds.sort_unstable();
            room.kinds.dedup();
        }
        let mut tunnels = self.seen_tunnels()?;
        let is_there = |end: &TunnelEnd| {
            rooms
                .get(&end.section)
                .is_some_and(|room| room.collections.contains_key(&end.collection))
        };
        tunnels.retain(|tunnel| is_there(&tunnel.source) && is_there(&tunnel.target));
        Ok(Map { rooms, tunnels })
    }
}

fn sections(tunnel: &Tunnel) -> [&str; 2] {
    [&tunnel.source.section, &tunnel.target.section]
}

impl Room {
    /// Returns the number of pairs of its collections, which it connects unless it is a type.
    fn ties(&self) -> u64 {
        let collections = self.collections.len() as u64;
        if is_type(&self.section) {
            0
        } else {
            collections * collections.saturating_sub(1) / 2
        }
    }

    /// Reports whether it connects two different requested collections.
    fn ties_both(&self, between: &[CollectionFilter; 2]) -> bool {
        let stands_in = |asked: &CollectionFilter| {
            self.collections
                .keys()
                .any(|name| asked.admits(name.as_deref()))
        };
        let are_one = between[0] == between[1] && between[0] != CollectionFilter::Any;
        self.ties() > 0 && !are_one && between.iter().all(stands_in)
    }
}

impl Map {
    /// Returns the nodes that tunnels between these collections connect.
    fn tied_between(&self, [one, other]: &[CollectionFilter; 2]) -> BTreeSet<&str> {
        let leads = |tunnel: &&Tunnel| {
            let [from, to] = [&tunnel.source, &tunnel.target].map(|end| end.collection.as_deref());
            from != to
                && (one.admits(from) && other.admits(to) || one.admits(to) && other.admits(from))
        };
        self.tunnels
            .iter()
            .filter(leads)
            .flat_map(sections)
            .collect()
    }

    /// Returns the nodes within that many hops of the start, in the order of
    /// [`Graph::traverse`](crate::Graph::traverse).
    fn walk(&self, start: &str, hops_max: usize) -> (Vec<Step>, usize) {
        let mut members: BTreeMap<&Option<String>, Vec<&str>> = BTreeMap::new();
        for room in self.rooms.values().filter(|room| !is_type(&room.section)) {
            for collection in room.collections.keys() {
                members.entry(collection).or_default().push(&room.section);
            }
        }
        let mut tied: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for tunnel in &self.tunnels {
            let [source, target] = sections(tunnel);
            tied.entry(source).or_default().push((target, &tunnel.id));
            tied.entry(target).or_default().push((source, &tunnel.id));
        }
        let mut steps = Vec::new();
        let mut reached = BTreeSet::new();
        let mut nearest = BTreeMap::from([(start, BTreeSet::new())]);
        for hop in 0..=hops_max {
            reached.extend(nearest.keys().copied());
            let mut next: BTreeMap<&str, BTreeSet<RoomLink>> = BTreeMap::new();
            for room in nearest
                .keys()
                .filter_map(|section| self.rooms.get(*section))
            {
                for collection in room.collections.keys().filter(|_| !is_type(&room.section)) {
                    // The first node that reaches a collection leads to all nodes in it.
                    for section in members.remove(collection).unwrap_or_default() {
                        next.entry(section)
                            .or_default()
                            .insert(RoomLink::Collection(collection.clone()));
                    }
                }
                for (section, id) in tied.get(room.section.as_str()).into_iter().flatten() {
                    next.entry(section)
                        .or_default()
                        .insert(RoomLink::Tunnel((*id).to_owned()));
                }
            }
            next.retain(|section, _| !reached.contains(section));
            let ring = std::mem::replace(&mut nearest, next)
                .into_iter()
                .filter_map(|(section, via)| {
                    let room = self.rooms.get(section)?.clone();
                    Some(Step {
                        room,
                        hop,
                        connected_via: via.into_iter().collect(),
                    })
                });
            let mut ring: Vec<Step> = ring.collect();
            ring.sort_by_key(|step| Reverse(step.room.memories));
            steps.append(&mut ring);
        }
        let total = steps.len();
        steps.truncate(TRAVERSED_MAX);
        (steps, total)
    }
}
