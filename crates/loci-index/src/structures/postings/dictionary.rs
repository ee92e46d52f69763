use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::list::List;

/// The maximum length in bytes of a text that is stored inline.
const INLINE: usize = 22;

/// The terms by number and by text. A term keeps its number until it is removed; then the number is
/// reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Dictionary {
    /// Contains only numbers: their texts are in `entries`.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Entry {
    text: Text,
    list: List,
}

#[derive(Debug, Clone)]
enum Text {
    Inline { length: u8, bytes: [u8; INLINE] },
    Boxed(Box<[u8]>),
}

impl Text {
    fn of(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        let Some(start) = bytes.get_mut(..text.len()) else {
            return Text::Boxed(text.as_bytes().into());
        };
        start.copy_from_slice(text.as_bytes());
        Text::Inline {
            length: text.len() as u8,
            bytes,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Text::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Text::Boxed(bytes) => bytes,
        }
    }

    fn heap_bytes(&self) -> usize {
        if let Text::Boxed(bytes) = self {
            bytes.len()
        } else {
            0
        }
    }
}

fn text_of(entries: &[Option<Entry>], number: u32) -> &[u8] {
    entries[number as usize]
        .as_ref()
        .map_or(&[], |entry| entry.text.bytes())
}

impl Dictionary {
    /// Returns the number of numbers, including free ones.
    pub(super) fn numbers(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(super) fn find(&self, text: &[u8]) -> Option<&List> {
        let is_it = |number: &u32| text_of(&self.entries, *number) == text;
        let number = self.numbers.find(self.hasher.hash_one(text), is_it)?;
        self.entries[*number as usize]
            .as_ref()
            .map(|entry| &entry.list)
    }

    /// Returns the list of a number; `None` if the number is free.
    pub(super) fn list_mut(&mut self, number: u32) -> Option<&mut List> {
        self.entries
            .get_mut(number as usize)?
            .as_mut()
            .map(|entry| &mut entry.list)
    }

    /// Returns the terms with their lists.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&[u8], &List)> {
        self.entries
            .iter()
            .flatten()
            .map(|entry| (entry.text.bytes(), &entry.list))
    }

    /// Returns the number of a term and assigns one to a new term.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text.as_bytes());
        let is_it = |number: &u32| text_of(&self.entries, *number) == text.as_bytes();
        if let Some(number) = self.numbers.find(hash, is_it) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        self.entries[number as usize] = Some(Entry {
            text: Text::of(text),
            list: List::default(),
        });
        let (hasher, entries) = (&self.hasher, &self.entries);
        self.numbers.insert_unique(hash, number, |number| {
            hasher.hash_one(text_of(entries, *number))
        });
        number
    }

    /// Removes the term, whose list must be empty.
    pub(super) fn remove(&mut self, number: u32) {
        let hash = self.hasher.hash_one(text_of(&self.entries, number));
        if let Ok(place) = self.numbers.find_entry(hash, |other| *other == number) {
            place.remove();
            self.entries[number as usize] = None;
            self.free.push(number);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.entries
            .iter_mut()
            .flatten()
            .for_each(|entry| entry.list.shrink());
        self.entries.shrink_to_fit();
        self.free.shrink_to_fit();
        let (hasher, entries) = (&self.hasher, &self.entries);
        self.numbers
            .shrink_to_fit(|number| hasher.hash_one(text_of(entries, *number)));
    }

    pub(super) fn bytes(&self) -> usize {
        /// The approximate overhead of an allocation.
        const ALLOCATION: usize = 8;
        let entries = self.entries.iter().flatten();
        let own = entries.map(|entry| {
            let text = entry.text.heap_bytes();
            let allocations = entry.list.allocations() + usize::from(text > 0);
            entry.list.heap_bytes() + text + allocations * ALLOCATION
        });
        let tables = self.numbers.allocation_size() + self.free.capacity() * size_of::<u32>();
        own.sum::<usize>() + self.entries.capacity() * size_of::<Option<Entry>>() + tables
    }

    /// Returns the number of terms.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Option<Entry>>(), 40);
    }

    #[test]
    fn numbers_are_given_again() {
        let mut dictionary = Dictionary::default();
        let long = "a term that is longer than what fits into an entry";
        let numbers = ["", "cat", long].map(|text| dictionary.number(text));
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(
            ["", "cat", long].map(|text| dictionary.number(text)),
            numbers
        );
        dictionary.remove(1);
        dictionary.remove(1);
        assert!(dictionary.find(b"cat").is_none() && dictionary.list_mut(1).is_none());
        assert!(dictionary.find(long.as_bytes()).is_some() && dictionary.find(b"").is_some());
        assert_eq!(
            (
                dictionary.number("dog"),
                dictionary.number("cat"),
                dictionary.len()
            ),
            (1, 3, 4)
        );
    }
}
