//! House rules that no compiler or linter checks. Each check reads the [`Tree`] and returns its
//! [`Fault`]s; no check stops at the first.

use std::fmt;

use cargo_metadata::Metadata;

pub use tree::Tree;

mod arrows;
mod book;
mod circles;
mod dialects;
mod entrances;
mod glossary;
mod links;
mod names;
mod portability;
mod rust_source;
mod sizes;
mod sources;
mod tree;
mod words;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file or folder at fault, relative to the repository, with `:LINE` where there is one.
    place: String,
    /// The fault and the remedy.
    message: String,
}

impl Fault {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Fault {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

/// All faults of the repository, in the order of the checks.
pub fn check(tree: &Tree, metadata: &Metadata) -> Vec<Fault> {
    let (sources, mut faults) = rust_source::parse_all(tree);
    faults.extend(arrows::check(&arrows::Crate::all(metadata), &arrows::RULES));
    faults.extend(dialects::check(tree, &sources));
    faults.extend(entrances::check(&sources));
    faults.extend(glossary::check(tree, &sources));
    faults.extend(links::check(tree));
    faults.extend(book::check(tree));
    faults.extend(sizes::check(tree, &sources));
    faults.extend(portability::check(tree));
    faults.extend(sources::check(&sources));
    faults.extend(names::check(tree, &sources));
    faults.extend(words::check(tree, &sources));
    faults.extend(circles::check(tree, &sources));
    faults
}
