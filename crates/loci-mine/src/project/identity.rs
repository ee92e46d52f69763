//! The project that a folder is of.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::path_text::{key, native};
use super::place_name;
use super::remote::Remote;
use super::repository::{Repository, mark_of};

/// Folders that hold the worktrees of agents, and which part of the path is the project: the one
/// before them, or the one behind. A worktree that is removed is known only by its path.
const WORKTREES: [(&str, Side); 6] = [
    ("/.claude/worktrees/", Side::Before),
    ("/.gemini/worktrees/", Side::Before),
    ("/.worktrees/", Side::Before),
    ("/.git/worktrees/", Side::Before),
    ("/.cursor/worktrees/", Side::Behind),
    ("/conductor/workspaces/", Side::Behind),
];

/// A side of a part of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
}

/// A project, with all that tells it from others: a repository of git with its worktrees, or a folder
/// that is in none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The name of its folder, as that of a wing. Other projects may have the same.
    pub name: String,
    /// A name that also says whose it is: with the owner of the remote, or the folder above.
    pub full_name: String,
    /// The path of its folder on this machine, or of a bare repository, in the form in which two
    /// paths of one folder are the same text. The folder need not exist.
    pub place: String,
    /// The mark that tells that folder from others on this machine if it is renamed; `None` if it
    /// does not exist, or the system does not tell.
    pub mark: Option<String>,
    /// The remote of its repository: `host/path` on a server, without user and password, or the place
    /// of a repository on this machine.
    pub remote: Option<String>,
    /// The first commit, of a repository that started here.
    pub root_commit: Option<String>,
    /// The path of the worktree that the folder is in, if it is not the main one, or of a folder that
    /// does not exist.
    pub worktree: Option<String>,
    /// True if it is a repository.
    pub is_repository: bool,
    /// True if what lies at its place can be looked at.
    pub is_here: bool,
}

impl Project {
    /// The project that a folder is of. The path may be one of another system, or of a folder that
    /// does not exist; then only the path tells the project.
    pub fn of(folder: &Path) -> Self {
        let folder = local_folder(folder);
        match Repository::of(&folder) {
            Some(repository) => Project::of_repository(&repository),
            None if folder.exists() => Project {
                mark: mark_of(&folder),
                is_here: true,
                ..Project::at(&key(&folder))
            },
            None => {
                let path = key(&folder);
                Project {
                    worktree: Some(path.clone()),
                    ..Project::at(without_worktree(&path))
                }
            }
        }
    }

    fn of_repository(repository: &Repository) -> Self {
        let place = repository.place();
        let remote = repository.remote();
        let owner = match &remote {
            Some(Remote::OnServer(remote)) => remote.rsplit('/').nth(1).map(str::to_owned),
            _ => None,
        };
        let known = Project::at(&key(place));
        let name = repository.name();
        let owner = owner.unwrap_or_else(|| above(&known.place));
        Project {
            full_name: full_name(&owner, &name),
            name: place_name(name.as_ref()),
            mark: mark_of(place),
            remote: remote.map(|remote| match remote {
                Remote::OnServer(remote) => remote,
                Remote::Here(path) => place_of_remote(&path),
            }),
            root_commit: repository.root_commit(),
            worktree: repository.is_linked.then(|| key(&repository.top)),
            is_repository: true,
            is_here: place.exists(),
            ..known
        }
    }

    /// The project of a folder about which nothing else is known.
    fn at(place: &str) -> Self {
        let name = place.rsplit('/').next().unwrap_or_default();
        Project {
            name: place_name(name.as_ref()),
            full_name: full_name(&above(place), name),
            place: place.to_owned(),
            mark: None,
            remote: None,
            root_commit: None,
            worktree: None,
            is_repository: false,
            is_here: false,
        }
    }
}

/// Returns the path of a folder on this machine: without links, as far as it exists. A path of
/// another system becomes that of the same folder here, where that is known.
pub fn local_folder(folder: &Path) -> PathBuf {
    let folder = native(folder);
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let there = folder.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        let below = folder.strip_prefix(above).ok()?;
        Some(if below.as_os_str().is_empty() {
            real
        } else {
            real.join(below)
        })
    });
    there.unwrap_or(folder)
}

/// The place of the repository that a remote names by a path, as git finds it.
fn place_of_remote(path: &str) -> String {
    let named = local_folder(Path::new(path));
    let with_ending = named.with_added_extension("git");
    let mut found = [&named, &with_ending].into_iter();
    let found = found.find_map(|path| Repository::at(path));
    key(found.as_ref().map_or(&named, Repository::place))
}

/// The path of the project of a worktree that was made by an agent's host, or the path itself.
fn without_worktree(path: &str) -> &str {
    for (folder, side) in WORKTREES {
        let Some(at) = path.find(folder) else {
            continue;
        };
        match side {
            Side::Before if at > 0 => return &path[..at],
            Side::Behind => {
                let start = at + folder.len();
                let end = path[start..]
                    .find('/')
                    .map_or(path.len(), |end| start + end);
                return &path[..end];
            }
            Side::Before => {}
        }
    }
    path
}

/// The name of the folder that a path is in; empty at the top.
fn above(place: &str) -> String {
    place.rsplit('/').nth(1).unwrap_or_default().to_owned()
}

fn full_name(owner: &str, name: &str) -> String {
    let name = place_name(name.as_ref());
    place_name(format!("{owner} {name}").as_ref())
}

#[cfg(test)]
mod tests;
