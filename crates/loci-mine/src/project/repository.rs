//! The repository of git that a folder is in, only from the files of git.
//!
//! No program runs: a hook waits for this, and a checkout could name the program. A file that names
//! another folder as the repository counts if git would have written it there, because else an
//! unpacked archive could pass itself off as any repository of the user.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::configuration::{Entry, core_value, entries, is_true};
use super::path_text::native;
use super::remote::Remote;
use super::rules::text_of;
use crate::plain_file::{self, Links};

/// The most bytes of a file of git that tells where something is, and of a configuration.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most bytes of the first line of a log of git.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// The names of folders of a repository that lie in the folder that the repository is known by.
const INNER: [&str; 2] = [".git", ".bare"];

/// A repository, from a folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of the work tree that the folder is in; of a bare repository, itself.
    pub(super) top: PathBuf,
    /// The folder of git that all its work trees share. It need not exist, as in a container that
    /// has only one work tree.
    pub(super) common: PathBuf,
    /// True if the work tree is one that `git worktree add` made.
    pub(super) is_linked: bool,
}

impl Repository {
    /// The nearest repository that a folder without links is in, or of which it is a part; none if it
    /// is in none.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Repository::at)
    }

    /// The repository with that top, or that folder of git.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let own = |common: PathBuf| Repository {
            top: folder.to_owned(),
            common: common.canonicalize().unwrap_or(common),
            is_linked: false,
        };
        let git = folder.join(".git");
        if git.is_dir() {
            return Some(own(git));
        }
        if git.is_file() {
            return Some(named_in(folder, &git).unwrap_or_else(|| own(git)));
        }
        let bare = folder.join(".bare");
        let common = [bare.as_path(), folder];
        common
            .into_iter()
            .find(|common| is_folder_of_git(common))
            .map(|common| own(common.to_owned()))
    }

    /// The folder that the repository is known by: the one that holds its folder of git as `.git` or
    /// `.bare`, or names it in a file `.git`; or else the folder of git.
    pub(super) fn place(&self) -> &Path {
        let is_inner = |parent: &&Path| {
            let name = self.common.file_name().unwrap_or_default();
            INNER.iter().any(|inner| *inner == name)
                || named_by(&parent.join(".git"))
                    .and_then(|named| named.canonicalize().ok())
                    .is_some_and(|named| named == self.common)
        };
        self.common
            .parent()
            .filter(is_inner)
            .unwrap_or(&self.common)
    }

    /// The name of the folder of its main work tree, or of a bare repository without its `.git`.
    pub(super) fn name(&self) -> String {
        let name_of = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        // A folder of git may lie elsewhere than its one work tree, as that of a submodule does.
        if !self.is_linked && self.top != self.common {
            return name_of(&self.top);
        }
        let place = self.place();
        if place != self.common {
            return name_of(place);
        }
        let configuration = self.configuration();
        if let Some(top) = core_value(&configuration, "worktree") {
            return name_of(&native(Path::new(&top)));
        }
        let name = name_of(&self.common);
        name.strip_suffix(".git")
            .filter(|name| !name.is_empty())
            .map_or(name.clone(), str::to_owned)
    }

    /// Where its commits come from and go to: the remote `origin`, or else the first one. None if
    /// it has none; nor has a bare repository one that lies on this machine, because clones come
    /// from it.
    pub(super) fn remote(&self) -> Option<Remote> {
        let configuration = self.configuration();
        let all = entries(&configuration);
        let mut urls = all.iter().filter(|entry| entry.is("remote.", "url"));
        let is_origin = |entry: &&Entry| entry.section == "remote.origin";
        let url = urls.clone().find(is_origin).or_else(|| urls.next())?;
        let remote = Remote::of(&url.value, &self.top)?;
        (!is_bare(&configuration) || matches!(remote, Remote::OnServer(_))).then_some(remote)
    }

    /// The first commit, if it was made in this repository and git still has it in its log.
    pub(super) fn root_commit(&self) -> Option<String> {
        let log = self.common.join("logs").join("HEAD");
        let file = plain_file::open(&log, Links::Refused).ok()?;
        let mut bytes = Vec::new();
        file.take(LINE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let (ids, message) = text.lines().next()?.split_once('\t')?;
        let mut ids = ids.split(' ');
        let is_first = ids.next()?.bytes().all(|digit| digit == b'0');
        let commit = ids.next()?;
        let is_id = commit.len() >= 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
        (is_first && is_id && message.starts_with("commit (initial)")).then(|| commit.to_owned())
    }

    /// The text of its configuration; empty if another user could have written it.
    fn configuration(&self) -> String {
        text_of_own(&self.common.join("config")).unwrap_or_default()
    }
}

/// The folder that a file `.git` names; none if there is no such file.
fn named_by(git: &Path) -> Option<PathBuf> {
    let text = text_of_own(git)?;
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    Some(git.parent()?.join(native(Path::new(named))))
}

/// The repository that the file `.git` in a folder names; none if git would not have written it there.
fn named_in(top: &Path, git: &Path) -> Option<Repository> {
    let own = named_by(git)?;
    let Ok(own) = own.canonicalize() else {
        return away(top, &own);
    };
    let repository = |common: PathBuf, is_linked| Repository {
        top: top.to_owned(),
        common,
        is_linked,
    };
    let path_in = |name: &str| {
        let text = text_of(&own.join(name), Links::Refused).ok().flatten()?;
        Some(own.join(native(Path::new(text.trim_end()))))
    };
    if let Some(common) = path_in("commondir") {
        let common = common.canonicalize().ok()?;
        let is_registered = own.parent() == Some(&common.join("worktrees"));
        // A work tree that was moved by hand is still known by where it was.
        let is_back = path_in("gitdir").is_some_and(|back| match back.canonicalize() {
            Ok(back) => git.canonicalize().is_ok_and(|git| git == back),
            Err(error) => super::is_gone(&error),
        });
        return (is_registered && is_back).then(|| repository(common, true));
    }
    let repository = repository(own, false);
    let common = &repository.common;
    let is_of_another = common.file_name().is_some_and(|name| name == ".git");
    let configuration = repository.configuration();
    let is_back = match core_value(&configuration, "worktree") {
        Some(path) => {
            let path = common.join(native(Path::new(&path)));
            path.canonicalize().is_ok_and(|path| path == top)
        }
        None => !is_bare(&configuration) || common.parent() == Some(top),
    };
    (is_folder_of_git(common) && !is_of_another && is_back).then_some(repository)
}

/// The repository of a work tree whose folder of git is not there; none if only that of the work tree
/// is missing.
fn away(top: &Path, own: &Path) -> Option<Repository> {
    let (parent, is_linked) = match own.parent() {
        Some(parent) if parent.file_name().is_some_and(|name| name == "worktrees") => {
            (parent.parent()?, true)
        }
        _ => (own, false),
    };
    (!parent.exists()).then(|| Repository {
        top: top.to_owned(),
        common: parent.to_owned(),
        is_linked,
    })
}

/// True for what git takes for a repository; see gitrepository-layout(5).
fn is_folder_of_git(folder: &Path) -> bool {
    folder.join("HEAD").is_file()
        && ["objects", "refs"]
            .iter()
            .all(|name| folder.join(name).is_dir())
}

fn is_bare(configuration: &str) -> bool {
    core_value(configuration, "bare").is_some_and(|value| is_true(&value))
}

/// The text of a file that this user or root owns, and no other may write.
fn text_of_own(path: &Path) -> Option<String> {
    let bytes = plain_file::read_own(path, FILE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the mark that tells a folder from others on this machine, under whatever name: when it
/// was made and, where the system says so, its number. None where the system does not keep when it
/// was made.
pub(super) fn mark_of(folder: &Path) -> Option<String> {
    let metadata = fs::metadata(folder).ok()?;
    let made = metadata
        .created()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    (!made.is_zero()).then(|| format!("{number}:{}", made.as_nanos()))
}
