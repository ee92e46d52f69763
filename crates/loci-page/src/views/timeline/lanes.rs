//! The lanes of facts as a drawing.
//!
//! A bar spans the days for which its fact holds. Bars of one lane that would lie on each other are
//! in rows below each other: each is in the first row in which there is room for it and its name, in
//! the order of their starts. The drawing ends at the last day that is looked at: an end that is open
//! or later is an arrow there.

use jiff::Span;
use jiff::civil::{Date, date};
use loci_core::Timestamp;

use super::Lane;

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// The width of the drawing; the unit of all lengths.
const WIDTH: f64 = 1_000.0;
/// The room for the arrows of open ends, at both sides.
const SIDE: f64 = 18.0;
/// The length of an arrow.
const ARROW: f64 = 16.0;
/// The height of the days above the lanes.
const HEAD: f64 = 24.0;
/// The height of the name of a lane.
const NAME: f64 = 26.0;
/// The height of a row, and of a bar in it.
const ROW: f64 = 26.0;
const BAR: f64 = 20.0;
/// The distance of a name from the end of its bar.
const GAP: f64 = 6.0;
/// The width of a character in the name of a fact, rounded up: of a Latin one, and of another one.
const CHARACTER: f64 = 8.0;
const WIDE_CHARACTER: f64 = 14.0;
/// The most marks above the lanes.
const TICKS_MAX: usize = 9;
/// The years, or months, between two marks, from which the first is taken that leaves few enough.
const MONTHS_BETWEEN: [i64; 11] = [1, 3, 12, 24, 60, 120, 240, 600, 1_200, 6_000, 60_000];
/// The width of a mark with its text.
const TICK_WIDTH: f64 = 70.0;

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
    /// The end of today, and the part of its name that is there.
    pub(crate) today_x: f64,
    pub(crate) today: i64,
    pub(crate) ticks: Vec<Tick>,
    /// The lanes with more than one fact, in the order of the view; then those with one.
    pub(crate) changing: Picture,
    pub(crate) lasting: Picture,
    /// The places of the first day and of the end of the last one, between which a script places
    /// the others.
    pub(crate) ends: [f64; 2],
}

/// Some of the lanes.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    pub(crate) height: f64,
    /// The bars of each lane, with the number of the lane in the view.
    pub(crate) drawn: Vec<LaneDrawing>,
}

/// A round day above the lanes: the first one of a year, a quarter or a month.
#[derive(Debug)]
pub(crate) struct Tick {
    pub(crate) x: f64,
    pub(crate) name: String,
}

/// A lane as it is drawn.
#[derive(Debug)]
pub(crate) struct LaneDrawing {
    /// The number of the lane in the view.
    pub(crate) lane: usize,
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
    /// The name in it or on its free side, cut if there is too little room.
    pub(crate) name: String,
    pub(crate) name_x: f64,
    pub(crate) name_y: f64,
    /// The part of the name that is at its place: `start` or `end`.
    pub(crate) anchor: &'static str,
    /// The corners of the arrow of an open start, and of an end that is open or later than the
    /// drawing.
    pub(crate) open_start: Option<String>,
    pub(crate) open_end: Option<String>,
}

/// The days of a drawing, and where they are.
struct Scale {
    first: i64,
    last: i64,
}

impl Scale {
    /// Returns a scale from the first of these days, with some room before it, to the last moment.
    fn of(days: impl Iterator<Item = i64>, moments: [i64; 2]) -> Self {
        let last = moments[0].max(moments[1]);
        let first = days.chain(moments).min().unwrap_or(last);
        let room = (last.saturating_sub(first) / 20).max(1);
        Scale {
            first: first.saturating_sub(room),
            last,
        }
    }

    /// Returns the place of the start of a day.
    fn x(&self, day: i64) -> f64 {
        let share = (day as f64 - self.first as f64) / (self.last as f64 - self.first as f64 + 1.0);
        rounded(SIDE + share.clamp(0.0, 1.0) * (WIDTH - 2.0 * SIDE))
    }
}

impl Lanes {
    /// Draws lanes up to these moments, the first of which is the one at which the facts are looked
    /// at, the second one today.
    pub(crate) fn of(lanes: &[Lane], moments: [Timestamp; 2]) -> Self {
        let moments = moments.map(day);
        let facts = lanes.iter().flat_map(|lane| &lane.facts);
        let scale = Scale::of(facts.flat_map(|fact| fact.days).flatten(), moments);
        let [as_of_day, today] = moments;
        let picture = |is_meant: &dyn Fn(&Lane) -> bool| {
            let mut y = HEAD;
            let lanes = lanes.iter().enumerate();
            let drawn = lanes
                .filter(|(_, lane)| is_meant(lane))
                .map(|(number, lane)| {
                    let top = y;
                    let (bars, rows) = bars(lane, &scale, top + NAME);
                    y = top + NAME + rows as f64 * ROW + 6.0;
                    LaneDrawing {
                        lane: number,
                        top,
                        name_y: top + 18.0,
                        bars,
                    }
                });
            let drawn = drawn.collect();
            Picture { height: y, drawn }
        };
        Lanes {
            as_of_x: scale.x(as_of_day),
            today_x: scale.x(today.saturating_add(1)),
            today,
            ticks: ticks(&scale),
            first_day: scale.first,
            last_day: scale.last,
            as_of_day,
            changing: picture(&|lane| lane.facts.len() > 1),
            lasting: picture(&|lane| lane.facts.len() == 1),
            ends: [SIDE, WIDTH - SIDE],
        }
    }

    /// Returns the pictures that show something, the one of what changed first.
    pub(crate) fn pictures(&self) -> Vec<&Picture> {
        let pictures = [&self.changing, &self.lasting].into_iter();
        pictures
            .filter(|picture| !picture.drawn.is_empty())
            .collect()
    }
}

impl Picture {
    /// Returns the part of the plane that the drawing has.
    pub(crate) fn view_box(&self) -> String {
        format!("0 0 {WIDTH} {:.1}", self.height)
    }
}

/// Returns the bars of a lane below `top`, and the number of their rows.
fn bars(lane: &Lane, scale: &Scale, top: f64) -> (Vec<Bar>, usize) {
    let mut ends: Vec<f64> = Vec::new();
    let bars = lane.facts.iter().map(|fact| {
        let [from, to] = fact.days;
        let x = from.map_or(SIDE, |from| scale.x(from));
        let is_open = to.is_none_or(|to| to > scale.last);
        let end = to.map_or(WIDTH - SIDE, |to| scale.x(to.saturating_add(1)));
        let width = rounded((end - x).max(4.0).min(WIDTH - SIDE - x).max(4.0));
        let start = x - if from.is_none() { ARROW } else { 0.0 };
        let end = x + width + if is_open { ARROW } else { 0.0 };
        let (name, name_x, anchor) = named(&fact.other, [x, width], [start, end]);
        let name_width = width_of(&name);
        let (left, right) = match anchor {
            "end" => (start.min(name_x - name_width), end),
            _ => (start, end.max(name_x + name_width)),
        };
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
                .then(|| format!("{x},{y} {},{middle} {x},{bottom}", rounded(x - ARROW))),
            open_end: is_open.then(|| {
                let end = rounded(x + width);
                let tip = rounded(end + ARROW);
                format!("{end},{y} {tip},{middle} {end},{bottom}")
            }),
            name_y: rounded(y + 15.0),
            x,
            y,
            width,
            name,
            name_x: rounded(name_x),
            anchor,
        }
    });
    let bars = bars.collect();
    (bars, ends.len())
}

/// Returns the name of a fact with its place: in its bar if there is room, else on the side of the
/// bar that has more room.
fn named(name: &str, [x, width]: [f64; 2], [start, end]: [f64; 2]) -> (String, f64, &'static str) {
    let wanted = width_of(name) + 2.0 * GAP;
    if wanted <= width {
        return (name.to_owned(), x + GAP, "start");
    }
    let (before, after) = (start - 2.0 * GAP, WIDTH - end - 2.0 * GAP);
    if before.max(after) < width {
        return (clipped(name, width - 2.0 * GAP), x + GAP, "start");
    }
    if before > after && wanted > after {
        (clipped(name, before), start - GAP, "end")
    } else {
        (clipped(name, after), end + GAP, "start")
    }
}

fn character_width(character: char) -> f64 {
    if character.is_ascii() || ('\u{a0}'..'\u{250}').contains(&character) {
        CHARACTER
    } else {
        WIDE_CHARACTER
    }
}

fn width_of(name: &str) -> f64 {
    name.chars().map(character_width).sum()
}

/// Returns as much of a name as there is room for, with an ellipsis if it is not all.
fn clipped(name: &str, room: f64) -> String {
    if width_of(name) <= room {
        return name.to_owned();
    }
    let mut left = room - WIDE_CHARACTER;
    let fits = |character: &char| {
        left -= character_width(*character);
        left >= 0.0
    };
    let mut clipped: String = name.chars().take_while(fits).collect();
    clipped.push('\u{2026}');
    clipped
}

/// Returns the round days of a scale: the first days of months, quarters or years.
fn ticks(scale: &Scale) -> Vec<Tick> {
    let first = date_of(scale.first);
    let months = |between: i64| -> Vec<Tick> {
        let Some(first) = first else {
            return Vec::new();
        };
        let first = i64::from(first.year()) * 12 + i64::from(first.month()) - 1;
        let first = first.div_euclid(between) * between;
        let months = (0..).map(|number| first + number * between);
        let days = months.map_while(|month| Some((month, day_of_month(month)?)));
        let ticks = days
            .skip_while(|(_, day)| *day < scale.first)
            .take_while(|(_, day)| *day <= scale.last)
            .take(TICKS_MAX + 1)
            .map(|(month, day)| Tick {
                x: scale.x(day),
                name: match (month.div_euclid(12), month.rem_euclid(12) + 1) {
                    (year, _) if between >= 12 => year.to_string(),
                    (year, month) => format!("{year}-{month:02}"),
                },
            });
        // A name begins at its line, and must not be cut off at the side.
        ticks.filter(|tick| tick.x + TICK_WIDTH <= WIDTH).collect()
    };
    let mut found = MONTHS_BETWEEN.into_iter().map(months);
    let fitting = found.find(|ticks| ticks.len() <= TICKS_MAX);
    match fitting {
        Some(ticks) if !ticks.is_empty() => ticks,
        // Less than a month.
        _ => vec![Tick {
            x: scale.x(scale.first),
            name: date_of(scale.first).map_or_else(String::new, |date| date.to_string()),
        }],
    }
}

/// Returns a day since 1970 as a date; `None` beyond the years that have four digits.
fn date_of(day: i64) -> Option<Date> {
    let days = Span::new().try_days(day).ok()?;
    date(1970, 1, 1).checked_add(days).ok()
}

/// Returns the first day of a month, which is counted from the year 0 on.
fn day_of_month(month: i64) -> Option<i64> {
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
    let first = Date::new(year, month, 1).ok()?;
    let span = first.since(date(1970, 1, 1)).ok()?;
    Some(i64::from(span.get_days()))
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
            other: "Rome".to_owned(),
            rival: None,
        }
    }

    fn drawn(days: &[[Option<i64>; 2]]) -> Lanes {
        let facts = days.iter().enumerate();
        let lane = Lane {
            predicate: "is in".to_owned(),
            direction: "outgoing",
            facts: facts.map(|(number, days)| fact(number, *days)).collect(),
        };
        let day = |day: i64| Timestamp::from_microseconds(day * MICROSECONDS_PER_DAY);
        Lanes::of(&[lane], [day(0), day(50)])
    }

    #[test]
    fn no_two_bars_lie_on_each_other() {
        let days: Vec<_> = (0..50)
            .map(|number| [Some(number * 7 % 40), Some(number * 7 % 40 + number % 5)])
            .chain([[None, None], [None, Some(3)], [Some(3), None]])
            .collect();
        let lanes = drawn(&days);
        let bars = &lanes.pictures()[0].drawn[0].bars;
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
        assert!(bars.iter().all(|bar| bar.y + BAR <= lanes.changing.height));
    }

    #[test]
    fn open_ends_have_arrows() {
        let lanes = drawn(&[[None, Some(1)], [Some(2), None], [Some(3), Some(3)]]);
        let arrows: Vec<_> = lanes.changing.drawn[0]
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
            assert!(lanes.as_of_x.is_finite() && lanes.ticks.len() <= TICKS_MAX);
        }
    }

    #[test]
    fn a_name_is_in_its_bar_or_on_its_free_side() {
        let at = |x: f64, width: f64| named("Constantinople", [x, width], [x, x + width]);
        assert_eq!(
            at(100.0, 300.0),
            ("Constantinople".to_owned(), 106.0, "start")
        );
        assert_eq!(
            at(100.0, 10.0),
            ("Constantinople".to_owned(), 116.0, "start")
        );
        assert_eq!(at(970.0, 10.0), ("Constantinople".to_owned(), 964.0, "end"));
        let long = "x".repeat(300);
        for x in [20.0, 500.0, 900.0] {
            let (name, at, anchor) = named(&long, [x, 40.0], [x, x + 40.0]);
            let end = match anchor {
                "end" => at - width_of(&name),
                _ => at + width_of(&name),
            };
            assert!(
                name.ends_with('\u{2026}') && (0.0..=WIDTH).contains(&end),
                "{x} {end}"
            );
        }
    }

    #[test]
    fn marks_are_the_first_days_of_months_quarters_and_years() {
        let names = |first: i64, last: i64| -> Vec<String> {
            let ticks = ticks(&Scale { first, last }).into_iter();
            ticks.map(|tick| tick.name).collect()
        };
        // 18,262 is 2020-01-01.
        assert_eq!(names(18_300, 18_310), ["2020-02-08"]);
        assert_eq!(names(18_262, 18_340), ["2020-01", "2020-02", "2020-03"]);
        assert_eq!(
            names(18_262, 18_262 + 500),
            [
                "2020-01", "2020-04", "2020-07", "2020-10", "2021-01", "2021-04"
            ]
        );
        assert_eq!(
            names(18_262, 18_262 + 1_600),
            ["2020", "2021", "2022", "2023", "2024"]
        );
        assert_eq!(
            names(18_262 - 40_000, 18_262).first().map(String::as_str),
            Some("1920")
        );
    }
}
