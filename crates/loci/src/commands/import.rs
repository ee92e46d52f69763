//! `loci import`: stores many memories, or restores an export.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use loci_archive::{
    HEAD_BYTES, Importer, Lines, MarkdownFiles, Part, RECORDS, Refusals, begins_archive,
    stay_forgotten,
};
use loci_core::{Caller, Delivery, Error, MemoryId, Timestamp, Visibility};
use loci_engine::{
    Effect, Engine, Import, ImportOutcome, ReconciliationReport, Remember, SearchMode,
};
use loci_mine::unpacked::{UnpackedArchive, is_zip};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::cli;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signal::before_end;
use crate::wiring::{CommandInfo, Parts, SystemClock};

/// The largest number of memories in one transaction.
const BATCH_MEMORIES: usize = 1_000;
/// The number of bytes read with which a transaction is full, too.
const BATCH_BYTES: usize = 16 << 20;

/// The largest size of a list in bytes, which is read as a whole.
const LIST_BYTES_MAX: u64 = 32 << 20;
/// The size in bytes of an id that is made of what a memory is.
const ID_BYTES: usize = 16;
/// The largest length in characters of the error for a line, which may quote it.
const PROBLEM_CHARACTERS_MAX: usize = 200;

/// A memory in the file. The other fields of a listed memory are ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    content: String,
    id: Option<String>,
    project: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    weight: Option<f64>,
    delivery: Option<String>,
    supersedes: Option<String>,
    expires_at: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    visibility: Option<String>,
    owner: Option<String>,
    #[serde(rename = "scope")]
    _scope: Option<String>,
    #[serde(rename = "ttl")]
    _ttl: Option<String>,
    #[serde(rename = "superseded_by")]
    _superseded_by: Option<String>,
    #[serde(rename = "title")]
    _title: Option<String>,
    /// The writer, if that was not the user who listed the memory.
    author: Option<String>,
    updated_by: Option<String>,
}

impl Line {
    fn import(self) -> Result<Import, Error> {
        const TYPE: &str = "fact";
        const BOOTSTRAP: &str = "bootstrap";
        let kind = self.r#type.unwrap_or_else(|| TYPE.to_owned());
        loci_engine::check::name("type", &kind)?;
        let is_bootstrap = kind == BOOTSTRAP || self.delivery.as_deref() == Some(BOOTSTRAP);
        let id = |argument: &str, id: Option<String>| {
            id.map(|id| MemoryId::parse(argument, &id)).transpose()
        };
        let visibility = self.visibility.map_or(Some(Visibility::Common), |name| {
            Visibility::from_name(&name)
        });
        let import = Import {
            id: id("id", self.id)?,
            // Without an owner the memory belongs to the caller, who did not write its text.
            updated_by: self
                .updated_by
                .or_else(|| self.author.filter(|_| self.owner.is_none())),
            owner: self.owner,
            created_at: moment("created_at", self.created_at)?,
            updated_at: moment("updated_at", self.updated_at)?,
            expires_at: moment("expires_at", self.expires_at)?,
            memory: Remember {
                collection: self.project,
                tags: self.tags,
                weight: self.weight.unwrap_or(1.0),
                delivery: if is_bootstrap {
                    Delivery::Bootstrap
                } else {
                    Delivery::OnDemand
                },
                visibility: visibility.ok_or_else(|| {
                    Error::invalid("visibility", "must be `private`, `shared` or `common`")
                })?,
                supersedes: id("supersedes", self.supersedes)?,
                ..Remember::new(self.content, kind)
            },
        };
        import.check(&Caller::local())?;
        Ok(import)
    }
}

fn moment(argument: &str, text: Option<String>) -> Result<Option<Timestamp>, Error> {
    let parsed = text.map(|text| text.parse::<jiff::Timestamp>()).transpose();
    let moment = parsed
        .map_err(|_| Error::invalid(argument, "must be a moment such as 2026-01-31T12:00:00Z"))?;
    Ok(moment.map(|moment| Timestamp::from_microseconds(moment.as_microsecond())))
}

pub fn run(settings: &Settings, arguments: &cli::Import, output: Output) -> Result<(), Failure> {
    let file = &arguments.file;
    if !is_zip(file) {
        return run_on(settings, arguments, file, output);
    }
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
    let unpacked = UnpackedArchive::new(file, |_| true)
        .map_err(|error| usage(format!("cannot be read: {error}")))?;
    let path = place_in(&unpacked).ok_or_else(|| {
        usage(
            "is a zip archive with neither a single file nor an export that `loci export --format markdown` wrote; \
             `loci palace mine --mode convos` takes the archives of ChatGPT, Claude.ai and Slack"
                .to_owned(),
        )
    })?;
    run_on(settings, arguments, &path, output)
}

/// Returns what to import out of an archive: its single file, or the folder of an export.
fn place_in(unpacked: &UnpackedArchive) -> Option<PathBuf> {
    if let [single] = unpacked.files() {
        return Some(single.path.clone());
    }
    let records = unpacked
        .files()
        .iter()
        .filter(|file| file.path.file_name() == Some(OsStr::new(RECORDS)))
        .min_by_key(|file| file.name.split('/').count())?;
    records.path.parent().map(Path::to_owned)
}

/// Imports the file or folder at `path`, which is what the user named, or was in an archive.
fn run_on(
    settings: &Settings,
    arguments: &cli::Import,
    path: &Path,
    output: Output,
) -> Result<(), Failure> {
    let file = &arguments.file;
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
    let unreadable = |error: io::Error| usage(format!("cannot be read: {error}"));
    if path.is_dir() {
        let mut entries = MarkdownFiles::open(path, Arc::new(SystemClock))
            .map_err(unreadable)?
            .map_err(usage)?;
        return bring_back(settings, arguments, output, || {
            entries.read().map_err(unreadable)
        });
    }
    let mut input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let mut head = Vec::new();
    (&mut input)
        .take(HEAD_BYTES)
        .read_until(b'\n', &mut head)
        .map_err(unreadable)?;
    let is_archive = begins_archive(&head);
    let input = Cursor::new(head).chain(input);
    if is_archive {
        let mut lines = Lines::open(input).map_err(unreadable)?.map_err(usage)?;
        return bring_back(settings, arguments, output, || {
            lines.read().map_err(unreadable)
        });
    }
    import_list(settings, arguments, input, output)
}

/// An import, in the audit log.
const IMPORT: CommandInfo = ("import", "memory:write", Effect::Write);

/// Imports a list of memories, or a memory on each line.
fn import_list(
    settings: &Settings,
    arguments: &cli::Import,
    input: impl BufRead,
    output: Output,
) -> Result<(), Failure> {
    let parts = Parts::open(settings)?;
    let (imported, refused, repairs) = parts.logged_in_all(IMPORT, |call| {
        let mut importer = LineImporter::new(call);
        importer.is_dry_run = arguments.dry_run;
        importer.again = arguments.again;
        importer.are_followed = arguments.follow;
        importer.read(&arguments.file, input)?;
        importer.store()?;
        Ok((importer.imported, importer.refused, importer.repairs))
    })?;
    let ImportOutcome {
        stored,
        present,
        forgotten,
    } = imported;
    let Refusals { count: refused } = refused;
    let rest = stay_forgotten(forgotten as u64);
    let mut value = json!({"stored": stored, "present": present, "refused": refused});
    let mut text = format!("stored {stored}, already there {present}, refused {refused}{rest}");
    if forgotten > 0 {
        value["forgotten"] = json!(forgotten);
    }
    if repairs > 0 {
        value["repaired"] = json!(repairs);
        text += &format!(", repaired {repairs}");
    }
    if arguments.dry_run {
        tell_dry_run(value, &text, output)?;
        return match refused {
            0 => Ok(()),
            _ => Err(refusal(refused, "would be stored")),
        };
    }
    show_progress(&format!("stored {stored}"), true);
    tell_unreviewed(&parts)?;
    let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
    value["pending_embeddings"] = json!(pending);
    text += &format!(", waiting for the model {pending}\n");
    output.either(&value, text)?;
    match refused {
        0 => Ok(()),
        _ => Err(refusal(refused, "is stored")),
    }
}

/// Returns the failure of an import that refused memories, with the fate of the others.
fn refusal(refused: u64, rest: &str) -> Failure {
    let message = format!("{refused} memories were refused; everything else {rest}");
    Failure::new(Exit::Failure, message)
}

/// Prints the counts of a dry run.
fn tell_dry_run(mut value: serde_json::Value, counts: &str, output: Output) -> Result<(), Failure> {
    value["dry_run"] = json!(true);
    let text = format!("nothing was stored; an import now would have: {counts}\n");
    Ok(output.either(&value, text)?)
}

/// Imports an export, entry by entry.
fn bring_back(
    settings: &Settings,
    arguments: &cli::Import,
    output: Output,
    mut next: impl FnMut() -> Result<Option<Part>, Failure>,
) -> Result<(), Failure> {
    let parts = Parts::open(settings)?;
    // Renames and deletions of notes are recorded before the records of the notes come. For notes
    // that the index does not know yet, the export counts.
    let away = if parts.vault.is_kept {
        let away = if arguments.dry_run {
            parts.system().notes().status()?.away
        } else {
            reconciled(parts.system().notes().reconcile_known()).away
        };
        away.map(|why| {
            format!(
                "{why}; no note is brought back, since it would hide them: bring the folder back or, if they are \
                 gone for good, first `loci vault reconcile --accept-missing`"
            )
        })
    } else {
        Some("has notes, and no folder of notes is named here: name one with --vault".to_owned())
    };
    let notes = parts.vault.notes();
    let (mut value, text, verdict) = parts.logged_in_all(IMPORT, |call| {
        let notice = |message: &str| status_line(OneLine(message));
        let mut bringing = Importer::new(call, &notes, away, !arguments.no_wait, &notice);
        if arguments.dry_run {
            bringing = bringing.dry();
        }
        bringing = bringing.again(arguments.again).followed(arguments.follow);
        while let Some(part) = next()? {
            let before = bringing.stored();
            bringing.take(part)?;
            if bringing.stored() > before && !arguments.dry_run {
                show_progress(&format!("stored {}", bringing.stored()), false);
            }
        }
        bringing.store()?;
        if !arguments.dry_run {
            show_progress(&format!("stored {}", bringing.stored()), true);
        }
        Ok((bringing.value(), bringing.text(), bringing.verdict()))
    })?;
    let verdict = verdict.map_err(|message| Failure::new(Exit::Failure, message));
    if arguments.dry_run {
        tell_dry_run(value, &text, output)?;
        return verdict;
    }
    // Finds the other changes in the folder, as every reconciliation does.
    if parts.vault.is_kept {
        reconciled(parts.system().notes().reconcile());
    }
    tell_unreviewed(&parts)?;
    let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
    value["pending_embeddings"] = json!(pending);
    output.either(
        &value,
        format_args!("{text}, waiting for the model {pending}\n"),
    )?;
    verdict
}

/// Tells the user how many memories came in files and wait.
fn tell_unreviewed(parts: &Parts) -> Result<(), Failure> {
    let waiting = parts.system().context().unreviewed()?.len();
    if waiting > 0 {
        status_line(format_args!(
            "note: {waiting} memories that came in files and would give agents orders wait until you accept them: list \
             them by `loci trust --waiting`, or open Review on the page"
        ));
    }
    Ok(())
}

/// Returns the outcome of a reconciliation; prints an error and returns an empty one if it failed.
fn reconciled(outcome: Result<ReconciliationReport, Error>) -> ReconciliationReport {
    outcome.unwrap_or_else(|error| {
        status_line(format_args!("note: the notes may be out of date: {error}"));
        ReconciliationReport::default()
    })
}

/// Embeds the texts that wait for the model, if `waits`; returns the number that wait after that.
///
/// # Errors
/// If the store cannot be read.
pub fn embed_pending(parts: &Parts, settings: &Settings, waits: bool) -> Result<u64, Failure> {
    let pending = parts.engine.models().pending_embeddings()?;
    if pending > 0 && waits && settings.search != SearchMode::Words {
        // Other processes need not wait until a lease of this one expires.
        let engine = Arc::clone(&parts.engine);
        before_end(move || {
            engine.background().hand_back();
            status_line(
                "\ninterrupted: everything is stored and found by its words; whichever `loci serve`, `loci mcp` or import \
                 runs next has the model read the rest",
            );
        });
        embed(&parts.engine, pending);
    }
    Ok(parts.engine.models().pending_embeddings()?)
}

/// The memories that are read and not stored yet.
#[derive(Default)]
struct Batch {
    imports: Vec<Import>,
    /// The position of each in the file: `line 3`, or `element 3` of a list.
    places: Vec<String>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, place: String, bytes: usize, import: Import) {
        self.bytes += bytes;
        self.imports.push(import);
        self.places.push(place);
    }

    fn is_full(&self) -> bool {
        self.imports.len() >= BATCH_MEMORIES || self.bytes >= BATCH_BYTES
    }
}

struct LineImporter<'a> {
    parts: &'a loci_engine::Parts<'a>,
    waiting: Batch,
    imported: ImportOutcome,
    refused: Refusals,
    /// The places in lines that were no valid JSON, and were repaired.
    repairs: u64,
    /// True if it stores nothing, and only counts.
    is_dry_run: bool,
    /// True if it stores what was forgotten, too.
    again: bool,
    are_followed: bool,
    /// The number of memories without an id so far, by the hash of what they are.
    unnamed: HashMap<[u8; ID_BYTES], u64>,
}

impl<'a> LineImporter<'a> {
    fn new(parts: &'a loci_engine::Parts<'a>) -> Self {
        LineImporter {
            parts,
            waiting: Batch::default(),
            imported: ImportOutcome::default(),
            refused: Refusals::default(),
            repairs: 0,
            is_dry_run: false,
            again: false,
            are_followed: false,
            unnamed: HashMap::new(),
        }
    }

    /// Returns the id of a memory that has none in its file: a hash of what it is, and of how many
    /// like it came before, so that an import can be repeated, e.g. after it broke off. Its secrets
    /// are no part of the hash, which would give away a short one.
    fn id_of(&mut self, import: &Import) -> MemoryId {
        let Remember {
            content,
            collection,
            kind,
            ..
        } = &import.memory;
        let subject = self.parts.caller().principal.subject.as_ref();
        let created_at = import
            .created_at
            .map(|time| time.microseconds().to_string());
        let content = self.parts.engine().redaction().redact(content).text;
        let parts = [
            import.owner.as_ref().or(subject).map(String::as_str),
            import.updated_by.as_deref(),
            collection.as_deref(),
            Some(kind),
            created_at.as_deref(),
            Some(&*content),
        ];
        let hash_of = |parts: &[Option<&str>]| {
            let mut hash = Sha256::new();
            for part in parts {
                let length = part.map_or(u64::MAX, |part| part.len() as u64);
                hash.update(length.to_be_bytes());
                hash.update(part.unwrap_or_default());
            }
            let mut bytes = [0; ID_BYTES];
            bytes.copy_from_slice(&hash.finalize()[..ID_BYTES]);
            bytes
        };
        let before = self.unnamed.entry(hash_of(&parts)).or_default();
        let number = before.to_string();
        *before += 1;
        let hash = hash_of(&[&parts[..], &[Some(number.as_str())]].concat());
        MemoryId::new(HEXLOWER.encode(&hash))
    }

    fn read(&mut self, file: &Path, mut input: impl BufRead) -> Result<(), Failure> {
        let usage =
            |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
        let unreadable = |error: io::Error| usage(format!("cannot be read: {error}"));
        let (first, lines_before) = first_character(&mut input).map_err(unreadable)?;
        if first == Some(b'[') {
            let mut input = input.take(LIST_BYTES_MAX + 1);
            let mut text = Vec::new();
            input.read_to_end(&mut text).map_err(unreadable)?;
            let lines = loci_json::from_slice::<Vec<serde_json::Value>>(&text);
            if input.limit() == 0 {
                let problem = format!(
                    "is a list of more than {LIST_BYTES_MAX} bytes; nothing is stored: write each memory on a line of its own, without a list"
                );
                return Err(usage(problem));
            }
            let (lines, repairs) = lines.map_err(|error| {
                usage(format!("is no list in JSON: {error}; nothing is stored"))
            })?;
            self.repairs += repairs;
            for (number, line) in (1..).zip(lines) {
                let bytes = line.to_string().len();
                self.add(
                    format!("element {number}"),
                    bytes,
                    serde_json::from_value(line).map_err(no_memory),
                )?;
            }
            return Ok(());
        }
        let mut lines = Lines::after(input, lines_before as u64);
        loop {
            let line = match lines.line() {
                Ok(None) => return Ok(()),
                Ok(Some(Ok(line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some(line)) => line,
                Err(error) => {
                    self.store()?;
                    let (number, done) = (lines.number(), self.done());
                    let message = format!("cannot be read at line {number}: {error}; {done}");
                    return Err(usage(message));
                }
            };
            let bytes = line.as_ref().map_or(0, Vec::len);
            let memory = line
                .map_err(|problem| problem.to_string())
                .and_then(|line| {
                    let (memory, repairs) = loci_json::from_slice(&line).map_err(no_memory)?;
                    self.repairs += repairs;
                    Ok(memory)
                });
            self.add(format!("line {}", lines.number()), bytes, memory)?;
        }
    }

    fn add(
        &mut self,
        place: String,
        bytes: usize,
        line: Result<Line, String>,
    ) -> Result<(), Failure> {
        match line.and_then(|line| line.import().map_err(|error| error.message)) {
            Ok(mut import) => {
                if import.id.is_none() {
                    import.id = Some(self.id_of(&import));
                }
                self.waiting.push(place, bytes, import);
            }
            Err(problem) => self
                .refused
                .add(&format!("{place}:"), &problem, &|message| {
                    status_line(OneLine(message));
                }),
        }
        if self.waiting.is_full() {
            self.store()
        } else {
            Ok(())
        }
    }

    /// Stores the waiting memories.
    fn store(&mut self) -> Result<(), Failure> {
        let Batch {
            imports, places, ..
        } = std::mem::take(&mut self.waiting);
        if imports.is_empty() {
            return Ok(());
        }
        let before = self.imported;
        let imports_part = self
            .parts
            .imports()
            .again(self.again)
            .followed(self.are_followed);
        if self.is_dry_run {
            imports_part.count_import(&imports, &mut self.imported)?;
            return Ok(());
        }
        let outcome = imports_part.import(&imports, &mut self.imported);
        show_progress(&format!("stored {}", self.imported.stored), false);
        outcome.map_err(|error| {
            let come =
                (self.imported.stored + self.imported.present) - (before.stored + before.present);
            let place = places.get(come).map_or("the end", String::as_str);
            let message = format!("from {place} on: {}; {}", error.message, self.done());
            Failure {
                message,
                ..Failure::from(error)
            }
        })
    }

    /// Describes the memories before one that failed.
    fn done(&self) -> String {
        let ImportOutcome {
            stored, present, ..
        } = self.imported;
        format!("of those before it, {stored} are stored now and {present} were there already")
    }
}

fn no_memory(error: serde_json::Error) -> String {
    format!("is no memory: {error}")
        .chars()
        .take(PROBLEM_CHARACTERS_MAX)
        .collect()
}

/// Returns the first byte that is not white space, which stays unread, and the number of lines
/// before it.
fn first_character(input: &mut impl BufRead) -> io::Result<(Option<u8>, usize)> {
    let mut lines = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok((None, lines));
        }
        if let Some(first) = buffer.iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Ok((Some(*first), lines));
        }
        let blank = buffer.len();
        lines += buffer.split(|byte| *byte == b'\n').count() - 1;
        input.consume(blank);
    }
}

/// Embeds the texts that wait, with the rest of earlier imports. A model that does not answer is
/// not a failure: the memories are stored.
fn embed(engine: &Engine, pending: u64) {
    let progress = Progress::new("embedded");
    progress.begin(pending);
    loop {
        match engine.background().embed_pending() {
            // Nothing is left, or another process does it.
            Ok(0) => return,
            Ok(embedded) => progress.advance(embedded as u64),
            Err(error) => {
                drop(progress);
                return status_line(format_args!(
                    "{}; whichever process serves next tries again",
                    error.message
                ));
            }
        }
    }
}

/// Prints the progress: on a terminal, in one line that is overwritten; else, only the last state.
fn show_progress(words: &str, is_last: bool) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r{words}{}", if is_last { "\n" } else { "" });
    } else if is_last {
        drop(stderr);
        status_line(words);
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Clock, Filter, Store};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    fn line(value: serde_json::Value) -> Line {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_batch_is_bounded_by_number_and_by_size() {
        for (bytes, expected) in [(1, BATCH_MEMORIES), (1 << 20, 16), (1 << 19, 32)] {
            let mut batch = Batch::default();
            while !batch.is_full() {
                batch.push(
                    String::new(),
                    bytes,
                    line(json!({"content": "x"})).import().unwrap(),
                );
            }
            assert_eq!(batch.imports.len(), expected, "{bytes}");
        }
    }

    #[test]
    fn what_the_store_refuses_is_no_wrong_use_and_what_is_stored_is_told() {
        let (store, clock) = (Arc::new(NaiveStore::new()), Arc::new(FixedClock::default()));
        let embedder = Arc::new(HashingEmbedder::default());
        let engine = Engine::new(store.clone(), embedder, clock.clone(), SearchMode::Words);
        let local = Caller::local();
        let system = engine.system(&local);
        let add = |ids: &[&str]| {
            let mut importer = LineImporter::new(&system);
            for (number, id) in (1..).zip(ids) {
                importer
                    .add(
                        format!("line {number}"),
                        1,
                        Ok(line(json!({"content": "x", "id": id}))),
                    )
                    .unwrap();
            }
            importer.store()
        };
        add(&["there", "deleted"]).unwrap();
        let everything = Filter::of(local.space.clone(), local.reader(), clock.now());
        assert_eq!(
            store.soft_delete(&everything, Some(&MemoryId::new("deleted")), clock.now(), 1),
            Ok(1)
        );
        let failure = add(&["there", "new", "deleted", "later"]).unwrap_err();
        assert_eq!(failure.exit, Exit::Failure);
        assert!(
            failure.message.starts_with("from line 3 on: "),
            "{failure:?}"
        );
        assert!(
            failure
                .message
                .ends_with("1 are stored now and 1 were there already"),
            "{failure:?}"
        );
        assert_eq!(engine.size().unwrap().memories, 3);
    }
}
