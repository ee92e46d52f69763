//! `loci doctor --fix`: repairs what can be rebuilt. Changes no text.

use std::fs;
use std::io;
use std::path::Path;

use loci_core::{Clock, Repair};

use super::{Finding, Verdict, failed, place, rebuild};
use crate::corruption;
use crate::exit::Exit;
use crate::output::moment;
use crate::settings::Settings;
use crate::wiring::{Parts, SystemClock};

/// Reports each repair, with the failures among them.
pub fn run(settings: &Settings) -> Vec<Finding> {
    let data = &settings.data;
    if !data.is_dir() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (path, mode) in place::open_to_others(data) {
        let shown = path.display();
        findings.push(outcome(
            "permissions",
            set_mode(&path, mode),
            format!("chmod {mode:o} '{shown}'"),
        ));
    }
    if !settings.store_for(data).holds_store() {
        return findings;
    }
    if rebuild::is_corrupt(settings) {
        findings.extend(rebuild::run(settings));
    }
    // If the store does not open, the checks report why.
    let Ok(parts) = Parts::open(settings) else {
        return findings;
    };
    let files = settings.store_files();
    let leftovers = files.map(|files| place::leftovers(&*files));
    for path in leftovers.unwrap_or_default() {
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        findings.push(outcome(
            "leftovers",
            removed,
            format!("removed {}", path.display()),
        ));
    }
    let (mut repaired, needs_rebuild) = repair(&parts);
    drop(parts);
    if needs_rebuild {
        repaired.extend(rebuild::run(settings));
    }
    let is_repaired = repaired
        .iter()
        .all(|(_, verdict, _)| !matches!(verdict, Verdict::Fail(_)));
    findings.extend(repaired);
    // A write may land on what can still be read of corrupt rows.
    if !is_repaired {
        return findings;
    }
    let Ok(parts) = Parts::open(settings) else {
        return findings;
    };
    match parts.engine.background().retry_failed() {
        Ok(0) => {}
        Ok(retried) => {
            let why = format!("{retried} memories that could not be judged are tried again");
            findings.push(("enrichment", Verdict::Done, why));
        }
        Err(error) => findings.push(failed("enrichment", error.into())),
    }
    findings.extend(reconcile(&parts));
    findings
}

/// Reads the notes that people changed.
fn reconcile(parts: &Parts) -> Option<Finding> {
    const WHAT: &str = "notes";
    if !parts.vault.is_kept {
        return None;
    }
    match parts.system().notes().reconcile() {
        Ok(done) if done.indexed + done.moved + done.removed > 0 => {
            let why = format!(
                "indexed {}, moved {}, removed {}",
                done.indexed, done.moved, done.removed
            );
            Some((WHAT, Verdict::Done, why))
        }
        Ok(_) => None,
        Err(error) => Some(failed(WHAT, error.into())),
    }
}

/// Trusts the clock, since the user says that it is right.
pub fn trust_clock(settings: &Settings) -> Finding {
    const WHAT: &str = "clock";
    match Parts::open_existing(settings)
        .and_then(|parts| Ok(parts.engine.background().trust_clock()?))
    {
        Ok(()) => (
            WHAT,
            Verdict::Done,
            format!("it is trusted to be {}", moment(SystemClock.now())),
        ),
        Err(failure) => failed(WHAT, failure),
    }
}

/// Repairs what can be repaired in place; returns also whether a rebuild is needed.
fn repair(parts: &Parts) -> (Vec<Finding>, bool) {
    const WHAT: &str = "database";
    let repaired = match parts.store.integrity_check() {
        Ok(problems) if corruption::faults(&problems).next().is_none() => {
            return (Vec::new(), false);
        }
        Ok(_) => parts.store.repair(),
        Err(error) => Err(error),
    };
    match repaired {
        Ok(Repair {
            done,
            needs_rebuild,
        }) => {
            let finding = |tried| match tried {
                Ok(done) => (WHAT, Verdict::Done, done),
                // The rebuild mends it.
                Err(problem) if needs_rebuild => (WHAT, Verdict::Warn, problem),
                Err(problem) => (WHAT, Verdict::Fail(Exit::Database), problem),
            };
            (done.into_iter().map(finding).collect(), needs_rebuild)
        }
        Err(error) => (vec![failed(WHAT, error.into())], false),
    }
}

fn outcome(what: &'static str, outcome: io::Result<()>, done: String) -> Finding {
    match outcome {
        Ok(()) => (what, Verdict::Done, done),
        Err(error) => (
            what,
            Verdict::Fail(Exit::DataFolder),
            format!("not {done}: {error}"),
        ),
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
