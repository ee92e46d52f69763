//! The wing that a project has. Its name is a label: the first project of a name has the wing of
//! that name, and another one gets a wing of its own.
//!
//! Which project has which wing is kept in the store, as a setting of the local user
//! ([ADR 64](../../../docs/adr/0064-a-project-is-its-repository.md)).

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{Error, Result, SourceFile};
use loci_dialects::mempalace;
use loci_engine::Parts;
use loci_mine::conversation;
use loci_mine::project::{Project, local_folder};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::is_transcript;
use crate::project::FORMAT;
use crate::trust::{Trust, WingSource};

/// The setting with the wings of projects.
const PROJECTS: &str = "project_wings";
/// The most spots and worktrees that are known of a project, the latest.
const SPOTS_MAX: usize = 16;
const WORKTREES_MAX: usize = 32;
/// The most transcripts that are read to find out whose an older wing is.
const TRANSCRIPTS_MAX: usize = 200;

/// A wing that a project has because another project has the wing of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WingConflict {
    /// The wing of the project.
    pub wing: String,
    /// The name that both projects have, and wing of the other one.
    pub name: String,
    /// The path of the project.
    pub place: String,
}

impl WingConflict {
    /// Returns a sentence about it for a person.
    pub fn sentence(&self) -> String {
        let WingConflict { wing, name, place } = self;
        format!(
            "the wing \"{name}\" is that of another project of this name, so what concerns {place} is in the wing \
             \"{wing}\"; `loci palace init` and `loci palace trust` set another one"
        )
    }
}

/// A project and its wing, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    wing: String,
    spots: Vec<ProjectFolder>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    worktrees: Vec<Worktree>,
}

/// A folder of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ProjectFolder {
    /// The machine that has the folder; empty for the one that the store lies on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    machine: String,
    /// The path; empty if the folder is one of another project by now.
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root_commit: Option<String>,
    #[serde(default)]
    is_repository: bool,
    /// True if the folder was there.
    #[serde(default)]
    is_here: bool,
}

/// A worktree of a project beside the main one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Worktree {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    machine: String,
    path: String,
}

/// Returns true if a machine is this one, or was that of a store in files that was copied here.
fn is_this(machine: &str, this: &str) -> bool {
    machine.is_empty() || machine == this
}

/// Returns true for a remote on a server, which each machine knows by the same name.
fn is_on_server(remote: &str) -> bool {
    !remote.starts_with('/')
}

impl Entry {
    fn new(wing: String, project: &Project, machine: &str) -> Self {
        let mut entry = Entry {
            wing,
            spots: Vec::new(),
            worktrees: Vec::new(),
        };
        entry.note(project, machine);
        entry
    }

    /// Adds what is known of a project; returns true if that is new.
    fn note(&mut self, project: &Project, machine: &str) -> bool {
        let mut is_new = false;
        let spot = ProjectFolder {
            machine: machine.to_owned(),
            path: project.place.clone(),
            mark: project.mark.clone(),
            remote: project.remote.clone(),
            root_commit: project.root_commit.clone(),
            is_repository: project.is_repository,
            is_here: project.is_here,
        };
        let known = self
            .spots
            .iter()
            .position(|known| is_this(&known.machine, machine) && known.path == spot.path);
        match known {
            Some(at) => {
                let known = &mut self.spots[at];
                // The known facts stay known of a folder that cannot be looked at now, and a log of
                // git forgets its first line.
                let root_commit = spot.root_commit.clone().or(known.root_commit.clone());
                let spot = ProjectFolder {
                    root_commit,
                    ..spot
                };
                if project.is_here && *known != spot {
                    *known = spot;
                    is_new = true;
                }
            }
            // Of what is gone, the path of the project is enough.
            None if project.is_here || self.spots.is_empty() => {
                self.spots.push(spot);
                is_new = true;
            }
            None => {}
        }
        let worktree = project.worktree.as_ref();
        if let Some(path) = worktree.filter(|_| project.is_repository) {
            let is_known =
                |known: &Worktree| is_this(&known.machine, machine) && known.path == *path;
            if !self.worktrees.iter().any(is_known) {
                self.worktrees.push(Worktree {
                    machine: machine.to_owned(),
                    path: path.clone(),
                });
                is_new = true;
            }
        }
        let drop_first = self.spots.len().saturating_sub(SPOTS_MAX);
        self.spots.drain(..drop_first);
        let drop_first = self.worktrees.len().saturating_sub(WORKTREES_MAX);
        self.worktrees.drain(..drop_first);
        is_new
    }

    /// Forgets that a folder was one of this project, because it is one of another by now. Its
    /// remote stays known, by which a later clone is found.
    fn leave(&mut self, project: &Project, machine: &str) {
        for spot in &mut self.spots {
            if is_this(&spot.machine, machine) && spot.path == project.place {
                (spot.path, spot.mark) = (String::new(), None);
            }
        }
        self.spots
            .retain(|spot| !spot.path.is_empty() || spot.remote.is_some());
    }
}

/// Returns the place of the entry that is of a project.
///
/// The remote decides first, because all clones of one are a project, then the folder itself,
/// whatever it is called by now, then its path.
fn position(entries: &[Entry], project: &Project, machine: &str) -> Option<usize> {
    let by = |is_of: &dyn Fn(&ProjectFolder) -> bool| {
        let is_it = |entry: &Entry| entry.spots.iter().any(is_of);
        entries.iter().position(is_it)
    };
    let here = |spot: &ProjectFolder| is_this(&spot.machine, machine);
    let by_remote = project.remote.as_ref().and_then(|remote| {
        let same = |spot: &ProjectFolder| {
            spot.remote.as_ref() == Some(remote) && (is_on_server(remote) || here(spot))
        };
        by(&same).or_else(|| by(&|spot| here(spot) && spot.path == *remote))
    });
    by_remote
        .or_else(|| by(&|spot| here(spot) && spot.remote.as_ref() == Some(&project.place)))
        .or_else(|| {
            let mark = project.mark.as_ref()?;
            by(&|spot| here(spot) && spot.mark.as_ref() == Some(mark))
        })
        .or_else(|| {
            let may_be = |spot: &ProjectFolder| {
                let is_unseen = !project.is_here || !spot.is_here;
                is_unseen || (spot.remote == project.remote && !differ(spot, project))
            };
            by(&|spot| here(spot) && spot.path == project.place && may_be(spot))
        })
        .or_else(|| gone(entries, project, machine))
        .or_else(|| moved(entries, project, machine))
}

/// Returns true if two repositories do not start with the same commit.
fn differ(spot: &ProjectFolder, project: &Project) -> bool {
    let both = spot.root_commit.as_ref().zip(project.root_commit.as_ref());
    both.is_some_and(|(one, other)| one != other)
}

/// The entry of a folder that is not there any more: a worktree, or one below a repository.
fn gone(entries: &[Entry], project: &Project, machine: &str) -> Option<usize> {
    if project.is_here {
        return None;
    }
    let path = project.worktree.as_ref().unwrap_or(&project.place);
    let holds = |folder: &str| !folder.is_empty() && Path::new(path).starts_with(folder);
    let is_it = |entry: &Entry| {
        let mut worktrees = entry.worktrees.iter();
        let mut spots = entry.spots.iter();
        worktrees.any(|one| is_this(&one.machine, machine) && holds(&one.path))
            || spots
                .any(|one| is_this(&one.machine, machine) && one.is_repository && holds(&one.path))
    };
    entries.iter().position(is_it)
}

/// The entry of a repository without remote that lay elsewhere before.
fn moved(entries: &[Entry], project: &Project, machine: &str) -> Option<usize> {
    let root = project.root_commit.as_ref()?;
    if project.remote.is_some() {
        return None;
    }
    let is_left = |spot: &ProjectFolder| {
        spot.remote.is_none()
            && spot.root_commit.as_ref() == Some(root)
            // The other one may be a copy that has become a project of its own.
            && !(is_this(&spot.machine, machine) && local_folder(Path::new(&spot.path)).exists())
    };
    entries
        .iter()
        .position(|entry| entry.spots.iter().any(is_left))
}

/// Finds the wings of folders, and keeps what it finds.
pub struct Wings<'a> {
    parts: &'a Parts<'a>,
    trust: &'a Trust,
    /// True if nothing is stored.
    is_dry: bool,
    known: RefCell<HashMap<PathBuf, String>>,
    /// The records that would be stored.
    drafts: RefCell<Option<Vec<Entry>>>,
    apart: RefCell<BTreeSet<WingConflict>>,
}

impl<'a> Wings<'a> {
    /// Finds wings for an parts, by the plans that count. Stores nothing if `is_dry`.
    pub fn new(parts: &'a Parts<'a>, trust: &'a Trust, is_dry: bool) -> Self {
        Wings {
            parts,
            trust,
            is_dry,
            known: RefCell::default(),
            drafts: RefCell::default(),
            apart: RefCell::default(),
        }
    }

    /// Returns the wing of a folder: that of the nearest plan that the user agreed to, in it or above
    /// it up to the top of its repository; or that of its project. Notes once for each plan that is
    /// not used why, and once for each project that gets another wing than that of its name.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be used.
    pub fn of(&self, folder: &Path) -> Result<String> {
        if let Some(wing) = self.known.borrow().get(folder) {
            return Ok(wing.clone());
        }
        let choice = self.trust.choice(folder);
        let wing = self.of_source(&choice.source)?;
        self.trust.say_passed_over(&choice, &wing);
        self.known
            .borrow_mut()
            .insert(folder.to_owned(), wing.clone());
        Ok(wing)
    }

    /// Returns the wing of a source, and keeps it as the one of its project.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn of_source(&self, source: &WingSource) -> Result<String> {
        let project = match source {
            WingSource::Name(name) => return Ok(name.clone()),
            WingSource::Project(project) => project,
        };
        let machine = self.parts.sources().machine();
        let mut entries = self.entries()?;
        if let Some(at) = position(&entries, project, machine)
            && !entries[at].note(project, machine)
        {
            return Ok(entries[at].wing.clone());
        }
        if self.is_dry {
            let (wing, apart) = kept(self.parts, &mut entries, project)?;
            *self.drafts.borrow_mut() = Some(entries);
            self.say_apart(apart);
            return Ok(wing);
        }
        let mut found = None;
        // Two sessions that start at once must not both take a wing.
        let stored = self.parts.settings().note(|draft| {
            let mut entries = parsed(draft.get(PROJECTS)?);
            found = Some(kept(self.parts, &mut entries, project)?);
            draft.put(PROJECTS, text_of(entries))
        });
        match (found, stored) {
            (Some((wing, apart)), stored) => {
                self.say_apart(apart);
                if let Err(error) = stored {
                    // A store that cannot be written can still be read.
                    self.trust.say(format!(
                        "note: the wing of {} is not kept: {error}",
                        project.place
                    ));
                }
                Ok(wing)
            }
            (None, stored) => Err(stored
                .err()
                .unwrap_or_else(|| Error::internal("no wing was chosen"))),
        }
    }

    /// Returns the projects that got another wing than that of their name from these wings.
    pub fn apart(&self) -> BTreeSet<WingConflict> {
        self.apart.borrow().clone()
    }

    fn say_apart(&self, apart: Option<WingConflict>) {
        if let Some(apart) = apart {
            self.trust.say(format!("note: {}", apart.sentence()));
            self.apart.borrow_mut().insert(apart);
        }
    }

    fn entries(&self) -> Result<Vec<Entry>> {
        match &*self.drafts.borrow() {
            Some(drafts) => Ok(drafts.clone()),
            None => entries(self.parts),
        }
    }
}

/// Returns the wing of a source. Keeps nothing.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn wing_of(parts: &Parts<'_>, source: &WingSource) -> Result<String> {
    match source {
        WingSource::Name(name) => Ok(name.clone()),
        WingSource::Project(project) => {
            kept(parts, &mut entries(parts)?, project).map(|(wing, _)| wing)
        }
    }
}

/// Returns the value of the setting with these entries; the oldest ones go if there are too many.
fn text_of(mut entries: Vec<Entry>) -> String {
    let mut text = json!(entries).to_string();
    while text.len() > CONTENT_BYTES_MAX && !entries.is_empty() {
        entries.drain(..entries.len().div_ceil(8));
        text = json!(entries).to_string();
    }
    text
}

/// Adds to the entries that a project has its wing. Returns the wing, and what a person should know
/// about it.
fn kept(
    parts: &Parts<'_>,
    entries: &mut Vec<Entry>,
    project: &Project,
) -> Result<(String, Option<WingConflict>)> {
    let machine = parts.sources().machine();
    let known = position(entries, project, machine);
    for (at, entry) in entries.iter_mut().enumerate() {
        if project.is_here && Some(at) != known {
            entry.leave(project, machine);
        }
    }
    if let Some(at) = known {
        entries[at].note(project, machine);
        return Ok((entries[at].wing.clone(), None));
    }
    let wing = free(parts, entries, project)?;
    let is_own = wing.replace(' ', "_") == project.name.replace(' ', "_");
    let apart = (!is_own).then(|| WingConflict {
        wing: wing.clone(),
        name: project.name.clone(),
        place: project.place.clone(),
    });
    entries.push(Entry::new(wing.clone(), project, machine));
    Ok((wing, apart))
}

/// Returns a wing for a project that has none: the wing of its name if no other project has it, or
/// else a free one.
fn free(parts: &Parts<'_>, entries: &[Entry], project: &Project) -> Result<String> {
    let is_taken = |wing: &str| entries.iter().any(|entry| entry.wing == wing);
    let Project {
        name, full_name, ..
    } = project;
    let places = parts.listings().places()?;
    let is_there = |wing: &String| {
        let mut places = places.iter();
        places.any(|place| place.collection.as_ref() == Some(wing))
    };
    // Before, names had `_` for blanks.
    let former = name.replace(' ', "_");
    let is_former = former != *name && is_there(&former);
    for name in is_former.then_some(&former).into_iter().chain([name]) {
        if !is_taken(name) && !is_of_another(parts, name, project)? {
            return Ok(name.clone());
        }
    }
    let is_free = |wing: &String| !is_taken(wing) && !is_there(wing);
    let numbered = (2..).map(|number: u64| format!("{}_{number}", beginning(full_name)));
    let mut names = std::iter::once(full_name.clone()).chain(numbered);
    names
        .find(is_free)
        .ok_or_else(|| Error::internal("there are no numbers left"))
}

/// Returns true if a wing of before holds files of other projects that are there, and none of this
/// one. One that holds none is of the project that asks first.
fn is_of_another(parts: &Parts<'_>, wing: &str, project: &Project) -> Result<bool> {
    let machine = parts.sources().machine();
    let collection = mempalace::collection(wing);
    let files = parts.sources().source_files(collection.as_deref())?;
    let own = [Entry::new(wing.to_owned(), project, machine)];
    let is_mined = |file: &&SourceFile| file.format == FORMAT;
    let transcripts = files.iter().filter(|file| is_transcript(file));
    let files = files.iter().filter(is_mined);
    let (mut is_of_another, mut seen) = (false, HashSet::new());
    for file in files.chain(transcripts.take(TRANSCRIPTS_MAX)) {
        let folder = folder_of(file);
        if seen.contains(&folder) {
            continue;
        }
        let found = Project::of(Path::new(&folder));
        if position(&own, &found, machine).is_some() {
            return Ok(false);
        }
        is_of_another |= found.is_here;
        seen.insert(folder);
    }
    Ok(is_of_another)
}

/// Returns the folder that a file is about.
fn folder_of(file: &SourceFile) -> String {
    let named = if is_transcript(file) {
        conversation::folder(Path::new(&file.path)).ok().flatten()
    } else {
        None
    };
    named.unwrap_or_else(|| file.root.clone())
}

/// Returns the beginning of a name that has room for a number.
fn beginning(name: &str) -> &str {
    const CHARACTERS_MAX: usize = 120;
    let end = name.char_indices().nth(CHARACTERS_MAX);
    end.map_or(name, |(end, _)| &name[..end])
}

/// Returns the projects whose wings are known. A setting that cannot be read counts as empty.
fn entries(parts: &Parts<'_>) -> Result<Vec<Entry>> {
    Ok(parsed(parts.settings().get(PROJECTS)?))
}

fn parsed(text: Option<String>) -> Vec<Entry> {
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}
