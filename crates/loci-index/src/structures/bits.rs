const WORD: usize = u64::BITS as usize;

/// A set of slots, one bit each. Slots beyond the last inserted one are absent.
#[derive(Debug, Clone, Default)]
pub struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// True if the slot is in the set.
    #[inline]
    pub fn contains(&self, slot: u32) -> bool {
        self.bit(slot) == 1
    }

    /// Returns 1 if the slot is in the set, else 0.
    #[inline]
    pub(super) fn bit(&self, slot: u32) -> usize {
        let slot = slot as usize;
        let word = self.words.get(slot / WORD).copied().unwrap_or_default();
        (word >> (slot % WORD) & 1) as usize
    }

    /// Inserts the slot; returns true if it was absent.
    pub fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = (slot as usize / WORD, 1 << (slot as usize % WORD));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let absent = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += usize::from(absent);
        absent
    }

    /// Removes the slot; returns true if it was present.
    pub fn remove(&mut self, slot: u32) -> bool {
        let present = self.contains(slot);
        if present {
            self.words[slot as usize / WORD] &= !(1 << (slot as usize % WORD));
            self.count -= 1;
        }
        present
    }

    /// Removes every slot.
    pub fn clear(&mut self) {
        self.words.clear();
        self.count = 0;
    }

    /// Returns the number of slots in the set.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if no slot is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bits, 64 per word, lowest slot first. Slots beyond the last word are absent.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the set of these words, in the format of [`words`](Bits::words).
    pub(super) fn of_words(words: Vec<u64>) -> Self {
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        Bits { words, count }
    }

    /// Returns the slots in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            // Each step clears the lowest bit.
            std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|rest| *rest != 0)
                .map(move |rest| (index * WORD) as u32 + rest.trailing_zeros())
        })
    }

    /// Frees the spare capacity.
    pub fn shrink(&mut self) {
        self.words.shrink_to_fit();
    }

    /// Returns the bytes that it uses in memory.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(left, right)| left == right)
    }
}

impl Eq for Bits {}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let mut bits = Bits::default();
        slots.into_iter().for_each(|slot| {
            bits.insert(slot);
        });
        bits
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_as_a_set(steps in vec((0_u32..300, any::<bool>()), 0..200)) {
            let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
            for (slot, put_in) in steps {
                if put_in {
                    prop_assert_eq!(bits.insert(slot), set.insert(slot));
                } else {
                    prop_assert_eq!(bits.remove(slot), set.remove(&slot));
                }
                prop_assert_eq!((bits.count(), bits.is_empty()), (set.len(), set.is_empty()));
            }
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
            prop_assert!((0..400).all(|slot| bits.contains(slot) == set.contains(&slot)));
            let ones: u32 = bits.words().iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(ones as usize, bits.count());
            prop_assert_eq!(&set.into_iter().collect::<Bits>(), &bits);
            bits.clear();
            prop_assert_eq!(bits, Bits::default());
        }
    }

    #[test]
    fn sets_of_other_lengths_are_equal_if_their_slots_are() {
        let mut bits: Bits = [1, 1_000].into_iter().collect();
        assert_ne!(bits, [1].into_iter().collect());
        bits.remove(1_000);
        assert_eq!(bits, [1].into_iter().collect());
        assert_ne!(bits, [2].into_iter().collect());
    }
}
