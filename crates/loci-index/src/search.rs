//! Candidates for a query.

use std::cmp::Ordering;

use loci_core::{
    Candidate, CandidateQuery, Candidates, Hubness, MARKS_MAX, MemoryId, ThreadPosition,
};

use super::base::RecordFields;
use super::hubness::NEAREST;
use super::views::View;
use super::{Index, NONE};
use crate::structures::{AdmittedSlots, Bits, Statistics, Vectors, WordQuery, top};

/// A query on its way.
pub(crate) struct Search<'a> {
    pub(crate) index: &'a Index,
    pub(crate) query: &'a CandidateQuery<'a>,
    pub(crate) view: &'a View,
    pub(crate) words: WordQuery<'a>,
    /// The vectors of the query's model, and the query's.
    meaning: Option<(&'a Vectors, &'a [f32])>,
    /// The place of that model.
    model: Option<usize>,
}

/// A passage of a memory that a search looks at.
struct CandidatePassage {
    slot: u32,
    /// The memory, by its place among those.
    memory: u32,
    /// The passage's place in it.
    position: u32,
}

/// The scores of the passages of one memory.
#[derive(Clone, Default)]
struct MemoryScores {
    words: Option<Best>,
    matched: f32,
    meaning: Option<Best>,
    marks: u64,
}

/// The highest score of a memory's passages, at the lowest position of equals.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    position: u32,
}

impl Best {
    fn raise(best: &mut Option<Best>, score: f32, position: u32) {
        let is_better = |best: &Best| match score.partial_cmp(&best.score) {
            Some(Ordering::Equal) => position < best.position,
            order => order == Some(Ordering::Greater),
        };
        if best.as_ref().is_none_or(is_better) {
            *best = Some(Best { score, position });
        }
    }
}

impl Index {
    /// The best candidates by words and by meaning.
    pub fn candidates(&self, query: &CandidateQuery<'_>) -> Candidates {
        let view = self.view(query.filter);
        let statistics = Statistics::of(view.slots.count(), view.length);
        let comparable = query
            .vector
            .and_then(|vector| Some((self.texts.comparable(vector)?, &*vector.values)));
        let meaning = comparable.map(|((_, vectors), query)| (vectors, query));
        let words =
            self.texts
                .postings
                .prepare(query.terms, statistics, self.admitted(&view.slots));
        let search = Search {
            index: self,
            query,
            view: &view,
            words,
            meaning,
            model: comparable.map(|((place, _), _)| place),
        };
        let mut chosen = search.top_k();
        let threads = if query.with_context {
            search.threads(&chosen)
        } else {
            Vec::new()
        };
        if query.with_context {
            search.add_neighbours(&mut chosen);
        }
        let compared = meaning.map_or(0, |(vectors, _)| vectors.covered(&view.slots));
        Candidates {
            hits: search.hits(&chosen, &threads),
            threads: search.thread_scores(&threads),
            bm25_bound: search.words.bound(),
            passages: statistics.passages,
            passages_without_vector: query.vector.map_or(0, |_| statistics.passages - compared),
        }
    }

    /// These slots, as the postings want to know them.
    fn admitted<'a>(&self, slots: &'a Bits) -> AdmittedSlots<'a> {
        if slots.count() == self.slots.in_postings() {
            AdmittedSlots::All
        } else {
            AdmittedSlots::Only(slots)
        }
    }

    /// The order of the ids of two memories.
    pub(crate) fn compare_ids(&self, left: u32, right: u32) -> Ordering {
        match (self.record(left), self.record(right)) {
            (Some(left), Some(right)) => left.compare_ids(&right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        }
    }
}

impl Search<'_> {
    /// The numbers of the best by words and of the best by meaning, ascending.
    fn top_k(&self) -> Vec<u32> {
        let (index, limit) = (self.index, self.query.limit);
        let owner = |slot| index.slots.owner(slot);
        let tie = |left, right| index.compare_ids(left, right);
        let nearest = |admitted: &Bits| {
            let (vectors, query) = self.meaning?;
            vectors.nearest(query, admitted, limit, owner, tie)
        };
        let (by_words, by_meaning) = if self.query.required.is_empty() {
            (
                index
                    .texts
                    .postings
                    .search(&self.words, &[], limit, owner, tie),
                nearest(&self.view.slots),
            )
        } else {
            let complete = self.complete();
            let scores = self.score_memories(&complete, &[]);
            let score = |scored: MemoryScores| scored.words.map_or(0.0, |best| best.score);
            let by_words = top(
                limit,
                complete
                    .iter()
                    .zip(scores)
                    .map(|(number, scored)| (*number, score(scored))),
                tie,
            );
            (
                by_words,
                nearest(
                    &complete
                        .iter()
                        .flat_map(|number| index.slots_of(*number))
                        .collect(),
                ),
            )
        };
        let mut chosen: Vec<u32> = by_words
            .into_iter()
            .chain(by_meaning.into_iter().flatten())
            .map(|(number, _)| number)
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// The numbers of the memories whose passages have all required terms, ascending.
    fn complete(&self) -> Vec<u32> {
        let postings = &self.index.texts.postings;
        let mut required: Vec<&String> = self.query.required.iter().collect();
        required.sort_by_cached_key(|term| postings.list_length(term));
        let mut numbers: Option<Vec<u32>> = None;
        for term in required {
            // The rarest term says whom to ask for the others.
            let having: Vec<u32> = match numbers {
                None => postings.holding(
                    std::slice::from_ref(term),
                    self.index.admitted(&self.view.slots),
                ),
                Some(numbers) => {
                    let mut slots: Vec<u32> = numbers
                        .into_iter()
                        .flat_map(|number| self.index.slots_of(number))
                        .collect();
                    slots.sort_unstable();
                    let present = postings.presence(term, &slots);
                    slots
                        .into_iter()
                        .zip(present)
                        .filter_map(|(slot, has_it)| has_it.then_some(slot))
                        .collect()
                }
            };
            let mut owners: Vec<u32> = having
                .into_iter()
                .map(|slot| self.index.slots.owner(slot))
                .collect();
            owners.sort_unstable();
            owners.dedup();
            if owners.is_empty() {
                return owners;
            }
            numbers = Some(owners);
        }
        numbers.unwrap_or_default()
    }

    /// Scores the passages of each of these memories, and finds which of the marks they have.
    fn score_memories(&self, numbers: &[u32], marks: &[String]) -> Vec<MemoryScores> {
        let mut looked: Vec<CandidatePassage> = Vec::with_capacity(numbers.len());
        for (memory, number) in (0..).zip(numbers) {
            let slots = (0..).zip(self.index.slots_of(*number));
            looked.extend(slots.map(|(position, slot)| CandidatePassage {
                slot,
                memory,
                position,
            }));
        }
        looked.sort_unstable_by_key(|passage| passage.slot);
        let slots: Vec<u32> = looked.iter().map(|passage| passage.slot).collect();
        let mut scored = vec![MemoryScores::default(); numbers.len()];
        let postings = &self.index.texts.postings;
        let words = postings
            .scores(&self.words, &slots)
            .into_iter()
            .zip(postings.matched(&self.words, &slots));
        for (passage, (score, matched)) in looked.iter().zip(words) {
            let scored = &mut scored[passage.memory as usize];
            Best::raise(&mut scored.words, score, passage.position);
            scored.matched = scored.matched.max(matched);
            let cosine = self
                .meaning
                .and_then(|(vectors, query)| vectors.cosine(query, passage.slot));
            if let Some(cosine) = cosine {
                Best::raise(&mut scored.meaning, cosine, passage.position);
            }
        }
        for (bit, mark) in marks.iter().take(MARKS_MAX).enumerate() {
            for (passage, has_it) in looked
                .iter()
                .zip(self.index.texts.postings.presence(mark, &slots))
            {
                scored[passage.memory as usize].marks |= u64::from(has_it) << bit;
            }
        }
        scored
    }

    fn hits(&self, numbers: &[u32], threads: &[u32]) -> Vec<Candidate> {
        let scored = self.score_memories(numbers, self.query.marks);
        let hubnesses = self.hubnesses(numbers, &scored);
        numbers
            .iter()
            .zip(scored.iter().zip(hubnesses))
            .filter_map(|(number, (scored, hubness))| {
                let hit = self.hit(*number, scored, threads)?;
                Some(Candidate { hubness, ..hit })
            })
            .collect()
    }

    /// The hubness of the nearest passage of each memory, if the query asks for it, and the memory is
    /// one of the nearest of these.
    fn hubnesses(&self, numbers: &[u32], scored: &[MemoryScores]) -> Vec<Option<Hubness>> {
        let Some(model) = self.model.filter(|_| self.query.with_hubness) else {
            return vec![None; numbers.len()];
        };
        let meaning = scored.iter().filter_map(|scored| scored.meaning);
        let mut cosines: Vec<f32> = meaning.map(|best| best.score).collect();
        let floor = if cosines.len() > NEAREST {
            let last = cosines.select_nth_unstable_by(NEAREST - 1, |a, b| b.total_cmp(a));
            *last.1
        } else {
            f32::NEG_INFINITY
        };
        let nearest = numbers.iter().zip(scored).map(|(number, scored)| {
            let best = scored.meaning.filter(|best| best.score >= floor)?;
            self.index.slots_of(*number).nth(best.position as usize)
        });
        self.index.hubnesses(model, nearest)
    }

    fn hit(&self, number: u32, scored: &MemoryScores, threads: &[u32]) -> Option<Candidate> {
        let record = self.index.record(number)?;
        let RecordFields {
            thread,
            position,
            weight,
            created_at,
            updated_at,
            ..
        } = record.fixed;
        let thread = (thread != NONE)
            .then(|| threads.binary_search(&thread).ok())
            .flatten();
        let collection = self.index.traits(number).collection;
        Some(Candidate {
            id: MemoryId::new(record.id().to_text()),
            bm25: scored.words.map_or(0.0, |best| best.score),
            matched: scored.matched,
            cosine: scored.meaning.map(|best| best.score),
            hubness: None,
            marks: scored.marks,
            place_in_thread: thread.map(|thread| ThreadPosition { thread, position }),
            passage: scored
                .meaning
                .or(scored.words)
                .map_or(0, |best| best.position),
            collection: collection.and_then(|name| self.index.names.text(name)),
            source: record
                .source()
                .map(|source| MemoryId::new(source.to_text())),
            weight,
            created_at,
            updated_at,
        })
    }
}
