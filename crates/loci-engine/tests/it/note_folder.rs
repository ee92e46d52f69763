//! A folder of notes in memory, in which a test acts as the user.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use loci_core::{
    Clock, ContentHash, CreateOutcome, Error, ErrorCode, FileProblem, FileProblemKind,
    FileSnapshot, FileStamp, FolderScan, MemoryId, Note, NoteContent, NoteFile, NoteFolder,
    NoteLock, Result, Timestamp,
};
use loci_testkit::FixedClock;

/// The texts of files with their times, by path.
pub type Texts = BTreeMap<String, (String, i64)>;

type Hook = Box<dyn FnOnce(&MemoryFolder) + Send>;

/// Frontmatter is lines of `key: value`, times are microseconds, tags are separated by commas. A
/// line without a colon makes it invalid, except for the line that forgets the note.
pub struct MemoryFolder {
    clock: Arc<FixedClock>,
    files: Mutex<Files>,
    locked: Arc<(Mutex<bool>, Condvar)>,
    pub reads: AtomicUsize,
    /// The user's action just before the next rewrite.
    meanwhile: Mutex<Option<Hook>>,
}

#[derive(Default)]
struct Files {
    identity: Option<String>,
    texts: Texts,
    /// Paths that cannot be read.
    hidden: BTreeSet<String>,
    last_time: i64,
}

struct Lock(Arc<(Mutex<bool>, Condvar)>);

impl NoteLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_one();
    }
}

impl MemoryFolder {
    pub fn new(clock: Arc<FixedClock>) -> Arc<Self> {
        Arc::new(MemoryFolder {
            clock,
            files: Mutex::new(Files {
                identity: Some("folder".to_owned()),
                ..Files::default()
            }),
            locked: Arc::default(),
            reads: AtomicUsize::new(0),
            meanwhile: Mutex::default(),
        })
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap()
    }

    /// Writes a file unchanged, with a new time.
    pub fn write(&self, path: &str, text: &str) {
        let mut files = self.files();
        files.last_time = (files.last_time + 1).max(self.clock.now().microseconds() * 1_000);
        let time = files.last_time;
        files.texts.insert(path.to_owned(), (text.to_owned(), time));
    }

    pub fn text(&self, path: &str) -> String {
        self.files().texts[path].0.clone()
    }

    pub fn paths(&self) -> Vec<String> {
        self.files().texts.keys().cloned().collect()
    }

    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{text}");
        self.write(path, &text.replace(old, new));
    }

    pub fn rename(&self, from: &str, to: &str) {
        let mut files = self.files();
        let file = files.texts.remove(from).unwrap();
        files.texts.insert(to.to_owned(), file);
    }

    pub fn copy(&self, from: &str, to: &str) {
        self.write(to, &self.text(from));
    }

    pub fn remove(&self, path: &str) {
        self.files().texts.remove(path).unwrap();
    }

    /// Makes a file or a folder unreadable, or readable again.
    pub fn hide(&self, path: &str, is_hidden: bool) {
        let mut files = self.files();
        if is_hidden {
            files.hidden.insert(path.to_owned())
        } else {
            files.hidden.remove(path)
        };
    }

    /// Replaces the folder by another one, or by none. Returns the former files.
    pub fn mount(&self, identity: Option<&str>, texts: Texts) -> Texts {
        let mut inner = self.files();
        inner.identity = identity.map(str::to_owned);
        std::mem::replace(&mut inner.texts, texts)
    }

    pub fn meanwhile(&self, hook: impl FnOnce(&MemoryFolder) + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(hook));
    }

    fn read_now(&self, path: &str) -> Option<FileSnapshot> {
        let files = self.files();
        let (text, time) = files.texts.get(path)?.clone();
        let stamp = FileStamp {
            bytes: text.len() as u64,
            modified_nanoseconds: time,
        };
        let now = self.clock.now().microseconds() * 1_000;
        let problem = |kind, message: &str| {
            Some(FileProblem {
                kind,
                message: message.to_owned(),
            })
        };
        let mut read = FileSnapshot {
            stamp,
            is_settled: now - time >= 2_000_000_000,
            hash: hash(&text),
            content: None,
            problem: None,
        };
        if files.hidden.contains(path) {
            let problem = problem(FileProblemKind::Unreadable, "it cannot be read");
            let stamp = FileStamp {
                bytes: 0,
                modified_nanoseconds: 0,
            };
            return Some(FileSnapshot {
                stamp,
                is_settled: false,
                hash: ContentHash([0; 32]),
                problem,
                ..read
            });
        }
        if text.contains('\0') {
            read.problem = problem(FileProblemKind::NotText, "it is no text");
        } else if let Some((base, _)) = path.split_once(" (conflicted copy)")
            && files.texts.contains_key(&format!("{base}.md"))
        {
            read.problem = problem(FileProblemKind::ConflictCopy, "a sync client made it");
        } else {
            let note = parse(&text);
            if note.is_none() {
                read.problem = problem(FileProblemKind::BrokenFrontmatter, "line 2 is no YAML");
            }
            let note = note.unwrap_or_else(|| Note {
                body: text.trim_end_matches('\n').to_owned(),
                is_deleted: text.lines().any(|line| line == "status: deleted"),
                ..Note::default()
            });
            let words = note.body.split_whitespace();
            let text_tags = words
                .clone()
                .filter_map(|word| word.trim_end_matches('.').strip_prefix('#'))
                .map(str::to_owned)
                .collect();
            let links = note
                .body
                .split("[[")
                .skip(1)
                .filter_map(|rest| Some(rest.split_once("]]")?.0.to_owned()));
            let aliases = text.lines().filter_map(|line| line.strip_prefix("alias: "));
            let aliases = aliases.map(|alias| format!("{}{alias}", NoteFile::ALIAS));
            let links = links.chain(aliases).collect();
            read.content = Some(NoteContent {
                note,
                text_tags,
                links,
                values: Vec::new(),
            });
        }
        Some(read)
    }
}

fn hash(text: &str) -> ContentHash {
    let mut bytes = [0; 32];
    for (number, part) in bytes.chunks_exact_mut(8).enumerate() {
        let mut hasher = DefaultHasher::new();
        (number, text).hash(&mut hasher);
        part.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    ContentHash(bytes)
}

/// Returns the frontmatter, if there is any, and the body.
fn parts(text: &str) -> (Option<&str>, &str) {
    match text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("---\n"))
    {
        Some((front, body)) => (Some(front), body),
        None => (None, text),
    }
}

fn parse(text: &str) -> Option<Note> {
    let (front, body) = parts(text);
    let mut note = Note {
        body: body.trim_end_matches('\n').to_owned(),
        ..Note::default()
    };
    for line in front.unwrap_or_default().lines() {
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        let (text, moment) = (
            Some(value.to_owned()),
            value.parse().ok().map(Timestamp::from_microseconds),
        );
        match key {
            "uid" => note.id = Some(MemoryId::new(value)),
            "title" => note.title = text,
            "status" => note.is_deleted = value == "deleted",
            "deleted_at" => note.deleted_at = moment,
            "created_at" => note.created_at = moment,
            "updated_at" => note.updated_at = moment,
            "tags" => note.tags = value.split(',').map(|tag| tag.trim().to_owned()).collect(),
            "always_load" => note.always_load = value == "true",
            "wing" => note.collection = text,
            "room" => note.section = text,
            _ => {}
        }
    }
    Some(note)
}

/// Returns the lines of the frontmatter of a note.
fn lines(note: &Note) -> Vec<(&'static str, String)> {
    let moment = |moment: Option<Timestamp>| moment.map(|moment| moment.microseconds().to_string());
    let lines = [
        ("uid", note.id.as_ref().map(MemoryId::to_string)),
        ("title", note.title.clone()),
        ("status", note.is_deleted.then(|| "deleted".to_owned())),
        ("created_at", moment(note.created_at)),
        ("updated_at", moment(note.updated_at)),
        (
            "tags",
            Some(note.tags.join(", ")).filter(|tags| !tags.is_empty()),
        ),
        ("always_load", note.always_load.then(|| "true".to_owned())),
        ("deleted_at", moment(note.deleted_at)),
        ("wing", note.collection.clone()),
        ("room", note.section.clone()),
    ];
    lines
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

fn render(before: &str, note: &Note) -> String {
    const OURS: [&str; 10] = [
        "uid",
        "title",
        "status",
        "created_at",
        "updated_at",
        "tags",
        "always_load",
        "deleted_at",
        "wing",
        "room",
    ];
    let unknown = parts(before).0.unwrap_or_default().lines();
    let unknown =
        unknown.filter(|line| !OURS.contains(&line.split(':').next().unwrap_or_default()));
    let ours = lines(note)
        .into_iter()
        .map(|(key, value)| format!("{key}: {value}"));
    let front: Vec<String> = unknown.map(str::to_owned).chain(ours).collect();
    format!("---\n{}\n---\n{}\n", front.join("\n"), note.body)
}

impl NoteFolder for MemoryFolder {
    fn lock(&self) -> Result<Box<dyn NoteLock>> {
        let (is_locked, released) = &*self.locked;
        let mut is_locked = released
            .wait_while(is_locked.lock().unwrap(), |is_locked| *is_locked)
            .unwrap();
        *is_locked = true;
        Ok(Box::new(Lock(self.locked.clone())))
    }

    fn location(&self) -> String {
        "/vault".to_owned()
    }

    fn scan(&self) -> Result<FolderScan> {
        let files = self.files();
        let is_hidden = |path: &str| {
            files
                .hidden
                .iter()
                .any(|hidden| path.starts_with(&format!("{hidden}/")))
        };
        let file = |(path, (text, time)): (&String, &(String, i64))| {
            (
                path.clone(),
                FileStamp {
                    bytes: text.len() as u64,
                    modified_nanoseconds: *time,
                },
            )
        };
        Ok(FolderScan {
            identity: files.identity.clone(),
            files: files
                .texts
                .iter()
                .map(file)
                .filter(|(path, _)| !is_hidden(path))
                .collect(),
            skipped: Vec::new(),
            unreadable_folders: files
                .hidden
                .iter()
                .filter(|path| !path.contains('.'))
                .cloned()
                .collect(),
        })
    }

    fn read(&self, path: &str) -> Result<Option<FileSnapshot>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.read_now(path))
    }

    fn create(&self, note: &Note, may_be_there: bool) -> Result<CreateOutcome> {
        let name = note
            .title
            .as_deref()
            .unwrap()
            .replace(' ', "-")
            .to_lowercase();
        let bits = |id: &Option<MemoryId>| {
            id.as_ref()
                .map(|id| id.as_str().get(14..).unwrap_or_default().to_owned())
        };
        for number in 1.. {
            let path = if number == 1 {
                format!("{name}.md")
            } else {
                format!("{name}-{number}.md")
            };
            let Some(there) = self.read_now(&path) else {
                self.files()
                    .identity
                    .get_or_insert_with(|| "made".to_owned());
                self.write(&path, &render("", note));
                let read = self.read_now(&path).unwrap();
                return Ok(CreateOutcome::New(path, read));
            };
            if may_be_there
                && there
                    .content
                    .as_ref()
                    .is_some_and(|there| bits(&there.note.id) == bits(&note.id))
            {
                return Ok(CreateOutcome::Existing(path, there));
            }
        }
        unreachable!()
    }

    fn rewrite(&self, path: &str, expected: &ContentHash, note: &Note) -> Result<FileSnapshot> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile(self);
        }
        let read = self
            .read_now(path)
            .ok_or_else(|| Error::not_found("the file is gone"))?;
        if read.hash != *expected || read.problem.is_some() {
            return Err(Error::new(ErrorCode::Conflict, "the file changed"));
        }
        self.write(path, &render(&self.text(path), note));
        Ok(self.read_now(path).unwrap())
    }
}
