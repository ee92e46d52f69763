//! Notes: memories whose text is a file that people may change at any time. The file is the source
//! of truth; the store holds its index.

use std::fmt;

use crate::names::names;
use crate::{Batch, Filter, MemoryId, Result, Space, Timestamp};

/// The attribute of the memory of a note that holds [`NoteContent::values`], each with a line end.
pub const FRONTMATTER: &str = "frontmatter";
/// The attribute of the memory of a note that says why it counts for less than others: the name of
/// its [`NoteState`], or `inbox` for one in a folder of that name.
pub const NOTE_STANDING: &str = "standing";

/// The frontmatter and the body of a file. Fields that the file does not have are `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// The id of the note: `uid`.
    pub id: Option<MemoryId>,
    /// Its `title`, or else the name of the file.
    pub title: Option<String>,
    /// Its text: the part after the frontmatter, with line ends normalised to LF and without the
    /// last one.
    pub body: String,
    /// True if its `status` is `deleted`.
    pub is_deleted: bool,
    /// What its `status` says otherwise; active for a deleted one.
    pub state: NoteState,
    /// The time of its deletion: `deleted_at`.
    pub deleted_at: Option<Timestamp>,
    /// The time at which it was first stored: `created_at`.
    pub created_at: Option<Timestamp>,
    /// The time at which its text last changed: `updated_at`.
    pub updated_at: Option<Timestamp>,
    /// The `tags` of the frontmatter, in order, without `#`.
    pub tags: Vec<String>,
    /// True if every session should start with it: `always_load`.
    pub always_load: bool,
    /// Its collection: `wing`.
    pub collection: Option<String>,
    /// Its section: `room`.
    pub section: Option<String>,
}

/// What the `status` of a note says about it, apart from its deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NoteState {
    /// It holds; so does one with a status that has no meaning here.
    #[default]
    Active,
    /// It was captured, and no one has looked at it yet. It counts for less.
    Unfiled,
    /// Another one has taken its place. It is out of sight.
    Superseded,
    /// It held for a time that is over. It is out of sight.
    Expired,
}

names! {
    /// Every state.
    NoteState, "in files" {
        Active = "active",
        Unfiled = "unfiled",
        Superseded = "superseded",
        Expired = "expired",
    }
}

impl Note {
    /// Returns true if no search shows it: it is deleted, or its status says that it holds no more.
    pub const fn is_out_of_sight(&self) -> bool {
        self.is_deleted || matches!(self.state, NoteState::Superseded | NoteState::Expired)
    }
}

/// The size and modification time of a file. The file counts as unchanged while both stay the same.
/// Where the system knows the time of any change, also of the file's metadata, it is a part of the
/// time: of the digits below a microsecond for a note, and the later of the two times for a
/// [source file](crate::SourceFile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// The size in bytes.
    pub bytes: u64,
    /// The modification time in nanoseconds since 1970, which is exact to the microsecond.
    pub modified_nanoseconds: i64,
}

/// A SHA-256 hash of all bytes of a file, or of other data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

/// The kind of problem that keeps a file from being indexed, or from being indexed completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileProblemKind {
    /// It is larger than a memory may be and is not indexed.
    TooLarge,
    /// It is not UTF-8 text, or holds NUL, and is not indexed.
    NotText,
    /// It is a symbolic link, or not a regular file, and is not read.
    NotAFile,
    /// It could not be read. Its recorded state stays.
    Unreadable,
    /// Its frontmatter is not valid YAML, or has values of the wrong form. It is indexed as plain
    /// text and never rewritten.
    BrokenFrontmatter,
    /// Another note or memory already has its `uid`. It is indexed under a new id.
    DuplicateUid,
    /// It is a conflict copy that a sync client made of two versions of a note. It is not indexed.
    ConflictCopy,
    /// Its name and its text may be another version of a note. It is indexed.
    PossibleConflict,
    /// A merge left both sides of a conflict in it. It is indexed with them.
    ConflictMarks,
    /// It became empty. Only its title is indexed.
    Emptied,
    /// Another note has the same other name, which leads to that one. It is indexed.
    AmbiguousAlias,
}

names! {
    /// Every kind.
    FileProblemKind, "in reports and stores" {
        TooLarge = "too_large",
        NotText = "not_text",
        NotAFile = "not_a_file",
        Unreadable = "unreadable",
        BrokenFrontmatter = "broken_frontmatter",
        DuplicateUid = "duplicate_uid",
        ConflictCopy = "conflict_copy",
        PossibleConflict = "possible_conflict",
        ConflictMarks = "conflict_marks",
        Emptied = "emptied",
        AmbiguousAlias = "ambiguous_alias",
    }
}

impl FileProblemKind {
    /// Returns true if a file with such a problem is indexed by the part that could be read.
    pub const fn leaves_text(self) -> bool {
        matches!(
            self,
            FileProblemKind::BrokenFrontmatter | FileProblemKind::ConflictMarks
        )
    }
}

impl fmt::Display for FileProblemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A problem with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The kind of problem.
    pub kind: FileProblemKind,
    /// The problem, its place and its remedy, for people. Quotes nothing of the file.
    pub message: String,
}

/// The recorded state of a note file since it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    /// Its path in the folder, with `/` as the separator: its key.
    pub path: String,
    /// Its size and modification time when it was read.
    pub stamp: FileStamp,
    /// True if the file was old enough when it was read that every later change alters the stamp.
    /// Otherwise it is read again.
    pub is_settled: bool,
    /// The hash of its content; zeros if it was not read.
    pub hash: ContentHash,
    /// Its memory; `None` if it is not indexed.
    pub memory: Option<MemoryId>,
    /// True if the file itself contains that id.
    pub says_id: bool,
    /// Its links as written: names of notes or paths, without the part after `#` or `|`, without
    /// duplicates; and behind them its other names, each after [`ALIAS`](NoteFile::ALIAS).
    pub links: Vec<String>,
    /// The problem with it, if any.
    pub problem: Option<FileProblem>,
    /// The time since which it is missing. Its row stays, so that it is the same memory when it
    /// comes back.
    pub missing_since: Option<Timestamp>,
}

impl NoteFile {
    /// The value of `missing_since` for a file that is about to be created in the folder. Its
    /// memory is a note already: a writer that changes it waits for the lock of the folder, as it
    /// does for the file.
    pub const EXPECTED: Timestamp = Timestamp::from_microseconds(0);

    /// The sign before another name of the note in its links. No link starts with it, because a
    /// link ends there.
    pub const ALIAS: char = '|';

    /// Returns the targets of its links.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let links = self.links.iter().map(String::as_str);
        links.filter(|link| !link.starts_with(Self::ALIAS))
    }

    /// Returns the other names of the note.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        let links = self.links.iter();
        links.filter_map(|link| link.strip_prefix(Self::ALIAS))
    }

    /// Returns true if the file is about to be created, or was when a process ended.
    pub fn is_expected(&self) -> bool {
        self.missing_since == Some(Self::EXPECTED)
    }
}

/// A snapshot of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSnapshot {
    /// Its size and modification time.
    pub stamp: FileStamp,
    /// True if the file was old enough that every later change alters the stamp.
    pub is_settled: bool,
    /// The hash of its content; zeros if it was not read.
    pub hash: ContentHash,
    /// The note; `None` if the file cannot be one, for the reason in `problem`.
    pub content: Option<NoteContent>,
    /// The problem with it, if any. A note with a problem is plain text and cannot be rewritten;
    /// its deletion state comes from the plain `status` line of its frontmatter.
    pub problem: Option<FileProblem>,
}

/// A note with the tags and links of its text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoteContent {
    /// The note.
    pub note: Note,
    /// Tags in the text (`#tag`), without `#`, in order, without duplicates.
    pub text_tags: Vec<String>,
    /// Its links, as in [`NoteFile::links`].
    pub links: Vec<String>,
    /// The words of its frontmatter under keys that no field of [`Note`] has: other names of the
    /// note first, then other values, in order. Of limited length and number.
    pub values: Vec<String>,
}

/// A listing of all files in a folder that may be notes. No file is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderScan {
    /// The identity of the folder in the file system: it differs for another folder at the same
    /// path, e.g. the empty mount point of a drive. `None` if there is no folder.
    pub identity: Option<String>,
    /// The path and stamp of each file, in the order of paths.
    pub files: Vec<(String, FileStamp)>,
    /// The files that have the name of a note but were skipped, with the reason: links, and files
    /// whose metadata could not be read.
    pub skipped: Vec<(String, FileProblem)>,
    /// Folders that could not be read; the state of the files in them is unknown.
    pub unreadable_folders: Vec<String>,
}

/// The outcome of creating a note.
#[derive(Debug, Clone, PartialEq)]
pub enum CreateOutcome {
    /// The file was created under this path.
    New(String, FileSnapshot),
    /// The file already existed: it has that title, and its `uid` differs from the new one at most
    /// in its time, so an earlier attempt that was never answered created it.
    Existing(String, FileSnapshot),
}

/// A lock on a folder for reading or writing; dropping it releases the lock.
pub trait NoteLock: Send {}

/// A folder of notes.
///
/// Only files whose name ends in `.md` (in any case) and does not start with a dot are notes, in
/// folders whose names do not start with a dot either; symbolic links are never followed. Writes
/// replace the file atomically and are durable when they return, after one flush of the file and
/// one of the folder: a reader sees the old text or the new one, even after a crash of the process
/// or the machine. No file is ever deleted.
pub trait NoteFolder: Send + Sync {
    /// Waits for the lock of the folder. It has at most one holder at a time among all processes of
    /// this store.
    ///
    /// # Errors
    /// `unavailable` if the lock does not exist or could not be acquired within some seconds.
    fn lock(&self) -> Result<Box<dyn NoteLock>>;

    /// Returns the path of the folder, for people.
    fn location(&self) -> String;

    /// Lists the files of the folder. A missing folder gives an empty scan without identity.
    ///
    /// # Errors
    /// `unavailable` if the folder exists but cannot be read.
    fn scan(&self) -> Result<FolderScan>;

    /// Returns the [`FolderScan::identity`] of the folder.
    ///
    /// # Errors
    /// As for [`scan`](NoteFolder::scan).
    fn identity(&self) -> Result<Option<String>> {
        Ok(self.scan()?.identity)
    }

    /// Returns the paths of the notes that the file at this path may be another version of, by
    /// their names. They need not exist.
    fn other_versions(&self, path: &str) -> Vec<String> {
        _ = path;
        Vec::new()
    }

    /// Reads a file; returns `None` if it does not exist.
    ///
    /// # Errors
    /// `invalid_argument` if the path leads out of the folder. Other failures are reported in
    /// [`FileSnapshot::problem`].
    fn read(&self, path: &str) -> Result<Option<FileSnapshot>>;

    /// Creates the file of a note that has an id and a title: at the top of the folder (which is
    /// created if missing), named after the title, with a number if another file has that name in
    /// any case or Unicode form. With `may_be_there`, first searches the files of that name for one
    /// that an earlier attempt created ([`CreateOutcome::Existing`]); only an id derived from an
    /// idempotency key can have one.
    ///
    /// # Errors
    /// `unavailable` if it cannot be written; then the file does not exist, unless the disk also
    /// refuses to remove it.
    fn create(&self, note: &Note, may_be_there: bool) -> Result<CreateOutcome>;

    /// Rewrites the file to match the note. Changes or adds the frontmatter keys whose values
    /// differ in place, and replaces the text if it differs; every other byte stays. Returns the
    /// new content.
    ///
    /// # Errors
    /// `conflict` if the content of the file is no longer `expected`, or if its frontmatter is
    /// broken; `conflict`, too, if it is read-only, or cannot be changed without losing data;
    /// `not_found` if it does not exist; `unavailable` if it cannot be written. Then nothing was
    /// changed, unless only the flush failed on a file system that cannot undo the change in one
    /// step.
    fn rewrite(&self, path: &str, expected: &ContentHash, note: &Note) -> Result<FileSnapshot>;
}

/// Keeps the recorded state of note files. A writer that changes it holds the lock of the folder.
/// The state stays, even if the memories are removed.
pub trait NoteStore: Send + Sync {
    /// Returns all files of the space, including missing ones, in the order of their paths.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>>;

    /// Returns the file of this memory, if the memory exists and is not soft-deleted: a file that
    /// exists, or else one that is [expected](NoteFile::is_expected).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>>;

    /// Returns at most `limit` memories that match the filter and have a file that exists or is
    /// [expected](NoteFile::is_expected), in the order of ids.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>>;

    /// Returns the [identity](FolderScan::identity) of the folder in which the files were last
    /// seen.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_folder(&self, space: &Space) -> Result<Option<String>>;

    /// Commits a batch of data that can be rebuilt from other sources, without a flush of the disk;
    /// otherwise as [`Store::commit`](crate::Store::commit). When it returns `Ok`, every later read
    /// of every process sees the changes, and they survive the crash of any process of loci. A
    /// power cut may undo them, together with later commits of this kind.
    ///
    /// # Errors
    /// As for `commit`.
    fn commit_rebuildable(&self, batch: Batch) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_problem_is_known_by_its_name() {
        for kind in FileProblemKind::ALL {
            assert_eq!(FileProblemKind::from_name(&kind.to_string()), Some(kind));
        }
        assert_eq!(FileProblemKind::from_name("Too_Large"), None);
    }
}
