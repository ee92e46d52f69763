//! Finds the files that may be transcripts, in a folder or in a zip archive.

use std::io;
use std::path::{Path, PathBuf};

use loci_core::FileStamp;
use loci_mine::project::{self, ProjectFiles};
use loci_mine::unpacked::{UnpackedArchive, is_zip};

use crate::reason;

/// The endings, in lower case, of the files of an archive that may be transcripts.
const TRANSCRIPT_ENDINGS: [&str; 10] = [
    "db",
    "db-wal",
    "json",
    "jsonl",
    "log",
    "markdown",
    "md",
    "txt",
    "vscdb",
    "vscdb-wal",
];
/// The word in reports for a file that is no transcript.
pub(super) const NO_TRANSCRIPT: &str = "no_transcript";

/// The files to read, which may be transcripts.
pub(super) struct TranscriptFiles {
    /// Each with its size and time.
    pub files: Vec<(TranscriptPath, FileStamp)>,
    /// The folder that they are in; of a zip archive, the one that the archive is in.
    pub folder: PathBuf,
    /// The files that are not read, each with the reason.
    pub passed_over: Vec<(PathBuf, &'static str)>,
    /// Keeps the files of an archive unpacked.
    _unpacked: Option<UnpackedArchive>,
}

/// A file that may be a transcript.
pub(super) struct TranscriptPath {
    /// The path by which it is known: of a file in a zip archive, the path of the archive with that
    /// in it.
    pub name: String,
    /// The path at which it is read.
    pub path: PathBuf,
    /// The time in the stamp of the zip archive that it is in. The file was unpacked just now.
    archived: Option<i64>,
}

impl TranscriptPath {
    /// Returns the place of a file that is not in an archive.
    pub fn of(path: &str) -> Self {
        TranscriptPath {
            name: path.to_owned(),
            path: PathBuf::from(path),
            archived: None,
        }
    }

    /// Returns the stamp by which the file is known, from that of the file at the path.
    pub fn stamp(&self, at_path: FileStamp) -> FileStamp {
        FileStamp {
            modified_nanoseconds: self.archived.unwrap_or(at_path.modified_nanoseconds),
            ..at_path
        }
    }
}

/// Returns the files of a folder or of a zip archive, or a single one.
///
/// # Errors
/// If the folder or the archive cannot be read.
pub(super) fn find_transcripts(root: &Path) -> io::Result<TranscriptFiles> {
    let beside = || root.parent().unwrap_or(root).to_owned();
    if is_zip(root) {
        let unpacked = UnpackedArchive::with_inner(root, may_be_transcript)?;
        let archived = Some(project::stamp(root)?.modified_nanoseconds);
        let files = unpacked.files().iter().map(|file| {
            let place = TranscriptPath {
                name: format!("{}/{}", root.display(), file.name),
                path: file.path.clone(),
                archived,
            };
            Ok((place, project::stamp(&file.path)?))
        });
        let files = files.collect::<io::Result<_>>()?;
        let passed_over = unpacked.passed_over().iter();
        let passed_over = passed_over.map(|name| (PathBuf::from(name), NO_TRANSCRIPT));
        return Ok(TranscriptFiles {
            files,
            folder: beside(),
            passed_over: passed_over.collect(),
            _unpacked: Some(unpacked),
        });
    }
    let (walked, folder) = if root.is_dir() {
        (project::walk_all(root)?, root.to_owned())
    } else {
        let files = vec![(root.to_owned(), project::stamp(root)?)];
        let walked = ProjectFiles {
            files,
            ..ProjectFiles::default()
        };
        (walked, beside())
    };
    // A path that is not UTF-8 was passed over.
    let place = |path: PathBuf| TranscriptPath::of(path.to_str().unwrap_or_default());
    let files = walked.files.into_iter();
    let passed_over = walked.passed_over.into_iter();
    let passed_over = passed_over.map(|(path, why)| (path, reason(why)));
    Ok(TranscriptFiles {
        files: files.map(|(path, stamp)| (place(path), stamp)).collect(),
        folder,
        passed_over: passed_over.collect(),
        _unpacked: None,
    })
}

/// Returns true if a file of an archive is unpacked: exports have many others, e.g. images.
fn may_be_transcript(name: &str) -> bool {
    Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| TRANSCRIPT_ENDINGS.contains(&ending.to_lowercase().as_str()))
}
