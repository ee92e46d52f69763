//! Puts a file in place atomically, and never replaces a file that was not read before.
//!
//! All writes go through temporary files in the folder of the note. A file that is being written is
//! named `.loci-TOKEN-RANDOM.new`, and holds nothing that must be preserved. Before a written file
//! is exchanged with a note it is renamed to `.loci-TOKEN-RANDOM-OLD-NEW.swap` with the hashes of
//! both, so that a process which finds it after a crash can distinguish the two from a third text,
//! which another program wrote in between and which must not be lost. The token is that of the
//! lock: another loci that writes to the same folder under another lock has its own files.
//!
//! A program that has the old file open can still write to it after it has lost its name. It is
//! kept open for [`KEPT_SECONDS`](crate::displaced_file::KEPT_SECONDS), and text that is written to it
//! until then is recovered into a file beside the note. Some writes are lost all the same: writes
//! through such an open file after that time, or before the next check if this process is killed or
//! [`KEPT_MAX`](crate::displaced_file::KEPT_MAX) others are displaced before that; and, if two names
//! cannot be exchanged, a file that another program puts in the place of the note between our last
//! check and the rename.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use loci_core::{ContentHash, FileStamp};

use crate::disk::{Folder, flush, is_as_written, stamp};
use crate::displaced_file::DisplacedFile;
use crate::lock::{is_token, random_token};
use crate::read::{self, NAMED_BYTES, short};
use crate::seal::{opened, sealed};

/// The default permissions of a new file: only its owner.
const FILE_MODE: u32 = 0o600;
const PREFIX: &str = ".loci-";
/// The number of names that are tried for a recovered file.
const RECOVERED_MAX: usize = 1_000;

/// The reason why a note was not written. The note is unchanged, or as another program has made it;
/// if two names cannot be exchanged, it may be the new one, if only making it durable failed.
#[derive(Debug)]
pub(crate) enum WriteRefusal {
    /// The file does not have the expected content.
    Changed,
    /// The disk refuses.
    Io(io::Error),
}

impl From<io::Error> for WriteRefusal {
    fn from(error: io::Error) -> Self {
        WriteRefusal::Io(error)
    }
}

/// The names of the temporary files of one lock; processes with another lock leave them alone.
pub(crate) struct Temporary {
    /// The token of the lock; until it is known, a unique random one.
    token: Mutex<String>,
    /// Displaced files that were not taken yet.
    displaced: Mutex<Vec<DisplacedFile>>,
    /// The permissions of files that are not new versions of existing ones.
    pub mode: u32,
}

impl Default for Temporary {
    fn default() -> Self {
        Temporary {
            token: Mutex::new(random_token()),
            displaced: Mutex::default(),
            mode: FILE_MODE,
        }
    }
}

impl Temporary {
    /// Names the files after the token of the lock.
    pub fn name_after(&self, token: &str) {
        token.clone_into(&mut self.token.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the files that were displaced since the last call.
    pub fn take_displaced(&self) -> Vec<DisplacedFile> {
        mem::take(
            &mut *self
                .displaced
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn keep(&self, displaced: DisplacedFile) {
        // On other systems, a file keeps its name until it is closed.
        if cfg!(unix) {
            self.displaced
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(displaced);
        }
    }

    /// Returns the prefix of the names.
    fn begin(&self) -> String {
        format!(
            "{PREFIX}{}-",
            self.token.lock().unwrap_or_else(PoisonError::into_inner)
        )
    }

    /// True if it is the name of a temporary file of this lock.
    pub fn is_ours(&self, name: &str) -> bool {
        self.purpose(name).is_some()
    }

    /// Returns a unique name for a file to write.
    pub fn new_name(&self) -> String {
        format!("{}{}.new", self.begin(), random_token())
    }

    /// Returns the purpose of a temporary file; `None` if its name is not of this lock.
    fn purpose(&self, name: &str) -> Option<Purpose> {
        let rest = name.strip_prefix(&self.begin())?;
        if let Some(random) = rest.strip_suffix(".new") {
            return is_token(random).then_some(Purpose::New);
        }
        let (random, hashes) = rest.strip_suffix(".swap")?.split_once('-')?;
        let (old, new) = hashes.split_once('-')?;
        let is_hash = |hash: &str| {
            hash.len() == 2 * NAMED_BYTES && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        (is_token(random) && is_hash(old) && is_hash(new))
            .then(|| Purpose::Swap([old.to_owned(), new.to_owned()]))
    }

    /// Removes a temporary file that a crash left; keeps it under a visible name if it contains
    /// text of another writer. Does nothing if the name is not that of a regular temporary file.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn clear(&self, folder: &Folder, name: &str) -> io::Result<()> {
        let Some(purpose) = self.purpose(name) else {
            return Ok(());
        };
        match purpose {
            Purpose::New if folder.is_file(name)? => folder.remove(name),
            Purpose::Swap(known) if folder.is_file(name)? => self.discard(folder, name, &known),
            _ => Ok(()),
        }
    }

    /// Writes a new file under a name that must be free.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if the name is taken; otherwise the error of the disk. The file
    /// does not exist then, unless the disk also refuses to remove it.
    pub fn create(&self, folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<FileStamp> {
        self.create_as_of(folder, name, bytes, None)
    }

    /// Does the same with a given modification time.
    pub fn create_as_of(
        &self,
        folder: &Folder,
        name: &str,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> io::Result<FileStamp> {
        let (new, stamp) = self.write(folder, bytes, None, modified)?;
        let placed = folder.rename_to_free(&new, name).and_then(|()| {
            folder.flush().or_else(|error| {
                folder.rename_to_free(name, &new)?;
                Err(error)
            })
        });
        if placed.is_err() {
            // Kept if another program changed it in this instant.
            let _ = self.discard(folder, &new, &[short(&read::hash(bytes))]);
        }
        placed.map(|()| stamp_at(folder, name, stamp))
    }

    /// Replaces the content of a file that has the expected content.
    ///
    /// # Errors
    /// [`WriteRefusal`].
    pub fn replace(
        &self,
        folder: &Folder,
        name: &str,
        expected: &ContentHash,
        bytes: &[u8],
        like: &Metadata,
    ) -> Result<FileStamp, WriteRefusal> {
        self.replace_as_of(folder, name, expected, (bytes, None), like)
    }

    /// Does the same with a given modification time.
    pub fn replace_as_of(
        &self,
        folder: &Folder,
        name: &str,
        expected: &ContentHash,
        (bytes, modified): (&[u8], Option<SystemTime>),
        like: &Metadata,
    ) -> Result<FileStamp, WriteRefusal> {
        let (new, stamp) = self.write(folder, bytes, Some(like), modified)?;
        let hashes = [short(expected), short(&read::hash(bytes))];
        let swap = format!(
            "{}{}-{}-{}.swap",
            self.begin(),
            random_token(),
            hashes[0],
            hashes[1]
        );
        if let Err(error) = folder.rename_to_free(&new, &swap) {
            folder.remove(&new)?;
            return Err(error.into());
        }
        #[cfg(test)]
        tests::pause(tests::Moment::BeforeExchange);
        match folder.exchange(&swap, name) {
            Ok(Some(())) => {}
            Ok(None) => {
                return self
                    .over(folder, name, &swap, expected, &hashes)
                    .map(|()| stamp_at(folder, name, stamp));
            }
            Err(error) => {
                self.discard(folder, &swap, &hashes)?;
                return Err(error.into());
            }
        }
        #[cfg(test)]
        tests::pause(tests::Moment::AfterExchange);
        // Checked twice, because a program that opened the old file before may still write to it
        // now.
        let displaced = DisplacedFile::open(folder, &swap, &hashes).and_then(|displaced| {
            let is_expected = || Ok::<_, io::Error>(displaced.hash()? == Some(*expected));
            if !is_expected()? {
                return Ok(None);
            }
            folder.flush()?;
            Ok(is_expected()?.then_some(displaced))
        });
        if let Ok(Some(displaced)) = displaced {
            // If this fails, the next holder of the lock removes the file.
            let _ = folder.remove(&swap);
            self.keep(displaced);
            return Ok(stamp_at(folder, name, stamp));
        }
        self.put_back(folder, name, &swap, &hashes)?;
        Err(displaced.map_or_else(WriteRefusal::Io, |_| WriteRefusal::Changed))
    }

    /// Writes the content of an open file beside the note that it was; returns its short hash.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn put_beside(&self, folder: &Folder, mut file: &File) -> io::Result<String> {
        file.rewind()?;
        // The same users may read it as may read the note.
        let like = file.metadata()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let bytes = opened(folder.seal(), bytes);
        let (new, _) = self.write(folder, &bytes, Some(&like), None)?;
        let hash = DisplacedFile::open(folder, &new, &[]).and_then(|file| file.hash());
        if let Err(error) = put_visible(folder, &new) {
            // The content is still in the open file and is tried again later.
            folder.remove(&new)?;
            return Err(error);
        }
        folder.flush()?;
        Ok(hash?.map(|hash| short(&hash)).unwrap_or_default())
    }

    /// Writes a temporary file, sealed if the notes are, and makes it durable.
    fn write(
        &self,
        folder: &Folder,
        bytes: &[u8],
        like: Option<&Metadata>,
        modified: Option<SystemTime>,
    ) -> io::Result<(String, FileStamp)> {
        let bytes = sealed(folder.seal(), bytes)?;
        let name = self.new_name();
        let mut file = folder.create_file(&name, like, self.mode)?;
        let copied = file.write_all(&bytes);
        if let Some(modified) = modified {
            // Not every file system can store every time, and no data is lost without it.
            let _ = file.set_modified(modified);
        }
        let written = copied
            .and_then(|()| flush(&file))
            .and_then(|()| file.metadata());
        #[cfg(test)]
        tests::pause(tests::Moment::Written);
        match written {
            Ok(metadata) => Ok((name, stamp(&metadata))),
            Err(error) => {
                folder.remove(&name)?;
                Err(error)
            }
        }
    }

    /// Renames the new file over the old one if the two cannot be exchanged: a file that another
    /// program puts there in the instant after the check is lost.
    fn over(
        &self,
        folder: &Folder,
        name: &str,
        swap: &str,
        expected: &ContentHash,
        hashes: &[String],
    ) -> Result<(), WriteRefusal> {
        let displaced = DisplacedFile::open(folder, name, hashes);
        let is_expected = |displaced: &DisplacedFile| matches!(displaced.hash(), Ok(Some(found)) if found == *expected);
        let Some(displaced) = displaced.ok().filter(is_expected) else {
            self.discard(folder, swap, hashes)?;
            return Err(WriteRefusal::Changed);
        };
        #[cfg(test)]
        tests::pause(tests::Moment::BeforeRenaming);
        // On other systems, an open file cannot lose its name.
        let displaced = cfg!(unix).then_some(displaced);
        if let Err(error) = folder.rename(swap, name) {
            self.discard(folder, swap, hashes)?;
            return Err(error.into());
        }
        if let Some(displaced) = displaced {
            self.keep(displaced);
        }
        Ok(folder.flush()?)
    }

    /// Gives the note its name back, unless another program has replaced our file since.
    fn put_back(
        &self,
        folder: &Folder,
        name: &str,
        swap: &str,
        hashes: &[String; 2],
    ) -> io::Result<()> {
        let is_ours =
            matches!(hash_in(folder, name), Ok(Some(found)) if short(&found) == hashes[1]);
        if is_ours {
            folder.exchange(swap, name)?;
        }
        self.discard(folder, swap, hashes)
    }

    /// Removes a temporary file that contains one of these texts; gives it a visible name if it
    /// contains another text.
    fn discard(&self, folder: &Folder, name: &str, known: &[String]) -> io::Result<()> {
        let displaced = DisplacedFile::open(folder, name, known)?;
        if !displaced
            .hash()?
            .is_some_and(|hash| known.contains(&short(&hash)))
        {
            return put_visible(folder, name);
        }
        folder.remove(name)?;
        self.keep(displaced);
        Ok(())
    }
}

enum Purpose {
    /// A new file that is not visible yet.
    New,
    /// An exchange; contains the short hashes of the two texts.
    Swap([String; 2]),
}

/// Returns the stamp of a file that was just written and then got its name, which changes its time of
/// change; the stamp that it was written with if another file may be at that name now.
fn stamp_at(folder: &Folder, name: &str, written: FileStamp) -> FileStamp {
    let metadata = folder.open_file(name).and_then(|file| file.metadata());
    metadata
        .map(|metadata| stamp(&metadata))
        .ok()
        .filter(|there| is_as_written(*there, written))
        .unwrap_or(written)
}

/// Gives a temporary file with text of another writer a visible name.
fn put_visible(folder: &Folder, name: &str) -> io::Result<()> {
    for number in 1..=RECOVERED_MAX {
        let visible = if number == 1 {
            "recovered note.md".to_owned()
        } else {
            format!("recovered note {number}.md")
        };
        match folder.rename_to_free(name, &visible) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            renamed => {
                tracing::warn!(
                    file = visible,
                    "kept the text that another program wrote into a note in the instant in which loci changed it"
                );
                return renamed;
            }
        }
    }
    Err(io::Error::other(
        "there are too many recovered notes; look through them and delete them",
    ))
}

/// Returns the hash of a file; `None` if it is not a regular file, or larger than a note may be.
fn hash_in(folder: &Folder, name: &str) -> io::Result<Option<ContentHash>> {
    Ok(read::bytes(folder, name)?.map(|(bytes, _)| read::hash(&bytes)))
}

#[cfg(test)]
mod tests;
