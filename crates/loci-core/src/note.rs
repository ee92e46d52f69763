//! Notes: memories whose text is a file that people may change at any time. The file is the truth,
//! what a store has of it is an index.

use std::fmt;

use crate::{Batch, Filter, MemoryId, Result, Space, Timestamp};

/// What is in the frontmatter and the body of a file. What the file does not say is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// The identity of the note: `uid`.
    pub id: Option<MemoryId>,
    /// Its `title`; without it, the name of the file stands for it.
    pub title: Option<String>,
    /// Its text: what follows the frontmatter, with LF as its only end of line, without the one at
    /// its end.
    pub body: String,
    /// Whether its `status` is `deleted`.
    pub is_deleted: bool,
    /// Since when: `deleted_at`.
    pub deleted_at: Option<Timestamp>,
    /// When it was first stored: `created_at`.
    pub created_at: Option<Timestamp>,
    /// When its text last changed: `updated_at`.
    pub updated_at: Option<Timestamp>,
    /// The `tags` of the frontmatter, in their order, without `#`.
    pub tags: Vec<String>,
    /// Whether every session should begin with it: `always_load`.
    pub always_load: bool,
    /// Where it is filed: `wing`.
    pub collection: Option<String>,
    /// Where in it: `room`.
    pub section: Option<String>,
}

/// Size and time of a file: it counts as unchanged while both stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Bytes.
    pub bytes: u64,
    /// When it was last modified: nanoseconds since 1970.
    pub modified_nanoseconds: i64,
}

/// SHA-256 of all bytes of a file, or of something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

/// Why a file is not found as what it is, or not as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileProblemKind {
    /// It is larger than a memory may be. It is not indexed.
    TooLarge,
    /// It is no text in UTF-8, or holds NUL. It is not indexed.
    NotText,
    /// It is a symbolic link, or no regular file. It is not read.
    NotAFile,
    /// It could not be read. What is known of it stays.
    Unreadable,
    /// Its frontmatter is no YAML, or not what it should be. It is indexed as plain text and never
    /// rewritten.
    BrokenFrontmatter,
    /// Its `uid` is that of another note, or of another memory. It is indexed under an id of its
    /// own.
    DuplicateUid,
    /// A sync client made it of two versions of a note. It is not indexed.
    ConflictCopy,
    /// It is empty, and was not always. It is indexed by its title alone.
    Emptied,
}

impl FileProblemKind {
    /// Every kind.
    pub const ALL: [FileProblemKind; 8] = [
        FileProblemKind::TooLarge,
        FileProblemKind::NotText,
        FileProblemKind::NotAFile,
        FileProblemKind::Unreadable,
        FileProblemKind::BrokenFrontmatter,
        FileProblemKind::DuplicateUid,
        FileProblemKind::ConflictCopy,
        FileProblemKind::Emptied,
    ];

    /// The word for it in reports and stores.
    pub const fn name(self) -> &'static str {
        match self {
            FileProblemKind::TooLarge => "too_large",
            FileProblemKind::NotText => "not_text",
            FileProblemKind::NotAFile => "not_a_file",
            FileProblemKind::Unreadable => "unreadable",
            FileProblemKind::BrokenFrontmatter => "broken_frontmatter",
            FileProblemKind::DuplicateUid => "duplicate_uid",
            FileProblemKind::ConflictCopy => "conflict_copy",
            FileProblemKind::Emptied => "emptied",
        }
    }

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        FileProblemKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

impl fmt::Display for FileProblemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// What kind of problem.
    pub kind: FileProblemKind,
    /// What was wrong and where, and what to do, for people. Quotes nothing of the file.
    pub message: String,
}

/// What is known of a file of a folder of notes since it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    /// Its path in the folder, with `/` between the parts: its key.
    pub path: String,
    /// Its size and time when it was read.
    pub stamp: FileStamp,
    /// Whether it was so old then that every later change shows in the stamp. If not, it is read
    /// again.
    pub is_settled: bool,
    /// What was in it; of a file that was not read, zeros.
    pub hash: ContentHash,
    /// The memory that it is; none, if it is not indexed.
    pub memory: Option<MemoryId>,
    /// Whether the file says that id itself.
    pub says_id: bool,
    /// What it links to, as written: names of notes or paths, without what follows `#` or `|`, each
    /// once.
    pub links: Vec<String>,
    /// What is wrong with it.
    pub problem: Option<FileProblem>,
    /// Since when it is not there any more. Its row stays, so that it is the same memory when it
    /// comes back.
    pub missing_since: Option<Timestamp>,
}

impl NoteFile {
    /// Since when a file is missing that is about to be put into the folder. Its memory is a note
    /// already: whoever changes it waits for the lock of the folder, as for the file.
    pub const EXPECTED: Timestamp = Timestamp::from_microseconds(0);

    /// Whether it is about to be put into the folder, or was when a process ended.
    pub fn is_expected(&self) -> bool {
        self.missing_since == Some(Self::EXPECTED)
    }
}

/// What is in a file, as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRead {
    /// Its size and time.
    pub stamp: FileStamp,
    /// Whether it was so old that every later change shows in the stamp.
    pub is_settled: bool,
    /// What was in it; zeros if it was not read.
    pub hash: ContentHash,
    /// The note; none if it cannot be one, which `problem` then explains.
    pub content: Option<NoteContent>,
    /// What is wrong with it. A note that has a problem is plain text and cannot be rewritten;
    /// whether it is deleted is taken from the plain line of its frontmatter that says so.
    pub problem: Option<FileProblem>,
}

/// A note with what its text says beside itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoteContent {
    /// The note.
    pub note: Note,
    /// Tags in the text (`#tag`), without `#`, in their order, each once.
    pub text_tags: Vec<String>,
    /// As [`NoteFile::links`].
    pub links: Vec<String>,
}

/// All files of a folder that may be notes. Nothing of them was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderScan {
    /// Which folder it is, as far as the file system can tell: another text for another folder at
    /// the same path, such as the empty place where a drive was mounted. None, if there is no
    /// folder.
    pub identity: Option<String>,
    /// Path and stamp of each, in the order of paths.
    pub files: Vec<(String, FileStamp)>,
    /// What was passed over and has the name of a note, and why: links, and files whose state could
    /// not be read.
    pub skipped: Vec<(String, FileProblem)>,
    /// Folders that could not be read: of what is in them nothing is known.
    pub unreadable_folders: Vec<String>,
}

/// What came of creating a note.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It is there now, under this path.
    New(String, FileRead),
    /// It was there: a file of that title whose `uid` is of the same making (all but its time), so
    /// that an earlier attempt, which was not answered, came as far as the file.
    Before(String, FileRead),
}

/// Held while a folder is read or written; let go when it is dropped.
pub trait NoteLock: Send {}

/// A folder of notes.
///
/// Only files whose name ends in `.md` (in any case) and does not begin with a dot are notes, in
/// folders whose names do not begin with a dot either; symbolic links are never followed. Writes
/// put the file in place as a whole, durable when they return, after one flush of the file and one
/// of the folder: whoever reads, and whatever ends the process or the machine, finds the old text
/// or the new one. No file is ever deleted.
pub trait NoteFolder: Send + Sync {
    /// Waits for the lock of the folder, which one holder in all processes of this store has at a
    /// time.
    ///
    /// # Errors
    /// `unavailable` if there is no such lock to be had, or not within some seconds.
    fn lock(&self) -> Result<Box<dyn NoteLock>>;

    /// Where it is, for people.
    fn location(&self) -> String;

    /// What is in it. A folder that is not there is an empty scan without identity.
    ///
    /// # Errors
    /// `unavailable` if the folder is there and cannot be read.
    fn scan(&self) -> Result<FolderScan>;

    /// Which folder it is, as [`FolderScan::identity`] says it.
    ///
    /// # Errors
    /// As for [`scan`](NoteFolder::scan).
    fn identity(&self) -> Result<Option<String>> {
        Ok(self.scan()?.identity)
    }

    /// What is in the file; none if it is gone.
    ///
    /// # Errors
    /// `invalid_argument` if the path leads out of the folder. What else goes wrong is the read's
    /// problem.
    fn read(&self, path: &str) -> Result<Option<FileRead>>;

    /// Makes a file of a note that has an id and a title: at the top of the folder (which is made
    /// if there is none), named after the title, with a number where another file has the name in
    /// whichever case or Unicode form. `may_be_there` has the files of that name looked through for
    /// one of the same making ([`Created::Before`]), which only an id that follows from a caller's
    /// key can have.
    ///
    /// # Errors
    /// `unavailable` if it cannot be written: then nothing is there, unless the disk refuses to
    /// take it back, too.
    fn create(&self, note: &Note, may_be_there: bool) -> Result<Created>;

    /// Makes the file say what the note says: keys of the frontmatter whose value is another one
    /// are changed or added in place, and the text if it is another one; every other byte stays.
    /// Returns what is in it now.
    ///
    /// # Errors
    /// `conflict` if what is in the file is not `expected` any more, or if its frontmatter is
    /// broken; `conflict`, too, if it is read-only, or cannot be changed without losing something
    /// that it says; `not_found` if it is gone; `unavailable` if it cannot be written. Then nothing
    /// was changed, unless only making the change durable failed on a file system that cannot take
    /// it back in one step.
    fn rewrite(&self, path: &str, expected: &ContentHash, note: &Note) -> Result<FileRead>;
}

/// Keeps what is known of the files of notes. Whoever changes it holds the lock of the folder. It
/// stays, whatever becomes of the memories.
pub trait NoteStore: Send + Sync {
    /// All files of the space, in the order of their paths, those that are missing too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>>;

    /// The file that is this memory, if there is such a memory and it is not softly deleted: one
    /// that is there, or else [expected](NoteFile::is_expected).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>>;

    /// The memories that pass the filter and are files that are there or
    /// [expected](NoteFile::is_expected), in the order of ids, at most `limit`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>>;

    /// The [identity](FolderScan::identity) of the folder that the files were last seen in.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn note_folder(&self, space: &Space) -> Result<Option<String>>;

    /// As [`Store::commit`](crate::Store::commit), for what can be made again from elsewhere: when
    /// it returns `Ok`, every later read of every process sees it, and the end of any process
    /// leaves it, but a power cut may undo it, together with whatever was committed in the same way
    /// after it. It costs no flush of the disk.
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
