//! The backups that the page lists, and their restoring into a new folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use loci_archive::files::{create_private_folder, write_privately};
use loci_core::{Clock, Error, Result, Timestamp};
use loci_page::{BackupFile, CommandOutput, RestoreReport};

use super::not_started;
use crate::commands::backup::DRAFT;
use crate::corruption::{BACKUPS, known_backups};
use crate::exit::Failure;
use crate::own_program::OwnProgram;
use crate::secret;
use crate::settings::{CONFIG_FLAG, Settings};
use crate::time_format;
use crate::wiring::SystemClock;

/// The folder in the data folder with the backups that people restored to look at them.
const RESTORED: &str = "restored";
/// The folder of the notes of such a backup.
const NOTES: &str = "vault";

/// Returns the known backups, the last one first.
pub(super) fn kept(settings: &Settings) -> Vec<BackupFile> {
    let shown = |(file, modified): (PathBuf, SystemTime)| {
        let since_1970 = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let made_at = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        BackupFile::new(name(&file), Timestamp::from_microseconds(made_at), bytes)
    };
    known_backups(settings)
        .into_iter()
        .rev()
        .map(shown)
        .collect()
}

/// Returns the bytes of the backups that are being written.
pub(super) fn draft_bytes(settings: &Settings) -> u64 {
    let files = fs::read_dir(settings.data.join(BACKUPS));
    let drafts = files.into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().ends_with(DRAFT)
    });
    drafts
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

/// Returns the command that makes a backup with the day in its name, e.g. for a line of `cron`.
pub(super) fn command(settings: &Settings) -> String {
    let folder = std::path::absolute(settings.data.join(BACKUPS));
    let folder = folder.unwrap_or_else(|_| settings.data.join(BACKUPS));
    let folder = quoted(&folder.to_string_lossy());
    if cfg!(windows) {
        return format!("loci backup {folder}\\%DATE%.tar");
    }
    // A percent sign ends a command of `cron`.
    format!("0 3 * * * loci backup {folder}/$(date +\\%F).tar")
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Restores a backup into a new folder in the data folder, with its store and its notes there,
/// whatever the settings name.
pub(super) fn restore(settings: &Settings, backup: &str) -> Result<RestoreReport> {
    let (file, _) = known_backups(settings)
        .into_iter()
        .rev()
        .find(|(file, _)| name(file) == backup)
        .ok_or_else(|| Error::not_found(format!("there is no backup `{backup}`")))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let now = time_format::format(SystemClock.now()).replace(':', "-");
    let folder = settings
        .data
        .join(RESTORED)
        .join(format!("{stem}-at-{now}"));
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    create_private_folder(&folder)
        .map_err(|error| Error::unavailable(format!("no folder can be made for it: {error}")))?;
    let program = OwnProgram::new(settings)
        .map_err(|failure: Failure| Error::unavailable(failure.message))?;
    let output = Command::new(&program.file)
        .arg("restore")
        .arg(&file)
        .args(places(&program, &folder))
        .stdin(Stdio::null())
        .output()
        .map_err(not_started)?;
    let said = CommandOutput {
        succeeded: output.status.success(),
        text: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    };
    if !said.succeeded {
        let _ = fs::remove_dir_all(&folder);
        return Ok(RestoreReport {
            said,
            folder: None,
            look: None,
            replace: None,
        });
    }
    // So that `loci page` lets the owner in there, too.
    if let Ok(token) = fs::read_to_string(secret::file_in(&settings.data)) {
        let _ = write_privately(&secret::file_in(&folder), token.as_bytes());
    }
    let is_shared = settings.store_for(&settings.data).is_shared();
    Ok(RestoreReport {
        said,
        look: Some(look(settings, &program, &folder)),
        replace: (!is_shared).then(|| replace(&program, &file)),
        folder: Some(folder.display().to_string()),
    })
}

/// Returns the flags that name the places of a restored folder, and the file of settings.
fn places(program: &OwnProgram, folder: &Path) -> Vec<String> {
    let notes = folder.join(NOTES);
    let [folder, notes] = [folder, &notes].map(|path| path.to_string_lossy().into_owned());
    let mut words = ["--data", &folder, "--store", &folder, "--vault", &notes]
        .map(str::to_owned)
        .to_vec();
    let named = program
        .places
        .iter()
        .filter(|(flag, _)| *flag == CONFIG_FLAG);
    words.extend(named.flat_map(|(flag, value)| [format!("--{flag}"), value.clone()]));
    words
}

/// Returns the command that opens a page on a restored folder, on the next port.
fn look(settings: &Settings, program: &OwnProgram, folder: &Path) -> String {
    let port = settings.bind.port().checked_add(1).unwrap_or(1024);
    let words: Vec<_> = places(program, folder)
        .iter()
        .map(|word| quoted(word))
        .collect();
    let places = words.join(" ");
    if cfg!(windows) {
        format!("loci serve --bind 127.0.0.1:{port} {places}")
    } else {
        format!("LOCI_BIND=127.0.0.1:{port} loci page {places}")
    }
}

/// Returns the command that puts a backup in the place of the store of this program.
fn replace(program: &OwnProgram, file: &Path) -> String {
    let mut command = format!("loci restore {} --replace", quoted(&file.to_string_lossy()));
    for (flag, value) in &program.places {
        command += &format!(" --{flag} {}", quoted(value));
    }
    command
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,+=@%".contains(&byte);
    if word.bytes().all(is_plain) {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
