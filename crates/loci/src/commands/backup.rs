//! `loci backup`: the whole store and its notes in one file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_archive::backup::{ArchiveWriter, DATABASE, Manifest, NOTES};
use loci_archive::files::{flush_folder, write_privately};
use loci_archive::listing;
use loci_core::{Clock, NoteFolder, OpenStore, StoreFiles};
use loci_engine::NoteStatus;
use loci_keys::{DataKey, KeyFile, Keys};
use serde_json::json;
use tempfile::{NamedTempFile, TempDir, TempPath};

use crate::cli;
use crate::commands::migrate::into_folder;
use crate::corruption::{LAST_BACKUP, damages, foreign, recovery_advice};
use crate::exit::{Exit, Failure};
use crate::output::{Output, moment, status_line};
use crate::progress::Progress;
use crate::sealed_backup::seal;
use crate::settings::Settings;
use crate::store::files_in;
use crate::wiring::{Parts, SystemClock};

/// Bytes that stay free for other programs and for the file system itself.
const MARGIN_BYTES: u64 = 16 << 20;
/// The bytes of an entry besides its content: its headers, the rest of its last block, its line in
/// the manifest.
const ENTRY_BYTES: u64 = 2_560;
/// The end of the names of files that are not complete yet.
pub const DRAFT: &str = ".part";
/// The largest number of files that a status line names.
const NAMED_MAX: usize = 10;

pub fn run(settings: &Settings, arguments: &cli::Backup, output: Output) -> Result<(), Failure> {
    let target = Target::new(&arguments.file)?;
    let parts = Parts::open_to_read(settings)?;
    let folder = &parts.vault.folder;
    target.refuse_within(folder)?;
    let listed = listing::list(folder).map_err(|error| unreadable(folder, &error))?;
    // Any other failure of the status shows when the copy is inspected.
    if let Ok(NoteStatus {
        away: Some(why), ..
    }) = parts.system().notes().status()
    {
        let message = format!(
            "{why}; no backup was made, since they would not be in it: bring the folder back or, if they are gone for \
             good, first `loci vault reconcile --accept-missing`"
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let sizes = listed
        .files
        .iter()
        .filter_map(|path| Some(folder.join(path).metadata().ok()?.len()));
    let (bytes, database) = (
        sizes.map(|bytes| bytes + ENTRY_BYTES).sum::<u64>(),
        parts.engine.size()?.disk_bytes,
    );
    check_space(&target.folder, needed_bytes(settings, bytes, database))?;

    let bar = Progress::of_bytes();
    bar.begin(bytes + database);
    let (draft, mut writer) = BackupDraft::begin(settings, &target)?;
    let backed_up = InFiles::of(settings, &parts, &target)?;
    // The lock keeps what agents change in the notes and in the snapshot consistent; only the notes
    // are read under it, since agents wait for it. The records of a server, which take minutes, are
    // older than the notes: after a restore, the files are read again where they differ.
    let is_locked = parts.vault.is_kept && !parts.store.is_read_only();
    let lock = is_locked.then(|| parts.vault.notes().lock()).transpose()?;
    let now = SystemClock.now();
    let snapshot = backed_up.store.snapshot()?;
    let listed = listing::list(folder).map_err(|error| unreadable(folder, &error))?;
    let (texts, others): (Vec<_>, Vec<_>) = listed.files.iter().partition(|path| is_note(path));
    let mut append = |paths: &[&String]| -> Result<(), Failure> {
        for path in paths {
            bar.advance(append_note(&mut writer, &target, folder, path)?);
        }
        Ok(())
    };
    append(&texts)?;
    drop(lock);
    append(&others)?;
    let copy = target.draft(".db.part")?.into_temp_path();
    snapshot.copy_to(&copy)?;
    drop(snapshot);
    let (schema, memories) = inspect(&copy, &*backed_up.files, settings)?;
    let appended = File::open(&copy).and_then(|file| writer.append(DATABASE, &file));
    appended.map_err(|error| target.unwritable(&error))?;
    drop(copy);
    let manifest = writer.finish(Manifest::new(moment(now), schema, memories));
    let manifest = manifest.map_err(|error| target.unwritable(&error))?;
    let bytes = draft.put(&target)?;
    drop(bar);

    // For `loci doctor`; the backup is valid without it.
    let _ = write_privately(
        &settings.data.join(LAST_BACKUP),
        target.file.to_string_lossy().as_bytes(),
    );
    tell_passed_over(&listed.passed_over);
    let notes = manifest.notes().count();
    let file = target.file.display();
    let value = json!({
        "file": target.file, "bytes": bytes, "moment": manifest.moment, "memories": memories, "notes": notes,
    });
    Ok(output.either(
        &value,
        format_args!(
            "backed up {memories} memories and {notes} files of notes into {file}, {bytes} bytes\n"
        ),
    )?)
}

/// Returns the bytes that a backup needs: the archive, a second one if it is sealed, and a copy of
/// the database.
fn needed_bytes(settings: &Settings, bytes: u64, database: u64) -> u64 {
    let is_sealed = matches!(Sealing::of(settings), Ok(Some(_)));
    (1 + u64::from(is_sealed)) * (bytes + database) + database
}

/// A backup on its way, and the archive that is sealed into it at the end.
struct BackupDraft {
    file: NamedTempFile,
    sealing: Option<(Sealing, File)>,
}

impl BackupDraft {
    /// Makes the file, and starts the archive: in the file itself, or for an encrypted store in one
    /// without a name beside it.
    fn begin(settings: &Settings, target: &Target) -> Result<(Self, ArchiveWriter), Failure> {
        let unwritable = |error: io::Error| target.unwritable(&error);
        let file = target.draft(DRAFT)?;
        let Some(sealing) = Sealing::of(settings)? else {
            let writer = ArchiveWriter::new(file.reopen().map_err(unwritable)?);
            let sealing = None;
            return Ok((BackupDraft { file, sealing }, writer));
        };
        let archive = tempfile::tempfile_in(&target.folder).map_err(unwritable)?;
        let writer = ArchiveWriter::new(archive.try_clone().map_err(unwritable)?);
        let sealing = Some((sealing, archive));
        Ok((BackupDraft { file, sealing }, writer))
    }

    /// Gives the backup its name, once its archive is finished; returns its bytes.
    fn put(self, target: &Target) -> Result<u64, Failure> {
        if let Some((Sealing { key, file }, mut archive)) = self.sealing {
            self.file
                .reopen()
                .and_then(|mut sealed| seal(&key, &file, &mut archive, &mut sealed))
                .map_err(|error| target.unwritable(&error))?;
        }
        target.put(self.file)
    }
}

/// The keys that a backup of an encrypted store is sealed with.
struct Sealing {
    key: DataKey,
    file: KeyFile,
}

impl Sealing {
    /// None for a store that is not encrypted.
    fn of(settings: &Settings) -> Result<Option<Self>, Failure> {
        let Ok(files) = settings.store_files() else {
            return Ok(None);
        };
        let locked = |problem: String| Failure::new(Exit::Key, problem);
        let file = KeyFile::read(files.folder()).map_err(|error| locked(error.to_string()))?;
        let key = settings.store.keys.of(files.folder());
        let key = key.map_err(|error| locked(error.to_string()))?;
        Ok(key.zip(file).map(|(key, file)| Sealing { key, file }))
    }
}

/// A file that gets its name only when it is complete and on the disk.
pub struct Target {
    /// Its path.
    pub file: PathBuf,
    folder: PathBuf,
    name: String,
}

impl Target {
    /// Checks that a file of this path can be made.
    ///
    /// # Errors
    /// [`Exit::Usage`] if it exists already, or its folder does not.
    pub fn new(file: &Path) -> Result<Self, Failure> {
        let refused =
            |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
        if file.symlink_metadata().is_ok() {
            return Err(refused(
                "is there already: name another file, or move that one away".to_owned(),
            ));
        }
        let name = file
            .file_name()
            .ok_or_else(|| refused("names no file".to_owned()))?;
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let folder = parent
            .canonicalize()
            .map_err(|error| refused(format!("cannot be made there: {error}")))?;
        Ok(Target {
            file: folder.join(name),
            folder,
            name: name.to_string_lossy().into_owned(),
        })
    }

    /// Refuses a target in the folder of notes, since every later backup would include it.
    ///
    /// # Errors
    /// [`Exit::Usage`].
    fn refuse_within(&self, notes: &Path) -> Result<(), Failure> {
        let notes = notes.canonicalize();
        let within = notes
            .as_ref()
            .ok()
            .and_then(|notes| self.file.strip_prefix(notes).ok());
        // Backups leave out hidden files.
        if within.is_none_or(|path| {
            path.iter()
                .any(|name| name.to_string_lossy().starts_with('.'))
        }) {
            return Ok(());
        }
        let message = format!(
            "{} is in the folder of notes, so that each later backup would hold this one: name a file elsewhere",
            self.file.display()
        );
        Err(Failure::new(Exit::Usage, message))
    }

    /// Makes a temporary file beside it, which only its owner can read and which is deleted unless
    /// it is put in place.
    ///
    /// # Errors
    /// [`Exit::Usage`] if the folder cannot be written.
    pub fn draft(&self, suffix: &str) -> Result<NamedTempFile, Failure> {
        let made = tempfile::Builder::new()
            .prefix(&format!(".{}.", self.name))
            .suffix(suffix)
            .tempfile_in(&self.folder);
        made.map_err(|error| self.unwritable(&error))
    }

    /// Gives the flushed draft its name; returns its size.
    ///
    /// # Errors
    /// [`Exit::Usage`] if the folder cannot be written.
    pub fn put(&self, draft: NamedTempFile) -> Result<u64, Failure> {
        let put = || {
            let bytes = draft.as_file().metadata()?.len();
            // Does not replace a file that was made since.
            draft.persist_noclobber(&self.file)?;
            flush_folder(&self.folder)?;
            io::Result::Ok(bytes)
        };
        put().map_err(|error| self.unwritable(&error))
    }

    /// Returns the failure to write the file.
    pub fn unwritable(&self, error: &io::Error) -> Failure {
        let shown = self.file.display();
        Failure::new(
            Exit::Usage,
            format!("{shown} cannot be written ({error}) and was not made"),
        )
    }
}

/// The store that is backed up, in files: that of the settings, or a copy of one on a server.
struct InFiles {
    store: Arc<dyn OpenStore>,
    files: Box<dyn StoreFiles>,
    /// The folder of the copy, which goes with it.
    _copy: Option<TempDir>,
}

impl InFiles {
    fn of(settings: &Settings, parts: &Parts, target: &Target) -> Result<Self, Failure> {
        if let Ok(files) = settings.store_files() {
            return Ok(InFiles {
                store: Arc::clone(&parts.store),
                files,
                _copy: None,
            });
        }
        let copy = tempfile::Builder::new()
            .prefix(&format!(".{}.", target.name))
            .tempdir_in(&target.folder)
            .map_err(|error| target.unwritable(&error))?;
        let store = into_folder(&*parts.store, settings, copy.path())?;
        Ok(InFiles {
            store,
            files: files_in(copy.path(), &Keys::default()),
            _copy: Some(copy),
        })
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "{} cannot be read ({error}); no backup was made",
        path.display()
    );
    Failure::new(Exit::Usage, message)
}

/// Returns true for a file that agents may write as well.
fn is_note(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// Appends a file of the folder of notes, unless it was deleted since. Returns its bytes.
fn append_note(
    writer: &mut ArchiveWriter,
    target: &Target,
    folder: &Path,
    path: &str,
) -> Result<u64, Failure> {
    let file = match File::open(folder.join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file.map_err(|error| unreadable(&folder.join(path), &error))?,
    };
    let appended = writer
        .append(&format!("{NOTES}{path}"), &file)
        .and_then(|()| Ok(file.metadata()?.len()));
    appended.map_err(|error| {
        let (note, file) = (folder.join(path), target.file.display());
        let message = format!(
            "{} cannot be put into {file} ({error}), which was not made",
            note.display()
        );
        Failure::new(Exit::Usage, message)
    })
}

/// Returns the schema and the number of memories of the copy; fails if a restore would refuse it.
fn inspect(
    copy: &TempPath,
    files: &dyn StoreFiles,
    settings: &Settings,
) -> Result<(i64, u64), Failure> {
    let inspected = files
        .inspect(copy)
        .map_err(|error| Failure::new(Exit::Database, error.to_string()))?;
    if let Some(problem) = foreign(&inspected.problems).next() {
        let message = format!("no backup was made, since no restore would take it: {problem}");
        return Err(Failure::new(Exit::Database, message));
    }
    match damages(&inspected.problems).next() {
        None => Ok((inspected.schema, inspected.memories)),
        Some(problem) => {
            let recovery_advice = recovery_advice(settings);
            let message = format!(
                "no backup was made, since the database is damaged ({problem}): {recovery_advice}"
            );
            Err(Failure::new(Exit::Database, message))
        }
    }
}

/// Checks that the folder has enough free space for the bytes to be written into it.
///
/// # Errors
/// [`Exit::Usage`], with both numbers.
pub fn check_space(folder: &Path, bytes: u64) -> Result<(), Failure> {
    let needed = bytes + MARGIN_BYTES;
    match free_bytes(folder) {
        Some(free) if free < needed => {
            let shown = folder.display();
            let message = format!(
                "{shown} has {free} bytes free, and {needed} are needed: free some space first"
            );
            Err(Failure::new(Exit::Usage, message))
        }
        _ => Ok(()),
    }
}

/// Returns the free bytes of the file system of this folder; `None` if they are unknown.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(not(unix))]
pub fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

fn tell_passed_over(paths: &[String]) {
    for path in paths.iter().take(NAMED_MAX) {
        status_line(format_args!(
            "note: {path:?} in the folder of notes is a link or no plain file, and not in the backup"
        ));
    }
    if let Some(more @ 1..) = paths.len().checked_sub(NAMED_MAX) {
        status_line(format_args!("note: {more} more are not in it either"));
    }
}
