//! The memory as a folder of text files, as agents that write files know it.
//!
//! A file is a memory whose title is its path, so that every other view shows it as what it is. The
//! memories of other tool sets are files, too: in the folder of their place, with a name that has
//! their id, e.g. `harbour/fact/The crane is yellow.0198c0de-….md`. A memory cannot be blank and has
//! no folders, so what is only known of a folder, or of a blank file, is kept in a setting of the
//! caller.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use loci_core::{Error, ErrorCode, FilingOrder, Memory, Result, SOURCE_FILE, Visibility};

use crate::actor::Actor;
use crate::engine::Engine;
use crate::listings::Listings;
use crate::listings::browse::Browse;
use crate::listings::facets::Facets;
use crate::memories::Memories;
use crate::memories::remember::Remember;
use crate::settings::Settings;
use crate::title::shown_title;

/// The kind of a memory that is a file.
const KIND: &str = "file";
/// The setting with the folders and blank files that no memory tells of.
const BARE: &str = "memory_files";
/// The name of the folder of memories without a project.
const GLOBAL: &str = "global";
/// The ending of the files of other tool sets.
const ENDING: &str = ".md";
/// The most files that are read: of one's own, and of other tool sets.
const FILES_MAX: usize = 10_000;
/// The number of memories that are read at a time.
const READ_AT_ONCE: usize = 250;

/// The memory as a folder of text files.
#[derive(Clone, Copy)]
pub struct MemoryFiles<'a> {
    caller: Actor<'a>,
    memories: Memories<'a>,
    listings: Listings<'a>,
    settings: Settings<'a>,
}

impl Engine {
    /// Returns the memory as a folder of text files.
    pub(crate) fn memory_files<'a>(&'a self, caller: Actor<'a>) -> MemoryFiles<'a> {
        MemoryFiles {
            caller,
            memories: self.memories(caller),
            listings: self.listings(caller),
            settings: self.settings(caller),
        }
    }
}

/// A file.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryFile {
    /// Its text.
    pub text: String,
    /// The memory that it is; `None` if it is blank.
    pub memory: Option<Memory>,
    /// True if it came in through another tool set.
    pub is_others: bool,
}

/// The files and folders by their paths, without a slash at either end, e.g. `boats/ferry.md`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileTree {
    /// The files.
    pub files: BTreeMap<String, MemoryFile>,
    /// The folders, but for the outermost one, whose path is empty.
    pub folders: BTreeSet<String>,
    /// True if the store has more than was read.
    pub is_cut: bool,
}

impl FileTree {
    fn put(&mut self, path: String, file: MemoryFile) {
        self.folders.extend(parents(&path).map(str::to_owned));
        self.files.entry(path).or_insert(file);
    }

    /// Returns true if there is a folder of that path.
    pub fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    /// Returns true if there is a file or folder of that path.
    pub fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.has_folder(path)
    }

    /// Returns the path at which a file is: of another tool set, also for a path that has the id of
    /// its memory in its name, because the rest of the name changes with the text.
    pub fn resolved<'p>(&'p self, path: &'p str) -> &'p str {
        if self.exists(path) {
            return path;
        }
        let id = path
            .strip_suffix(ENDING)
            .and_then(|path| Some(path.rsplit_once('.')?.1));
        let is_wanted = |file: &MemoryFile| {
            file.is_others && file.memory.as_ref().map(|memory| memory.id.as_str()) == id
        };
        let mut found = self.files.iter().filter(|(_, file)| is_wanted(file));
        found.next().map_or(path, |(path, _)| path.as_str())
    }

    /// Returns true if one of the folders above the path is a file.
    pub fn is_below_a_file(&self, path: &str) -> bool {
        parents(path).any(|parent| self.files.contains_key(parent))
    }
}

/// Returns the folders above a path, innermost first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(slash, _)| &path[..slash])
}

/// Returns true if the path is that of the folder, or lies below it.
fn is_in(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the path of a memory of another tool set.
fn path_of_others(memory: &Memory) -> String {
    let collection = memory.location.collection.as_deref().unwrap_or(GLOBAL);
    format!(
        "{}/{}/{}.{}{ENDING}",
        file_name(collection),
        file_name(&memory.location.section),
        file_name(&shown_title(memory)),
        memory.id
    )
}

/// Returns a text as the name of a file that is not hidden.
fn file_name(text: &str) -> String {
    let name = text.replace(
        |character: char| character.is_control() || matches!(character, '/' | '\\'),
        "-",
    );
    if name.starts_with('.') || name.is_empty() {
        format!("_{name}")
    } else {
        name
    }
}

impl MemoryFiles<'_> {
    /// Returns all files and folders. Those of other tool sets are left out unless `with_others`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn tree(&self, with_others: bool) -> Result<FileTree> {
        let mut tree = FileTree::default();
        let (own, is_cut) = self.read(Some(self.caller.origin.to_owned()))?;
        tree.is_cut = is_cut;
        for memory in own {
            let path = own_path(&memory);
            tree.put(path, file(memory, false));
        }
        for (path, text) in parsed(&self.settings.get(BARE)?.unwrap_or_default()) {
            if let Some(text) = text {
                let file = MemoryFile {
                    text,
                    memory: None,
                    is_others: false,
                };
                tree.put(path, file);
            } else {
                tree.folders.extend(parents(&path).map(str::to_owned));
                tree.folders.insert(path);
            }
        }
        if with_others {
            let (others, is_cut) = self.read(None)?;
            tree.is_cut |= is_cut;
            for memory in others {
                if memory.origin != self.caller.origin {
                    let path = path_of_others(&memory);
                    tree.put(path, file(memory, true));
                }
            }
        }
        Ok(tree)
    }

    /// Creates a file, with the folders above it.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the path or the text (as `content`); `unavailable` if
    /// the store cannot be written.
    pub fn create(&self, path: &str, text: &str) -> Result<()> {
        crate::check::name("path", path)?;
        if is_blank(text) {
            return self.change_bare(|bare| {
                bare.insert(path.to_owned(), Some(text.to_owned()));
            });
        }
        let request = Remember {
            title: Some(path.to_owned()),
            attributes: [(SOURCE_FILE.to_owned(), path.to_owned())].into(),
            visibility: Visibility::Common,
            ..Remember::new(text, KIND)
        };
        self.memories.remember(request)?;
        Ok(())
    }

    /// Replaces the text of a file as it was read.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the text (as `content`); `forbidden` if the caller may
    /// not write the file; `conflict` if it changed since it was read; `unavailable` if the store
    /// cannot be written.
    pub fn write(&self, path: &str, file: &MemoryFile, text: &str) -> Result<()> {
        let Some(memory) = &file.memory else {
            self.create(path, text)?;
            return if is_blank(text) {
                Ok(())
            } else {
                self.change_bare(|bare| {
                    bare.remove(path);
                })
            };
        };
        let latest = self.memories.show(&memory.id)?;
        if latest.content != memory.content {
            let message = "nothing was changed: another writer changed the file since it was read; view it again";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        if !is_blank(text) {
            return self.memories.update(&memory.id, text, None).map(drop);
        }
        if file.is_others {
            let problem = "must not leave a memory of another tool blank; delete it instead";
            return Err(Error::invalid("content", problem));
        }
        self.memories.forget(&memory.id)?;
        self.create(path, text)
    }

    /// Deletes a file, or a folder with everything in it; the folder above it stays.
    ///
    /// # Errors
    /// `conflict` if there are memories of other tool sets in the folder, because they are the work
    /// of others; `forbidden` if the caller may not write a file; `unavailable` if the store cannot
    /// be written. What was deleted before the error stays deleted.
    pub fn delete(&self, tree: &FileTree, path: &str) -> Result<()> {
        if !tree.files.contains_key(path) {
            refuse_others(tree, path, "delete them one by one")?;
        }
        for (at, file) in &tree.files {
            if is_in(at, path)
                && let Some(memory) = &file.memory
            {
                self.memories.forget(&memory.id)?;
            }
        }
        self.change_bare(|bare| {
            bare.retain(|at, _| !is_in(at, path));
            add_folders(bare, parents(path));
        })
    }

    /// Creates the folders above a path.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn create_parents(&self, tree: &FileTree, path: &str) -> Result<()> {
        if parents(path).all(|parent| tree.has_folder(parent)) {
            return Ok(());
        }
        self.change_bare(|bare| add_folders(bare, parents(path)))
    }

    /// Renames or moves a file or a folder, with the folders above the new path.
    ///
    /// # Errors
    /// `invalid_argument` for the path; `conflict` if there are memories of other tool sets, whose
    /// names are made of what they are; otherwise as for [`write`](Self::write).
    pub fn rename(&self, tree: &FileTree, from: &str, to: &str) -> Result<()> {
        crate::check::name("new_path", to)?;
        refuse_others(tree, from, "they cannot be renamed here")?;
        let moved = |path: &str| {
            path.strip_prefix(from)
                .filter(|_| is_in(path, from))
                .map(|rest| format!("{to}{rest}"))
        };
        for (at, file) in &tree.files {
            if let (Some(path), Some(memory)) = (moved(at), &file.memory) {
                self.memories.move_file(&memory.id, &path)?;
            }
        }
        self.change_bare(|bare| {
            let renamed = std::mem::take(bare).into_iter();
            *bare = renamed
                .map(|(at, text)| (moved(&at).unwrap_or(at), text))
                .collect();
            if tree.folders.contains(from) {
                add_folders(bare, [to]);
            }
            add_folders(bare, parents(from).chain(parents(to)));
        })
    }

    /// Changes what no memory tells of: folders, and blank files.
    fn change_bare(&self, change: impl Fn(&mut Bare)) -> Result<()> {
        self.settings.note(|draft| {
            let before = draft.get(BARE)?.unwrap_or_default();
            let mut bare = parsed(&before);
            change(&mut bare);
            let after = written(&bare);
            if after != before {
                draft.put(BARE, after)?;
            }
            Ok(())
        })
    }

    /// Returns the long-term memories of a tool set, or of all, first stored first, and whether
    /// there are more.
    fn read(&self, origin: Option<String>) -> Result<(Vec<Memory>, bool)> {
        let (mut memories, mut known) = (Vec::new(), HashSet::new());
        let mut offset = 0;
        loop {
            let page = self.listings.list_by_insertion(&Browse {
                facets: Facets {
                    origins: origin.iter().cloned().collect(),
                    ..Facets::default()
                },
                order: FilingOrder::FirstFirst,
                offset,
                limit: READ_AT_ONCE,
                ..Browse::default()
            })?;
            offset += page.len();
            let is_last = page.len() < READ_AT_ONCE;
            memories.extend(
                page.into_iter()
                    .filter(|memory| known.insert(memory.id.clone())),
            );
            if is_last || offset >= FILES_MAX {
                return Ok((memories, !is_last));
            }
        }
    }
}

/// Returns the path of a file of one's own.
fn own_path(memory: &Memory) -> String {
    let given = memory.attributes.get(SOURCE_FILE).cloned();
    given.unwrap_or_else(|| path_of_others(memory))
}

fn file(memory: Memory, is_others: bool) -> MemoryFile {
    MemoryFile {
        text: memory.content.clone(),
        memory: Some(memory),
        is_others,
    }
}

/// Refuses to change what is in a folder if there are memories of other tool sets.
fn refuse_others(tree: &FileTree, path: &str, advice: &str) -> Result<()> {
    let is_wanted = |(at, file): &(&String, &MemoryFile)| file.is_others && is_in(at, path);
    let others = tree.files.iter().filter(is_wanted).count();
    if others == 0 {
        return Ok(());
    }
    let message = format!(
        "nothing was changed: {others} of the files are memories that came in through other tools; {advice}"
    );
    Err(Error::new(ErrorCode::Conflict, message))
}

/// The folders and files that no memory tells of, by path: a folder (`None`), or a file with only white space.
type Bare = BTreeMap<String, Option<String>>;

fn add_folders<'p>(bare: &mut Bare, paths: impl IntoIterator<Item = &'p str>) {
    for path in paths {
        bare.entry(path.to_owned()).or_default();
    }
}

/// Returns what the setting says, one path a line. A file has a tab after its path, and the code
/// points of its white space as hexadecimal numbers, e.g. `a.md<tab>a 20`.
fn parsed(setting: &str) -> Bare {
    let line = |line: &str| match line.split_once('\t') {
        None => (line.to_owned(), None),
        Some((path, codes)) => {
            let codes = codes.split_whitespace();
            let text = codes.filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
            (path.to_owned(), Some(text.collect()))
        }
    };
    setting.lines().map(line).collect()
}

/// Returns the setting that says this.
fn written(bare: &Bare) -> String {
    let line = |(path, text): (&String, &Option<String>)| match text {
        None => path.clone(),
        Some(text) => {
            let codes: Vec<String> = text
                .chars()
                .map(|character| format!("{:x}", u32::from(character)))
                .collect();
            format!("{path}\t{}", codes.join(" "))
        }
    };
    bare.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns true for a text that no memory can have.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
