use jiff::civil::{Date, date};
use proptest::prelude::*;

use super::*;

/// A Wednesday.
const REFERENCE: Date = date(2023, 6, 14);

/// Formats the time of the first expression of a text.
fn first(text: &str) -> String {
    let found = expressions(text, REFERENCE);
    let Some(expression) = found.first() else {
        return "none".to_owned();
    };
    match &expression.time {
        Time::Date(day) => format!("date {day}"),
        Time::Days(days) if days.start() == days.end() => format!("{}", days.start()),
        Time::Days(days) => format!("{}..{}", days.start(), days.end()),
        Time::Yearly {
            month,
            day: None,
            nearest,
        } => format!("month {month} near {}", nearest.start()),
        Time::Yearly {
            month,
            day: Some(day),
            nearest,
        } => format!("{day}.{month}. near {}", nearest.start()),
        Time::Vague => "vague".to_owned(),
    }
}

fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(first(text), *expected, "{text:?}");
    }
}

#[test]
fn dates_with_their_year() {
    check(&[
        ("2023-05-07", "date 2023-05-07"),
        ("at 2023-05-07T10:00:00Z", "date 2023-05-07"),
        ("2023/05/07", "date 2023-05-07"),
        ("am 07.05.2023", "date 2023-05-07"),
        ("2023年5月7日", "date 2023-05-07"),
        ("2023년 5월 7일", "date 2023-05-07"),
        ("7 May 2023", "date 2023-05-07"),
        ("the 7th of May, 2023", "date 2023-05-07"),
        ("1:56 pm on 8 May, 2023", "vague"),
        ("on 8 May, 2023", "date 2023-05-08"),
        ("May 7, 2023", "date 2023-05-07"),
        ("may 7th 2023", "date 2023-05-07"),
        ("Sept. 5, 2022", "date 2022-09-05"),
        ("30 February 2023", "2023-02-01..2023-02-28"),
        ("8/5/2023", "2023-01-01..2023-12-31"),
    ]);
}

#[test]
fn spans_of_days_months_and_years() {
    check(&[
        ("3-9 May 2023", "2023-05-03..2023-05-09"),
        ("between 3 and 9 May 2023", "2023-05-03..2023-05-09"),
        ("May 3\u{2013}9, 2023", "2023-05-03..2023-05-09"),
        ("May 2023", "2023-05-01..2023-05-31"),
        ("2023-05", "2023-05-01..2023-05-31"),
        ("February, 2024", "2024-02-01..2024-02-29"),
        ("early May 2023", "2023-05-01..2023-05-10"),
        ("mid-May 2023", "2023-05-11..2023-05-20"),
        ("at the end of May 2023", "2023-05-21..2023-05-31"),
        ("late 2022", "2022-09-01..2022-12-31"),
        ("in 2019", "2019-01-01..2019-12-31"),
        ("since 2019", "2019-01-01..2023-06-14"),
        ("since May", "2023-05-01..2023-06-14"),
        ("since June", "2023-06-01..2023-06-14"),
        ("since October", "2022-10-01..2023-06-14"),
        ("since early July", "2022-07-01..2023-06-14"),
        ("since 24 December", "2022-12-24..2023-06-14"),
        ("since December 3-9", "2022-12-03..2023-06-14"),
        ("since 14 June", "2023-06-14"),
        ("since 15 June", "2022-06-15..2023-06-14"),
        ("since 29 February", "2020-02-29..2023-06-14"),
        ("since 7 May 2023", "2023-05-07..2023-06-14"),
        ("the 1990s", "1990-01-01..1999-12-31"),
        ("summer of 2022", "2022-06-01..2022-08-31"),
        ("winter 2022", "2022-12-01..2023-02-28"),
    ]);
}

#[test]
fn days_and_months_without_a_year() {
    check(&[
        ("May 7th", "7.5. near 2023-05-07"),
        ("7 May", "7.5. near 2023-05-07"),
        ("on 24 December", "24.12. near 2022-12-24"),
        ("29 February", "29.2. near 2024-02-29"),
        ("in May", "month 5 near 2023-05-01"),
        ("October", "month 10 near 2023-10-01"),
        ("last May", "2023-05-01..2023-05-31"),
        ("last June", "2022-06-01..2022-06-30"),
        ("next March", "2024-03-01..2024-03-31"),
    ]);
}

#[test]
fn what_depends_on_the_day_of_writing() {
    check(&[
        ("yesterday", "2023-06-13"),
        ("Today", "2023-06-14"),
        ("tomorrow morning", "2023-06-15"),
        ("the day before yesterday", "2023-06-12"),
        ("last night", "2023-06-13"),
        ("this morning", "2023-06-14"),
        ("last week", "2023-06-05..2023-06-11"),
        ("this week", "2023-06-12..2023-06-18"),
        ("next week", "2023-06-19..2023-06-25"),
        ("last weekend", "2023-06-10..2023-06-11"),
        ("this weekend", "2023-06-17..2023-06-18"),
        ("last month", "2023-05-01..2023-05-31"),
        ("last year", "2022-01-01..2022-12-31"),
        ("last Friday", "2023-06-09"),
        ("next Friday", "2023-06-16"),
        ("on Friday", "2023-06-09"),
        ("last Wednesday", "2023-06-07"),
        ("last summer", "2022-06-01..2022-08-31"),
        ("3 days ago", "2023-06-11"),
        ("two weeks ago", "2023-05-28..2023-06-03"),
        ("a month ago", "2023-05-01..2023-05-31"),
        ("ten years ago", "2013-01-01..2013-12-31"),
        ("the past 7 days", "2023-06-07..2023-06-14"),
        ("the week before 9 June 2023", "2023-05-29..2023-06-04"),
        (
            "last weekend before April 10, 2023",
            "2023-04-08..2023-04-09",
        ),
        ("the Friday after 9 June 2023", "2023-06-16"),
        ("the week of 9 June 2023", "2023-06-05..2023-06-11"),
    ]);
}

#[test]
fn times_that_are_no_days() {
    let vague = [
        "a few days ago",
        "a couple of weeks ago",
        "recently",
        "at 3 pm",
        "at 12:30",
        "for three years",
        "10am",
    ];
    check(&vague.map(|text| (text, "vague")));
}

#[test]
fn other_meanings_of_the_same_words() {
    let none = [
        "I may go",
        "You May",
        "march on",
        "the sun is out",
        "he sat down",
        "second best",
        "fall down",
        "sha2023",
        "$2023x",
        "ERR-2012-77",
        "5km",
        "2000 users came along",
        "1.2.3",
        "a great day",
        "May I",
        "500 people",
        "v2023",
    ];
    check(&none.map(|text| (text, "none")));
}

#[test]
fn expressions_are_told_with_their_place() {
    let text = "We met on 7 May 2023 and again last Friday.";
    let found: Vec<&str> = expressions(text, REFERENCE)
        .into_iter()
        .map(|one| &text[one.range])
        .collect();
    assert_eq!(found, ["7 May 2023", "last Friday"]);
}

#[test]
fn full_dates_are_told_inside_of_other_expressions() {
    let rows = [
        ("since 7 May 2023", Some(("7 May 2023", date(2023, 5, 7)))),
        (
            "the Friday before 9 June 2023",
            Some(("9 June 2023", date(2023, 6, 9))),
        ),
        (
            "the week of June 9th, 2023",
            Some(("June 9th, 2023", date(2023, 6, 9))),
        ),
        (
            "last weekend before 2023-06-09",
            Some(("2023-06-09", date(2023, 6, 9))),
        ),
        ("3-9 May 2023", None),
        ("since May 2023", None),
        ("on 7 May", None),
    ];
    for (text, expected) in rows {
        let found = full_dates(text);
        let found: Vec<_> = found
            .into_iter()
            .map(|(range, day)| (&text[range], day))
            .collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{text:?}");
    }
}

#[test]
fn words_that_wait_for_more_do_not_pile_up() {
    assert_eq!(expressions(&"since ".repeat(200_000), REFERENCE), []);
}

#[test]
fn an_iso_date_is_alone_or_has_a_time_of_day() {
    assert_eq!(iso_date("2023-05-08"), Some(date(2023, 5, 8)));
    assert_eq!(iso_date("2023-05-08T13:56"), Some(date(2023, 5, 8)));
    assert_eq!(iso_date("2023-05-08 13:56"), Some(date(2023, 5, 8)));
    for text in [
        "2023-05-08x",
        "2023-5-8",
        "2023-02-30",
        "8 May 2023",
        "2023-05-08 trip",
        "",
    ] {
        assert_eq!(iso_date(text), None, "{text:?}");
    }
}

#[test]
fn a_moment_has_a_day() {
    let day_micros = 86_400_000_000;
    let rows = [
        (0, 1970, 1, 1),
        (-1, 1969, 12, 31),
        (day_micros - 1, 1970, 1, 1),
        (day_micros, 1970, 1, 2),
    ];
    for (moment, year, month, day_of_month) in rows {
        assert_eq!(day(moment), date(year, month, day_of_month));
    }
    assert_eq!((day(i64::MIN).year(), day(i64::MAX).year()), (-9999, 9999));
}

proptest! {
    #[test]
    fn any_text_gives_expressions_in_order(
        text in "((last|next|this|May|Friday|two|weeks|ago|since|early|of|before|after|2023|-0?[0-9]|[0-9]{1,4}|年|月|–|\\PC)[ ,]?){0,12}",
        year in -9999i16..=9999,
    ) {
        let reference = Date::new(year, 12, 31).unwrap();
        let mut end = 0;
        for expression in expressions(&text, reference) {
            prop_assert!(end <= expression.range.start && expression.range.start < expression.range.end);
            end = expression.range.end;
            prop_assert!(text.get(expression.range.clone()).is_some());
            if let Time::Days(days) | Time::Yearly { nearest: days, .. } = expression.time {
                prop_assert!(days.start() <= days.end(), "{days:?}");
            }
        }
    }
}
