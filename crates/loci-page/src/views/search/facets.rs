//! The values of filters with their numbers of memories, from what is stored.

use std::collections::BTreeMap;

use loci_core::{FacetCounts, Result, Superseded, start_of_day};
use serde::Serialize;
use utoipa::ToSchema;

use super::filters::{self, KEPT, SearchQuery};
use crate::projects::project_of;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;
use crate::view::{Tab, view};

/// The values of a filter that are shown at once; the others open.
const FIRST: usize = 7;
/// The most values of one filter.
const VALUES_MAX: usize = 200;
/// The most bars of the histogram of days.
const BARS_MAX: i64 = 36;
/// The height of the histogram, in units of the picture.
const HEIGHT: u64 = 40;
/// The width of a bar with its gap.
const BAR: usize = 6;

/// The values that can be filtered by, with the numbers of memories.
#[derive(Serialize, ToSchema)]
pub(crate) struct FacetsView {
    /// The number of memories that the filters admit.
    pub(crate) memories: u64,
    pub(crate) facets: Vec<Facet>,
    /// The memories by the time at which they were stored, whatever time is asked for.
    pub(crate) times: Vec<Span>,
    #[serde(skip)]
    pub(crate) query: SearchQuery,
}

/// A filter with its values.
#[derive(Serialize, ToSchema)]
pub(crate) struct Facet {
    /// The name of its parameter.
    pub(crate) name: &'static str,
    /// The values: the chosen ones first, then by their numbers of memories.
    pub(crate) values: Vec<FacetValue>,
}

/// A value of a filter.
#[derive(Serialize, ToSchema)]
pub(crate) struct FacetValue {
    /// The value; empty is no project, or no user.
    pub(crate) value: String,
    /// The name of the value that people know, if it has another one.
    pub(crate) title: Option<String>,
    /// The number of results with this value, if the other filters stay as they are.
    pub(crate) memories: u64,
    /// True if it is asked for.
    pub(crate) is_chosen: bool,
}

/// A span of days.
#[derive(Serialize, ToSchema)]
pub(crate) struct Span {
    /// The first day.
    pub(crate) from: String,
    /// The last day.
    pub(crate) until: String,
    /// The number of memories that were stored in it.
    pub(crate) memories: u64,
    #[serde(skip)]
    pub(crate) height: u64,
    #[serde(skip)]
    pub(crate) path: String,
}

view!(FacetsView, Tab::Search, "facets.html", KEPT);

/// Counts memories by what they can be filtered by, as they are stored now, whatever `as_of` says.
#[utoipa::path(get, path = "/facets", operation_id = "facets", params(SearchQuery), responses((status = OK, body = FacetsView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: SearchQuery) -> Result<FacetsView> {
    let counts = count(context, &query)?;
    let FacetCounts {
        memories,
        collections,
        kinds,
        tags,
        owners,
        origins,
        programs,
        days,
        ..
    } = counts;
    let facets = [
        facet("wing", by_project(collections), &query.wing),
        facet("type", kinds, &query.kind),
        facet("tag", tags, &query.tag).map(|tags| without_secrets(context, tags)),
        facet("who", named(owners), &query.who),
        facet("program", programs, &query.program).map(|programs| titled(context, programs)),
        facet("via", origins, &query.via),
    ];
    Ok(FacetsView {
        memories,
        facets: facets.into_iter().flatten().collect(),
        times: spans(&days, &query),
        query,
    })
}

/// Counts what the filters admit: a search leaves out what was replaced, a list does not.
pub(super) fn count(context: &RequestContext<'_>, query: &SearchQuery) -> Result<FacetCounts> {
    let superseded = if query.is_question() {
        Superseded::Hide
    } else {
        Superseded::Show
    };
    let listings = context.call().listings();
    listings.facet_counts(&query.browse(1)?, superseded)
}

/// Returns the same with an empty text for no value.
fn named(counts: BTreeMap<Option<String>, u64>) -> BTreeMap<String, u64> {
    let counts = counts.into_iter();
    counts
        .map(|(value, memories)| (value.unwrap_or_default(), memories))
        .collect()
}

/// Returns the numbers of collections by project; an empty text stands for no project.
fn by_project(counts: BTreeMap<Option<String>, u64>) -> BTreeMap<String, u64> {
    let mut projects = BTreeMap::new();
    for (collection, memories) in counts {
        let project = collection.as_deref().map(project_of).unwrap_or_default();
        *projects.entry(project.to_owned()).or_default() += memories;
    }
    projects
}

/// Returns the same without what looks like a secret, which no list shows.
fn without_secrets(context: &RequestContext<'_>, mut tags: Facet) -> Facet {
    tags.values
        .retain(|tag| context.masked(&tag.value) == tag.value);
    tags
}

/// Returns the same with the names that people know.
fn titled(context: &RequestContext<'_>, mut facet: Facet) -> Facet {
    for value in &mut facet.values {
        value.title = filters::title_of(context, facet.name, &value.value);
    }
    // Some apps call under two names: from their hooks, and as a client.
    let titles: Vec<Option<String>> = facet.values.iter().map(|one| one.title.clone()).collect();
    for value in &mut facet.values {
        let is_of_others = titles.iter().filter(|title| **title == value.title).count() > 1;
        if let Some(title) = value.title.as_mut().filter(|_| is_of_others) {
            *title = format!("{title} ({})", value.value);
        }
    }
    facet
}

/// Returns a filter, if it can make a difference.
fn facet(
    name: &'static str,
    mut counts: BTreeMap<String, u64>,
    chosen: &[String],
) -> Option<Facet> {
    for value in chosen {
        counts.entry(value.clone()).or_default();
    }
    let mut values: Vec<FacetValue> = counts
        .into_iter()
        .map(|(value, memories)| FacetValue {
            is_chosen: chosen.contains(&value),
            value,
            title: None,
            memories,
        })
        .collect();
    values.sort_by_key(|value| (!value.is_chosen, std::cmp::Reverse(value.memories)));
    values.truncate(VALUES_MAX.max(chosen.len()));
    let is_useful = values.len() > 1 || !chosen.is_empty();
    is_useful.then_some(Facet { name, values })
}

/// Returns the days from the first to the last one in equal spans.
fn spans(days: &BTreeMap<i64, u64>, query: &SearchQuery) -> Vec<Span> {
    let (Some((first, _)), Some((last, _))) = (days.first_key_value(), days.last_key_value())
    else {
        return Vec::new();
    };
    let width = (last - first + 1 + BARS_MAX - 1) / BARS_MAX;
    let without_time = SearchQuery {
        from: None,
        until: None,
        ..query.clone()
    };
    let day = |number: i64| UtcTimestamp(start_of_day(number)).day();
    let starts = (0..BARS_MAX).map(|place| first + place * width);
    let mut spans: Vec<Span> = starts
        .take_while(|start| start <= last)
        .map(|start| {
            let end = (start + width - 1).min(*last);
            let (from, until) = (day(start), day(end));
            Span {
                memories: days.range(start..=end).map(|(_, count)| count).sum(),
                height: 0,
                path: SearchQuery {
                    from: Some(from.clone()),
                    until: Some(until.clone()),
                    ..without_time.clone()
                }
                .path(),
                from,
                until,
            }
        })
        .collect();
    let highest = spans.iter().map(|span| span.memories).max().unwrap_or(0);
    for span in &mut spans {
        span.height = (span.memories * HEIGHT).div_ceil(highest.max(1));
    }
    spans
}

impl FacetsView {
    /// Returns the width of the histogram.
    pub(crate) fn width(&self) -> usize {
        self.times.len() * BAR
    }

    /// Returns the bars of the histogram, with their places.
    pub(crate) fn bars(&self) -> impl Iterator<Item = (usize, u64, &Span)> {
        let spans = self.times.iter().enumerate();
        spans.map(|(place, span)| (place * BAR, HEIGHT - span.height, span))
    }
}

impl Facet {
    /// Returns the values that are shown at once.
    pub(crate) fn first(&self) -> &[FacetValue] {
        &self.values[..self.values.len().min(FIRST)]
    }

    /// Returns the other values.
    pub(crate) fn others(&self) -> &[FacetValue] {
        &self.values[self.values.len().min(FIRST)..]
    }

    /// Returns the message that names the filter.
    pub(crate) fn label(&self) -> &'static str {
        filters::label(self.name)
    }
}

impl FacetValue {
    /// Returns the value as people read it.
    pub(crate) fn shown(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }

    /// Returns the message that names an empty value of a filter.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn empty_label(&self, name: &str) -> &'static str {
        filters::empty_label(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_all_days_and_have_their_sum() {
        for last in [0, 1, 35, 36, 37, 400, 4_000] {
            let days: BTreeMap<i64, u64> = (0..=last).step_by(3).map(|day| (day, 2)).collect();
            let found = spans(&days, &SearchQuery::default());
            let sum: u64 = found.iter().map(|span| span.memories).sum();
            assert_eq!(sum, days.values().sum::<u64>(), "{last}");
            assert!(found.len() <= 36, "{last}");
            assert_eq!(found[0].from, "1970-01-01");
        }
        assert!(spans(&BTreeMap::new(), &SearchQuery::default()).is_empty());
    }

    #[test]
    fn what_is_chosen_comes_first_and_stays() {
        let counts = BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 9)]);
        let found = facet("tag", counts, &["gone".to_owned()]).unwrap();
        let shown: Vec<_> = found
            .values
            .iter()
            .map(|one| (&*one.value, one.memories))
            .collect();
        assert_eq!(shown, [("gone", 0), ("b", 9), ("a", 1)]);
        let single = BTreeMap::from([("a".to_owned(), 1)]);
        assert!(facet("tag", single, &[]).is_none(), "nothing to choose");
    }
}
