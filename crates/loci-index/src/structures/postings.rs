//! Posting lists of terms, scored by BM25.

use std::sync::Arc;

use super::bits;

mod base;
mod block;
mod bm25;
mod dictionary;
mod lengths;
mod list;
mod posting;
mod query;
mod search;
mod short;
#[cfg(test)]
mod tests;
mod view;

use base::Base;
use bits::Bits;
pub use bm25::{Statistics, bm25};
use dictionary::Dictionary;
use lengths::Lengths;
use posting::Posting;
pub use query::WordQuery;
use view::View;

/// The posting lists of all terms, with counts and lengths of passages, scored by BM25.
///
/// A slot is free, live or dead. [`insert`](Postings::insert) makes a free one live. A caller
/// removes a passage by no longer admitting its slot, which makes it dead: it stays in the lists
/// and keeps its length, so that bounds of scores remain valid. A purge cycle removes the slots
/// that were dead when it started from all lists, a few lists per step; passages may be inserted
/// and searched between the steps. The slots are free only when the cycle is complete.
///
/// The part that was [opened](Postings::open) from a segment never changes: its slots are live or
/// dead, and never purged.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    /// The postings of a segment.
    base: Option<Arc<Base>>,
    /// The first slot after the segment's.
    first: u32,
    dictionary: Dictionary,
    /// By slot, from `first` on.
    lengths: Vec<u32>,
    purge: Option<Purge>,
    /// The terms of the passage being inserted, kept to reuse the allocation.
    inserted: Vec<(u32, u32)>,
}

/// The slots in the lists that count for a query.
#[derive(Debug, Clone, Copy)]
pub enum AdmittedSlots<'a> {
    /// All slots: there is no filter, and the lists contain no dead slot. Saves many lookups.
    All,
    /// Only these slots.
    Only(&'a Bits),
}

impl AdmittedSlots<'_> {
    #[inline]
    fn contains(self, slot: u32) -> bool {
        match self {
            AdmittedSlots::All => true,
            AdmittedSlots::Only(bits) => bits.contains(slot),
        }
    }
}

/// A purge cycle: the dead slots are gone from all lists before the term `number`, and from its
/// list before `slot`.
#[derive(Debug, Clone)]
struct Purge {
    dead: Bits,
    number: u32,
    slot: u32,
}

impl Postings {
    /// Adds a passage with its distinct terms and the count of each; the count 0 makes a mark,
    /// which can be looked up and does not affect scores. The slot must be free. Slots may come in
    /// any order; ascending ones cost least.
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
        // Set before the lists are changed, because they bound scores by lengths.
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

    /// Returns the number of terms of the passage, including repetitions; 0 for a free slot.
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

    /// Starts a purge cycle for these dead slots. Returns false, and ignores `dead`, while another
    /// is under way.
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

    /// True if a purge cycle is under way.
    pub fn is_purging(&self) -> bool {
        self.purge.is_some()
    }

    /// Continues the cycle: examines about `budget` postings, and at least one stretch of a list;
    /// 20,000 take about half a millisecond if most blocks have a dead slot. When the cycle is
    /// complete, returns its slots, ascending, which are free from then on. Terms without passages
    /// are removed on the way.
    pub fn purge_step(&mut self, budget: usize) -> Option<Vec<u32>> {
        /// The cost of visiting a list, in postings.
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
                list::CleaningProgress {
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

    /// Visits the slot and the count of every posting of the term, ascending by slot. Includes dead
    /// slots and marks.
    pub fn counts_by(&self, term: &str, mut visit: impl FnMut(u32, u32)) {
        self.view(term)
            .walk(|posting| visit(posting.slot, posting.count));
    }

    /// Visits the ascending slots, as far as they have the term: the index of the slot, and the
    /// count. Costs less than [`counts_by`](Postings::counts_by) if the slots are few.
    pub fn counts_of(&self, term: &str, slots: &[u32], visit: impl FnMut(usize, u32)) {
        self.view(term).seek(slots, visit);
    }

    /// Returns true for each of the ascending slots that has the term, with any count.
    pub fn presence(&self, term: &str, slots: &[u32]) -> Vec<bool> {
        let mut present = vec![false; slots.len()];
        self.counts_of(term, slots, |index, _| present[index] = true);
        present
    }

    /// Returns the number of postings that [`counts_by`](Postings::counts_by) visits.
    pub fn list_length(&self, term: &str) -> usize {
        self.view(term).len()
    }

    fn view(&self, term: &str) -> View<'_> {
        self.view_of(term.as_bytes())
    }

    /// Frees the spare capacity after many passages were loaded.
    pub fn shrink(&mut self) {
        self.dictionary.shrink();
        self.lengths.shrink_to_fit();
        self.inserted = Vec::new();
    }

    /// Returns the approximate bytes that it uses in memory. Visits every term.
    pub fn bytes(&self) -> usize {
        let purge = self.purge.as_ref().map_or(0, |purge| purge.dead.bytes());
        let base = self.base.as_ref().map_or(0, |base| base.bytes());
        base + self.dictionary.bytes() + self.lengths.capacity() * size_of::<u32>() + purge
    }
}
