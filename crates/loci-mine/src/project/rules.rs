//! Which files of a project git would ignore, folder by folder from the top down.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use loci_core::limits::SOURCE_FILE_BYTES_MAX;

use super::pattern::translated;
use crate::plain_file::{self, Links, Refusal};

/// A folder, and the rules for what is in it.
pub(crate) struct Folder {
    /// Without links in it.
    path: PathBuf,
    /// From the weakest to the strongest: the user's own, the repository's, those of the folders
    /// from the top down.
    layers: Vec<Layer>,
    /// The user's own rules, for repositories further down.
    users: Rc<Gitignore>,
    /// Whether it, and so everything in it, is ignored.
    is_ignored: bool,
}

/// The rules of one file.
#[derive(Clone)]
struct Layer {
    /// What they are relative to.
    folder: PathBuf,
    rules: Rc<Gitignore>,
}

impl Folder {
    /// A folder (without links in its path) with the rules from the top of its repository down, or
    /// its own alone if it is in none. `users` is the file of the user's own rules.
    ///
    /// # Errors
    /// If a file of rules is there and cannot be read.
    pub(crate) fn open(path: &Path, users: Option<&Path>) -> io::Result<Self> {
        let top = top_of(path).unwrap_or(path);
        let users = Rc::new(users.map_or_else(
            || Ok(Gitignore::empty()),
            |users| rules_in(&top.join(users), Links::Followed),
        )?);
        let layers = layers_at_top(top, &users)?;
        let folder = Folder {
            path: top.to_owned(),
            layers,
            users,
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
        // What is in an ignored folder cannot be brought back by rules in it: git does not even
        // read them. In a repository, no rules of folders above it hold.
        let layers = if is_ignored {
            Vec::new()
        } else if is_top(&path) {
            layers_at_top(&path, &self.users)?
        } else {
            let mut layers = self.layers.clone();
            layers.extend(Layer::of_folder(&path)?);
            layers
        };
        Ok(Folder {
            path,
            layers,
            users: Rc::clone(&self.users),
            is_ignored,
        })
    }

    /// Whether it, and so everything in it, is ignored.
    pub(crate) fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    /// Whether git would ignore what has that name here.
    pub(crate) fn ignores(&self, name: &OsStr, is_folder: bool) -> bool {
        let path = self.path.join(name);
        let strongest = self.layers.iter().rev().find_map(|layer| {
            let found = layer
                .rules
                .matched(path.strip_prefix(&layer.folder).ok()?, is_folder);
            (!found.is_none()).then(|| found.is_ignore())
        });
        self.is_ignored || strongest.unwrap_or_default()
    }
}

impl Layer {
    /// None if there are no rules.
    fn new(folder: &Path, rules: Rc<Gitignore>) -> Option<Self> {
        (!rules.is_empty()).then(|| Layer {
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
}

fn layers_at_top(top: &Path, users: &Rc<Gitignore>) -> io::Result<Vec<Layer>> {
    let repository = repository_of(top)?;
    // The repository's own configuration may name another file than the user's.
    let own = match &repository {
        Some(repository) => {
            named_excludes(&repository.join("config"), std::env::home_dir().as_deref())?
        }
        None => None,
    };
    let users = match own {
        Some(own) => Rc::new(rules_in(&top.join(own), Links::Followed)?),
        None => Rc::clone(users),
    };
    let mut layers = Vec::from_iter(Layer::new(top, users));
    if let Some(repository) = repository {
        let excludes = rules_in(&repository.join("info").join("exclude"), Links::Followed)?;
        layers.extend(Layer::new(top, Rc::new(excludes)));
    }
    layers.extend(Layer::of_folder(top)?);
    Ok(layers)
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
        if let Some(named) = named_excludes(&configuration, home)? {
            return Ok(Some(named));
        }
    }
    Ok(own.map(|own| own.join("ignore")))
}

/// The file that a configuration names as `core.excludesFile`; see git-config(1).
fn named_excludes(configuration: &Path, home: Option<&Path>) -> io::Result<Option<PathBuf>> {
    let configuration = text_of(configuration, Links::Followed)?.unwrap_or_default();
    Ok(
        excludes_in(&configuration).map(|path| match (path.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => path.into(),
        }),
    )
}

/// The value of `core.excludesFile`.
fn excludes_in(configuration: &str) -> Option<String> {
    let (mut is_core, mut found) = (false, None);
    for mut line in configuration.lines().map(str::trim) {
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']'))
        {
            (is_core, line) = (section.trim().eq_ignore_ascii_case("core"), rest);
        }
        match line.split_once('=') {
            Some((key, value)) if is_core && key.trim().eq_ignore_ascii_case("excludesfile") => {
                found = Some(value_of(value));
            }
            _ => {}
        }
    }
    found
}

/// A value of git's configuration without its quotes, escapes and comment.
fn value_of(text: &str) -> String {
    let (mut value, mut is_quoted, mut end) = (String::new(), false, 0);
    let mut characters = text.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.extend(characters.next()),
            _ => value.push(character),
        }
        if is_quoted || !character.is_whitespace() {
            end = value.len();
        }
    }
    value.truncate(end);
    value
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
fn rules_in(path: &Path, links: Links) -> io::Result<Gitignore> {
    let Some(text) = text_of(path, links)? else {
        return Ok(Gitignore::empty());
    };
    // Paths are given relative to the folder.
    let mut builder = GitignoreBuilder::new("");
    for line in text.strip_prefix('\u{feff}').unwrap_or(&text).split('\n') {
        if let Some(line) = translated(line.strip_suffix('\r').unwrap_or(line)) {
            builder.add_line(None, &line).map_err(io::Error::other)?;
        }
    }
    builder.build().map_err(io::Error::other)
}

/// The text of a file of git; none if there is no plain file. Git reads no link that could have
/// come with a repository. The owner of the file does not matter, since its rules only keep files
/// from being read. What is not UTF-8 in it matches no name that is looked at.
fn text_of(path: &Path, links: Links) -> io::Result<Option<String>> {
    match plain_file::read(path, links, SOURCE_FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
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

/// Whether the error says that there is no such file.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(
        error.kind(),
        NotFound | NotADirectory | InvalidFilename | InvalidInput
    )
}
