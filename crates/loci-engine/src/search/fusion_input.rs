//! A question and its candidates as the fusion sees them.

use std::cmp::Reverse;
use std::collections::HashMap;

use loci_core::{Candidate, Candidates, CosineScale, Hubness, MARKS_MAX, MemoryId, ThreadScore};
use loci_text::dates;
use loci_text::document::{TIME, TOOL_OUTPUT};
use loci_text::query::Query;

use crate::models::{QueryReading, comparable};
use crate::search::fusion::{self, HUBNESS_MAX, Input, QueryMatches, Scores, Weights, fuse};
use crate::search::strength::StrengthFeatures;

/// The marks that the ranking looks for in addition to the terms of a query: marks of the index,
/// grouped by their meaning.
#[derive(Default)]
pub(super) struct Marks {
    /// [`TOOL_OUTPUT`], then speakers, dates and [`TIME`].
    pub(super) names: Vec<String>,
    speakers: u64,
    dates: u64,
    time: u64,
    tool_output: u64,
}

impl Marks {
    pub(super) fn of(query: &Query) -> Self {
        let mut marks = Marks::default();
        marks.tool_output = marks.add([TOOL_OUTPUT.to_owned()]);
        marks.speakers = marks.add(query.speakers.iter().cloned());
        marks.dates = marks.add(query.dates.iter().cloned());
        marks.time = marks.add(query.asks_when.then(|| TIME.to_owned()));
        marks
    }

    /// Adds as many marks as fit; returns their bits.
    fn add(&mut self, names: impl IntoIterator<Item = String>) -> u64 {
        let begin = self.names.len();
        self.names.extend(names.into_iter().take(MARKS_MAX - begin));
        (begin..self.names.len()).fold(0, |bits, bit| bits | 1 << bit)
    }
}

/// The candidates of a question in the form in which the fusion reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionInput {
    /// The memories.
    pub ids: Vec<MemoryId>,
    /// Their scores, in the same order.
    pub scores: Vec<Scores>,
    /// The number of the question's identifiers that each contains.
    pub identifiers: Vec<usize>,
    /// The threads of the memories.
    pub threads: Vec<fusion::Thread>,
    /// As in `fusion::Input`.
    pub bm25_bound: f32,
    /// As in `fusion::Input`.
    pub terms: usize,
    /// As in `fusion::Input`.
    pub is_foreign: bool,
    /// The number of passages that were searched.
    pub passages: usize,
    /// The scale of the cosines before they were made comparable.
    pub scale: CosineScale,
}

impl FusionInput {
    pub(super) fn of(&self) -> Input<'_> {
        Input {
            candidates: &self.scores,
            threads: &self.threads,
            bm25_bound: self.bm25_bound,
            terms: self.terms,
            is_foreign: self.is_foreign,
        }
    }

    /// Returns the features of the strength of each candidate.
    pub fn strength_features(&self, weights: &Weights) -> Vec<StrengthFeatures> {
        let of = |scores: &Scores| {
            let apart = weights.apartness * f64::from(scores.apartness);
            let cosine = scores.cosine.filter(|_| !self.is_foreign);
            let meaning = cosine.map(|cosine| f64::from(cosine) + apart);
            StrengthFeatures::new(meaning, f64::from(scores.matched), self.passages)
        };
        self.scores.iter().map(of).collect()
    }

    /// Returns the strength of each candidate, and of the search, 0 to 1: 1 for one that holds an
    /// identifier of the question, and 0 for a search without candidates.
    pub(super) fn strengths(&self, weights: &Weights) -> (Vec<f64>, f64) {
        let features = self.strength_features(weights);
        let weights = weights.strength.of_scale(self.scale);
        let strength = |features: &StrengthFeatures, is_identified: bool| {
            if is_identified {
                1.0
            } else {
                features.strength(&weights)
            }
        };
        if features.is_empty() {
            return (Vec::new(), 0.0);
        }
        let best = StrengthFeatures::of_search(features.iter().copied());
        let is_identified = self.identifiers.iter().any(|identifiers| *identifiers > 0);
        let candidates = features.iter().zip(&self.identifiers);
        let strengths =
            candidates.map(|(features, identifiers)| strength(features, *identifiers > 0));
        (strengths.collect(), strength(&best, is_identified))
    }

    /// Returns the candidates by their relevance with these weights, best first; those with more
    /// identifiers come before others.
    pub fn ranked(&self, weights: &Weights) -> Vec<usize> {
        let fused = fuse(&self.of(), weights, usize::MAX);
        let mut order = self.ordered(&|index| fused[index].relevance);
        order.sort_by_key(|index| Reverse(self.identifiers[*index]));
        order
    }

    /// Returns the candidates by a score, highest first, ties by id.
    pub fn ordered(&self, score: &dyn Fn(usize) -> f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by(|a, b| {
            score(*b)
                .total_cmp(&score(*a))
                .then_with(|| self.ids[*a].cmp(&self.ids[*b]))
        });
        order
    }
}

/// Returns the scores of the candidates of a question, of which `identified` contain so many of its
/// identifiers.
pub(super) fn input(
    candidates: &Candidates,
    query: &Query,
    marks: &Marks,
    reading: QueryReading,
    identified: &HashMap<MemoryId, usize>,
) -> FusionInput {
    let held = |hit: &Candidate| identified.get(&hit.id).copied().unwrap_or(0);
    let apartness = apartness(&candidates.hits, reading.scale);
    let thread = |thread: &ThreadScore| fusion::Thread {
        bm25: thread.bm25,
        members: thread.members,
    };
    FusionInput {
        ids: Vec::new(),
        scores: candidates
            .hits
            .iter()
            .zip(apartness)
            .map(|(hit, apartness)| Scores {
                apartness,
                ..scores(hit, query, marks, reading.scale)
            })
            .collect(),
        identifiers: candidates.hits.iter().map(held).collect(),
        threads: candidates.threads.iter().map(thread).collect(),
        bm25_bound: candidates.bm25_bound,
        terms: query.terms.len(),
        is_foreign: reading.is_foreign,
        passages: candidates.passages,
        scale: reading.scale,
    }
}

/// Returns how far each candidate stands apart; a candidate without a hubness, as the mean of those
/// with one.
fn apartness(hits: &[Candidate], scale: CosineScale) -> Vec<f32> {
    let apart = |hubness: Hubness| {
        hubness.weight * (HUBNESS_MAX - comparable(scale, hubness.cosine)).max(0.0)
    };
    let of_hits = hits.iter().map(|hit| hit.hubness.map(apart));
    let known: Vec<f32> = of_hits.clone().flatten().collect();
    let mean = known.iter().sum::<f32>() / known.len().max(1) as f32;
    of_hits.map(|apart| apart.unwrap_or(mean)).collect()
}

/// Returns the scores of a candidate for the fusion, as of one that is near to everything.
fn scores(hit: &Candidate, query: &Query, marks: &Marks, scale: CosineScale) -> Scores {
    let stored_on = dates::day(hit.created_at.microseconds());
    Scores {
        bm25: hit.bm25,
        matched: hit.matched,
        cosine: hit.cosine.map(|cosine| comparable(scale, cosine)),
        apartness: 0.0,
        place: hit
            .place_in_thread
            .map(|place| (place.thread, place.position)),
        is_tool_output: hit.marks & marks.tool_output != 0,
        query_bonus: QueryMatches {
            speaker: hit.marks & marks.speakers != 0,
            date: hit.marks & marks.dates != 0
                || query
                    .days
                    .as_ref()
                    .is_some_and(|days| days.contains(&stored_on)),
            time: hit.marks & marks.time != 0,
        },
    }
}

/// Returns the scores of the last of the `wanted` candidates by words and by meaning; `None` for a
/// side that has fewer.
pub(crate) fn cut_at(candidates: &[Candidate], wanted: usize) -> [Option<f32>; 2] {
    let by_words = candidates
        .iter()
        .map(|hit| hit.bm25)
        .filter(|bm25| *bm25 > 0.0)
        .collect();
    let by_meaning = candidates.iter().filter_map(|hit| hit.cosine).collect();
    [by_words, by_meaning].map(|mut scores: Vec<f32>| {
        let place = wanted
            .checked_sub(1)
            .filter(|place| *place < scores.len())?;
        Some(
            *scores
                .select_nth_unstable_by(place, |one, other| other.total_cmp(one))
                .1,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::strength::StrengthFunction;

    #[test]
    fn a_strength_follows_the_scale_of_the_cosines() {
        let of = |scale| {
            let input = FusionInput {
                ids: vec![MemoryId::new("m")],
                scores: vec![Scores {
                    cosine: Some(0.3),
                    ..Scores::default()
                }],
                identifiers: vec![0],
                threads: Vec::new(),
                bm25_bound: 1.0,
                terms: 3,
                is_foreign: false,
                passages: 1_000,
                scale,
            };
            let (candidates, search) = input.strengths(&Weights::default());
            assert_eq!(candidates, [search]);
            search
        };
        let other = CosineScale {
            unrelated: 0.8,
            same: 0.86,
        };
        let by = |function: StrengthFunction| {
            1.0 / (1.0 + (-function.bias - f64::from(0.3_f32) * function.meaning).exp())
        };
        let weights = Weights::default().strength;
        let is_near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(is_near(of(CosineScale::BUNDLED), by(weights.both)));
        assert!(is_near(of(other), by(weights.both_on_another_scale)));
    }
}
