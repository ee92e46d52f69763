//! The four figures of *Home*, each with a line of 30 days.

use std::collections::BTreeMap;

use loci_core::DailyCount;
use serde::Serialize;
use utoipa::ToSchema;

use crate::page::Page;
use crate::plots::Spark;
use crate::request::RequestContext;
use crate::views::insights::Figures;
use crate::views::review;

/// The days of a line.
const DAYS: i64 = 30;
/// The days of a week.
const WEEK: usize = 7;
/// The tool set and the tool by which a hook tells a session what it begins with.
const SESSION_START: (&str, &str) = ("hook", "session_start");

/// Four figures.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tiles {
    /// All memories that the visitor may read.
    pub(crate) memories: u64,
    /// The records that were stored in the last seven days.
    pub(crate) stored_this_week: u64,
    /// The recalls of today, UTC.
    pub(crate) recalls_today: u64,
    /// The share of these recalls that returned something, in percent.
    pub(crate) percent_useful: u64,
    /// The tokens that agents got in the last 30 days, for each session that a hook saw start; for
    /// all calls together if no hook did.
    pub(crate) tokens: u64,
    /// The sessions of the last 30 days that a hook saw start.
    pub(crate) sessions: u64,
    /// The app that got most of these tokens.
    pub(crate) most_by: Option<String>,
    /// The number of items to decide; `None` if that cannot be counted.
    pub(crate) to_review: Option<usize>,
    #[serde(skip)]
    pub(crate) stored_line: Spark,
    #[serde(skip)]
    pub(crate) recalls_line: Spark,
    #[serde(skip)]
    pub(crate) tokens_line: Spark,
    #[serde(skip)]
    pub(crate) failures_line: Spark,
}

impl Tiles {
    pub(super) fn of(
        context: &RequestContext<'_>,
        counts: &[DailyCount],
        today: i64,
        memories: u64,
    ) -> Self {
        let first = today - DAYS + 1;
        let counts: Vec<&DailyCount> = counts.iter().filter(|count| count.day >= first).collect();
        let mut days: Vec<Figures> = (0..DAYS).map(|_| Figures::default()).collect();
        let mut tokens_of: BTreeMap<&str, u64> = BTreeMap::new();
        let mut sessions = 0;
        for count in &counts {
            let day = usize::try_from(count.day - first).ok();
            if let Some(figures) = day.and_then(|day| days.get_mut(day)) {
                figures.add(count);
            }
            let tokens = count.tokens_start + count.tokens_prompt + count.tokens_reply;
            *tokens_of.entry(&count.client).or_default() += tokens;
            if (&*count.via, &*count.tool) == SESSION_START {
                sessions += count.calls;
            }
        }
        let line = |value: fn(&Figures) -> u64| Spark(days.iter().map(value).collect());
        let week = days.iter().rev().take(WEEK);
        let tokens: u64 = days.iter().map(Figures::tokens).sum();
        let most = tokens_of.into_iter().max_by_key(|(_, tokens)| *tokens);
        let most = most.filter(|(client, tokens)| *tokens > 0 && !client.is_empty());
        let of_today = days.last().cloned().unwrap_or_default();
        Tiles {
            memories,
            stored_this_week: week.map(|day| day.stored).sum(),
            recalls_today: of_today.recalls,
            percent_useful: of_today.percent_useful(),
            tokens: tokens.checked_div(sessions).unwrap_or(tokens),
            sessions,
            most_by: most.map(|(client, _)| context.app_title(client)),
            to_review: Self::to_review(context),
            stored_line: line(|day| day.stored),
            recalls_line: line(|day| day.recalls),
            tokens_line: line(Figures::tokens),
            failures_line: line(|day| day.failures),
        }
    }

    /// Counts what is to decide, or takes the count of the bar.
    fn to_review(context: &RequestContext<'_>) -> Option<usize> {
        let page: &Page = context.page;
        let counted = page.open_count(context.caller());
        counted.or_else(|| {
            let count = review::count(context).ok()?;
            page.keep_open_count(context.caller(), count);
            Some(count)
        })
    }
}
