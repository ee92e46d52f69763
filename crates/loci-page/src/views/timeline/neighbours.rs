//! A drawing of what an entity leads to: it is in the middle, and around it are the entities of its
//! facts, half on either side, so that no name lies on another one.

use super::{Lane, time_path};

/// The entities around it that are drawn.
const SHOWN: usize = 24;
const WIDTH: f64 = 640.0;
/// The distance between two entities, and from the top.
const ROW: f64 = 28.0;
const TOP: f64 = 24.0;
/// The distance of the outermost entities from the middle, to the sides.
const RADIUS: f64 = 130.0;
/// The characters of a name that are drawn.
const CHARACTERS: usize = 24;

/// The drawing.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    pub(crate) nodes: Vec<Neighbour>,
    pub(crate) height: f64,
    pub(crate) middle: [f64; 2],
    /// The number of entities that are left out.
    pub(crate) left_out: usize,
}

/// An entity around the one in the middle.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) name: String,
    /// The name as it is drawn.
    pub(crate) shown: String,
    pub(crate) path: String,
    /// The relations to it.
    pub(crate) relations: String,
    /// True if one of the facts holds at the day.
    pub(crate) holds: bool,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) name_x: f64,
    pub(crate) anchor: &'static str,
}

impl Neighbours {
    /// Draws the entities of these facts; the entities of facts that hold come first.
    pub(crate) fn of(lanes: &[Lane], entity: Option<&str>, as_of: &str) -> Self {
        let mut found: Vec<Neighbour> = Vec::new();
        for lane in lanes {
            for fact in &lane.facts {
                if Some(fact.other.as_str()) == entity {
                    continue;
                }
                let relation = match lane.direction {
                    "incoming" => format!("\u{2190} {}", lane.predicate),
                    _ => format!("{} \u{2192}", lane.predicate),
                };
                match found.iter_mut().find(|known| known.name == fact.other) {
                    Some(known) => {
                        known.holds |= fact.holds;
                        if !known.relations.split(", ").any(|known| known == relation) {
                            known.relations = format!("{}, {relation}", known.relations);
                        }
                    }
                    None => found.push(Neighbour {
                        name: fact.other.clone(),
                        shown: shown(&fact.other),
                        path: time_path(&fact.other, Some(as_of)),
                        relations: relation,
                        holds: fact.holds,
                        x: 0.0,
                        y: 0.0,
                        name_x: 0.0,
                        anchor: "start",
                    }),
                }
            }
        }
        found.sort_by_key(|node| !node.holds);
        let left_out = found.len().saturating_sub(SHOWN);
        found.truncate(SHOWN);
        let rows = found.len().div_ceil(2);
        let height = TOP * 2.0 + ROW * rows.max(3) as f64;
        let middle = [WIDTH / 2.0, height / 2.0];
        for (number, node) in found.iter_mut().enumerate() {
            place(node, number, rows, middle);
        }
        Neighbours {
            nodes: found,
            height,
            middle,
            left_out,
        }
    }

    /// Returns the part of the plane that the drawing has.
    pub(crate) fn view_box(&self) -> String {
        format!("0 0 {WIDTH} {:.1}", self.height)
    }
}

/// Places the node with this number on an ellipse around the middle.
fn place(node: &mut Neighbour, number: usize, rows: usize, [x, y]: [f64; 2]) {
    let is_right = number.is_multiple_of(2);
    let row = (number / 2) as f64 - (rows as f64 - 1.0) / 2.0;
    let outermost = ROW * (rows as f64 + 1.0) / 2.0;
    let share = (row * ROW / outermost).clamp(-1.0, 1.0);
    let aside = RADIUS * (1.0 - share * share).sqrt();
    let side = if is_right { 1.0 } else { -1.0 };
    node.x = rounded(x + side * aside);
    node.y = rounded(y + row * ROW);
    node.name_x = rounded(node.x + side * 10.0);
    node.anchor = if is_right { "start" } else { "end" };
}

fn shown(name: &str) -> String {
    match name.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}\u{2026}", &name[..end]),
        None => name.to_owned(),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::super::FactRow;
    use super::*;

    fn lane(others: impl Iterator<Item = (String, bool)>) -> Lane {
        let facts = others.map(|(other, holds)| FactRow {
            id: other.clone(),
            subject: "Max".to_owned(),
            predicate: "knows".to_owned(),
            object: other.clone(),
            valid_from: None,
            valid_to: None,
            source: None,
            author: None,
            is_own: false,
            holds,
            rival: None,
            days: [None; 2],
            other,
        });
        Lane {
            predicate: "knows".to_owned(),
            direction: "outgoing",
            facts: facts.collect(),
        }
    }

    #[test]
    fn no_two_names_are_in_one_place_and_24_are_drawn_at_most() {
        for count in [0_usize, 1, 2, 3, 24, 40] {
            let others = (0..count).map(|number| (format!("entity {number}"), number >= 10));
            let drawn = Neighbours::of(&[lane(others)], Some("Max"), "2026-01-01");
            assert_eq!(drawn.nodes.len() + drawn.left_out, count);
            assert!(drawn.nodes.len() <= 24);
            for (number, one) in drawn.nodes.iter().enumerate() {
                assert!((0.0..=WIDTH).contains(&one.x) && (0.0..=drawn.height).contains(&one.y));
                for other in &drawn.nodes[number + 1..] {
                    let is_apart = (one.y - other.y).abs() >= ROW || one.anchor != other.anchor;
                    assert!(is_apart, "{one:?} {other:?}");
                }
            }
        }
        let others = [("Max", true), ("Eva", false), ("Bob", true), ("Eva", true)];
        let others = others
            .map(|(name, holds)| (name.to_owned(), holds))
            .into_iter();
        let drawn = Neighbours::of(&[lane(others)], Some("Max"), "2026-01-01");
        let names: Vec<_> = drawn
            .nodes
            .iter()
            .map(|node| (&*node.name, node.holds))
            .collect();
        assert_eq!(names, [("Eva", true), ("Bob", true)]);
        assert_eq!(drawn.nodes[0].relations, "knows \u{2192}");
    }
}
