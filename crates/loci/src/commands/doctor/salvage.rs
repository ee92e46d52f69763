//! `loci doctor --salvage`: writes the readable rows of a corrupt database into a file for `loci
//! import`.

use std::io::BufWriter;
use std::path::Path;

use loci_archive::{Export, JsonLines};
use loci_core::{Clock, OpenFault, SalvageReport};
use serde_json::json;

use crate::commands::backup::Target;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::store::open_failure;
use crate::vault::Vault;
use crate::wiring::SystemClock;

/// Writes the file. Ends with [`Exit::Database`] if anything is lost or may be.
pub fn run(settings: &Settings, file: &Path, output: Output) -> Result<(), Failure> {
    let target = Target::new(file)?;
    let files = settings.store_files()?;
    let (database, log) = (files.database(), files.log());
    if !database.exists() && !log.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        return Err(Failure::new(
            Exit::Usage,
            format!("there is no {}", database.display()),
        ));
    }
    let vault = Vault::of(settings, &settings.data)?;
    let _alone = match files.lock_exclusive() {
        // Where no lock can be made, no process writes either.
        Err(error) if error.fault == OpenFault::ReadOnly => None,
        alone => Some(alone.map_err(|error| open_failure(&error))?),
    };
    let draft = target.draft(".part")?;
    let now = SystemClock.now();
    let mut lines = JsonLines::as_of(BufWriter::new(draft.as_file()), now);
    let mut export = Export::new(vault.notes(), vault.folder.clone());
    let progress = Progress::new("memories");
    let salvaged = export.write(|visit| files.salvage(now, visit), &mut lines, &|| {
        progress.advance(1);
    })?;
    drop(progress);
    let salvaged = salvaged.map_err(|error| target.unwritable(&error))?;
    let counts = lines.counts().clone();
    let flushed = lines
        .finish()
        .map(drop)
        .and_then(|()| draft.as_file().sync_all());
    flushed.map_err(|error| target.unwritable(&error))?;
    target.put(draft)?;

    let is_whole = salvaged.is_whole();
    let SalvageReport {
        records,
        repeated,
        lost,
        lost_more,
        damage,
        damage_more,
    } = salvaged;
    let value = json!({
        "file": target.file,
        "records": counts,
        "repeated": repeated,
        "lost": lost,
        "lost_more": lost_more,
        "damage": damage,
        "damage_more": damage_more,
        "left_out": export.left_out,
    });
    let text = format!(
        "salvaged {records} records into {}; bring them back with `loci import --follow`\n",
        target.file.display()
    );
    output.either(&value, text)?;
    for what in &damage {
        status_line(format_args!("damage: {what}"));
    }
    if damage_more > 0 {
        status_line(format_args!("damage: {damage_more} more"));
    }
    for what in &lost {
        status_line(format_args!("lost: {what}"));
    }
    if lost_more > 0 {
        status_line(format_args!("lost: {lost_more} more"));
    }
    for problem in &export.left_out {
        status_line(format_args!("left out: {problem}"));
    }
    if is_whole && export.left_out.is_empty() {
        // A new database looks like this: its rows are only in the log.
        if records == 0 && !log.exists() {
            let log = log.display();
            status_line(format_args!(
                "nothing that was stored is in this database: if memories were in it, {log} is missing"
            ));
        }
        return Ok(());
    }
    Err(Failure::new(Exit::Database, ""))
}
