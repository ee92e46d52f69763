//! Times of the knowledge graph as they are parsed and formatted: days and moments.

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;
use loci_core::{Error, Period, Result, Timestamp};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const DAY_MICROSECONDS: i64 = 86_400_000_000;
/// The first and the last moment of the years with four digits.
const YEARS: [i64; 2] = [-62_167_219_200_000_000, 253_402_300_799_999_999];

/// Parses a time argument: `YYYY-MM-DD` for the whole of that day in UTC, or RFC 3339 for a moment;
/// in the years 0000 to 9999 of UTC. Returns `None` if it is blank, as if it were omitted.
///
/// # Errors
/// `invalid_argument`, naming the argument, for any other text.
pub fn period(argument: &str, text: Option<&str>) -> Result<Option<Period>> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let problem = "must be a day such as 2026-01-31, or a moment with its offset such as 2026-01-31T09:30:00Z or \
        2026-01-31T09:30:00+01:00";
    read(text)
        .map(Some)
        .ok_or_else(|| Error::invalid(argument, problem))
}

fn read(text: &str) -> Option<Period> {
    // The parser accepts other forms of ISO 8601 too.
    let pieces = Pieces::parse(text).ok().filter(|_| has_form(text))?;
    let day = microseconds(pieces.date().to_datetime(Time::MIN))?;
    let (first, last) = match pieces.time() {
        None => (day, day + DAY_MICROSECONDS - 1),
        Some(time) => {
            let offset_seconds = i64::from(pieces.to_numeric_offset()?.seconds());
            let moment =
                microseconds(pieces.date().to_datetime(time))? - offset_seconds * 1_000_000;
            (moment, moment)
        }
    };
    if first < YEARS[0] || last > YEARS[1] {
        return None;
    }
    Some(Period {
        first: Timestamp::from_microseconds(first),
        last: Timestamp::from_microseconds(last),
    })
}

/// Returns true if the text is a `full-date` or `date-time` of RFC 3339 (section 5.6, which allows
/// a blank instead of the T).
fn has_form(text: &str) -> bool {
    let is_like = |text: &str, form: &str| {
        let fits = |(byte, form): (u8, u8)| {
            if form == b'0' {
                byte.is_ascii_digit()
            } else {
                byte == form
            }
        };
        text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
    };
    let Some((_, time)) = text
        .split_at_checked(10)
        .filter(|(date, _)| is_like(date, "0000-00-00"))
    else {
        return false;
    };
    if time.is_empty() {
        return true;
    }
    let Some(time) = time.strip_prefix(['T', 't', ' ']) else {
        return false;
    };
    let Some((clock, offset)) = time
        .find(['Z', 'z', '+', '-'])
        .map(|place| time.split_at(place))
    else {
        return false;
    };
    let (seconds, fraction) = clock
        .split_once('.')
        .map_or((clock, None), |(seconds, digits)| (seconds, Some(digits)));
    let is_fraction =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_offset =
        || is_like(&offset[1..], "00:00") && offset[1..3] < *"24" && offset[4..6] < *"60";
    is_like(seconds, "00:00:00")
        && fraction.is_none_or(is_fraction)
        && (matches!(offset, "Z" | "z") || is_offset())
}

/// Returns the microseconds from 1970 to a date and time in UTC.
fn microseconds(moment: DateTime) -> Option<i64> {
    i64::try_from(moment.duration_since(EPOCH).as_nanos().div_euclid(1_000)).ok()
}

/// Formats a time: `YYYY-MM-DD` if it starts with a day and is not a single moment, otherwise its
/// first moment in RFC 3339.
pub fn shown(period: Period) -> String {
    let Period { first, last } = period;
    let is_day = first.microseconds().rem_euclid(DAY_MICROSECONDS) == 0 && first != last;
    if is_day {
        date(first)
    } else {
        in_utc(first).map_or_else(String::new, |moment| format!("{moment}+00:00"))
    }
}

/// Returns the day of a moment in UTC, as `YYYY-MM-DD`.
pub fn date(moment: Timestamp) -> String {
    in_utc(moment).map_or_else(String::new, |moment| moment.date().to_string())
}

/// Converts a timestamp to UTC. Every parsed time and every clock value is in the supported range.
fn in_utc(moment: Timestamp) -> Option<DateTime> {
    EPOCH
        .checked_add(SignedDuration::from_micros(moment.microseconds()))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read_and_shown() {
        let rows = [
            ("1970-01-01", "1970-01-01", 0, DAY_MICROSECONDS - 1),
            ("1969-12-31", "1969-12-31", -DAY_MICROSECONDS, -1),
            (
                " 2024-02-29 ",
                "2024-02-29",
                1_709_164_800_000_000,
                1_709_251_199_999_999,
            ),
            (
                "9999-12-31",
                "9999-12-31",
                253_402_214_400_000_000,
                253_402_300_799_999_999,
            ),
            (
                "0000-01-01",
                "0000-01-01",
                -62_167_219_200_000_000,
                -62_167_132_800_000_001,
            ),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00", 0, 0),
            (
                "1970-01-01 00:00:01z",
                "1970-01-01T00:00:01+00:00",
                1_000_000,
                1_000_000,
            ),
            (
                "1970-01-01T00:30:00+01:00",
                "1969-12-31T23:30:00+00:00",
                -1_800_000_000,
                -1_800_000_000,
            ),
            (
                "1970-01-01T10:00:00.25-05:30",
                "1970-01-01T15:30:00.25+00:00",
                55_800_250_000,
                55_800_250_000,
            ),
            (
                "1970-01-01T00:00:00-00:00",
                "1970-01-01T00:00:00+00:00",
                0,
                0,
            ),
            (
                "1970-01-02t00:00:00+23:59",
                "1970-01-01T00:01:00+00:00",
                60_000_000,
                60_000_000,
            ),
            (
                "9999-12-31T23:59:59.999999Z",
                "9999-12-31T23:59:59.999999+00:00",
                YEARS[1],
                YEARS[1],
            ),
            (
                "0000-01-01T00:00:00Z",
                "0000-01-01T00:00:00+00:00",
                YEARS[0],
                YEARS[0],
            ),
            (
                "1969-12-31T23:59:59.9999999Z",
                "1969-12-31T23:59:59.999999+00:00",
                -1,
                -1,
            ),
        ];
        for (text, expected, first, last) in rows {
            let period = period("as_of", Some(text)).unwrap().unwrap();
            assert_eq!(
                (period.first.microseconds(), period.last.microseconds()),
                (first, last),
                "{text}"
            );
            assert_eq!(shown(period), expected, "{text}");
            let again = super::period("as_of", Some(expected)).unwrap().unwrap();
            assert_eq!(again, period, "{expected} does not read back");
        }
        assert_eq!(
            (period("as_of", None), period("as_of", Some(" "))),
            (Ok(None), Ok(None))
        );
    }

    #[test]
    fn a_part_of_a_day_from_its_beginning_shows_as_the_day() {
        let at = Timestamp::from_microseconds;
        let rows = [
            (
                Period {
                    first: at(DAY_MICROSECONDS),
                    last: at(DAY_MICROSECONDS + 1),
                },
                "1970-01-02",
            ),
            (
                Period {
                    first: at(DAY_MICROSECONDS),
                    last: at(DAY_MICROSECONDS),
                },
                "1970-01-02T00:00:00+00:00",
            ),
            (
                Period {
                    first: at(1),
                    last: at(DAY_MICROSECONDS),
                },
                "1970-01-01T00:00:00.000001+00:00",
            ),
        ];
        for (period, expected) in rows {
            assert_eq!(shown(period), expected);
        }
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        let texts = [
            "yesterday",
            "2026",
            "2026-01",
            "20260131",
            "2026-1-31",
            "2026-02-30",
            "2026-13-01",
            "+002026-01-31",
            "-002026-01-31",
            "10000-01-01",
            "2026-01-31T09:30:00",
            "2026-01-31T25:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T10Z",
            "2026-01-31T10:00Z",
            "2026-01-31T100000Z",
            "2026-01-31T10:00:00,5Z",
            "2026-01-31T10:00:00.Z",
            "2026-01-31T10:00:00+01",
            "2026-01-31T10:00:00+0100",
            "2026-01-31T10:00:00+24:00",
            "2026-01-31T10:00:00-25:59",
            "2026-01-31T10:00:00+01:60",
            "2026-01-31T10:00:00+01:00:30",
            "2026-01-31T10:00:00Z+01:00",
            "2026-01-31_10:00:00Z",
            "2026-01-31T10:00:00é",
            "9999-12-31T23:59:59-00:01",
            "0000-01-01T00:00:00+00:01",
            "2026-01-31Z",
            "2026-01-31[UTC]",
            "2026-01-31T09:30:00[Europe/Berlin]",
            "2026-01-31T09:30:00+01:00[Europe/Berlin]",
            "2026-01-31 and more",
            "1767225600",
            "\u{ff12}026-01-31",
        ];
        for text in texts {
            let error = period("ended", Some(text)).unwrap_err();
            assert!(
                error.message.starts_with("`ended` must be a day"),
                "{text:?}: {}",
                error.message
            );
        }
    }
}
