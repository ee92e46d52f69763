//! Finding memories by a question in natural language.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use loci_core::{
    Access, Caller, Candidate, CandidateQuery, CollectionFilter, Error, ErrorCode, Filter, Memory, MemoryId,
    QueryVector, Result, Superseded, Tier, Timestamp, limits,
};
use loci_search::analysis::query_terms;
use loci_search::fusion::{Scores, reciprocal_rank, relevance};

use crate::{Engine, FusionWeights, SearchMode, check};

/// Candidates that are scored for each result, so that the caller's own ranking has a choice, and
/// enough are left of pairs.
const CANDIDATES_PER_RESULT: usize = 4;
/// Candidates that are scored at least.
const CANDIDATES_MIN: usize = 50;

/// A question.
pub struct Recall<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// Only memories of this tier; of both, if none.
    pub tier: Option<Tier>,
    /// Where to look.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// How many results at most; clamps to [`limits::RECALL_RESULTS_MAX`], or to `results_max` of the
    /// [`Policy`](crate::Policy) where that is more.
    pub limit: usize,
    /// The caller's own ranking: the score of a candidate.
    pub ranking: &'a dyn Fn(&Signals) -> f64,
    /// Whether returning a memory counts as an access, and the ranking sees how many there were.
    pub counts_access: bool,
}

/// What a ranking can use of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Signals {
    /// Fused relevance, 0 to 1.
    pub relevance: f64,
    /// BM25 of the best passage.
    pub bm25: f32,
    /// Cosine of the nearest passage, if it has a vector.
    pub cosine: Option<f32>,
    /// Its place by words among the candidates, from 1; none if no word of the query occurs.
    pub rank_by_words: Option<usize>,
    /// Its place by meaning among the candidates, from 1; none if nothing could be compared.
    pub rank_by_meaning: Option<usize>,
    /// How often it was returned before; 0 unless the request counts accesses.
    pub access_count: u64,
    /// Which passage of the memory that was, or else the one with the best BM25; from 0.
    pub passage: u32,
    /// Weight of the memory, 0 to 1.
    pub weight: f64,
    /// Days since its text last changed; 0 for a moment in the future.
    pub age_days: f64,
    /// Its collection.
    pub collection: Option<Arc<str>>,
}

impl Signals {
    /// Reciprocal rank fusion of the two places, with these weights.
    pub fn reciprocal_rank(&self, weights: FusionWeights) -> f64 {
        reciprocal_rank([(weights.vector, self.rank_by_meaning), (weights.text, self.rank_by_words)])
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory. Where accesses count, its own are those before this search.
    pub memory: Memory,
    /// Its score by the caller's ranking.
    pub score: f64,
    /// Why.
    pub signals: Signals,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Results, best first; among equals those made from a message first, then by id.
    pub hits: Vec<Hit>,
    /// Why the search was less than it should be, in a sentence; none if it was whole.
    pub degraded: Option<String>,
}

/// A candidate with its score.
type Ranked<'a> = (f64, Signals, &'a Candidate);

impl Engine {
    /// The best memories for a question among those that the caller may read. Memories that a
    /// live one supersedes are left out, and so is the lesser one of a message and the memory made
    /// from it.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a blank or over-long query; `too_large` if the
    /// results together exceed [`limits::REPLY_CONTENT_BYTES_MAX`]; `unavailable` if the store
    /// cannot be read. A model that does not answer degrades the search, it does not fail it.
    pub fn recall(&self, caller: &Caller, request: &Recall<'_>) -> Result<Recalled> {
        check::query("query", request.query)?;
        let mut filter = self.filter(caller, request.collections.clone());
        filter.tier = request.tier;
        filter.sections.clone_from(&request.sections);
        check::tags("tags", &request.tags)?;
        filter.tags.clone_from(&request.tags);
        filter.superseded = Superseded::Hide;

        let (vector, mut degraded) = self.query_vector(request.query)?;
        let terms = if self.search_mode == SearchMode::Vector { Vec::new() } else { query_terms(request.query) };
        let limit = request.limit.clamp(1, limits::RECALL_RESULTS_MAX.max(self.policy.results_max));
        let candidates = self.store.candidates(&CandidateQuery {
            filter: &filter,
            terms: &terms,
            vector: vector.as_ref(),
            limit: (limit * CANDIDATES_PER_RESULT).max(CANDIDATES_MIN),
        })?;
        if vector.is_some() && candidates.passages_without_vector > 0 {
            degraded = Some(format!(
                "{} of {} passages are not embedded yet and were searched by words alone",
                candidates.passages_without_vector, candidates.passages
            ));
        }
        // Before the store is asked, here and for the hits.
        let unwritten = self.unwritten_accesses(&caller.space, candidates.hits.iter().map(|candidate| &candidate.id));
        let accesses =
            if request.counts_access { self.accesses(caller, &candidates.hits, &unwritten)? } else { Vec::new() };
        let mut ranked = self.ranked(&candidates.hits, &accesses, filter.live_at, request.ranking);
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| among_equals(a.2, b.2)));
        drop_pairs(&mut ranked);

        let mut hits = self.hits(&filter, ranked, limit)?;
        for hit in &mut hits {
            let unwritten = unwritten.get(&hit.memory.id).copied().unwrap_or_default();
            hit.memory.access = hit.memory.access.plus(unwritten);
            if request.counts_access {
                hit.memory.access.count = hit.signals.access_count;
                self.count_access(&caller.space, &hit.memory.id);
            }
        }
        Ok(Recalled { hits, degraded })
    }

    /// How often each candidate was returned before.
    fn accesses(
        &self,
        caller: &Caller,
        candidates: &[Candidate],
        unwritten: &HashMap<MemoryId, Access>,
    ) -> Result<Vec<u64>> {
        let ids: Vec<MemoryId> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
        let written = self.store.accesses(&caller.space, &ids)?;
        let unwritten = ids.iter().map(|id| unwritten.get(id).map_or(0, |access| access.count));
        Ok(written.into_iter().zip(unwritten).map(|(written, unwritten)| written + unwritten).collect())
    }

    /// The first `limit` of the ranked candidates as memories. Another process may have removed or
    /// changed some since the candidates were found; the next ones take their place.
    fn hits(&self, filter: &Filter, ranked: Vec<Ranked<'_>>, limit: usize) -> Result<Vec<Hit>> {
        let mut hits: Vec<Hit> = Vec::with_capacity(limit);
        let mut ranked = ranked.into_iter().peekable();
        while hits.len() < limit && ranked.peek().is_some() {
            let next: Vec<_> = ranked.by_ref().take(limit - hits.len()).collect();
            let ids: Vec<MemoryId> = next.iter().map(|(_, _, candidate)| candidate.id.clone()).collect();
            let mut memories = self.store.get_all(filter, &ids)?.into_iter().peekable();
            for (score, signals, candidate) in next {
                if let Some(memory) = memories.next_if(|memory| memory.id == candidate.id) {
                    hits.push(Hit { memory, score, signals });
                }
            }
        }
        reply_size(hits.iter().map(|hit| hit.memory.content.len()).sum(), hits.len())?;
        Ok(hits)
    }

    /// The query's vector; none, with the reason, if the search has to do without.
    fn query_vector(&self, query: &str) -> Result<(Option<QueryVector>, Option<String>)> {
        if self.search_mode == SearchMode::Words {
            return Ok((None, None));
        }
        match self.vectors(&[query]) {
            Ok(mut vectors) => Ok((vectors.pop(), None)),
            Err(error) if self.search_mode == SearchMode::Vector => Err(error),
            Err(error) => {
                tracing::warn!(%error, "searching by words alone");
                Ok((None, Some(format!("searched by words alone: {}", error.message))))
            }
        }
    }

    fn ranked<'a>(
        &self,
        candidates: &'a [Candidate],
        accesses: &[u64],
        now: Timestamp,
        ranking: &dyn Fn(&Signals) -> f64,
    ) -> Vec<Ranked<'a>> {
        let scores: Vec<_> = candidates.iter().map(|hit| Scores { bm25: hit.bm25, cosine: hit.cosine }).collect();
        let fused = match self.search_mode {
            SearchMode::Vector => {
                scores.iter().map(|scores| f64::from(scores.cosine.unwrap_or(0.0).max(0.0))).collect()
            }
            SearchMode::Hybrid | SearchMode::Words => relevance(&scores),
        };
        let by_words = ranks(candidates, |hit| (hit.bm25 > 0.0).then_some(hit.bm25));
        let by_meaning = ranks(candidates, |hit| hit.cosine);
        let rank = |(index, (candidate, relevance)): (usize, (&'a Candidate, f64))| {
            let signals = Signals {
                relevance,
                bm25: candidate.bm25,
                cosine: candidate.cosine,
                passage: candidate.passage,
                rank_by_words: by_words[index],
                rank_by_meaning: by_meaning[index],
                access_count: accesses.get(index).copied().unwrap_or(0),
                weight: candidate.weight,
                age_days: now.days_since(candidate.updated_at).max(0.0),
                collection: candidate.collection.clone(),
            };
            (ranking(&signals), signals, candidate)
        };
        candidates.iter().zip(fused).enumerate().map(rank).collect()
    }
}

/// The place of each candidate, from 1, by its score, ties by id; none for those without.
fn ranks(candidates: &[Candidate], score: impl Fn(&Candidate) -> Option<f32>) -> Vec<Option<usize>> {
    let mut scored: Vec<(f32, usize)> =
        candidates.iter().enumerate().filter_map(|(index, candidate)| Some((score(candidate)?, index))).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| among_equals(&candidates[a.1], &candidates[b.1])));
    let mut ranks = vec![None; candidates.len()];
    for (place, (_, index)) in scored.into_iter().enumerate() {
        ranks[index] = Some(place + 1);
    }
    ranks
}

/// What was made from a message goes before it, since it knows more; else by id.
fn among_equals(left: &Candidate, right: &Candidate) -> Ordering {
    left.source.is_none().cmp(&right.source.is_none()).then_with(|| left.id.cmp(&right.id))
}

/// Drops every candidate that a better one was made from, or that was made from a better one.
fn drop_pairs(ranked: &mut Vec<Ranked<'_>>) {
    let (mut ids, mut sources) = (HashSet::new(), HashSet::new());
    ranked.retain(|(_, _, candidate)| {
        let is_single =
            !sources.contains(&candidate.id) && candidate.source.as_ref().is_none_or(|id| !ids.contains(id));
        if is_single {
            ids.insert(&candidate.id);
            sources.extend(&candidate.source);
        }
        is_single
    });
}

/// Refuses a reply that no client could take.
pub(crate) fn reply_size(bytes: usize, records: usize) -> Result<()> {
    let bytes_max = limits::REPLY_CONTENT_BYTES_MAX;
    if bytes <= bytes_max {
        return Ok(());
    }
    let message = format!(
        "the {records} results hold {bytes} bytes of text, more than a reply carries ({bytes_max}); ask for fewer with `limit`"
    );
    Err(Error::new(ErrorCode::TooLarge, message))
}
