//! A map of wings, rooms and tunnels.
//!
//! Wings are discs, packed along a spiral of Fermat; the rooms of a wing are points of a smaller
//! one inside it (H. Vogel, "A better way to construct the sunflower head", Mathematical
//! Biosciences 44, 1979). The layout takes time in proportion to the rooms, and a room keeps its
//! place as long as its wing keeps its rooms.

use std::collections::HashMap;
use std::f64::consts::PI;

use loci_core::{Page, Result, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::palace::wings;
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The distance of neighbouring rooms.
const STEP: f64 = 14.0;
/// The space for the name above a wing.
const LABEL: f64 = 24.0;
/// The space around a wing.
const MARGIN: f64 = 30.0;

#[derive(Deserialize)]
pub(crate) struct MapQuery {}

/// Wings, rooms and tunnels, with their places on a plane.
#[derive(Serialize, ToSchema)]
pub(crate) struct Map {
    /// The half of the side of the square that has everything in it.
    pub(crate) extent: f64,
    pub(crate) wings: Vec<MapWing>,
    pub(crate) tunnels: Vec<MapTunnel>,
}

/// A wing on the map.
#[derive(Serialize, ToSchema)]
pub(crate) struct MapWing {
    /// Its name; `None` is global.
    pub(crate) name: Option<String>,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) rooms: Vec<MapRoom>,
}

/// A room on the map.
#[derive(Serialize, ToSchema)]
pub(crate) struct MapRoom {
    pub(crate) name: String,
    pub(crate) memories: u64,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) path: String,
}

/// A tunnel on the map.
#[derive(Serialize, ToSchema)]
pub(crate) struct MapTunnel {
    pub(crate) label: String,
    /// The rooms at its ends, as people write them.
    pub(crate) between: [String; 2],
    pub(crate) from: [f64; 2],
    pub(crate) to: [f64; 2],
}

view!(Map, Tab::Palace, "map.html");

/// Returns the place of a point of a sunflower head with this distance of neighbours.
fn seed(number: usize, step: f64) -> [f64; 2] {
    let golden_angle = PI * (3.0 - 5.0_f64.sqrt());
    let radius = step * (number as f64).sqrt();
    let angle = number as f64 * golden_angle;
    [rounded(radius * angle.cos()), rounded(radius * angle.sin())]
}

/// Places wings, rooms and tunnels on a plane.
#[utoipa::path(get, path = "/palace/map", operation_id = "palace_map", responses((status = OK, body = Map, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, _: MapQuery) -> Result<Map> {
    let wings = wings(context)?;
    let radius = |rooms: usize| rounded(STEP * (rooms as f64).sqrt() + MARGIN);
    let largest = wings
        .iter()
        .map(|wing| radius(wing.rooms.len()))
        .fold(MARGIN, f64::max);
    let mut places = HashMap::new();
    let wings: Vec<MapWing> = wings
        .into_iter()
        .enumerate()
        .map(|(number, wing)| {
            let [x, y] = seed(number, largest * 2.0);
            let radius = radius(wing.rooms.len());
            let rooms = wing.rooms.into_iter().enumerate().map(|(number, room)| {
                let [dx, dy] = seed(number, STEP);
                let [x, y] = [rounded(x + dx), rounded(y + dy)];
                places.insert((wing.name.clone(), room.name.clone()), [x, y]);
                MapRoom {
                    radius: rounded((room.memories as f64).ln_1p().clamp(2.0, 6.0)),
                    name: room.name,
                    memories: room.memories,
                    path: room.path,
                    x,
                    y,
                }
            });
            MapWing {
                rooms: rooms.collect(),
                name: wing.name,
                x,
                y,
                radius,
            }
        })
        .collect();
    let all = Page {
        offset: 0,
        limit: limits::TUNNELS_MAX,
    };
    let (tunnels, _) = context.call().graph().tunnels(None, all)?;
    let tunnels = tunnels
        .into_iter()
        .filter_map(|tunnel| {
            let place = |end: &loci_core::TunnelEnd| {
                places
                    .get(&(end.collection.clone(), end.section.clone()))
                    .copied()
            };
            let name = |end: &loci_core::TunnelEnd| match &end.collection {
                Some(wing) => format!("{wing}/{}", end.section),
                None => end.section.clone(),
            };
            Some(MapTunnel {
                from: place(&tunnel.source)?,
                to: place(&tunnel.target)?,
                between: [name(&tunnel.source), name(&tunnel.target)],
                label: tunnel.label,
            })
        })
        .collect();
    let reach = |wing: &MapWing| wing.x.hypot(wing.y) + wing.radius + LABEL;
    Ok(Map {
        extent: rounded(wings.iter().map(reach).fold(MARGIN, f64::max)),
        wings,
        tunnels,
    })
}

impl Map {
    /// Returns the part of the plane that an SVG shows.
    pub(crate) fn view_box(&self) -> String {
        let (half, side) = (-self.extent, 2.0 * self.extent);
        format!("{half:.1} {half:.1} {side:.1} {side:.1}")
    }
}

impl MapWing {
    /// Returns the height of its name, above the disc.
    pub(crate) fn label_y(&self) -> f64 {
        rounded(self.y - self.radius - 4.0)
    }
}

/// Returns a coordinate with as many digits as a picture shows.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rooms_of_a_wing_lie_on_each_other() {
        let places: Vec<_> = (0..2_000).map(|number| seed(number, STEP)).collect();
        for (number, one) in places.iter().enumerate() {
            for other in &places[number + 1..] {
                assert!((one[0] - other[0]).hypot(one[1] - other[1]) > STEP / 2.0);
            }
        }
    }
}
