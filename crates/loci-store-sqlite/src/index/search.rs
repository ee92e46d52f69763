//! Candidates for a query.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use loci_core::{Candidate, CandidateQuery, Candidates, MemoryId, QueryVector};
use loci_search::index::{Statistics, Vectors, top};

use super::{Index, NONE, Record};

/// How every memory scored, by number; the lowest number there is where it did not.
struct Scores {
    by_memory: Vec<f32>,
    by_slot: Vec<f32>,
}

/// The vectors that a query is compared with, and how the first pass over them went.
struct Nearness<'a> {
    query: &'a QueryVector,
    vectors: &'a Vectors,
    /// Approximate cosines.
    scores: Scores,
    /// By how much they may be wrong.
    error: f32,
    compared: usize,
}

impl Index {
    /// The best candidates by words and by meaning.
    pub(crate) fn candidates(&self, query: &CandidateQuery<'_>) -> Candidates {
        let memories = self.admitted(query.filter);
        let slots: Vec<bool> = self.owners.iter().map(|number| *number != NONE && memories[*number as usize]).collect();
        let statistics = self.postings.statistics(&slots);
        let words = self.words(query.terms, statistics, &slots);
        let nearness = query.vector.and_then(|vector| self.nearness(vector, &slots));
        let tie = |left: u32, right: u32| self.compare_ids(left, right);
        let matched = positive(&words.by_memory);
        let mut chosen: BTreeSet<u32> = top(query.limit, matched, tie).into_iter().map(|(number, _)| number).collect();
        if let Some(nearness) = &nearness {
            chosen.extend(self.nearest(nearness, query.limit));
        }
        let hits = chosen.into_iter().filter_map(|number| self.candidate(number, &words, nearness.as_ref()));
        let compared = nearness.as_ref().map_or(0, |nearness| nearness.compared);
        Candidates {
            hits: hits.collect(),
            passages: statistics.passages,
            passages_without_vector: query.vector.map_or(0, |_| statistics.passages - compared),
        }
    }

    /// BM25 of every admitted passage and the best of each memory; 0 where no word occurs.
    fn words(&self, terms: &[String], statistics: Statistics, slots: &[bool]) -> Scores {
        let mut scores = Scores { by_memory: vec![0.0; self.traits.len()], by_slot: vec![0.0; slots.len()] };
        if terms.is_empty() {
            return scores;
        }
        self.postings.score(terms, statistics, slots, &mut scores.by_slot);
        for (number, score) in self.owners.iter().zip(&scores.by_slot) {
            if *score > 0.0 {
                let best = &mut scores.by_memory[*number as usize];
                *best = best.max(*score);
            }
        }
        scores
    }

    /// The first pass over the vectors; none if nothing can be compared with the query.
    fn nearness<'a>(&'a self, query: &'a QueryVector, slots: &[bool]) -> Option<Nearness<'a>> {
        let vectors = &self.models.iter().find(|model| model.id == query.model)?.vectors;
        let prepared = vectors.prepare(&query.values)?;
        let compared: Vec<u32> = (0_u32..)
            .zip(slots)
            .filter(|(slot, admitted)| **admitted && vectors.has(*slot))
            .map(|(slot, _)| slot)
            .collect();
        let mut cosines = Vec::with_capacity(compared.len());
        vectors.approximate(&prepared, &compared, &mut cosines);
        let mut scores = Scores {
            by_memory: vec![f32::NEG_INFINITY; self.traits.len()],
            by_slot: vec![f32::NEG_INFINITY; slots.len()],
        };
        for (slot, cosine) in compared.iter().copied().zip(cosines) {
            scores.by_slot[slot as usize] = cosine;
            let best = &mut scores.by_memory[self.owners[slot as usize] as usize];
            *best = best.max(cosine);
        }
        Some(Nearness { query, vectors, scores, error: prepared.error(), compared: compared.len() })
    }

    /// The memories with the nearest passages, exactly: whatever the first pass cannot rule out is
    /// compared again in full precision.
    fn nearest(&self, nearness: &Nearness<'_>, limit: usize) -> Vec<u32> {
        let scored = || (0_u32..).zip(nearness.scores.by_memory.iter().copied()).filter(|(_, score)| score.is_finite());
        let Some((_, last)) = top(limit, scored(), |left, right| left.cmp(&right)).last().copied() else {
            return Vec::new();
        };
        let possible = scored().filter(|(_, score)| *score >= last - 2.0 * nearness.error);
        let exact = possible.filter_map(|(number, _)| {
            let record = self.records[number as usize].as_ref()?;
            Some((number, nearness.best(record, &nearness.scores.by_memory, number)?.1))
        });
        let best = top(limit, exact.collect::<Vec<_>>(), |left, right| self.compare_ids(left, right));
        best.into_iter().map(|(number, _)| number).collect()
    }

    fn candidate(&self, number: u32, words: &Scores, nearness: Option<&Nearness<'_>>) -> Option<Candidate> {
        let record = self.records[number as usize].as_ref()?;
        let by_meaning = nearness.and_then(|nearness| nearness.best(record, &nearness.scores.by_memory, number));
        let by_words = || {
            let scores = record.slots.iter().map(|slot| words.by_slot[*slot as usize]);
            (0_u32..).zip(scores).reduce(|best, next| if next.1 > best.1 { next } else { best })
        };
        Some(Candidate {
            id: MemoryId::new(&*record.id),
            bm25: words.by_memory[number as usize],
            cosine: by_meaning.map(|(_, cosine)| cosine),
            passage: by_meaning.or_else(by_words).map_or(0, |(position, _)| position),
            collection: self.traits[number as usize].collection.and_then(|name| self.names.text(name)),
            source: record.source.as_deref().map(MemoryId::new),
            weight: record.weight,
            updated_at: record.updated_at,
        })
    }

    fn compare_ids(&self, left: u32, right: u32) -> Ordering {
        let id = |number: u32| self.records[number as usize].as_ref().map(|record| &record.id);
        id(left).cmp(&id(right))
    }
}

impl Nearness<'_> {
    /// The position and the exact cosine of the memory's nearest passage, the first among equals.
    fn best(&self, record: &Record, by_memory: &[f32], number: u32) -> Option<(u32, f32)> {
        let floor = by_memory[number as usize] - 2.0 * self.error;
        let possible = (0_u32..).zip(&record.slots).filter(|(_, slot)| {
            let approximate = self.scores.by_slot[**slot as usize];
            approximate.is_finite() && approximate >= floor
        });
        let exact =
            possible.filter_map(|(position, slot)| Some((position, self.vectors.exact(&self.query.values, *slot)?)));
        exact.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

fn positive(scores: &[f32]) -> impl Iterator<Item = (u32, f32)> {
    (0_u32..).zip(scores.iter().copied()).filter(|(_, score)| *score > 0.0)
}
