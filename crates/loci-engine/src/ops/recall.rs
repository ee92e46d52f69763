//! Finding memories by a question in natural language.

use std::sync::Arc;

use loci_core::{
    Caller, Candidate, CandidateQuery, CollectionFilter, Error, ErrorCode, Filter, Memory, MemoryId, QueryVector,
    Result, Superseded, Timestamp, limits,
};
use loci_search::analysis::query_terms;
use loci_search::fusion::{Scores, relevance};

use crate::{Engine, SearchMode, check};

/// Candidates that are scored for each result, so that the caller's own ranking has a choice.
const CANDIDATES_PER_RESULT: usize = 4;
/// Candidates that are scored at least.
const CANDIDATES_MIN: usize = 50;

/// A question.
pub struct Recall<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// Where to look.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories with all of these tags.
    pub tags: Vec<String>,
    /// How many results at most; clamps to [`limits::RECALL_RESULTS_MAX`].
    pub limit: usize,
    /// The caller's own ranking: the score of a candidate.
    pub ranking: &'a dyn Fn(&Signals) -> f64,
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
    /// Which passage of the memory that was, or else the one with the best BM25; from 0.
    pub passage: u32,
    /// Weight of the memory, 0 to 1.
    pub weight: f64,
    /// Days since its text last changed; 0 for a moment in the future.
    pub age_days: f64,
    /// Its collection.
    pub collection: Option<Arc<str>>,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// Its score by the caller's ranking.
    pub score: f64,
    /// Why.
    pub signals: Signals,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Results, best first, ties by id.
    pub hits: Vec<Hit>,
    /// Why the search was less than it should be, in a sentence; none if it was whole.
    pub degraded: Option<String>,
}

impl Engine {
    /// The best memories for a question among those that the caller may read. Memories that a
    /// live one supersedes are left out.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a blank or over-long query; `too_large` if the
    /// results together exceed [`limits::REPLY_CONTENT_BYTES_MAX`]; `unavailable` if the store
    /// cannot be read. A model that does not answer degrades the search, it does not fail it.
    pub fn recall(&self, caller: &Caller, request: &Recall<'_>) -> Result<Recalled> {
        check::query("query", request.query)?;
        let mut filter = self.filter(caller, request.collections.clone());
        filter.sections.clone_from(&request.sections);
        check::tags("tags", &request.tags)?;
        filter.tags.clone_from(&request.tags);
        filter.superseded = Superseded::Hide;

        let (vector, mut degraded) = self.query_vector(request.query)?;
        let terms = if self.search_mode == SearchMode::Vector { Vec::new() } else { query_terms(request.query) };
        let limit = request.limit.clamp(1, limits::RECALL_RESULTS_MAX);
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
        let mut ranked = self.ranked(&candidates.hits, filter.live_at, request.ranking);
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.id.cmp(&b.2.id)));

        let hits = self.hits(&filter, ranked, limit)?;
        Ok(Recalled { hits, degraded })
    }

    /// The first `limit` of the ranked candidates as memories. Another process may have removed or
    /// changed some since the candidates were found; the next ones take their place.
    fn hits(&self, filter: &Filter, ranked: Vec<(f64, Signals, &Candidate)>, limit: usize) -> Result<Vec<Hit>> {
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
        match self.embedder.embed(&[query]) {
            Ok(vectors) => {
                let model = self.embedder.model().clone();
                Ok((vectors.into_iter().next().map(|values| QueryVector { model, values }), None))
            }
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
        now: Timestamp,
        ranking: &dyn Fn(&Signals) -> f64,
    ) -> Vec<(f64, Signals, &'a Candidate)> {
        let scores: Vec<_> = candidates.iter().map(|hit| Scores { bm25: hit.bm25, cosine: hit.cosine }).collect();
        let fused = match self.search_mode {
            SearchMode::Vector => {
                scores.iter().map(|scores| f64::from(scores.cosine.unwrap_or(0.0).max(0.0))).collect()
            }
            SearchMode::Hybrid | SearchMode::Words => relevance(&scores),
        };
        let rank = |(candidate, relevance): (&'a Candidate, f64)| {
            let signals = Signals {
                relevance,
                bm25: candidate.bm25,
                cosine: candidate.cosine,
                passage: candidate.passage,
                weight: candidate.weight,
                age_days: now.days_since(candidate.updated_at).max(0.0),
                collection: candidate.collection.clone(),
            };
            (ranking(&signals), signals, candidate)
        };
        candidates.iter().zip(fused).map(rank).collect()
    }
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
