use std::collections::HashMap;

/// Saturation of the term count.
const K1: f32 = 0.9;
/// Weight of the passage's length.
const B: f32 = 0.4;

/// Which passages contain which terms, with counts and lengths, scored by BM25.
///
/// A passage that is taken away stays in the lists until the next [`purge`](Postings::purge); it
/// must not be admitted meanwhile, nor its slot be given to another.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    numbers: HashMap<Box<str>, u32>,
    lists: Vec<Vec<Posting>>,
    free_lists: Vec<u32>,
    lengths: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: u32,
    count: u32,
}

/// What BM25 needs to know of the passages that count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// How many there are.
    pub passages: usize,
    /// Their mean length in terms; 0 if there is none.
    pub mean_length: f32,
}

impl Postings {
    /// Adds a passage with its terms, each once, and the count of each. The slot must be free.
    pub fn insert<'a>(&mut self, slot: u32, terms: impl IntoIterator<Item = (&'a str, u32)>) {
        let mut length = 0_u32;
        for (term, count) in terms {
            length = length.saturating_add(count);
            let number = self.number(term);
            self.lists[number as usize].push(Posting { slot, count });
        }
        if self.lengths.len() <= slot as usize {
            self.lengths.resize(slot as usize + 1, 0);
        }
        self.lengths[slot as usize] = length;
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = self.free_lists.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        self.numbers.insert(term.into(), number);
        number
    }

    /// Forgets every passage whose slot is dead, and the terms that no passage has any more. Costs
    /// one look at every posting, so a store waits until many slots are dead.
    pub fn purge(&mut self, is_dead: impl Fn(u32) -> bool) {
        for list in &mut self.lists {
            list.retain(|posting| !is_dead(posting.slot));
        }
        let (lists, free_lists) = (&mut self.lists, &mut self.free_lists);
        self.numbers.retain(|_, number| {
            let list = &mut lists[*number as usize];
            if list.is_empty() {
                *list = Vec::new();
                free_lists.push(*number);
            }
            !list.is_empty()
        });
    }

    /// The statistics of the admitted passages; `admitted` tells by slot.
    pub fn statistics(&self, admitted: &[bool]) -> Statistics {
        let (mut passages, mut length) = (0_usize, 0_u64);
        for (slot_length, admitted) in self.lengths.iter().zip(admitted) {
            passages += usize::from(*admitted);
            length += u64::from(*slot_length) * u64::from(*admitted);
        }
        let mean_length = if passages == 0 { 0.0 } else { (length as f64 / passages as f64) as f32 };
        Statistics { passages, mean_length }
    }

    /// Adds the BM25 of the terms to `scores`, by slot, for the admitted passages alone.
    pub fn score(&self, terms: &[String], statistics: Statistics, admitted: &[bool], scores: &mut [f32]) {
        let length_factor = if statistics.mean_length > 0.0 { K1 * B / statistics.mean_length } else { 0.0 };
        for term in terms {
            let Some(number) = self.numbers.get(term.as_str()) else { continue };
            let list = &self.lists[*number as usize];
            let containing = list.iter().filter(|posting| admitted[posting.slot as usize]).count();
            let factor = inverse_frequency(statistics.passages, containing) * (K1 + 1.0);
            for posting in list {
                let slot = posting.slot as usize;
                if admitted[slot] {
                    let count = posting.count as f32;
                    let saturation = K1 * (1.0 - B) + length_factor * self.lengths[slot] as f32;
                    scores[slot] += factor * count / (count + saturation);
                }
            }
        }
    }

    /// Gives back memory that growing has reserved, after the load of many passages.
    pub fn shrink(&mut self) {
        self.lists.iter_mut().for_each(Vec::shrink_to_fit);
        self.lengths.shrink_to_fit();
    }

    /// Bytes that it holds in memory, about.
    pub fn bytes(&self) -> usize {
        const ENTRY: usize = size_of::<(Box<str>, u32)>() + size_of::<Vec<Posting>>() + 1;
        let postings: usize = self.lists.iter().map(Vec::capacity).sum();
        let texts: usize = self.numbers.keys().map(|term| term.len()).sum();
        postings * size_of::<Posting>() + texts + self.numbers.capacity() * ENTRY + self.lengths.capacity() * 4
    }
}

fn inverse_frequency(passages: usize, containing: usize) -> f32 {
    let (passages, containing) = (passages as f32, containing as f32);
    (1.0 + (passages - containing + 0.5) / (containing + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(postings: &Postings, admitted: &[bool], term: &str) -> Vec<f32> {
        let mut scores = vec![0.0; admitted.len()];
        postings.score(&[term.to_owned()], postings.statistics(admitted), admitted, &mut scores);
        scores
    }

    fn near(left: f32, right: f32) {
        assert!((left - right).abs() < 1e-6, "{left} is not {right}");
    }

    #[test]
    fn only_admitted_passages_count() {
        let mut postings = Postings::default();
        postings.insert(0, [("cat", 1)]);
        postings.insert(1, [("dog", 1)]);
        postings.insert(2, [("cat", 3), ("dog", 1)]);
        let found = scores(&postings, &[true, true, false], "cat");
        near(found[0], 2.0_f32.ln());
        assert_eq!(found[1..], [0.0, 0.0]);
        assert_eq!(postings.statistics(&[true, true, true]), Statistics { passages: 3, mean_length: 2.0 });
        assert_eq!(postings.statistics(&[false; 3]), Statistics { passages: 0, mean_length: 0.0 });
        let all = scores(&postings, &[true; 3], "cat");
        near(all[0], 1.6_f32.ln() * 1.9 / (1.0 + 0.9 * (0.6 + 0.4 / 2.0)));
        near(all[2], 1.6_f32.ln() * 3.0 * 1.9 / (3.0 + 0.9 * (0.6 + 0.4 * 4.0 / 2.0)));
        assert_eq!(scores(&postings, &[true; 3], "bird"), [0.0; 3]);
    }

    #[test]
    fn a_purge_forgets_dead_passages_and_their_terms() {
        let mut postings = Postings::default();
        postings.insert(0, [("cat", 1), ("rare", 1)]);
        postings.insert(1, [("cat", 1)]);
        postings.purge(|slot| slot == 0);
        assert_eq!(postings.numbers.len(), 1);
        postings.insert(0, [("new", 2)]);
        assert_eq!(scores(&postings, &[true, true], "rare"), [0.0, 0.0]);
        assert!(scores(&postings, &[true, true], "cat")[1] > 0.0);
        assert!(scores(&postings, &[true, true], "new")[0] > 0.0);
    }
}
