//! Counts of the calls of a day, which outlive the audit log.

use std::collections::BTreeMap;

use crate::{AuditEntry, RecordVerb, Space, Timestamp};

/// The tool set of what hooks put before agents.
pub const HOOKS: &str = "hook";
/// The tool of [`HOOKS`] that runs when a session starts.
const AT_START: &str = "session_start";
/// The outcome of a call that answered and was no recall.
const DONE: &str = "done";
/// The outcome of a recall that returned something.
const FOUND: &str = "found";
/// The outcome of a recall that returned nothing.
const NOTHING: &str = "nothing";
/// What stands before the code of a recall that failed.
const FAILED_RECALL: &str = "recall ";

/// The number of classes of durations.
pub const TIME_BUCKETS: usize = 12;
/// The upper bound of the first class of durations, in microseconds; each next one is double. The
/// last class has no bound.
const FIRST_BUCKET_MICROSECONDS: u64 = 1_000;
/// The microseconds of a day.
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// The calls of one day, UTC, that have the same user, tool set, client, tool and outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DailyCount {
    /// The day, in days since 1970-01-01, by the start of the calls.
    pub day: i64,
    /// The user of the calls; empty for anonymous callers.
    pub user: String,
    /// The tool set.
    pub via: String,
    /// The program that called; empty if it gave no name.
    pub client: String,
    /// The tool.
    pub tool: String,
    /// `found` or `nothing` for a recall, i.e. a search or what a hook put before an agent, `done`
    /// for another call, the code of the error of a call that failed, with `recall ` before it for
    /// a recall.
    pub outcome: String,
    /// The number of calls.
    pub calls: u64,
    /// The results that they returned, together.
    pub results: u64,
    /// The recalls whose records are all too weak to answer the query.
    pub weak: u64,
    /// Tokens that hooks put before agents when a session started.
    pub tokens_start: u64,
    /// Tokens that hooks put before agents later, e.g. at a prompt.
    pub tokens_prompt: u64,
    /// Tokens of the other replies.
    pub tokens_reply: u64,
    /// The records that the calls stored.
    pub stored: u64,
    /// The calls by their durations: below 1 ms, 2 ms, 4 ms and so on, and the rest.
    pub time_buckets: [u64; TIME_BUCKETS],
}

/// The filter for reading counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DailyQuery {
    /// The space of the calls.
    pub space: Space,
    /// Only counts of this user.
    pub user: Option<String>,
    /// Only this [day](DailyCount::day) and later ones.
    pub from: i64,
    /// Only this day and earlier ones.
    pub until: i64,
}

/// Returns the [day](DailyCount::day) of a time.
pub const fn day_of(at: Timestamp) -> i64 {
    at.microseconds().div_euclid(DAY_MICROSECONDS)
}

/// Returns the start of a [day](DailyCount::day).
pub const fn start_of_day(day: i64) -> Timestamp {
    Timestamp::from_microseconds(day.saturating_mul(DAY_MICROSECONDS))
}

impl DailyCount {
    /// Returns the count of one call.
    pub fn of(entry: &AuditEntry) -> Self {
        let of_hook = entry.dialect == HOOKS;
        let has = |verb| entry.records.iter().any(|record| record.verb == verb);
        let is_recall = entry.query.is_some() || of_hook || has(RecordVerb::Returned);
        let returned = |verb| matches!(verb, RecordVerb::Returned | RecordVerb::Read);
        let is_without_records = !entry.records.iter().any(|record| returned(record.verb));
        // Records that are no results are too weak to answer.
        let is_weak = entry.results == Some(0) && !is_without_records;
        let is_empty = match entry.results {
            Some(results) => results == 0 && !is_weak,
            None => is_without_records,
        };
        let outcome = match &entry.failure {
            Some(failure) if is_recall => format!("{FAILED_RECALL}{}", failure.code.name()),
            Some(failure) => failure.code.name().to_owned(),
            None if !is_recall => DONE.to_owned(),
            None if is_empty => NOTHING.to_owned(),
            None => FOUND.to_owned(),
        };
        let tokens = entry.reply_tokens.unwrap_or(0);
        let at_start = of_hook && entry.tool == AT_START;
        let tokens_if = |counts: bool| if counts { tokens } else { 0 };
        let stored = |record: &&_| {
            matches!(
                record,
                crate::AuditRecord {
                    verb: RecordVerb::Stored,
                    ..
                }
            )
        };
        let mut time_buckets = [0; TIME_BUCKETS];
        time_buckets[bucket_of(entry.duration_microseconds)] = 1;
        DailyCount {
            day: day_of(entry.at),
            user: entry.user.clone().unwrap_or_default(),
            via: entry.dialect.clone(),
            client: entry.client.clone().unwrap_or_default(),
            tool: entry.tool.clone(),
            calls: 1,
            results: entry.results.unwrap_or(0),
            weak: u64::from(is_weak && outcome == FOUND),
            outcome,
            tokens_start: tokens_if(at_start),
            tokens_prompt: tokens_if(of_hook && !at_start),
            tokens_reply: tokens_if(!of_hook),
            stored: (entry.records.iter().filter(stored).count() as u64)
                .saturating_add(entry.further_stored),
            time_buckets,
        }
    }

    /// Returns the counts of entries by their spaces, each in the order of
    /// [`keys`](DailyCount::key).
    pub fn all<'e>(
        entries: impl IntoIterator<Item = &'e AuditEntry>,
    ) -> BTreeMap<Space, Vec<DailyCount>> {
        let mut sums: BTreeMap<Space, BTreeMap<_, DailyCount>> = BTreeMap::new();
        for entry in entries {
            let count = DailyCount::of(entry);
            let of_space = sums.entry(entry.space.clone()).or_default();
            let key = count.key().map(str::to_owned);
            let sum = of_space.entry((count.day, key)).or_insert(DailyCount {
                calls: 0,
                results: 0,
                weak: 0,
                tokens_start: 0,
                tokens_prompt: 0,
                tokens_reply: 0,
                stored: 0,
                time_buckets: [0; TIME_BUCKETS],
                ..count.clone()
            });
            sum.add(&count);
        }
        let ordered = |sums: BTreeMap<_, DailyCount>| sums.into_values().collect();
        sums.into_iter()
            .map(|(space, sums)| (space, ordered(sums)))
            .collect()
    }

    /// Returns the names that tell the counts of a day apart: user, tool set, client, tool, outcome.
    pub fn key(&self) -> [&str; 5] {
        [
            &self.user,
            &self.via,
            &self.client,
            &self.tool,
            &self.outcome,
        ]
        .map(String::as_str)
    }

    /// Adds the numbers of another count.
    pub fn add(&mut self, other: &DailyCount) {
        for (sum, number) in [
            (&mut self.calls, other.calls),
            (&mut self.results, other.results),
            (&mut self.weak, other.weak),
            (&mut self.tokens_start, other.tokens_start),
            (&mut self.tokens_prompt, other.tokens_prompt),
            (&mut self.tokens_reply, other.tokens_reply),
            (&mut self.stored, other.stored),
        ] {
            *sum = sum.saturating_add(number);
        }
        for (sum, number) in self.time_buckets.iter_mut().zip(other.time_buckets) {
            *sum = sum.saturating_add(number);
        }
    }

    /// Returns true if the calls were recalls, whatever came of them.
    pub fn is_recall(&self) -> bool {
        matches!(&*self.outcome, FOUND | NOTHING) || self.outcome.starts_with(FAILED_RECALL)
    }

    /// Returns true if the calls were recalls that returned nothing.
    pub fn is_nothing(&self) -> bool {
        self.outcome == NOTHING
    }

    /// Returns the code of the error of calls that failed.
    pub fn failure(&self) -> Option<&str> {
        match &*self.outcome {
            DONE | FOUND | NOTHING => None,
            code => Some(code.strip_prefix(FAILED_RECALL).unwrap_or(code)),
        }
    }
}

/// Returns the class of a duration.
fn bucket_of(microseconds: u64) -> usize {
    let bounds = (0..TIME_BUCKETS - 1).map(bucket_end);
    bounds.take_while(|end| microseconds >= *end).count()
}

/// Returns the upper bound of a class of durations in microseconds; the last one has the bound that
/// it would have, so that a quantile is a number.
pub const fn bucket_end(bucket: usize) -> u64 {
    FIRST_BUCKET_MICROSECONDS << bucket
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_classes_that_double() {
        let classes = [0, 999, 1_000, 1_999, 2_000, 1_023_999, 1_024_000, u64::MAX];
        let found = classes.map(bucket_of);
        assert_eq!(found, [0, 0, 1, 1, 2, 10, 11, 11]);
    }

    #[test]
    fn days_before_1970_are_whole_ones_too() {
        let second = |seconds: i64| Timestamp::from_microseconds(0).plus_seconds(seconds);
        let days = [-86_401, -86_400, -1, 0, 86_399, 86_400].map(|at| day_of(second(at)));
        assert_eq!(days, [-2, -1, -1, 0, 0, 1]);
        assert_eq!(start_of_day(-1), second(-86_400));
    }
}
