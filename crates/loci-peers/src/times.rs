//! Times as other systems write them.

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

/// Returns the first and the last moment of a time: of a day (UTC) both ends, of a moment itself.
pub fn span(text: &str) -> Option<(Timestamp, Timestamp)> {
    let text = text.trim();
    if let Ok(day) = text.parse::<Date>()
        && !text.contains(['T', ':'])
    {
        let end = |day: Date| {
            TimeZone::UTC
                .to_timestamp(day.to_datetime(Time::midnight()))
                .ok()
        };
        let next = end(day.tomorrow().ok()?)?;
        return Some((
            end(day)?,
            next.checked_sub(SignedDuration::from_micros(1)).ok()?,
        ));
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
