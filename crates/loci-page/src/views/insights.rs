//! Figures of what agents asked and got in a range of days, from the counts of calls by day, which
//! outlive the audit log (`docs/adr/0093-calls-are-counted-by-day.md`).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{
    Caller, DailyCount, DailyQuery, Error, Result, Scope, TIME_BUCKETS, bucket_end, day_of,
    start_of_day,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::charts::{Chart, Series};
use crate::plots::middle_of;
use crate::request::{CLIENT, RequestContext};
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The ranges that a view offers, in days.
pub(crate) const RANGES: [i64; 4] = [1, 7, 30, 90];
/// The range without a choice.
const RANGE: i64 = 30;
/// The longest range: as long as counts are kept.
const RANGE_MAX: i64 = 731;
/// The days of the calendar: 26 weeks.
const CALENDAR: i64 = 26 * 7;
/// The apps that a chart tells apart; the others are one.
const CLIENTS_SHOWN: usize = 5;
/// The tools whose times are listed.
const TOOLS_SHOWN: usize = 20;

/// The thing that a row of figures stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// A day.
    #[default]
    Day,
    /// A program.
    Client,
    /// A tool, with its tool set.
    Tool,
    /// A user.
    User,
}

#[derive(Deserialize, IntoParams, Default)]
#[into_params(parameter_in = Query)]
pub(crate) struct InsightsQuery {
    /// The number of days up to today, 1 to 731; 30 if neither this nor `from` is given.
    #[serde(default)]
    pub(crate) days: Option<i64>,
    /// The first day, e.g. `2026-11-01`.
    #[serde(default)]
    pub(crate) from: Option<String>,
    /// The last day; today if it is left out.
    #[serde(default)]
    pub(crate) until: Option<String>,
    /// Only calls of this program.
    #[serde(default)]
    pub(crate) client: Option<String>,
    /// The thing that a row stands for: `day`, `client`, `tool` or `user`.
    #[serde(default)]
    pub(crate) by: By,
}

/// Figures of calls. Recalls are searches, and what hooks put before agents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub(crate) struct Figures {
    pub(crate) calls: u64,
    /// The calls that failed.
    pub(crate) failures: u64,
    pub(crate) recalls: u64,
    /// The recalls that returned something.
    pub(crate) useful: u64,
    /// The recalls that returned only what does not answer the query.
    pub(crate) weak: u64,
    /// The recalls that returned nothing.
    pub(crate) nothing: u64,
    /// The recalls that failed.
    pub(crate) failed: u64,
    pub(crate) results: u64,
    /// The records that were stored.
    pub(crate) stored: u64,
    /// The tokens that hooks put before agents when a session started.
    pub(crate) tokens_start: u64,
    /// The tokens that hooks put before agents later.
    pub(crate) tokens_prompt: u64,
    /// The tokens of the other replies.
    pub(crate) tokens_reply: u64,
}

/// The figures of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FigureRow {
    /// The day, program, tool or user; empty for one without a name.
    pub(crate) name: String,
    pub(crate) figures: Figures,
}

/// The durations of the calls of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ToolTimes {
    /// The tool set.
    pub(crate) via: String,
    pub(crate) tool: String,
    pub(crate) calls: u64,
    /// Half of the calls took less, in milliseconds: the bound of a class of durations.
    pub(crate) p50: u64,
    /// 99 of 100 calls took less.
    pub(crate) p99: u64,
}

/// The calls that failed with a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FailureCount {
    pub(crate) code: String,
    pub(crate) calls: u64,
}

/// Figures of what agents asked and got in a range of days, UTC. Calls from the page are left out.
#[derive(Serialize, ToSchema)]
pub(crate) struct Insights {
    /// The first day.
    pub(crate) from: String,
    /// The last day.
    pub(crate) until: String,
    /// The number of days.
    pub(crate) days: i64,
    /// The program whose calls these are; all if `None`.
    pub(crate) client: Option<String>,
    /// The programs that called in this range.
    pub(crate) clients: Vec<String>,
    pub(crate) totals: Figures,
    /// The thing that a row stands for.
    pub(crate) by: By,
    pub(crate) rows: Vec<FigureRow>,
    pub(crate) tools: Vec<ToolTimes>,
    pub(crate) failures: Vec<FailureCount>,
    /// The recalls of each day by their outcome.
    pub(crate) recalls: Chart,
    /// The records that were stored until each day of the range, by program.
    pub(crate) growth: Chart,
    /// The records that were stored, and the recalls, on each day of the last 26 weeks.
    pub(crate) calendar: Chart,
    #[serde(skip)]
    pub(crate) first_day: i64,
    /// The weekday of the first day of the calendar, 0 for Monday.
    #[serde(skip)]
    pub(crate) first_weekday: usize,
}

view!(Insights, Tab::Activity, "insights.html");

/// Counts what agents asked and got in a range of days.
#[utoipa::path(get, path = "/insights", operation_id = "insights", params(InsightsQuery), responses((status = OK, body = Insights, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: InsightsQuery) -> Result<Insights> {
    let today = day_of(context.engine().now());
    let (from, until) = range(&query, today)?;
    let all = counts(context, from, until)?;
    let mut clients: Vec<String> = all.iter().map(|count| count.client.clone()).collect();
    clients.retain(|client| !client.is_empty());
    clients.sort();
    clients.dedup();
    let is_meant = |count: &DailyCount| {
        let client = query.client.as_ref();
        client.is_none_or(|client| count.client == *client)
    };
    let counts_of = |counts: Vec<DailyCount>| -> Vec<DailyCount> {
        counts.into_iter().filter(is_meant).collect()
    };
    let counted = counts_of(all);
    let of_calendar = counts_of(counts(context, today - CALENDAR + 1, today)?);
    Ok(Insights {
        from: date(from),
        until: date(until),
        days: until - from + 1,
        first_day: from,
        totals: figures(&counted),
        rows: rows(&counted, query.by),
        tools: tools(&counted),
        failures: failures(&counted),
        recalls: recalls(&counted, from, until),
        growth: growth(&counted, from, until),
        calendar: calendar(&of_calendar, today - CALENDAR + 1, today),
        // 1970-01-01 was a Thursday.
        first_weekday: usize::try_from((today - CALENDAR + 1 + 3).rem_euclid(7)).unwrap_or(0),
        clients,
        client: query.client,
        by: query.by,
    })
}

/// Returns the first and the last day that a query asks for.
fn range(query: &InsightsQuery, today: i64) -> Result<(i64, i64)> {
    let day = |argument: &str, text: &Option<String>| -> Result<Option<i64>> {
        let parsed = text
            .as_deref()
            .map(|text| UtcTimestamp::parse(argument, text, false));
        Ok(parsed.transpose()?.map(day_of))
    };
    let until = day("until", &query.until)?.unwrap_or(today);
    let from = day("from", &query.from)?;
    let days = query.days.unwrap_or(RANGE);
    if !(1..=RANGE_MAX).contains(&days) {
        let problem = format!("must be from 1 to {RANGE_MAX}");
        return Err(Error::invalid("days", problem));
    }
    let from = from.unwrap_or(until - days + 1);
    if from > until || until - from >= RANGE_MAX {
        let problem = format!("must be a day before `until`, by less than {RANGE_MAX} days");
        return Err(Error::invalid("from", problem));
    }
    Ok((from, until))
}

/// Returns the counts of calls that the visitor may see, except those from the page: its own, or all
/// in its space for an administrator.
pub(crate) fn counts(
    context: &RequestContext<'_>,
    from: i64,
    until: i64,
) -> Result<Vec<DailyCount>> {
    let caller: &Caller = context.caller();
    let is_admin = caller.principal.scopes.allow(Scope::Admin);
    let subject = caller.principal.subject.clone().unwrap_or_default();
    let query = DailyQuery {
        space: caller.space.clone(),
        user: (!is_admin).then_some(subject),
        from,
        until,
    };
    let mut counts = context.engine().audit().daily(&query)?;
    counts.retain(|count| count.client != CLIENT);
    Ok(counts)
}

/// Returns a day as text.
pub(crate) fn date(day: i64) -> String {
    UtcTimestamp(start_of_day(day)).day()
}

impl Figures {
    pub(crate) fn add(&mut self, count: &DailyCount) {
        self.calls += count.calls;
        self.results += count.results;
        self.stored += count.stored;
        self.tokens_start += count.tokens_start;
        self.tokens_prompt += count.tokens_prompt;
        self.tokens_reply += count.tokens_reply;
        let is_failed = count.failure().is_some();
        self.failures += if is_failed { count.calls } else { 0 };
        if !count.is_recall() {
            return;
        }
        self.recalls += count.calls;
        if is_failed {
            self.failed += count.calls;
        } else if count.is_nothing() {
            self.nothing += count.calls;
        } else {
            self.weak += count.weak;
            self.useful += count.calls.saturating_sub(count.weak);
        }
    }

    /// Returns the share of the recalls that returned something, in percent.
    pub(crate) fn percent_useful(&self) -> u64 {
        (self.useful * 100).checked_div(self.recalls).unwrap_or(0)
    }

    /// Returns the tokens that agents got, together.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens_hook() + self.tokens_reply
    }

    pub(crate) fn tokens_hook(&self) -> u64 {
        self.tokens_start + self.tokens_prompt
    }
}

fn figures<'c>(counts: impl IntoIterator<Item = &'c DailyCount>) -> Figures {
    let mut figures = Figures::default();
    for count in counts {
        figures.add(count);
    }
    figures
}

fn rows(counts: &[DailyCount], by: By) -> Vec<FigureRow> {
    let mut rows: BTreeMap<String, Figures> = BTreeMap::new();
    for count in counts {
        let name = match by {
            By::Day => date(count.day),
            By::Client => count.client.clone(),
            By::Tool => format!("{} {}", count.via, count.tool),
            By::User => count.user.clone(),
        };
        rows.entry(name).or_default().add(count);
    }
    let rows = rows.into_iter();
    rows.map(|(name, figures)| FigureRow { name, figures })
        .collect()
}

fn tools(counts: &[DailyCount]) -> Vec<ToolTimes> {
    let mut times: BTreeMap<(&str, &str), [u64; TIME_BUCKETS]> = BTreeMap::new();
    for count in counts {
        let buckets = times.entry((&count.via, &count.tool)).or_default();
        for (sum, calls) in buckets.iter_mut().zip(count.time_buckets) {
            *sum += calls;
        }
    }
    let times = times.into_iter().map(|((via, tool), buckets)| ToolTimes {
        via: via.to_owned(),
        tool: tool.to_owned(),
        calls: buckets.iter().sum(),
        p50: quantile(&buckets, 50),
        p99: quantile(&buckets, 99),
    });
    let mut times: Vec<ToolTimes> = times.collect();
    times.sort_by_key(|tool| Reverse(tool.calls));
    times.truncate(TOOLS_SHOWN);
    times
}

/// Returns the bound of the class of durations that a share of the calls does not exceed, in
/// milliseconds.
fn quantile(buckets: &[u64; TIME_BUCKETS], percent: u64) -> u64 {
    let needed = (buckets.iter().sum::<u64>() * percent).div_ceil(100);
    let mut passed = 0;
    let reached = buckets.iter().position(|calls| {
        passed += calls;
        passed >= needed
    });
    bucket_end(reached.unwrap_or(TIME_BUCKETS - 1)) / 1_000
}

fn failures(counts: &[DailyCount]) -> Vec<FailureCount> {
    let mut failures: BTreeMap<&str, u64> = BTreeMap::new();
    for count in counts {
        if let Some(code) = count.failure() {
            *failures.entry(code).or_default() += count.calls;
        }
    }
    let failures = failures.into_iter().map(|(code, calls)| FailureCount {
        code: code.to_owned(),
        calls,
    });
    let mut failures: Vec<FailureCount> = failures.collect();
    failures.sort_by_key(|failure| Reverse(failure.calls));
    failures
}

/// Returns the figures of each day of a range.
fn by_day(counts: &[DailyCount], from: i64, until: i64) -> Vec<Figures> {
    let mut days: Vec<Figures> = (from..=until).map(|_| Figures::default()).collect();
    for count in counts {
        let day = usize::try_from(count.day - from).ok();
        if let Some(figures) = day.and_then(|day| days.get_mut(day)) {
            figures.add(count);
        }
    }
    days
}

fn labels(from: i64, until: i64) -> Vec<String> {
    (from..=until).map(date).collect()
}

pub(crate) fn recalls(counts: &[DailyCount], from: i64, until: i64) -> Chart {
    let days = by_day(counts, from, until);
    let series =
        |name, value: fn(&Figures) -> u64| Series::message(name, days.iter().map(value).collect());
    Chart {
        labels: labels(from, until),
        series: vec![
            series("recalls-useful", |day| day.useful),
            series("recalls-weak", |day| day.weak),
            series("recalls-nothing", |day| day.nothing),
            series("recalls-failed", |day| day.failed),
        ],
        is_running: false,
    }
}

/// The name of an import in the audit log, and so in the counts.
const IMPORT: &str = "import";

/// An import of a file, as a mark in the picture of the growth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ImportMark {
    /// The day.
    pub(crate) day: String,
    /// The records that its imports name as stored, at most 100 of each.
    pub(crate) stored: u64,
    /// The place of the mark in the picture.
    #[serde(skip)]
    pub(crate) x: usize,
}

/// Returns the days with imports that stored something.
pub(crate) fn imports(counts: &[DailyCount], from: i64, until: i64) -> Vec<ImportMark> {
    let mut days: BTreeMap<i64, u64> = BTreeMap::new();
    let is_import = |count: &&DailyCount| count.tool == IMPORT && count.stored > 0;
    for count in counts.iter().filter(is_import) {
        *days.entry(count.day).or_default() += count.stored;
    }
    let marks = days.range(from..=until).map(|(day, stored)| ImportMark {
        day: date(*day),
        stored: *stored,
        x: middle_of(usize::try_from(day - from).unwrap_or(0)),
    });
    marks.collect()
}

/// Returns how much was stored up to each day, by program, of which the ones with most have a series
/// each.
pub(crate) fn growth(counts: &[DailyCount], from: i64, until: i64) -> Chart {
    let mut by_client: BTreeMap<&str, u64> = BTreeMap::new();
    for count in counts.iter().filter(|count| count.stored > 0) {
        *by_client.entry(&count.client).or_default() += count.stored;
    }
    let mut clients: Vec<(&str, u64)> = by_client.into_iter().collect();
    clients.sort_by_key(|(_, stored)| Reverse(*stored));
    let shown: Vec<&str> = clients
        .iter()
        .take(CLIENTS_SHOWN)
        .map(|(client, _)| *client)
        .collect();
    let up_to = |is_meant: &dyn Fn(&str) -> bool| -> Vec<u64> {
        let meant: Vec<&DailyCount> = counts
            .iter()
            .filter(|count| is_meant(&count.client))
            .collect();
        let mut days: Vec<u64> = (from..=until).map(|_| 0).collect();
        for count in meant {
            let day = usize::try_from(count.day - from).ok();
            if let Some(stored) = day.and_then(|day| days.get_mut(day)) {
                *stored += count.stored;
            }
        }
        let mut sum = 0;
        for stored in &mut days {
            sum += *stored;
            *stored = sum;
        }
        days
    };
    let mut series: Vec<Series> = shown
        .iter()
        .map(|client| Series {
            name: (*client).to_owned(),
            is_message: false,
            values: up_to(&|other| other == *client),
        })
        .collect();
    for series in series.iter_mut().filter(|series| series.name.is_empty()) {
        *series = Series::message("client-unnamed", std::mem::take(&mut series.values));
    }
    if clients.len() > CLIENTS_SHOWN {
        let others = up_to(&|other| !shown.contains(&other));
        series.push(Series::message("clients-other", others));
    }
    Chart {
        labels: labels(from, until),
        series,
        is_running: true,
    }
}

fn calendar(counts: &[DailyCount], from: i64, until: i64) -> Chart {
    let days = by_day(counts, from, until);
    let series =
        |name, value: fn(&Figures) -> u64| Series::message(name, days.iter().map(value).collect());
    Chart {
        labels: labels(from, until),
        series: vec![
            series("calendar-stored", |day| day.stored),
            series("calendar-recalled", |day| day.recalls),
        ],
        is_running: false,
    }
}

/// The times of a tool as they are drawn.
pub(crate) struct Dots {
    pub(crate) name: String,
    pub(crate) y: usize,
    pub(crate) p50: usize,
    pub(crate) p99: usize,
}

/// The height of a tool in the picture of times, and the place and the width of a class of times.
const DOT_ROW: usize = 22;
const DOT_LEFT: usize = 240;
const DOT_STEP: usize = 30;

/// Returns the place of a time on an axis on which each doubling has the same length.
fn place_of(milliseconds: u64) -> usize {
    DOT_LEFT + DOT_STEP * usize::try_from(milliseconds.max(1).ilog2()).unwrap_or(0)
}

impl Insights {
    /// Returns the times of the tools as they are drawn.
    pub(crate) fn dots(&self) -> Vec<Dots> {
        let dots = |(row, tool): (usize, &ToolTimes)| Dots {
            name: format!("{} {}", tool.via, tool.tool),
            y: DOT_ROW * (row + 1),
            p50: place_of(tool.p50),
            p99: place_of(tool.p99),
        };
        self.tools.iter().enumerate().map(dots).collect()
    }

    /// Returns the times that the axis names, with their places.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn dot_ticks(&self) -> Vec<(u64, usize)> {
        let ticks = [1, 8, 64, 512, 2_048];
        ticks.map(|time| (time, place_of(time))).to_vec()
    }

    /// Returns the height of the picture of times.
    pub(crate) fn dots_height(&self) -> usize {
        DOT_ROW * (self.tools.len() + 2)
    }

    /// Returns the range in words.
    pub(crate) fn range(&self) -> String {
        if self.from == self.until {
            format!("{} (UTC)", self.from)
        } else {
            format!("{} – {} (UTC)", self.from, self.until)
        }
    }

    /// Returns the ranges that one can choose, with their paths and whether it is this one.
    pub(crate) fn ranges(&self) -> Vec<(u64, String, bool)> {
        let client = self.client.as_deref().map(crate::encoding::encoded);
        let client = client.map_or_else(String::new, |client| format!("&client={client}"));
        let range = |days: i64| {
            (
                days.unsigned_abs(),
                format!("/activity?days={days}{client}"),
                days == self.days,
            )
        };
        RANGES.into_iter().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_bound_of_its_class() {
        let mut buckets = [0; TIME_BUCKETS];
        assert_eq!(quantile(&buckets, 50), 1, "of nothing");
        (buckets[0], buckets[3], buckets[11]) = (50, 49, 1);
        let found = [50, 51, 99, 100].map(|percent| quantile(&buckets, percent));
        assert_eq!(found, [1, 8, 8, 2_048]);
    }

    #[test]
    fn a_range_is_named_by_days_or_by_dates() {
        let query = |days: Option<i64>, from: Option<&str>, until: Option<&str>| InsightsQuery {
            days,
            from: from.map(str::to_owned),
            until: until.map(str::to_owned),
            ..InsightsQuery::default()
        };
        let of = |query| range(&query, 20_000).map_err(|error| error.argument);
        assert_eq!(of(query(None, None, None)), Ok((19_971, 20_000)));
        assert_eq!(of(query(Some(1), None, None)), Ok((20_000, 20_000)));
        let dates = query(None, Some("1970-01-03"), Some("1970-01-05"));
        assert_eq!(of(dates), Ok((2, 4)));
        for wrong in [
            query(Some(0), None, None),
            query(Some(732), None, None),
            query(None, Some("1970-01-03"), Some("1970-01-02")),
            query(None, Some("1970-01-03"), None),
        ] {
            assert!(range(&wrong, 20_000).is_err());
        }
    }
}
