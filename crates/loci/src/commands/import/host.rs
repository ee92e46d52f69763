//! `loci import` of a host's own memory: the notes and instructions that it keeps in files.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorCode};
use loci_hosts::{HOST_MEMORIES, HostMemory, Machine, MemoryPlace, host_memory};
use loci_ingest::host_memories::{self, Mining};
use loci_ingest::trust::Trust;
use serde_json::json;

use super::{IMPORT, begin_batch, embed_pending, finish_batch, tell_dry_run, way_back};
use crate::cli;
use crate::commands::palace::{filed_text, verdict};
use crate::exit::Failure;
use crate::output::{Output, notice};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

/// Returns the hosts whose own memory is on this machine, each with its folder: those of the user, and
/// the working folder if it is a project with files for a host. A file that several hosts read counts
/// for the first one.
pub(super) fn detected() -> Vec<(&'static str, PathBuf)> {
    let Some(machine) = Machine::here() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for host in &HOST_MEMORIES {
        let places = host.of_user(&machine).into_iter();
        let filled = places.filter(|place| !place.files.is_empty());
        found.extend(filled.map(|place| (host.name, place.root)));
    }
    let project = env::current_dir().and_then(|folder| folder.canonicalize());
    let is_home = |folder: &PathBuf| {
        machine
            .home
            .canonicalize()
            .is_ok_and(|home| home == *folder)
    };
    if let Ok(project) = project
        && !is_home(&project)
    {
        let mut taken: BTreeSet<PathBuf> = BTreeSet::new();
        for host in &HOST_MEMORIES {
            let MemoryPlace { files, .. } = host.of_project(&project);
            let before = taken.len();
            taken.extend(files.into_keys());
            if taken.len() > before {
                found.push((host.name, project.clone()));
            }
        }
    }
    found
}

/// Returns the host whose own memory the user named or, without a name, in whose folder of the user the
/// path is; `None` for any other path.
pub(super) fn of(arguments: &cli::Import, path: &Path) -> Option<&'static HostMemory> {
    if let Some(name) = &arguments.from {
        return host_memory(name);
    }
    let (machine, path) = (Machine::here()?, path.canonicalize().ok()?);
    let is_of = |host: &&HostMemory| {
        let mut places = host.of_user(&machine).into_iter();
        places.any(|place| {
            let mut files = place.files.keys();
            path.starts_with(&place.root) && files.any(|file| file.starts_with(&path))
        })
    };
    HOST_MEMORIES.iter().find(is_of)
}

/// Imports the own memory of a host at a path.
pub(super) fn import(
    settings: &Settings,
    arguments: &cli::Import,
    host: &HostMemory,
    path: &Path,
    output: Output,
) -> Result<(), Failure> {
    let machine = Machine::here().ok_or_else(|| {
        let message =
            "this user has no home folder, so it is not known where hosts keep their files";
        Error::new(ErrorCode::Unavailable, message)
    })?;
    let is_dry = arguments.dry_run;
    let trust = Trust::read(&settings.data, notice)?;
    let parts = Parts::open(settings)?;
    let (report, batch) = parts.logged_filing(IMPORT, |call| {
        let batch = begin_batch(call, arguments, host.name);
        let mining = Mining {
            host,
            machine: &machine,
            path,
            trust: &trust,
            batch: Some(&batch),
            is_dry,
            files_again: arguments.again,
        };
        let report = host_memories::mine(call, &mining, &Progress::new("files"))?;
        let id = finish_batch(call, &batch, report.drawers.added)?;
        Ok((report, id))
    })?;
    let mut value = report.value(is_dry);
    value["from"] = json!(host.name);
    let text = filed_text(&report, is_dry);
    if is_dry {
        tell_dry_run(value, text.trim_end(), output)?;
        return verdict(&report);
    }
    let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
    value["pending_embeddings"] = json!(pending);
    value["batch"] = json!(batch);
    let back = way_back(batch.as_deref());
    output.either(&value, format!("{text}{back}"))?;
    verdict(&report)
}
