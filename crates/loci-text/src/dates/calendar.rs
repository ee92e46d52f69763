//! Computes days, weeks, months and years around a day. Weeks start on Monday (ISO 8601).

use std::ops::RangeInclusive;

use jiff::SignedDuration;
use jiff::civil::Date;

/// A range from the first to the last day.
pub(super) type Days = RangeInclusive<Date>;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Less than a day: seconds to hours.
    Short,
    Day,
    Week,
    Weekend,
    Month,
    Year,
    Decade,
}

/// Returns the day this many days later, clamped to the calendar.
pub(super) fn shifted(day: Date, days: i64) -> Date {
    day.saturating_add(SignedDuration::from_hours(
        days.clamp(-4_000_000, 4_000_000) * 24,
    ))
}

/// Returns the month that is this many months from the day's month.
pub(super) fn month_from(day: Date, months: i64) -> Option<Days> {
    let months = i64::from(day.year()) * 12 + i64::from(day.month()) - 1 + months;
    month_of(
        i16::try_from(months.div_euclid(12)).ok()?,
        months.rem_euclid(12) as i8 + 1,
    )
}

/// Returns a month of a year.
pub(super) fn month_of(year: i16, month: i8) -> Option<Days> {
    let first = Date::new(year, month, 1).ok()?;
    Some(first..=first.last_of_month())
}

/// Returns a year.
pub(super) fn year_of(year: i64) -> Option<Days> {
    let first = Date::new(i16::try_from(year).ok()?, 1, 1).ok()?;
    Some(first..=first.last_of_year())
}

/// Returns three months from this one on: a season.
pub(super) fn season_of(year: i16, first_month: i8) -> Option<Days> {
    let first = Date::new(year, first_month, 1).ok()?;
    Some(first..=*month_from(first, 2)?.end())
}

/// Returns the week, month ... that is `steps` units from the one that contains the day.
pub(super) fn unit_from(day: Date, unit: Unit, steps: i64) -> Option<Days> {
    let monday = shifted(day, -i64::from(day.weekday().to_monday_zero_offset()));
    match unit {
        Unit::Short => None,
        Unit::Day => Some(shifted(day, steps)..=shifted(day, steps)),
        Unit::Week => Some(shifted(monday, steps * 7)..=shifted(monday, steps * 7 + 6)),
        Unit::Weekend => Some(shifted(monday, steps * 7 + 5)..=shifted(monday, steps * 7 + 6)),
        Unit::Month => month_from(day, steps),
        Unit::Year => year_of(i64::from(day.year()) + steps),
        Unit::Decade => {
            let first = (i64::from(day.year()).div_euclid(10) + steps) * 10;
            Some(*year_of(first)?.start()..=*year_of(first + 9)?.end())
        }
    }
}

/// Returns the days of an event that happened `count` units before the day. Weeks are approximate,
/// so they get three days on each side.
pub(super) fn ago(day: Date, unit: Unit, count: i64) -> Option<Days> {
    match unit {
        Unit::Week => Some(shifted(day, -count * 7 - 3)..=shifted(day, -count * 7 + 3)),
        Unit::Short => Some(day..=day),
        _ => unit_from(day, unit, -count),
    }
}

/// Returns the range of `count` units that ends with the day.
pub(super) fn past(day: Date, unit: Unit, count: i64) -> Option<Days> {
    let first = match unit {
        Unit::Short => return None,
        Unit::Day => shifted(day, -count),
        Unit::Week | Unit::Weekend => shifted(day, -count * 7),
        Unit::Month => *month_from(day, -count)?.start(),
        Unit::Year => *year_of(i64::from(day.year()) - count)?.start(),
        Unit::Decade => *year_of(i64::from(day.year()) - count * 10)?.start(),
    };
    Some(first..=day)
}

/// Returns the weekday (0 is Monday) before the day (`steps` -1), after it (1) or in its week (0).
pub(super) fn weekday_from(day: Date, weekday: i8, steps: i64) -> Date {
    let today = i64::from(day.weekday().to_monday_zero_offset());
    let ahead = (i64::from(weekday) - today).rem_euclid(7);
    match steps {
        0 => shifted(day, i64::from(weekday) - today),
        1 => shifted(day, if ahead == 0 { 7 } else { ahead }),
        _ => shifted(day, ahead - 7),
    }
}

/// Returns the last yearly range that ended before the day (`steps` -1), the next one that starts
/// after it (1), or the one in the day's year (0).
pub(super) fn yearly_from(
    day: Date,
    steps: i64,
    of_year: impl Fn(i16) -> Option<Days>,
) -> Option<Days> {
    let years = day.year().saturating_sub(2)..=day.year().saturating_add(2);
    match steps {
        0 => of_year(day.year()),
        1 => years.filter_map(of_year).find(|days| *days.start() > day),
        _ => years
            .rev()
            .filter_map(of_year)
            .find(|days| *days.end() < day),
    }
}

/// Returns the last yearly range that started on the day or before it.
pub(super) fn latest(day: Date, of_year: impl Fn(i16) -> Option<Days>) -> Option<Days> {
    // The nearest leap day is at most eight years away.
    let years = day.year().saturating_sub(8)..=day.year();
    years
        .rev()
        .filter_map(of_year)
        .find(|days| *days.start() <= day)
}

/// Returns the yearly range whose middle is nearest to the day; of two, the earlier one.
pub(super) fn nearest(day: Date, of_year: impl Fn(i16) -> Option<Days>) -> Option<Days> {
    // The nearest leap day is at most eight years away.
    let years = day.year().saturating_sub(8)..=day.year().saturating_add(8);
    let distance = |days: &Days| {
        day.duration_since(*days.start()).as_hours().abs()
            + day.duration_since(*days.end()).as_hours().abs()
    };
    years.filter_map(of_year).min_by_key(distance)
}
