//! Files the messages of conversations as drawers, one for each message.

mod counts;
mod filing;
mod parts;
mod transcript_files;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Instant;

use loci_core::{Error, ErrorCode, FileStamp, SourceFile, Visibility};
use loci_dialects::mempalace;
use loci_engine::{ImportBatch, Parts, ReadSource};
use loci_mine::conversation::{self, Format, Mark, TranscriptReading};
use loci_mine::project;

pub use counts::TranscriptReport;
use filing::Filing;
pub use parts::ROOM;
use parts::{id_of, shared_thread};
use transcript_files::{NO_TRANSCRIPT, TranscriptPath, find_transcripts};

use crate::transcript_backlog::{self, SHARED, VERBATIM};
use crate::trust::Trust;
use crate::wings::Wings;
use crate::{ATTEMPTS_MAX, Progress, Report, is_gone, is_transcript, settled, unreadable};

/// The bytes of a growing transcript that are read and filed at a time, in the background and while
/// a caller waits: some ten milliseconds.
const BYTES_AT_A_TIME: u64 = 4 << 20;
const BYTES_IN_HASTE: u64 = 64 << 10;
/// The most files that one round of the background reads.
const PENDING_AT_A_TIME: usize = 256;

/// The conversations to file, and how.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command, and any may be given"
)]
pub struct Mining<'a> {
    /// The wing; `None` for the wing of each transcript.
    pub wing: Option<&'a str>,
    /// The absolute path of the folder, of a zip archive, or of a single transcript.
    pub root: &'a Path,
    /// True if nothing is stored, and only the outcome reported.
    pub is_dry: bool,
    /// True if the other callers in the space may read them, too.
    pub is_shared: bool,
    /// True if unchanged files are read again, and growing ones from their beginning.
    pub rereads: bool,
    /// True if texts that were forgotten are filed, too.
    pub files_again: bool,
    /// True if secrets stay in the texts.
    pub is_verbatim: bool,
    /// The plans that count.
    pub trust: &'a Trust,
    /// The import that the drawers are part of.
    pub batch: Option<&'a ImportBatch>,
}

/// Options for reading transcripts of one wing.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command, and any may be given"
)]
pub struct Transcripts<'a> {
    /// The wing.
    pub wing: &'a str,
    /// The absolute path of the folder that they are in.
    pub root: &'a str,
    /// True if nothing is stored, and only the outcome reported.
    pub is_dry: bool,
    /// True if the other callers in the space may read them, too.
    pub is_shared: bool,
    /// True if an unchanged file is read again, and a growing one from its beginning.
    pub rereads: bool,
    /// True if texts that were forgotten are filed, too.
    pub files_again: bool,
    /// The deadline after which the rest is left to another process.
    pub until: Option<Instant>,
    /// True if secrets stay in the texts.
    pub is_verbatim: bool,
}

/// Returns the wing of a transcript: where it was filed before, or the wing of the first folder
/// that it names, where its work started, or the wing of `folder`. So every process files it in the
/// same wing.
///
/// # Errors
/// `unavailable` if the store cannot be used.
pub fn wing_of(
    wings: &Wings<'_>,
    parts: &Parts<'_>,
    transcript: &Path,
    folder: &Path,
) -> loci_core::Result<String> {
    let place = TranscriptPath::of(transcript.to_str().unwrap_or_default());
    wing_of_place(wings, parts, &place, folder)
}

fn wing_of_place(
    wings: &Wings<'_>,
    parts: &Parts<'_>,
    place: &TranscriptPath,
    folder: &Path,
) -> loci_core::Result<String> {
    let known = parts.sources().sources_at(&place.name)?;
    if let Some(known) = known.into_iter().find(is_transcript) {
        return Ok(known
            .collection
            .unwrap_or_else(|| mempalace::GLOBAL_WING.to_owned()));
    }
    let named = conversation::folder(&place.path).ok().flatten();
    let named = named.as_deref().filter(|named| project::is_absolute(named));
    wings.of(named.map_or(folder, Path::new))
}

/// Files the transcripts of a folder or of a zip archive, or a single one, in a wing, or each in its
/// [own](wing_of).
///
/// # Errors
/// `invalid_argument` if the folder or the archive cannot be read; the report names the files that
/// cannot be filed.
pub fn mine(
    parts: &Parts<'_>,
    mining: &Mining<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let Mining {
        wing,
        root,
        is_dry,
        is_shared,
        rereads,
        files_again,
        trust,
        ..
    } = *mining;
    let found = find_transcripts(root).map_err(|error| unreadable(root, &error))?;
    let folder = found.folder.as_path();
    let mut report = Report {
        files: (found.files.len() + found.passed_over.len()) as u64,
        ..Report::default()
    };
    for (path, why) in &found.passed_over {
        report.pass_over(path, why);
    }
    progress.begin(found.files.iter().map(|(_, stamp)| stamp.bytes).sum());
    let wings = Wings::new(parts, trust, is_dry);
    let (mut readers, mut done) = (HashMap::<String, Reader<'_>>::new(), 0);
    for (place, stamp) in &found.files {
        let wing = wing.map_or_else(
            || wing_of_place(&wings, parts, place, folder),
            |wing| Ok(wing.to_owned()),
        )?;
        let transcripts = Transcripts {
            wing: &wing,
            root: folder.to_str().unwrap_or_default(),
            is_dry,
            is_shared,
            rereads,
            files_again,
            until: None,
            is_verbatim: mining.is_verbatim,
        };
        let reader = readers
            .entry(wing.clone())
            .or_insert_with(|| Reader::new(parts, &wing, mining.batch));
        match reader.file(&transcripts, place, &|bytes| progress.reach(done + bytes)) {
            Ok(None) => report.pass_over(Path::new(&place.name), NO_TRANSCRIPT),
            Ok(Some(told)) => {
                report.wings.insert(wing);
                report.count(&told);
                if told.was_read {
                    report.count_read(Path::new(&place.name), told.attachments);
                } else {
                    report.unchanged += 1;
                }
            }
            Err(error) => report.fail(place.name.clone(), error.message),
        }
        done += stamp.bytes;
        progress.reach(done);
    }
    report.apart = wings.apart();
    Ok(report)
}

/// Files the new part of one transcript; `None` if the file is not a transcript.
///
/// # Errors
/// `unavailable` if the file cannot be read or the store cannot be written; `conflict` if other
/// processes read it all the time.
pub fn file(
    parts: &Parts<'_>,
    transcripts: &Transcripts<'_>,
    path: &str,
) -> loci_core::Result<Option<TranscriptReport>> {
    Reader::new(parts, transcripts.wing, None).file(transcripts, &TranscriptPath::of(path), &|_| ())
}

/// Files a transcript for a hook, as [`file()`] does, and records a checkpoint for callers that ask
/// what was saved last.
///
/// # Errors
/// As for [`file()`].
pub fn save(
    parts: &Parts<'_>,
    transcripts: &Transcripts<'_>,
    path: &str,
) -> loci_core::Result<Option<TranscriptReport>> {
    let told = file(parts, transcripts, path)?;
    if let Some(told) = told.as_ref().filter(|told| told.filed.added > 0) {
        mempalace::put_checkpoint(parts, told.filed.added)?;
    }
    Ok(told)
}

/// Reads the rest of transcripts that other processes left unread; returns the number of files for
/// which that worked.
///
/// # Errors
/// `unavailable` if the store cannot be used, or no remaining file can be read now.
pub fn read_on(parts: &Parts<'_>) -> loci_core::Result<usize> {
    let (mut done, mut failed, shared) = (0, None, transcript_backlog::named_by(parts, SHARED)?);
    for source in parts.sources().pending_sources(PENDING_AT_A_TIME)? {
        let wing = source
            .collection
            .as_deref()
            .unwrap_or(mempalace::GLOBAL_WING);
        let is_shared = shared.contains(&source.path);
        let is_verbatim = transcript_backlog::named_by(parts, VERBATIM)?.contains(&source.path);
        let transcripts = Transcripts {
            wing,
            root: &source.root,
            is_dry: false,
            is_shared,
            rereads: false,
            files_again: false,
            until: None,
            is_verbatim,
        };
        let outcome = match save(parts, &transcripts, &source.path) {
            // The file has nothing more to read.
            Ok(None) => leave(parts, source),
            Err(_) if is_gone(&source.path) => leave(parts, source),
            outcome => outcome.map(|_| ()),
        };
        match outcome {
            Ok(()) => done += 1,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // Unreadable files are tried again when there is nothing else to do.
    failed.filter(|_| done == 0).map_or(Ok(done), Err)
}

/// Records that the rest of a file needs no reading.
fn leave(parts: &Parts<'_>, source: SourceFile) -> loci_core::Result<()> {
    let file = SourceFile {
        is_pending: false,
        ..source.clone()
    };
    let (before, visibility) = (Some(source), Visibility::Private);
    let left = ReadSource {
        file,
        before,
        moved_from: None,
        visibility,
        parts: Vec::new(),
        has_more: false,
    };
    parts.sources().file_source(&id_of, left).map(|_| ())
}

/// Reads the transcripts of a wing.
struct Reader<'a> {
    parts: &'a Parts<'a>,
    collection: Option<String>,
    batch: Option<&'a ImportBatch>,
    /// The transcripts that were deleted, loaded on first use.
    gone: Option<Vec<SourceFile>>,
}

impl<'a> Reader<'a> {
    fn new(parts: &'a Parts<'a>, wing: &str, batch: Option<&'a ImportBatch>) -> Self {
        Reader {
            parts,
            collection: mempalace::collection(wing),
            batch,
            gone: None,
        }
    }

    /// Files the new part of one transcript, and reports the bytes that are done.
    fn file(
        &mut self,
        transcripts: &Transcripts<'_>,
        place: &TranscriptPath,
        reached: &dyn Fn(u64),
    ) -> loci_core::Result<Option<TranscriptReport>> {
        let path = place.name.as_str();
        let (parts, collection) = (self.parts, self.collection.clone());
        let known = || parts.sources().source_file(collection.as_deref(), path);
        let (mut before, mut told, mut attempts) = (known()?, TranscriptReport::default(), 0);
        let mut rereads = transcripts.rereads;
        loop {
            let begun = before.as_ref().map_or(0, |known| known.bytes_read);
            match self.step(transcripts, place, (before, rereads), &mut told) {
                Ok(None) => return Ok(None),
                Ok(Some(file)) => {
                    rereads = false;
                    reached(file.bytes_read);
                    told.is_pending = file.is_pending;
                    // A part that is too large for the deadline is left to the background, too.
                    let is_late = |until| until <= Instant::now() || file.bytes_read == begun;
                    if !file.is_pending || transcripts.until.is_some_and(is_late) {
                        let new = told.filed.added + told.filed.forgotten;
                        told.filed.kept = file.parts.saturating_sub(new);
                        if transcripts.is_verbatim && !transcripts.is_dry {
                            transcript_backlog::name(self.parts, VERBATIM, path, file.is_pending)?;
                        }
                        return Ok(Some(told));
                    }
                    (before, attempts) = (Some(file), 0);
                }
                // Another process has read more since: go on from there.
                Err(error) if error.code == ErrorCode::Conflict && attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                    self.gone = None;
                    before = known()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads and files one part; returns the state of the file after it. `None` if it is not a
    /// transcript. With `rereads`, it is read from its beginning, even if it is unchanged.
    fn step(
        &mut self,
        transcripts: &Transcripts<'_>,
        place: &TranscriptPath,
        (before, rereads): (Option<SourceFile>, bool),
        told: &mut TranscriptReport,
    ) -> loci_core::Result<Option<SourceFile>> {
        let path = place.name.as_str();
        let unreadable =
            |error: io::Error| Error::unavailable(format!("{path} cannot be read: {error}"));
        if let Some(known) = &before {
            if !is_transcript(known) {
                return Ok(None);
            }
            if !rereads && is_unchanged(known, place).map_err(unreadable)? {
                return Ok(before);
            }
        }
        let moved = if before.is_none() {
            self.moved(&place.path)?
        } else {
            None
        };
        let known = before.as_ref().or(moved.as_ref());
        let mark = known.filter(|_| !rereads).map(mark_of);
        let is_elsewhere = self.is_elsewhere(known)?;
        let mark = mark.filter(|_| !is_elsewhere);
        let bytes = match transcripts.until {
            _ if is_elsewhere => u64::MAX,
            Some(_) => BYTES_IN_HASTE,
            None => BYTES_AT_A_TIME,
        };
        let is_new = before.is_none();
        told.is_moved |= moved.is_some();
        let mut filing = Filing::new(self, transcripts, path, (before, moved), told);
        let reading = if transcripts.until.is_some() {
            filing.read_in_haste(&place.path, mark, bytes)?
        } else {
            filing.read(&place.path, mark, bytes)?
        };
        let Some(TranscriptReading {
            mut transcript,
            is_from_start,
        }) = reading
        else {
            return Ok(None);
        };
        let was_read = is_new || mark != Some(transcript.mark);
        let stamp = place.stamp(transcript.stamp);
        transcript.stamp = settled(stamp, self.parts.engine().now());
        filing
            .finish(&transcript, is_from_start, was_read)
            .map(Some)
    }

    /// Returns true if messages of this file's chat were filed from another one. It is read from its beginning
    /// then, because only all of its messages tell which these are.
    fn is_elsewhere(&self, known: Option<&SourceFile>) -> loci_core::Result<bool> {
        let Some((file, thread)) = known.and_then(|file| Some((file, shared_thread(file)?))) else {
            return Ok(false);
        };
        let said = self.parts.sources().said_elsewhere(file, &thread)?;
        Ok(!said.is_empty())
    }

    /// Returns the state of a deleted transcript whose bytes this file has or starts with.
    fn moved(&mut self, path: &Path) -> loci_core::Result<Option<SourceFile>> {
        if self.gone.is_none() {
            let known = self
                .parts
                .sources()
                .source_files(self.collection.as_deref())?;
            let is_lost =
                |file: &SourceFile| !file.is_whole && file.bytes_read > 0 && is_gone(&file.path);
            self.gone = Some(known.into_iter().filter(is_lost).collect());
        }
        let Some(gone) = &mut self.gone else {
            return Ok(None);
        };
        let goes_on = |file: &SourceFile| {
            let format = Format::from_name(&file.format);
            format.is_some_and(|format| {
                conversation::goes_on(path, format, mark_of(file)).unwrap_or(false)
            })
        };
        Ok(gone
            .iter()
            .position(goes_on)
            .map(|place| gone.swap_remove(place)))
    }
}

/// Returns true if all of a file was read and it has not changed since.
fn is_unchanged(known: &SourceFile, place: &TranscriptPath) -> io::Result<bool> {
    Ok(!known.is_pending && place.stamp(conversation::stamp(&place.path)?) == known.stamp)
}

/// Returns the mark of what was read of a file.
fn mark_of(file: &SourceFile) -> Mark {
    Mark {
        bytes: file.bytes_read,
        hash: file.hash,
    }
}

/// A stamp that no file has.
const NEVER: FileStamp = FileStamp {
    bytes: 0,
    modified_nanoseconds: i64::MIN,
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use loci_core::{Caller, Principal, Redactions, Scope, Scopes, Space};
    use loci_engine::{Engine, RedactionScope, SearchMode};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::filing::BYTES_SAID_IN_HASTE;
    use super::*;

    fn engine() -> Engine {
        let clock = Arc::new(FixedClock::default());
        Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::new(8)),
            clock,
            SearchMode::Words,
        )
    }

    fn event(text: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}},\"sessionId\":\"s\"}}\n"
        )
    }

    fn pending(engine: &Engine) -> Vec<String> {
        let pending = engine
            .system(&super::super::caller())
            .sources()
            .pending_sources(10)
            .unwrap();
        pending.into_iter().map(|source| source.path).collect()
    }

    /// A caller waits, and its deadline passes: the rest is read in the background.
    #[test]
    fn what_is_left_is_read_on_while_it_is_there() {
        let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
        let root = folder.path().to_str().unwrap();
        let path = |name: &str| format!("{root}/{name}");
        let large = event(&"word ".repeat(BYTES_SAID_IN_HASTE / 4));
        let far = Instant::now() + std::time::Duration::from_hours(1);
        for name in ["gone", "kept", "plain", "read"] {
            fs::write(path(name), event("first") + &large + &event("last")).unwrap();
            let transcripts = Transcripts {
                wing: "global",
                root,
                is_dry: false,
                is_shared: false,
                rereads: false,
                files_again: false,
                until: Some(far),
                is_verbatim: false,
            };
            let told = file(
                &engine.system(&super::super::caller()),
                &transcripts,
                &path(name),
            )
            .unwrap()
            .unwrap();
            assert_eq!(
                (told.filed.added, told.is_pending),
                (1, true),
                "{name}: the line before"
            );
            let again = file(
                &engine.system(&super::super::caller()),
                &transcripts,
                &path(name),
            )
            .unwrap()
            .unwrap();
            assert_eq!(
                (again.filed.added, again.filed.kept, again.is_pending),
                (0, 1, true)
            );
        }
        fs::remove_file(path("gone")).unwrap();
        fs::write(path("plain"), "no transcript").unwrap();
        // The file is too large to be read, which may change.
        let turns = "User: one\nAssistant: two\n".repeat(500_000);
        fs::write(path("kept"), turns).unwrap();
        assert_eq!(read_on(&engine.system(&super::super::caller())), Ok(3));
        assert_eq!(pending(&engine), [path("kept")]);
        assert_eq!(
            read_on(&engine.system(&super::super::caller()))
                .unwrap_err()
                .code,
            ErrorCode::Unavailable
        );
        assert_eq!(pending(&engine), [path("kept")]);
        fs::write(path("kept"), event("other")).unwrap();
        assert_eq!(
            (
                read_on(&engine.system(&super::super::caller())),
                read_on(&engine.system(&super::super::caller()))
            ),
            (Ok(1), Ok(0))
        );
        let known = engine
            .system(&super::super::caller())
            .sources()
            .source_file(None, &path("read"))
            .unwrap()
            .unwrap();
        assert_eq!((known.parts, known.is_pending), (3, false));
    }

    /// A hook without time leaves the rest to a process that does not know the hook's arguments.
    #[test]
    fn what_is_left_of_a_transcript_is_as_visible_as_its_beginning() {
        let ann = Caller::new(
            Space::default(),
            Principal::new("ann", Scopes::of(&[Scope::Read])),
        );
        for (is_shared, seen) in [(true, 2), (false, 0)] {
            let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
            let path = folder
                .path()
                .join("session.jsonl")
                .to_str()
                .unwrap()
                .to_owned();
            let between = format!(
                "{{\"type\":\"progress\",\"data\":\"{}\"}}\n",
                "x".repeat(1 << 20)
            );
            fs::write(&path, event("first") + &between + &event("last")).unwrap();
            let root = folder.path().to_str().unwrap();
            let transcripts = Transcripts {
                wing: "global",
                root,
                is_dry: false,
                is_shared,
                rereads: false,
                files_again: false,
                until: Some(Instant::now()),
                is_verbatim: false,
            };
            // The entry of an earlier read does not count.
            transcript_backlog::name(
                &engine.system(&super::super::caller()),
                SHARED,
                &path,
                !is_shared,
            )
            .unwrap();
            assert!(
                file(&engine.system(&super::super::caller()), &transcripts, &path)
                    .unwrap()
                    .unwrap()
                    .is_pending
            );
            assert_eq!(read_on(&engine.system(&super::super::caller())), Ok(1));
            let drawers = |caller| {
                engine
                    .system(caller)
                    .listings()
                    .places()
                    .unwrap()
                    .iter()
                    .map(|place| place.memories)
                    .sum::<u64>()
            };
            assert_eq!(
                (drawers(&super::super::caller()), drawers(&ann)),
                (2, seen),
                "{is_shared}"
            );
        }
    }

    /// A fork starts with a copy of what was said before, under another name.
    #[test]
    fn what_two_transcripts_have_is_filed_once() {
        let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
        let root = folder.path().to_str().unwrap();
        let at = |second: u64, text: &str| {
            let time = format!("2025-03-01T08:00:{second:02}Z");
            event(text).replace("}\n", &format!(",\"timestamp\":\"{time}\"}}\n"))
        };
        let copied = at(1, "sow") + &at(2, "yes");
        let transcripts = Transcripts {
            wing: "global",
            root,
            is_dry: false,
            is_shared: false,
            until: None,
            is_verbatim: false,
            rereads: false,
            files_again: false,
        };
        for (name, text, added) in [
            ("first", copied.clone() + &at(3, "reap"), 3),
            ("fork", copied.clone() + &at(9, "yes"), 1),
            ("fork", copied.clone() + &at(9, "yes") + &at(10, "no"), 1),
            ("again", copied.clone() + &at(3, "reap"), 0),
            // Without a time, the file tells messages from others.
            ("timeless", event("sow"), 1),
            ("other", event("sow"), 1),
        ] {
            let path = format!("{root}/{name}");
            fs::write(&path, text).unwrap();
            let told = file(&engine.system(&super::super::caller()), &transcripts, &path)
                .unwrap()
                .unwrap();
            assert_eq!(told.filed.added, added, "{name}");
        }
    }

    /// The process that reads the rest redacts as the one before it did.
    #[test]
    fn what_is_left_is_read_on_with_its_secrets_if_it_was_read_so() {
        let key = ["ghp", "_", &"9aZ3".repeat(9)].concat();
        let far = Instant::now() + std::time::Duration::from_hours(1);
        for is_verbatim in [true, false] {
            let (engine, folder) = (engine(), tempfile::tempdir().unwrap());
            let engine = engine.with_redactor(
                Arc::new(loci_secrets::SecretRedactor),
                RedactionScope::Mined,
            );
            let root = folder.path().to_str().unwrap();
            let path = format!("{root}/transcript");
            let large = event(&"word ".repeat(BYTES_SAID_IN_HASTE / 4));
            let lines = event(&format!("first {key}")) + &large + &event(&format!("last {key}"));
            fs::write(&path, lines + &event("<private>between us</private>")).unwrap();
            let transcripts = Transcripts {
                wing: "global",
                root,
                is_dry: false,
                is_shared: false,
                rereads: false,
                files_again: false,
                until: Some(far),
                is_verbatim,
            };
            let told = save(&engine.system(&super::super::caller()), &transcripts, &path)
                .unwrap()
                .unwrap();
            assert_eq!(
                (told.filed.added, told.is_pending, told.redacted.total()),
                (1, true, u64::from(!is_verbatim))
            );
            assert_eq!(
                transcript_backlog::named_by(&engine.system(&super::super::caller()), VERBATIM)
                    .unwrap()
                    .len(),
                usize::from(is_verbatim)
            );
            assert_eq!(read_on(&engine.system(&super::super::caller())), Ok(1));
            assert_eq!(
                transcript_backlog::named_by(&engine.system(&super::super::caller()), VERBATIM)
                    .unwrap(),
                Vec::<String>::new()
            );
            let browse = loci_engine::Browse {
                collections: loci_core::CollectionFilter::Any,
                sections: Vec::new(),
                kinds: Vec::new(),
                tiers: vec![loci_core::Tier::LongTerm],
                order: loci_core::FilingOrder::FirstFirst,
                offset: 0,
                limit: 10,
                characters_max: None,
                ..loci_engine::Browse::default()
            };
            let memories = engine
                .system(&super::super::caller())
                .listings()
                .browse(browse)
                .unwrap()
                .memories;
            let with_key = memories
                .iter()
                .filter(|memory| memory.content.contains(&key))
                .count();
            let said = memories
                .iter()
                .filter(|memory| memory.attributes.contains_key(Redactions::ATTRIBUTE))
                .count();
            let expected = if is_verbatim { (4, 2, 0) } else { (3, 0, 2) };
            assert_eq!((memories.len(), with_key, said), expected);
        }
    }
}
