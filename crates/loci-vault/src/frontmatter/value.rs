//! The values of keys.

/// The value of a key. Lists under foreign keys are not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Text(String),
    List {
        items: Vec<Item>,
        /// True if each item is on a separate line.
        is_block: bool,
    },
    /// Any other value.
    Other,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// `None` for null.
    pub text: Option<String>,
    /// Its line, if it has only the item and its hyphen.
    pub line: Option<usize>,
}
