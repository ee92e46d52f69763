//! Points in time, as the page and its JSON show them.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use loci_core::{Error, Result, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A timestamp that is shown in UTC: as RFC 3339 in JSON, to the minute in HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(as = Moment, value_type = String, format = DateTime)]
pub struct UtcTimestamp(pub Timestamp);

impl UtcTimestamp {
    /// Returns it as RFC 3339, in UTC.
    pub fn rfc3339(self) -> String {
        self.instant().map_or_else(
            || self.0.microseconds().to_string(),
            |instant| instant.to_string(),
        )
    }

    /// Returns it to the minute, in UTC. A script shows it in the zone of the reader.
    pub fn short(self) -> String {
        self.instant().map_or_else(String::new, |instant| {
            instant.strftime("%Y-%m-%d %H:%M UTC").to_string()
        })
    }

    /// Returns its hour and minute, in UTC. A script shows them in the zone of the reader.
    pub fn clock(self) -> String {
        self.instant()
            .map_or_else(String::new, |instant| instant.strftime("%H:%M").to_string())
    }

    /// Returns its day, in UTC.
    pub fn day(self) -> String {
        self.instant().map_or_else(String::new, |instant| {
            instant.strftime("%Y-%m-%d").to_string()
        })
    }

    fn instant(self) -> Option<jiff::Timestamp> {
        jiff::Timestamp::from_microsecond(self.0.microseconds()).ok()
    }

    /// Parses a day or an instant of the argument `argument`; of a day the first microsecond, or
    /// the last one if `is_end`.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument, for another text.
    pub fn parse(argument: &str, text: &str, is_end: bool) -> Result<Timestamp> {
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Ok(Timestamp::from_microseconds(instant.as_microsecond()));
        }
        let day = text.parse::<jiff::civil::Date>().ok();
        let clock = if is_end {
            jiff::civil::Time::MAX
        } else {
            jiff::civil::Time::MIN
        };
        day.map(|day| DateTime::from_parts(day, clock))
            .and_then(|moment| moment.to_zoned(TimeZone::UTC).ok())
            .map(|moment| Timestamp::from_microseconds(moment.timestamp().as_microsecond()))
            .ok_or_else(|| {
                Error::invalid(
                    argument,
                    "must be a day (2026-01-31) or an instant (2026-01-31T12:00:00Z)",
                )
            })
    }
}

impl fmt::Display for UtcTimestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.short())
    }
}

impl Serialize for UtcTimestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_instants_are_read() {
        let rows = [
            ("2026-01-01", false, Some(1_767_225_600_000_000)),
            ("2026-01-01", true, Some(1_767_311_999_999_999)),
            (
                "2026-01-01T01:00:00+01:00",
                true,
                Some(1_767_225_600_000_000),
            ),
            ("yesterday", false, None),
            ("", false, None),
        ];
        for (text, is_end, expected) in rows {
            let read = UtcTimestamp::parse("from", text, is_end).ok();
            assert_eq!(read, expected.map(Timestamp::from_microseconds), "{text:?}");
        }
    }

    #[test]
    fn a_moment_is_shown_to_the_minute_and_told_to_the_microsecond() {
        let moment = UtcTimestamp(Timestamp::from_microseconds(1_767_225_661_000_002));
        assert_eq!(moment.short(), "2026-01-01 00:01 UTC");
        assert_eq!(moment.rfc3339(), "2026-01-01T00:01:01.000002Z");
        assert_eq!(moment.day(), "2026-01-01");
    }
}
