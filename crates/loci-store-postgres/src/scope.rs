//! The scope of a piece of work: the space whose rows it may meet.

use loci_core::Space;

use crate::value::literal;

/// The rows that a piece of work may read and write. Where row security is on, the server enforces
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// The rows of one space.
    Space(&'a Space),
    /// The rows of the whole store, which are in no space.
    Store,
    /// All, for work in the background and for the care of the store.
    AllSpaces,
}

impl<'a> From<&'a Space> for Scope<'a> {
    fn from(space: &'a Space) -> Self {
        Scope::Space(space)
    }
}

impl<'a> Scope<'a> {
    /// Returns the name in the column `space` of the rows; empty for rows of the whole store, and
    /// for all.
    pub(crate) fn name(self) -> &'a str {
        match self {
            Scope::Space(space) => space.as_str(),
            Scope::Store | Scope::AllSpaces => "",
        }
    }

    /// Returns the statement that declares the scope to the policies until the transaction ends.
    pub(crate) fn declaration(self) -> String {
        let value = match self {
            Scope::Space(_) | Scope::Store => format!("space:{}", self.name()),
            Scope::AllSpaces => "all:".to_owned(),
        };
        format!("SET LOCAL loci.space = {}", literal(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_declared_as_a_literal() {
        let space = Space::parse("space", "o'ne\\ @x").unwrap();
        assert_eq!(
            Scope::from(&space).declaration(),
            "SET LOCAL loci.space = E'space:o''ne\\\\ @x'"
        );
        assert_eq!(
            Scope::Store.declaration(),
            "SET LOCAL loci.space = E'space:'"
        );
        assert_eq!(
            Scope::AllSpaces.declaration(),
            "SET LOCAL loci.space = E'all:'"
        );
    }
}
