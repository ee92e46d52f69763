use std::collections::HashMap;
use std::sync::Arc;

/// A number that stands for a name. Names of spaces, owners, places and tags share one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Name(u32);

/// Names and their numbers. A name stays until the index is loaded anew: there are few of them.
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
        let name = Name(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, name);
        name
    }

    /// The number of a name; none if nothing bears it.
    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// The name with that number.
    pub(super) fn text(&self, name: Name) -> Option<Arc<str>> {
        self.texts.get(name.0 as usize).cloned()
    }
}
