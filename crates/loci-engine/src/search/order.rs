//! The order of the candidates of a search.

use std::cmp::Ordering;
use std::collections::HashSet;

use loci_core::{Candidate, Forgotten, MemoryId, Timestamp};
use loci_search::fusion::Fused;

use crate::Signals;

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
pub(super) type Ranked<'a> = (f64, Signals, &'a Candidate);
/// The candidates in the order of results, and the candidates that were returned before.
pub(super) type InOrder = (Vec<(f64, Signals, MemoryId)>, Vec<(Signals, MemoryId)>);

/// Returns the number of candidates to score for so many results.
pub(super) fn candidates_for(limit: usize) -> usize {
    (limit * CANDIDATES_PER_RESULT).max(CANDIDATES_MIN)
}

/// Returns the candidates with their signals, and their scores by the ranking of the caller.
pub(super) fn ranked<'a>(
    candidates: &'a [Candidate],
    fused: &[Fused],
    accesses: &[u64],
    held: &dyn Fn(&Candidate) -> usize,
    now: Timestamp,
    ranking: &dyn Fn(&Signals) -> f64,
) -> Vec<Ranked<'a>> {
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
    let rank = |(index, (candidate, fused)): (usize, (&'a Candidate, &Fused))| {
        let signals = Signals {
            relevance: fused.relevance,
            bm25: candidate.bm25,
            cosine: candidate.cosine,
            coverage: fused.coverage,
            words_weight: fused.words_weight,
            context: fused.context,
            asked_for: fused.signals,
            identifiers: held(candidate),
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

/// Returns the rank of each candidate by its score, from 1, ties by id; `None` for those without a
/// score.
fn ranks(
    candidates: &[Candidate],
    score: impl Fn(usize) -> f64,
    has: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut scored: Vec<usize> = (0..candidates.len()).filter(|index| has(*index)).collect();
    scored.sort_by(|a, b| {
        score(*b)
            .total_cmp(&score(*a))
            .then_with(|| among_equals(&candidates[*a], &candidates[*b]))
    });
    let mut ranks = vec![None; candidates.len()];
    for (place, index) in scored.into_iter().enumerate() {
        ranks[index] = Some(place + 1);
    }
    ranks
}

/// A memory made from a message goes before that message, since it holds more; otherwise by id.
fn among_equals(left: &Candidate, right: &Candidate) -> Ordering {
    left.source
        .is_none()
        .cmp(&right.source.is_none())
        .then_with(|| left.id.cmp(&right.id))
}

/// Sorts the candidates, best first. Removes those that were returned before, those that pair with
/// them, and the lower-ranked one of each pair of a memory and its source. Raises each score to at
/// least that of the next result, so that identifiers keep the scores in order. Also returns the
/// candidates that were returned before.
pub(super) fn in_order(mut ranked: Vec<Ranked<'_>>, paging: Option<&Paging<'_>>) -> InOrder {
    let (mut ids, mut sources, mut before) = (HashSet::new(), HashSet::new(), Vec::new());
    if let Some(paging) = paging {
        let is_new = |(_, _, candidate): &Ranked<'_>| {
            let mut origins = std::iter::once(&candidate.id).chain(&candidate.source);
            !origins.any(|id| (paging.is_returned)(id))
        };
        let (new, returned): (Vec<_>, Vec<_>) = ranked.into_iter().partition(is_new);
        for (_, signals, candidate) in returned {
            ids.insert(&candidate.id);
            sources.extend(&candidate.source);
            before.push((signals, candidate.id.clone()));
        }
        ranked = new;
    }
    let among_equals = if paging.is_some() {
        by_id
    } else {
        among_equals
    };
    // A ranking excludes a candidate by negative infinity.
    let identifiers = |one: &Ranked<'_>| {
        if one.0 > f64::NEG_INFINITY {
            one.1.identifiers
        } else {
            0
        }
    };
    ranked.sort_by(|a, b| {
        let by_score = || b.0.total_cmp(&a.0).then_with(|| among_equals(a.2, b.2));
        identifiers(b).cmp(&identifiers(a)).then_with(by_score)
    });
    ranked.retain(|(_, _, candidate)| {
        let is_single = !sources.contains(&candidate.id)
            && candidate.source.as_ref().is_none_or(|id| !ids.contains(id));
        if is_single {
            ids.insert(&candidate.id);
            sources.extend(&candidate.source);
        }
        is_single
    });
    let mut least = f64::NEG_INFINITY;
    for one in ranked.iter_mut().rev() {
        least = one.0.max(least);
        one.0 = least;
    }
    let ranked = ranked
        .into_iter()
        .map(|(score, signals, candidate)| (score, signals, candidate.id.clone()));
    (ranked.collect(), before)
}

fn by_id(left: &Candidate, right: &Candidate) -> Ordering {
    left.id.cmp(&right.id)
}
