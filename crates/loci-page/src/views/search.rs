//! The view *Search*: memories by a question and by filters, and why each stands where it does.

use loci_core::{OwnerFilter, Result};
use loci_engine::{Browse, Facets, Hit, Recall};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::card::{Card, collections_of};
use crate::moment::Moment;
use crate::request::Asked;
use crate::view::{Tab, view};

/// The results of one page.
const LIMIT: usize = 20;
/// The characters of a text that are read for a list.
pub(crate) const CHARACTERS_READ: usize = 2_000;

/// A question with its filters.
#[derive(Deserialize, Default, Clone, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The question; without one, the last memories that the filters admit.
    #[serde(default)]
    q: String,
    /// The wing, project or scope; empty is global.
    wing: Option<String>,
    room: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    tag: Option<String>,
    /// The user who filed it.
    who: Option<String>,
    /// The dialect that it came in through.
    via: Option<String>,
    /// The first day or instant on which it was filed.
    from: Option<String>,
    /// The last one.
    until: Option<String>,
}

/// The results of a search.
#[derive(Serialize, ToSchema)]
pub(crate) struct Found {
    pub(crate) q: String,
    pub(crate) wing: String,
    pub(crate) room: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) tag: String,
    pub(crate) who: String,
    pub(crate) via: String,
    pub(crate) from: String,
    pub(crate) until: String,
    pub(crate) hits: Vec<FoundHit>,
    /// Why the search may be incomplete.
    pub(crate) degraded: Option<String>,
    /// The wings that a filter can name.
    pub(crate) wings: Vec<String>,
}

/// A result.
#[derive(Serialize, ToSchema)]
pub(crate) struct FoundHit {
    pub(crate) memory: Card,
    /// Why it stands where it does; `None` in a list without a question.
    pub(crate) why: Option<Why>,
}

/// Why a result stands where it does.
#[derive(Serialize, ToSchema)]
pub(crate) struct Why {
    /// The fused relevance, 0 to 1.
    pub(crate) relevance: f64,
    /// The rank by words, from 1.
    pub(crate) rank_by_words: Option<usize>,
    /// The rank by meaning, from 1.
    pub(crate) rank_by_meaning: Option<usize>,
    /// The share of the question that its words cover, 0 to 1.
    pub(crate) coverage: f64,
    /// The cosine similarity of its nearest passage.
    pub(crate) cosine: Option<f32>,
    /// The contribution of its neighbours and its thread.
    pub(crate) context: f64,
    /// The identifiers of the question that it has.
    pub(crate) identifiers: usize,
    /// The bonus for a speaker or a time that the question names.
    pub(crate) asked_for: f64,
    /// How many memories have the same text.
    pub(crate) times_said: usize,
}

impl Why {
    fn of(hit: &Hit) -> Self {
        let signals = &hit.signals;
        Why {
            relevance: signals.relevance,
            rank_by_words: signals.rank_by_words,
            rank_by_meaning: signals.rank_by_meaning,
            coverage: signals.coverage,
            cosine: signals.cosine,
            context: signals.context,
            identifiers: signals.identifiers,
            asked_for: signals.asked_for,
            times_said: hit.times_said(),
        }
    }

    /// Returns the relevance as a percentage.
    pub(crate) fn percent_of_relevance(&self) -> String {
        percent(self.relevance)
    }

    /// Returns the coverage as a percentage.
    pub(crate) fn percent_of_coverage(&self) -> String {
        percent(self.coverage)
    }

    /// Returns the cosine, if there is one.
    pub(crate) fn nearness(&self) -> Option<String> {
        self.cosine.map(|cosine| format!("{cosine:.2}"))
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

view!(Found, Tab::Search, "search.html", ["wing"]);

/// Finds memories by a question and by filters.
#[utoipa::path(get, path = "/search", operation_id = "search", params(SearchQuery), responses((status = OK, body = Found, description = "The content of the view")))]
pub(crate) fn view(asked: &Asked<'_>, query: SearchQuery) -> Result<Found> {
    let (engine, caller) = (asked.engine(), asked.caller());
    // The form sends `*` for all wings.
    let wing = query.wing.clone().filter(|wing| wing != "*");
    let facets = Facets {
        owner: match &query.who {
            Some(who) => OwnerFilter::Only(who.clone()),
            None => OwnerFilter::Any,
        },
        origin: query.via.clone(),
        created_from: moment("from", query.from.as_deref(), false)?,
        created_until: moment("until", query.until.as_deref(), true)?,
    };
    let (collections, sections, kinds, tags) = (
        collections_of(wing.as_deref()),
        query.room.iter().cloned().collect(),
        query.kind.iter().cloned().collect(),
        query.tag.iter().cloned().collect(),
    );
    let browse = Browse {
        collections,
        sections,
        kinds,
        tags,
        facets,
        limit: LIMIT,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    };
    let (hits, degraded) = if query.q.trim().is_empty() {
        (listed(asked, &browse)?, None)
    } else {
        found(asked, &query.q, browse)?
    };
    Ok(Found {
        hits,
        degraded,
        wings: engine.listings().collections(caller)?,
        q: query.q,
        wing: wing.unwrap_or_else(|| "*".to_owned()),
        room: query.room.unwrap_or_default(),
        kind: query.kind.unwrap_or_default(),
        tag: query.tag.unwrap_or_default(),
        who: query.who.unwrap_or_default(),
        via: query.via.unwrap_or_default(),
        from: query.from.unwrap_or_default(),
        until: query.until.unwrap_or_default(),
    })
}

/// Returns the last memories that the filters admit.
fn listed(asked: &Asked<'_>, browse: &Browse) -> Result<Vec<FoundHit>> {
    let listings = asked.engine().listings();
    let memories = listings.list_by_insertion(asked.caller(), browse)?;
    let hit = |memory| FoundHit {
        memory: Card::of(asked.caller(), &memory),
        why: None,
    };
    Ok(memories.into_iter().map(hit).collect())
}

/// Returns what a question finds among what the filters admit, and why that may be incomplete.
fn found(
    asked: &Asked<'_>,
    question: &str,
    filters: Browse,
) -> Result<(Vec<FoundHit>, Option<String>)> {
    let recalled = asked.logged("search", "memory:read", Some(question), |engine, caller| {
        let recall = Recall {
            tiers: filters.tiers,
            collections: filters.collections,
            sections: filters.sections,
            kinds: filters.kinds,
            tags: filters.tags,
            facets: filters.facets,
            ..Recall::new(question, LIMIT, &|signals| signals.relevance)
        };
        engine.search().recall_within(caller, &recall, None)
    })?;
    let hit = |hit: &Hit| FoundHit {
        memory: Card::of(asked.caller(), &hit.memory),
        why: Some(Why::of(hit)),
    };
    Ok((recalled.hits.iter().map(hit).collect(), recalled.degraded))
}

fn moment(
    argument: &str,
    text: Option<&str>,
    is_end: bool,
) -> Result<Option<loci_core::Timestamp>> {
    text.map(|text| Moment::parse(argument, text, is_end))
        .transpose()
}

impl Found {
    /// Returns the moments for the search as an agent sends it.
    pub(crate) fn agent_path(&self) -> String {
        format!("/search/agent?q={}", super::card::encoded(&self.q))
    }
}
