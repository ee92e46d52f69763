//! Files the own memory of a host: what it wrote down by itself, and what people told it in files. Its
//! files are only read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorCode, HOST_MEMORY, Visibility};
use loci_dialects::mempalace;
use loci_engine::{ImportBatch, Parts};
use loci_hosts::{HostMemory, Machine, MemoryFile, MemoryPlace, without_block};
use loci_mine::conversation;
use loci_mine::project::{self, ProjectFiles};

use crate::project::{Filing, file_all};
use crate::trust::Trust;
use crate::wings::Wings;
use crate::{Progress, Report, absolute, in_utf8};

/// The number of transcripts beside notes of a project that are asked for its folder.
const TRANSCRIPTS_MAX: usize = 20;

/// The own memory of a host to file, and how.
pub struct Mining<'a> {
    /// The host.
    pub host: &'a HostMemory,
    /// The machine that has the files.
    pub machine: &'a Machine,
    /// A file, the folder of a project, the host's folder of the user, or the home folder.
    pub path: &'a Path,
    /// The plans that the user agreed to.
    pub trust: &'a Trust,
    /// The import that the drawers are part of.
    pub batch: Option<&'a ImportBatch>,
    /// True if nothing is stored, and only the outcome reported.
    pub is_dry: bool,
    /// True if texts that were forgotten are filed, too.
    pub files_again: bool,
}

/// Files the own memory of a host at a path. Files that have not changed are not read; of a changed
/// one, sections that are the same stay the same drawers.
///
/// The files of a project are common and in its wing. Those in a folder of the user are private: notes
/// about a project in its wing, all others in none.
///
/// # Errors
/// `invalid_argument` if the path cannot be read, or nothing of the host is there and nothing was filed
/// from there before; failures of the store.
pub fn mine(
    parts: &Parts<'_>,
    mining: &Mining<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let path = PathBuf::from(absolute(mining.path)?);
    let mut report = Report::default();
    for place in mining.host.at(mining.machine, &path) {
        report.join(mine_place(parts, mining, place, progress)?);
    }
    if report.files + report.gone == 0 {
        let HostMemory { title, name, .. } = mining.host;
        let message = format!(
            "{} has no memory of {title} that loci reads ({}); name the folder of a project, the user's folder of {title}, or \
             a file, or let `loci import --detect` find it for --from {name}",
            mining.path.display(),
            mining.host.looked_for(),
        );
        return Err(Error::new(ErrorCode::InvalidArgument, message));
    }
    Ok(report)
}

fn mine_place(
    parts: &Parts<'_>,
    mining: &Mining<'_>,
    place: MemoryPlace,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let MemoryPlace {
        root,
        is_users,
        files,
        passed_over,
    } = place;
    let rooms: BTreeMap<PathBuf, &'static str> = files
        .iter()
        .map(|(path, file)| (path.clone(), file.room.name()))
        .collect();
    let room_of = |path: &Path| rooms.get(path).copied().unwrap_or_default().to_owned();
    let is_dry = mining.is_dry || files.is_empty();
    let wings = Wings::new(parts, mining.trust, is_dry);
    let base = if is_users {
        mempalace::GLOBAL_WING.to_owned()
    } else {
        wings.of(&root)?
    };
    let mut by_wing = by_wing(&wings, &base, files)?;
    if let Some(files) = by_wing.get_mut(&base) {
        files.passed_over = passed_over;
    }
    let root = in_utf8(root)?;
    let mut report = Report {
        apart: wings.apart(),
        ..Report::default()
    };
    for (wing, files) in by_wing {
        let filing = Filing {
            root: &root,
            wing: &wing,
            format: HOST_MEMORY,
            room_of: &room_of,
            trimmed,
            visibility: if is_users {
                Visibility::Private
            } else {
                Visibility::Common
            },
            batch: mining.batch,
            is_dry: mining.is_dry,
            rereads: mining.files_again,
            files_again: mining.files_again,
            is_verbatim: false,
        };
        let is_empty = files.files.is_empty() && files.passed_over.is_empty();
        let mut filed = file_all(parts, &filing, files, progress)?;
        if is_empty && filed.gone == 0 {
            filed.wings = BTreeSet::new();
        }
        report.join(filed);
    }
    Ok(report)
}

/// Returns the files by the wings that they are filed in: that of the project which they are about, if
/// it is told, or else `base`, which is among them.
fn by_wing(
    wings: &Wings<'_>,
    base: &str,
    files: BTreeMap<PathBuf, MemoryFile>,
) -> Result<BTreeMap<String, ProjectFiles>, Error> {
    let mut by_wing = BTreeMap::from([(base.to_owned(), ProjectFiles::default())]);
    let mut known: HashMap<PathBuf, String> = HashMap::new();
    for (path, MemoryFile { stamp, project, .. }) in files {
        let wing = match project {
            None => base.to_owned(),
            Some(named) if known.contains_key(&named) => known[&named].clone(),
            Some(named) => {
                let folder = folder_of(&named, &path);
                let wing =
                    folder.map_or_else(|| Ok(base.to_owned()), |folder| wings.of(&folder))?;
                known.insert(named, wing.clone());
                wing
            }
        };
        by_wing.entry(wing).or_default().files.push((path, stamp));
    }
    Ok(by_wing)
}

/// Returns the text without the instructions that loci put there; nothing if only these are in it.
fn trimmed(text: &str) -> Cow<'_, str> {
    let text = without_block(text);
    if text.trim().is_empty() {
        Cow::Borrowed("")
    } else {
        text
    }
}

/// Returns the folder of the project that a file is about, in a folder that is named after the project:
/// the one that the host notes beside it, the first one that a transcript in that folder names, or the
/// one that the name stands for.
fn folder_of(named: &Path, file: &Path) -> Option<PathBuf> {
    let is_absolute = |folder: &String| project::is_absolute(folder);
    let noted = conversation::folder(file).ok().flatten();
    let told = noted.filter(is_absolute).or_else(|| {
        let mut transcripts: Vec<PathBuf> = fs::read_dir(named)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        transcripts.sort_unstable();
        let mut folders = transcripts
            .iter()
            .take(TRANSCRIPTS_MAX)
            .filter_map(|path| conversation::folder(path).ok().flatten());
        folders.find(is_absolute)
    });
    told.map(PathBuf::from)
        .or_else(|| project::folder_named(named.file_name()?.to_str()?))
}
