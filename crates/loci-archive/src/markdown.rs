//! Exports as folders: each memory in a Markdown file, each file of notes as it is, and the other
//! records in JSON lines.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::{Archived, Clock, Memory, Record};
use loci_vault::{RestoredFile, VaultFolder, slug};
use serde_json::{Map, Value};

use super::entry_problem::EntryProblem;
use super::lines::{JsonLines, LINE_BYTES_MAX, Lines, json};
use super::shapes::ExportMemory;
use super::{Entry, NOTE_FILE_BYTES_MAX, Note, NoteBytes, Part};
use crate::files::create_private_folder;

/// The folder of the files of notes.
const NOTES: &str = "notes";
/// The file of all records that are not memories; its last line shows that the folder is complete.
pub const RECORDS: &str = "records.jsonl";
/// The folder of memories without a collection.
pub(super) const GLOBAL: &str = "global";
/// The line before and after frontmatter.
const FENCE: &str = "---\n";
/// The first key of frontmatter, with the number of the memory in the order of filing.
const FILED: &str = "filed: ";
/// The key of the text, which follows the frontmatter.
const CONTENT: &str = "content";
/// The number of characters of an id in a file name.
const SHORT_ID: usize = 8;
/// The largest size of a memory's file in bytes: more than the largest memory needs.
const FILE_BYTES_MAX: u64 = LINE_BYTES_MAX;
/// The bytes at the start of a file that contain the number of its memory.
const HEAD_BYTES: u64 = 64;
/// The depth of folders: spaces, collections and sections.
const DEPTH_MAX: usize = 3;

/// Writes an export into a folder.
pub struct MarkdownFolder {
    root: PathBuf,
    notes: VaultFolder,
    records: JsonLines<BufWriter<File>>,
    filed: u64,
}

impl MarkdownFolder {
    /// Starts an export as of now by that clock, in a new or empty folder.
    ///
    /// # Errors
    /// If the folder cannot be made, or is not empty.
    pub fn create(root: &Path, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let moment = clock.now();
        create_private_folder(root)?;
        if fs::read_dir(root)?.next().is_some() {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "there is something in it; choose an empty folder",
            ));
        }
        make_private(root, 0o700)?;
        let records = create_new(&root.join(RECORDS))?;
        Ok(MarkdownFolder {
            root: root.to_owned(),
            notes: notes_of(root, clock),
            records: JsonLines::as_of(BufWriter::new(records), moment),
            filed: 0,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, archived: &Archived) -> io::Result<()> {
        let Record::Memory(memory) = &archived.record else {
            return self.records.write(archived);
        };
        self.filed += 1;
        let place = &memory.location;
        let collection = place.collection.as_deref().map_or(GLOBAL.to_owned(), slug);
        let folder = self
            .root
            .join(folder_of_space(memory.space.as_str()))
            .join(collection)
            .join(slug(&place.section));
        create_private_folder(&folder)?;
        let text = text(memory, self.filed)?;
        let mut file = create_free(&folder, &name(memory))?;
        file.write_all(text.as_bytes())?;
        self.records.count("memory");
        durable_alone(&file)
    }

    /// Adds a file of notes, with its bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_note(&mut self, mut note: Note) -> io::Result<()> {
        if let Some(NoteBytes::Inline(copy)) = note.file.replace(NoteBytes::Beside) {
            let placed = self
                .notes
                .put_copy(&note.path, &copy)
                .map_err(io::Error::other)?;
            if placed == RestoredFile::Other {
                let problem = "two notes have names that are one to this file system; choose another place or format";
                return Err(io::Error::new(ErrorKind::AlreadyExists, problem));
            }
            // Otherwise it would have the permissions of a folder of notes.
            let file = self.root.join(NOTES).join(&note.path);
            make_private(&file, 0o600)?;
            let folders = file
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != self.root);
            folders
                .into_iter()
                .try_for_each(|folder| make_private(folder, 0o700))?;
        } else {
            note.file = None;
        }
        self.records.write_note(note)
    }

    /// Returns the number of records of each kind so far.
    pub fn counts(&self) -> &super::Counts {
        self.records.counts()
    }

    /// Marks the folder as complete, after its files are on the disk.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn finish(self) -> io::Result<()> {
        durable_all(&self.root)?;
        let records = self.records.finish()?;
        records.get_ref().sync_all()
    }
}

fn notes_of(root: &Path, clock: Arc<dyn Clock>) -> VaultFolder {
    // No other process writes into it, so that the lock is never contended.
    VaultFolder::new(root.join(NOTES), root.join("notes.lock"), clock)
}

/// Removes the permissions of all users but the owner.
fn make_private(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Makes a file that only its owner may read.
fn create_new(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Makes a file of that name, with a number if the name is taken.
fn create_free(folder: &Path, name: &str) -> io::Result<File> {
    let mut number = 1_u64;
    loop {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        match create_new(&folder.join(format!("{name}{suffix}.md"))) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            created => return created,
        }
    }
}

/// Makes one file durable, if the system cannot flush all files at once.
fn durable_alone(file: &File) -> io::Result<()> {
    if cfg!(target_os = "linux") {
        Ok(())
    } else {
        file.sync_all()
    }
}

/// Makes all files in the folder durable, if the system can do so at once.
fn durable_all(root: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(root)?)?;
    #[cfg(not(target_os = "linux"))]
    let _ = root;
    Ok(())
}

/// Returns the folder name of a space, which differs from that of the notes.
fn folder_of_space(space: &str) -> String {
    let name = slug(space);
    if name == NOTES {
        format!("{name}-space")
    } else {
        name
    }
}

/// Returns a file name: the title or the first line, and the end of the id, which distinguishes
/// memories of the same title.
fn name(memory: &Memory) -> String {
    let first_line = || {
        memory
            .content
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
    };
    let title = memory
        .title
        .as_deref()
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(first_line);
    let id: Vec<char> = memory
        .id
        .as_str()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let short: String = id[id.len().saturating_sub(SHORT_ID)..]
        .iter()
        .map(char::to_ascii_lowercase)
        .collect();
    format!("{}-{short}", slug(title))
        .trim_end_matches('-')
        .to_owned()
}

/// Returns the fields of a memory as frontmatter, and its unchanged text.
fn text(memory: &Memory, filed: u64) -> io::Result<String> {
    let Value::Object(mut fields) = serde_json::to_value(ExportMemory::from(memory))? else {
        return Err(io::Error::other("a memory has fields"));
    };
    fields.shift_remove(CONTENT);
    let mut text = format!("{FENCE}{FILED}{filed}\n");
    for (name, value) in fields {
        text += &format!("{name}: {}\n", json(&value)?);
    }
    Ok(text + FENCE + &memory.content)
}

/// Reads an export in a folder: memories in the order of filing, then the other records.
pub struct MarkdownFiles {
    root: PathBuf,
    notes: VaultFolder,
    /// The files of memories, in reverse order.
    memories: Vec<PathBuf>,
    records: Lines<BufReader<File>>,
}

impl MarkdownFiles {
    /// Lists the files of the folder.
    ///
    /// # Errors
    /// If it cannot be read; within, why this loci cannot read it as an export.
    pub fn open(root: &Path, clock: Arc<dyn Clock>) -> io::Result<Result<Self, String>> {
        let records = match File::open(root.join(RECORDS)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Err(format!("is no export of loci: it has no {RECORDS}")));
            }
            opened => Lines::open(BufReader::new(opened?))?,
        };
        let records = match records {
            Ok(records) => records,
            Err(problem) => return Ok(Err(format!("has a {RECORDS} that {problem}"))),
        };
        let mut numbered = Vec::new();
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && entry.file_name() != NOTES {
                find(&entry.path(), 1, &mut numbered)?;
            }
        }
        numbered.sort_unstable_by(|left, right| right.cmp(left));
        let memories = numbered.into_iter().map(|(_, path)| path).collect();
        Ok(Ok(MarkdownFiles {
            root: root.to_owned(),
            notes: notes_of(root, clock),
            memories,
            records,
        }))
    }

    /// Reads the next part: a file of a memory, or a line of the other records. `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Part>> {
        if let Some(path) = self.memories.pop() {
            let place = path
                .strip_prefix(&self.root)
                .unwrap_or(&path)
                .display()
                .to_string();
            let (bytes, entry) = read_memory(&path)?;
            return Ok(Some(Part {
                place,
                bytes,
                entry,
            }));
        }
        let Some(mut part) = self.records.read()? else {
            return Ok(None);
        };
        part.place = format!("{RECORDS} {}", part.place);
        part.entry = part.entry.and_then(|entry| self.with_bytes(entry));
        if let Ok(Entry::Note(Note {
            file: Some(NoteBytes::Inline(copy)),
            ..
        })) = &part.entry
        {
            part.bytes += copy.bytes.len();
        }
        Ok(Some(part))
    }

    /// Adds the bytes of the separate file to an entry.
    fn with_bytes(&self, entry: Entry) -> Result<Entry, EntryProblem> {
        let Entry::Note(Note {
            file: Some(NoteBytes::Beside),
            path,
            space,
            known,
        }) = entry
        else {
            return Ok(entry);
        };
        match self.notes.copy_of(&path, NOTE_FILE_BYTES_MAX) {
            Ok(Some(copy)) => Ok(Entry::Note(Note {
                file: Some(NoteBytes::Inline(copy)),
                path,
                space,
                known,
            })),
            Ok(None) => Err(EntryProblem::NoFile(NOTES)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Finds the files of memories, with their numbers. Skips links.
fn find(folder: &Path, depth: usize, numbered: &mut Vec<(u64, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth < DEPTH_MAX {
            find(&path, depth + 1, numbered)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            let mut head = Vec::new();
            File::open(&path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
            let second = head
                .split(|byte| *byte == b'\n')
                .nth(1)
                .and_then(|line| str::from_utf8(line).ok());
            let number = second.and_then(|line| line.strip_prefix(FILED)?.parse().ok());
            // A file without a number comes last, and is refused when it is read.
            numbered.push((number.unwrap_or(u64::MAX), path));
        }
    }
    Ok(())
}

/// Reads a file; returns its size, and its memory or the problem.
fn read_memory(path: &Path) -> io::Result<(usize, Result<Entry, EntryProblem>)> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    let length = bytes.len();
    if length as u64 > FILE_BYTES_MAX {
        let (bytes_max, noun) = (FILE_BYTES_MAX, "memory");
        return Ok((length, Err(EntryProblem::TooLarge { bytes_max, noun })));
    }
    let text = str::from_utf8(&bytes).map_err(EntryProblem::from);
    Ok((length, text.and_then(memory)))
}

fn memory(text: &str) -> Result<Entry, EntryProblem> {
    use EntryProblem::NoFrontmatter;
    let numbered = text
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_prefix(FILED)?.split_once('\n'));
    let (number, mut rest) = numbered.ok_or(NoFrontmatter)?;
    if number.parse::<u64>().is_err() {
        return Err(NoFrontmatter);
    }
    let mut fields = Map::new();
    loop {
        let (line, after) = rest.split_once('\n').ok_or(NoFrontmatter)?;
        rest = after;
        if line == FENCE.trim_end() {
            break;
        }
        let (name, value) = line.split_once(": ").ok_or(NoFrontmatter)?;
        let value = serde_json::from_str(value).map_err(|source| EntryProblem::Field {
            name: name.to_owned(),
            source,
        })?;
        if fields.insert(name.to_owned(), value).is_some() {
            return Err(EntryProblem::FieldTwice(name.to_owned()));
        }
    }
    if fields
        .insert(CONTENT.to_owned(), Value::from(rest))
        .is_some()
    {
        return Err(NoFrontmatter);
    }
    let shape: ExportMemory = serde_json::from_value(Value::Object(fields))?;
    let memory = Memory::try_from(shape)?;
    Ok(Entry::Record(Archived {
        space: memory.space.clone(),
        record: Record::Memory(Box::new(memory)),
    }))
}
