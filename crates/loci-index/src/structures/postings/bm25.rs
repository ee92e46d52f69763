//! BM25 (Robertson and Zaragoza 2009), and upper bounds that hold for every mean length.

use super::lengths::Lengths;
use super::posting::Posting;

/// The saturation of the term count.
const K1: f32 = 0.9;
/// The weight of the passage's length.
const B: f32 = 0.4;

/// The statistics of the passages that BM25 needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The number of passages.
    pub passages: usize,
    /// Their mean length in terms; 0 if there are no passages.
    pub mean_length: f32,
}

impl Statistics {
    /// Returns the statistics of this many passages with this total length.
    pub fn of(passages: usize, total_length: u64) -> Self {
        let mean_length = if passages == 0 {
            0.0
        } else {
            (total_length as f64 / passages as f64) as f32
        };
        Statistics {
            passages,
            mean_length,
        }
    }
}

/// Returns the contribution of one term to the BM25 of a text; 0 if the term does not occur.
/// `factor` is one of [`WordQuery::factors`](super::WordQuery::factors).
pub fn bm25(factor: f32, count: u32, length: f32, mean_length: f32) -> f32 {
    Saturation::of(mean_length).score(factor, count, length)
}

/// Returns `(k1 + 1) idf` of a term that so many of the passages contain.
pub(super) fn factor(passages: usize, containing: usize) -> f32 {
    let (passages, containing) = (passages.max(containing) as f32, containing as f32);
    (1.0 + (passages - containing + 0.5) / (containing + 0.5)).ln() * (K1 + 1.0)
}

/// The saturation of BM25 for one mean length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saturation {
    by_length: f32,
}

impl Saturation {
    pub(super) fn of(mean_length: f32) -> Self {
        Saturation {
            by_length: if mean_length > 0.0 {
                K1 * B / mean_length
            } else {
                0.0
            },
        }
    }

    #[inline]
    pub(super) fn score(self, factor: f32, count: u32, length: f32) -> f32 {
        let count = count as f32;
        if count > 0.0 {
            factor * count / (count + (K1 * (1.0 - B) + self.by_length * length))
        } else {
            0.0
        }
    }
}

/// Bounds the scores of some postings for any factor and mean length: the length of the shortest
/// passages with one occurrence, with two, and with more, and the maximum number of occurrences.
/// More occurrences and a shorter passage both increase a score, so no posting scores above the
/// best of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Impact {
    shortest_once: u16,
    shortest_twice: u16,
    shortest_more: u16,
    count_max: u16,
}

impl Impact {
    pub(super) fn of(postings: &[Posting], lengths: Lengths<'_>) -> Self {
        let mut shortest = [u32::from(u16::MAX); 4];
        let mut count_max = 0;
        for posting in postings {
            let length = lengths.get(posting.slot);
            let class = &mut shortest[posting.count.min(3) as usize];
            // A length beyond 16 bits is clamped, which keeps the bound valid.
            *class = length.min(*class);
            count_max = posting.count.max(count_max);
        }
        let [_, shortest_once, shortest_twice, shortest_more] =
            shortest.map(|length| length as u16);
        let count_max = u16::try_from(count_max).unwrap_or(u16::MAX);
        Impact {
            shortest_once,
            shortest_twice,
            shortest_more,
            count_max,
        }
    }

    /// Returns it in the format of a segment.
    pub(super) fn words(self) -> [u32; 2] {
        let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
        [
            pair(self.shortest_once, self.shortest_twice),
            pair(self.shortest_more, self.count_max),
        ]
    }

    pub(super) fn of_words([first, second]: [u32; 2]) -> Self {
        Impact {
            shortest_once: first as u16,
            shortest_twice: (first >> 16) as u16,
            shortest_more: second as u16,
            count_max: (second >> 16) as u16,
        }
    }

    /// Returns the maximum score for the factor 1, except for rounding. Classes without a posting
    /// count as the longest passage, which scores little.
    pub(super) fn weight_max(self, saturation: Saturation) -> f32 {
        let count_max = if self.count_max == u16::MAX {
            u32::MAX
        } else {
            u32::from(self.count_max)
        };
        let weight = |count: u32, shortest: u16| {
            saturation.score(1.0, count.min(count_max), f32::from(shortest))
        };
        weight(1, self.shortest_once)
            .max(weight(2, self.shortest_twice))
            .max(weight(count_max, self.shortest_more))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_scores_above_the_bound(
            passages in vec((prop_oneof![0_u32..6, any::<u32>()], prop_oneof![0_u32..99, any::<u32>()]), 1..20),
            mean_length in prop_oneof![Just(0.0_f32), 0.1_f32..1e6],
        ) {
            let lengths: Vec<u32> = passages.iter().map(|(_, length)| *length).collect();
            let postings: Vec<Posting> =
                (0..).zip(&passages).map(|(slot, (count, _))| Posting { slot, count: *count }).collect();
            let saturation = Saturation::of(mean_length);
            let bound = Impact::of(&postings, Lengths::of(&lengths)).weight_max(saturation);
            for (count, length) in passages {
                let score = saturation.score(1.0, count, length as f32);
                prop_assert!(score <= bound * 1.000_01, "{score} is above {bound}");
            }
        }
    }
}
