//! `loci doctor --fix`: repairs what can be rebuilt. Changes no text.

use std::fs;
use std::io;
use std::path::Path;

use loci_core::Clock;

use super::{Finding, Verdict, database, place};
use crate::damage;
use crate::exit::{Exit, Failure};
use crate::output::moment;
use crate::settings::Settings;
use crate::wiring::{Parts, SystemClock};

/// Reports each repair, with the failures among them.
pub fn run(settings: &Settings) -> Vec<Finding> {
    let data = &settings.data;
    if !data.is_dir() {
        return Vec::new();
    }
    // Opening the database changes the log, so this comes first.
    let mut findings: Vec<_> = database::log(data).into_iter().collect();
    if matches!(findings[..], [(_, Verdict::Fail(_), _)]) {
        // The checks report it.
        return Vec::new();
    }
    for (path, mode) in place::open_to_others(data) {
        let shown = path.display();
        findings.push(outcome(
            "permissions",
            set_mode(&path, mode),
            format!("chmod {mode:o} '{shown}'"),
        ));
    }
    // If the store does not open, the checks report why.
    let Ok(parts) = Parts::open(settings) else {
        return findings;
    };
    for path in place::leftovers(data) {
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
    let repaired = repair(&parts);
    let is_damaged = repaired
        .iter()
        .any(|(_, verdict, _)| matches!(verdict, Verdict::Fail(_)));
    findings.extend(repaired);
    // A write may overwrite what is still readable.
    if is_damaged {
        return findings;
    }
    match parts.engine.retry_failed() {
        Ok(0) => {}
        Ok(retried) => {
            let why = format!("{retried} memories that could not be judged are tried again");
            findings.push(("enrichment", Verdict::Done, why));
        }
        Err(error) => findings.push(failed("enrichment", error.into())),
    }
    match parts.engine.reconcile() {
        Ok(done) if done.indexed + done.moved + done.removed > 0 => {
            let why = format!(
                "indexed {}, moved {}, removed {}",
                done.indexed, done.moved, done.removed
            );
            findings.push(("notes", Verdict::Done, why));
        }
        Ok(_) => {}
        Err(error) => findings.push(failed("notes", error.into())),
    }
    findings
}

/// Trusts the clock, since the user says that it is right.
pub fn trust_clock(settings: &Settings) -> Finding {
    const WHAT: &str = "clock";
    match Parts::open(settings).and_then(|parts| Ok(parts.engine.trust_clock()?)) {
        Ok(()) => (
            WHAT,
            Verdict::Done,
            format!("it is trusted to be {}", moment(SystemClock.now())),
        ),
        Err(failure) => failed(WHAT, failure),
    }
}

fn repair(parts: &Parts) -> Vec<Finding> {
    const WHAT: &str = "database";
    match parts.store.integrity_check() {
        Ok(problems) if problems.is_empty() => Vec::new(),
        // A write into a corrupt file may overwrite what is still readable.
        Ok(problems) if damage::damages(&problems).next().is_some() => {
            let why = "it is damaged, and nothing in it was repaired: `loci doctor --salvage FILE` reads what still \
                       reads of it";
            vec![(WHAT, Verdict::Fail(Exit::Database), why.to_owned())]
        }
        Ok(_) => match parts.store.repair() {
            Ok(tried) => {
                let finding = |tried| match tried {
                    Ok(done) => (WHAT, Verdict::Done, done),
                    Err(problem) => (WHAT, Verdict::Fail(Exit::Database), problem),
                };
                tried.into_iter().map(finding).collect()
            }
            Err(error) => vec![failed(WHAT, error.into())],
        },
        Err(error) => vec![failed(WHAT, error.into())],
    }
}

fn failed(what: &'static str, failure: Failure) -> Finding {
    (what, Verdict::Fail(failure.exit), failure.message)
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
