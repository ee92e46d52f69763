//! The fate of files, by the rules of their project.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use loci_core::{Error, Result, SourceState, SourceTree};

use crate::project::rules::{Folder, is_gone, top_of, users_excludes};

/// Projects as git sees them: ignored is what `.gitignore` files (nested ones, negation),
/// `.git/info/exclude` and the user's own excludes say, whether or not the project is a git
/// repository.
///
/// A file that a link leads to is judged by the rules of where it is. One that is outside the
/// project, by whichever way, is kept while it is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct GitTree;

impl SourceTree for GitTree {
    fn root_of(&self, path: &str) -> String {
        let path = Path::new(path);
        let folders = || path.ancestors().skip(1);
        let top = folders().find(|folder| folder.is_dir()).and_then(top_of);
        top.or_else(|| folders().next())
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned()
    }

    fn identity(&self, root: &str) -> Option<String> {
        let has_entries = fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
        fs::metadata(root)
            .ok()
            .filter(|_| has_entries)
            .map(|metadata| identity(&metadata))
    }

    fn states(&self, root: &str, paths: &[&str]) -> Result<Vec<SourceState>> {
        let users = users_excludes().map_err(|error| {
            Error::unavailable(format!(
                "nothing is known of the files in {root}, since the user's configuration of git \
                 cannot be read: {error}"
            ))
        })?;
        states(root, paths, users.as_deref())
    }
}

/// Returns the identity of a folder, as far as the file system tells: where it lies, and when it
/// was made, because what lies there on another drive may be at the same place of that.
fn identity(metadata: &Metadata) -> String {
    let made = metadata
        .created()
        .ok()
        .and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made
        .map(|made| made.as_nanos().to_string())
        .unwrap_or_default();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        format!("{}:{}:{made}", metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    made
}

/// The same with another file of the user's own excludes.
fn states(root: &str, paths: &[&str], users: Option<&Path>) -> Result<Vec<SourceState>> {
    let unknown = |path: &str, error: io::Error| {
        Error::unavailable(format!(
            "nothing is known of the files in {root}, since {path} cannot be looked at: {error}"
        ))
    };
    fs::read_dir(root).map_err(|error| unknown(root, error))?;
    let real = fs::canonicalize(root).map_err(|error| unknown(root, error))?;
    let top = Folder::open(&real, users).map_err(|error| unknown(root, error))?;
    let mut judge = Judge {
        known: HashMap::from([(real.clone(), Rc::new(top))]),
        root: real,
        real: HashMap::new(),
    };
    paths
        .iter()
        .map(|path| {
            judge
                .state(Path::new(path))
                .map_err(|error| unknown(path, error))
        })
        .collect()
}

/// The findings of one call.
struct Judge<'a> {
    /// The folder of the project, without links.
    root: PathBuf,
    /// Folders by their paths without links.
    known: HashMap<PathBuf, Rc<Folder>>,
    /// The paths without links, by those with them.
    real: HashMap<&'a Path, PathBuf>,
}

impl<'a> Judge<'a> {
    fn state(&mut self, path: &'a Path) -> io::Result<SourceState> {
        let is_folder = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) if is_gone(&error) => return Ok(SourceState::Missing),
            Err(error) => return Err(error),
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(SourceState::Kept);
        };
        let real = match self.real.get(parent) {
            Some(real) => real.clone(),
            None => self
                .real
                .entry(parent)
                .or_insert(fs::canonicalize(parent)?)
                .clone(),
        };
        let is_ignored =
            real.starts_with(&self.root) && self.folder(&real)?.ignores(name, is_folder);
        Ok(if is_ignored {
            SourceState::Ignored
        } else {
            SourceState::Kept
        })
    }

    /// A folder in the project.
    fn folder(&mut self, path: &Path) -> io::Result<Rc<Folder>> {
        if let Some(folder) = self.known.get(path) {
            return Ok(Rc::clone(folder));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let folder = Rc::new(self.folder(parent)?.enter(name)?);
        self.known.insert(path.to_owned(), Rc::clone(&folder));
        Ok(folder)
    }
}
