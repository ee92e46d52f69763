//! A damaged database: telling it apart from what else fails, and the way out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use loci_store_sqlite::{Options, SqliteStore};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// The names of the store's file and of its folder of backups, for people.
const DATABASE: &str = "loci.db";
const BACKUPS: &str = "backups";

/// How long a command that failed may look for damage; reading a large database takes longer.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Findings that a sentence names; `loci doctor` shows all.
const FINDINGS_NAMED_MAX: usize = 2;

/// The failure of a command; where that may come from a damaged database and the database is one,
/// a failure that says so.
pub fn explained(failure: Failure, settings: &Settings) -> Failure {
    let may_be_damage = matches!(failure.exit, Exit::DataFolder | Exit::Failure) && !failure.message.is_empty();
    if !may_be_damage || !settings.data.join(DATABASE).is_file() {
        return failure;
    }
    let (sender, findings) = mpsc::channel();
    let (data, options) = (settings.data.clone(), Options { busy_timeout: settings.busy_timeout });
    // Without a thread nothing is found; a look that takes too long ends with the process.
    let _ = std::thread::Builder::new().spawn(move || {
        let findings = SqliteStore::open(&data, options).ok().and_then(|store| store.integrity_check().ok());
        let _ = sender.send(findings.unwrap_or_default());
    });
    match findings.recv_timeout(LOOK_TIMEOUT) {
        Ok(findings) if !findings.is_empty() => {
            let more = findings.len().saturating_sub(FINDINGS_NAMED_MAX);
            let named = findings[..findings.len() - more].join("; ");
            let more = if more > 0 { format!("; {more} more, see `loci doctor`") } else { String::new() };
            let message = format!("the database is damaged ({named}{more}): {}", way_out(&settings.data));
            Failure::new(Exit::Database, message)
        }
        _ => failure,
    }
}

/// What somebody with a damaged database can do.
pub fn way_out(data: &Path) -> String {
    let shown = data.display();
    let restore = match newest_backup(data) {
        Some(backup) => format!(
            "{} is the newest backup: move {DATABASE}, {DATABASE}-wal and {DATABASE}-shm away and copy it there as \
             {DATABASE}",
            backup.display()
        ),
        None => format!("there is no backup in {}", data.join(BACKUPS).display()),
    };
    format!(
        "stop loci and copy the folder {shown} before anything else; `loci list --json`, with --limit and --offset, \
         saves what still reads; {restore}"
    )
}

fn newest_backup(data: &Path) -> Option<PathBuf> {
    let backups = fs::read_dir(data.join(BACKUPS)).ok()?.flatten().map(|entry| entry.path());
    let whole = backups.filter(|path| {
        path.extension().is_some_and(|extension| extension == "db")
            && path.file_stem().is_some_and(|stem| stem != "unfinished")
    });
    whole.max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok())
}
