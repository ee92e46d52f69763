//! The file of a backup: a tar archive whose last entry is a manifest of its content.
//!
//! The manifest names each entry with its size and checksum, and has a checksum of the whole
//! archive before it, so that a change of any byte is detected before anything is unpacked.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::entry_problem::problem;
use crate::files::{create_private, flush_folder};

/// The path of the database entry.
pub const DATABASE: &str = "loci.db";
/// The prefix of the entries from the folder of notes.
pub const NOTES: &str = "vault/";
const MANIFEST: &str = "manifest.json";
/// The PAX key for the time of the last change, which a tar header has in whole seconds.
const MODIFIED: &str = "mtime";
/// The version of the format.
const VERSION: u64 = 1;
/// The largest size of a manifest in bytes, for some 500,000 files.
const MANIFEST_BYTES_MAX: u64 = 128 << 20;
/// The number of attempts to read a file that changes during the read.
const ATTEMPTS: usize = 5;
/// The size of a tar block in bytes; two blocks of zeros end an archive.
const BLOCK: u64 = 512;
/// The largest size in bytes of an entry that extends the next one, e.g. a long name.
const EXTENSION_BYTES_MAX: u64 = 64 << 10;

/// The description of a backup's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    version: u64,
    /// The time of the backup, RFC 3339.
    pub moment: String,
    /// The version of the loci that made it.
    pub loci: String,
    /// The version of the database's schema.
    pub schema: i64,
    /// The number of memories in the database.
    pub memories: u64,
    /// The other entries of the archive, in order.
    pub entries: Vec<Entry>,
    /// The checksum of all bytes before the manifest itself, then of the manifest with this field
    /// empty.
    sha256: String,
}

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its path in the archive.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its checksum, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// Returns a manifest without entries.
    pub fn new(moment: String, schema: i64, memories: u64) -> Self {
        let loci = env!("CARGO_PKG_VERSION").to_owned();
        Manifest {
            version: VERSION,
            moment,
            loci,
            schema,
            memories,
            entries: Vec::new(),
            sha256: String::new(),
        }
    }

    /// Returns the notes by their paths within their folder.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.path.strip_prefix(NOTES)?, entry)))
    }

    /// Computes the checksum of the manifest.
    fn checksum(&self, before: impl Read) -> io::Result<String> {
        let mut hash = HashingReader::new(before);
        io::copy(&mut hash, &mut io::sink())?;
        let blank = Manifest {
            sha256: String::new(),
            ..self.clone()
        };
        hash.digest.update(serde_json::to_vec(&blank)?);
        Ok(hash.sha256())
    }
}

/// Counts and hashes the bytes that are read through it.
struct HashingReader<Source> {
    source: Source,
    digest: Sha256,
    bytes: u64,
}

impl<Source: Read> HashingReader<Source> {
    fn new(source: Source) -> Self {
        HashingReader {
            source,
            digest: Sha256::new(),
            bytes: 0,
        }
    }

    fn sha256(self) -> String {
        HEXLOWER.encode(&self.digest.finalize())
    }
}

impl<Source: Read> Read for HashingReader<Source> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Returns the checksum of a file.
///
/// # Errors
/// It cannot be read.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = HashingReader::new(File::open(path)?);
    io::copy(&mut hash, &mut io::sink())?;
    Ok(hash.sha256())
}

/// An archive that is being written.
pub struct ArchiveWriter {
    builder: tar::Builder<File>,
    entries: Vec<Entry>,
}

impl ArchiveWriter {
    /// Starts an archive in an empty file.
    pub fn new(file: File) -> Self {
        ArchiveWriter {
            builder: tar::Builder::new(file),
            entries: Vec::new(),
        }
    }

    /// Appends a file as of one moment: one that changes while it is read is read again.
    ///
    /// # Errors
    /// It cannot be read, changes all the time, or the archive cannot be written.
    pub fn append(&mut self, path: &str, mut file: &File) -> io::Result<()> {
        let begin = self.builder.get_mut().stream_position()?;
        for _ in 0..ATTEMPTS {
            file.rewind()?;
            let before = file.metadata()?;
            let mut hash = HashingReader::new(file.take(before.len()));
            let modified = before
                .modified()
                .ok()
                .and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
            let modified = modified.unwrap_or_default();
            let exactly = format!("{}.{:09}", modified.as_secs(), modified.subsec_nanos());
            self.builder
                .append_pax_extensions([(MODIFIED, exactly.as_bytes())])?;
            let mut header = header(before.len(), modified.as_secs());
            self.builder.append_data(&mut header, path, &mut hash)?;
            let after = file.metadata()?;
            let is_same =
                after.len() == before.len() && after.modified().ok() == before.modified().ok();
            if is_same && hash.bytes == before.len() {
                let (bytes, path) = (hash.bytes, path.to_owned());
                self.entries.push(Entry {
                    path,
                    bytes,
                    sha256: hash.sha256(),
                });
                return Ok(());
            }
            let archive = self.builder.get_mut();
            archive.set_len(begin)?;
            archive.seek(SeekFrom::Start(begin))?;
        }
        Err(io::Error::other(
            "it is being written all the time; repeat when that has ended",
        ))
    }

    /// Appends the manifest and makes the archive durable. Returns the manifest, with its entries.
    ///
    /// # Errors
    /// The archive cannot be written, or not be read again for its checksum.
    pub fn finish(mut self, mut manifest: Manifest) -> io::Result<Manifest> {
        manifest.entries = self.entries;
        // A placeholder of the same length, so that the checksum covers the manifest's header, too.
        manifest.sha256 = "0".repeat(2 * Sha256::output_size());
        let mut header = header(serde_json::to_vec(&manifest)?.len() as u64, 0);
        header.set_path(MANIFEST)?;
        header.set_cksum();
        let mut archive = self.builder.get_ref();
        archive.rewind()?;
        manifest.sha256 = manifest.checksum(archive.chain(&header.as_bytes()[..]))?;
        self.builder
            .append(&header, &*serde_json::to_vec(&manifest)?)?;
        self.builder.into_inner()?.sync_all()?;
        Ok(manifest)
    }
}

fn header(bytes: u64, modified_seconds: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(modified_seconds);
    header
}

/// The reason why a file is not accepted as a backup, in words that follow its name.
#[derive(Debug)]
pub struct RefusedBackup(pub String);

impl From<io::Error> for RefusedBackup {
    fn from(error: io::Error) -> Self {
        // Violations of the format have one of these kinds.
        match error.kind() {
            ErrorKind::Other
            | ErrorKind::UnexpectedEof
            | ErrorKind::InvalidData
            | ErrorKind::InvalidInput => {
                // The library's message may quote the archive.
                damaged("its form is not that of one")
            }
            _ => RefusedBackup(format!("cannot be read: {error}")),
        }
    }
}

fn damaged(what: impl std::fmt::Display) -> RefusedBackup {
    RefusedBackup(format!(
        "is damaged or no backup of loci ({what}); take another one"
    ))
}

/// An archive whose bytes match its manifest.
#[derive(Debug)]
pub struct Archive {
    file: File,
    /// The manifest.
    pub manifest: Manifest,
    /// The offset of each entry, and the time of its last change.
    places: Vec<(u64, SystemTime)>,
}

/// The values of a header: path, size, offset of the content, time of the last change.
struct EntryHeader {
    path: String,
    bytes: u64,
    begin: u64,
    modified: SystemTime,
}

impl Archive {
    /// Opens an archive and checks it as a whole.
    ///
    /// # Errors
    /// It is corrupt, made by a newer loci, holds a link or leads out of its folders, with what the
    /// user can do about it.
    pub fn open(mut file: File) -> Result<Self, RefusedBackup> {
        let mut found = headers(&file)?;
        let Some(last) = found
            .pop()
            .filter(|last| last.path == MANIFEST && last.bytes <= MANIFEST_BYTES_MAX)
        else {
            return Err(damaged(
                "it does not end with its manifest, so that it may be cut off",
            ));
        };
        file.seek(SeekFrom::Start(last.begin))?;
        let mut text = Vec::new();
        (&file).take(last.bytes).read_to_end(&mut text)?;
        let manifest = manifest(&text)?;
        file.rewind()?;
        let is_as_written = serde_json::to_vec(&manifest).is_ok_and(|written| written == text);
        if !is_as_written || manifest.checksum((&file).take(last.begin))? != manifest.sha256 {
            return Err(damaged("its checksum does not hold"));
        }
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(last.begin + last.bytes))?;
        (&file).take(4 * BLOCK).read_to_end(&mut rest)?;
        let padding = last.bytes.next_multiple_of(BLOCK) - last.bytes;
        if rest.len() as u64 != padding + 2 * BLOCK || rest.iter().any(|byte| *byte != 0) {
            return Err(damaged("it does not end as it should"));
        }
        check_entries(&manifest, &found)?;
        let places = found
            .iter()
            .map(|found| (found.begin, found.modified))
            .collect();
        Ok(Archive {
            file,
            manifest,
            places,
        })
    }

    /// Unpacks all entries durably into a folder, and calls `advance` with the bytes that were
    /// written.
    ///
    /// # Errors
    /// The folder cannot be written, or the bytes differ from the checked ones.
    pub fn unpack(&mut self, into: &Path, mut advance: impl FnMut(u64)) -> io::Result<()> {
        let mut folders = BTreeSet::from([into.to_owned()]);
        for (entry, (begin, modified)) in self.manifest.entries.iter().zip(&self.places) {
            let path = into.join(&entry.path);
            let parents = path
                .ancestors()
                .skip(1)
                .take_while(|parent| parent.starts_with(into));
            folders.extend(parents.map(Path::to_owned));
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            self.file.seek(SeekFrom::Start(*begin))?;
            let mut hash = HashingReader::new((&self.file).take(entry.bytes));
            let mut file = create_private(&path)?;
            io::copy(&mut hash, &mut file)?;
            file.set_modified(*modified)?;
            file.sync_all()?;
            if hash.sha256() != entry.sha256 {
                return Err(io::Error::other(format!(
                    "{} changed while it was read",
                    entry.path
                )));
            }
            advance(entry.bytes);
        }
        folders.iter().try_for_each(|folder| flush_folder(folder))
    }
}

/// Reads all headers of the archive.
fn headers(file: &File) -> Result<Vec<EntryHeader>, RefusedBackup> {
    check_sizes(file)?;
    let mut found = Vec::new();
    for entry in tar::Archive::new(file).entries_with_seek()? {
        let mut entry = entry?;
        let modified = modified(&mut entry)?;
        let bytes = entry.path_bytes();
        let path = str::from_utf8(&bytes)
            .map_err(|error| damaged(format_args!("a name in it is no text: {error}")))?
            .to_owned();
        if entry.header().entry_type() != tar::EntryType::Regular {
            return Err(damaged(format_args!("{path:?} is no plain file")));
        }
        let modified =
            modified.ok_or_else(|| damaged(format_args!("{path:?} has no possible date")))?;
        found.push(EntryHeader {
            path,
            bytes: entry.size(),
            begin: entry.raw_file_position(),
            modified,
        });
    }
    Ok(found)
}

/// Returns the time of an entry's last change, as exact as it is stored; `None` if it is
/// impossible.
fn modified(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Option<SystemTime>> {
    let mut since_1970 = Duration::from_secs(entry.header().mtime()?);
    for extension in entry.pax_extensions()?.into_iter().flatten() {
        let extension = extension?;
        if extension.key() == Ok(MODIFIED) {
            since_1970 = extension.value().ok().and_then(exact).unwrap_or(since_1970);
        }
    }
    Ok(UNIX_EPOCH.checked_add(since_1970))
}

/// Parses seconds with nine digits after the point, as [`ArchiveWriter`] writes them.
fn exact(text: &str) -> Option<Duration> {
    let (seconds, nanoseconds) = text
        .split_once('.')
        .filter(|(_, nanoseconds)| nanoseconds.len() == 9)?;
    Some(Duration::new(
        seconds.parse().ok()?,
        nanoseconds.parse().ok()?,
    ))
}

/// Checks that all entries end within the file, so that no sum of sizes exceeds it, and that the
/// headers that the library reads into memory are short.
fn check_sizes(file: &File) -> Result<(), RefusedBackup> {
    let length = file.metadata()?.len();
    for entry in tar::Archive::new(file).entries_with_seek()?.raw(true) {
        let entry = entry?;
        let is_short = entry.header().entry_type() == tar::EntryType::Regular
            || entry.size() <= EXTENSION_BYTES_MAX;
        let end = entry.raw_file_position().checked_add(entry.size());
        if !is_short || end.is_none_or(|end| end > length) {
            return Err(damaged("the size of something in it cannot be"));
        }
    }
    (&mut &*file).rewind()?;
    Ok(())
}

fn manifest(text: &[u8]) -> Result<Manifest, RefusedBackup> {
    let unreadable =
        |error: serde_json::Error| damaged(format_args!("its manifest {}", problem(&error)));
    let value: Value = serde_json::from_slice(text).map_err(unreadable)?;
    match value["version"].as_u64() {
        Some(newer) if newer > VERSION => Err(RefusedBackup(format!(
            "was made by a newer loci (format {newer}; this one knows {VERSION}): update loci, or take another one"
        ))),
        _ => serde_json::from_value(value).map_err(unreadable),
    }
}

/// Checks that the entries are the manifest's, and that their paths may be written.
fn check_entries(manifest: &Manifest, found: &[EntryHeader]) -> Result<(), RefusedBackup> {
    let named = manifest
        .entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.bytes));
    if !named.eq(found.iter().map(|found| (found.path.as_str(), found.bytes))) {
        return Err(damaged("what is in it is not what its manifest names"));
    }
    let mut paths = BTreeSet::new();
    for Entry { path, .. } in &manifest.entries {
        if path != DATABASE && !path.strip_prefix(NOTES).is_some_and(is_within) {
            return Err(damaged(format_args!("{path:?} leads out of its folder")));
        }
        if !paths.insert(path) {
            return Err(damaged(format_args!("{path:?} is in it twice")));
        }
    }
    if paths.iter().any(|path| *path == DATABASE) {
        Ok(())
    } else {
        Err(damaged("no database is in it"))
    }
}

/// Returns true if a path stays within its folder and has no hidden part, because backups leave out
/// hidden files, which may belong to other programs.
pub fn is_within(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\0');
    path.split('/').all(is_name) && !(cfg!(windows) && path.contains(['\\', ':']))
}

#[cfg(test)]
mod tests;
