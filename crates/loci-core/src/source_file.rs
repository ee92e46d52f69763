//! Files that memories were made from: projects and transcripts that somebody had read. Other than
//! a note, such a file is no memory itself, and nothing here ever writes it.

use crate::{ContentHash, FileStamp, Result, Space};

/// The attribute of a memory that holds the absolute path of the file it was made from.
pub const SOURCE_FILE: &str = "source_file";

/// The attribute of a memory that holds the path of the file it was made from, relative to the
/// folder that was read with it, with `/` between its names; of what outlasts its file, there is
/// none.
pub const SOURCE_PATH: &str = "source_path";

/// The attribute of a memory that says which lines of its file it holds: the first and the last,
/// with a hyphen between them.
pub const LINES: &str = "lines";

/// What is known of a file since it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The collection that its memories are in; none is global.
    pub collection: Option<String>,
    /// Its absolute path. With the collection it is the key: one file may be read into two of them.
    pub path: String,
    /// The absolute path of the folder that was read with it.
    pub root: String,
    /// How it was read, as whoever reads it calls that.
    pub format: String,
    /// Its size and time when it was read.
    pub stamp: FileStamp,
    /// How many of its bytes were read: fewer than there were, if it is read part by part.
    pub bytes_read: u64,
    /// What was in it; of a file that only grows, what identifies the part that was read.
    pub hash: ContentHash,
    /// How many parts it has had so far: the position of the next one, in a file that only grows.
    pub parts: u64,
    /// Whether there is more of it to read, for whichever process comes to it.
    pub is_pending: bool,
    /// Whether its memories are what is in it, and go when that goes. Else they are what was ever
    /// read from it, and outlast it.
    pub is_whole: bool,
}

impl SourceFile {
    /// Its path from the folder that was read with it, with `/` between its names; none if it is
    /// not in that folder.
    pub fn path_in_root(root: &str, path: &str) -> Option<String> {
        let is_sign = |sign: char| matches!(sign, '/' | '\\');
        let rest = path.strip_prefix(root)?;
        let inner = rest.trim_start_matches(is_sign);
        let is_below = root.ends_with(is_sign) || inner.len() < rest.len();
        (is_below && !inner.is_empty()).then(|| inner.replace('\\', "/"))
    }
}

/// Keeps what is known of files that memories were made from. They are written by
/// [`Store::commit`](crate::Store::commit).
pub trait SourceStore: Send + Sync {
    /// What is known of the file; none if it was not read into that collection.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn source_file(
        &self,
        space: &Space,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>>;

    /// What is known of the file in whichever collection, none first, then in the order of
    /// collections.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn sources_at(&self, space: &Space, path: &str) -> Result<Vec<SourceFile>>;

    /// All files of a collection, in the order of paths.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn source_files(&self, space: &Space, collection: Option<&str>) -> Result<Vec<SourceFile>>;

    /// Files of any collection of which there is more to read, in the order of paths, then of
    /// collections, at most `limit`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn pending_sources(&self, space: &Space, limit: usize) -> Result<Vec<SourceFile>>;
}

/// What has become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceState {
    /// It is there, and no rule excludes it.
    Kept,
    /// It is there, and a rule of version control excludes it.
    Ignored,
    /// It is not there.
    Missing,
}

/// Looks after files that memories were made from. Reads nothing of what is in them.
pub trait SourceTree: Send + Sync {
    /// The folder at the top of the project that a file belongs to, as version control marks it
    /// above the nearest of its folders that is there, or else the folder that the file is or was
    /// in.
    fn root_of(&self, path: &str) -> String;

    /// Which folder that is, so that it can be told from another one in its place later; none if it
    /// is no folder with anything in it that can be read: an empty one may be the place where a
    /// drive is to be mounted.
    fn identity(&self, root: &str) -> Option<String>;

    /// What has become of these files in the project at `root`, in their order. All paths are
    /// absolute and lie within it.
    ///
    /// # Errors
    /// `unavailable` if the folder or its rules cannot be read: of none of them anything is known
    /// then.
    fn states(&self, root: &str, paths: &[&str]) -> Result<Vec<SourceState>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_the_folder_that_was_read() {
        let rows = [
            ("/srv/ann/shop", "/srv/ann/shop/src/a.rs", Some("src/a.rs")),
            ("/srv/ann/shop/", "/srv/ann/shop/a.rs", Some("a.rs")),
            ("/", "/a.rs", Some("a.rs")),
            (r"C:\shop", r"C:\shop\src\a.rs", Some("src/a.rs")),
            ("/srv/ann/shop", "/srv/ann/shop2/a.rs", None),
            ("/srv/ann/shop", "/srv/ann/shop", None),
            ("/srv/ann/shop", "/srv/bob/a.rs", None),
        ];
        for (root, path, expected) in rows {
            assert_eq!(
                SourceFile::path_in_root(root, path).as_deref(),
                expected,
                "{path}"
            );
        }
    }
}
