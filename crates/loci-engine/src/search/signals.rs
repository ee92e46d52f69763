//! The values of a candidate that a ranking can use.

use std::sync::Arc;

use crate::policy::FusionWeights;
use crate::search::fusion::reciprocal_rank;

/// The values of a candidate that a ranking can use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals {
    /// Fused relevance, 0 to 1.
    pub relevance: f64,
    /// The normalised score of the words, 0 to 1.
    pub words: f64,
    /// The normalised score of the meaning, 0 to 1.
    pub meaning: f64,
    /// BM25 score of the best passage.
    pub bm25: f32,
    /// Cosine similarity of the nearest passage, if it has a vector.
    pub cosine: Option<f32>,
    /// The share of the query that its words cover, 0 to 1, independent of other memories.
    pub coverage: f64,
    /// The weight of the words in this search, 0 to 1; the meaning has the rest.
    pub words_weight: f64,
    /// The contribution of its neighbours and its thread to the relevance, before that was scaled
    /// to 1.
    pub context: f64,
    /// The bonus for a speaker or time that the query names.
    pub asked_for: f64,
    /// The number of the query's identifiers that it contains; it counts two for a file that the
    /// query names if the memory is of that file. A candidate with more identifiers comes first,
    /// whatever its score by the caller's ranking, unless that is negative infinity.
    pub identifiers: usize,
    /// Its rank, from 1, among the candidates by a score that favours the words; `None` if no
    /// candidate has a word of the query.
    pub rank_by_words: Option<usize>,
    /// Its rank, from 1, by a score that favours the meaning; `None` if it has no vector to
    /// compare.
    pub rank_by_meaning: Option<usize>,
    /// Its place, from 1, among the candidates that a [reranker](loci_core::Reranker) read; `None` if
    /// it did not read this one.
    pub rank_by_reranker: Option<usize>,
    /// The number of times that it was returned before; 0 unless the request counts accesses.
    pub access_count: u64,
    /// The index of the best-scoring passage in the memory, from 0.
    pub passage: u32,
    /// The weight of the memory, 0 to 1.
    pub weight: f64,
    /// Days since its text last changed; 0 for a time in the future.
    pub age_days: f64,
    /// Its collection.
    pub collection: Option<Arc<str>>,
    /// The [strength](crate::StrengthFeatures): how likely it is that the store has an
    /// answer if this is the best result, 0 to 1; `None` in a search only by meaning.
    pub strength: Option<f64>,
}

impl Signals {
    /// Returns the share of a score that its weight leaves: all for a weight of 1, half for one of 0.
    pub fn weight_share(&self) -> f64 {
        f64::midpoint(1.0, self.weight)
    }

    /// Returns the reciprocal rank fusion of the two ranks, with these weights.
    pub fn reciprocal_rank(&self, weights: FusionWeights) -> f64 {
        reciprocal_rank([
            (weights.vector, self.rank_by_meaning),
            (weights.text, self.rank_by_words),
        ])
    }
}
