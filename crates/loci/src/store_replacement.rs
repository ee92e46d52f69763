//! Replaces the old store by the unpacked one, so that a crash at any instant leaves the old store
//! or the new one.
//!
//! 1. Before: everything lies in `restoring`, checked and durable. If the process ends here, the
//!    old store opens, and `restoring` is a leftover.
//! 2. [`commit`] writes `restoring/decided.json`, which names the moves. This one rename decides:
//!    from then on no loci opens the store before [`complete`] has ended.
//! 3. [`complete`] deletes the old index, and moves the old database with its log files into
//!    `replaced`, and the file of its key; only when that is durable, so that no program can ever apply the old log to the
//!    new database, it moves the new database in. Then note by note: the old file to `replaced`,
//!    the new one in. The files that still lie in `restoring` are not done yet, so that it can
//!    start again after any step.
//! 4. It deletes the mark: the new store opens.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_archive::backup::{DATABASE, NOTES, sha256_of};
use loci_archive::files::{create_private, flush_folder, write_privately};
use loci_archive::listing;
use loci_core::{FilesLock, OpenFault, StoreFiles};
use loci_keys::FILE as KEY_FILE;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::corruption::BACKUPS;
use crate::exit::{Exit, Failure};
use crate::output::status_line;
use crate::settings::Settings;
use crate::store::{files_in, open_failure};

/// The longest wait for other processes that found the same restore, and the pause between checks.
const END_WAIT: Duration = Duration::from_secs(10);
const END_PAUSE: Duration = Duration::from_millis(10);
/// The folder in the data folder in which a backup is unpacked.
pub const STAGING: &str = "restoring";
/// The temporary name of a note that is copied from another disk, hidden from readers of the
/// folder.
const ARRIVING: &str = ".loci-restore.part";
/// The exclusive end of the numbers that are tried for a free name.
const NAMES_MAX: u32 = 1_000;

/// The decision of a restore.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoreReplacement {
    /// The folder, within the data folder, that receives the old files.
    pub replaced: PathBuf,
    /// The folder of notes.
    pub notes: PathBuf,
    /// The files in it that are not in the backup.
    pub aside: Vec<String>,
    /// True if the new database is encrypted, and the file with its key comes with it.
    #[serde(default)]
    pub is_encrypted: bool,
}

/// Returns a free name for the folder of the files that are replaced at that moment.
///
/// # Errors
/// All names are taken.
pub fn free_name(data: &Path, moment: &str) -> io::Result<PathBuf> {
    let moment = moment.replace(['-', ':'], "");
    let mut names = (1..NAMES_MAX).map(|number| {
        let number = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        Path::new(BACKUPS).join(format!("replaced-{moment}{number}"))
    });
    names
        .find(|name| !data.join(name).exists())
        .ok_or_else(|| ErrorKind::AlreadyExists.into())
}

/// Decides that the content of `restoring` is the store. The caller must hold the folder
/// exclusively.
///
/// # Errors
/// The disk refuses; then it may be decided or not.
pub fn commit(files: &dyn StoreFiles, replacement: &StoreReplacement) -> io::Result<()> {
    let folder = files.folder();
    // Whatever lies in there must be found again if its mark is.
    flush_folder(&folder.join(STAGING))?;
    flush_folder(folder)?;
    write_privately(&files.restore_mark(), &serde_json::to_vec(replacement)?)
}

/// Carries out a decided restore, from the step at which it was interrupted; does nothing without
/// one. The caller must hold the folder exclusively.
///
/// # Errors
/// The disk refuses; then it can go on later.
pub fn complete(files: &dyn StoreFiles) -> io::Result<()> {
    carry_out(files, &mut |_| Ok(()))
}

/// Carries out the restore; calls `before` with the name of each step.
fn carry_out(
    files: &dyn StoreFiles,
    before: &mut dyn FnMut(&'static str) -> io::Result<()>,
) -> io::Result<()> {
    let (folder, mark) = (files.folder(), files.restore_mark());
    let replacement: StoreReplacement = match fs::read(&mark) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        text => serde_json::from_slice(&text?)?,
    };
    let (staging, replaced) = (folder.join(STAGING), folder.join(&replacement.replaced));
    if staging.join(DATABASE).exists() {
        before("the index of the old database")?;
        for cache in files.caches() {
            match fs::remove_dir_all(cache) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        for file in files.state() {
            before("a file of the old database")?;
            put_aside(&file, &replaced.join(file.file_name().unwrap_or_default()))?;
        }
        place_key(&replacement, folder, &staging, &replaced, before)?;
        flush_folder(folder)?;
        before("the new database")?;
        fs::rename(staging.join(DATABASE), files.database())?;
        flush_folder(folder)?;
    }
    for path in &replacement.aside {
        before("a note that is not in the backup")?;
        // A folder of that name came out of the backup before the interruption.
        let old = replacement.notes.join(path);
        if old
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file())
        {
            put_aside(&old, &replaced.join(NOTES).join(path))?;
        }
    }
    for path in listing::list(&staging.join(NOTES))?.files {
        before("a new note")?;
        place(
            &staging.join(NOTES),
            &replacement.notes,
            &path,
            &replaced.join(NOTES),
        )?;
    }
    before("the end of the mark")?;
    fs::remove_file(&mark)?;
    flush_folder(&staging)?;
    before("the end")?;
    fs::remove_dir_all(&staging)
}

/// Moves the file of the new key into place and the old one aside.
fn place_key(
    replacement: &StoreReplacement,
    folder: &Path,
    staging: &Path,
    replaced: &Path,
    before: &mut dyn FnMut(&'static str) -> io::Result<()>,
) -> io::Result<()> {
    before("the file of the old key")?;
    let (new, place) = (staging.join(KEY_FILE), folder.join(KEY_FILE));
    // After an interruption, the one in place may be the new one.
    if !replacement.is_encrypted || new.exists() {
        put_aside(&place, &replaced.join(KEY_FILE))?;
    }
    before("the file of the new key")?;
    if replacement.is_encrypted && new.exists() {
        fs::rename(new, place)?;
    }
    Ok(())
}

/// Moves a new note into place and the old one aside.
fn place(staged: &Path, notes: &Path, path: &str, aside: &Path) -> io::Result<()> {
    let (new, place) = (staged.join(path), notes.join(path));
    let is_file = place
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file());
    if is_file && sha256_of(&place)? == sha256_of(&new)? {
        return fs::remove_file(new);
    }
    // A link in place of a folder would lead outside, and a file would be in the way.
    let folders: Vec<_> = Path::new(path)
        .ancestors()
        .skip(1)
        .filter(|folder| *folder != Path::new(""))
        .collect();
    for folder in folders.into_iter().rev() {
        if notes
            .join(folder)
            .symlink_metadata()
            .is_ok_and(|metadata| !metadata.is_dir())
        {
            put_aside(&notes.join(folder), &aside.join(folder))?;
        }
    }
    let parent = place.parent().unwrap_or(notes);
    fs::create_dir_all(parent)?;
    put_aside(&place, &aside.join(path))?;
    move_to(&new, &place, &parent.join(ARRIVING))
}

/// Moves a file, if it exists, durably to a free name.
fn put_aside(from: &Path, to: &Path) -> io::Result<()> {
    if from.symlink_metadata().is_err() {
        return Ok(());
    }
    let folder = to.parent().unwrap_or(to);
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    // Another file may have been put there since the interruption.
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let mut names = (1..NAMES_MAX).map(|number| {
        if number == 1 {
            to.to_owned()
        } else {
            folder.join(format!("{name}.{number}"))
        }
    });
    let free = names
        .find(|to| to.symlink_metadata().is_err())
        .ok_or(ErrorKind::AlreadyExists)?;
    move_to(from, &free, &folder.join(ARRIVING))
}

/// Renames a file, or copies it from another disk, durably in both folders.
fn move_to(from: &Path, to: &Path, arriving: &Path) -> io::Result<()> {
    let flush = |path: &Path| path.parent().map_or(Ok(()), flush_folder);
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            match fs::remove_file(arriving) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let (mut source, mut copy) = (File::open(from)?, create_private(arriving)?);
            io::copy(&mut source, &mut copy)?;
            let metadata = source.metadata()?;
            copy.set_modified(metadata.modified()?)?;
            copy.sync_all()?;
            fs::rename(arriving, to)?;
            flush(to)?;
            fs::remove_file(from)?;
        }
        renamed => renamed?,
    }
    flush(to)?;
    flush(from)
}

/// The files of a store, and the lock that keeps other processes out.
pub type LockedFiles = (Box<dyn StoreFiles>, Box<dyn FilesLock>);

/// The files of the store, only for this process. A restore that was cut off is ended first, so
/// that the files that it put aside are whole.
///
/// # Errors
/// [`Exit::DataFolder`] if another process has the store open; [`Exit::Usage`] if the store has no
/// files, or its folder cannot be written.
pub fn files_alone(settings: &Settings) -> Result<LockedFiles, Failure> {
    let files = settings.store_files()?;
    let alone = files
        .lock_exclusive()
        .map_err(|error| open_failure(&error))?;
    let folder = files
        .folder()
        .canonicalize()
        .map_err(|error| unusable(files.folder(), &error))?;
    let files = files_in(&folder, &settings.store.keys);
    complete(&*files).map_err(|error| unusable(&folder, &error))?;
    Ok((files, alone))
}

/// Makes a folder for the unpacked files, which is deleted unless it is kept. An existing one is
/// from a restore that was interrupted before its decision, since no other process uses the data
/// folder now.
pub fn stage(data: &Path) -> io::Result<TempDir> {
    let path = data.join(STAGING);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    tempfile::Builder::new()
        .prefix(STAGING)
        .rand_bytes(0)
        .tempdir_in(data)
}

/// The failure of a command that could not write there, and changed nothing.
pub fn unusable(path: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "{} cannot be written ({error}); nothing was changed",
        path.display()
    );
    Failure::new(Exit::Usage, message)
}

/// Completes an interrupted restore into this data folder that was already decided. Processes that
/// look at the mark at the same time have the folder open for a moment, and one is first: so this
/// waits a little.
///
/// # Errors
/// [`Exit::DataFolder`] if another process uses the folder, or the disk refuses.
#[expect(
    clippy::disallowed_methods,
    reason = "no system offers to wait for a file lock with a limit, so we poll"
)]
pub fn end(files: &dyn StoreFiles) -> Result<(), Failure> {
    let begun = Instant::now();
    let alone = loop {
        let error = match files.lock_exclusive() {
            Ok(alone) => break alone,
            Err(error) => error,
        };
        // Another process has ended it, and has the store open.
        if error.fault == OpenFault::InUse && !files.restore_mark().exists() {
            return Ok(());
        }
        if error.fault != OpenFault::InUse || begun.elapsed() >= END_WAIT {
            return Err(open_failure(&error));
        }
        thread::sleep(END_PAUSE);
    };
    if !files.restore_mark().exists() {
        return Ok(());
    }
    complete(files).map_err(|error| {
        let message = format!(
            "a restore into {} was cut off and cannot go on ({error})",
            files.folder().display()
        );
        Failure::new(Exit::DataFolder, message)
    })?;
    drop(alone);
    status_line("note: ended a restore that was cut off");
    Ok(())
}

#[cfg(test)]
mod tests;
