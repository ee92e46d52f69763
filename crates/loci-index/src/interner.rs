//! An interner: numbers for the names that memories share.
//!
//! A filter asks for a space, an owner, a collection, sections, kinds and tags, and it is compared
//! with every memory of the space. So each such text is stored once and has a number, and a filter
//! is compiled once into numbers (`selection.rs`); then it compares integers. A filter that names a
//! text which no memory bears, e.g. a project without memories, admits nothing, which is known
//! before any memory is looked at.
//!
//! All kinds of names share one list, because "tea" as a tag and "tea" as a section then need one
//! entry, and because a number in the wrong field cannot be confused: each field is compared only
//! with names that were looked up for it.
//!
//! # The two halves
//!
//! Names of a segment come first, sorted by their texts, so that a name is found by binary search
//! in the mapped file without a table in memory:
//!
//! ```text
//! NAMES      anncidtea        the texts, one after the other
//! NAME_ENDS  3 6 9            where each ends
//! number     1 2 3            0 is the absence of a name
//! ```
//!
//! Later names are numbered in the order in which they come, and found in a map. A number never
//! changes and is never given again within one index. That is why a compiled filter stays right
//! while names are added: only the *number of names* has to be compared, to see whether a text that
//! was missing may be there now ([`Interner::len`]). Names that no memory bears any more are left out
//! when the next segment is written, which renumbers all.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::structures::segment::{Bytes, u32_at};

/// A number that stands for a name. Names of spaces, owners, origins, programs, places, kinds, tags
/// and threads share one list. It starts at 1, because the absence of a name then takes no more
/// room than a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(NonZeroU32);

/// Names and their numbers. A name stays until the index is loaded again: they are few, and small
/// beside what bears them.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// The names of a segment, which come first, in the order of their texts.
    base: BaseNames,
    numbers: HashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

/// The names of a segment: their texts, and where each ends.
#[derive(Debug, Default)]
pub(crate) struct BaseNames {
    pub(crate) texts: Bytes,
    pub(crate) ends: Bytes,
}

impl BaseNames {
    fn len(&self) -> usize {
        self.ends.len() / 4
    }

    fn text(&self, index: usize) -> &str {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| u32_at(&self.ends, before));
        let text = self
            .texts
            .get(start as usize..u32_at(&self.ends, index) as usize);
        text.and_then(|text| str::from_utf8(text).ok())
            .unwrap_or_default()
    }

    fn find(&self, text: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.text(middle).cmp(text) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Name {
    /// A number that no name has.
    pub(crate) const NEVER: Name = Name(NonZeroU32::MAX);

    /// The number that it has in a segment; 0 stands for no name.
    pub(crate) fn number(name: Option<Name>) -> u32 {
        name.map_or(0, |name| name.0.get())
    }

    pub(crate) fn of_number(number: u32) -> Option<Name> {
        NonZeroU32::new(number).map(Name)
    }

    fn of_index(index: usize) -> Name {
        Name(NonZeroU32::MIN.saturating_add(index as u32))
    }
}

impl Interner {
    /// Opens the names of a segment.
    pub(crate) fn open(base: BaseNames) -> Self {
        Interner {
            base,
            ..Interner::default()
        }
    }

    /// The number of a name, which is made if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.find(text) {
            return name;
        }
        let name = Name::of_index(self.len());
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, name);
        name
    }

    /// The number of a name; none if nothing bears it.
    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.numbers
            .get(text)
            .copied()
            .or_else(|| self.base.find(text).map(Name::of_index))
    }

    /// The number of names. It never falls, so that it tells whether there are new ones.
    pub(crate) fn len(&self) -> usize {
        self.base.len() + self.texts.len()
    }

    /// Bytes that they hold in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        // A shared text has two counts before it.
        let texts: usize = self
            .texts
            .iter()
            .map(|text| text.len() + 2 * size_of::<usize>())
            .sum();
        texts
            + self.texts.capacity() * size_of::<Arc<str>>()
            + self.numbers.capacity() * (size_of::<(Arc<str>, Name)>() + 1)
    }

    /// The name with that number.
    pub(crate) fn text(&self, name: Name) -> Option<Arc<str>> {
        let index = name.0.get() as usize - 1;
        match index.checked_sub(self.base.len()) {
            None => Some(self.base.text(index).into()),
            Some(own) => self.texts.get(own).cloned(),
        }
    }
}
