//! Lists of memories, or a memory on each line, in a file.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use loci_archive::{Lines, Refusals};
use loci_core::limits::IMPORT_BATCH_BYTES;
use loci_core::{Caller, Delivery, Error, MemoryId, Timestamp, Visibility};
use loci_engine::{Import, ImportBatch, ImportOutcome, PINNED, Remember};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::samples::Samples;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::status_line;
use crate::progress::Progress;

/// The largest number of memories in one transaction.
const BATCH_MEMORIES: usize = 1_000;
/// The largest size of a list in bytes, which is read as a whole.
const LIST_BYTES_MAX: u64 = 32 << 20;
/// The size in bytes of an id that is made of what a memory is.
const ID_BYTES: usize = 16;
/// The lines at the start of a file after which it is no file of JSON lines, unless one was an
/// object.
const STRANGE_LINES_MAX: usize = 20;
/// The largest length in characters of the error for a line, which may quote it.
const PROBLEM_CHARACTERS_MAX: usize = 200;

/// The output of `loci list --json`.
#[derive(Deserialize)]
struct MemoryListing {
    memories: Vec<serde_json::Value>,
}

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
    #[serde(rename = "said_by")]
    _said_by: Option<String>,
    #[serde(rename = "program")]
    _program: Option<String>,
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
        let delivery = self.delivery.as_deref();
        let is_pinned = delivery == Some(PINNED);
        let is_bootstrap = kind == BOOTSTRAP || delivery == Some(BOOTSTRAP) || is_pinned;
        let pinned = is_pinned.then(|| (PINNED.to_owned(), "true".to_owned()));
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
                attributes: pinned.into_iter().collect(),
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
    let moment = parsed.map_err(|error| {
        let problem = format!("must be a moment such as 2026-01-31T12:00:00Z: {error}");
        Error::invalid(argument, problem)
    })?;
    Ok(moment.map(|moment| Timestamp::from_microseconds(moment.as_microsecond())))
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
        self.imports.len() >= BATCH_MEMORIES || self.bytes >= IMPORT_BATCH_BYTES
    }
}

pub(super) struct LineImporter<'a> {
    parts: &'a loci_engine::Parts<'a>,
    waiting: Batch,
    pub(super) imported: ImportOutcome,
    pub(super) refused: Refusals,
    /// The places in lines that were no valid JSON, and were repaired.
    pub(super) repairs: u64,
    /// True if it stores nothing, and only counts.
    pub(super) is_dry_run: bool,
    /// True if it stores what was forgotten, too.
    pub(super) again: bool,
    pub(super) are_followed: bool,
    /// Where it notes what it brings.
    pub(super) batch: Option<&'a ImportBatch>,
    /// The bar of the memories that are stored, if there is one.
    pub(super) progress: Option<Progress>,
    /// The first memories, if it stores nothing.
    pub(super) samples: Samples,
    /// The number of memories without an id so far, by the hash of what they are.
    unnamed: HashMap<[u8; ID_BYTES], u64>,
}

/// The problem of a file that has other lines.
const NO_JSON_LINES: &str = "is no file of JSON lines, in which each line is an object such as {\"content\": \"a text\"}; \
                             nothing is stored: `loci palace mine FOLDER` files texts, `loci add -` stores one";

/// The lines at the start of a file that are no objects. After a line that was cut off, objects may
/// follow.
struct StrangeLines {
    /// The place of each, and its problem.
    refused: Vec<(String, String)>,
    /// True while no line was an object.
    are_all: bool,
}

impl Default for StrangeLines {
    fn default() -> Self {
        StrangeLines {
            refused: Vec::new(),
            are_all: true,
        }
    }
}

impl StrangeLines {
    fn are_many(&self) -> bool {
        self.are_all && self.refused.len() >= STRANGE_LINES_MAX
    }
}

impl<'a> LineImporter<'a> {
    pub(super) fn new(parts: &'a loci_engine::Parts<'a>) -> Self {
        LineImporter {
            parts,
            waiting: Batch::default(),
            imported: ImportOutcome::default(),
            refused: Refusals::default(),
            repairs: 0,
            is_dry_run: false,
            again: false,
            are_followed: false,
            batch: None,
            progress: None,
            samples: Samples::default(),
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

    pub(super) fn read(&mut self, file: &Path, mut input: impl BufRead) -> Result<(), Failure> {
        let usage =
            |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
        let unreadable = |error: io::Error| usage(format!("cannot be read: {error}"));
        let (first, lines_before) = first_character(&mut input).map_err(unreadable)?;
        if first == Some(b'[') {
            return self.read_list(file, input, loci_json::from_slice);
        }
        if begins_listing(input.fill_buf().map_err(unreadable)?) {
            return self.read_list(file, input, |text| {
                let (listing, repairs) = loci_json::from_slice::<MemoryListing>(text)?;
                Ok((listing.memories, repairs))
            });
        }
        let mut lines = Lines::after(input, lines_before as u64);
        let mut strange = StrangeLines::default();
        loop {
            if strange.are_many() {
                return Err(usage(NO_JSON_LINES.to_owned()));
            }
            let line = match lines.line() {
                Ok(None) if strange.refused.is_empty() => return Ok(()),
                Ok(None) => return Err(usage(NO_JSON_LINES.to_owned())),
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
            let is_object = line
                .as_ref()
                .is_ok_and(|line| line.trim_ascii_start().first() == Some(&b'{'));
            let memory = line
                .map_err(|problem| problem.to_string())
                .and_then(|line| {
                    let (memory, repairs) = loci_json::from_slice(&line).map_err(no_memory)?;
                    self.repairs += repairs;
                    Ok(memory)
                });
            let place = format!("line {}", lines.number());
            match memory {
                Err(problem) if !is_object && strange.are_all => {
                    strange.refused.push((place, problem));
                }
                memory => {
                    strange.are_all = false;
                    for (place, problem) in strange.refused.drain(..) {
                        self.add(place, 0, Err(problem))?;
                    }
                    self.add(place, bytes, memory)?;
                }
            }
        }
    }

    /// Reads a list of memories, which is read as a whole.
    fn read_list(
        &mut self,
        file: &Path,
        input: impl BufRead,
        parse: impl Fn(&[u8]) -> Result<(Vec<serde_json::Value>, u64), serde_json::Error>,
    ) -> Result<(), Failure> {
        let usage =
            |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
        let unreadable = |error: io::Error| usage(format!("cannot be read: {error}"));
        let mut input = input.take(LIST_BYTES_MAX + 1);
        let mut text = Vec::new();
        input.read_to_end(&mut text).map_err(unreadable)?;
        let lines = parse(&text);
        if input.limit() == 0 {
            let problem = format!(
                "is a list of more than {LIST_BYTES_MAX} bytes; nothing is stored: write each memory on a line of its own, without a list"
            );
            return Err(usage(problem));
        }
        let (lines, repairs) = lines
            .map_err(|error| usage(format!("is no list in JSON: {error}; nothing is stored")))?;
        self.repairs += repairs;
        for (number, line) in (1..).zip(lines) {
            let bytes = line.to_string().len();
            self.add(
                format!("element {number}"),
                bytes,
                serde_json::from_value(line).map_err(no_memory),
            )?;
        }
        Ok(())
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
                if self.is_dry_run {
                    let Remember {
                        content,
                        collection,
                        kind,
                        ..
                    } = &import.memory;
                    let place = (collection.as_deref(), &**kind);
                    self.samples
                        .take(self.parts, content, place, import.created_at);
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
    pub(super) fn store(&mut self) -> Result<(), Failure> {
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
            .followed(self.are_followed)
            .in_batch(self.batch);
        if self.is_dry_run {
            imports_part.count_import(&imports, &mut self.imported)?;
            return Ok(());
        }
        let outcome = imports_part.import(&imports, &mut self.imported);
        if let Some(progress) = &self.progress {
            progress.reach(self.imported.stored as u64);
        }
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

/// Returns true if this is the beginning of what `loci list --json` prints: an object with a list of
/// memories, on one line or several. No memory on a line of its own begins so.
fn begins_listing(text: &[u8]) -> bool {
    let Some(rest) = text.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    let rest = rest.trim_ascii_start();
    rest.is_empty() || rest.starts_with(b"\"memories\"")
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{Clock, Filter, Store};
    use loci_engine::{Engine, SearchMode};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
    use serde_json::json;

    use super::*;

    fn line(value: serde_json::Value) -> Line {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_batch_is_bounded_by_number_and_by_size() {
        for (bytes, expected) in [
            (1, BATCH_MEMORIES),
            (1 << 20, IMPORT_BATCH_BYTES >> 20),
            (1 << 19, IMPORT_BATCH_BYTES >> 19),
        ] {
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
