//! The rebuild of a corrupt database: a fresh one with the rows that are whole is made beside it,
//! checked, and put in its place. The old one is kept.

use std::fs;

use loci_archive::backup::DATABASE;
use loci_core::{Clock, RebuildReport, SalvageReport};
use loci_keys::FILE as KEY_FILE;

use super::{Finding, Verdict, failed};
use crate::commands::backup::check_space;
use crate::corruption;
use crate::exit::{Exit, Failure};
use crate::output::moment;
use crate::settings::Settings;
use crate::store_replacement::{self, files_alone, stage, unusable};
use crate::wiring::SystemClock;

const WHAT: &str = "rebuild";
/// Losses that are named.
const LOST_NAMED_MAX: usize = 100;

/// Returns whether the database is there and so corrupt that it does not open.
pub fn is_corrupt(settings: &Settings) -> bool {
    settings.store_files().is_ok_and(|files| files.is_corrupt())
}

/// Rebuilds the database, and says what was lost.
pub fn run(settings: &Settings) -> Vec<Finding> {
    let (rebuilt, replaced) = match rebuild(settings) {
        Ok(rebuilt) => rebuilt,
        Err(failure) => return vec![failed(WHAT, failure)],
    };
    let SalvageReport {
        lost, lost_more, ..
    } = rebuilt.salvaged;
    let done = format!(
        "made a fresh database with {} memories from all rows that are whole; the old one is in {replaced}",
        rebuilt.memories
    );
    let named = lost.len().min(LOST_NAMED_MAX);
    let more = (lost.len() - named) as u64 + lost_more;
    let mut findings = vec![(WHAT, Verdict::Done, done)];
    findings.extend(
        lost.into_iter()
            .take(named)
            .map(|lost| ("lost", Verdict::Warn, lost)),
    );
    if more > 0 {
        let why =
            format!("{more} more; `loci doctor --salvage FILE --data '{replaced}'` names them");
        findings.push(("lost", Verdict::Warn, why));
    }
    findings
}

/// Rebuilds the database; returns also where the old one is.
fn rebuild(settings: &Settings) -> Result<(RebuildReport, String), Failure> {
    let (files, _alone) = files_alone(settings).map_err(|Failure { exit, message }| {
        Failure::new(exit, format!("the database must be rebuilt, and {message}"))
    })?;
    let data = files.folder().to_owned();
    let unwritable = |error| unusable(&data, &error);
    check_space(
        &data,
        files
            .database()
            .metadata()
            .map_or(0, |metadata| metadata.len()),
    )?;
    let staging = stage(&data).map_err(unwritable)?;
    let now = SystemClock.now();
    let rebuilt = files.rebuild(&staging.path().join(DATABASE), now)?;
    if !rebuilt.is_usable() {
        let problem = corruption::damages(&rebuilt.problems)
            .next()
            .unwrap_or("no row of loci was found in it");
        let message = format!(
            "the database cannot be rebuilt ({problem}), and was left as it is: {}",
            corruption::manual_recovery_advice(settings)
        );
        return Err(Failure::new(Exit::Database, message));
    }
    let key_file = data.join(KEY_FILE);
    let is_encrypted = key_file.exists();
    if is_encrypted {
        fs::copy(&key_file, staging.path().join(KEY_FILE)).map_err(unwritable)?;
    }
    let replaced = store_replacement::free_name(&data, &moment(now)).map_err(unwritable)?;
    let replacement = store_replacement::StoreReplacement {
        replaced: replaced.clone(),
        notes: data.clone(),
        aside: Vec::new(),
        is_encrypted,
    };
    // From here on it is done, now or at the next start of any loci.
    let _ = staging.keep();
    store_replacement::commit(&*files, &replacement)
        .and_then(|()| store_replacement::complete(&*files))
        .map_err(unwritable)?;
    Ok((rebuilt, data.join(replaced).display().to_string()))
}
