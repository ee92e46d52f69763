//! Candidates, computed passage by passage in double precision.

use std::cmp::Ordering;
use std::collections::HashMap;

use loci_core::{Candidate, CandidateQuery, Candidates, MemoryId, Passage, QueryVector, Vector};

use crate::naive_store::{Record, State};

const K1: f64 = 0.9;
const B: f64 = 0.4;

/// How one passage scored: BM25, and the cosine if it has a vector of the query's model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassageScore {
    pub(crate) bm25: f32,
    pub(crate) cosine: Option<f32>,
}

/// Every admitted memory with the scores of its passages.
pub(crate) fn scores(state: &State, query: &CandidateQuery<'_>) -> HashMap<MemoryId, Vec<PassageScore>> {
    let admitted = state.admitted(query.filter);
    let passages: Vec<&Passage> = admitted.iter().flat_map(|record| &record.passages).collect();
    let statistics = Statistics::of(&passages, query.terms);
    let score = |passage: &Passage| PassageScore {
        bm25: statistics.bm25(passage) as f32,
        cosine: query.vector.and_then(|vector| vector_cosine(vector, passage.vector.as_ref()?)),
    };
    admitted.iter().map(|record| (record.memory.id.clone(), record.passages.iter().map(score).collect())).collect()
}

pub(crate) fn candidates(state: &State, query: &CandidateQuery<'_>) -> Candidates {
    let scores = scores(state, query);
    let all = || scores.values().flatten();
    let mut hits: Vec<Candidate> =
        state.admitted(query.filter).into_iter().map(|record| candidate(record, &scores[&record.memory.id])).collect();
    let by_words = best(&mut hits, query.limit, |hit| (hit.bm25 > 0.0).then_some(hit.bm25));
    let by_meaning = best(&mut hits, query.limit, |hit| hit.cosine);
    hits.retain(|hit| by_words.contains(&hit.id) || by_meaning.contains(&hit.id));
    Candidates {
        hits,
        passages: all().count(),
        passages_without_vector: query.vector.map_or(0, |_| all().filter(|score| score.cosine.is_none()).count()),
    }
}

fn best(hits: &mut [Candidate], limit: usize, score: impl Fn(&Candidate) -> Option<f32>) -> Vec<MemoryId> {
    let rank = |left: &Candidate, right: &Candidate| -> Ordering {
        let (left_score, right_score) = (score(left), score(right));
        right_score.partial_cmp(&left_score).unwrap_or(Ordering::Equal).then_with(|| left.id.cmp(&right.id))
    };
    hits.sort_by(rank);
    hits.iter().filter(|hit| score(hit).is_some()).take(limit).map(|hit| hit.id.clone()).collect()
}

fn candidate(record: &Record, scores: &[PassageScore]) -> Candidate {
    let memory = &record.memory;
    // The position of the highest score; the lowest position among equals.
    let highest = |value: &dyn Fn(&PassageScore) -> Option<f32>| {
        let scored = scores.iter().enumerate().filter_map(|(position, score)| Some((position, value(score)?)));
        scored.reduce(|best, next| if next.1 > best.1 { next } else { best })
    };
    let by_words = highest(&|score| Some(score.bm25));
    let by_meaning = highest(&|score| score.cosine);
    Candidate {
        id: memory.id.clone(),
        bm25: by_words.map_or(0.0, |(_, bm25)| bm25),
        cosine: by_meaning.map(|(_, cosine)| cosine),
        passage: by_meaning.or(by_words).map_or(0, |(position, _)| position as u32),
        collection: memory.place.collection.as_deref().map(Into::into),
        source: memory.source.clone(),
        weight: memory.weight,
        updated_at: memory.updated_at,
    }
}

/// The cosine of two vectors of one model.
pub(crate) fn vector_cosine(query: &QueryVector, vector: &Vector) -> Option<f32> {
    if vector.model != query.model || vector.values.len() != query.values.len() {
        return None;
    }
    let products = query.values.iter().zip(&vector.values).map(|(query, value)| f64::from(*query) * f64::from(*value));
    Some((products.sum::<f64>() * f64::from(vector.scale)) as f32)
}

struct Statistics {
    mean_length: f64,
    inverse_frequencies: Vec<(String, f64)>,
}

impl Statistics {
    fn of(passages: &[&Passage], terms: &[String]) -> Self {
        let count = passages.len() as f64;
        let inverse_frequency = |term: &String| {
            let containing = passages.iter().filter(|passage| term_count(passage, term) > 0.0).count() as f64;
            (term.clone(), (1.0 + (count - containing + 0.5) / (containing + 0.5)).ln())
        };
        Statistics {
            mean_length: passages.iter().map(|passage| length(passage)).sum::<f64>() / count,
            inverse_frequencies: terms.iter().map(inverse_frequency).collect(),
        }
    }

    fn bm25(&self, passage: &Passage) -> f64 {
        let saturation = K1 * (1.0 - B + B * length(passage) / self.mean_length);
        let parts = self.inverse_frequencies.iter().map(|(term, inverse_frequency)| {
            let count = term_count(passage, term);
            if count == 0.0 { 0.0 } else { inverse_frequency * count * (K1 + 1.0) / (count + saturation) }
        });
        parts.sum()
    }
}

fn term_count(passage: &Passage, text: &str) -> f64 {
    passage.terms.iter().find(|term| term.text == text).map_or(0.0, |term| f64::from(term.count))
}

fn length(passage: &Passage) -> f64 {
    passage.terms.iter().map(|term| f64::from(term.count)).sum()
}
