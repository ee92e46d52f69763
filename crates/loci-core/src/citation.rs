//! What a memory rests on.

/// Something that can be looked up again: a file, a commit, a page, a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Citation {
    /// What it is.
    pub kind: CitationKind,
    /// Path, URL or name of it.
    pub reference: String,
    /// Where in it, such as a range of lines.
    pub locator: Option<String>,
    /// Which state of it, such as a commit or the hash of its content: what shows its age.
    pub pin: Option<String>,
    /// What stood there, word for word.
    pub excerpt: Option<String>,
}

/// What a citation refers to.
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

impl CitationKind {
    /// Every kind.
    pub const ALL: [CitationKind; 4] = [
        CitationKind::File,
        CitationKind::Commit,
        CitationKind::Url,
        CitationKind::Repository,
    ];

    /// The word for it in arguments, replies and stores.
    pub const fn name(self) -> &'static str {
        match self {
            CitationKind::File => "file",
            CitationKind::Commit => "commit",
            CitationKind::Url => "url",
            CitationKind::Repository => "repo",
        }
    }

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        CitationKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
