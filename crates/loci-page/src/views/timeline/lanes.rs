//! The lanes of facts as a drawing.
//!
//! A bar spans the days for which its fact holds. Bars of one lane that would lie on each other are
//! in rows below each other: each is in the first row in which there is room for it, in the order
//! of their starts.

use loci_core::Timestamp;

use super::Lane;
use crate::utc_timestamp::UtcTimestamp;

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// The width of the drawing; the unit of all lengths.
const WIDTH: f64 = 1_000.0;
/// The room for the arrows of open ends, at both sides.
const SIDE: f64 = 14.0;
/// The height of the days above the lanes.
const HEAD: f64 = 24.0;
/// The height of the name of a lane.
const NAME: f64 = 26.0;
/// The height of a row, and of a bar in it.
const ROW: f64 = 26.0;
const BAR: f64 = 20.0;
/// The width of a character in the name of a fact, rounded up.
const CHARACTER: f64 = 8.0;
/// The characters of such a name that are drawn.
const NAME_CHARACTERS: usize = 60;
/// The days that are marked above the lanes.
const TICKS: i64 = 5;

/// Returns the day of a moment, as a number of days since 1970.
pub(crate) fn day(moment: Timestamp) -> i64 {
    moment.microseconds().div_euclid(MICROSECONDS_PER_DAY)
}

/// The drawing of the lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// The first and the last day that the drawing has.
    pub(crate) first_day: i64,
    pub(crate) last_day: i64,
    /// The day at which the facts are looked at.
    pub(crate) as_of_day: i64,
    /// The place of that day.
    pub(crate) as_of_x: f64,
    pub(crate) height: f64,
    pub(crate) ticks: Vec<Tick>,
    /// The bars of each lane, in the order of the view.
    pub(crate) drawn: Vec<LaneDrawing>,
    /// The places of the first day and of the end of the last one, between which a script places
    /// the others.
    pub(crate) ends: [f64; 2],
}

/// A day above the lanes.
#[derive(Debug)]
pub(crate) struct Tick {
    pub(crate) x: f64,
    pub(crate) day: String,
    /// The part of its text that is at its place: `start`, `middle` or `end`.
    pub(crate) anchor: &'static str,
}

/// A lane as it is drawn.
#[derive(Debug)]
pub(crate) struct LaneDrawing {
    /// The base line of its name.
    pub(crate) name_y: f64,
    /// The line above it.
    pub(crate) top: f64,
    /// The bars, in the order of the facts.
    pub(crate) bars: Vec<Bar>,
}

/// The bar of a fact.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    /// The name in it, cut if it is long.
    pub(crate) name: String,
    pub(crate) name_x: f64,
    pub(crate) name_y: f64,
    /// The corners of the arrow of an open start, and of an open end.
    pub(crate) open_start: Option<String>,
    pub(crate) open_end: Option<String>,
}

/// The days of a drawing, and where they are.
struct Scale {
    first: i64,
    last: i64,
}

impl Scale {
    /// Returns a scale that has all of these days, with some room around them.
    fn of(days: impl Iterator<Item = i64> + Clone) -> Self {
        let (first, last) = (days.clone().min(), days.max());
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        let room = (last.saturating_sub(first) / 20).max(1);
        Scale {
            first: first.saturating_sub(room),
            last: last.saturating_add(room),
        }
    }

    /// Returns the place of the beginning of a day.
    fn x(&self, day: i64) -> f64 {
        let share = (day as f64 - self.first as f64) / (self.last as f64 - self.first as f64 + 1.0);
        rounded(SIDE + share.clamp(0.0, 1.0) * (WIDTH - 2.0 * SIDE))
    }
}

impl Lanes {
    /// Draws lanes so that all of their facts and these moments are on it, the first of which is
    /// the one at which the facts are looked at.
    pub(crate) fn of(lanes: &[Lane], moments: [Timestamp; 2]) -> Self {
        let days: Vec<i64> = lanes
            .iter()
            .flat_map(|lane| &lane.facts)
            .flat_map(|fact| fact.days)
            .flatten()
            .chain(moments.map(day))
            .collect();
        let scale = Scale::of(days.iter().copied());
        let mut y = HEAD;
        let drawn = lanes
            .iter()
            .map(|lane| {
                let top = y;
                let (bars, rows) = bars(lane, &scale, top + NAME);
                y = top + NAME + rows as f64 * ROW + 6.0;
                LaneDrawing {
                    top,
                    name_y: top + 18.0,
                    bars,
                }
            })
            .collect();
        let [as_of_day, _] = moments.map(day);
        Lanes {
            as_of_x: scale.x(as_of_day),
            ticks: ticks(&scale),
            first_day: scale.first,
            last_day: scale.last,
            as_of_day,
            height: y,
            ends: [SIDE, WIDTH - SIDE],
            drawn,
        }
    }

    /// Returns the part of the plane that the drawing has.
    pub(crate) fn view_box(&self) -> String {
        format!("0 0 {WIDTH} {:.1}", self.height)
    }
}

/// Returns the bars of a lane below `top`, and the number of their rows.
fn bars(lane: &Lane, scale: &Scale, top: f64) -> (Vec<Bar>, usize) {
    let mut ends: Vec<f64> = Vec::new();
    let bars = lane
        .facts
        .iter()
        .map(|fact| {
            let [from, to] = fact.days;
            let x = from.map_or(SIDE, |from| scale.x(from));
            let end = to.map_or(WIDTH - SIDE, |to| scale.x(to.saturating_add(1)));
            let width = rounded((end - x).max(4.0));
            let name = cut(&fact.other);
            let name_width = name.chars().count() as f64 * CHARACTER;
            let name_x = rounded((x + 6.0).min(WIDTH - SIDE - name_width).max(4.0));
            let left = x.min(name_x) - if from.is_none() { SIDE } else { 0.0 };
            let right = (x + width).max(name_x + name_width);
            let row = ends.iter().position(|end| *end <= left);
            let row = row.unwrap_or_else(|| {
                ends.push(0.0);
                ends.len() - 1
            });
            ends[row] = right + 4.0;
            let y = rounded(top + row as f64 * ROW);
            let (middle, bottom) = (y + BAR / 2.0, y + BAR);
            Bar {
                open_start: from
                    .is_none()
                    .then(|| format!("{x},{y} {},{middle} {x},{bottom}", x - SIDE + 2.0)),
                open_end: to.is_none().then(|| {
                    let end = rounded(x + width);
                    format!("{end},{y} {},{middle} {end},{bottom}", end + SIDE - 2.0)
                }),
                name_y: rounded(y + 15.0),
                x,
                y,
                width,
                name,
                name_x,
            }
        })
        .collect();
    (bars, ends.len())
}

fn ticks(scale: &Scale) -> Vec<Tick> {
    (0..TICKS)
        .map(|number| {
            let span = scale.last.saturating_sub(scale.first);
            let day = scale.first.saturating_add(span / (TICKS - 1) * number);
            let moment = day.saturating_mul(MICROSECONDS_PER_DAY);
            Tick {
                x: scale.x(day),
                day: UtcTimestamp(Timestamp::from_microseconds(moment)).day(),
                anchor: match number {
                    0 => "start",
                    number if number == TICKS - 1 => "end",
                    _ => "middle",
                },
            }
        })
        .collect()
}

/// Returns a name as it is drawn.
fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS) {
        Some((end, _)) => format!("{}\u{2026}", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns a coordinate with as many digits as a picture shows.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::super::FactRow;
    use super::*;

    fn fact(number: usize, days: [Option<i64>; 2]) -> FactRow {
        FactRow {
            id: number.to_string(),
            subject: "Max".to_owned(),
            predicate: "is in".to_owned(),
            object: "Rome".to_owned(),
            valid_from: None,
            valid_to: None,
            source: None,
            author: Some("ann".to_owned()),
            is_own: false,
            holds: false,
            days,
            other_path: String::new(),
            other: "Rome".to_owned(),
        }
    }

    fn drawn(days: &[[Option<i64>; 2]]) -> Lanes {
        let facts = days.iter().enumerate();
        let lane = Lane {
            predicate: "is in".to_owned(),
            direction: "outgoing",
            facts: facts.map(|(number, days)| fact(number, *days)).collect(),
        };
        Lanes::of(&[lane], [Timestamp::from_microseconds(0); 2])
    }

    #[test]
    fn no_two_bars_lie_on_each_other() {
        let days: Vec<_> = (0..50)
            .map(|number| [Some(number * 7 % 40), Some(number * 7 % 40 + number % 5)])
            .chain([[None, None], [None, Some(3)], [Some(3), None]])
            .collect();
        let lanes = drawn(&days);
        let bars = &lanes.drawn[0].bars;
        for (number, one) in bars.iter().enumerate() {
            assert!(one.x >= 0.0 && one.x + one.width <= WIDTH, "{one:?}");
            for other in &bars[number + 1..] {
                let is_apart = one.x + one.width <= other.x || other.x + other.width <= one.x;
                assert!(
                    is_apart || (one.y - other.y).abs() >= BAR,
                    "{one:?} {other:?}"
                );
            }
        }
        assert!(bars.iter().all(|bar| bar.y + BAR <= lanes.height));
    }

    #[test]
    fn open_ends_have_arrows() {
        let lanes = drawn(&[[None, Some(1)], [Some(2), None], [Some(3), Some(3)]]);
        let arrows: Vec<_> = lanes.drawn[0]
            .bars
            .iter()
            .map(|bar| (bar.open_start.is_some(), bar.open_end.is_some()))
            .collect();
        assert_eq!(arrows, [(true, false), (false, true), (false, false)]);
    }

    #[test]
    fn days_far_away_and_none_at_all_are_drawn() {
        for days in [
            &[][..],
            &[[Some(0), Some(0)]],
            &[[
                Some(i64::MIN / MICROSECONDS_PER_DAY),
                Some(i64::MAX / MICROSECONDS_PER_DAY),
            ]],
        ] {
            let lanes = drawn(days);
            assert!(lanes.first_day < lanes.last_day);
            assert!(lanes.as_of_x.is_finite() && lanes.ticks.len() == 5);
        }
    }
}
