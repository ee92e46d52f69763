//! Counts of what a source says more than once.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

/// The number of bytes of a hash that are kept: two different texts never share these.
const HASH_BYTES: usize = 16;

/// The beginning of a hash.
type Key = [u8; HASH_BYTES];

/// Returns the beginning of the hash of these parts.
fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut key = [0; HASH_BYTES];
    key.copy_from_slice(&hash.finalize()[..HASH_BYTES]);
    key
}

/// Counts how often something was said, by its hash: a source may have gigabytes of texts, which are
/// not kept.
#[derive(Debug, Default)]
pub struct Repetitions(HashMap<Key, u64>);

impl Repetitions {
    /// Counts what these parts together say; returns how often they were said before.
    pub fn count<'a>(&mut self, parts: impl IntoIterator<Item = &'a str>) -> u64 {
        let count = self.0.entry(key(parts)).or_default();
        *count += 1;
        *count - 1
    }

    /// Returns the number of bytes that are kept for what was said so far, without the room that the table
    /// keeps free.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|(key, count)| size_of_val(key) + size_of_val(count))
            .sum()
    }
}

/// Numbers names by their hashes, in the order in which they are first told.
#[derive(Debug, Default)]
pub struct Numbers(HashMap<Key, u32>);

impl Numbers {
    /// Returns the number of a name, which gets the next one if it is new.
    pub fn number(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(key([name])).or_insert(next)
    }

    /// Gives a name a number, unless it has one.
    pub fn give(&mut self, name: &str, number: u32) {
        self.0.entry(key([name])).or_insert(number);
    }

    /// Returns the number of a name, if it has one.
    pub fn of(&self, name: &str) -> Option<u32> {
        self.0.get(&key([name])).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_again_is_counted_and_no_text_is_kept() {
        let (long, mut said) = ("x".repeat(1 << 20), Repetitions::default());
        for (parts, before) in [
            (["a", "bc"], 0),
            (["ab", "c"], 0),
            (["a", "bc"], 1),
            (["a", &long], 0),
            ([&long, "a"], 0),
            (["a", &long], 1),
            (["a", "bc"], 2),
        ] {
            assert_eq!(said.count(parts), before);
        }
        assert_eq!(said.bytes(), 4 * (HASH_BYTES + 8));
    }
}
