//! Files the text files of a project as drawers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter;
use std::path::{Path, PathBuf};

use loci_core::{
    ContentHash, Error, ErrorCode, FileStamp, HOST_MEMORY, LINES, RedactedText, Redactions,
    RemovedSecret, SOURCE_PATH, SourceFile, Timestamp, Visibility,
};
use loci_dialects::mempalace;
use loci_engine::{ImportBatch, Parts, ReadSource, SourceCounts, SourcePart, check};
use loci_mine::project::{self, Plan, ProjectFiles, TextFile, Unread};

use crate::{
    ATTEMPTS_MAX, FAILURES_LISTED_MAX, Progress, Report, id_of, is_gone, reason, settled,
    unreadable,
};

/// The format name of project files.
pub const FORMAT: &str = "project";
/// The kind of a drawer of a project.
const DRAWER: &str = "drawer";
/// The reasons for passing over a file that is filed in the wing already.
const TRANSCRIPT: &str = "transcript";
const PROJECT_FILE: &str = "filed_with_the_project";
const HOST_MEMORY_FILE: &str = "filed_as_memory_of_a_host";
/// The most parts and bytes that are filed in one call, for which other writers wait.
const TOGETHER_PARTS: usize = 256;
const TOGETHER_BYTES: usize = 1 << 20;

/// The folder to file, where, and how.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command, and any may be given"
)]
pub struct Mining<'a> {
    /// The absolute path of the folder.
    pub root: &'a str,
    /// The folder of notes, whose notes are memories already.
    pub notes: Option<&'a Path>,
    /// Its wing and rooms.
    pub plan: &'a Plan,
    /// True if nothing is stored, and only the outcome reported.
    pub is_dry: bool,
    /// True if unchanged files are read again.
    pub rereads: bool,
    /// True if texts that were forgotten are filed, too.
    pub files_again: bool,
    /// True if secrets stay in the texts.
    pub is_verbatim: bool,
}

/// The state of one pass over a folder.
struct Work<'a> {
    parts: &'a Parts<'a>,
    filing: &'a Filing<'a>,
    collection: Option<String>,
    /// The deleted files, by the hash of their content.
    gone: HashMap<ContentHash, Vec<SourceFile>>,
    waiting: Vec<ReadSource>,
    report: Report,
}

/// A file that is filed, for the report.
struct FileReport {
    path: String,
    /// True if its content has not changed.
    is_same: bool,
    is_moved: bool,
    /// True if it was already counted as a file without text.
    is_passed_over: bool,
    /// The secrets that were redacted in it.
    redacted: Redactions,
}

/// Files a folder. After an interruption the filed files stay, and the next call knows them.
///
/// # Errors
/// `invalid_argument` if the folder cannot be read, and failures of the store; files that cannot be
/// filed are in the report.
pub fn mine(
    parts: &Parts<'_>,
    mining: &Mining<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let root = Path::new(mining.root);
    let walked =
        project::walk_beside(root, mining.notes).map_err(|error| unreadable(root, &error))?;
    let room_of = |path: &Path| mining.plan.room_of(root, path).to_owned();
    let filing = Filing {
        root: mining.root,
        wing: &mining.plan.wing,
        format: FORMAT,
        room_of: &room_of,
        trimmed: whole,
        visibility: Visibility::Common,
        batch: None,
        is_dry: mining.is_dry,
        rereads: mining.rereads,
        files_again: mining.files_again,
        is_verbatim: mining.is_verbatim,
    };
    file_all(parts, &filing, walked, progress)
}

/// The files of a folder in one wing, and how they are filed.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command, and any may be given"
)]
pub(crate) struct Filing<'a> {
    /// The absolute path of the folder.
    pub(crate) root: &'a str,
    /// The wing.
    pub(crate) wing: &'a str,
    /// The name of their format.
    pub(crate) format: &'static str,
    /// Returns the room of a file.
    pub(crate) room_of: &'a dyn Fn(&Path) -> String,
    /// Returns a text without what is not filed.
    pub(crate) trimmed: fn(&str) -> Cow<'_, str>,
    /// The visibility of new drawers.
    pub(crate) visibility: Visibility,
    /// The import that they are part of.
    pub(crate) batch: Option<&'a ImportBatch>,
    /// As in [`Mining`].
    pub(crate) is_dry: bool,
    /// As in [`Mining`].
    pub(crate) rereads: bool,
    /// As in [`Mining`].
    pub(crate) files_again: bool,
    /// As in [`Mining`].
    pub(crate) is_verbatim: bool,
}

/// Returns a text as it is.
fn whole(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Returns the reason for passing over a file that is filed in the wing already, in another format.
fn filed_as(format: &str) -> &'static str {
    match format {
        FORMAT => PROJECT_FILE,
        HOST_MEMORY => HOST_MEMORY_FILE,
        _ => TRANSCRIPT,
    }
}

/// Files these files of a folder, as [`mine`] does.
///
/// # Errors
/// Failures of the store.
pub(crate) fn file_all(
    parts: &Parts<'_>,
    filing: &Filing<'_>,
    walked: ProjectFiles,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let root = Path::new(filing.root);
    let collection = mempalace::collection(filing.wing);
    let known = parts
        .sources()
        .source_files(collection.as_deref())?
        .into_iter();
    let (known, otherwise): (Vec<_>, Vec<_>) = known.partition(|file| file.format == filing.format);
    let otherwise: HashMap<String, &'static str> = otherwise
        .into_iter()
        .map(|file| (file.path, filed_as(&file.format)))
        .collect();
    let (own, others): (Vec<_>, Vec<_>) = known
        .into_iter()
        .partition(|file| Path::new(&file.path).starts_with(root));
    let mut known: BTreeMap<String, SourceFile> = own
        .into_iter()
        .map(|file| (file.path.clone(), file))
        .collect();
    let mut report = begun(filing.wing, &walked);
    let files: Vec<(Option<SourceFile>, String, FileStamp)> = walked
        .files
        .into_iter()
        .filter_map(|(path, stamp)| {
            let path = path.to_str()?.to_owned();
            Some((known.remove(&path), path, stamp))
        })
        .collect();
    // The rest is deleted, ignored by now, or unreadable, in which case its state is unknown.
    let (gone, left): (Vec<_>, Vec<_>) = known.into_values().partition(|file| is_gone(&file.path));
    report.ignored = ignored(&left, &walked.passed_over);
    // The whole folder may have been moved.
    let mut are_gone: HashMap<String, bool> = HashMap::new();
    let others = others.into_iter().filter(|file| {
        *are_gone
            .entry(file.root.clone())
            .or_insert_with(|| is_gone(&file.root))
            && is_gone(&file.path)
    });
    let mut by_hash: HashMap<ContentHash, Vec<SourceFile>> = HashMap::new();
    for file in others.chain(gone) {
        by_hash.entry(file.hash).or_default().push(file);
    }
    let mut work = Work {
        parts,
        filing,
        collection,
        gone: by_hash,
        waiting: Vec::new(),
        report,
    };
    progress.begin(files.len() as u64);
    for (before, path, stamp) in files {
        if let Some(reason) = otherwise.get(&path) {
            work.report.pass_over(Path::new(&path), reason);
        } else {
            work.check_state(before, path, stamp)?;
        }
        progress.advance(1);
    }
    work.file()?;
    let left = work.gone.values().flatten();
    work.report.gone = left
        .filter(|file| Path::new(&file.path).starts_with(root))
        .count() as u64;
    Ok(work.report)
}

/// Returns the report of a wing, with the files that were found and passed over.
fn begun(wing: &str, walked: &ProjectFiles) -> Report {
    let mut report = Report {
        wings: BTreeSet::from([wing.to_owned()]),
        is_ignored: walked.is_ignored,
        files: (walked.files.len() + walked.passed_over.len()) as u64,
        ..Report::default()
    };
    for (path, why) in &walked.passed_over {
        report.pass_over(path, reason(*why));
    }
    report
}

/// Returns the number of files that git ignores by now, of those that are left out and there. It says
/// nothing of a host's own memory.
fn ignored(left: &[SourceFile], passed_over: &[(PathBuf, Unread)]) -> u64 {
    let is_passed_over = |file: &&SourceFile| {
        let path = Path::new(&file.path);
        passed_over
            .iter()
            .any(|(passed, _)| path.starts_with(passed))
    };
    let left = left.iter().filter(|file| !file.is_host_memory());
    left.filter(|file| !is_passed_over(file)).count() as u64
}

impl Work<'_> {
    fn check_state(
        &mut self,
        before: Option<SourceFile>,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), Error> {
        let is_known = |file: &&SourceFile| file.stamp == stamp && !file.is_pending;
        if let Some(known) = before.as_ref().filter(is_known)
            && !self.filing.rereads
        {
            self.report.unchanged += 1;
            self.report.drawers.kept += known.parts;
            return Ok(());
        }
        let read = self.read(before, path);
        self.waiting.extend(read);
        if self.is_full() { self.file() } else { Ok(()) }
    }

    /// Returns the parts to file of a file; `None` without parts, for a reason in the report.
    fn read(&mut self, before: Option<SourceFile>, path: String) -> Option<ReadSource> {
        match project::read(Path::new(&path)) {
            Ok(Ok(file)) => {
                let is_same = |known: &&SourceFile| known.hash == file.hash && !known.is_pending;
                if let Some(known) = before.as_ref().filter(is_same)
                    && !self.filing.rereads
                {
                    self.keep(known, file.stamp);
                    return None;
                }
                let moved_from = before
                    .is_none()
                    .then(|| self.gone.get_mut(&file.hash)?.pop())
                    .flatten();
                Some(self.parts(before, moved_from, path, &file))
            }
            Ok(Err(why)) => {
                self.report.pass_over(Path::new(&path), reason(why));
                if why == Unread::OtherCharset
                    && self.report.other_charset.len() < FAILURES_LISTED_MAX
                {
                    self.report.other_charset.push(path);
                }
                let may_be_text =
                    matches!(why, Unread::Link | Unread::NotAFile | Unread::Unreadable);
                before
                    .filter(|_| !may_be_text)
                    .and_then(|known| emptied(known, self.parts.engine().now()))
            }
            Err(error) => {
                self.report.fail(path, format!("cannot be read: {error}"));
                None
            }
        }
    }

    /// Keeps a file with unchanged content, with its drawers as people left them.
    fn keep(&mut self, known: &SourceFile, stamp: FileStamp) {
        self.report.unchanged += 1;
        self.report.drawers.kept += known.parts;
        if !self.filing.is_dry {
            let file = SourceFile {
                stamp: settled(stamp, self.parts.engine().now()),
                ..known.clone()
            };
            if let Err(error) = self.parts.sources().note_source(known, file) {
                // The next pass reads it once more.
                tracing::warn!(%error, "what is known of a file could not be noted");
            }
        }
    }

    fn parts(
        &self,
        before: Option<SourceFile>,
        moved_from: Option<SourceFile>,
        path: String,
        file: &TextFile,
    ) -> ReadSource {
        let Filing { root, .. } = self.filing;
        let section = (self.filing.room_of)(Path::new(&path));
        let machine = self.parts.sources().machine().to_owned();
        let thread = SourceFile::thread_of(&machine, &path);
        let source_path = SourceFile::path_in_root(root, &path);
        // Redacts the whole file, because a secret may cross the end of a section.
        let text = (self.filing.trimmed)(&file.text);
        let redacted = if self.filing.is_verbatim {
            RedactedText::unchanged(&text)
        } else {
            self.parts.engine().redaction().redact_file(&text)
        };
        let mut removed = redacted.removed.iter().peekable();
        let mut parts: Vec<SourcePart> = (0..)
            .zip(project::sections(Path::new(&path), &redacted.text))
            .map(|(position, part)| {
                let line = |line: usize, offset| line + redacted.lines_removed_until(offset);
                let lines = (
                    line(part.lines.0, part.bytes.start),
                    line(part.lines.1, part.bytes.end),
                );
                let mut attributes =
                    BTreeMap::from([(LINES.to_owned(), format!("{}-{}", lines.0, lines.1))]);
                attributes.extend(
                    source_path
                        .clone()
                        .map(|path| (SOURCE_PATH.to_owned(), path)),
                );
                let is_in_part = |removed: &&RemovedSecret| removed.at <= part.bytes.end;
                let in_part = iter::from_fn(|| removed.next_if(is_in_part));
                Redactions::of(in_part).write_to(&mut attributes);
                SourcePart {
                    thread: thread.clone(),
                    position,
                    content: redacted.text[part.bytes].to_owned(),
                    section: section.clone(),
                    kind: DRAWER.to_owned(),
                    title: part
                        .title
                        .filter(|title| check::name("title", title).is_ok()),
                    attributes,
                    created_at: None,
                }
            })
            .collect();
        if let Some(last) = parts.last_mut() {
            Redactions::of(removed).write_to(&mut last.attributes);
        }
        let known = SourceFile {
            machine,
            collection: self.collection.clone(),
            path,
            root: (*root).to_owned(),
            format: self.filing.format.to_owned(),
            stamp: settled(file.stamp, self.parts.engine().now()),
            bytes_read: file.stamp.bytes,
            hash: file.hash,
            parts: parts.len() as u64,
            is_pending: false,
            is_whole: true,
        };
        let moved_from = moved_from.map(|file| file.path);
        ReadSource {
            file: known,
            before,
            moved_from,
            visibility: self.filing.visibility,
            parts,
            has_more: false,
        }
    }

    fn is_full(&self) -> bool {
        let parts = self
            .waiting
            .iter()
            .map(|read| read.parts.len())
            .sum::<usize>();
        let contents = self.waiting.iter().flat_map(|read| &read.parts);
        parts >= TOGETHER_PARTS
            || contents.map(|part| part.content.len()).sum::<usize>() >= TOGETHER_BYTES
    }

    /// Files the waiting files. Files that another process has read since are read again.
    fn file(&mut self) -> Result<(), Error> {
        for attempt in 1.. {
            let waiting = std::mem::take(&mut self.waiting);
            let filings: Vec<FileReport> = waiting.iter().map(FileReport::of).collect();
            for (filing, outcome) in filings.into_iter().zip(self.outcomes(waiting)?) {
                match outcome {
                    Ok(filed) => self.count(&filing, filed),
                    Err(error) if error.code == ErrorCode::Conflict && attempt < ATTEMPTS_MAX => {
                        let known = self
                            .parts
                            .sources()
                            .source_file(self.collection.as_deref(), &filing.path)?;
                        let is_other = |known: &&SourceFile| known.format != self.filing.format;
                        if let Some(known) = known.as_ref().filter(is_other) {
                            let path = Path::new(&filing.path);
                            self.report.pass_over(path, filed_as(&known.format));
                        } else {
                            let read = self.read(known, filing.path);
                            self.waiting.extend(read);
                        }
                    }
                    Err(error) => self.report.fail(filing.path, error.message),
                }
            }
            if self.waiting.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn outcomes(
        &self,
        reads: Vec<ReadSource>,
    ) -> loci_core::Result<Vec<loci_core::Result<SourceCounts>>> {
        let sources = self
            .parts
            .sources()
            .again(self.filing.files_again)
            .in_batch(self.filing.batch);
        if self.filing.is_dry {
            let previews = reads.iter();
            return Ok(previews
                .map(|read| sources.preview_source(&id_of, read))
                .collect());
        }
        sources.file_sources(&id_of, reads)
    }

    fn count(&mut self, filing: &FileReport, filed: SourceCounts) {
        self.report.redacted.add_all(&filing.redacted);
        if filing.is_passed_over {
            return self.report.add(filed);
        }
        let is_unchanged =
            filing.is_same && filed.added + filed.removed == 0 && !self.filing.rereads;
        *(if is_unchanged {
            &mut self.report.unchanged
        } else {
            &mut self.report.read
        }) += 1;
        self.report.moved += u64::from(filing.is_moved);
        self.report.add(filed);
    }
}

impl FileReport {
    fn of(read: &ReadSource) -> Self {
        FileReport {
            path: read.file.path.clone(),
            is_same: read
                .before
                .as_ref()
                .is_some_and(|before| before.hash == read.file.hash),
            is_moved: read.moved_from.is_some(),
            is_passed_over: read.file.bytes_read == 0,
            redacted: super::redactions_of(&read.parts),
        }
    }
}

/// Returns the removal of all drawers of a file that was text and is not any more.
fn emptied(known: SourceFile, now: Timestamp) -> Option<ReadSource> {
    let stamp = settled(project::stamp(Path::new(&known.path)).ok()?, now);
    let file = SourceFile {
        stamp,
        bytes_read: 0,
        hash: ContentHash([0; 32]),
        parts: 0,
        ..known.clone()
    };
    Some(ReadSource {
        file,
        before: Some(known),
        moved_from: None,
        visibility: Visibility::Common,
        parts: Vec::new(),
        has_more: false,
    })
}
