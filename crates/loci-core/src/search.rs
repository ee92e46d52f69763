//! Candidate queries to a store and their results. The store retrieves and scores; only the engine
//! fuses and ranks, because all stores must share one ranking.

use std::sync::Arc;

use crate::{Filter, Memory, MemoryId, ModelId, Timestamp};

/// The embedding of a query, not quantised.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// The model that made it.
    pub model: ModelId,
    /// The components of a unit vector.
    pub values: Vec<f32>,
}

/// A query for candidates. Without terms and vector there are no candidates.
#[derive(Debug, Clone)]
pub struct CandidateQuery<'a> {
    /// The filter for the candidates.
    pub filter: &'a Filter,
    /// The analysed terms of the query, without duplicates.
    pub terms: &'a [String],
    /// Terms that the passages of a candidate must all contain, taken together; no such rule if
    /// empty. A memory that contains them is a candidate by words, whatever its score. Memories
    /// returned as context need not contain them.
    pub required: &'a [String],
    /// Terms that are looked up in the candidates only and do not affect scores: see
    /// [`Candidate::marks`]. At most [`MARKS_MAX`].
    pub marks: &'a [String],
    /// The query's embedding.
    pub vector: Option<&'a QueryVector>,
    /// True if the neighbours of the candidates in their threads are returned too, with a score for
    /// each thread as a whole.
    pub with_context: bool,
    /// True if the [hubness](Candidate::hubness) of the candidates is returned too.
    pub with_hubness: bool,
    /// The number of best candidates by words, and by vector, to return. Of candidates whose
    /// scores are as good as equal at this limit, a store may return any.
    pub limit: usize,
}

/// The maximum number of marks in a query: the number of bits in [`Candidate::marks`].
pub const MARKS_MAX: usize = 64;
/// The maximum distance of a neighbour from a candidate in their thread.
pub const NEIGHBOUR_DISTANCE_MAX: u64 = 2;

impl<'a> CandidateQuery<'a> {
    /// Creates an empty query for the caller to complete.
    pub fn of(filter: &'a Filter, limit: usize) -> Self {
        CandidateQuery {
            filter,
            terms: &[],
            required: &[],
            marks: &[],
            vector: None,
            with_context: false,
            with_hubness: false,
            limit,
        }
    }
}

/// How near a passage is to the rest of its store. A hub, i.e. a text that is near to everything,
/// is also near to questions that it does not answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hubness {
    /// The mean cosine to its neighbours of the ranks 6 to 20, 0 to 1. The nearest five do not
    /// count, because a fact that was said a few times is no hub. Neither do texts that are equal
    /// to it, or that somebody who may read the passage may not.
    pub cosine: f32,
    /// The weight of the cosine, 0 to 1, because among few passages the 20th is any passage.
    pub weight: f32,
}

/// The position of a candidate in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPosition {
    /// The index of the thread in [`Candidates::threads`].
    pub thread: usize,
    /// The candidate's position in it.
    pub position: u64,
}

/// A candidate memory with the data that the ranking needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The memory.
    pub id: MemoryId,
    /// The BM25 score of its best passage; 0 if no term of the query occurs. The statistics (number
    /// of passages, document frequencies, mean length) cover only the passages that the filter
    /// admits, so that a score never depends on memories that the caller may not read.
    ///
    /// All stores score alike: the sum, over the terms, of `idf (k1 + 1) tf / (tf + k1 (1 - b + b
    /// length / mean))`, where `k1` is 0.9, `b` is 0.4, `tf` counts the term in the passage, and
    /// `idf` is `ln(1 + (N - n + 0.5) / (n + 0.5))` for a term in `n` of `N` passages. The contract
    /// allows a difference below 0.0001, because sums of floats depend on their order.
    pub bm25: f32,
    /// The greatest share of the query's information that one of its passages holds, 0 to 1: the
    /// sum of the idf of the terms that occur in the passage over the sum for all terms of the
    /// query, including terms that occur in no passage.
    pub matched: f32,
    /// The cosine similarity of its nearest passage; `None` if no passage has a vector of the
    /// query's model.
    pub cosine: Option<f32>,
    /// The hubness of that passage, if the query asked for it; `None` in a small store, and for
    /// candidates that are not among the nearest by meaning. It is made once and then again as the store grows, so it may not know the newest neighbours. It is the
    /// same under every filter.
    pub hubness: Option<Hubness>,
    /// A bit set of the query's marks that occur in any of its passages: bit `n` stands for mark
    /// `n`.
    pub marks: u64,
    /// Its position in a thread, if it has one and the query asked for context.
    pub place_in_thread: Option<ThreadPosition>,
    /// The index of the best-scoring passage in the memory.
    pub passage: u32,
    /// The memory's collection.
    pub collection: Option<Arc<str>>,
    /// The memory that it was made from.
    pub source: Option<MemoryId>,
    /// The memory's weight.
    pub weight: f64,
    /// The time at which the memory was first stored.
    pub created_at: Timestamp,
    /// The time at which the memory's text last changed.
    pub updated_at: Timestamp,
}

/// The score of a thread as one text. Only admitted memories count; of several at one position,
/// only the one with the lowest id.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ThreadScore {
    /// Its BM25 score: document frequencies are the ones that [`Candidate::bm25`] uses, the mean
    /// length is that of the threads of the hits.
    pub bm25: f32,
    /// The number of its memories.
    pub members: usize,
}

/// The result of a candidate query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidates {
    /// The union of the best by words and the best by vector, in no particular order, each with
    /// both scores. With context, also the admitted memories within [`NEIGHBOUR_DISTANCE_MAX`] of
    /// one of these in its thread.
    pub hits: Vec<Candidate>,
    /// The threads of the hits. Empty without context.
    pub threads: Vec<ThreadScore>,
    /// The upper bound of the BM25 score of a passage: the sum of `(k1 + 1) idf` over the terms,
    /// including terms that occur in no passage. 0 without terms.
    pub bm25_bound: f32,
    /// The number of passages that the filter admits.
    pub passages: usize,
    /// The number of those without a vector of the query's model, which only words can find.
    pub passages_without_vector: usize,
}

/// The candidates of several queries, and memories among them, by [`Store::nearest`](crate::Store::nearest).
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The version of the space before they were found. A later change has a greater one.
    pub version: u64,
    /// The candidates of each query, in the order of the queries.
    pub candidates: Vec<Candidates>,
    /// The memories with the first [`Nearest::ids`] of the candidates, in the order of their ids.
    pub memories: Vec<Memory>,
}

impl Nearest {
    /// Returns the distinct ids of candidates, in order.
    pub fn ids(candidates: &[Candidates]) -> Vec<MemoryId> {
        let hits = candidates.iter().flat_map(|candidates| &candidates.hits);
        let mut ids: Vec<MemoryId> = hits.map(|hit| hit.id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
