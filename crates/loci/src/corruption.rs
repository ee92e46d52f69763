//! A corrupt database: how to tell it from other failures, and how to recover.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use loci_core::{Problem, ProblemKind};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// The folder in the data folder with the copies from before upgrades, and the files that restores
/// replaced.
pub const BACKUPS: &str = "backups";
/// The file in the data folder that names the file of the last `loci backup`.
pub const LAST_BACKUP: &str = "last-backup";

/// The longest time for which a failed command looks for corruption; reading a large database takes
/// longer.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest number of findings that a sentence names; `loci doctor` shows all.
const FINDINGS_NAMED_MAX: usize = 2;

/// Returns the failure of a command, or one that reports a corrupt database, if the database is
/// corrupt and the failure may come from that.
pub fn explained(failure: Failure, settings: &Settings) -> Failure {
    let may_be_damage = matches!(
        failure.exit,
        Exit::DataFolder | Exit::Database | Exit::Failure
    ) && !failure.message.is_empty();
    let location = settings.store_for(&settings.data);
    let has_files = location
        .files()
        .is_ok_and(|files| files.database().is_file());
    if !may_be_damage || !has_files {
        return failure;
    }
    let (sender, findings) = mpsc::channel();
    // Without a thread nothing is found; a check that takes too long ends with the process.
    let _ = std::thread::Builder::new().spawn(move || {
        let problems = location
            .open()
            .ok()
            .and_then(|store| store.integrity_check().ok());
        let _ = sender.send(problems.unwrap_or_default());
    });
    let problems = findings.recv_timeout(LOOK_TIMEOUT).unwrap_or_default();
    // Without a finding, no record is corrupt, or the check took too long.
    told(&problems, settings).unwrap_or(failure)
}

/// Returns the failure of a command that cannot go on with these problems; `None` if no record is
/// corrupt.
pub fn told(problems: &[Problem], settings: &Settings) -> Option<Failure> {
    let damage: Vec<_> = damages(problems).collect();
    if damage.is_empty() {
        return None;
    }
    let more = damage.len().saturating_sub(FINDINGS_NAMED_MAX);
    let named = damage[..damage.len() - more].join("; ");
    let more = if more > 0 {
        format!("; {more} more, see `loci doctor`")
    } else {
        String::new()
    };
    let message = format!(
        "the database is damaged ({named}{more}): {}",
        recovery_advice(settings)
    );
    Some(Failure::new(Exit::Database, message))
}

/// Returns the corruption among these problems, without what can be rebuilt.
pub fn damages(problems: &[Problem]) -> impl Iterator<Item = &str> {
    problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Damaged)
        .map(|problem| problem.text.as_str())
}

/// The problems that a repair or a rebuild mends, of these.
pub fn faults(problems: &[Problem]) -> impl Iterator<Item = &str> {
    problems
        .iter()
        .filter(|problem| problem.kind != ProblemKind::Foreign)
        .map(|problem| problem.text.as_str())
}

/// Returns the definitions among these problems that loci did not make.
pub fn foreign(problems: &[Problem]) -> impl Iterator<Item = &str> {
    problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Foreign)
        .map(|problem| problem.text.as_str())
}

/// The ways out for a user whose database is corrupt.
pub fn recovery_advice(settings: &Settings) -> String {
    let store = settings.store_for(&settings.data);
    if store.is_shared() {
        return format!(
            "restore {} from a backup of the server, or by `loci restore` into another schema (docs/postgres.md)",
            store.shown()
        );
    }
    format!(
        "stop loci and copy the folder {} before anything else; `loci doctor --fix` rebuilds the database from the rows \
         that are whole, and keeps the old one; {}",
        store.shown(),
        restore(settings)
    )
}

/// The ways out where a rebuild did not help.
pub fn manual_recovery_advice(settings: &Settings) -> String {
    format!(
        "`loci doctor --salvage FILE` writes the records that are whole into a file for `loci import --follow`; {}",
        restore(settings)
    )
}

fn restore(settings: &Settings) -> String {
    match newest_backup(settings) {
        Some((backup, _)) => {
            let backup = backup.display();
            format!(
                "{backup} is the newest backup, which `loci restore '{backup}' --replace` brings back"
            )
        }
        None => format!(
            "there is no backup in {}, but you may have one elsewhere",
            backups(settings).display()
        ),
    }
}

/// The folder of the copies that loci makes by itself.
fn backups(settings: &Settings) -> PathBuf {
    let folder = settings
        .store_files()
        .map(|files| files.folder().to_owned());
    folder
        .unwrap_or_else(|_| settings.data.clone())
        .join(BACKUPS)
}

/// Returns the newest known backup, with its time.
pub fn newest_backup(settings: &Settings) -> Option<(PathBuf, SystemTime)> {
    known_backups(settings).pop()
}

/// Returns the backups in the folders of backups, and the one that `loci backup` wrote last, each
/// with its time, the oldest first.
pub fn known_backups(settings: &Settings) -> Vec<(PathBuf, SystemTime)> {
    let folders = BTreeSet::from([backups(settings), settings.data.join(BACKUPS)]);
    let there = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path());
    let whole = there.filter(|path| {
        let is_copy = path.extension().is_some_and(|ending| ending == "db")
            && path.file_stem().is_some_and(|stem| stem != "unfinished");
        is_copy || path.extension().is_some_and(|ending| ending == "tar")
    });
    let last = fs::read_to_string(settings.data.join(LAST_BACKUP))
        .ok()
        .map(PathBuf::from);
    let files: BTreeSet<PathBuf> = whole.chain(last).collect();
    let dated = files.into_iter().filter_map(|path| {
        let metadata = path.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((path, metadata.modified().ok()?))
    });
    let mut dated: Vec<_> = dated.collect();
    dated.sort_by_key(|(_, modified)| *modified);
    dated
}
