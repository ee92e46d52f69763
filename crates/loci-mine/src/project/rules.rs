//! The files of a project that git would ignore, folder by folder from the top down.
//!
//! `gix-ignore` reads the rules and matches them. This module finds and opens their files, which
//! the crate would do without a limit on their size and without a check of their kind.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix_ignore::glob::pattern::Case;
use gix_ignore::glob::search::pattern::List;
use gix_ignore::search::{Ignore, pattern_matching_relative_path};
use loci_core::limits::SOURCE_FILE_BYTES_MAX;

use super::configuration::{core_value, is_true};
use crate::plain_file::{self, Links, Refusal};

/// The rules of one file.
type Rules = List<Ignore>;

/// A folder, and the rules for what is in it.
pub(crate) struct Folder {
    /// Without links in it.
    path: PathBuf,
    /// From the weakest to the strongest: the user's own, the repository's, the folders' from the
    /// top down.
    layers: Vec<Layer>,
    /// The user's own rules, for repositories further down.
    users: Rc<Rules>,
    /// The treatment of the case of letters.
    case: Case,
    /// True if it, and so everything in it, is ignored.
    is_ignored: bool,
}

/// The rules of one file, and the folder that they are relative to.
#[derive(Clone)]
struct Layer {
    folder: PathBuf,
    rules: Rc<Rules>,
}

impl Folder {
    /// A folder (without links in its path) with the rules from the top of its repository down, or
    /// only its own if it is in none. `users` is the file of the user's own rules.
    ///
    /// # Errors
    /// If a file of rules is there and cannot be read.
    pub(crate) fn open(path: &Path, users: Option<&Path>) -> io::Result<Self> {
        let top = top_of(path).unwrap_or(path);
        let users = Rc::new(users.map_or_else(
            || Ok(Rules::default()),
            |users| rules_in(&top.join(users), Links::Followed),
        )?);
        let (layers, case) = layers_at_top(top, &users)?;
        let folder = Folder {
            path: top.to_owned(),
            layers,
            users,
            case,
            is_ignored: false,
        };
        let below = path.strip_prefix(top).unwrap_or(Path::new(""));
        below
            .iter()
            .try_fold(folder, |folder, name| folder.enter(name))
    }

    /// A folder in this one, with its rules.
    ///
    /// # Errors
    /// If a file of rules is there and cannot be read.
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let path = self.path.join(name);
        let is_ignored = self.ignores(name, true);
        // A file in an ignored folder cannot be brought back by rules in it: git does not even read
        // them. In a repository, no rules of folders above it hold.
        let (layers, case) = if is_ignored {
            (Vec::new(), self.case)
        } else if is_top(&path) {
            layers_at_top(&path, &self.users)?
        } else {
            let mut layers = self.layers.clone();
            layers.extend(Layer::of_folder(&path)?);
            (layers, self.case)
        };
        Ok(Folder {
            path,
            layers,
            users: Rc::clone(&self.users),
            case,
            is_ignored,
        })
    }

    /// Returns whether it, and so everything in it, is ignored.
    pub(crate) fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    /// Returns whether git would ignore what has that name here.
    pub(crate) fn ignores(&self, name: &OsStr, is_folder: bool) -> bool {
        let path = self.path.join(name);
        let mut from_strongest = self.layers.iter().rev();
        self.is_ignored
            || from_strongest
                .find_map(|layer| layer.ignores(&path, is_folder, self.case))
                .unwrap_or_default()
    }
}

impl Layer {
    /// None if there are no rules.
    fn new(folder: &Path, rules: Rc<Rules>) -> Option<Self> {
        (!rules.patterns.is_empty()).then(|| Layer {
            folder: folder.to_owned(),
            rules,
        })
    }

    fn of_folder(folder: &Path) -> io::Result<Option<Self>> {
        Ok(Layer::new(
            folder,
            Rc::new(rules_in(&folder.join(".gitignore"), Links::Refused)?),
        ))
    }

    /// Returns whether the last rule that matches excludes the path; none if no rule matches.
    fn ignores(&self, path: &Path, is_folder: bool, case: Case) -> Option<bool> {
        let path = path.strip_prefix(&self.folder).ok()?;
        // Rules separate folders by `/` on every system.
        let parts: Vec<&[u8]> = path.iter().map(OsStr::as_encoded_bytes).collect();
        let path = parts.join(&b'/');
        let slash = path.iter().rposition(|byte| *byte == b'/');
        pattern_matching_relative_path(
            &self.rules,
            path.as_slice().into(),
            slash.map(|slash| slash + 1),
            Some(is_folder),
            case,
        )
        .map(|found| !found.pattern.is_negative())
    }
}

fn layers_at_top(top: &Path, users: &Rc<Rules>) -> io::Result<(Vec<Layer>, Case)> {
    let repository = repository_of(top)?;
    let configuration = match &repository {
        Some(repository) => configuration_in(&repository.join("config"))?,
        None => String::new(),
    };
    // The repository's own configuration may name another file than the user's.
    let users = match excludes_in(&configuration, std::env::home_dir().as_deref()) {
        Some(own) => Rc::new(rules_in(&top.join(own), Links::Followed)?),
        None => Rc::clone(users),
    };
    let mut layers = Vec::from_iter(Layer::new(top, users));
    if let Some(repository) = repository {
        let excludes = rules_in(&repository.join("info").join("exclude"), Links::Followed)?;
        layers.extend(Layer::new(top, Rc::new(excludes)));
    }
    layers.extend(Layer::of_folder(top)?);
    Ok((layers, case_in(&configuration)))
}

/// The file of the user's own rules: the one that the user's configuration names, or else the one
/// that git takes by default; see gitignore(5). What the configuration includes is not read.
///
/// # Errors
/// If a configuration is there and cannot be read.
pub(crate) fn users_excludes() -> io::Result<Option<PathBuf>> {
    let home = std::env::home_dir();
    let xdg = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    users_excludes_in(home.as_deref(), xdg.map(PathBuf::from))
}

/// As [`users_excludes`], with the user's folders.
pub(crate) fn users_excludes_in(
    home: Option<&Path>,
    xdg: Option<PathBuf>,
) -> io::Result<Option<PathBuf>> {
    let own = xdg
        .or_else(|| Some(home?.join(".config")))
        .map(|folder| folder.join("git"));
    let configurations = [
        home.map(|home| home.join(".gitconfig")),
        own.as_ref().map(|own| own.join("config")),
    ];
    for configuration in configurations.into_iter().flatten() {
        if let Some(named) = excludes_in(&configuration_in(&configuration)?, home) {
            return Ok(Some(named));
        }
    }
    Ok(own.map(|own| own.join("ignore")))
}

/// The text of a file of git's configuration; empty without the file.
fn configuration_in(path: &Path) -> io::Result<String> {
    Ok(text_of(path, Links::Followed)?.unwrap_or_default())
}

/// The file that a configuration names as `core.excludesFile`; see git-config(1).
fn excludes_in(configuration: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = core_value(configuration, "excludesFile")?;
    Some(match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => path.into(),
    })
}

/// Returns whether rules tell letters by their case. `git init` writes `core.ignoreCase` where the
/// file system does not.
fn case_in(configuration: &str) -> Case {
    let value = core_value(configuration, "ignoreCase").unwrap_or_default();
    if is_true(&value) {
        Case::Fold
    } else {
        Case::Sensitive
    }
}

/// The folder at the top of the repository that a folder is in.
pub fn top_of(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| is_top(folder))
}

fn is_top(folder: &Path) -> bool {
    folder.join(".git").exists()
}

/// Where git keeps what belongs to the repository with that top and is the same for all its
/// worktrees; see gitrepository-layout(5). None if there is no repository.
fn repository_of(top: &Path) -> io::Result<Option<PathBuf>> {
    let git = top.join(".git");
    if git.is_dir() {
        return Ok(Some(git));
    }
    // Of a submodule or another worktree, a file says where it is.
    let text = text_of(&git, Links::Followed)?.unwrap_or_default();
    let Some(place) = text.trim_end().strip_prefix("gitdir: ") else {
        return Ok(None);
    };
    let repository = top.join(place);
    let common = text_of(&repository.join("commondir"), Links::Followed)?;
    Ok(Some(common.map_or_else(
        || repository.clone(),
        |common| repository.join(common.trim_end()),
    )))
}

/// The rules in a file; none if there is no such file.
///
/// They match as git has it, with two exceptions that no rule for a real file meets: a line of only
/// white space is no rule, and a class with `[:` and no `:]` may match otherwise.
fn rules_in(path: &Path, links: Links) -> io::Result<Rules> {
    let mut bytes = bytes_of(path, links)?.unwrap_or_default();
    // Git ends the last line, too, before it takes the carriage return from it.
    bytes.push(b'\n');
    // Paths are given relative to the folder, so the rules need no base.
    Rules::from_bytes(&bytes, path.to_owned(), None, Ignore::default())
}

/// The text of a file of git; none if there is no plain file.
pub(super) fn text_of(path: &Path, links: Links) -> io::Result<Option<String>> {
    let bytes = bytes_of(path, links)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The bytes of a file of git; none if there is no plain file. Git reads no link that could have
/// come with a repository. The owner of the file does not matter, because its rules only keep files
/// from being read.
fn bytes_of(path: &Path, links: Links) -> io::Result<Option<Vec<u8>>> {
    match plain_file::read(path, links, SOURCE_FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) if matches!(Refusal::of(&error), Some(Refusal::Link | Refusal::NotPlain)) => {
            Ok(None)
        }
        // The file is not the one that was asked for.
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", path.display()),
        )),
    }
}

/// Returns whether the error says that there is no such file.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(
        error.kind(),
        NotFound | NotADirectory | InvalidFilename | InvalidInput
    )
}
