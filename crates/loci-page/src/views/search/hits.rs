//! The results of a question for programs, in parts.

use std::collections::HashSet;

use data_encoding::HEXLOWER;
use loci_core::limits::RECALL_RESULTS_MAX;
use loci_core::{Error, MemoryId, Result};
use loci_engine::{Browse, is_weak};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::filters::{HitsQuery, SearchQuery, past_time};
use super::{Logged, SearchHit, facets, match_strength, search, shown};
use crate::paging;
use crate::request::RequestContext;

/// The name of the list in its cursors.
const LIST: &str = "hits";
/// The characters of a memory in a cursor: hexadecimal digits of a hash of its id.
const MARK_CHARACTERS: usize = 8;

/// A part of the results of a question, the best first.
#[derive(Serialize, ToSchema)]
pub(crate) struct HitPage {
    /// The results.
    items: Vec<SearchHit>,
    /// The cursor of the next part; null after the last one, which has the hundredth result at most.
    next_cursor: Option<String>,
    /// The number of memories that the question is ranked among, in the first part; missing with `as_of`
    /// if there are further parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// The probability, 0 to 1, that a memory answers the question; null if it is not known.
    strength: Option<f64>,
    /// True if it is so unlikely that the results are only loosely related to the question.
    is_weak: bool,
    /// Why the search may be incomplete.
    degraded: Option<String>,
}

/// Finds memories by a question and by filters. A cursor names the results that were given, so that a memory
/// is given once, though others are stored or used between two parts.
#[utoipa::path(get, path = "/search/hits", operation_id = "hits", params(HitsQuery), responses((status = OK, body = HitPage, description = "A part of the list")))]
pub(crate) fn list(context: &RequestContext<'_>, mut query: HitsQuery) -> Result<HitPage> {
    let limit = paging::limit(query.limit)?;
    let cursor = query.cursor.take();
    let query = SearchQuery::from(query);
    if !query.is_question() {
        let problem = "is empty; ask a question, or list memories without one by `GET /memories`";
        return Err(Error::invalid("q", problem));
    }
    let conditions = query.parameters();
    let given = paging::place_behind(LIST, &conditions, cursor.as_deref())?;
    let mut marks = given.clone().unwrap_or_default();
    let is_given: HashSet<&[u8]> = marks.as_bytes().chunks(MARK_CHARACTERS).collect();
    // Enough, if all that was given is among the best still; one more says whether there is a next part.
    let asked = (is_given.len() + limit + 1).min(RECALL_RESULTS_MAX);
    let as_of = past_time(context, "as_of", query.as_of.as_deref())?;
    let filters = Browse {
        as_of,
        ..query.browse(asked)?
    };
    let found = search(context, &query.q, filters, Logged::Yes)?;
    let mut hits = found.hits;
    hits.retain(|hit| !is_given.contains(mark_of(&hit.memory.id).as_bytes()));
    let has_more = hits.len() > limit;
    hits.truncate(limit);
    marks.extend(hits.iter().map(|hit| mark_of(&hit.memory.id)));
    let total = match given {
        Some(_) => None,
        // Nothing counts what stood.
        None if has_more && as_of.is_some() => None,
        None if has_more => Some(facets::count(context, &query)?.memories),
        None => Some(hits.len() as u64),
    };
    Ok(HitPage {
        next_cursor: has_more.then(|| paging::cursor_behind(LIST, &conditions, &marks)),
        total,
        strength: found.strength.map(match_strength::hundredths),
        is_weak: !hits.is_empty() && is_weak(found.strength),
        degraded: found.degraded,
        items: shown(context, &query.q, hits),
    })
}

/// Returns the characters that stand for a memory in a cursor.
fn mark_of(id: &MemoryId) -> String {
    let hash = Sha256::digest(id.as_str());
    HEXLOWER.encode(&hash[..MARK_CHARACTERS / 2])
}
