//! Source files: project files and transcripts that memories were made from. Unlike a note, a
//! source file is not a memory itself, and nothing here writes it.

use crate::{ContentHash, FileStamp, Result, Space};

/// The attribute of a memory that holds the absolute path of its source file.
pub const SOURCE_FILE: &str = "source_file";

/// The attribute of a memory that holds the path of its source file, relative to the folder that
/// was imported, with `/` as the separator. A memory that outlives its file has no such attribute.
pub const SOURCE_PATH: &str = "source_path";

/// The attribute of a memory that holds the [machine](SourceFile::machine) of its source file. A
/// memory without it has a file of the machine that the store lies on.
pub const SOURCE_MACHINE: &str = "source_machine";

/// The attribute of a memory that holds its line range in the source file: the first and the last
/// line, joined by a hyphen.
pub const LINES: &str = "lines";

/// The [format](SourceFile::format) of the files in which a host keeps memories and instructions of
/// its own.
pub const HOST_MEMORY: &str = "host-memory";

/// The recorded state of a source file since it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The id of the machine that has the file. It is empty for the machine that the store itself
    /// lies on, which is the only one that uses a store in files.
    pub machine: String,
    /// The collection of its memories; `None` is global.
    pub collection: Option<String>,
    /// Its absolute path. Machine, collection and path form the key: a file may be imported into
    /// two collections, and two machines may have files at one path.
    pub path: String,
    /// The absolute path of the imported folder.
    pub root: String,
    /// The name of the format as which the importer read the file.
    pub format: String,
    /// Its size and modification time when it was read.
    pub stamp: FileStamp,
    /// The number of bytes that were read; less than the size if the file is read in parts.
    pub bytes_read: u64,
    /// The hash of its content; for an append-only file, the hash that identifies the part that was
    /// read.
    pub hash: ContentHash,
    /// The number of parts so far; in an append-only file, this is the position of the next part.
    pub parts: u64,
    /// True if there is more to read, by any process of its machine.
    pub is_pending: bool,
    /// True if its memories mirror the file and are removed with its content. Otherwise they are
    /// all that was ever read from it, and outlive it.
    pub is_whole: bool,
}

impl SourceFile {
    /// Returns the name of the thread that the memories of this file are in.
    pub fn thread(&self) -> String {
        SourceFile::thread_of(&self.machine, &self.path)
    }

    /// Returns true for a file of a host's own memory, which is read whether or not version control
    /// ignores it.
    pub fn is_host_memory(&self) -> bool {
        self.format == HOST_MEMORY
    }

    /// Returns the name of the thread of a path, which no file of another machine has: only the
    /// path on the machine that the store lies on, or else the machine, a colon and the path.
    pub fn thread_of(machine: &str, path: &str) -> String {
        if machine.is_empty() {
            path.to_owned()
        } else {
            format!("{machine}:{path}")
        }
    }

    /// Returns the path relative to the imported folder, with `/` as the separator; `None` if it is
    /// not in that folder.
    pub fn path_in_root(root: &str, path: &str) -> Option<String> {
        let is_sign = |sign: char| matches!(sign, '/' | '\\');
        let rest = path.strip_prefix(root)?;
        let inner = rest.trim_start_matches(is_sign);
        let is_below = root.ends_with(is_sign) || inner.len() < rest.len();
        (is_below && !inner.is_empty()).then(|| inner.replace('\\', "/"))
    }
}

/// Keeps the state of source files. [`Store::commit`](crate::Store::commit) writes it. Each read is
/// for one [machine](SourceFile::machine), because a path means nothing on another one.
pub trait SourceStore: Send + Sync {
    /// Returns the state of the file; `None` if it was not imported into that collection.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn source_file(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>>;

    /// Returns the state of the file in every collection, the global one first, then in the order
    /// of collections.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn sources_at(&self, space: &Space, machine: &str, path: &str) -> Result<Vec<SourceFile>>;

    /// Returns all files of a collection, in the order of paths.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn source_files(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
    ) -> Result<Vec<SourceFile>>;

    /// Returns at most `limit` files of any collection that have more to read, in the order of
    /// paths, then of collections.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn pending_sources(
        &self,
        space: &Space,
        machine: &str,
        limit: usize,
    ) -> Result<Vec<SourceFile>>;
}

/// The current state of a source file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceState {
    /// It exists, and no ignore rule excludes it.
    Kept,
    /// It exists, and an ignore rule of version control excludes it.
    Ignored,
    /// It does not exist.
    Missing,
}

/// Inspects the source files on disk without reading their contents.
pub trait SourceTree: Send + Sync {
    /// Returns the root folder of the file's project: the one that version control marks, searching
    /// upwards from the nearest existing folder of the path, or else the folder that the file is or
    /// was in.
    fn root_of(&self, path: &str) -> String;

    /// Returns an identity of the folder that tells it from another folder at the same path later.
    /// Returns `None` if it is not a folder with readable content: an empty one may be a mount
    /// point without its drive.
    fn identity(&self, root: &str) -> Option<String>;

    /// Returns the states of these files in the project at `root`, in order. All paths are absolute
    /// and lie within the project.
    ///
    /// # Errors
    /// `unavailable` if the folder or its ignore rules cannot be read; then no state is known.
    fn states(&self, root: &str, paths: &[&str]) -> Result<Vec<SourceState>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_of_one_machine() {
        let rows = [
            ("", "/srv/a.rs", "/srv/a.rs"),
            (
                "0123456789abcdef",
                "/srv/a.rs",
                "0123456789abcdef:/srv/a.rs",
            ),
            ("m", r"C:\a.rs", r"m:C:\a.rs"),
        ];
        for (machine, path, expected) in rows {
            assert_eq!(SourceFile::thread_of(machine, path), expected);
        }
    }

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
