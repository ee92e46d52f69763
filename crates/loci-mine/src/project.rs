//! The files of a project: which there are, what is in them, into which sections they fall, and
//! where they belong.

mod configuration;
mod folder_names;
mod identity;
mod path_text;
mod plan;
mod remote;
mod repository;
pub(crate) mod rules;
mod sections;
#[cfg(test)]
mod tests;

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use loci_core::limits::SOURCE_FILE_BYTES_MAX;
use loci_core::{ContentHash, FileStamp};
use sha2::{Digest, Sha256};

use crate::decoded::utf_16;
use crate::plain_file::{self, Links, Refusal};
use rules::{Folder, users_excludes};

pub use folder_names::folder_named;
pub use identity::{Project, local_folder};
pub use path_text::is_absolute;
pub use plan::{
    NameRule, PLAN_FILE, PROJECT_FILE, Plan, place_name, plan_file, plan_folders, propose,
    read_plan,
};
pub use rules::{is_gone, top_of};
pub use sections::{Section, sections};

/// Names of files in which package managers keep the exact versions of everything.
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "Cartfile.resolved",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
];
/// Endings of names of files that are made of others.
const MADE_ENDINGS: &[&str] = &[".min.js", ".min.mjs", ".min.css", ".map"];
/// Bytes in the average line of a text beyond which no person wrote it.
const AVERAGE_LINE_BYTES_MAX: usize = 5_000;
/// Endings of names of scripts, which bundlers write on a few long lines.
const SCRIPT_ENDINGS: &[&str] = &[".js", ".mjs", ".cjs", ".css"];
/// Characters in the average line of a script beyond which a bundler wrote it: formatters of
/// scripts break lines at 80 to 120.
const SCRIPT_LINE_CHARACTERS_MAX: usize = 200;
/// The database of a loci, which tells that a folder is its data folder.
const DATABASE: &str = "loci.db";
/// Bytes at the beginning of a file that show in nearly all cases whether it is text.
const SAMPLE_BYTES: u64 = 8_192;
/// The number of readings of a file that changes while it is read.
const TRIES: usize = 2;

/// The files of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFiles {
    /// Absolute paths of regular files that no ignore rule excludes, in the order of paths, with
    /// their size and time.
    pub files: Vec<(PathBuf, FileStamp)>,
    /// The paths that were passed over although git ignores none: links, special files, and what
    /// could not be read.
    pub passed_over: Vec<(PathBuf, Unread)>,
    /// True if the rules exclude the folder itself, so that there is nothing to read.
    pub is_ignored: bool,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unread {
    /// It is larger than [`SOURCE_FILE_BYTES_MAX`].
    TooLarge,
    /// It is no text.
    NotText,
    /// It may be a text, in another character set than UTF-8, or UTF-16 with a byte order mark.
    OtherCharset,
    /// It has nothing but white space.
    Empty,
    /// It is made by a program for programs: a lock file of a package manager, a minified script or
    /// bundle of scripts, a source map.
    Generated,
    /// It is a symbolic link.
    Link,
    /// It is a folder of loci: that of its data, e.g. with the token of its owner, or that of its
    /// notes, which are memories already.
    FolderOfLoci,
    /// It is no regular file.
    NotAFile,
    /// The operating system does not let it be read.
    Unreadable,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Its content.
    pub text: String,
    /// Its size and time, as they were both before and after it was read.
    pub stamp: FileStamp,
    /// SHA-256 of its bytes.
    pub hash: ContentHash,
}

/// The files of a folder that no rule of git excludes (`.gitignore` files, nested and negated,
/// whether or not the folder is a repository; `.git/info/exclude`; the user's own excludes); hidden
/// files and folders are passed over, and links are never followed. The rules of the folders above
/// it hold up to the top of its repository; what is in a repository further down goes by the rules
/// of that one.
///
/// # Errors
/// If the folder itself, the rules that hold for it, or the user's configuration of git cannot be
/// read. Whatever else cannot be read is passed over, and said.
pub fn walk(root: &Path) -> io::Result<ProjectFiles> {
    walk_beside(root, None)
}

/// As [`walk`], without the folder of notes, if it lies within.
///
/// # Errors
/// As for [`walk`].
pub fn walk_beside(root: &Path, notes: Option<&Path>) -> io::Result<ProjectFiles> {
    walk_with(root, users_excludes()?.as_deref(), notes)
}

/// All files of a folder, whatever git's rules say; hidden ones and links as in [`walk`].
///
/// # Errors
/// As for [`walk`].
pub fn walk_all(root: &Path) -> io::Result<ProjectFiles> {
    walk_in(&absolute(root)?, None, None)
}

/// As [`walk`], with another file of the user's own excludes.
pub(crate) fn walk_with(
    root: &Path,
    users: Option<&Path>,
    notes: Option<&Path>,
) -> io::Result<ProjectFiles> {
    let root = absolute(root)?;
    let real = fs::canonicalize(&root)?;
    let notes = notes.and_then(|notes| fs::canonicalize(notes).ok());
    let notes = notes.and_then(|notes| Some(root.join(notes.strip_prefix(&real).ok()?)));
    let folder = Folder::open(&real, users)?;
    walk_in(&root, Some(folder), notes)
}

/// With the rules of a folder, or with none, and without the folder of notes.
fn walk_in(
    root: &Path,
    folder: Option<Folder>,
    notes: Option<PathBuf>,
) -> io::Result<ProjectFiles> {
    let is_ignored = folder.as_ref().is_some_and(Folder::is_ignored);
    let mut walked = ProjectFiles {
        is_ignored,
        ..ProjectFiles::default()
    };
    let mut waiting = walked.list(root, folder.as_ref())?;
    while let Some((path, folder)) = waiting.pop() {
        if notes.as_ref() == Some(&path) {
            walked.passed_over.push((path, Unread::FolderOfLoci));
            continue;
        }
        match walked.list(&path, folder.as_ref()) {
            Ok(folders) => waiting.extend(folders),
            Err(_) => walked.passed_over.push((path, Unread::Unreadable)),
        }
    }
    walked
        .files
        .sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    walked.passed_over.sort_unstable();
    Ok(walked)
}

impl ProjectFiles {
    /// Takes in what a folder holds. Returns the folders in it.
    fn list(
        &mut self,
        path: &Path,
        folder: Option<&Folder>,
    ) -> io::Result<Vec<(PathBuf, Option<Folder>)>> {
        let mut folders = Vec::new();
        let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        if entries.iter().any(|entry| entry.file_name() == DATABASE) {
            self.passed_over
                .push((path.to_owned(), Unread::FolderOfLoci));
            return Ok(folders);
        }
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            let kind = entry.file_type()?;
            let is_ignored = folder.is_some_and(|folder| folder.ignores(&name, kind.is_dir()));
            if name.as_encoded_bytes().starts_with(b".") || is_ignored {
                continue;
            }
            let problem = if path.to_str().is_none() {
                Some(Unread::Unreadable)
            } else if kind.is_dir() {
                let entered = folder.map(|folder| folder.enter(&name)).transpose();
                entered
                    .map(|folder| folders.push((path.clone(), folder)))
                    .err()
                    .map(|_| Unread::Unreadable)
            } else if kind.is_file() {
                let found = entry
                    .metadata()
                    .map(|metadata| self.files.push((path.clone(), stamp_of(&metadata))));
                found.err().map(|_| Unread::Unreadable)
            } else if kind.is_symlink() {
                Some(Unread::Link)
            } else {
                Some(Unread::NotAFile)
            };
            self.passed_over
                .extend(problem.map(|problem| (path, problem)));
        }
        Ok(folders)
    }
}

/// Reads a file that may be text.
///
/// # Errors
/// If it cannot be opened or read, or changes all the time. The inner error says why it is not text
/// to keep.
pub fn read(path: &Path) -> io::Result<Result<TextFile, Unread>> {
    read_with(path, || Ok(()))
}

/// The same. `meanwhile` runs each time between reading and looking whether the file has changed.
fn read_with(
    path: &Path,
    mut meanwhile: impl FnMut() -> io::Result<()>,
) -> io::Result<Result<TextFile, Unread>> {
    for _ in 0..TRIES {
        let metadata = fs::symlink_metadata(path)?;
        if let Some(unread) = unread(path, &metadata) {
            return Ok(Err(unread));
        }
        let mut file = match plain_file::open(path, Links::Refused) {
            Err(error) if Refusal::of(&error) == Some(Refusal::Link) => {
                return Ok(Err(Unread::Link));
            }
            Err(error) if Refusal::of(&error).is_some() => return Ok(Err(Unread::NotAFile)),
            opened => opened?,
        };
        let before = stamp_of(&file.metadata()?);
        let mut bytes = Vec::new();
        file.by_ref().take(SAMPLE_BYTES).read_to_end(&mut bytes)?;
        if bytes.contains(&0) && utf_16(&bytes).is_none() {
            return Ok(Err(Unread::NotText));
        }
        file.take(SOURCE_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        meanwhile()?;
        if stamp_of(&fs::symlink_metadata(path)?) == before && bytes.len() as u64 == before.bytes {
            return Ok(understood(path, bytes, before));
        }
    }
    Err(io::Error::other("it changes while it is read"))
}

/// Why a file is not even opened.
fn unread(path: &Path, metadata: &Metadata) -> Option<Unread> {
    let name = name_of(path);
    if metadata.is_symlink() {
        Some(Unread::Link)
    } else if !metadata.is_file() {
        Some(Unread::NotAFile)
    } else if LOCK_FILES.contains(&name) || MADE_ENDINGS.iter().any(|ending| name.ends_with(ending))
    {
        Some(Unread::Generated)
    } else if metadata.len() > SOURCE_FILE_BYTES_MAX {
        Some(Unread::TooLarge)
    } else {
        None
    }
}

fn name_of(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or_default()
}

/// Returns whether a bundler wrote this text of a script.
fn is_bundle(path: &Path, text: &str) -> bool {
    let name = name_of(path);
    SCRIPT_ENDINGS.iter().any(|ending| name.ends_with(ending))
        && text.chars().count() / text.lines().count().max(1) > SCRIPT_LINE_CHARACTERS_MAX
}

fn understood(path: &Path, bytes: Vec<u8>, stamp: FileStamp) -> Result<TextFile, Unread> {
    let hash = ContentHash(Sha256::digest(&bytes).into());
    let text = match utf_16(&bytes) {
        Some(text) => text,
        None => String::from_utf8(bytes).map_err(|error| other_than_utf_8(error.as_bytes()))?,
    };
    if text.contains('\0') {
        Err(Unread::NotText)
    } else if text.trim_start_matches('\u{feff}').trim().is_empty() {
        Err(Unread::Empty)
    } else if text.len() / text.lines().count() > AVERAGE_LINE_BYTES_MAX || is_bundle(path, &text) {
        Err(Unread::Generated)
    } else {
        Ok(TextFile { text, stamp, hash })
    }
}

/// Judges bytes that are no UTF-8: a text has only the control characters of texts.
fn other_than_utf_8(bytes: &[u8]) -> Unread {
    let is_of_text = |byte: &u8| !matches!(byte, 0..=0x08 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    if bytes.iter().all(is_of_text) {
        Unread::OtherCharset
    } else {
        Unread::NotText
    }
}

/// The size and time of a file, or of what a link leads to.
///
/// # Errors
/// If it is not there, or may not be looked at.
pub fn stamp(path: &Path) -> io::Result<FileStamp> {
    fs::metadata(path).map(|metadata| stamp_of(&metadata))
}

/// Size and time, as far as a stamp can hold them. The time is the one of the last change of the
/// file or of its data in the file system, because programs such as `cp -p` and editors restore the
/// time of the last change of an edited file.
pub(crate) fn stamp_of(metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok();
    let nanoseconds = modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanoseconds| -nanoseconds)
        }
    });
    FileStamp {
        bytes: metadata.len(),
        modified_nanoseconds: nanoseconds.max(changed(metadata)),
    }
}

/// The time in nanoseconds since 1970 at which the file was written, renamed or given other times,
/// which no program can set.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    let seconds = metadata.ctime().saturating_mul(1_000_000_000);
    seconds.saturating_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
const fn changed(_: &Metadata) -> i64 {
    i64::MIN
}

/// The absolute path of a folder, as it was given but for `..`.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if path.components().any(|part| part == Component::ParentDir) {
        fs::canonicalize(path)
    } else {
        Ok(path)
    }
}
