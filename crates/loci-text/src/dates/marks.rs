//! Marks of days, months and years: a passage is indexed under them, and a query looks for them.
//!
//! `@day=2023-05-07`, `@day=05-07` (of any year), `@month=2023-05`, `@month=05`, `@year=2023`.

use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::Time;
use super::calendar::{Days, month_from, shifted, year_of};

/// The longest span that is represented by its days.
const SPAN_DAYS_MAX: i64 = 31;
/// The longest span that is represented by its months.
const SPAN_MONTHS_MAX: i64 = 24;
/// The longest span that is represented by all of its years. A longer one has only its last years.
const SPAN_YEARS_MAX: i64 = 24;

/// The granularity of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Grain {
    Days,
    Months,
    Years,
}

/// Returns the marks of a text that refers to this time: as fine as the time, and all coarser ones.
pub(crate) fn of_text(time: &Time) -> Vec<String> {
    match time {
        Time::Date(day) => of_text_days(&(*day..=*day)),
        Time::Days(days) => of_text_days(days),
        Time::Yearly {
            month,
            day: None,
            nearest,
        } => [vec![yearly_month(*month)], of_text_days(nearest)].concat(),
        Time::Yearly { nearest, .. } => of_text_days(nearest),
        Time::Vague => Vec::new(),
    }
}

/// Returns the marks of which a text must have one to match this time.
pub(crate) fn of_query(time: &Time) -> Vec<String> {
    let days = match time {
        Time::Date(day) => &(*day..=*day),
        Time::Days(days) => days,
        Time::Yearly {
            month, day: None, ..
        } => return vec![yearly_month(*month)],
        Time::Yearly { nearest, .. } => return vec![yearly_day(*nearest.start())],
        Time::Vague => return Vec::new(),
    };
    match grain(days) {
        Grain::Days => each_day(days).map(day).collect(),
        Grain::Months => each_month(days).map(month).collect(),
        Grain::Years => each_year(days).map(year).collect(),
    }
}

/// Returns the days of a time that includes its year.
pub(crate) fn days(time: &Time) -> Option<Days> {
    match time {
        Time::Date(day) => Some(*day..=*day),
        Time::Days(days) => Some(days.clone()),
        Time::Yearly { .. } | Time::Vague => None,
    }
}

fn of_text_days(days: &Days) -> Vec<String> {
    let grain = grain(days);
    let mut marks = Vec::new();
    if grain == Grain::Days {
        marks.extend(each_day(days).map(day));
        if days.start() == days.end() {
            marks.push(yearly_day(*days.start()));
        }
    }
    if grain <= Grain::Months {
        for first in each_month(days) {
            marks.extend([month(first), yearly_month(first.month())]);
        }
    }
    marks.extend(each_year(days).map(year));
    marks
}

/// Returns the granularity of a span. Whole months and years are represented as such at any length.
fn grain(days: &Days) -> Grain {
    let (first, last) = (*days.start(), *days.end());
    let months = months(days);
    if months > SPAN_MONTHS_MAX || first == first.first_of_year() && last == last.last_of_year() {
        Grain::Years
    } else if first.duration_until(last).as_hours() / 24 >= SPAN_DAYS_MAX
        || first == first.first_of_month() && last == last.last_of_month()
    {
        Grain::Months
    } else {
        Grain::Days
    }
}

fn months(days: &Days) -> i64 {
    let number = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
    number(*days.end()) - number(*days.start()) + 1
}

fn each_day(days: &RangeInclusive<Date>) -> impl Iterator<Item = Date> {
    let (first, last) = (*days.start(), *days.end());
    (0..SPAN_DAYS_MAX)
        .map(move |step| shifted(first, step))
        .take_while(move |day| *day <= last)
}

fn each_month(days: &RangeInclusive<Date>) -> impl Iterator<Item = Date> {
    let first = *days.start();
    (0..months(days)).filter_map(move |step| Some(*month_from(first, step)?.start()))
}

fn each_year(days: &RangeInclusive<Date>) -> impl Iterator<Item = Date> {
    let (first, last) = (i64::from(days.start().year()), i64::from(days.end().year()));
    (first.max(last - SPAN_YEARS_MAX + 1)..=last).filter_map(|year| Some(*year_of(year)?.start()))
}

fn day(day: Date) -> String {
    format!("@day={day}")
}

fn yearly_day(day: Date) -> String {
    format!("@day={:02}-{:02}", day.month(), day.day())
}

fn month(day: Date) -> String {
    format!("@month={:04}-{:02}", day.year(), day.month())
}

fn yearly_month(month: i8) -> String {
    format!("@month={month:02}")
}

fn year(day: Date) -> String {
    format!("@year={:04}", day.year())
}
