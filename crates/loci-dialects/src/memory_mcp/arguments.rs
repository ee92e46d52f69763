//! Arguments that several tools share.

use jiff::civil::{Time, time};
use jiff::fmt::temporal::Pieces;
use jiff::tz;
use loci_core::{CollectionFilter, Error, Forgotten, Result, Tier, Timestamp};
use loci_engine::{Call, Facets, LocationNouns, Recall, RecallResults, Signals, TextPage, check};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::past::AsOf;
use crate::wire::{Count, Offset, both};

/// The parts of a place, as messages name them.
const NOUNS: LocationNouns = LocationNouns {
    collection: "conversation",
    section: "memory_type",
};
/// The types of memories made from messages.
const TYPES: [&str; 7] = [
    "fact",
    "preference",
    "decision",
    "event",
    "task",
    "question",
    "other",
];
/// The default of `limit`.
const LIMIT_DEFAULT: usize = 10;
/// The name of a conversation in replies and in `store_memory`. It is an alias in the other tools,
/// because frameworks keep this name for themselves: an argument that they drop without a word
/// must not be the one that narrows what is deleted.
pub const CONVERSATION_ALIASES: &[(&str, &str)] = &[("conversation_id", "conversation")];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TierName {
    Stm,
    Ltm,
}

/// The arguments of the two searches of memories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Whose memories to search.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// A question, or key words. Required, unless there is a `memory_id`.
    query: Option<String>,
    /// Only long-term memories of this type: fact, preference, decision, event, task, question or
    /// other, and whatever words other tools filed memories under.
    memory_type: Option<String>,
    /// Only memories with all of these tags.
    tags: Option<Vec<String>>,
    /// Only messages of this conversation, by its `conversation_id`, and the memories made from
    /// them.
    conversation: Option<String>,
    /// The maximum number of results: 10 if left out, at most 100 unless the installation says
    /// otherwise.
    limit: Option<Count>,
    /// Only messages (`stm`) or only memories made from messages (`ltm`); both if left out.
    #[schemars(length(min = 1))]
    tier: Option<Vec<TierName>>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
    /// The id of a memory to read word for word, without a query. A text that is too long for one
    /// reply comes in pages.
    memory_id: Option<String>,
    /// With `memory_id`: where in the text to start, in characters.
    offset: Option<Offset>,
    as_of: Option<AsOf>,
}

/// The results of a search, or a text that was read by id.
pub enum Results {
    Recalled(RecallResults),
    Page(Box<TextPage>),
}

impl Search {
    /// Searches with the tool's own ranking, or reads one memory.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument; any error of the engine.
    pub fn run(
        self,
        call: &Call<'_>,
        ranking: &dyn Fn(&Signals) -> f64,
        counts_access: bool,
    ) -> Result<Results> {
        let engine = call.engine();
        let tokens = self.budget_tokens.map(|count| count.0);
        let as_of = AsOf::moment(call, self.as_of.as_ref())?;
        if let Some(memory_type) = &self.memory_type {
            check::name("memory_type", memory_type)?;
        }
        if let Some(conversation) = &self.conversation {
            check::name("conversation", conversation)?;
        }
        let query = match (self.query, self.memory_id) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("memory_id", "does not go with `query`"));
            }
            (Some(query), None) => query,
            (None, Some(id)) => {
                let id = call.memories().memory_id("memory_id", &id)?;
                let tiers = &Tier::OF_CONVERSATIONS;
                let memory = call
                    .memories()
                    .show_of_at(&id, tiers, Forgotten::Hide, as_of)?;
                let offset = self.offset.map_or(0, |offset| offset.0);
                return Ok(Results::Page(Box::new(
                    engine.budgets().text_page(memory, offset, tokens)?,
                )));
            }
            (None, None) => {
                return Err(Error::invalid(
                    "query",
                    "is missing; it must be a string, unless there is a `memory_id`",
                ));
            }
        };
        // A type of this dialect is taken literally, even if no memory has that type yet.
        let (own, others) = self
            .memory_type
            .into_iter()
            .partition(|name| TYPES.contains(&name.as_str()));
        let named =
            call.listings()
                .named(NOUNS, &[Tier::LongTerm], CollectionFilter::Any, others)?;
        let limit = self
            .limit
            .map_or(LIMIT_DEFAULT, |limit| limit.0)
            .min(engine.policy().results_max);
        let request = Recall {
            tiers: tiers(self.tier.as_deref()),
            collections: named.collections,
            sections: [own, named.sections].concat(),
            tags: self.tags.unwrap_or_default(),
            facets: Facets {
                thread: self.conversation,
                ..Facets::default()
            },
            // A look at the past returned nothing at that time.
            counts_access: counts_access && as_of.is_none(),
            as_of,
            ..Recall::new(&query, limit, ranking)
        };
        let mut recalled = call.search().recall_within(&request, tokens)?;
        recalled.degraded = both(named.notice, recalled.degraded);
        Ok(Results::Recalled(recalled))
    }
}

/// Returns the tiers with these names; both for `None`.
fn tiers(names: Option<&[TierName]>) -> Vec<Tier> {
    let asked = |name| names.is_none_or(|names| names.contains(&name));
    let rows = [
        (TierName::Ltm, Tier::LongTerm),
        (TierName::Stm, Tier::ShortTerm),
    ];
    rows.into_iter()
        .filter(|(name, _)| asked(*name))
        .map(|(_, tier)| tier)
        .collect()
}

/// From when to when. At least one of the two.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeRange {
    /// The first moment, in ISO 8601; without a zone it is UTC, a date without a time is its first
    /// moment.
    start: Option<String>,
    /// The last moment, in ISO 8601; a date without a time is its last moment.
    end: Option<String>,
}

impl TimeRange {
    /// Returns the first and the last moment.
    ///
    /// # Errors
    /// `invalid_argument`, naming `time_range` or the invalid end.
    pub fn moments(&self) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
        if self.start.is_none() && self.end.is_none() {
            return Err(Error::invalid(
                "time_range",
                "must have a `start`, an `end` or both",
            ));
        }
        let moment = |argument: &str, text: &Option<String>, time_of_day: Time| {
            text.as_deref()
                .map(|text| moment(argument, text, time_of_day))
                .transpose()
        };
        let start = moment("time_range.start", &self.start, Time::MIN)?;
        let end = moment("time_range.end", &self.end, END_OF_DAY)?;
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            return Err(Error::invalid(
                "time_range.start",
                "must not be after `time_range.end`",
            ));
        }
        Ok((start, end))
    }
}

/// The last microsecond of a day.
const END_OF_DAY: Time = time(23, 59, 59, 999_999_000);

/// Parses a time in ISO 8601, in UTC if it has no zone, at that time of day if it is only a date.
fn moment(argument: &str, text: &str, time_of_day: Time) -> Result<Timestamp> {
    let pieces = Pieces::parse(text.trim()).ok();
    // Only a time zone database can resolve `[Europe/Berlin]`.
    let pieces = pieces.filter(|pieces| pieces.time_zone_annotation().is_none());
    let moment = pieces.map(|pieces| {
        let moment = pieces
            .date()
            .to_datetime(pieces.time().unwrap_or(time_of_day));
        // The last hours of the year 9999 exceed the range of a timestamp, so they are clamped.
        let beyond = if moment.year() > 0 {
            jiff::Timestamp::MAX
        } else {
            jiff::Timestamp::MIN
        };
        pieces
            .to_numeric_offset()
            .unwrap_or(tz::Offset::UTC)
            .to_timestamp(moment)
            .unwrap_or(beyond)
    });
    moment.map(|moment| Timestamp::from_microseconds(moment.as_microsecond())).ok_or_else(|| {
        let problem =
            "must be a moment of ISO 8601 such as 2025-01-15T10:30:00, 2025-01-15T10:30:00+01:00 or 2025-01-15";
        Error::invalid(argument, problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::iso8601;

    #[test]
    fn tiers() {
        let rows: [(Option<&[TierName]>, &[Tier]); 5] = [
            (None, &Tier::OF_CONVERSATIONS),
            (Some(&[TierName::Stm]), &[Tier::ShortTerm]),
            (Some(&[TierName::Ltm, TierName::Ltm]), &[Tier::LongTerm]),
            (
                Some(&[TierName::Stm, TierName::Ltm]),
                &Tier::OF_CONVERSATIONS,
            ),
            (
                Some(&[TierName::Ltm, TierName::Stm]),
                &Tier::OF_CONVERSATIONS,
            ),
        ];
        for (names, expected) in rows {
            assert_eq!(super::tiers(names), expected, "{names:?}");
        }
    }

    fn range(start: Option<&str>, end: Option<&str>) -> TimeRange {
        TimeRange {
            start: start.map(str::to_owned),
            end: end.map(str::to_owned),
        }
    }

    #[test]
    fn moments_with_and_without_zone() {
        let rows = [
            (
                "2025-01-15T10:30:00",
                "2025-01-15T10:30:00",
                "2025-01-15T10:30:00",
            ),
            (
                " 2025-01-15 10:30 ",
                "2025-01-15T10:30:00",
                "2025-01-15T10:30:00",
            ),
            (
                "2025-01-15T10:30:00.25",
                "2025-01-15T10:30:00.25",
                "2025-01-15T10:30:00.25",
            ),
            (
                "2025-01-15T10:30:00.1234567",
                "2025-01-15T10:30:00.123456",
                "2025-01-15T10:30:00.123456",
            ),
            (
                "2025-01-15T10:30:00Z",
                "2025-01-15T10:30:00",
                "2025-01-15T10:30:00",
            ),
            (
                "2025-01-15T00:30:00+01:00",
                "2025-01-14T23:30:00",
                "2025-01-14T23:30:00",
            ),
            (
                "2025-01-15T10:30:00-05:30",
                "2025-01-15T16:00:00",
                "2025-01-15T16:00:00",
            ),
            (
                "2024-02-29",
                "2024-02-29T00:00:00",
                "2024-02-29T23:59:59.999999",
            ),
            (
                "1969-12-31",
                "1969-12-31T00:00:00",
                "1969-12-31T23:59:59.999999",
            ),
        ];
        for (text, as_start, as_end) in rows {
            let (start, end) = range(Some(text), Some(text)).moments().unwrap();
            assert_eq!(
                (start.map(iso8601).unwrap(), end.map(iso8601).unwrap()),
                (as_start.into(), as_end.into())
            );
        }
    }

    #[test]
    fn what_is_no_moment_is_refused_by_name() {
        let texts = [
            "",
            " ",
            "yesterday",
            "10:30",
            "2025",
            "2025-01",
            "2025-13-01",
            "2025-02-29",
            "2025-01-15T25:00",
            "2025-01-15T10:30:00[Europe/Berlin]",
            "2025-01-15T10:30:00+01:00[Europe/Berlin]",
            "1736936400",
            "2025-01-15T10:30:00 and more",
            "99999-01-01",
        ];
        for text in texts {
            for (name, range) in [
                ("`time_range.start`", range(Some(text), None)),
                ("`time_range.end`", range(None, Some(text))),
            ] {
                let error = range.moments().unwrap_err();
                assert!(
                    error.message.starts_with(name),
                    "{text:?}: {}",
                    error.message
                );
            }
        }
    }

    #[test]
    fn either_end_may_be_missing_but_not_both() {
        assert!(matches!(
            range(Some("2025-01-15"), None).moments(),
            Ok((Some(_), None))
        ));
        assert!(matches!(
            range(None, Some("2025-01-15")).moments(),
            Ok((None, Some(_)))
        ));
        assert!(
            range(Some("9998-12-31"), Some("9999-12-31"))
                .moments()
                .is_ok()
        );
        assert!(
            range(None, None)
                .moments()
                .unwrap_err()
                .message
                .contains("`time_range`")
        );
    }

    #[test]
    fn a_range_runs_forward() {
        let rows = [
            ("2025-01-15", "2025-01-15", true),
            ("2025-01-15T10:30:00", "2025-01-15T10:30:00", true),
            ("2025-01-15T10:30:00+01:00", "2025-01-15T10:00:00", true),
            ("2025-01-15T10:30:00.000001", "2025-01-15T10:30:00", false),
            ("2025-01-16", "2025-01-15", false),
        ];
        for (start, end, holds) in rows {
            assert_eq!(
                range(Some(start), Some(end)).moments().is_ok(),
                holds,
                "{start} {end}"
            );
        }
    }

    /// Checks that every time that this dialect shows parses back to itself.
    #[test]
    fn shown_moments_read_back() {
        let mut microseconds: i64 = 1;
        for _ in 0..2_000 {
            // Knuth's linear congruential generator spreads the times over about 580 years around
            // 1970.
            microseconds = microseconds
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let shown = Timestamp::from_microseconds(microseconds / 1_000);
            let (start, end) = range(Some(&iso8601(shown)), Some(&iso8601(shown)))
                .moments()
                .unwrap();
            assert_eq!((start, end), (Some(shown), Some(shown)));
        }
    }
}
