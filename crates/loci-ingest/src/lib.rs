//! Files projects and transcripts in the parts, as `loci-mine` reads them.
//!
//! [`project`] files the texts of a folder as drawers, [`conversation`] the transcripts of agents,
//! [`host_memories`] what hosts remember in files of their own,
//! [`trust`] keeps the plans of projects that the user agreed to, and [`wings`] which project has
//! which wing. Nothing here prints: messages for people go to a [`Notice`], and progress to a
//! [`Progress`].
//!
//! ```
//! let folder = std::env::temp_dir();
//! assert!(loci_ingest::absolute(&folder)?.starts_with('/'));
//! # Ok::<(), loci_core::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod conversation;
pub mod host_memories;
pub mod project;
mod transcript_backlog;
pub mod trust;
pub mod wings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{
    Caller, Error, ErrorCode, FileStamp, MemoryId, RedactedText, Redactions, SourceFile, Timestamp,
};
use loci_dialects::mempalace;
use loci_engine::{Parts, SourceCounts, SourcePart};
use loci_mine::conversation::Format;
use loci_mine::plain_file::Refusal;
use loci_mine::project::{Plan, Unread};
use serde_json::{Value, json};
use wings::WingConflict;

/// A function that shows a one-line message to the user.
pub type Notice = fn(&str);

/// The progress of long work.
pub trait Progress {
    /// Starts work of this length.
    fn begin(&self, length: u64);

    /// Adds to the work that is done.
    fn advance(&self, by: u64);

    /// Sets the work that is done in all.
    fn reach(&self, position: u64);
}

/// Files younger than this when they were read are read again, because their time may not show a
/// change right after.
const SETTLED_SECONDS: i64 = 2;

/// The largest number of failures that are listed; the others are only counted.
const FAILURES_LISTED_MAX: usize = 20;
/// The endings of names that a report counts, and the bytes of one.
const ENDINGS_MAX: usize = 64;
const ENDING_BYTES_MAX: usize = 12;
/// The endings of compressed files that are read.
const COMPRESSED_ENDINGS: [&str; 2] = ["zst", "zstd"];
/// The largest number of attempts at a file that other processes read at the same time.
const ATTEMPTS_MAX: usize = 20;

/// The outcome for a whole folder, counted by files and by drawers. Each file is one of `read`,
/// `unchanged`, `passed_over` and `failures`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The wings of the drawers.
    pub wings: BTreeSet<String>,
    /// The projects that got another wing than that of their name.
    pub apart: BTreeSet<WingConflict>,
    /// True if git's rules exclude the folder itself, so that no file was read.
    pub is_ignored: bool,
    /// The number of files found.
    pub files: u64,
    /// Files that were read and filed.
    pub read: u64,
    /// The number of these files that were moved since they were filed.
    pub moved: u64,
    /// Files that have not changed.
    pub unchanged: u64,
    /// Files that were passed over, by reason.
    pub passed_over: BTreeMap<&'static str, u64>,
    /// These files by the ending of their names, in lower case; `""` for a name without one.
    pub endings: BTreeMap<String, u64>,
    /// The number of files that were read and are compressed, e.g. with zstd, by their ending.
    pub compressed: BTreeMap<String, u64>,
    /// The first of these files that are in another character set than UTF-8 or UTF-16.
    pub other_charset: Vec<String>,
    /// Files that were filed before and are deleted.
    pub gone: u64,
    /// Files that were filed before and that git ignores now.
    pub ignored: u64,
    /// The numbers of drawers that were added, kept and so on.
    pub drawers: SourceCounts,
    /// Invalid lines or messages of transcripts, which were left out.
    pub broken: u64,
    /// Characters and values of transcripts that were no valid JSON, and were repaired.
    pub repairs: u64,
    /// The attachments of transcripts whose text is among the drawers.
    pub attachments: u64,
    /// The numbers of other things in transcripts, by kind.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Notices for people about files that were read, e.g. that a log may be missing.
    pub notices: BTreeSet<String>,
    /// The secrets that were redacted in the texts.
    pub redacted: Redactions,
    /// Files that could not be filed.
    pub failures: u64,
    /// The first of these files, each with the reason.
    pub failed: Vec<(String, String)>,
}

impl Report {
    /// Returns the report as JSON.
    pub fn value(&self, is_dry: bool) -> Value {
        let Report {
            wings,
            apart,
            is_ignored: _,
            files,
            read,
            moved,
            unchanged,
            passed_over,
            gone,
            ignored,
            drawers,
            ..
        } = self;
        let mut value = json!({
            "wings": wings,
            "apart": apart.iter().map(|WingConflict { wing, name, place }| json!({"wing": wing, "name": name, "project": place})).collect::<Value>(),
            "dry_run": is_dry,
            "files": files,
            "read": read,
            "moved": moved,
            "unchanged": unchanged,
            "passed_over": passed_over,
            "passed_over_endings": self.endings,
            "compressed": self.compressed,
            "other_charset": self.other_charset,
            "gone": gone,
            "ignored": ignored,
            "broken": self.broken,
            "repairs": self.repairs,
            "attachments": self.attachments,
            "left_out": self.left_out,
            "notices": self.notices,
            "redacted": self.redacted.iter().collect::<BTreeMap<_, _>>(),
            "drawers": {"added": drawers.added, "kept": drawers.kept, "removed": drawers.removed},
            "failures": self.failures,
            "failed": self.failed.iter().map(|(path, why)| json!({"path": path, "reason": why})).collect::<Value>(),
        });
        if drawers.forgotten > 0 {
            value["drawers"]["forgotten"] = json!(drawers.forgotten);
        }
        value
    }

    fn pass_over(&mut self, path: &Path, reason: &'static str) {
        *self.passed_over.entry(reason).or_default() += 1;
        if reason == FOLDER_OF_LOCI {
            return;
        }
        let ending = ending(path);
        let is_full = self.endings.len() >= ENDINGS_MAX && !self.endings.contains_key(&ending);
        let ending = if is_full { String::new() } else { ending };
        *self.endings.entry(ending).or_default() += 1;
    }

    fn count_read(&mut self, path: &Path, attachments: u64) {
        self.read += 1;
        self.attachments += attachments;
        let ending = ending(path);
        if COMPRESSED_ENDINGS.contains(&ending.as_str()) {
            *self.compressed.entry(ending).or_default() += 1;
        }
    }

    /// Adds the counts of a transcript.
    fn count(&mut self, told: &conversation::TranscriptReport) {
        self.add(told.filed);
        self.broken += told.broken;
        self.repairs += told.repairs;
        self.notices.extend(told.notice.clone());
        for (kind, count) in &told.left_out {
            *self.left_out.entry(*kind).or_default() += count;
        }
        self.redacted.add_all(&told.redacted);
        self.moved += u64::from(told.is_moved);
    }

    fn fail(&mut self, path: String, reason: String) {
        self.failures += 1;
        if self.failed.len() < FAILURES_LISTED_MAX {
            self.failed.push((path, reason));
        }
    }

    /// Adds the report of another wing.
    fn join(&mut self, other: Report) {
        fn add<K: Ord>(all: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
            for (key, count) in counts {
                *all.entry(key).or_default() += count;
            }
        }
        let failures = other.failures - other.failed.len() as u64;
        for (path, why) in other.failed {
            self.fail(path, why);
        }
        self.failures += failures;
        self.wings.extend(other.wings);
        self.apart.extend(other.apart);
        self.is_ignored |= other.is_ignored;
        self.files += other.files;
        self.read += other.read;
        self.moved += other.moved;
        self.unchanged += other.unchanged;
        add(&mut self.passed_over, other.passed_over);
        add(&mut self.endings, other.endings);
        add(&mut self.compressed, other.compressed);
        add(&mut self.left_out, other.left_out);
        let room = FAILURES_LISTED_MAX.saturating_sub(self.other_charset.len());
        self.other_charset
            .extend(other.other_charset.into_iter().take(room));
        self.gone += other.gone;
        self.ignored += other.ignored;
        self.add(other.drawers);
        self.broken += other.broken;
        self.repairs += other.repairs;
        self.attachments += other.attachments;
        self.notices.extend(other.notices);
        self.redacted.add_all(&other.redacted);
    }

    fn add(&mut self, filed: SourceCounts) {
        self.drawers.added += filed.added;
        self.drawers.kept += filed.kept;
        self.drawers.removed += filed.removed;
        self.drawers.forgotten += filed.forgotten;
    }
}

/// Returns the ending of a name in lower case; `""` for none, and for one that is too long or has
/// other characters than letters and digits, which is a part of the name.
fn ending(path: &Path) -> String {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_ending = |ending: &&str| {
        ending.len() <= ENDING_BYTES_MAX && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    ending.filter(is_ending).unwrap_or_default().to_lowercase()
}

/// Returns the error for a path that cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> Error {
    let message = format!("{} cannot be read: {error}", path.display());
    Error::new(ErrorCode::InvalidArgument, message)
}

/// The reason for passing over a folder of loci.
const FOLDER_OF_LOCI: &str = "folder_of_loci";

/// Returns the word for the reason why a file is not read.
fn reason(unread: Unread) -> &'static str {
    match unread {
        Unread::TooLarge => "too_large",
        Unread::NotText => "not_text",
        Unread::OtherCharset => "other_charset",
        Unread::Empty => "empty",
        Unread::Generated => "generated",
        Unread::Link => "link",
        Unread::FolderOfLoci => FOLDER_OF_LOCI,
        Unread::NotAFile => "not_a_file",
        Unread::Unreadable => "unreadable",
    }
}

/// Returns the local user, as a caller of the dialect that drawers belong to.
pub fn caller() -> Caller {
    mempalace::DIALECT.caller(&Caller::local_person())
}

/// Returns the path of a folder or file as its memories name it: absolute, without links.
///
/// # Errors
/// `invalid_argument` if it does not exist, or its name is not UTF-8.
pub fn absolute(path: &Path) -> Result<String, Error> {
    let real = path.canonicalize().map_err(|error| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!(
                "{} cannot be read: {error}; give a folder that is there",
                path.display()
            ),
        )
    })?;
    in_utf8(real)
}

/// Returns the path as text.
///
/// # Errors
/// `invalid_argument` if it is not UTF-8.
pub fn in_utf8(path: PathBuf) -> Result<String, Error> {
    path.into_os_string().into_string().map_err(|path| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("{} is no path in UTF-8", path.display()),
        )
    })
}

/// Returns the absolute path of a transcript that a host names, without links. The transcript
/// itself may not be a link.
///
/// # Errors
/// If it does not exist, or is a link.
pub fn transcript(named: &Path) -> io::Result<PathBuf> {
    let folder = named
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let real = folder
        .canonicalize()?
        .join(named.file_name().ok_or(io::ErrorKind::NotFound)?);
    if fs::symlink_metadata(&real)?.is_symlink() {
        return Err(Refusal::Link.into());
    }
    Ok(real)
}

/// Returns the absolute path of a folder that does not exist, as it is written.
///
/// # Errors
/// `invalid_argument` if it is not an absolute path in UTF-8.
pub fn named(path: &Path) -> Result<String, Error> {
    let text = path.to_str().filter(|_| path.is_absolute());
    text.map(str::to_owned).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("{} is not there; give an absolute path", path.display()),
        )
    })
}

/// Parses a plan; names follow the rules of the tools.
///
/// # Errors
/// `invalid_argument` if the text is not a plan.
pub fn parse_plan(text: &str) -> loci_core::Result<Plan> {
    Plan::parse(text, &|name| mempalace::place_name("name", name))
}

/// Redacts a text as the settings say, unless it is filed verbatim.
pub fn redacted<'a>(parts: &Parts<'_>, text: &'a str, is_verbatim: bool) -> RedactedText<'a> {
    if is_verbatim {
        RedactedText::unchanged(text)
    } else {
        parts.engine().redaction().redact_mined(text)
    }
}

/// Returns the secrets that were redacted in these parts, from their attributes.
fn redactions_of(parts: &[SourcePart]) -> Redactions {
    let mut all = Redactions::default();
    for text in parts
        .iter()
        .filter_map(|part| part.attributes.get(Redactions::ATTRIBUTE))
    {
        all.add_all(&Redactions::from_text(text));
    }
    all
}

/// Returns the name of a setting that names files, which each machine has for itself.
pub fn setting_of_machine(parts: &Parts<'_>, setting: &str) -> String {
    match parts.sources().machine() {
        "" => setting.to_owned(),
        machine => format!("{setting} on {machine}"),
    }
}

/// Returns true if a file or folder certainly does not exist; false if that is unknown.
fn is_gone(path: &str) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| loci_mine::project::is_gone(&error))
}

/// Returns true for a file that was read as a transcript.
fn is_transcript(file: &SourceFile) -> bool {
    Format::from_name(&file.format).is_some()
}

/// Returns the id of a part, in the form of drawer ids.
fn id_of(file: &SourceFile, part: &SourcePart, occurrence: u64) -> MemoryId {
    let wing = file.collection.as_deref().unwrap_or(mempalace::GLOBAL_WING);
    mempalace::mined_drawer_id(wing, &part.section, &part.thread, &part.content, occurrence)
}

/// Returns the stamp to store for a file: one that changed a moment ago gets a time that no file
/// has.
fn settled(stamp: FileStamp, now: Timestamp) -> FileStamp {
    let age_nanoseconds = now
        .microseconds()
        .saturating_mul(1_000)
        .saturating_sub(stamp.modified_nanoseconds);
    if age_nanoseconds >= SETTLED_SECONDS * 1_000_000_000 {
        return stamp;
    }
    FileStamp {
        modified_nanoseconds: i64::MIN,
        ..stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_a_moment_ago_is_read_again() {
        let now = Timestamp::from_microseconds(10_000_000);
        for (modified_nanoseconds, expected) in [
            (7_000_000_000, 7_000_000_000),
            (8_000_000_000, 8_000_000_000),
            (8_000_000_001, i64::MIN),
            (11_000_000_000, i64::MIN),
        ] {
            let stamp = FileStamp {
                bytes: 3,
                modified_nanoseconds,
            };
            assert_eq!(
                settled(stamp, now),
                FileStamp {
                    bytes: 3,
                    modified_nanoseconds: expected
                }
            );
        }
    }
}
