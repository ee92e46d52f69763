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
    /// Terms that the passages of a candidate must all hold between them; none: no such rule. Who
    /// holds them is a candidate by words, whatever it scores. Memories that come in as context
    /// need not.
    pub required: &'a [String],
    /// Terms that are looked up in the candidates alone and score nothing: see
    /// [`Candidate::marks`]. At most [`MARKS_MAX`].
    pub marks: &'a [String],
    /// The query's embedding.
    pub vector: Option<&'a QueryVector>,
    /// Whether the neighbours of the candidates in their threads come along, and how well each
    /// thread as a whole fits the words.
    pub with_context: bool,
    /// How many of the best by words, and as many of the best by meaning, to return.
    pub limit: usize,
}

/// How many marks a query may ask for: as many as [`Candidate::marks`] has bits.
pub const MARKS_MAX: usize = 64;
/// How far a neighbour of a candidate may be from it in their thread.
pub const NEIGHBOUR_DISTANCE_MAX: u64 = 2;

impl<'a> CandidateQuery<'a> {
    /// A query for nothing yet, to be completed.
    pub fn of(filter: &'a Filter, limit: usize) -> Self {
        CandidateQuery {
            filter,
            terms: &[],
            required: &[],
            marks: &[],
            vector: None,
            with_context: false,
            limit,
        }
    }
}

/// Where a candidate stands in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPosition {
    /// Which thread: its index in [`Candidates::threads`].
    pub thread: usize,
    /// The candidate's position in it.
    pub position: u64,
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
    /// The share of the query's information that the words of one of its passages hold, the
    /// greatest of these, 0 to 1: the idf of the terms that occur in it over that of all terms of
    /// the query, those included that no passage has.
    pub matched: f32,
    /// Cosine of its nearest passage; none if no passage has a vector of the query's model.
    pub cosine: Option<f32>,
    /// Which marks of the query any of its passages has: bit `n` stands for mark `n`.
    pub marks: u64,
    /// Its place in a thread, if it has one and the query asked for context.
    pub place_in_thread: Option<ThreadPosition>,
    /// The passage that scored best, by its order in the memory.
    pub passage: u32,
    /// The memory's collection.
    pub collection: Option<Arc<str>>,
    /// The memory that it was made from.
    pub source: Option<MemoryId>,
    /// The memory's weight.
    pub weight: f64,
    /// When the memory was first stored.
    pub created_at: Timestamp,
    /// When the memory's text last changed.
    pub updated_at: Timestamp,
}

/// A thread as one text. Of several memories at one position the one with the least id counts, and
/// only admitted ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ThreadScore {
    /// Its BM25: document frequencies are those of [`Candidate::bm25`], the mean length is that of
    /// the threads of the hits.
    pub bm25: f32,
    /// How many memories it has.
    pub members: usize,
}

/// The answer of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidates {
    /// The union of the best by words and the best by meaning, in no particular order, each with
    /// both scores. With context, the admitted memories at most [`NEIGHBOUR_DISTANCE_MAX`] from one
    /// of these in its thread, too.
    pub hits: Vec<Candidate>,
    /// The threads of the hits. Empty without context.
    pub threads: Vec<ThreadScore>,
    /// The BM25 that a passage approaches which holds every term of the query ever so often: the
    /// sum of `(k1 + 1) idf` over the terms, those included that no passage has. 0 without terms.
    pub bm25_bound: f32,
    /// Passages that the filter admits.
    pub passages: usize,
    /// Of these, the ones without a vector of the query's model: found by words alone.
    pub passages_without_vector: usize,
}
