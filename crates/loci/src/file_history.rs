//! The former texts of files of settings, from before loci changed them: its own, and the ones of hosts.
//! Each change is a file in the data folder that only its owner can read, because settings may hold keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_archive::files::{create_private_folder, write_new_privately};
use loci_core::{Clock, Timestamp};
use loci_hosts::{FileChange, observe_file_changes};
use serde::{Deserialize, Serialize};

use crate::wiring::SystemClock;

/// The folder of the changes, in the data folder.
const FOLDER: &str = "settings-history";
/// The bits of a change's number below its microsecond.
const NUMBER_BITS: u32 = 10;
/// The most changes of one microsecond and process.
const PLACES_MAX: u32 = 1_000;

/// A change of a file of settings, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptChange {
    /// The number of the command that made it, by which all its changes are taken back.
    pub change: u64,
    /// The time, in microseconds since 1970.
    at: i64,
    /// The command, e.g. `connect`.
    pub tool: String,
    /// The file.
    pub path: PathBuf,
    /// Its text before; `None` if it was not there.
    pub before: Option<String>,
    /// Its text after; `None` if it was removed.
    pub after: Option<String>,
}

impl KeptChange {
    /// Returns the time.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_microseconds(self.at)
    }
}

/// Keeps every change of a file of settings that this command makes, for so many seconds; 0 is for ever.
pub fn keep_file_changes(data: &Path, tool: &'static str, kept_seconds: u64) {
    let folder = data.join(FOLDER);
    let change = number_of(SystemClock.now());
    observe_file_changes(Box::new(move |made| {
        if let Err(error) = keep(&folder, tool, change, made) {
            tracing::warn!(%error, path = %made.path.display(), "what the file was before is not kept");
        }
        if let Err(error) = remove_old(&folder, SystemClock.now(), kept_seconds) {
            tracing::debug!(%error, "old versions of files of settings were not removed");
        }
    }));
}

fn number_of(now: Timestamp) -> u64 {
    let low = u64::from(std::process::id()) & ((1 << NUMBER_BITS) - 1);
    now.microseconds().cast_unsigned() << NUMBER_BITS | low
}

fn keep(folder: &Path, tool: &str, change: u64, made: FileChange<'_>) -> io::Result<()> {
    let before = made
        .before
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let kept = KeptChange {
        change,
        at: SystemClock.now().microseconds(),
        tool: tool.to_owned(),
        path: made.path.to_owned(),
        before,
        after: made.after.map(str::to_owned),
    };
    if kept.before == kept.after {
        return Ok(());
    }
    create_private_folder(folder)?;
    let bytes = serde_json::to_vec(&kept)?;
    for place in 0..PLACES_MAX {
        let name = format!("{:016x}-{place:03}.json", kept.at);
        match write_new_privately(&folder.join(name), &bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => return written,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn remove_old(folder: &Path, now: Timestamp, kept_seconds: u64) -> io::Result<()> {
    let Some(seconds) = i64::try_from(kept_seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
    else {
        return Ok(());
    };
    let first = format!("{:016x}", now.plus_seconds(-seconds).microseconds());
    for path in paths(folder)? {
        let is_old = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().as_ref() < &*first);
        if is_old {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns the files of changes, the first change first.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the changes that are kept, the last one first. What cannot be read is left out.
///
/// # Errors
/// The folder cannot be read.
pub fn kept_changes(data: &Path) -> io::Result<Vec<KeptChange>> {
    let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
    let changes = paths(&data.join(FOLDER))?.into_iter().rev();
    Ok(changes.filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_privately_in_their_order_and_for_their_time() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(FOLDER);
        assert_eq!(kept_changes(data.path()).unwrap(), []);
        let file = Path::new("/somewhere/settings.json");
        let change = |before: Option<&'static str>, after| FileChange {
            path: file,
            before: before.map(str::as_bytes),
            after,
        };
        keep(&folder, "connect", 7, change(None, Some("{}"))).unwrap();
        keep(&folder, "connect", 7, change(Some("{}"), Some("{}"))).unwrap();
        keep(&folder, "model", 8, change(Some("{}"), None)).unwrap();
        let kept = kept_changes(data.path()).unwrap();
        let told: Vec<_> = kept
            .iter()
            .map(|it| {
                (
                    it.change,
                    &*it.tool,
                    it.before.as_deref(),
                    it.after.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (8, "model", Some("{}"), None),
                (7, "connect", None, Some("{}"))
            ]
        );
        #[cfg(unix)]
        for path in paths(&folder).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let later = kept[0].at().plus_seconds(100);
        remove_old(&folder, later, 0).unwrap();
        remove_old(&folder, later, 101).unwrap();
        assert_eq!(kept_changes(data.path()).unwrap().len(), 2);
        remove_old(&folder, later, 99).unwrap();
        assert_eq!(kept_changes(data.path()).unwrap(), []);
    }
}
