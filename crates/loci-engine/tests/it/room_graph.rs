//! Tests of the room graph against a brute-force model.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Clock, Tunnel, TunnelEnd};
use loci_engine::{GENERAL_SECTION, MapCounts, Room, RoomLink, Step};
use loci_testkit::Random;

use super::*;

type Place = (Option<&'static str>, &'static str);
/// The wing of a request; `Some(None)` is global.
type Asked = Option<Option<&'static str>>;

fn end((collection, section): Place) -> TunnelEnd {
    TunnelEnd {
        collection: collection.map(str::to_owned),
        section: section.to_owned(),
        memory: None,
    }
}

fn file(
    engine: &Engine,
    caller: &Caller,
    place: Place,
    kind: &str,
    visibility: Visibility,
) -> MemoryId {
    let (collection, section) = (place.0.map(str::to_owned), Some(place.1.to_owned()));
    let request = Remember {
        collection,
        section,
        visibility,
        ..Remember::new("text", kind)
    };
    engine
        .system(caller)
        .memories()
        .remember(request)
        .unwrap()
        .memory
        .id
}

fn palace(places: &[Place]) -> Engine {
    let engine = engine();
    for place in places {
        file(
            &engine,
            &Caller::local(),
            *place,
            "fact",
            Visibility::Common,
        );
    }
    engine
}

fn wing(name: &str) -> RoomLink {
    RoomLink::Collection(Some(name.to_owned()))
}

fn walked(steps: &[Step]) -> Vec<(&str, usize, &[RoomLink])> {
    steps
        .iter()
        .map(|step| {
            (
                step.room.section.as_str(),
                step.hop,
                step.connected_via.as_slice(),
            )
        })
        .collect()
}

#[test]
fn a_walk_goes_by_shared_wings_and_tunnels() {
    let engine = palace(&[
        (Some("web"), "auth"),
        (Some("api"), "auth"),
        (Some("api"), "billing"),
        (Some("api"), "billing"),
        (Some("api"), "general"),
        (Some("shop"), "billing"),
        (Some("shop"), "stock"),
        (Some("farm"), "hens"),
        (None, "island"),
    ]);
    let local = Caller::local();
    file(
        &engine,
        &local,
        (Some("web"), "auth"),
        "decision",
        Visibility::Common,
    );
    let tunnel = engine
        .system(&local)
        .graph()
        .create_tunnel(
            end((Some("web"), "auth")),
            end((Some("farm"), "hens")),
            None,
        )
        .unwrap()
        .id;
    let by_tunnel = [RoomLink::Tunnel(tunnel)];
    let (steps, _) = engine.system(&local).graph().traverse("auth", 2).unwrap();
    assert_eq!(
        walked(&steps),
        [
            ("auth", 0, &[][..]),
            ("billing", 1, &[wing("api")]),
            ("hens", 1, &by_tunnel),
            ("stock", 2, &[wing("shop")])
        ]
    );
    let auth = Room {
        section: "auth".to_owned(),
        collections: BTreeMap::from([(Some("api".to_owned()), 1), (Some("web".to_owned()), 2)]),
        kinds: vec!["decision".to_owned(), "fact".to_owned()],
        memories: 3,
    };
    assert_eq!(steps[0].room, auth);
    assert_eq!(
        walked(&engine.system(&local).graph().traverse("hens", 0).unwrap().0),
        [("hens", 0, &[][..])]
    );
    assert_eq!(
        walked(
            &engine
                .system(&local)
                .graph()
                .traverse("island", 10)
                .unwrap()
                .0
        ),
        [("island", 0, &[][..])]
    );
    for (start, says) in [
        ("Auth", "`auth`"),
        ("ghost", "list"),
        ("general", "no part of the graph"),
    ] {
        let error = engine
            .system(&local)
            .graph()
            .traverse(start, 2)
            .unwrap_err();
        assert!(
            error.code == ErrorCode::NotFound && error.message.contains(says),
            "{error}"
        );
    }
}

#[test]
fn bridges_of_two_wings_of_one_and_of_all() {
    let engine = palace(&[
        (Some("web"), "auth"),
        (Some("api"), "auth"),
        (None, "auth"),
        (Some("web"), "css"),
        (Some("web"), "css"),
        (Some("api"), "rust"),
        (Some("api"), "plan"),
        (Some("api"), "general"),
        (Some("web"), "general"),
    ]);
    let local = Caller::local();
    let tie = |one, other| {
        engine
            .system(&local)
            .graph()
            .create_tunnel(end(one), end(other), None)
            .unwrap()
    };
    tie((Some("api"), "rust"), (Some("web"), "css"));
    // Neither leads from one wing to another.
    tie((Some("api"), "rust"), (Some("api"), "plan"));
    tie((Some("api"), "general"), (Some("web"), "css"));
    let (api, web, global) = (Some(Some("api")), Some(Some("web")), Some(None));
    let rows: [([Asked; 2], &[&str]); 9] = [
        ([None, None], &["auth", "css", "rust"]),
        ([api, web], &["auth", "css", "rust"]),
        ([web, api], &["auth", "css", "rust"]),
        ([api, global], &["auth"]),
        ([None, web], &["auth", "css", "rust"]),
        ([global, None], &["auth"]),
        ([api, api], &[]),
        ([Some(Some("ghost")), None], &[]),
        ([Some(Some("ghost")), web], &[]),
    ];
    for (between, expected) in rows {
        let (found, total) = engine.system(&local).graph().bridges(between).unwrap();
        assert_eq!(found.len(), total);
        let names: Vec<&str> = found
            .iter()
            .map(|bridge| bridge.room.section.as_str())
            .collect();
        assert_eq!(names, expected, "{between:?}");
    }
}

#[test]
fn the_graph_in_figures() {
    assert_eq!(
        engine()
            .system(&Caller::local())
            .graph()
            .map_counts()
            .unwrap(),
        MapCounts::default()
    );
    let wings = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut places: Vec<Place> = wings
        .into_iter()
        .map(|wing| (Some(wing), "everywhere"))
        .collect();
    places.extend(
        wings
            .into_iter()
            .zip(1..)
            .flat_map(|(room, count)| [(Some("a"), room), (Some("b"), room)].repeat(count)),
    );
    places.extend([
        (Some("z"), "lonely"),
        (Some("z"), "general"),
        (None, "tied"),
    ]);
    let engine = palace(&places);
    let local = Caller::local();
    engine
        .system(&local)
        .graph()
        .create_tunnel(end((None, "tied")), end((Some("a"), "everywhere")), None)
        .unwrap();
    engine
        .system(&local)
        .graph()
        .create_tunnel(end((None, "tied")), end((Some("z"), "general")), None)
        .unwrap();
    let counts = engine.system(&local).graph().map_counts().unwrap();
    assert_eq!((counts.rooms, counts.bridging_rooms), (15, 14));
    assert_eq!(counts.edges, 12 * 11 / 2 + 12 + 1);
    let of = |wing: Option<&str>| {
        counts
            .rooms_per_collection
            .get(&wing.map(str::to_owned))
            .copied()
    };
    let wings = [Some("a"), Some("c"), Some("z"), None, Some("q")];
    assert_eq!(wings.map(of), [Some(13), Some(1), Some(1), Some(1), None]);
    let top: Vec<&str> = counts
        .top
        .iter()
        .map(|room| room.section.as_str())
        .collect();
    assert_eq!(
        top,
        ["everywhere", "l", "k", "j", "i", "h", "g", "f", "e", "d"]
    );
}

#[test]
fn a_walk_is_bounded_in_rooms_and_in_hops() {
    let rooms: Vec<String> = (0..60).map(|number| format!("room{number:02}")).collect();
    let file_all = |engine: &Engine, of: &dyn Fn(usize) -> Vec<String>| {
        for (number, room) in rooms.iter().enumerate() {
            for wing in of(number) {
                let (collection, section) = (Some(wing), Some(room.clone()));
                let request = Remember {
                    collection,
                    section,
                    ..fact("text", Visibility::Common)
                };
                engine
                    .system(&Caller::local())
                    .memories()
                    .remember(request)
                    .unwrap();
            }
        }
    };
    let crowd = engine();
    file_all(&crowd, &|_| vec!["one".to_owned()]);
    let (steps, total) = crowd
        .system(&Caller::local())
        .graph()
        .traverse("room59", 1)
        .unwrap();
    assert_eq!(total, rooms.len());
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step.room.section.as_str())
        .collect();
    assert_eq!(
        (names.len(), names[0], names[1], names[49]),
        (limits::TRAVERSED_MAX, "room59", "room00", "room48")
    );
    // Each shares a wing only with the next one.
    let chain = engine();
    file_all(&chain, &|number| {
        [number, number + 1].map(|wing| wing.to_string()).to_vec()
    });
    let (steps, _) = chain
        .system(&Caller::local())
        .graph()
        .traverse("room00", usize::MAX)
        .unwrap();
    let hops: Vec<usize> = steps.iter().map(|step| step.hop).collect();
    assert_eq!(hops, (0..=limits::HOPS_MAX).collect::<Vec<_>>());
    let (bridges, total) = chain
        .system(&Caller::local())
        .graph()
        .bridges([None, None])
        .unwrap();
    assert_eq!((bridges.len(), total), (limits::TRAVERSED_MAX, rooms.len()));
}

#[test]
fn the_newest_of_a_room_is_found_in_few_wings_and_in_many() {
    for wings in [2, 16, 17] {
        let Bench { engine, clock, .. } = bench();
        let local = Caller::local();
        let file = |wing: Option<usize>, room: &str| {
            clock.advance(1);
            let (collection, section) = (wing.map(|wing| wing.to_string()), Some(room.to_owned()));
            let request = Remember {
                collection,
                section,
                ..fact("text", Visibility::Common)
            };
            engine.system(&local).memories().remember(request).unwrap();
            clock.now()
        };
        file(None, "plan");
        for wing in 1..wings {
            file(Some(wing), "plan");
        }
        for wing in [Some(1), None] {
            let newest = file(wing, "plan");
            file(Some(1), "other");
            let (bridges, _) = engine.system(&local).graph().bridges([None, None]).unwrap();
            let found: Vec<_> = bridges
                .iter()
                .map(|bridge| (bridge.room.collections.len(), bridge.newest))
                .collect();
            assert_eq!(found, [(wings, Some(newest))]);
        }
    }
}

/// A memory of the model.
#[derive(Debug, Clone)]
struct Filed {
    id: MemoryId,
    place: Place,
    kind: &'static str,
    owner: &'static str,
    is_common: bool,
    at: Timestamp,
}

/// The graph that a caller sees, as lists to search.
struct Model {
    filed: Vec<Filed>,
    tunnels: Vec<Tunnel>,
}

impl Model {
    fn of(name: &str, filed: &[Filed], tunnels: Vec<Tunnel>) -> Self {
        let reads = |filed: &&Filed| filed.is_common || filed.owner == name;
        let filed: Vec<Filed> = filed
            .iter()
            .filter(reads)
            .filter(|filed| filed.place.1 != "general")
            .cloned()
            .collect();
        let is_there =
            |wanted: &TunnelEnd| filed.iter().any(|filed| end(filed.place) == end_of(wanted));
        let tunnels = tunnels
            .into_iter()
            .filter(|tunnel| is_there(&tunnel.source) && is_there(&tunnel.target))
            .collect();
        Model { filed, tunnels }
    }

    fn sections(&self) -> Vec<&'static str> {
        self.filed
            .iter()
            .map(|filed| filed.place.1)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn all_wings(&self, section: &str) -> impl Iterator<Item = Option<&'static str>> {
        self.filed
            .iter()
            .filter(move |filed| filed.place.1 == section)
            .map(|filed| filed.place.0)
    }

    /// Returns the wings that a room connects: none for a type.
    fn wings(&self, section: &str) -> BTreeSet<Option<&'static str>> {
        self.all_wings(section)
            .filter(|_| section != "fact")
            .collect()
    }

    fn room(&self, section: &str) -> Room {
        let inside = || self.filed.iter().filter(|filed| filed.place.1 == section);
        let count = |wing| inside().filter(|filed| filed.place.0 == wing).count() as u64;
        let kinds: BTreeSet<String> = inside().map(|filed| filed.kind.to_owned()).collect();
        Room {
            section: section.to_owned(),
            collections: self
                .all_wings(section)
                .map(|wing| (wing.map(str::to_owned), count(wing)))
                .collect(),
            kinds: kinds.into_iter().collect(),
            memories: inside().count() as u64,
        }
    }

    /// Returns all connections between these two.
    fn between(&self, one: &str, other: &str) -> BTreeSet<RoomLink> {
        let wings = self
            .wings(one)
            .intersection(&self.wings(other))
            .copied()
            .collect::<Vec<_>>();
        let ties = |tunnel: &&Tunnel| {
            let ends = [
                tunnel.source.section.as_str(),
                tunnel.target.section.as_str(),
            ];
            ends == [one, other] || ends == [other, one]
        };
        let tunnels = self
            .tunnels
            .iter()
            .filter(ties)
            .map(|tunnel| RoomLink::Tunnel(tunnel.id.clone()));
        wings
            .into_iter()
            .map(|wing| RoomLink::Collection(wing.map(str::to_owned)))
            .chain(tunnels)
            .collect()
    }

    /// Walks by the least number of hops, found by relaxing all pairs until nothing changes.
    fn walk(&self, start: &str, hops_max: usize) -> Vec<Step> {
        let sections = self.sections();
        let mut hops = BTreeMap::from([(start, 0)]);
        for _ in &sections {
            for one in &sections {
                for other in &sections {
                    let Some(hop) = hops.get(one).copied() else {
                        continue;
                    };
                    if !self.between(one, other).is_empty()
                        && hops.get(other).is_none_or(|known| *known > hop + 1)
                    {
                        hops.insert(other, hop + 1);
                    }
                }
            }
        }
        let near = |section: &&&str| hops.get(**section).is_some_and(|hop| *hop <= hops_max);
        let step = |section: &&str| {
            let hop = hops[section];
            let before = sections
                .iter()
                .filter(|other| hop > 0 && hops.get(**other) == Some(&(hop - 1)));
            let via: BTreeSet<RoomLink> = before
                .flat_map(|other| self.between(other, section))
                .collect();
            Step {
                room: self.room(section),
                hop,
                connected_via: via.into_iter().collect(),
            }
        };
        let mut steps: Vec<Step> = sections.iter().filter(near).map(step).collect();
        steps.sort_by_key(|step| {
            (
                step.hop,
                Reverse(step.room.memories),
                step.room.section.clone(),
            )
        });
        steps
    }

    /// Returns the pairs of different wings that a room bridges.
    fn bridged(&self, section: &str) -> BTreeSet<[Option<String>; 2]> {
        let wings: Vec<_> = self
            .wings(section)
            .into_iter()
            .map(|wing| wing.map(str::to_owned))
            .collect();
        let mut pairs: Vec<[Option<String>; 2]> = wings
            .iter()
            .flat_map(|one| wings.iter().map(|other| [one.clone(), other.clone()]))
            .collect();
        for Tunnel { source, target, .. } in &self.tunnels {
            if [&source.section, &target.section]
                .into_iter()
                .any(|end| end == section)
            {
                pairs.push([source.collection.clone(), target.collection.clone()]);
                pairs.push([target.collection.clone(), source.collection.clone()]);
            }
        }
        pairs
            .into_iter()
            .filter(|[one, other]| one != other)
            .collect()
    }

    fn assert_bridges(&self, engine: &Engine, caller: &Caller, between: [Asked; 2]) {
        let fits = |pair: &[Option<String>; 2]| {
            (0..2).all(|at| between[at].is_none_or(|wing| wing == pair[at].as_deref()))
        };
        let mut expected: Vec<(Room, Option<Timestamp>)> = Vec::new();
        for section in self.sections() {
            if self.bridged(section).iter().any(fits) {
                let newest = self
                    .filed
                    .iter()
                    .filter(|filed| filed.place.1 == section)
                    .map(|filed| filed.at)
                    .max();
                expected.push((self.room(section), newest));
            }
        }
        expected.sort_by_key(|(room, _)| (Reverse(room.memories), room.section.clone()));
        let (found, _) = engine.system(caller).graph().bridges(between).unwrap();
        let found: Vec<_> = found
            .into_iter()
            .map(|bridge| (bridge.room, bridge.newest))
            .collect();
        assert_eq!(found, expected, "{between:?}");
    }

    fn assert_counts(&self, engine: &Engine, caller: &Caller) {
        let sections = self.sections();
        let mut edges = self.tunnels.len();
        let mut per_wing: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for section in &sections {
            let wings = self.wings(section);
            edges += wings
                .iter()
                .flat_map(|one| wings.iter().filter(move |other| one < *other))
                .count();
            for wing in self.all_wings(section).collect::<BTreeSet<_>>() {
                *per_wing.entry(wing.map(str::to_owned)).or_default() += 1;
            }
        }
        let is_tied = |section: &str| {
            self.tunnels
                .iter()
                .any(|tunnel| tunnel.source.section == section || tunnel.target.section == section)
        };
        let bridging = sections
            .iter()
            .filter(|section| self.wings(section).len() > 1 || is_tied(section));
        let mut top: Vec<Room> = bridging.map(|section| self.room(section)).collect();
        top.sort_by_key(|room| {
            (
                Reverse(room.collections.len()),
                Reverse(room.memories),
                room.section.clone(),
            )
        });
        let expected = MapCounts {
            rooms: sections.len() as u64,
            bridging_rooms: top.len() as u64,
            edges: edges as u64,
            rooms_per_collection: per_wing,
            top: top.into_iter().take(10).collect(),
        };
        assert_eq!(
            engine.system(caller).graph().map_counts().unwrap(),
            expected
        );
    }
}

fn end_of(end: &TunnelEnd) -> TunnelEnd {
    TunnelEnd {
        memory: None,
        ..end.clone()
    }
}

/// After any changes of memories and tunnels by any caller, each caller's graph equals that of the
/// model.
#[test]
fn random_graphs_are_as_in_a_model() {
    const WINGS: [Option<&str>; 5] = [None, Some("a"), Some("b"), Some("c"), Some("d")];
    const ROOMS: [&str; 7] = [
        "attic",
        "barn",
        "cellar",
        "den",
        "entry",
        "fact",
        GENERAL_SECTION,
    ];
    const NAMES: [&str; 2] = ["ann", "bob"];
    for seed in 0..150 {
        // Shown when a step fails.
        println!("seed {seed}");
        let (Bench { engine, clock, .. }, mut random) = (bench(), Random::new(seed));
        let mut filed: Vec<Filed> = Vec::new();
        for _ in 0..25 {
            clock.advance(1);
            let name = random.pick(&NAMES);
            let by = caller(name, &WRITER);
            match random.below(10) {
                0..6 => {
                    let place = (random.pick(&WINGS), random.pick(&ROOMS));
                    let (kind, is_common) =
                        (random.pick(&["fact", "event", "diary"]), random.chance(70));
                    let visibility = if is_common {
                        Visibility::Common
                    } else {
                        Visibility::Private
                    };
                    let id = file(&engine, &by, place, kind, visibility);
                    filed.push(Filed {
                        id,
                        place,
                        kind,
                        owner: name,
                        is_common,
                        at: clock.now(),
                    });
                }
                6..9 => {
                    // Refused if a location is empty, or if both are the same.
                    let places = [(); 2].map(|()| (random.pick(&WINGS), random.pick(&ROOMS)));
                    let of_filed = |random: &mut Random| {
                        filed
                            .get(random.below(filed.len()))
                            .map(|filed| filed.place)
                    };
                    let [one, other] = places.map(|place| of_filed(&mut random).unwrap_or(place));
                    engine
                        .system(&by)
                        .graph()
                        .create_tunnel(end(one), end(other), None)
                        .ok();
                }
                _ if !filed.is_empty() => {
                    let gone = filed.swap_remove(random.below(filed.len()));
                    engine
                        .system(&Caller::local())
                        .memories()
                        .forget(&gone.id)
                        .unwrap();
                }
                _ => {}
            }
        }
        for name in NAMES {
            let by = caller(name, &WRITER);
            let model = Model::of(
                name,
                &filed,
                engine
                    .system(&by)
                    .graph()
                    .tunnels(
                        None,
                        loci_core::Page {
                            offset: 0,
                            limit: usize::MAX,
                        },
                    )
                    .unwrap()
                    .0,
            );
            model.assert_counts(&engine, &by);
            for section in ROOMS {
                let hops_max = random.below(4);
                let steps = engine.system(&by).graph().traverse(section, hops_max);
                if !model.sections().contains(&section) {
                    assert_eq!(steps.unwrap_err().code, ErrorCode::NotFound);
                    continue;
                }
                assert_eq!(
                    steps.unwrap().0,
                    model.walk(section, hops_max),
                    "from {section}, {hops_max} hops"
                );
            }
            for one in WINGS.map(Some).into_iter().chain([None]) {
                for other in WINGS.map(Some).into_iter().chain([None]) {
                    model.assert_bridges(&engine, &by, [one, other]);
                }
            }
        }
    }
}
