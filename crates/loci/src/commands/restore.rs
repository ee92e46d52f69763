//! `loci restore`: restores a backup.
//!
//! It first unpacks and checks everything in the folder `restoring` of the data folder, then
//! decides and renames the files into place (`store_replacement.rs`).

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use loci_archive::backup::{Archive, DATABASE, RefusedBackup, sha256_of};
use loci_archive::files::{create_private, create_private_folder, write_privately};
use loci_archive::{HEAD_BYTES, begins_archive, listing};
use loci_core::{Clock, FilesLock, OpenFault, StoreFiles};
use loci_keys::{FILE as KEY_FILE, KeyFile, Keys};
use serde_json::json;

use crate::cli;
use crate::commands::backup::check_space;
use crate::corruption::{damages, foreign};
use crate::exit::{Exit, Failure};
use crate::output::{Output, moment, status_line};
use crate::progress::Progress;
use crate::sealed_backup::{self, begins_sealed};
use crate::settings::Settings;
use crate::store::{files_in, open_failure};
use crate::store_replacement;
use crate::store_replacement::{StoreReplacement, files_alone, stage, unusable};
use crate::vault::Vault;
use crate::wiring::SystemClock;

/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The largest number of paths that a refusal names.
const NAMED_MAX: usize = 3;

pub fn run(settings: &Settings, arguments: &cli::Restore, output: Output) -> Result<(), Failure> {
    let vault = Vault::of(settings, &settings.data)?;
    let (mut source, key_file) = Source::open(&arguments.file, settings)?;
    if settings.store_for(&settings.data).is_shared() {
        return server::run(
            settings,
            arguments,
            (&mut source, key_file.as_ref()),
            &vault,
            output,
        );
    }
    let _source_alone = source.alone(settings.store_files()?.folder())?;
    let (files, _alone) = files_alone(settings)?;
    let data = files.folder().to_owned();
    check_space(&data, source.bytes())?;

    let staging = stage(&data).map_err(|error| unusable(&data, &error))?;
    let bar = Progress::of_bytes();
    bar.begin(source.bytes());
    source
        .unpack(staging.path(), |bytes| bar.advance(bytes))
        .map_err(|error| unusable(staging.path(), &error))?;
    drop(bar);
    put_key(key_file.as_ref(), staging.path())?;
    let memories = inspect(&*files, &source, &staging.path().join(DATABASE))?;
    let known = source.notes();
    let differing = match &source {
        Source::Archive(archive) => differing(&vault.folder, archive)?,
        Source::Database(_) => Vec::new(),
    };
    if !arguments.replace {
        refuse_to_replace(&*files, &vault.folder, &differing)?;
    }
    let above = vault
        .folder
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(&data);
    if !is_same_disk(above, &data) {
        check_space(above, source.bytes())?;
    }

    let now = moment(SystemClock.now());
    let replaced =
        store_replacement::free_name(&data, &now).map_err(|error| unusable(&data, &error))?;
    let aside = differing
        .into_iter()
        .filter(|path| !known.contains(path.as_str()))
        .collect();
    let notes =
        std::path::absolute(&vault.folder).map_err(|error| unusable(&vault.folder, &error))?;
    let replacement = StoreReplacement {
        replaced: replaced.clone(),
        notes,
        aside,
        is_encrypted: key_file.is_some(),
    };
    let was_encrypted = data.join(KEY_FILE).exists();
    // From here on the restore will be completed, now or at the next start of any loci.
    let _ = staging.keep();
    store_replacement::commit(&*files, &replacement)
        .and_then(|()| store_replacement::complete(&*files))
        .map_err(|error| {
            let message =
                format!("the restore was cut off ({error}): the next loci command goes on with it");
            Failure::new(Exit::Usage, message)
        })?;

    let replaced = data.join(&replaced).is_dir().then(|| data.join(&replaced));
    warn_of_clear(was_encrypted && key_file.is_none());
    tell(arguments, &source, memories, known.len(), replaced, output)
}

fn warn_of_clear(is_clear_now: bool) {
    if is_clear_now {
        status_line(
            "warning: the backup is in the clear, and so is the store now: `loci encrypt` encrypts it",
        );
    }
}

/// Puts the file of the key beside an unpacked database that is encrypted.
fn put_key(file: Option<&KeyFile>, folder: &Path) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let path = folder.join(KEY_FILE);
    file.text()
        .and_then(|text| write_privately(&path, text.as_bytes()))
        .map_err(|error| unusable(&path, &error))
}

/// Prints what was restored.
fn tell(
    arguments: &cli::Restore,
    source: &Source,
    memories: u64,
    notes: usize,
    replaced: Option<PathBuf>,
    output: Output,
) -> Result<(), Failure> {
    let value = json!({
        "file": arguments.file,
        "moment": source.moment(),
        "memories": memories,
        "notes": notes,
        "replaced": replaced,
    });
    let of = source
        .moment()
        .map_or_else(String::new, |moment| format!(" of {moment}"));
    let mut text = format!("restored {memories} memories and {notes} files of notes{of}\n");
    if let Some(replaced) = &replaced {
        text += &format!("what was there is in {}\n", replaced.display());
    }
    Ok(output.either(&value, text)?)
}

/// The source of a restore.
enum Source {
    /// A file that `loci backup` wrote.
    Archive(Archive),
    /// A single database, such as the copy that an upgrade makes, with its log if it has one.
    Database(PathBuf),
}

impl Source {
    /// Opens a backup; returns the file of its key with it, if it is encrypted.
    fn open(path: &Path, settings: &Settings) -> Result<(Self, Option<KeyFile>), Failure> {
        let refused =
            |RefusedBackup(why)| Failure::new(Exit::Usage, format!("{} {why}", path.display()));
        let open = || -> io::Result<(File, Vec<u8>)> {
            let mut file = File::open(path)?;
            let mut head = Vec::new();
            BufReader::new((&file).take(HEAD_BYTES)).read_until(b'\n', &mut head)?;
            file.rewind()?;
            Ok((file, head))
        };
        let (file, head) =
            open().map_err(|error| refused(RefusedBackup(format!("cannot be read: {error}"))))?;
        if head.starts_with(SQLITE_MAGIC) {
            return Ok((Source::Database(path.to_owned()), None));
        }
        if begins_sealed(&head) {
            let data = &settings.data;
            create_private_folder(data).map_err(|error| unusable(data, &error))?;
            let keys = &settings.store.keys;
            let (archive, key_file) = sealed_backup::open(file, path, keys, data)?;
            let archive = Archive::open(archive).map_err(refused)?;
            return Ok((Source::Archive(archive), Some(key_file)));
        }
        if let Some(key_file) = key_beside(path) {
            return Ok((Source::Database(path.to_owned()), Some(key_file)));
        }
        if begins_archive(&head) {
            return Err(refused(RefusedBackup(
                "is an export and no backup: `loci import` reads it".to_owned(),
            )));
        }
        let archive = Archive::open(file).map_err(refused)?;
        Ok((Source::Archive(archive), None))
    }

    /// Locks a database while it is copied, if it lies in the folder of another store, so that no
    /// process writes into it.
    fn alone(&self, data: &Path) -> Result<Option<Box<dyn FilesLock>>, Failure> {
        let Source::Database(path) = self else {
            return Ok(None);
        };
        let path = path
            .canonicalize()
            .map_err(|error| unusable(path, &error))?;
        let is_here = |folder: &&Path| data.canonicalize().is_ok_and(|data| data == **folder);
        let folder = path.parent().filter(|folder| !is_here(folder));
        match folder
            .map(|folder| files_in(folder, &Keys::default()))
            .filter(|files| files.was_opened())
            .map(|files| files.lock_exclusive())
        {
            Some(Err(error)) if error.fault == OpenFault::InUse => {
                let Failure { exit, message } = open_failure(&error);
                let message =
                    format!("{message}; or copy it with `loci backup`, which disturbs nobody");
                Err(Failure::new(exit, message))
            }
            // A read-only disk needs no lock; and the copy is checked.
            alone => Ok(alone.and_then(Result::ok)),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Source::Archive(archive) => archive
                .manifest
                .entries
                .iter()
                .map(|entry| entry.bytes)
                .sum(),
            Source::Database(path) => with_log(path)
                .iter()
                .filter_map(|path| Some(path.metadata().ok()?.len()))
                .sum(),
        }
    }

    fn notes(&self) -> BTreeSet<&str> {
        match self {
            Source::Archive(archive) => archive.manifest.notes().map(|(path, _)| path).collect(),
            Source::Database(_) => BTreeSet::new(),
        }
    }

    fn moment(&self) -> Option<&str> {
        match self {
            Source::Archive(archive) => Some(&archive.manifest.moment),
            Source::Database(_) => None,
        }
    }

    fn unpack(&mut self, into: &Path, mut advance: impl FnMut(u64)) -> io::Result<()> {
        match self {
            Source::Archive(archive) => archive.unpack(into, advance),
            Source::Database(path) => {
                let copies = with_log(&into.join(DATABASE));
                for (from, to) in with_log(path).into_iter().zip(copies) {
                    if from.exists() {
                        let mut to = create_private(&to)?;
                        advance(io::copy(&mut File::open(from)?, &mut to)?);
                        to.sync_all()?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The file of the key of an encrypted database: beside it, or in the folder above that of backups.
fn key_beside(database: &Path) -> Option<KeyFile> {
    let is_database = database.extension().is_some_and(|end| end == "db");
    let folders = database.ancestors().skip(1).take(2);
    let mut files = folders.filter_map(|folder| KeyFile::read(folder).ok().flatten());
    is_database.then(|| files.next()).flatten()
}

/// A database that was named, whatever its file is called, and the write-ahead log beside it.
fn with_log(database: &Path) -> [PathBuf; 2] {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    [database.to_owned(), log.into()]
}

/// Checks an unpacked database; returns its number of memories.
fn inspect(files: &dyn StoreFiles, source: &Source, database: &Path) -> Result<u64, Failure> {
    let inspected = files.inspect(database).map_err(|error| {
        let Failure { exit, message } = open_failure(&error);
        Failure::new(
            exit,
            format!("the database of the backup cannot be used: {message}"),
        )
    })?;
    let refused = |why: &str| {
        Failure::new(
            Exit::Database,
            format!("the database of the backup {why}; take another one"),
        )
    };
    if let Some(problem) = damages(&inspected.problems).next() {
        return Err(refused(&format!("is damaged ({problem})")));
    }
    if let Some(problem) = foreign(&inspected.problems).next() {
        return Err(refused(&format!(
            "has what loci does not put into one ({problem})"
        )));
    }
    if let Source::Archive(Archive { manifest, .. }) = source
        && (manifest.schema, manifest.memories) != (inspected.schema, inspected.memories)
    {
        return Err(refused("is another one than its manifest says"));
    }
    if !inspected.problems.is_empty() {
        status_line(
            "note: what is derived from its texts is not as it should be: run `loci doctor --fix` afterwards",
        );
    }
    Ok(inspected.memories)
}

/// Returns the files of the folder of notes that the backup lacks or has with other content.
fn differing(folder: &Path, archive: &Archive) -> Result<Vec<String>, Failure> {
    let notes: BTreeMap<_, _> = archive.manifest.notes().collect();
    let differs = |path: &String| {
        let same = notes.get(path.as_str()).is_some_and(|entry| {
            let path = folder.join(path);
            path.metadata()
                .is_ok_and(|metadata| metadata.len() == entry.bytes)
                && sha256_of(&path).is_ok_and(|sha256| sha256 == entry.sha256)
        });
        !same
    };
    let mut listed = listing::list(folder)
        .map_err(|error| unusable(folder, &error))?
        .files;
    listed.retain(differs);
    Ok(listed)
}

/// Returns true if a rename from one to the other needs no space there.
#[cfg(unix)]
fn is_same_disk(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let disk = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    disk(one) == disk(other)
}

#[cfg(not(unix))]
fn is_same_disk(_one: &Path, _other: &Path) -> bool {
    true
}

/// Fails if the data folder has a database or differing notes, which a restore would replace.
fn refuse_to_replace(
    files: &dyn StoreFiles,
    folder: &Path,
    differing: &[String],
) -> Result<(), Failure> {
    let recovery_advice =
        "add --replace, which first moves what is there into `backups` in the data folder";
    if files
        .database()
        .metadata()
        .is_ok_and(|metadata| metadata.len() > 0)
    {
        let message = format!(
            "{} has a database already: {recovery_advice}",
            files.folder().display()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    if differing.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = differing
        .iter()
        .take(NAMED_MAX)
        .map(|path| format!("{path:?}"))
        .collect();
    let message = format!(
        "{} files in the folder of notes {} are not those of the backup ({}…): {recovery_advice}",
        differing.len(),
        folder.display(),
        named.join(", ")
    );
    Err(Failure::new(Exit::Usage, message))
}
