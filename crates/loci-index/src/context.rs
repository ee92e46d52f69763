//! The context of the best memories: their neighbours and their threads.

use loci_core::{NEIGHBOUR_DISTANCE_MAX, ThreadScore};

use super::NONE;
use super::base::RecordFields;
use super::search::Search;
use crate::structures::bm25;

impl Search<'_> {
    /// The threads of these memories, each once, ascending.
    pub(crate) fn threads(&self, numbers: &[u32]) -> Vec<u32> {
        let records = numbers
            .iter()
            .filter_map(|number| self.index.record(*number));
        let mut threads: Vec<u32> = records
            .map(|record| record.fixed.thread)
            .filter(|thread| *thread != NONE)
            .collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Adds the admitted memories that stand near these in their threads.
    pub(crate) fn add_neighbours(&self, numbers: &mut Vec<u32>) {
        for place in 0..numbers.len() {
            let Some(RecordFields {
                thread, position, ..
            }) = self.index.record(numbers[place]).map(|record| record.fixed)
            else {
                continue;
            };
            if thread != NONE {
                let near = self
                    .index
                    .threads
                    .near(thread, position, NEIGHBOUR_DISTANCE_MAX);
                let near = near.iter().map(|member| member.number);
                numbers.extend(near.filter(|number| self.view.memories.contains(*number)));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
    }

    /// Each thread as one text.
    pub(crate) fn thread_scores(&self, threads: &[u32]) -> Vec<ThreadScore> {
        let mut passages: Vec<(u32, usize)> = Vec::new();
        let mut scores = vec![ThreadScore::default(); threads.len()];
        for (place, thread) in threads.iter().enumerate() {
            for number in self.counted(*thread) {
                scores[place].members += 1;
                passages.extend(self.index.slots_of(number).map(|slot| (slot, place)));
            }
        }
        passages.sort_unstable();
        let mut lengths = vec![0_u64; threads.len()];
        for (slot, place) in &passages {
            lengths[*place] += u64::from(self.index.texts.postings.length(*slot));
        }
        let mean_length = (lengths.iter().sum::<u64>() as f64 / threads.len() as f64) as f32;
        let slots: Vec<u32> = passages.iter().map(|(slot, _)| *slot).collect();
        for (term, factor) in self.query.terms.iter().zip(self.words.factors()) {
            let mut counts = vec![0_u32; threads.len()];
            self.index
                .texts
                .postings
                .counts_of(term, &slots, |passage, count| {
                    let sum = &mut counts[passages[passage].1];
                    *sum = sum.saturating_add(count);
                });
            for ((score, count), length) in scores.iter_mut().zip(counts).zip(&lengths) {
                score.bm25 += bm25(*factor, count, *length as f32, mean_length);
            }
        }
        scores
    }

    /// The members of the thread that make its text: one admitted member for each position.
    fn counted(&self, thread: u32) -> Vec<u32> {
        let members = self.index.threads.members(thread);
        let of_one_position = members.chunk_by(|left, right| left.position == right.position);
        let counted = of_one_position.filter_map(|members| {
            let admitted = members
                .iter()
                .map(|member| member.number)
                .filter(|number| self.view.memories.contains(*number));
            admitted.min_by(|left, right| self.index.compare_ids(*left, *right))
        });
        counted.collect()
    }
}
