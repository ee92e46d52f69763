//! Finds the best passages without scoring most others: MaxScore (Turtle and Flood 1995) with block
//! bounds (Ding and Suel 2011), one window of slots after the other.

use std::cmp::Ordering;

use super::block::BLOCK;
use super::bm25::Saturation;
use super::lengths::Lengths;
use super::posting::Posting;
use super::query::{QueryTerm, WordQuery};
use super::{AdmittedSlots, Postings};
use crate::structures::top::Best;

/// The number of slots that are scored together, a multiple of the bits of a word.
const WINDOW: usize = 4_096;
const WORD: usize = u64::BITS as usize;
/// The number of passages per wanted group that are scored before the rest.
const PROMISING: usize = 4;
/// The factor that covers rounding errors of bounds and of sums in another order, which are much
/// smaller.
const SLACK: f32 = 1.000_1;

impl Postings {
    /// Returns the best `limit` groups, best first. A group has the score of its best passage, and
    /// `group` returns the group of a slot; `tie` orders groups of equal score, lesser first.
    ///
    /// A passage is a hit if it is admitted, scores above 0 and has all `required` terms, with any
    /// counts. If the query has no terms and some are required, each passage that has them is a hit
    /// with the score 0.
    pub fn search(
        &self,
        query: &WordQuery<'_>,
        required: &[String],
        limit: usize,
        group: impl Fn(u32) -> u32,
        tie: impl Fn(u32, u32) -> Ordering,
    ) -> Vec<(u32, f32)> {
        let mut best = Best::new(limit, tie);
        if !required.is_empty() {
            let slots = self.holding(required, query.admitted);
            let without_terms = query.factors().is_empty();
            for (slot, score) in slots.iter().zip(self.scores(query, &slots)) {
                if score > 0.0 || without_terms {
                    best.push(group(*slot), score);
                }
            }
        } else if limit > 0 && !query.terms.is_empty() {
            if limit < self.lengths().end() {
                for (slot, score) in self.promising(query, limit) {
                    best.push(group(slot), score);
                }
            }
            let mut windows = Windows::new(query, self.lengths());
            for start in (0..self.lengths().end()).step_by(WINDOW) {
                windows.search(start as u32, &mut best, &group);
            }
        }
        best.finish()
    }

    /// Scores some passages with the rarest terms, so that the floor is high from the first window
    /// on. The windows find them again.
    fn promising(&self, query: &WordQuery<'_>, limit: usize) -> Vec<(u32, f32)> {
        let mut rarest: Vec<&QueryTerm<'_>> = query.terms.iter().collect();
        rarest.sort_by(|left, right| right.factor.total_cmp(&left.factor));
        let enough = limit.saturating_mul(PROMISING);
        let mut slots = Vec::new();
        for term in rarest {
            let admitted =
                |posting: &Posting| posting.count > 0 && query.admitted.contains(posting.slot);
            term.view.first(enough - slots.len(), admitted, &mut slots);
            if slots.len() >= enough {
                break;
            }
        }
        slots.sort_unstable();
        slots.dedup();
        let scores = self.scores(query, &slots);
        slots
            .into_iter()
            .zip(scores)
            .filter(|(_, score)| *score > 0.0)
            .collect()
    }
}

/// The window that is being scored.
struct Windows<'a> {
    admitted: AdmittedSlots<'a>,
    cursors: Vec<Cursor<'a>>,
    lengths: Lengths<'a>,
    /// Sums of scores, by slot in the window; 0 between windows.
    sums: Vec<f32>,
    /// A bit for each sum that was changed.
    touched: [u64; WINDOW / WORD],
    /// Indexes of cursors, ordered by bound, the lowest first.
    order: Vec<usize>,
    /// The scores of one passage, by cursor.
    scores: Vec<f32>,
}

impl<'a> Windows<'a> {
    fn new(query: &'a WordQuery<'a>, lengths: Lengths<'a>) -> Self {
        let cursors: Vec<Cursor<'a>> = query
            .terms
            .iter()
            .map(|term| Cursor::new(term, query.saturation, lengths))
            .collect();
        Windows {
            admitted: query.admitted,
            lengths,
            sums: vec![0.0; WINDOW],
            touched: [0; WINDOW / WORD],
            order: (0..cursors.len()).collect(),
            scores: vec![0.0; cursors.len()],
            cursors,
        }
    }

    /// Scores the window from `start` on, except for passages that cannot reach the floor.
    fn search<T: Fn(u32, u32) -> Ordering>(
        &mut self,
        start: u32,
        best: &mut Best<T>,
        group: &impl Fn(u32) -> u32,
    ) {
        let last = start + (WINDOW as u32 - 1);
        for cursor in &mut self.cursors {
            cursor.enter(start, last);
        }
        let cursors = &self.cursors;
        self.order
            .sort_unstable_by(|left, right| cursors[*left].bound.total_cmp(&cursors[*right].bound));
        // A passage with only terms of this first part cannot reach the floor.
        let mut optional = 0;
        let mut optional_bound = 0.0;
        for index in &self.order {
            let bound = optional_bound + self.cursors[*index].bound;
            if bound > 0.0 && bound * SLACK >= best.floor() {
                break;
            }
            optional_bound = bound;
            optional += 1;
        }
        if optional == self.order.len() {
            return;
        }
        // In the order of the query, so that a sum of all terms equals the score.
        self.order[optional..].sort_unstable();
        for index in &self.order[optional..] {
            self.cursors[*index].add(start, last, self.lengths, &mut self.sums, &mut self.touched);
        }
        for word in 0..self.touched.len() {
            self.settle(start, word, (optional, optional_bound), best, group);
        }
    }

    /// Passes on the passages of one word whose sum plus the bound of the missing terms reaches the
    /// floor.
    fn settle<T: Fn(u32, u32) -> Ordering>(
        &mut self,
        start: u32,
        word: usize,
        (optional, optional_bound): (usize, f32),
        best: &mut Best<T>,
        group: &impl Fn(u32) -> u32,
    ) {
        let touched = std::mem::take(&mut self.touched[word]);
        if touched == 0 {
            return;
        }
        let mut hits = match self.admitted {
            AdmittedSlots::All => touched,
            AdmittedSlots::Only(bits) => {
                touched
                    & bits
                        .words()
                        .get(start as usize / WORD + word)
                        .copied()
                        .unwrap_or_default()
            }
        };
        while hits != 0 {
            let place = word * WORD + hits.trailing_zeros() as usize;
            hits &= hits - 1;
            let (slot, sum) = (start + place as u32, self.sums[place]);
            if (sum + optional_bound) * SLACK < best.floor() {
                continue;
            }
            let score = if optional_bound == 0.0 {
                Some(sum)
            } else {
                self.complete(slot, sum, optional, best.floor())
            };
            if let Some(score) = score.filter(|score| *score > 0.0) {
                best.push(group(slot), score);
            }
        }
        self.sums[word * WORD..][..WORD].fill(0.0);
    }

    /// Returns the score of a passage that has `sum` from the other terms; `None` if it stays below
    /// the floor.
    fn complete(&mut self, slot: u32, sum: f32, optional: usize, floor: f32) -> Option<f32> {
        let length = self.lengths.get(slot) as f32;
        let mut so_far = sum;
        let mut missing: f32 = self.order[..optional]
            .iter()
            .map(|index| self.cursors[*index].bound)
            .sum();
        for index in self.order[..optional].iter().rev() {
            if (so_far + missing) * SLACK < floor {
                return None;
            }
            let cursor = &mut self.cursors[*index];
            let score = cursor.score(slot, length);
            missing -= cursor.bound;
            so_far += score;
            self.scores[*index] = score;
        }
        for index in &self.order[optional..] {
            self.scores[*index] = self.cursors[*index].score(slot, length);
        }
        Some(self.scores.iter().sum())
    }
}

/// A position in the list of a term.
struct Cursor<'a> {
    term: &'a QueryTerm<'a>,
    saturation: Saturation,
    tail_weight: f32,
    /// The first block that overlaps the window or comes after it.
    block: usize,
    /// The upper bound of the term's score in the window, except for rounding.
    bound: f32,
    /// The unpacked block: slots and counts of `length` postings; the tail counts as the block
    /// after the last one. `usize::MAX` if no block is unpacked.
    unpacked: usize,
    slots: [u32; BLOCK],
    counts: [u32; BLOCK],
    length: usize,
}

impl<'a> Cursor<'a> {
    fn new(term: &'a QueryTerm<'a>, saturation: Saturation, lengths: Lengths<'_>) -> Self {
        let weight = super::bm25::Impact::of(&term.view.tail, lengths).weight_max(saturation);
        let (slots, counts) = ([0; BLOCK], [0; BLOCK]);
        Cursor {
            term,
            saturation,
            tail_weight: weight,
            block: 0,
            bound: 0.0,
            unpacked: usize::MAX,
            slots,
            counts,
            length: 0,
        }
    }

    /// Returns the first and the last slot of a block, or of the tail after the last block; `None`
    /// beyond it.
    fn range(&self, block: usize) -> Option<(u32, u32)> {
        let view = &self.term.view;
        match view.range(block) {
            None if block == view.blocks() => {
                Some((view.tail.first()?.slot, view.tail.last()?.slot))
            }
            range => range,
        }
    }

    /// Moves to a window and bounds the term's score there.
    fn enter(&mut self, start: u32, last: u32) {
        while self.range(self.block).is_some_and(|(_, end)| end < start) {
            self.block += 1;
        }
        let mut weight = 0.0_f32;
        let mut block = self.block;
        while self.range(block).is_some_and(|(first, _)| first <= last) {
            let found = self.term.view.block(block);
            weight = weight
                .max(found.map_or(self.tail_weight, |block| block.weight_max(self.saturation)));
            block += 1;
        }
        self.bound = weight * self.term.factor;
    }

    fn unpack(&mut self, block: usize) {
        if self.unpacked == block {
            return;
        }
        self.unpacked = block;
        if let Some(block) = self.term.view.block(block) {
            block.unpack_slots(&mut self.slots);
            block.unpack_counts(&mut self.counts);
            self.length = block.len();
        } else {
            self.length = self.term.view.tail.len();
            for (place, posting) in self.term.view.tail.iter().take(BLOCK).enumerate() {
                (self.slots[place], self.counts[place]) = (posting.slot, posting.count);
            }
        }
    }

    /// Adds the scores of all passages in the window.
    fn add(
        &mut self,
        start: u32,
        last: u32,
        lengths: Lengths<'_>,
        sums: &mut [f32],
        touched: &mut [u64],
    ) {
        let mut block = self.block;
        while self.range(block).is_some_and(|(first, _)| first <= last) {
            self.unpack(block);
            let slots = &self.slots[..self.length];
            let from = slots.partition_point(|slot| *slot < start);
            for (slot, count) in slots.iter().zip(&self.counts).skip(from) {
                if *slot > last {
                    break;
                }
                let place = (slot - start) as usize;
                let length = lengths.get(*slot) as f32;
                sums[place] += self.saturation.score(self.term.factor, *count, length);
                touched[place / WORD] |= 1 << (place % WORD);
            }
            block += 1;
        }
    }

    /// Returns the score of one passage in the window.
    fn score(&mut self, slot: u32, length: f32) -> f32 {
        let mut block = self.block;
        while self.range(block).is_some_and(|(_, last)| last < slot) {
            block += 1;
        }
        if self.range(block).is_none_or(|(first, _)| first > slot) {
            return 0.0;
        }
        self.unpack(block);
        let count = self.slots[..self.length]
            .binary_search(&slot)
            .map_or(0, |place| self.counts[place]);
        self.saturation.score(self.term.factor, count, length)
    }
}
