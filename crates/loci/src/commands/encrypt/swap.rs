//! Puts a copy of the database with another key in its place.
//!
//! The copy is made and checked in `restoring`, and goes into place as a restore does
//! (`store_replacement.rs`): whatever moment it is cut off at, the next command finds the old store
//! or the new one. The old database is removed only when the new one has opened.

use std::fs;

use loci_archive::backup::DATABASE;
use loci_archive::files::write_privately;
use loci_core::{Clock, InspectionReport};
use loci_keys::{DataKey, FILE, KeyFile, RecoveryKey};

use super::open_with;
use crate::commands::backup::check_space;
use crate::corruption::{damages, foreign};
use crate::exit::{Exit, Failure};
use crate::output::{moment, status_line};
use crate::settings::Settings;
use crate::store::{open_failure, recrypt};
use crate::store_replacement::{self, StoreReplacement, files_alone, stage, unusable};
use crate::vault::Vault;
use crate::wiring::{SystemClock, open_store};

/// Replaces the database, which has the first key, by a copy with the second; `None` is in the
/// clear.
///
/// # Errors
/// [`Exit::DataFolder`] if another process uses the store; [`Exit::Database`] if it is damaged. The
/// store is as it was then.
pub fn swap(
    settings: &Settings,
    old: Option<&DataKey>,
    new: Option<(&DataKey, &KeyFile)>,
    recovery: Option<&RecoveryKey>,
) -> Result<InspectionReport, Failure> {
    // Brought to this version, and its log moved into it.
    drop(open_store(settings, &settings.data)?);
    let vault = Vault::of(settings, &settings.data)?;
    let (files, alone) = files_alone(settings)?;
    let data = files.folder().to_owned();
    let bytes = files.database().metadata().map_or(0, |file| file.len());
    check_space(&data, 2 * bytes)?;
    let staging = stage(&data).map_err(|error| unusable(&data, &error))?;
    let copy = staging.path().join(DATABASE);
    let report = recrypt((&files.database(), old), (&copy, new.map(|(key, _)| key)))
        .map_err(|error| open_failure(&error))?;
    let problem = damages(&report.problems)
        .chain(foreign(&report.problems))
        .next();
    if let Some(problem) = problem {
        let message = format!("the database is damaged ({problem}): run `loci doctor --fix` first");
        return Err(Failure::new(Exit::Database, message));
    }
    if let Some((_, file)) = new {
        let path = staging.path().join(FILE);
        file.text()
            .and_then(|text| write_privately(&path, text.as_bytes()))
            .map_err(|error| unusable(&path, &error))?;
    }
    let now = moment(SystemClock.now());
    let replaced =
        store_replacement::free_name(&data, &now).map_err(|error| unusable(&data, &error))?;
    let notes =
        std::path::absolute(&vault.folder).map_err(|error| unusable(&vault.folder, &error))?;
    let replacement = StoreReplacement {
        replaced: replaced.clone(),
        notes,
        aside: Vec::new(),
        is_encrypted: new.is_some(),
    };
    let _ = staging.keep();
    store_replacement::commit(&*files, &replacement)
        .and_then(|()| store_replacement::complete(&*files))
        .map_err(|error| {
            let message =
                format!("this was cut off ({error}): the next loci command goes on with it");
            Failure::new(Exit::DataFolder, message)
        })?;
    drop(alone);
    open_with(settings, recovery)?;
    let old = data.join(&replaced);
    if let Err(error) = fs::remove_dir_all(&old) {
        status_line(format_args!(
            "warning: {}, the database from before, cannot be removed: {error}",
            old.display()
        ));
    }
    Ok(report)
}
