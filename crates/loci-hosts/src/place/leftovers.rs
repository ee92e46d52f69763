//! Files that a killed process leaves beside the files of hosts.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_vault::disk::{FileState, Folder};
use loci_vault::short_hash;

use super::replacement::{NO_HASH, discard, put_back};
use super::{Lock, Place, Reach, contents, lock, parent, work_tree};
use crate::HOSTS;
use crate::host::{Host, Scope};
use crate::machine::Machine;

/// The mark in the name of each file that loci makes beside another.
const MARK: &str = ".loci-";
/// The age at which a temporary file counts as left behind, where folders have no locks.
const AGE: Duration = Duration::from_mins(10);
/// The digits of a token or a hash in a name.
const DIGITS: usize = 16;

/// A file that lies beside a file of a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// The file.
    pub file: PathBuf,
    /// True if it has text that another program wrote, which only its user may delete.
    pub is_of_others: bool,
}

impl fmt::Display for Leftover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        if self.is_of_others {
            write!(
                formatter,
                "{file} has what another program wrote into a settings file in the instant in which loci changed it; \
                 compare the two, and delete it"
            )
        } else {
            write!(
                formatter,
                "{file} is left over from a change by loci; `loci doctor --fix` clears it, and so does the next \
                 `loci connect`"
            )
        }
    }
}

/// The purpose of a temporary file, and the file that it is for.
enum Temporary<'a> {
    /// It is being written.
    Draft,
    /// It is exchanged: the name of the file, and the short hashes of the old and the new text.
    Swap(&'a str, [&'a str; 2]),
}

/// Returns the purpose of a file by its name; `None` if it is not temporary.
fn temporary(name: &str) -> Option<Temporary<'_>> {
    let is_hexadecimal =
        |text: &str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (target, rest) = name.strip_prefix('.')?.rsplit_once(MARK)?;
    if let Some(token) = rest.strip_suffix(".new") {
        return is_hexadecimal(token).then_some(Temporary::Draft);
    }
    let (token, hashes) = rest.strip_suffix(".swap")?.split_once('-')?;
    let (old, new) = hashes.split_once('-')?;
    let is_ours = [token, old, new].into_iter().all(is_hexadecimal);
    is_ours.then_some(Temporary::Swap(target, [old, new]))
}

/// Returns true if the file is of no use once no command runs: it is temporary, or a copy of a file
/// that is the same, since the change after the copy was not made or is undone.
fn is_of_no_use(folder: &Folder, name: &str) -> bool {
    if temporary(name).is_some() {
        return true;
    }
    let bytes = |name: &str| contents(&folder.open_file(name)?).map(|(_, bytes)| bytes);
    copied(name).is_some_and(|target| match (bytes(name), bytes(target)) {
        (Ok(copy), Ok(there)) => copy == there,
        _ => false,
    })
}

/// Returns the name of the file that a copy is of; `None` if the file is no copy.
fn copied(name: &str) -> Option<&str> {
    let (target, number) = name.rsplit_once(".loci-backup-")?;
    number.parse::<u32>().is_ok().then_some(target)
}

fn is_recovered(name: &str) -> bool {
    name.rsplit_once(".loci-recovered-")
        .is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// Clears the files of killed processes in a folder. Returns the names of files with text
/// of other programs. A file that cannot be cleared stays until the next time.
pub(super) fn sweep_folder(folder: &Folder, lock: Lock) -> Vec<String> {
    let names = match lock {
        Lock::Busy => Vec::new(),
        Lock::Held | Lock::Unsupported => folder.names().unwrap_or_default(),
    };
    let is_left = |name: &String| lock == Lock::Held || is_old(folder, name);
    names
        .iter()
        .filter(|name| is_of_no_use(folder, name) && is_left(name))
        .filter_map(|name| clear(folder, name).ok()?)
        .collect()
}

fn is_old(folder: &Folder, name: &str) -> bool {
    let modified = folder
        .open_file(name)
        .and_then(|file| file.metadata()?.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > AGE))
}

/// Clears a file that is of no use. A text that another program wrote in the middle of an exchange gets its
/// name back, or a visible one.
fn clear(folder: &Folder, name: &str) -> io::Result<Option<String>> {
    let is_file = folder.is_file(name)?;
    match temporary(name) {
        None if is_file => folder.remove(name).map(|()| None),
        Some(Temporary::Draft) if is_file => folder.remove(name).map(|()| None),
        Some(Temporary::Swap(target, hashes)) if is_file => {
            let is_known = |bytes: &[u8]| hashes.contains(&short_hash(bytes).as_str());
            let (_, bytes) = contents(&folder.open_file(name)?)?;
            if !is_known(&bytes) {
                restore(folder, name, target, hashes[1])?;
            }
            discard(folder, name, target, is_known)
        }
        _ => Ok(None),
    }
}

/// Gives a text of another program that a killed process displaced its name back, if loci's text
/// still has it.
fn restore(folder: &Folder, swap: &str, target: &str, new: &str) -> io::Result<()> {
    match folder.open_file(target) {
        Ok(file) => {
            let (metadata, bytes) = contents(&file)?;
            if short_hash(&bytes) == new {
                put_back(folder, target, swap, FileState::from(&metadata))?;
            }
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && new == NO_HASH => {
            folder.rename_to_free(swap, target)
        }
        Err(error) => Err(error),
    }
}

/// Returns the files that lie beside the files of hosts, of the user and of a project, because a
/// command of loci was killed or another program wrote at the same time.
pub fn leftovers(machine: &Machine, project: &Path) -> Vec<Leftover> {
    let mut found = BTreeSet::new();
    for place in places(machine, project) {
        let folder = parent(&place.real);
        for name in place.folder.names().unwrap_or_default() {
            let is_of_others = is_recovered(&name);
            if is_of_others || is_of_no_use(&place.folder, &name) {
                let file = folder.join(name);
                found.insert(Leftover { file, is_of_others });
            }
        }
    }
    found.into_iter().collect()
}

/// Clears what killed commands left beside the files of hosts, of the user and of a project.
/// Returns the files with text of other programs that were kept.
pub fn sweep(machine: &Machine, project: &Path) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    for place in places(machine, project) {
        let names = place.folder.names().unwrap_or_default();
        if !names.iter().any(|name| is_of_no_use(&place.folder, name)) {
            continue;
        }
        let swept = sweep_folder(&place.folder, lock(&place.folder)).into_iter();
        kept.extend(swept.map(|name| parent(&place.real).join(name)));
    }
    kept
}

/// Returns a place in each folder that is there and has files of hosts.
fn places(machine: &Machine, project: &Path) -> Vec<Place> {
    let tree = work_tree(project, &machine.home);
    let files = |host: &&'static Host, scope| {
        let hooks = (scope == Scope::User)
            .then(|| host.hooks_file_on(machine))
            .flatten();
        [
            host.servers_file(machine, scope, project),
            host.instructions_file(machine, scope, project),
            hooks,
        ]
    };
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    for (scope, reach) in [
        (Scope::User, Reach::Everywhere),
        (Scope::Project, Reach::Within(&tree)),
    ] {
        for file in HOSTS.iter().flat_map(|host| files(host, scope)).flatten() {
            let Ok(place) = Place::find(&file, reach) else {
                continue;
            };
            if place.missing.is_empty() && seen.insert(parent(&place.real).to_owned()) {
                places.push(place);
            }
        }
    }
    places
}
