//! The grammar of expressions of time over tokens.

use jiff::civil::Date;

use super::Time;
use super::calendar::Unit;
use super::calendar::{
    Days, ago, latest, month_from, month_of, nearest, past, season_of, shifted, unit_from,
    weekday_from, year_of, yearly_from,
};
use super::tokens::{Kind, Token};

/// The years that a number without context may be.
const BARE_YEARS: std::ops::RangeInclusive<u32> = 1900..=2099;

/// The tokens of a text and the day on which it was written.
pub(super) struct Grammar<'a> {
    pub tokens: &'a [Token],
    pub reference: Date,
    /// True if a day or month without a year is the last one that started, instead of the nearest:
    /// "since December".
    pub is_past: bool,
}

/// The index of the token after an expression, and its time.
type ParsedTime = Option<(usize, Time)>;

impl Grammar<'_> {
    /// Returns the expression that starts at this token.
    pub fn expression(&self, at: usize) -> ParsedTime {
        match self.kind(at) {
            Kind::Number { .. } => self
                .date_in_digits(at)
                .or_else(|| self.day_then_month(at))
                .or_else(|| self.count(at))
                .or_else(|| self.bare_year(at)),
            Kind::Month(..) => self.month(at),
            Kind::Weekday(..) => self.weekday(at),
            Kind::Unit(unit) => self.unit(at, unit),
            Kind::Season(first_month) => self.season(at, first_month),
            Kind::Vague => Some((at + 1, Time::Vague)),
            Kind::Word(word) => self.word(at, word),
            Kind::Sign(_) | Kind::Other => None,
        }
    }

    /// Returns a date, a range of days or a month that is written with a number or the name of a
    /// month.
    pub fn written(&self, at: usize) -> ParsedTime {
        self.date_in_digits(at)
            .or_else(|| self.day_then_month(at))
            .or_else(|| self.month(at))
    }

    fn of_some_year(&self, of_year: impl Fn(i16) -> Option<Days>) -> Option<Days> {
        if self.is_past {
            latest(self.reference, of_year)
        } else {
            nearest(self.reference, of_year)
        }
    }

    fn kind(&self, at: usize) -> Kind {
        self.tokens.get(at).map_or(Kind::Other, |token| token.kind)
    }

    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        matches!(self.kind(at), Kind::Word(word) if words.contains(&word))
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.kind(at) == Kind::Sign(sign)
    }

    /// True if there is no white space before the token.
    fn is_glued(&self, at: usize) -> bool {
        at > 0
            && self
                .tokens
                .get(at)
                .is_some_and(|token| token.start == self.tokens[at - 1].end)
    }

    fn number(&self, at: usize) -> Option<u32> {
        match self.kind(at) {
            Kind::Number { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns a number with this many digits.
    fn digits(&self, at: usize, range: std::ops::RangeInclusive<usize>) -> Option<u32> {
        match self.kind(at) {
            Kind::Number {
                value,
                digits,
                ordinal: false,
            } if range.contains(&digits) => Some(value),
            _ => None,
        }
    }

    /// Returns a year of four digits, optionally after a comma or "of".
    fn year_after(&self, at: usize) -> Option<(usize, i16)> {
        let at = if self.is_sign(at, ',') || self.is_word(at, &["of"]) {
            at + 1
        } else {
            at
        };
        let year = self
            .digits(at, 4..=4)
            .filter(|year| (1000..=2999).contains(year))?;
        Some((at + 1, year as i16))
    }

    /// Parses `2023-05-07`, `2023/05/07`, `2023-05`, `7.5.2023`, `8/5/2023`, `2023年5月7日`.
    fn date_in_digits(&self, at: usize) -> ParsedTime {
        let Kind::Sign(sign @ ('-' | '/' | '.' | '年')) = self.kind(at + 1) else {
            return None;
        };
        let (first, second) = (self.number(at)?, self.digits(at + 2, 1..=2)?);
        if sign == '年' {
            return self.east_asian_date(at, first, second);
        }
        if !self.is_glued(at + 1) || !self.is_glued(at + 2) {
            return None;
        }
        let third = self.is_sign(at + 3, sign) && self.is_glued(at + 3) && self.is_glued(at + 4);
        let third = third.then(|| self.digits(at + 4, 1..=4)).flatten();
        let is_year = |at| {
            self.digits(at, 4..=4)
                .is_some_and(|year| (1000..=2999).contains(&year))
        };
        match third {
            Some(day) if is_year(at) && sign != '.' => {
                Some((at + 5, Time::Date(date(first, second, day)?)))
            }
            Some(year) if is_year(at + 4) && sign == '.' => {
                Some((at + 5, Time::Date(date(year, second, first)?)))
            }
            Some(year) if is_year(at + 4) && sign == '/' && first <= 31 && second <= 31 => {
                Some((at + 5, Time::Days(year_of(i64::from(year))?)))
            }
            None if is_year(at)
                && sign == '-'
                && self.digits(at + 2, 2..=2).is_some()
                && !self.is_sign(at + 3, '-') =>
            {
                Some((
                    at + 3,
                    Time::Days(month_of(first as i16, i8::try_from(second).ok()?)?),
                ))
            }
            _ => None,
        }
    }

    fn east_asian_date(&self, at: usize, year: u32, month: u32) -> ParsedTime {
        if !self.is_sign(at + 3, '月') {
            return None;
        }
        if let Some(day) = self
            .digits(at + 4, 1..=2)
            .filter(|_| self.is_sign(at + 5, '日'))
        {
            return Some((at + 6, Time::Date(date(year, month, day)?)));
        }
        Some((
            at + 4,
            Time::Days(month_of(
                i16::try_from(year).ok()?,
                i8::try_from(month).ok()?,
            )?),
        ))
    }

    /// Parses a day of the month, or two joined by "to", "and" or a dash; returns the end, the
    /// first, the last.
    fn days_of_month(&self, at: usize) -> Option<(usize, i8, i8)> {
        let day = |at| match self.kind(at) {
            Kind::Number {
                value: value @ 1..=31,
                digits: 1..=2,
                ..
            } => Some(value as i8),
            _ => None,
        };
        let first = day(at)?;
        let joined = self.is_sign(at + 1, '-') || self.is_word(at + 1, &["to", "and"]);
        match day(at + 2).filter(|last| joined && *last > first) {
            Some(last) => Some((at + 3, first, last)),
            None => Some((at + 1, first, first)),
        }
    }

    /// Parses `7 May 2023`, `7th of May`, `3-9 May 2023`.
    fn day_then_month(&self, at: usize) -> ParsedTime {
        let (after, first, last) = self.days_of_month(at)?;
        let at = if self.is_word(after, &["of"]) {
            after + 1
        } else {
            after
        };
        let Kind::Month(month, _) = self.kind(at) else {
            return None;
        };
        self.with_year(at, at + 1, month, first, last)
    }

    /// Returns days of a month, with the year that may follow at `after`. If the month name at
    /// `name` could be another word, it needs a capital letter or the year.
    fn with_year(&self, name: usize, after: usize, month: i8, first: i8, last: i8) -> ParsedTime {
        if let Some((end, year)) = self.year_after(after) {
            let days = Date::new(year, month, first).ok()?..=Date::new(year, month, last).ok()?;
            return Some((
                end,
                if first == last {
                    Time::Date(*days.start())
                } else {
                    Time::Days(days)
                },
            ));
        }
        if !self.tokens[name].capital && !is_only_a_month(self.kind(name)) {
            return None;
        }
        let of_year =
            |year| Some(Date::new(year, month, first).ok()?..=Date::new(year, month, last).ok()?);
        let nearest = self.of_some_year(of_year)?;
        let yearly = Time::Yearly {
            month,
            day: Some(first),
            nearest: nearest.clone(),
        };
        Some((
            after,
            if first == last {
                yearly
            } else {
                Time::Days(nearest)
            },
        ))
    }

    /// Parses `May 7, 2023`, `May 3-9`, `May 2023`, `in May`.
    fn month(&self, at: usize) -> ParsedTime {
        let kind = self.kind(at);
        let Kind::Month(month, _) = kind else {
            return None;
        };
        // "Sept. 5"
        let after = if self.is_sign(at + 1, '.') && self.number(at + 2).is_some() {
            at + 2
        } else {
            at + 1
        };
        if let Some((end, first, last)) = self.days_of_month(after) {
            let found = self.with_year(at, end, month, first, last);
            // "in May 5 people came" is misread, which is rare enough.
            if found.is_some() {
                return found;
            }
        }
        if let Some((end, year)) = self.year_after(after) {
            return Some((end, Time::Days(month_of(year, month)?)));
        }
        let context = &[
            "in", "during", "since", "to", "by", "of", "early", "mid", "late", "end", "every",
            "from", "before", "after", "around", "between", "last", "next", "this",
        ];
        let has_context = at > 0
            && (self.is_word(at - 1, context) || (self.is_sign(at - 1, '-') && self.is_glued(at)));
        if !(is_only_a_month(kind) || self.tokens[at].capital && has_context) {
            return None;
        }
        let nearest = self.of_some_year(|year| month_of(year, month))?;
        Some((
            at + 1,
            Time::Yearly {
                month,
                day: None,
                nearest,
            },
        ))
    }

    /// Parses "on Friday", "Friday before 9 June 2023"; a weekday by itself is the one before the
    /// reference.
    fn weekday(&self, at: usize) -> ParsedTime {
        let Kind::Weekday(weekday, is_full) = self.kind(at) else {
            return None;
        };
        let context = at > 0
            && self.is_word(
                at - 1,
                &["on", "last", "next", "this", "every", "to", "by", "from"],
            );
        let counts = if is_full {
            self.tokens[at].capital || context
        } else {
            self.tokens[at].capital && context
        };
        if !counts {
            return None;
        }
        let (end, reference, steps) = self.anchor(at + 1, -1);
        let day = weekday_from(reference, weekday, steps);
        Some((end, Time::Days(day..=day)))
    }

    /// Parses "before 9 June 2023", "after ..." or "of ..." after a unit or weekday; returns the
    /// day to count from, and the direction.
    fn anchor(&self, at: usize, steps: i64) -> (usize, Date, i64) {
        let direction = match self.kind(at) {
            Kind::Word("before") => -1,
            Kind::Word("after") => 1,
            Kind::Word("of") => 0,
            _ => return (at, self.reference, steps),
        };
        match self.written(at + 1) {
            Some((end, Time::Date(day))) => (end, day, direction),
            Some((
                end,
                Time::Yearly {
                    day: Some(_),
                    nearest,
                    ..
                },
            )) => (end, *nearest.start(), direction),
            _ => (at, self.reference, steps),
        }
    }

    /// Parses "week before 9 June 2023", "day before yesterday"; a unit by itself is vague.
    fn unit(&self, at: usize, unit: Unit) -> ParsedTime {
        let (end, day, steps) = self.anchor(at + 1, 0);
        if end > at + 1 {
            return Some((end, Time::Days(unit_from(day, unit, steps)?)));
        }
        let two_days = match (self.kind(at + 1), self.kind(at + 2)) {
            (Kind::Word("before"), Kind::Word("yesterday")) => -2,
            (Kind::Word("after"), Kind::Word("tomorrow")) => 2,
            _ => 0,
        };
        if unit == Unit::Day && two_days != 0 {
            let day = shifted(self.reference, two_days);
            return Some((at + 3, Time::Days(day..=day)));
        }
        let tells_time = matches!(
            unit,
            Unit::Week | Unit::Weekend | Unit::Month | Unit::Year | Unit::Decade
        );
        tells_time.then_some((at + 1, Time::Vague))
    }

    /// Parses "summer of 2023", "winter 2022".
    fn season(&self, at: usize, first_month: i8) -> ParsedTime {
        if let Some((end, year)) = self.year_after(at + 1) {
            return Some((end, Time::Days(season_of(year, first_month)?)));
        }
        let context =
            at > 0 && self.is_word(at - 1, &["in", "the", "during", "since", "every", "by"]);
        // "Spring" and "fall" have other meanings.
        (context || matches!(first_month, 6 | 12)).then_some((at + 1, Time::Vague))
    }

    /// Parses "2 weeks ago", "three years", "3 pm", "12:30".
    fn count(&self, at: usize) -> ParsedTime {
        let count = i64::from(self.number(at)?);
        if let Kind::Unit(unit) = self.kind(at + 1) {
            return Some(self.counted(at + 1, unit, Some(count)));
        }
        let is_clock = self.is_sign(at + 1, ':')
            && self.is_glued(at + 1)
            && self.digits(at + 2, 2..=2).is_some();
        if is_clock && count < 25 {
            let end = if self.is_word(at + 3, &["am"]) {
                at + 4
            } else {
                at + 3
            };
            return Some((end, Time::Vague));
        }
        (count < 13 && self.is_word(at + 1, &["am"])).then_some((at + 2, Time::Vague))
    }

    /// Returns a counted unit at `at`, including an "ago" after it, which fixes the days if the
    /// count is known.
    fn counted(&self, at: usize, unit: Unit, count: Option<i64>) -> (usize, Time) {
        // "ago" is the only vague word of three letters.
        let is_ago = self.kind(at + 1) == Kind::Vague
            && self.tokens[at + 1].end - self.tokens[at + 1].start == 3;
        let days = count
            .filter(|_| is_ago)
            .and_then(|count| ago(self.reference, unit, count));
        (
            at + 1 + usize::from(is_ago),
            days.map_or(Time::Vague, Time::Days),
        )
    }

    /// Parses a year without a month, where a year may stand.
    fn bare_year(&self, at: usize) -> ParsedTime {
        let Kind::Number {
            value,
            digits: 4,
            ordinal,
        } = self.kind(at)
        else {
            return None;
        };
        if !BARE_YEARS.contains(&value) || at > 0 && self.is_glued(at) && !self.is_sign(at - 1, '(')
        {
            return None;
        }
        if ordinal {
            let decade = *year_of(i64::from(value))?.start();
            return Some((at + 1, Time::Days(unit_from(decade, Unit::Decade, 0)?)));
        }
        let context = at > 0 && matches!(self.kind(at - 1), Kind::Word(_) | Kind::Unit(_));
        let context = context && !(at > 0 && self.is_word(at - 1, &["the", "a", "an", "few"]));
        let ends = match self.kind(at + 1) {
            Kind::Sign('.' | ',' | '-' | '/' | ':') => {
                !self.is_glued(at + 1) || !self.is_glued(at + 2) || self.number(at + 2).is_none()
            }
            Kind::Sign(_) => true,
            _ => at + 1 == self.tokens.len(),
        };
        if !ends && !context {
            return None;
        }
        Some((at + 1, Time::Days(year_of(i64::from(value))?)))
    }

    /// Parses expressions that start with one of the plain words.
    fn word(&self, at: usize, word: &str) -> ParsedTime {
        let day = |days| {
            let day = shifted(self.reference, days);
            let end = if matches!(self.kind(at + 1), Kind::Vague | Kind::Word("night")) {
                at + 2
            } else {
                at + 1
            };
            Some((end, Time::Days(day..=day)))
        };
        match word {
            "yesterday" => day(-1),
            "today" => day(0),
            "tomorrow" => day(1),
            "last" => self.around(at + 1, -1),
            "this" => self.around(at + 1, 0),
            "next" => self.around(at + 1, 1),
            "a" | "an" => match self.kind(at + 1) {
                Kind::Unit(unit) => {
                    let (end, time) = self.counted(at + 1, unit, Some(1));
                    (time != Time::Vague).then_some((end, time))
                }
                _ => None,
            },
            "few" => {
                let at = if self.is_word(at + 1, &["of"]) {
                    at + 2
                } else {
                    at + 1
                };
                let Kind::Unit(unit) = self.kind(at) else {
                    return None;
                };
                Some(self.counted(at, unit, None))
            }
            "every" => match self.kind(at + 1) {
                Kind::Unit(_) | Kind::Weekday(..) | Kind::Month(..) | Kind::Vague => {
                    Some((at + 2, Time::Vague))
                }
                _ => None,
            },
            "since" if !self.is_word(at + 1, &["since"]) => {
                let (end, time) = Grammar {
                    is_past: true,
                    ..*self
                }
                .expression(at + 1)?;
                let first = match time {
                    Time::Date(day) => day,
                    Time::Days(days) | Time::Yearly { nearest: days, .. } => *days.start(),
                    Time::Vague => return Some((end, Time::Vague)),
                };
                Some((end, Time::Days(first..=first.max(self.reference))))
            }
            "early" => self.third(at, 0),
            "mid" => self.third(at, 1),
            "late" | "end" => self.third(at, 2),
            _ => None,
        }
    }

    /// Parses the token after "last" (`steps` -1), "this" (0) or "next" (1).
    fn around(&self, at: usize, steps: i64) -> ParsedTime {
        let days = |days: Option<Days>| Some((at + 1, Time::Days(days?)));
        match self.kind(at) {
            Kind::Unit(unit) => {
                let (end, day, steps) = self.anchor(at + 1, steps);
                // "this second" is not a time to search for, and "this day" hardly ever is.
                let found = unit_from(day, unit, steps).filter(|_| unit != Unit::Short);
                Some((end, found.map_or(Time::Vague, Time::Days)))
            }
            Kind::Weekday(weekday, is_full) if is_full || self.tokens[at].capital => {
                let (end, day, steps) = self.anchor(at + 1, steps);
                let day = weekday_from(day, weekday, steps);
                Some((end, Time::Days(day..=day)))
            }
            kind @ Kind::Month(month, _) if is_only_a_month(kind) || self.tokens[at].capital => {
                days(yearly_from(self.reference, steps, |year| {
                    month_of(year, month)
                }))
            }
            Kind::Season(first_month) => days(yearly_from(self.reference, steps, |year| {
                season_of(year, first_month)
            })),
            Kind::Word("night") if steps < 0 => days(unit_from(self.reference, Unit::Day, -1)),
            Kind::Vague if steps == 0 => days(unit_from(self.reference, Unit::Day, 0)),
            Kind::Word("few") => {
                let Kind::Unit(_) = self.kind(at + 1) else {
                    return None;
                };
                Some((at + 2, Time::Vague))
            }
            Kind::Number {
                value,
                ordinal: false,
                ..
            } if steps < 0 => {
                let Kind::Unit(unit) = self.kind(at + 1) else {
                    return None;
                };
                let days = past(self.reference, unit, i64::from(value));
                Some((at + 2, days.map_or(Time::Vague, Time::Days)))
            }
            _ => None,
        }
    }

    /// Returns the first, middle or last third of the month or year that follows.
    fn third(&self, at: usize, third: i8) -> ParsedTime {
        let mut next = at + 1;
        while self.is_sign(next, '-') || self.is_word(next, &["of", "the", "in"]) {
            next += 1;
        }
        let (end, whole) = match self.kind(next) {
            Kind::Month(..) => match self.month(next)? {
                (
                    end,
                    Time::Days(days)
                    | Time::Yearly {
                        day: None,
                        nearest: days,
                        ..
                    },
                ) => (end, days),
                _ => return None,
            },
            Kind::Number { .. } => match self.bare_year(next)? {
                (end, Time::Days(days)) => (end, days),
                _ => return None,
            },
            _ => return None,
        };
        let (first, last) = (*whole.start(), *whole.end());
        let is_month = first.month() == last.month() && first.year() == last.year();
        let days = if is_month {
            let first = shifted(first, i64::from(third) * 10);
            first..=if third == 2 { last } else { shifted(first, 9) }
        } else {
            let first = *month_from(first, i64::from(third) * 4)?.start();
            first..=*month_from(first, 3)?.end()
        };
        Some((end, Time::Days(days)))
    }
}

/// True if the word can hardly be anything but a month.
fn is_only_a_month(kind: Kind) -> bool {
    matches!(kind, Kind::Month(1 | 2 | 4 | 6..=12, true))
}

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )
    .ok()
}
