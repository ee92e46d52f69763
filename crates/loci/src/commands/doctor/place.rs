//! Checks of the data folder: its files, their permissions, its disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indicatif::DecimalBytes;
use loci_core::{Clock, Holder, StoreFiles};

use super::{Finding, Verdict};
use crate::commands::backup::free_bytes;
use crate::corruption::{BACKUPS, newest_backup};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::store_replacement::STAGING;
use crate::wiring::SystemClock;

/// The free space below which writes will soon fail.
const FREE_BYTES_MIN: u64 = 100 << 20;
/// The age from which on no living process can be writing a temporary file.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);
/// The extensions of temporary files.
const TEMPORARY: [&str; 3] = ["draft", "part", "tmp"];
/// The largest number of paths that a finding names.
const NAMED_MAX: usize = 10;

pub fn folder(data: &Path) -> Finding {
    const WHAT: &str = "data folder";
    let shown = data.display();
    let Ok(metadata) = fs::metadata(data) else {
        return (
            WHAT,
            Verdict::Warn,
            format!("{shown} does not exist yet; the first command that needs it makes it"),
        );
    };
    if !metadata.is_dir() {
        let why = format!("{shown} is no folder; choose another with --data");
        return (WHAT, Verdict::Fail(Exit::DataFolder), why);
    }
    let probe = data.join(format!("doctor.{}.tmp", std::process::id()));
    let written = fs::write(&probe, b"loci doctor");
    // Also what a full disk left empty.
    let removed = fs::remove_file(&probe);
    let written = written.and(removed);
    if let Err(error) = written {
        let why = format!(
            "{shown} cannot be written ({error}); correct its permissions or free some space"
        );
        return (WHAT, Verdict::Fail(Exit::DataFolder), why);
    }
    (WHAT, Verdict::Ok, format!("{shown} can be written"))
}

/// Reports the other processes that have the store open, if there are any.
pub fn processes(settings: &Settings) -> Option<Finding> {
    let holders = settings.store_files().ok()?.holders();
    (!holders.is_empty()).then(|| {
        (
            "processes",
            Verdict::Ok,
            format!("it is open in {}", listed(&holders)),
        )
    })
}

/// Returns the message of a failure, with the processes that lock others out of the store.
pub fn naming_holders(settings: &Settings, message: String) -> String {
    let files = settings.store_files();
    let mut holders = files.map(|files| files.holders()).unwrap_or_default();
    holders.retain(|holder| holder.keeps_others_out);
    if holders.is_empty() {
        message
    } else {
        format!("{message}; the lock is held by {}", listed(&holders))
    }
}

fn listed(holders: &[Holder]) -> String {
    let mut names: Vec<_> = holders
        .iter()
        .take(NAMED_MAX)
        .map(Holder::to_string)
        .collect();
    names.extend(
        holders
            .len()
            .checked_sub(NAMED_MAX + 1)
            .map(|more| format!("{} more", more + 1)),
    );
    names.join(", ")
}

/// Returns why no notes can be written into their folder, if it exists. Writes nothing to find out,
/// since other processes watch it.
#[cfg(unix)]
pub fn unwritable(folder: &Path) -> Option<String> {
    use rustix::fs::{Access, access};
    let refused = access(folder, Access::WRITE_OK | Access::EXEC_OK).err()?;
    let why = || {
        let (shown, refused) = (folder.display(), std::io::Error::from(refused));
        format!(
            "no note can be written into {shown} ({refused}); correct its permissions, or those of its disk"
        )
    };
    (refused != rustix::io::Errno::NOENT).then(why)
}

#[cfg(not(unix))]
pub fn unwritable(_folder: &Path) -> Option<String> {
    None
}

pub fn disk(files: &dyn StoreFiles) -> Option<Finding> {
    let free_bytes = free_bytes(files.folder())?;
    let free = DecimalBytes(free_bytes);
    let kind = files
        .file_system()
        .map_or_else(String::new, |kind| format!(" on {kind}"));
    Some(if free_bytes < FREE_BYTES_MIN {
        (
            "disk",
            Verdict::Warn,
            format!("only {free} are free{kind}; free some space before writes fail"),
        )
    } else {
        ("disk", Verdict::Ok, format!("{free} are free{kind}"))
    })
}

/// Returns the paths that should be accessible only to the owner of the data folder and are not,
/// with the permissions that they should have. The folder of notes may have the permissions that
/// its owner likes. Of `backups` only the folder is checked, since users who may not enter it
/// cannot reach its files, some of which may come from the notes. Links are not followed.
#[cfg(unix)]
pub fn open_to_others(data: &Path) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt;
    // The data folder itself may be reached through a link.
    let data = &data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let entries = fs::read_dir(data).into_iter().flatten().flatten();
    let files = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path());
    let wrong = [data.to_owned()]
        .into_iter()
        .chain(files)
        .chain([data.join(BACKUPS)])
        .filter_map(|path| {
            let metadata = path
                .symlink_metadata()
                .ok()
                .filter(|metadata| !metadata.is_symlink())?;
            let mode = metadata.permissions().mode() & 0o777;
            let needed = if metadata.is_dir() { 0o700 } else { 0o600 };
            let right = (mode | needed) & 0o700;
            (mode != right).then_some((path, right))
        });
    wrong.collect()
}

/// Warns if others can read the file with the password of the server. The way out is for the user
/// to choose: such a file may belong to another program.
#[cfg(unix)]
pub fn password_file(settings: &Settings) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let file = settings.store.server.password_file.as_deref()?;
    let mode = file.metadata().ok()?.permissions().mode();
    let why = || {
        let shown = file.display();
        format!(
            "others can read {shown}, which holds the password of the server (`store_password_file`): chmod 600 '{shown}'"
        )
    };
    (mode & 0o077 != 0).then(|| ("permissions", Verdict::Warn, why()))
}

#[cfg(not(unix))]
pub fn password_file(_settings: &Settings) -> Option<Finding> {
    None
}

#[cfg(not(unix))]
pub fn open_to_others(_data: &Path) -> Vec<(PathBuf, u32)> {
    Vec::new()
}

pub fn permissions(data: &Path) -> Vec<Finding> {
    const WHAT: &str = "permissions";
    let wrong = open_to_others(data);
    if wrong.is_empty() {
        return vec![(
            WHAT,
            Verdict::Ok,
            "the data folder and its files are yours alone".to_owned(),
        )];
    }
    let row = |(path, mode): (PathBuf, u32)| {
        let shown = path.display();
        let mut why =
            format!("others can read or write {shown}, or you cannot: chmod {mode:o} '{shown}'");
        if path.file_name().is_some_and(|name| name == "token") {
            why += ", and revoke the token if others could read it";
        }
        (WHAT, Verdict::Warn, why)
    };
    let more = wrong.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| {
        (
            WHAT,
            Verdict::Warn,
            format!("and {more} more: `loci doctor --fix` mends all"),
        )
    });
    wrong
        .into_iter()
        .take(NAMED_MAX)
        .map(row)
        .chain(more)
        .collect()
}

/// Returns the files of processes that ended in the middle of an operation. While the store can be
/// opened, no restore runs.
pub fn leftovers(files: &dyn StoreFiles) -> Vec<PathBuf> {
    let data = files.folder();
    let now = Duration::from_micros(SystemClock.now().microseconds().max(0).cast_unsigned());
    let is_old = |path: &PathBuf| {
        let modified = path
            .symlink_metadata()
            .and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| modified + LEFTOVER_AGE < SystemTime::UNIX_EPOCH + now)
    };
    let entries = fs::read_dir(data)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let temporary = entries.filter(|path| {
        path.is_file()
            && path
                .extension()
                .is_some_and(|end| TEMPORARY.iter().any(|temporary| end == *temporary))
    });
    let unfinished = ["unfinished.db", "unfinished.db-journal", "unfinished-log"]
        .map(|name| data.join(BACKUPS).join(name));
    let staging = (!files.restore_mark().exists()).then(|| data.join(STAGING));
    temporary
        .chain(unfinished)
        .chain(staging)
        .filter(is_old)
        .collect()
}

pub fn leftovers_finding(files: &dyn StoreFiles) -> Option<Finding> {
    let leftovers = leftovers(files);
    let mut names: Vec<_> = leftovers
        .iter()
        .take(NAMED_MAX)
        .map(|path| path.display().to_string())
        .collect();
    names.extend(
        leftovers
            .len()
            .checked_sub(NAMED_MAX + 1)
            .map(|more| format!("and {} more", more + 1)),
    );
    let why = || {
        format!(
            "left by processes that were ended: {}; `loci doctor --fix` removes them",
            names.join(", ")
        )
    };
    (!names.is_empty()).then(|| ("leftovers", Verdict::Warn, why()))
}

/// Reports the age of the newest backup.
pub fn backups(settings: &Settings) -> Finding {
    const WHAT: &str = "backup";
    let Some((path, made)) = newest_backup(settings) else {
        return (
            WHAT,
            Verdict::Ok,
            "none is known: make one with `loci backup FILE`".to_owned(),
        );
    };
    let now = SystemTime::UNIX_EPOCH
        + Duration::from_micros(SystemClock.now().microseconds().max(0).cast_unsigned());
    let hours = now.duration_since(made).unwrap_or_default().as_secs() / 3_600;
    let age = if hours < 48 {
        format!("{hours} hours")
    } else {
        format!("{} days", hours / 24)
    };
    (
        WHAT,
        Verdict::Ok,
        format!("the newest that is known is {}, {age} old", path.display()),
    )
}
