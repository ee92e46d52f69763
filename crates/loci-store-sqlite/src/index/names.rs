use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A number that stands for a name. Names of spaces, owners, origins, places, kinds, tags and threads share one list.
/// It begins at 1, so that no name takes no more room than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Name(NonZeroU32);

/// Names and their numbers. A name stays until the index is loaded anew: they are few, and small beside
/// what bears them.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// The number of a name, which is made if it is new.
    pub(super) fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let name = Name(NonZeroU32::MIN.saturating_add(self.texts.len() as u32));
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, name);
        name
    }

    /// The number of a name; none if nothing bears it.
    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// How many there are. It never falls, so that it tells whether there are new ones.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Bytes that they hold in memory, about.
    pub(super) fn bytes(&self) -> usize {
        // A shared text has two counts before it.
        let texts: usize = self.texts.iter().map(|text| text.len() + 2 * size_of::<usize>()).sum();
        texts
            + self.texts.capacity() * size_of::<Arc<str>>()
            + self.numbers.capacity() * (size_of::<(Arc<str>, Name)>() + 1)
    }

    /// The name with that number.
    pub(super) fn text(&self, name: Name) -> Option<Arc<str>> {
        self.texts.get(name.0.get() as usize - 1).cloned()
    }
}
