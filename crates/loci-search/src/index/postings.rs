//! Which passages contain which terms, scored by BM25.

use std::sync::Arc;

use super::bits;

mod base;
mod block;
mod bm25;
mod dictionary;
mod lengths;
mod list;
mod query;
mod search;
mod short;
#[cfg(test)]
mod tests;
mod view;

use base::Base;
use bits::Bits;
use block::Posting;
pub use bm25::{Statistics, bm25};
use dictionary::Dictionary;
use lengths::Lengths;
pub use query::WordQuery;
use view::View;

/// Which passages contain which terms, with counts and lengths, scored by BM25.
///
/// A slot is free, living or dead. [`insert`](Postings::insert) makes a free one living. A caller
/// that removes a passage only stops to admit its slot, which makes it dead: it stays in the lists
/// and keeps its length, so that bounds of scores still hold. A cycle of purging takes the slots
/// that were dead when it began out of all lists, a few lists a step; passages may be inserted and
/// searched between the steps. Only when the cycle is through are its slots free.
///
/// The part that was [taken over](Postings::open) from a segment never changes: its slots are
/// living or dead, and never purged.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    /// The postings that lie in a segment.
    base: Option<Arc<Base>>,
    /// The first slot that is not the segment's.
    first: u32,
    dictionary: Dictionary,
    /// By slot, from the first on.
    lengths: Vec<u32>,
    purge: Option<Purge>,
    /// Terms of the passage being inserted, kept for its memory.
    inserted: Vec<(u32, u32)>,
}

/// Which of the slots in the lists count for a query.
#[derive(Debug, Clone, Copy)]
pub enum Admitted<'a> {
    /// All of them: there is no filter, and no dead slot is in the lists. Spares many looks.
    All,
    /// These alone.
    Only(&'a Bits),
}

impl Admitted<'_> {
    #[inline]
    fn contains(self, slot: u32) -> bool {
        match self {
            Admitted::All => true,
            Admitted::Only(bits) => bits.contains(slot),
        }
    }
}

/// A cycle of purging: the lists before `slot` of the term `number` hold none of the dead slots.
#[derive(Debug, Clone)]
struct Purge {
    dead: Bits,
    number: u32,
    slot: u32,
}

impl Postings {
    /// Adds a passage with its terms, each once, and the count of each; 0 makes a mark, which can
    /// be looked up and scores nothing. The slot must be free. Slots may come in any order;
    /// ascending ones cost least.
    pub fn insert<'a>(&mut self, slot: u32, terms: impl IntoIterator<Item = (&'a str, u32)>) {
        let mut inserted = std::mem::take(&mut self.inserted);
        inserted.extend(
            terms
                .into_iter()
                .map(|(term, count)| (self.dictionary.number(term), count)),
        );
        let place = (slot - self.first) as usize;
        if self.lengths.len() <= place {
            self.lengths.resize(place + 1, 0);
        }
        // Before the lists: they bound scores by lengths.
        self.lengths[place] = inserted
            .iter()
            .fold(0, |length: u32, (_, count)| length.saturating_add(*count));
        for (number, count) in inserted.drain(..) {
            if let Some(list) = self.dictionary.list_mut(number) {
                let lengths = Lengths {
                    base: &[],
                    first: self.first,
                    own: &self.lengths,
                };
                list.insert(Posting { slot, count }, lengths);
            }
        }
        self.inserted = inserted;
    }

    /// How many terms the passage has, counted as often as they occur; 0 for a free slot.
    pub fn length(&self, slot: u32) -> u32 {
        self.lengths().get(slot)
    }

    fn lengths(&self) -> Lengths<'_> {
        let base = self.base.as_ref().map_or(&[][..], |base| base.lengths());
        Lengths {
            base,
            first: self.first,
            own: &self.lengths,
        }
    }

    /// Begins a cycle of purging these dead slots. False, and `dead` is not looked at, while
    /// another is under way.
    pub fn begin_purge(&mut self, dead: impl IntoIterator<Item = u32>) -> bool {
        if self.is_purging() {
            return false;
        }
        self.purge = Some(Purge {
            dead: dead.into_iter().collect(),
            number: 0,
            slot: 0,
        });
        true
    }

    /// Whether a cycle of purging is under way.
    pub fn is_purging(&self) -> bool {
        self.purge.is_some()
    }

    /// Goes on with the cycle: looks at about `budget` postings, and at one stretch of a list at
    /// least; 20,000 take about half a millisecond where most blocks have a dead slot. When the
    /// cycle is through, returns its slots, ascending; they are free now. Terms that no passage has
    /// any more are forgotten on the way.
    pub fn purge_step(&mut self, budget: usize) -> Option<Vec<u32>> {
        /// What it costs to come to a list, in postings.
        const LIST: usize = 4;
        let mut purge = self.purge.take()?;
        let mut left = budget;
        while purge.number < self.dictionary.numbers() && !purge.dead.is_empty() {
            let list = self.dictionary.list_mut(purge.number);
            let lengths = Lengths {
                base: &[],
                first: self.first,
                own: &self.lengths,
            };
            let cleaned = list.map(|list| {
                (
                    list.clean(purge.slot, &purge.dead, lengths, left),
                    list.is_empty(),
                )
            });
            left = left.saturating_sub(
                LIST + cleaned.as_ref().map_or(0, |(cleaned, _)| cleaned.looked_at),
            );
            if let Some((
                list::Cleaned {
                    next: Some(slot), ..
                },
                _,
            )) = cleaned
            {
                purge.slot = slot;
            } else {
                if let Some((_, true)) = cleaned {
                    self.dictionary.remove(purge.number);
                }
                (purge.number, purge.slot) = (purge.number + 1, 0);
            }
            if left == 0 {
                self.purge = Some(purge);
                return None;
            }
        }
        for slot in purge.dead.iter() {
            if let Some(length) = self.lengths.get_mut((slot - self.first) as usize) {
                *length = 0;
            }
        }
        Some(purge.dead.iter().collect())
    }

    /// Visits the slot and the count of every posting of the term, ascending by slot. Dead slots
    /// and marks are among them.
    pub fn counts_by(&self, term: &str, mut visit: impl FnMut(u32, u32)) {
        self.view(term)
            .walk(|posting| visit(posting.slot, posting.count));
    }

    /// Visits those of the slots, which ascend, that have the term: the index of the slot, and the
    /// count. Costs less than [`counts_by`](Postings::counts_by) where the slots are few.
    pub fn counts_of(&self, term: &str, slots: &[u32], visit: impl FnMut(usize, u32)) {
        self.view(term).seek(slots, visit);
    }

    /// Which of the slots, which ascend, have the term, whatever the count.
    pub fn presence(&self, term: &str, slots: &[u32]) -> Vec<bool> {
        let mut present = vec![false; slots.len()];
        self.counts_of(term, slots, |index, _| present[index] = true);
        present
    }

    /// How many postings [`counts_by`](Postings::counts_by) visits.
    pub fn list_length(&self, term: &str) -> usize {
        self.view(term).len()
    }

    fn view(&self, term: &str) -> View<'_> {
        self.view_of(term.as_bytes())
    }

    /// Gives back memory that growing has reserved, after the load of many passages.
    pub fn shrink(&mut self) {
        self.dictionary.shrink();
        self.lengths.shrink_to_fit();
        self.inserted = Vec::new();
    }

    /// Bytes that it holds in memory, about. Looks at every term.
    pub fn bytes(&self) -> usize {
        let purge = self.purge.as_ref().map_or(0, |purge| purge.dead.bytes());
        let base = self.base.as_ref().map_or(0, |base| base.bytes());
        base + self.dictionary.bytes() + self.lengths.capacity() * size_of::<u32>() + purge
    }
}
