//! A corrupt database: how to tell it from other failures, and how to recover.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use loci_core::Error;
use loci_store_sqlite::{DAMAGED_LOG, LogState, Problem, ProblemKind, SqliteStore, look_at_log};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// The name of the store's file, for people.
pub const DATABASE: &str = "loci.db";
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
    if !may_be_damage || !settings.data.join(DATABASE).is_file() {
        return failure;
    }
    // Opening the database would repair the log, and the user may need its content.
    if let Some(Ok(state)) = log_of_nobody(&settings.data)
        && state.hides_commits
    {
        let problem = state.problem().unwrap_or_default();
        let message = format!(
            "{}; {problem}: {}",
            failure.message,
            way_out_of_log(&settings.data)
        );
        return Failure::new(Exit::Database, message);
    }
    let (sender, findings) = mpsc::channel();
    let (data, options) = (settings.data.clone(), settings.store);
    // Without a thread nothing is found; a check that takes too long ends with the process.
    let _ = std::thread::Builder::new().spawn(move || {
        let problems = SqliteStore::open(&data, options)
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
        way_out(&settings.data)
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

/// Returns the definitions among these problems that loci did not make.
pub fn foreign(problems: &[Problem]) -> impl Iterator<Item = &str> {
    problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Foreign)
        .map(|problem| problem.text.as_str())
}

/// Returns the state of the write-ahead log of a store that no process has open; `None` if one has,
/// or there is no database.
pub fn log_of_nobody(data: &Path) -> Option<Result<LogState, Error>> {
    let database = data.join(DATABASE);
    let _alone = database
        .exists()
        .then(|| SqliteStore::lock_alone(data).ok())
        .flatten()?;
    Some(look_at_log(&database))
}

/// Describes how to recover from a corrupt write-ahead log.
pub fn way_out_of_log(data: &Path) -> String {
    format!(
        "`loci doctor --salvage FILE` writes what still reads into a file; any other command keeps database and log in \
         {}, and goes on with what comes before the damage",
        data.join(BACKUPS).join(format!("{DAMAGED_LOG}…")).display()
    )
}

/// Returns the folders in which databases and their corrupt logs were kept.
pub fn kept_logs(data: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(data.join(BACKUPS))
        .into_iter()
        .flatten()
        .flatten();
    let kept = folder.filter(|entry| entry.file_name().to_string_lossy().starts_with(DAMAGED_LOG));
    let mut kept: Vec<_> = kept.map(|entry| entry.path()).collect();
    kept.sort_unstable();
    kept
}

/// Describes how to recover from a corrupt database.
pub fn way_out(data: &Path) -> String {
    let shown = data.display();
    let restore = match newest_backup(data) {
        Some((backup, _)) => {
            let backup = backup.display();
            format!(
                "{backup} is the newest backup, which `loci restore '{backup}' --replace` brings back"
            )
        }
        None => format!(
            "there is no backup in {}, but you may have one elsewhere",
            data.join(BACKUPS).display()
        ),
    };
    format!(
        "stop loci and copy the folder {shown} before anything else; `loci doctor --salvage FILE` writes what still \
         reads into a file for `loci import`; {restore}"
    )
}

/// Returns the newest known backup, with its time.
pub fn newest_backup(data: &Path) -> Option<(PathBuf, SystemTime)> {
    let folder = fs::read_dir(data.join(BACKUPS))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let whole = folder.filter(|path| {
        path.extension().is_some_and(|extension| extension == "db")
            && path.file_stem().is_some_and(|stem| stem != "unfinished")
    });
    let last = fs::read_to_string(data.join(LAST_BACKUP))
        .ok()
        .map(PathBuf::from);
    let dated = whole.chain(last).filter_map(|path| {
        let modified = path
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok()?;
        Some((path, modified))
    });
    dated.max_by_key(|(_, modified)| *modified)
}
