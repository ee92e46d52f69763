//! The order of the candidates of a search.

use std::cmp::Ordering;
use std::collections::HashSet;

use loci_core::{Candidate, Forgotten, MemoryId, Timestamp};

use crate::search::fusion::FusedScores;
use crate::search::fusion_input::FusionInput;
use crate::search::signals::Signals;

/// Candidates that are scored for each result, so that the caller's own ranking has a choice and
/// enough remain after pairs are removed.
pub(super) const CANDIDATES_PER_RESULT: usize = 4;
/// The least number of candidates that are scored.
pub(super) const CANDIDATES_MIN: usize = 50;

/// The state from which a paged search continues.
pub(crate) struct Paging<'a> {
    /// The number of results on the earlier pages.
    pub(crate) returned: usize,
    /// Returns true if a memory was among them.
    pub(crate) is_returned: &'a dyn Fn(&MemoryId) -> bool,
    /// [`Ranking::is_quoted`](crate::search::recall::Ranking::is_quoted) of the first page; `None`
    /// on the first page itself.
    pub(crate) is_quoted: Option<bool>,
    /// The treatment of forgotten memories.
    pub(crate) forgotten: Forgotten,
}

/// A candidate with its score.
pub(crate) struct RankedCandidate {
    pub(crate) id: MemoryId,
    /// The memory that it was made from.
    pub(super) source: Option<MemoryId>,
    /// The score by the ranking of the caller.
    pub(crate) score: f64,
    pub(crate) signals: Signals,
}

/// Returns the number of candidates to score for so many results.
pub(super) fn candidates_for(limit: usize) -> usize {
    (limit * CANDIDATES_PER_RESULT).max(CANDIDATES_MIN)
}

/// Returns the candidates with their signals, and their scores by the ranking of the caller.
pub(super) fn ranked(
    candidates: &[Candidate],
    fused: &[FusedScores],
    accesses: &[u64],
    input: &FusionInput,
    strengths: &[f64],
    now: Timestamp,
    ranking: &dyn Fn(&Signals) -> f64,
) -> Vec<RankedCandidate> {
    let by_words = ranks(
        candidates,
        |index| fused[index].words_in_context,
        |index| fused[index].words_in_context > 0.0,
    );
    let by_meaning = ranks(
        candidates,
        |index| fused[index].meaning_in_context,
        |index| candidates[index].cosine.is_some(),
    );
    let rank = |(index, (candidate, fused)): (usize, (&Candidate, &FusedScores))| {
        let signals = Signals {
            relevance: fused.relevance,
            words: fused.words,
            meaning: fused.meaning,
            bm25: candidate.bm25,
            cosine: candidate.cosine,
            coverage: fused.coverage,
            words_weight: fused.words_weight,
            context: fused.context,
            asked_for: fused.signals,
            identifiers: input.identifiers[index],
            passage: candidate.passage,
            rank_by_reranker: fused.rank_by_reranker,
            rank_by_words: by_words[index],
            rank_by_meaning: by_meaning[index],
            access_count: accesses.get(index).copied().unwrap_or(0),
            weight: candidate.weight,
            age_days: now.days_since(candidate.updated_at).max(0.0),
            collection: candidate.collection.clone(),
            strength: strengths.get(index).copied(),
        };
        RankedCandidate {
            id: candidate.id.clone(),
            source: candidate.source.clone(),
            score: ranking(&signals),
            signals,
        }
    };
    candidates.iter().zip(fused).enumerate().map(rank).collect()
}

/// Returns the rank of each candidate by its score, from 1, ties by id; `None` for those without a
/// score.
fn ranks(
    candidates: &[Candidate],
    score: impl Fn(usize) -> f64,
    has: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut scored: Vec<usize> = (0..candidates.len()).filter(|index| has(*index)).collect();
    scored.sort_by(|a, b| {
        score(*b).total_cmp(&score(*a)).then_with(|| {
            let [a, b] = [a, b].map(|index| &candidates[*index]);
            among_equals((&a.id, &a.source), (&b.id, &b.source))
        })
    });
    let mut ranks = vec![None; candidates.len()];
    for (place, index) in scored.into_iter().enumerate() {
        ranks[index] = Some(place + 1);
    }
    ranks
}

/// A memory made from a message goes before that message, because it holds more; otherwise by id.
fn among_equals(
    left: (&MemoryId, &Option<MemoryId>),
    right: (&MemoryId, &Option<MemoryId>),
) -> Ordering {
    left.1
        .is_none()
        .cmp(&right.1.is_none())
        .then_with(|| left.0.cmp(right.0))
}

/// Sorts the candidates, best first. Removes the ones that were returned before, the ones that pair
/// with them, and the lower-ranked one of each pair of a memory and its source. Raises each score
/// to at least that of the next result, so that identifiers keep the scores in order. Also returns
/// the candidates that were returned before.
pub(super) fn in_order(
    ranked: Vec<RankedCandidate>,
    paging: Option<&Paging<'_>>,
) -> (Vec<RankedCandidate>, Vec<RankedCandidate>) {
    let (mut ranked, returned): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|one| {
        let mut origins = std::iter::once(&one.id).chain(&one.source);
        paging.is_none_or(|paging| !origins.any(|id| (paging.is_returned)(id)))
    });
    // A ranking excludes a candidate by negative infinity.
    let identifiers = |one: &RankedCandidate| {
        if one.score > f64::NEG_INFINITY {
            one.signals.identifiers
        } else {
            0
        }
    };
    ranked.sort_by(|a, b| {
        identifiers(b)
            .cmp(&identifiers(a))
            .then_with(|| b.score.total_cmp(&a.score))
            .then_with(|| match paging {
                Some(_) => a.id.cmp(&b.id),
                None => among_equals((&a.id, &a.source), (&b.id, &b.source)),
            })
    });
    let mut ids: HashSet<MemoryId> = returned.iter().map(|one| one.id.clone()).collect();
    let mut sources: HashSet<MemoryId> = returned
        .iter()
        .filter_map(|one| one.source.clone())
        .collect();
    ranked.retain(|one| {
        let is_single =
            !sources.contains(&one.id) && one.source.as_ref().is_none_or(|id| !ids.contains(id));
        if is_single {
            ids.insert(one.id.clone());
            sources.extend(one.source.clone());
        }
        is_single
    });
    let mut least = f64::NEG_INFINITY;
    for one in ranked.iter_mut().rev() {
        least = one.score.max(least);
        one.score = least;
    }
    (ranked, returned)
}
