//! Questions to a store and its candidates. The store finds and scores; only the engine fuses
//! and ranks, so that every store shares one ranking.

use std::sync::Arc;

use crate::{Filter, MemoryId, ModelId, Timestamp};

/// A query vector, not quantised.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// The model that made it.
    pub model: ModelId,
    /// Components of a unit vector.
    pub values: Vec<f32>,
}

/// What to look for. Without terms and vector there are no candidates.
#[derive(Debug, Clone)]
pub struct CandidateQuery<'a> {
    /// Which memories may be candidates.
    pub filter: &'a Filter,
    /// Analysed terms of the query, each once.
    pub terms: &'a [String],
    /// The query's embedding.
    pub vector: Option<&'a QueryVector>,
    /// How many of the best by words, and as many of the best by meaning, to return.
    pub limit: usize,
}

/// A memory that may be an answer, with what the ranking needs to know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The memory.
    pub id: MemoryId,
    /// BM25 of its best passage, 0 where no term of the query occurs. Statistics (number of
    /// passages, document frequencies, mean length) are those of the passages that the filter
    /// admits, so that nobody's score depends on what they may not read.
    pub bm25: f32,
    /// Cosine of its nearest passage; none if no passage has a vector of the query's model.
    pub cosine: Option<f32>,
    /// The passage that scored best, by its order in the memory.
    pub passage: u32,
    /// The memory's collection.
    pub collection: Option<Arc<str>>,
    /// The memory that it was made from.
    pub source: Option<MemoryId>,
    /// The memory's weight.
    pub weight: f64,
    /// When the memory's text last changed.
    pub updated_at: Timestamp,
}

/// The answer of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidates {
    /// The union of the best by words and the best by meaning, in no particular order, each
    /// with both scores.
    pub hits: Vec<Candidate>,
    /// Passages that the filter admits.
    pub passages: usize,
    /// Of these, the ones without a vector of the query's model: found by words alone.
    pub passages_without_vector: usize,
}
