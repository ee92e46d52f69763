//! The view *Search*: memories by a question and by filters, and why each stands where it does.

pub(crate) mod facets;
pub(crate) mod filters;
pub(crate) mod hits;
mod match_strength;
pub(crate) mod results;
pub(crate) mod saved;

use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Memory, Result};
use loci_engine::{Browse, Effect, Hit, Recall, RecallResults, is_weak};
use serde::Serialize;
use utoipa::ToSchema;

use crate::card::Card;
use crate::encoding::encoded;
use crate::excerpt::{Marker, Piece};
use crate::form::Form;
use crate::projects::projects_of;
use crate::request::RequestContext;
use crate::view::{Tab, view};
use facets::FacetsView;
use filters::{Chip, KEPT, SearchQuery, past_time};
pub(crate) use match_strength::MatchStrength;
use saved::{Question, SavedSearch};

/// The results of one page.
const LIMIT: usize = 20;
/// The characters of a result's passage.
const PASSAGE_CHARACTERS: usize = 260;
/// The tokens of each result that are read, in which its passage is looked for.
const TOKENS_OF_EACH: usize = 300;

/// The results of a search.
#[derive(Serialize, ToSchema)]
#[schema(as = Found)]
pub(crate) struct SearchResults {
    pub(crate) q: String,
    /// The filters that are set, each with the path of the same search without it.
    pub(crate) filters: Vec<Chip>,
    pub(crate) hits: Vec<SearchHit>,
    /// The number of results, which a search ranks at most; the first 100 can be reached.
    pub(crate) total: u64,
    pub(crate) offset: usize,
    /// Why the search may be incomplete.
    pub(crate) degraded: Option<String>,
    /// The texts that the model has not read yet, if the search may be incomplete for that.
    pub(crate) waiting: u64,
    /// About how many minutes that takes; `None` if nothing waits, or nothing was read yet.
    pub(crate) minutes_left: Option<u64>,
    /// The probability, 0 to 1, that a memory answers the question; `None` if it is not known.
    pub(crate) strength: Option<f64>,
    /// True if it is so unlikely that the results are only loosely related to the question.
    pub(crate) is_weak: bool,
    /// The projects that memories can be moved to.
    pub(crate) wings: Vec<String>,
    /// The values that can be filtered by, as the page shows them beside the results; `GET /facets`
    /// has them for programs.
    #[serde(skip)]
    pub(crate) facets: Option<FacetsView>,
    /// The searches that the visitor keeps.
    #[serde(skip)]
    pub(crate) saved: Vec<SavedSearch>,
    /// The last questions of the visitor, and of agents.
    #[serde(skip)]
    pub(crate) questions: [Vec<Question>; 2],
    #[serde(skip)]
    pub(crate) query: SearchQuery,
    /// The number of results that can be reached.
    #[serde(skip)]
    reachable: usize,
}

/// A result.
#[derive(Serialize, ToSchema)]
#[schema(as = FoundHit)]
pub(crate) struct SearchHit {
    pub(crate) memory: Card,
    /// The part of its text that the question is about, with the words of the question marked.
    pub(crate) passage: Vec<Piece>,
    /// Why it stands where it does; `None` in a list without a question.
    pub(crate) why: Option<MatchStrength>,
}

view!(SearchResults, Tab::Search, "search.html", KEPT);

/// Finds memories by a question and by filters.
#[utoipa::path(get, path = "/search", operation_id = "search", params(SearchQuery), responses((status = OK, body = SearchResults, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: SearchQuery) -> Result<SearchResults> {
    let facets = match context.form {
        Form::Html => Some(facets::view(context, query.clone())?),
        Form::Json => None,
    };
    let is_empty = query.parameters().is_empty();
    let admitted = facets.as_ref().map(|facets| facets.memories);
    let mut found = find(context, query, Logged::Yes, admitted)?;
    if is_empty && context.form == Form::Html {
        found.questions = saved::questions(context)?;
    }
    Ok(SearchResults {
        facets,
        wings: projects_of(context.call().listings().collections()?),
        saved: saved::all(&context.call().settings())?,
        ..found
    })
}

/// Tells whether the audit log has the question: not while a person types it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Logged {
    Yes,
    No,
}

/// Returns the results of one page; `admitted` is the number of memories that the filters admit, if it is
/// known.
fn find(
    context: &RequestContext<'_>,
    query: SearchQuery,
    logged: Logged,
    admitted: Option<u64>,
) -> Result<SearchResults> {
    let offset = if query.is_question() {
        query.offset.min(RECALL_RESULTS_MAX)
    } else {
        query.offset
    };
    // One more tells whether there is another page.
    let limit = if query.is_question() {
        (offset + LIMIT + 1).min(RECALL_RESULTS_MAX)
    } else {
        LIMIT + 1
    };
    let as_of = past_time(context, "as_of", query.as_of.as_deref())?;
    let browse = Browse {
        as_of,
        ..query.browse(limit)?
    };
    let (mut found, skipped) = if query.is_question() {
        (search(context, &query.q, browse, logged)?, 0)
    } else {
        let browse = Browse { offset, ..browse };
        (list(context, &browse)?, offset)
    };
    let reachable = skipped + found.hits.len();
    let hits: Vec<Ranked> = found
        .hits
        .drain(..)
        .skip(offset - skipped)
        .take(LIMIT)
        .collect();
    let hits = shown(context, &query.q, hits);
    let is_all = reachable <= offset + LIMIT;
    let total = match admitted {
        _ if is_all => reachable as u64,
        // The numbers of filters are of what is stored now.
        _ if as_of.is_some() => found.total.unwrap_or(reachable as u64),
        Some(admitted) => admitted,
        None => facets::count(context, &query)?.memories,
    };
    let waiting = match &found.degraded {
        Some(_) => context.engine().models().pending_embeddings()?,
        None => 0,
    };
    Ok(SearchResults {
        minutes_left: minutes_left(context, waiting),
        waiting,
        is_weak: !hits.is_empty() && is_weak(found.strength),
        strength: found.strength.map(match_strength::hundredths),
        hits,
        total,
        offset,
        degraded: found.degraded,
        wings: Vec::new(),
        filters: query.chips(context),
        facets: None,
        saved: Vec::new(),
        questions: [Vec::new(), Vec::new()],
        q: query.q.clone(),
        query,
        reachable,
    })
}

/// Returns about how many minutes the model takes to read the texts that wait, if it can be told.
fn minutes_left(context: &RequestContext<'_>, waiting: u64) -> Option<u64> {
    if waiting == 0 {
        return None;
    }
    context.page.reading(waiting).minutes_left
}

/// A memory that was found, with its values if a question ranked it.
struct Ranked {
    memory: Memory,
    why: Option<MatchStrength>,
}

/// Returns results as they are shown.
fn shown(context: &RequestContext<'_>, question: &str, ranked: Vec<Ranked>) -> Vec<SearchHit> {
    let marker = Marker::of(question);
    let hit = |Ranked { memory, why }: Ranked| {
        let text = context.masked(&memory.content);
        SearchHit {
            passage: marker.excerpt(&text, PASSAGE_CHARACTERS),
            memory: context.card(&memory),
            why,
        }
    };
    ranked.into_iter().map(hit).collect()
}

/// Returns the last memories that the filters admit.
fn list(context: &RequestContext<'_>, browse: &Browse) -> Result<Answers> {
    let listings = context.call().listings();
    let (memories, total) = if browse.as_of.is_some() {
        let page = listings.browse(browse.clone())?;
        (page.memories, Some(page.total))
    } else {
        (listings.list_by_insertion(browse)?, None)
    };
    let hit = |memory| Ranked { memory, why: None };
    Ok(Answers {
        total,
        hits: memories.into_iter().map(hit).collect(),
        degraded: None,
        strength: None,
    })
}

/// The memories of a view, and how well they answer.
struct Answers {
    hits: Vec<Ranked>,
    /// The reason why they may be incomplete.
    degraded: Option<String>,
    /// The probability that the store has an answer.
    strength: Option<f64>,
    /// The number of all memories that match, if it was counted.
    total: Option<u64>,
}

/// Returns what a question finds among what the filters admit.
fn search(
    context: &RequestContext<'_>,
    question: &str,
    filters: Browse,
    logged: Logged,
) -> Result<Answers> {
    let limit = filters.limit;
    let run = |call: &loci_engine::Call<'_>| -> Result<RecallResults> {
        let recall = Recall {
            tiers: filters.tiers.clone(),
            collections: filters.collections.clone(),
            sections: filters.sections.clone(),
            kinds: filters.kinds.clone(),
            tags: filters.tags.clone(),
            facets: filters.facets.clone(),
            as_of: filters.as_of,
            ..Recall::new(question, limit, &|signals| signals.relevance)
        };
        // A person sees weak results as well, and every result of the page.
        call.search()
            .recall_within(&recall, Some(limit * TOKENS_OF_EACH))
    };
    let recalled = match logged {
        Logged::Yes => {
            let action = ("search", "memory:read", Effect::Read);
            context.logged(action, Some(question), run)?
        }
        Logged::No => run(context.call())?,
    };
    let hit = |hit: Hit| Ranked {
        why: filters.as_of.is_none().then(|| MatchStrength::of(&hit)),
        memory: hit.memory,
    };
    Ok(Answers {
        strength: recalled.strength,
        degraded: recalled.degraded,
        total: None,
        hits: recalled.hits.into_iter().map(hit).collect(),
    })
}

impl SearchResults {
    /// Returns the time as of which the results stood, if that is not now.
    pub(crate) fn as_of(&self) -> Option<&str> {
        self.query.as_of.as_deref()
    }

    /// Returns the results that may answer the question; all without a question.
    pub(crate) fn close(&self) -> Vec<&SearchHit> {
        self.hits.iter().filter(|hit| !hit.is_loose()).collect()
    }

    /// Returns the results that are only loosely related to the question.
    pub(crate) fn loose(&self) -> Vec<&SearchHit> {
        self.hits.iter().filter(|hit| hit.is_loose()).collect()
    }

    /// Returns the question as a parameter, with the project that it is asked in, if it is one.
    pub(crate) fn encoded_question(&self) -> String {
        let question = encoded(&self.q);
        match self.query.wing.as_slice() {
            [wing] if !wing.is_empty() && wing != "*" => {
                format!(
                    "{question}&project={}&wing={}",
                    encoded(wing),
                    encoded(wing)
                )
            }
            _ => question,
        }
    }

    /// Returns the path of the same question without filters.
    pub(crate) fn unfiltered_path(&self) -> String {
        format!("/search?q={}", encoded(&self.q))
    }

    /// Returns the names of the wings that memories can be moved to.
    pub(crate) fn wing_names(&self) -> Vec<&str> {
        self.wings.iter().map(String::as_str).collect()
    }

    /// Returns the first number that is shown, from 1.
    pub(crate) fn first(&self) -> usize {
        self.offset + 1
    }

    /// Returns the last number that is shown.
    pub(crate) fn last(&self) -> usize {
        self.offset + self.hits.len()
    }

    /// Returns the path of the next page, if it can be reached.
    pub(crate) fn next(&self) -> Option<String> {
        let next = self.offset + LIMIT;
        (self.reachable > next).then(|| self.query.path_at(next))
    }

    /// Returns the path of the page before this one.
    pub(crate) fn previous(&self) -> Option<String> {
        (self.offset > 0).then(|| self.query.path_at(self.offset.saturating_sub(LIMIT)))
    }

    /// Returns true if the rest can only be reached by a narrower search.
    pub(crate) fn is_cut(&self) -> bool {
        self.next().is_none() && self.total > self.last() as u64
    }

    /// Returns true if there is neither a question nor a filter.
    pub(crate) fn is_empty(&self) -> bool {
        self.query.parameters().is_empty()
    }

    /// Returns true if the visitor keeps this search.
    pub(crate) fn is_saved(&self) -> bool {
        let parameters = self.query.parameters();
        self.saved.iter().any(|saved| saved.query == parameters)
    }
}

impl SearchHit {
    fn is_loose(&self) -> bool {
        self.why.as_ref().is_some_and(MatchStrength::is_weak)
    }
}
