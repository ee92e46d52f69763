//! Citations: the sources that a memory is based on.

use crate::names::names;

/// A source that can be looked up again: a file, a commit, a page or a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Citation {
    /// The kind of source.
    pub kind: CitationKind,
    /// Its path, URL or name.
    pub reference: String,
    /// The place in the source, e.g. a range of lines.
    pub locator: Option<String>,
    /// The version of the source, e.g. a commit or a content hash; it shows if the citation is
    /// stale.
    pub pin: Option<String>,
    /// The text at that place, verbatim.
    pub excerpt: Option<String>,
}

/// The kind of source that a citation refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CitationKind {
    /// A file.
    File,
    /// A commit.
    Commit,
    /// A page.
    Url,
    /// A repository.
    Repository,
}

names! {
    /// Every kind.
    CitationKind, "in arguments, replies and stores" {
        File = "file",
        Commit = "commit",
        Url = "url",
        Repository = "repo",
    }
}
