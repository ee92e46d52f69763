//! The files of a store that is read as it is, because it cannot be written.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use crate::opening::files::log_of;
use crate::opening::open_error::DATABASE;

/// The files of a store that are read as they are. No lock keeps others from writing them, e.g.
/// once the disk has room again.
#[derive(Debug)]
pub(crate) struct ReadOnlyFiles {
    pub(crate) folder: PathBuf,
    /// The files when they were opened. None for a copy, and where the locks of SQLite are used.
    pub(crate) state: Option<FileState>,
    /// The copy that is read instead. It goes with this.
    pub(crate) copy: Option<TempDir>,
}

impl ReadOnlyFiles {
    /// Returns whether the files were written since.
    pub(crate) fn is_changed(&self) -> bool {
        let is_changed = |state: &FileState| *state != FileState::of(&self.folder);
        self.state.as_ref().is_some_and(is_changed)
    }
}

/// The database and its log: the bytes and the last change of each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileState([Option<(u64, Option<SystemTime>)>; 2]);

impl FileState {
    pub(crate) fn of(folder: &Path) -> Self {
        let database = folder.join(DATABASE);
        let log = log_of(&database);
        FileState([&database, &log].map(|path| {
            let metadata = path.metadata().ok().filter(|file| file.len() > 0)?;
            Some((metadata.len(), metadata.modified().ok()))
        }))
    }
}
