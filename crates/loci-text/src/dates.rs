//! Finds expressions of time in a text and the days that they refer to.
//!
//! Dates in digits (`2023-05-07`, `7.5.2023`, `2023年5月7日`) are recognised in every language; month
//! names, weekdays and expressions relative to the day of writing ("last Friday", "two weeks ago")
//! in English. A word with another meaning ("may", "march", "Sun") counts only beside a number or
//! after a word such as "in" or "last". `8/5/2023` could be a day of May or of August, so only its
//! year is used.

mod calendar;
mod grammar;
pub(crate) mod marks;
mod tokens;

use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

/// The zone whose days count; UTC if none is set.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// The names of the months, folded.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A part of a text that refers to a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Its range of bytes in the text.
    pub range: Range<usize>,
    /// The time that it refers to.
    pub time: Time,
}

/// The time that an expression refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Time {
    /// A day with its year, which does not depend on the reference day.
    Date(Date),
    /// All of these days, or one day among them.
    Days(RangeInclusive<Date>),
    /// A month, or a day in a month, without a year.
    Yearly {
        /// The month, from 1 to 12.
        month: i8,
        /// The day of the month, if there is one.
        day: Option<i8>,
        /// The occurrence nearest to the reference day.
        nearest: RangeInclusive<Date>,
    },
    /// An unspecific time: "recently", "at noon", "for three years".
    Vague,
}

/// Returns the expressions of time in a text, in order and without overlap. `reference` is the day
/// on which it was written.
pub fn expressions(text: &str, reference: Date) -> Vec<Expression> {
    let tokens = tokens::tokens(text);
    let grammar = grammar::Grammar {
        tokens: &tokens,
        reference,
        is_past: false,
    };
    let (mut found, mut index) = (Vec::new(), 0);
    while index < tokens.len() {
        let Some((end, time)) = grammar.expression(index) else {
            index += 1;
            continue;
        };
        found.push(Expression {
            range: tokens[index].start..tokens[end - 1].end,
            time,
        });
        index = end;
    }
    found
}

/// Returns the days that a text names with their year, in any format, including those inside
/// another expression ("since 7 May 2023"), with their ranges of bytes.
pub(crate) fn full_dates(text: &str) -> Vec<(Range<usize>, Date)> {
    let tokens = tokens::tokens(text);
    let grammar = grammar::Grammar {
        tokens: &tokens,
        reference: Date::ZERO,
        is_past: false,
    };
    let (mut found, mut index) = (Vec::new(), 0);
    while index < tokens.len() {
        let Some((end, time)) = grammar.written(index) else {
            index += 1;
            continue;
        };
        if let Time::Date(date) = time {
            found.push((tokens[index].start..tokens[end - 1].end, date));
        }
        index = end;
    }
    found
}

/// Returns the day if the text is `2023-05-08`, or starts with such a date and continues with a
/// time of day.
pub fn iso_date(text: &str) -> Option<Date> {
    let date = text.get(..10)?;
    let shape = date.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let ends = match text.as_bytes().get(10) {
        None => true,
        Some(b'T' | b't' | b' ') => text.as_bytes().get(11).is_some_and(u8::is_ascii_digit),
        Some(_) => false,
    };
    if !shape || !ends {
        return None;
    }
    Date::new(
        date[..4].parse().ok()?,
        date[5..7].parse().ok()?,
        date[8..].parse().ok()?,
    )
    .ok()
}

/// Sets the zone in which [`day`] finds the day of a moment, so that "yesterday" is the one of the
/// people who read and write here. Only the first call of a process has an effect; without one,
/// days are in UTC.
pub fn set_zone(zone: TimeZone) {
    // A second zone would give moments two days.
    _ = ZONE.set(zone);
}

/// Returns the day of a moment in microseconds since 1970, in the [zone](set_zone) of the process.
/// A moment beyond the calendar maps to its first or last day.
pub fn day(microseconds: i64) -> Date {
    let beyond = if microseconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let moment = Timestamp::from_microsecond(microseconds).unwrap_or(beyond);
    let there = match ZONE.get() {
        Some(zone) => zone.to_datetime(moment),
        None => Offset::UTC.to_datetime(moment),
    };
    there.date()
}

#[cfg(test)]
mod tests;
