//! Candidates, computed passage by passage in double precision.
//!
//! This implementation fixes the points that the documentation of [`CandidateQuery`] and
//! [`Candidates`] leaves open:
//! - The best memories are chosen among those whose passages together have all required terms; with
//!   such terms, 0 is a valid score. The rule does not affect statistics and numbers of passages.
//! - A passage has a required term or a mark regardless of its count. Only a count above 0 is an
//!   occurrence: it adds to the score, to the length and to the document frequency.
//! - A space, an owner and a name identify a thread; memories without an owner count as memories of
//!   one owner.
//! - Neighbours belong to the best memories only, not to other neighbours. The distance counts
//!   positions, whether or not they have memories, and 0 for two memories at one position: each may
//!   be a candidate, though the text of the thread has only one.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::slice;

use loci_core::{
    Candidate, CandidateQuery, Candidates, FilingOrder, MARKS_MAX, Memory, MemoryId, ModelId,
    NEIGHBOUR_DISTANCE_MAX, Partition, Passage, QueryVector, Space, ThreadPosition, ThreadScore,
    Vector,
};

use crate::naive_store::{Record, State};

const K1: f64 = 0.9;
const B: f64 = 0.4;

/// The scores of one passage: BM25, the matched share of the query, and the cosine if it has a
/// vector of the query's model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassageScore {
    pub(crate) bm25: f32,
    pub(crate) matched: f32,
    pub(crate) cosine: Option<f32>,
}

/// An admitted memory with its scores.
pub(crate) struct Scored<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) passages: Vec<PassageScore>,
    /// True if its passages have all required terms.
    pub(crate) is_complete: bool,
    /// The candidate without its position in a thread.
    pub(crate) candidate: Candidate,
}

/// Returns all admitted memories with their scores, in the order of ids.
pub(crate) fn scored<'a>(state: &'a State, query: &CandidateQuery<'_>) -> Vec<Scored<'a>> {
    let admitted = state.admitted(query.filter);
    let statistics = Statistics::of(&admitted, query.terms);
    let score = |(passage, vectors): (&Passage, &BTreeMap<ModelId, Vector>)| PassageScore {
        bm25: statistics.bm25(slice::from_ref(&passage)) as f32,
        matched: statistics.matched(passage) as f32,
        cosine: query
            .vector
            .and_then(|vector| vector_cosine(vector, vectors.get(&vector.model)?)),
    };
    let scored = |record: &'a Record| {
        let passages: Vec<_> = record
            .passages
            .iter()
            .zip(&record.vectors)
            .map(score)
            .collect();
        let is_held = |term: &String| record.passages.iter().any(|passage| has(passage, term));
        Scored {
            memory: &record.memory,
            is_complete: query.required.iter().all(is_held),
            candidate: candidate(record, &passages, query.marks),
            passages,
        }
    };
    admitted.into_iter().map(scored).collect()
}

pub(crate) fn candidates(state: &State, query: &CandidateQuery<'_>) -> Candidates {
    let scored = scored(state, query);
    let by_words = best(&scored, query.limit, |candidate| by_words(query, candidate));
    let by_meaning = best(&scored, query.limit, |candidate| candidate.cosine);
    let is_hit = |memory: &Memory| {
        let mut tops = by_words.iter().chain(&by_meaning);
        tops.any(|top| top.id == memory.id || query.with_context && are_neighbours(top, memory))
    };
    let hits = scored
        .iter()
        .filter(|scored| is_hit(scored.memory))
        .map(|scored| scored.candidate.clone());
    let mut hits: Vec<Candidate> = hits.collect();
    let threads = place_in_threads(state, query, &mut hits);
    let passages = || scored.iter().flat_map(|scored| &scored.passages);
    Candidates {
        hits,
        threads,
        bm25_bound: Statistics::of(&state.admitted(query.filter), query.terms).bound() as f32,
        passages: passages().count(),
        passages_without_vector: query.vector.map_or(0, |_| {
            passages().filter(|score| score.cosine.is_none()).count()
        }),
    }
}

/// Returns the memories that have a passage without a vector of the model; first the ones that no
/// model has embedded as a whole.
pub(crate) fn without_vector(
    state: &State,
    partition: &Partition,
    model: &ModelId,
    order: FilingOrder,
) -> Vec<(Space, MemoryId)> {
    let lacks = |record: &&Record| {
        let mut passages = record.vectors.iter();
        partition.contains(&record.memory.space)
            && passages.any(|of_passage| !of_passage.contains_key(model))
    };
    let mut lacking: Vec<&Record> = state.shown().filter(lacks).collect();
    lacking.sort_by_key(
        |Record {
             vectors, filing, ..
         }| {
            let place = if order == FilingOrder::LastFirst {
                u64::MAX - filing
            } else {
                *filing
            };
            (
                vectors.iter().all(|of_passage| !of_passage.is_empty()),
                place,
            )
        },
    );
    lacking
        .into_iter()
        .map(|Record { memory, .. }| (memory.space.clone(), memory.id.clone()))
        .collect()
}

/// Returns the lexical score if it makes a candidate.
pub(crate) fn by_words(query: &CandidateQuery<'_>, candidate: &Candidate) -> Option<f32> {
    (candidate.bm25 > 0.0 || !query.required.is_empty()).then_some(candidate.bm25)
}

/// Returns the `limit` best complete memories that have a score; ties in the order of ids.
fn best<'a>(
    scored: &[Scored<'a>],
    limit: usize,
    score: impl Fn(&Candidate) -> Option<f32>,
) -> Vec<&'a Memory> {
    let complete = scored.iter().filter(|scored| scored.is_complete);
    let mut best: Vec<_> = complete
        .filter_map(|scored| Some((score(&scored.candidate)?, scored.memory)))
        .collect();
    best.sort_by(|(left_score, left), (right_score, right)| {
        right_score
            .partial_cmp(left_score)
            .unwrap_or(Ordering::Equal)
            .then_with(|| left.id.cmp(&right.id))
    });
    best.into_iter()
        .take(limit)
        .map(|(_, memory)| memory)
        .collect()
}

fn candidate(record: &Record, scores: &[PassageScore], marks: &[String]) -> Candidate {
    let memory = &record.memory;
    // The position of the highest score; the lowest one of a tie.
    let highest = |value: &dyn Fn(&PassageScore) -> Option<f32>| {
        let scored = scores
            .iter()
            .enumerate()
            .filter_map(|(position, score)| Some((position, value(score)?)));
        scored.reduce(|best, next| if next.1 > best.1 { next } else { best })
    };
    let by_words = highest(&|score| Some(score.bm25));
    let by_meaning = highest(&|score| score.cosine);
    let marks = marks.iter().take(MARKS_MAX).enumerate();
    let present =
        marks.filter(|(_, mark)| record.passages.iter().any(|passage| has(passage, mark)));
    Candidate {
        id: memory.id.clone(),
        bm25: by_words.map_or(0.0, |(_, bm25)| bm25),
        matched: scores.iter().map(|score| score.matched).fold(0.0, f32::max),
        cosine: by_meaning.map(|(_, cosine)| cosine),
        // Its stores are too small for a hubness.
        hubness: None,
        marks: present.map(|(number, _)| 1 << number).sum(),
        place_in_thread: None,
        passage: by_meaning
            .or(by_words)
            .map_or(0, |(position, _)| position as u32),
        collection: memory.location.collection.as_deref().map(Into::into),
        source: memory.source.clone(),
        weight: memory.weight,
        created_at: memory.created_at,
        updated_at: memory.updated_at,
    }
}

/// The key of a thread: the space, the owner and the name.
type ThreadKey<'a> = (&'a Space, Option<&'a str>, &'a str);

/// Returns the thread of a memory and its position in it.
fn place_of(memory: &Memory) -> Option<(ThreadKey<'_>, u64)> {
    let thread = memory.thread.as_ref()?;
    Some((
        (&memory.space, memory.owner.as_deref(), &thread.name),
        thread.position,
    ))
}

/// Returns true if two memories are neighbours in one thread.
pub(crate) fn are_neighbours(left: &Memory, right: &Memory) -> bool {
    place_of(left).zip(place_of(right)).is_some_and(
        |((left_thread, left), (right_thread, right))| {
            left_thread == right_thread && left.abs_diff(right) <= NEIGHBOUR_DISTANCE_MAX
        },
    )
}

/// Sets the thread positions of the hits and returns the scores of their threads, if the query asks
/// for context.
pub(crate) fn place_in_threads(
    state: &State,
    query: &CandidateQuery<'_>,
    hits: &mut [Candidate],
) -> Vec<ThreadScore> {
    if !query.with_context {
        return Vec::new();
    }
    let admitted = state.admitted(query.filter);
    let places: Vec<_> = admitted
        .iter()
        .map(|record| place_of(&record.memory))
        .collect();
    let mut threads: Vec<ThreadKey<'_>> = Vec::new();
    for hit in hits {
        let found = admitted
            .iter()
            .zip(&places)
            .find(|(record, _)| record.memory.id == hit.id);
        let Some((thread, position)) = found.and_then(|(_, place)| *place) else {
            continue;
        };
        let known = threads.iter().position(|other| *other == thread);
        let number = known.unwrap_or(threads.len());
        if known.is_none() {
            threads.push(thread);
        }
        hit.place_in_thread = Some(ThreadPosition {
            thread: number,
            position,
        });
    }
    let text = |thread| {
        let mut by_position = BTreeMap::new();
        // They are in the order of ids, so that the first one of a position has the least id.
        for (record, place) in admitted.iter().zip(&places) {
            if let Some((_, position)) = place.filter(|(other, _)| *other == thread) {
                by_position.entry(position).or_insert(record);
            }
        }
        (
            by_position.len(),
            by_position
                .into_values()
                .flat_map(|record| &record.passages)
                .collect(),
        )
    };
    let texts: Vec<(usize, Vec<&Passage>)> = threads.into_iter().map(text).collect();
    let mean_length = texts.iter().map(|(_, text)| length(text)).sum::<f64>() / texts.len() as f64;
    let statistics = Statistics {
        mean_length,
        ..Statistics::of(&admitted, query.terms)
    };
    let score = |(members, text): &(usize, Vec<_>)| ThreadScore {
        bm25: statistics.bm25(text) as f32,
        members: *members,
    };
    texts.iter().map(score).collect()
}

/// Returns the cosine of two vectors of one model.
pub(crate) fn vector_cosine(query: &QueryVector, vector: &Vector) -> Option<f32> {
    if vector.model != query.model || vector.values.len() != query.values.len() {
        return None;
    }
    let products = query
        .values
        .iter()
        .zip(&vector.values)
        .map(|(query, value)| f64::from(*query) * f64::from(*value));
    Some((products.sum::<f64>() * f64::from(vector.scale)) as f32)
}

struct Statistics {
    mean_length: f64,
    inverse_frequencies: Vec<(String, f64)>,
}

impl Statistics {
    fn of(admitted: &[&Record], terms: &[String]) -> Self {
        let passages: Vec<&Passage> = admitted
            .iter()
            .flat_map(|record| &record.passages)
            .collect();
        let count = passages.len() as f64;
        let inverse_frequency = |term: &String| {
            let occurs = |passage: &&&Passage| occurrences(slice::from_ref(*passage), term) > 0.0;
            let containing = passages.iter().filter(occurs).count() as f64;
            (
                term.clone(),
                (1.0 + (count - containing + 0.5) / (containing + 0.5)).ln(),
            )
        };
        Statistics {
            mean_length: length(&passages) / count,
            inverse_frequencies: terms.iter().map(inverse_frequency).collect(),
        }
    }

    /// Returns the BM25 score of these passages as one text.
    fn bm25(&self, text: &[&Passage]) -> f64 {
        let saturation = K1 * (1.0 - B + B * length(text) / self.mean_length);
        let parts = self
            .inverse_frequencies
            .iter()
            .map(|(term, inverse_frequency)| {
                let count = occurrences(text, term);
                if count == 0.0 {
                    0.0
                } else {
                    inverse_frequency * count * (K1 + 1.0) / (count + saturation)
                }
            });
        parts.sum()
    }

    /// Returns the share of the terms in the passage in the idf of all terms; 0 without terms.
    fn matched(&self, passage: &Passage) -> f64 {
        let sum = |is_counted: &dyn Fn(&str) -> bool| -> f64 {
            let counted = self
                .inverse_frequencies
                .iter()
                .filter(|(term, _)| is_counted(term));
            counted
                .map(|(_, inverse_frequency)| inverse_frequency)
                .sum()
        };
        let all = sum(&|_| true);
        if all > 0.0 {
            sum(&|term| occurrences(slice::from_ref(&passage), term) > 0.0) / all
        } else {
            0.0
        }
    }

    /// Returns an upper bound of BM25.
    fn bound(&self) -> f64 {
        self.inverse_frequencies
            .iter()
            .map(|(_, inverse_frequency)| (K1 + 1.0) * inverse_frequency)
            .sum()
    }
}

/// Counts the occurrences of a term in these passages.
fn occurrences(text: &[&Passage], term: &str) -> f64 {
    let terms = text.iter().flat_map(|passage| &passage.terms);
    terms
        .filter(|other| other.text == term)
        .map(|other| f64::from(other.count))
        .sum()
}

/// Counts the terms in these passages.
fn length(text: &[&Passage]) -> f64 {
    text.iter()
        .flat_map(|passage| &passage.terms)
        .map(|term| f64::from(term.count))
        .sum()
}

/// Returns true if the passage has the term, even as a mark.
fn has(passage: &Passage, term: &str) -> bool {
    passage.terms.iter().any(|other| other.text == term)
}
