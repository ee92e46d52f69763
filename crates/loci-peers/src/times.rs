//! Times as other systems write them.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time as it is written: a moment, or a local time without its zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WrittenTime {
    /// A moment.
    Moment(Timestamp),
    /// A date and a time of day without a zone.
    Local(DateTime),
}

/// Reads a time in one of the forms of RFC 3339 and ISO 8601, with `T` or a blank between date and
/// time, or a day; `None` for any other text.
pub fn told(text: &str) -> Option<WrittenTime> {
    let text = text.trim();
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        // As Python and SQLite write it.
        let (day, time) = text.split_once(' ')?;
        format!("{day}T{time}").parse().ok()
    });
    if let Some(moment) = moment {
        return Some(WrittenTime::Moment(moment));
    }
    DateTimeParser::new()
        .parse_datetime(text.replacen(' ', "T", 1))
        .ok()
        .map(WrittenTime::Local)
}

/// Returns the moment of a time; one without a zone is of UTC.
pub fn utc(text: &str) -> Option<Timestamp> {
    in_zone(text, &TimeZone::UTC)
}

/// Returns the moment of a time; one without a zone is of `zone`.
pub fn in_zone(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    match told(text)? {
        WrittenTime::Moment(moment) => Some(moment),
        WrittenTime::Local(clock) => zone.to_timestamp(clock).ok(),
    }
}

/// Returns the moment of a time of a clock on a wall, where the same event, or one right after it, has
/// a moment beside it: the offset is the difference of the two, to a quarter of an hour, as all
/// offsets are. `None` if the two are no such pair.
pub fn beside(clock: &str, moment: Timestamp) -> Option<(Timestamp, SignedDuration)> {
    const QUARTER_SECONDS: i64 = 15 * 60;
    const OFFSET_SECONDS_MAX: i64 = 15 * 3_600;
    match told(clock)? {
        WrittenTime::Moment(told) => Some((told, SignedDuration::ZERO)),
        WrittenTime::Local(clock) => {
            let as_utc = TimeZone::UTC.to_timestamp(clock).ok()?;
            let seconds = as_utc.duration_since(moment).as_secs();
            let quarters = (seconds + seconds.signum() * QUARTER_SECONDS / 2) / QUARTER_SECONDS;
            let offset = SignedDuration::from_secs(quarters * QUARTER_SECONDS);
            (offset.abs().as_secs() <= OFFSET_SECONDS_MAX)
                .then(|| as_utc.checked_sub(offset).ok())
                .flatten()
                .map(|moment| (moment, offset))
        }
    }
}

/// The offsets of the local times of a source, each measured at a moment.
#[derive(Default)]
pub struct Offsets(BTreeMap<Timestamp, SignedDuration>);

impl Offsets {
    /// Measures an offset by a local time that has its moment beside it, and returns the moment to
    /// the digit that the local time has; `None` if the two are no such pair.
    pub fn measure(&mut self, clock: &str, moment: Timestamp) -> Option<Timestamp> {
        let (moment, offset) = beside(clock, moment)?;
        if matches!(told(clock), Some(WrittenTime::Local(_))) {
            self.0.insert(moment, offset);
        }
        Some(moment)
    }

    /// Returns the moment of a local time that has no moment beside it: by `zone` if it explains all
    /// measured offsets, since it knows of summer time, or if nothing was measured; else by the
    /// offset that was measured next to it.
    pub fn moment(&self, clock: &str, zone: &TimeZone) -> Option<Timestamp> {
        let clock = match told(clock)? {
            WrittenTime::Moment(moment) => return Some(moment),
            WrittenTime::Local(clock) => clock,
        };
        let agrees = |(moment, offset): (&Timestamp, &SignedDuration)| {
            i64::from(zone.to_offset(*moment).seconds()) == offset.as_secs()
        };
        if self.0.iter().all(agrees) {
            return zone.to_timestamp(clock).ok();
        }
        let as_utc = TimeZone::UTC.to_timestamp(clock).ok()?;
        let (before, after) = (
            self.0.range(..=as_utc).next_back(),
            self.0.range(as_utc..).next(),
        );
        let distance =
            |(moment, _): &(&Timestamp, &SignedDuration)| as_utc.duration_since(**moment).abs();
        let (_, offset) = before.into_iter().chain(after).min_by_key(distance)?;
        as_utc.checked_sub(*offset).ok()
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the first and the last moment of a time: of a year, a month or a day (UTC) both ends, of a
/// moment itself.
pub fn wide_span(text: &str) -> Option<(Timestamp, Timestamp)> {
    let text = text.trim();
    if let Some(span) = span(text) {
        return Some(span);
    }
    let ends = |first: Date, next: Date| Some((day(first)?.0, day(next.yesterday().ok()?)?.1));
    if let Ok(date) = Date::strptime("%B %d, %Y", text) {
        return day(date);
    }
    let (year, month) = text.split_once('-').unwrap_or((text, ""));
    if year.len() != 4 {
        return None;
    }
    let year: i16 = year.parse().ok()?;
    if month.is_empty() && text.len() == 4 {
        let next = Date::new(year.checked_add(1)?, 1, 1).ok()?;
        return ends(Date::new(year, 1, 1).ok()?, next);
    }
    let first = Date::new(year, month.parse().ok()?, 1).ok()?;
    ends(first, first.last_of_month().tomorrow().ok()?)
}

/// Returns the first and the last moment of a day (UTC).
fn day(day: Date) -> Option<(Timestamp, Timestamp)> {
    let start = |day: Date| {
        TimeZone::UTC
            .to_timestamp(day.to_datetime(Time::midnight()))
            .ok()
    };
    let next = start(day.tomorrow().ok()?)?;
    let last = next.checked_sub(SignedDuration::from_micros(1)).ok()?;
    Some((start(day)?, last))
}

/// Returns the first and the last moment of a time: of a day (UTC) both ends, of a moment itself.
pub fn span(text: &str) -> Option<(Timestamp, Timestamp)> {
    let text = text.trim();
    if let Ok(date) = text.parse::<Date>()
        && !text.contains(['T', ':'])
    {
        return day(date);
    }
    let moment = utc(text)?;
    Some((moment, moment))
}

/// Returns the moment of a number of seconds since 1970, to the microsecond.
pub fn seconds(seconds: f64) -> Option<Timestamp> {
    const MICROSECONDS: f64 = 1e6;
    // Multiplied as a whole, the last digit of today's times is lost.
    let whole = seconds.floor();
    let part = ((seconds - whole) * MICROSECONDS).round_ties_even();
    if !seconds.is_finite() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number beyond the range becomes its end, which is no moment"
    )]
    let (whole, part) = (whole as i64, part as i64);
    Timestamp::from_microsecond(whole.checked_mul(1_000_000)?.checked_add(part)?).ok()
}

/// Returns the moment of a number of milliseconds since 1970.
pub fn milliseconds(milliseconds: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_peers_are_read() {
        let moment = "2026-11-28T01:00:19Z".parse::<Timestamp>().unwrap();
        for text in [
            "2026-11-28T01:00:19Z",
            "2026-11-28 01:00:19+00:00",
            "2026-11-27T20:00:19-05:00",
            "2026-11-28 01:00:19",
            "2026-11-28T01:00:19",
        ] {
            assert_eq!(utc(text), Some(moment), "{text}");
        }
        assert_eq!(utc("1999-01-01"), "1999-01-01T00:00:00Z".parse().ok());
        assert_eq!(utc("yesterday"), None);
        assert_eq!(
            seconds(1_795_827_738.150_767_6),
            "2026-11-28T01:02:18.150768Z".parse().ok()
        );
        assert_eq!(
            milliseconds(1_772_953_199_123),
            "2026-03-08T06:59:59.123Z".parse().ok()
        );
        assert_eq!(
            seconds(1_795_827_739.568_795_4),
            "2026-11-28T01:02:19.568795Z".parse().ok()
        );
        assert_eq!(seconds(-0.5), "1969-12-31T23:59:59.5Z".parse().ok());
        assert_eq!(seconds(f64::NAN), None);
        assert_eq!(seconds(1e300), None);
    }

    #[test]
    fn a_day_spans_its_first_to_its_last_moment() {
        let moment = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(
            span("2026-03-01"),
            Some((
                moment("2026-03-01T00:00:00Z"),
                moment("2026-03-01T23:59:59.999999Z")
            ))
        );
        let instant = moment("2026-10-01T00:00:00Z");
        assert_eq!(span("2026-10-01T00:00:00Z"), Some((instant, instant)));
        assert_eq!(span("soon"), None);
    }

    #[test]
    fn years_and_months_span_their_days() {
        let ends = |text: &str| wide_span(text).map(|(first, last)| format!("{first} {last}"));
        for (text, first, last) in [
            ("2026", "2026-01-01", "2026-12-31"),
            ("2024-02", "2024-02-01", "2024-02-29"),
            ("2026-03-01", "2026-03-01", "2026-03-01"),
            ("June 10, 2026", "2026-06-10", "2026-06-10"),
        ] {
            let expected = format!("{first}T00:00:00Z {last}T23:59:59.999999Z");
            assert_eq!(ends(text), Some(expected), "{text}");
        }
        for text in ["", "20266", "2026-13", "2026-", "soon", "9999", "-001"] {
            assert_eq!(ends(text), None, "{text}");
        }
    }

    #[test]
    fn a_local_time_has_the_offset_that_was_measured_next_to_it() {
        let mut offsets = Offsets::default();
        let moment = |text: &str| text.parse::<Timestamp>().unwrap();
        let kathmandu = TimeZone::get("Asia/Kathmandu").unwrap();
        let read = |offsets: &Offsets, clock: &str, zone: &TimeZone| {
            offsets.moment(clock, zone).unwrap().to_string()
        };
        let clock = "2026-01-10 12:00:00";
        assert_eq!(read(&offsets, clock, &kathmandu), "2026-01-10T06:15:00Z");
        offsets.measure("2026-07-01 12:00:00", moment("2026-07-01T16:00:00Z"));
        offsets.measure("2026-12-01 12:00:00", moment("2026-12-01T17:00:00Z"));
        assert_eq!(read(&offsets, clock, &kathmandu), "2026-01-10T16:00:00Z");
        // A zone that explains what was measured knows of summer time.
        let zone = TimeZone::get("America/New_York").unwrap();
        assert_eq!(read(&offsets, clock, &zone), "2026-01-10T17:00:00Z");
        let whole = "2026-01-10T12:00:00+01:00";
        assert_eq!(read(&offsets, whole, &zone), "2026-01-10T11:00:00Z");
    }

    #[test]
    fn the_offset_of_a_clock_comes_from_the_moment_beside_it() {
        let rows = [
            ("2026-11-27T20:00:19.308053", "2026-11-28T01:00:19Z", -5),
            ("2026-07-27T20:00:19", "2026-07-28T00:00:21Z", -4),
            ("2026-07-27T20:00:19", "2026-07-27T20:00:19Z", 0),
            ("2026-07-28T05:45:19", "2026-07-28T00:00:21Z", 6),
        ];
        for (clock, moment, hours) in rows {
            let (_, offset) = beside(clock, moment.parse().unwrap()).unwrap();
            assert_eq!(
                (offset.as_secs() as f64 / 3_600.0).round() as i64,
                hours,
                "{clock}"
            );
        }
        assert_eq!(
            beside(
                "2026-11-27T20:00:19.308053",
                "2026-11-28T01:00:19Z".parse().unwrap()
            )
            .unwrap()
            .0,
            "2026-11-28T01:00:19.308053Z".parse().unwrap()
        );
        assert_eq!(
            beside(
                "2026-11-20T20:00:19",
                "2026-11-28T01:00:19Z".parse().unwrap()
            ),
            None
        );
    }
}
