//! Moments as people write them on the command line.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use loci_core::{Error, Timestamp};

use crate::output::counted;

/// Returns a moment as [`parse`] reads it back, to the microsecond.
pub fn format(moment: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(moment.microseconds()).map_or_else(
        |_| moment.microseconds().to_string(),
        |moment| moment.to_string(),
    )
}

/// Parses a moment, a day, or a time ago, as a person writes it for the flag `flag`.
///
/// # Errors
/// `invalid_argument`, naming the flag, for another text.
pub fn parse(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp, Error> {
    let utc = |moment: DateTime| {
        moment
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|moment| moment.timestamp())
    };
    let instant = text.parse::<jiff::Timestamp>().ok();
    let instant = instant.or_else(|| text.parse().ok().and_then(utc));
    let instant = instant.or_else(|| {
        text.parse()
            .ok()
            .and_then(|day: Date| utc(day.to_datetime(jiff::civil::Time::MIN)))
    });
    if let Some(instant) = instant {
        return Ok(Timestamp::from_microseconds(instant.as_microsecond()));
    }
    let seconds = loci_dialects::ttl_seconds(flag, text).map_err(|error| {
        Error::invalid(
            flag,
            "must be a day (2026-01-31), a moment (2026-01-31T12:00:00Z) or a time ago (90m, 12h, 7d)",
        )
        .caused_by(error)
    })?;
    Ok(now.plus_seconds(-i64::try_from(seconds).unwrap_or(i64::MAX)))
}

/// Returns how long ago a moment was, in words.
pub fn ago(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.microseconds().saturating_sub(at.microseconds()) / 1_000_000;
    let minutes = u64::try_from(seconds).unwrap_or(0) / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{} ago", counted(minutes, "minute")),
        60..1_440 => format!("{} ago", counted(minutes / 60, "hour")),
        _ => format!("{} ago", counted(minutes / 1_440, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_days_and_times_ago() {
        let now = Timestamp::from_microseconds(1_767_225_600_000_000);
        let rows = [
            ("2025-12-31", Some(-86_400)),
            ("2025-12-31T23:00:00Z", Some(-3_600)),
            ("2025-12-31T23:00:00", Some(-3_600)),
            ("2026-01-01T01:00:00+02:00", Some(-3_600)),
            ("90m", Some(-5_400)),
            ("yesterday", None),
            ("", None),
        ];
        let second = now.plus_seconds(-1);
        assert_eq!(parse("--since", &format(second), now), Ok(second));
        for (text, expected) in rows {
            assert_eq!(
                parse("--since", text, now).ok(),
                expected.map(|seconds| now.plus_seconds(seconds)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn times_are_told_in_words() {
        let now = Timestamp::from_microseconds(100 * 86_400 * 1_000_000);
        for (seconds, expected) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3_599, "59 minutes ago"),
            (3_600, "1 hour ago"),
            (86_400, "1 day ago"),
            (30 * 86_400, "30 days ago"),
        ] {
            assert_eq!(ago(now, now.plus_seconds(-seconds)), expected);
        }
    }
}
