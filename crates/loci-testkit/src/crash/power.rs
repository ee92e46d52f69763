//! The state of files after a power cut, by the usual pessimistic model of a journaling file
//! system:
//!
//! - A file has the data that was written before its last completed flush. Each later write
//!   survives or not, independently of the others, and possibly only some of its sectors.
//! - A failed flush loses its data: the kernel counts those pages as clean.
//! - A change of names (create, rename, exchange, link, unlink) is durable after a flush of its
//!   folder. Of the later changes in one folder, the journal has kept any prefix, in order, and
//!   each change wholly or not at all.
//! - A flush of a new file or folder makes the name under which it was created durable, and the
//!   names of new folders above it, as ext4, XFS, btrfs and F2FS do. It makes no rename durable.
//!
//! `loci.db-shm` is shared memory, which SQLite rebuilds after a power cut.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use super::log::{Operation, OperationKind};
use crate::Random;

/// `RENAME_EXCHANGE` of renameat2(2).
const EXCHANGE: u16 = 2;

/// The fate of data that was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    /// It is lost.
    None,
    /// It all survives.
    All,
    /// Each write survives or not.
    Some,
    /// Each sector of this many bytes survives or not, for each write.
    Torn(usize),
}

/// A simulated disk that performs operations and can lose power at any time.
#[derive(Debug, Clone)]
pub struct Disk {
    root: String,
    files: Vec<File>,
    /// The current file of each inode.
    inodes: HashMap<u64, usize>,
    /// The durable names.
    names: BTreeMap<String, usize>,
    changes: Vec<NameChange>,
}

#[derive(Debug, Clone, Default)]
struct File {
    is_folder: bool,
    certain: Vec<u8>,
    later: Vec<Written>,
}

#[derive(Debug, Clone)]
enum Written {
    Bytes { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

#[derive(Debug, Clone)]
enum NameChange {
    Made { path: String, file: usize },
    Renamed { old: String, new: String },
    Exchanged { old: String, new: String },
    Linked { file: usize, new: String },
    Removed { path: String },
}

impl NameChange {
    fn folder(&self) -> &str {
        folder_of(match self {
            NameChange::Made { path, .. } | NameChange::Removed { path } => path,
            NameChange::Renamed { new, .. }
            | NameChange::Exchanged { new, .. }
            | NameChange::Linked { new, .. } => new,
        })
    }

    /// Returns the names that it changes.
    fn paths(&self) -> [&str; 2] {
        match self {
            NameChange::Made { path, .. } | NameChange::Removed { path } => [path, path],
            NameChange::Linked { new, .. } => [new, new],
            NameChange::Renamed { old, new } | NameChange::Exchanged { old, new } => [old, new],
        }
    }

    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Made { path, file } | NameChange::Linked { file, new: path } => {
                names.insert(path.clone(), *file);
            }
            NameChange::Renamed { old, new } => {
                if let Some(file) = names.remove(old) {
                    names.insert(new.clone(), file);
                }
            }
            NameChange::Exchanged { old, new } => {
                if let (Some(first), Some(second)) =
                    (names.get(old).copied(), names.get(new).copied())
                {
                    names.insert(old.clone(), second);
                    names.insert(new.clone(), first);
                }
            }
            NameChange::Removed { path } => {
                names.remove(path);
            }
        }
    }
}

impl Disk {
    /// Creates a disk on which the current content of `root`, a real path, is durable.
    ///
    /// # Errors
    /// If the folder cannot be read.
    #[cfg(unix)]
    pub fn new(root: &Path) -> io::Result<Self> {
        let path = root
            .to_str()
            .ok_or_else(|| io::Error::other("the path is no UTF-8"))?;
        let mut disk = Disk::empty(path);
        disk.read(root, path.to_owned())?;
        Ok(disk)
    }

    /// Creates an empty disk.
    pub(super) fn empty(root: &str) -> Self {
        let root = root.to_owned();
        Disk {
            root,
            files: Vec::new(),
            inodes: HashMap::new(),
            names: BTreeMap::new(),
            changes: Vec::new(),
        }
    }

    #[cfg(unix)]
    fn read(&mut self, real: &Path, path: String) -> io::Result<()> {
        let metadata = fs::metadata(real)?;
        let certain = if metadata.is_dir() {
            Vec::new()
        } else {
            fs::read(real)?
        };
        let file = File {
            is_folder: metadata.is_dir(),
            certain,
            later: Vec::new(),
        };
        let file = self.add(std::os::unix::fs::MetadataExt::ino(&metadata), file);
        self.names.insert(path.clone(), file);
        if metadata.is_dir() {
            for entry in fs::read_dir(real)? {
                let entry = entry?;
                self.read(
                    &entry.path(),
                    format!("{path}/{}", entry.file_name().to_string_lossy()),
                )?;
            }
        }
        Ok(())
    }

    fn add(&mut self, inode: u64, file: File) -> usize {
        self.files.push(file);
        self.inodes.insert(inode, self.files.len() - 1);
        self.files.len() - 1
    }

    /// Performs an operation.
    pub fn perform(&mut self, operation: &Operation) {
        let known = self.inodes.get(&operation.file).copied();
        let is_shared_memory = operation.path.ends_with("-shm");
        if operation.result < 0 {
            if let (OperationKind::Sync, Some(file)) = (operation.kind, known) {
                self.files[file]
                    .later
                    .retain(|written| matches!(written, Written::Size(_)));
            }
            return;
        }
        let path = || operation.path.clone();
        let new = || operation.other_path.clone();
        match operation.kind {
            OperationKind::Open | OperationKind::Read | OperationKind::Reply => {}
            OperationKind::Create | OperationKind::Folder => {
                let is_folder = operation.kind == OperationKind::Folder;
                let file = self.add(
                    operation.file,
                    File {
                        is_folder,
                        ..File::default()
                    },
                );
                self.changes.push(NameChange::Made { path: path(), file });
            }
            OperationKind::Write | OperationKind::Truncate if is_shared_memory => {}
            OperationKind::Write => {
                let written = Written::Bytes {
                    offset: operation.offset as usize,
                    bytes: operation.data.clone(),
                };
                self.files[known.expect("a file is made before it is written")]
                    .later
                    .push(written);
            }
            OperationKind::Truncate => {
                let size = Written::Size(operation.offset as usize);
                self.files[known.expect("a file is made before it is cut")]
                    .later
                    .push(size);
            }
            OperationKind::Sync => self.flush(
                known.expect("a file is made before it is flushed"),
                &operation.path,
            ),
            OperationKind::Rename if operation.flags & EXCHANGE != 0 => {
                self.changes.push(NameChange::Exchanged {
                    old: path(),
                    new: new(),
                });
            }
            OperationKind::Rename => self.changes.push(NameChange::Renamed {
                old: path(),
                new: new(),
            }),
            OperationKind::Link => {
                let file = known.expect("a file is made before it is linked");
                self.changes.push(NameChange::Linked { file, new: new() });
            }
            OperationKind::Unlink => self.changes.push(NameChange::Removed { path: path() }),
        }
    }

    fn flush(&mut self, file: usize, path: &str) {
        for written in std::mem::take(&mut self.files[file].later) {
            apply(&mut self.files[file].certain, &written);
        }
        let is_folder = self.files[file].is_folder;
        let is_above = |made: &str| {
            path.strip_prefix(made)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let mut later = Vec::new();
        // From the last to the first: a name cannot be durable before its earlier file has lost it.
        let mut touched: Vec<String> = Vec::new();
        let mut certain = Vec::new();
        for change in std::mem::take(&mut self.changes).into_iter().rev() {
            let is_certain = match &change {
                NameChange::Made { file: made, path }
                    if self.files[*made].is_folder && is_above(path) =>
                {
                    true
                }
                NameChange::Made { file: made, .. } if *made == file => true,
                change => is_folder && change.folder() == path,
            };
            if is_certain
                || change
                    .paths()
                    .iter()
                    .any(|path| touched.iter().any(|touched| touched == path))
            {
                touched.extend(change.paths().map(str::to_owned));
                certain.push(change);
            } else {
                later.push(change);
            }
        }
        certain
            .iter()
            .rev()
            .for_each(|change| change.apply(&mut self.names));
        later.reverse();
        self.changes = later;
    }

    /// Writes the folder into `target`, an empty folder, as a power cut at this moment could leave
    /// it.
    ///
    /// # Errors
    /// If the target cannot be written.
    pub fn cut(&self, survivors: Survivors, random: &mut Random, target: &Path) -> io::Result<()> {
        let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
        for change in &self.changes {
            *kept.entry(change.folder()).or_default() += 1;
        }
        for count in kept.values_mut() {
            *count = match survivors {
                Survivors::None => 0,
                Survivors::All => *count,
                Survivors::Some | Survivors::Torn(_) => random.below(*count + 1),
            };
        }
        let mut names = self.names.clone();
        for change in &self.changes {
            let left = kept.entry(change.folder()).or_default();
            if *left > 0 {
                *left -= 1;
                change.apply(&mut names);
            }
        }
        let content: Vec<Vec<u8>> = self
            .files
            .iter()
            .map(|file| file.cut(survivors, random))
            .collect();
        for (path, file) in &names {
            let below = path
                .strip_prefix(&self.root)
                .unwrap_or(path)
                .trim_start_matches('/');
            let path = target.join(below);
            // The content of a missing folder cannot be reached.
            if below.is_empty()
                || !path.parent().is_some_and(Path::is_dir)
                || below.ends_with("-shm")
            {
                continue;
            }
            if self.files[*file].is_folder {
                fs::create_dir(path)?;
            } else {
                fs::write(path, &content[*file])?;
            }
        }
        Ok(())
    }
}

impl File {
    fn cut(&self, survivors: Survivors, random: &mut Random) -> Vec<u8> {
        let mut content = self.certain.clone();
        for written in &self.later {
            match (survivors, written) {
                (Survivors::None, _) => {}
                (Survivors::Torn(sector), Written::Bytes { offset, bytes }) => {
                    let mut from = 0;
                    while from < bytes.len() {
                        let to = bytes
                            .len()
                            .min((offset + from) / sector * sector + sector - offset);
                        if random.chance(50) {
                            apply(
                                &mut content,
                                &Written::Bytes {
                                    offset: offset + from,
                                    bytes: bytes[from..to].into(),
                                },
                            );
                        }
                        from = to;
                    }
                }
                (Survivors::All, written) => apply(&mut content, written),
                (_, written) if random.chance(50) => apply(&mut content, written),
                _ => {}
            }
        }
        content
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn apply(content: &mut Vec<u8>, written: &Written) {
    match written {
        Written::Bytes { offset, bytes } => {
            let end = offset + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(bytes);
        }
        Written::Size(size) => content.resize(*size, 0),
    }
}
