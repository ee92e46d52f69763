//! Putting a file in place as a whole, and never in the place of something that nobody has read.
//!
//! Everything goes through temporary files in the folder of the note. One that is being written is
//! named `.loci-TOKEN-RANDOM.new`, and holds nothing that anybody relies on. Before a written one
//! changes places with a note it is named `.loci-TOKEN-RANDOM-OLD-NEW.swap` after the hashes of
//! both, so that whoever finds it after a crash can tell the two from a third text, which somebody
//! wrote in between and which must not be lost. The token is that of the lock: another loci that
//! writes into the same folder under another lock has files of its own.
//!
//! Who has the old file open goes on writing into it after it has lost its name. It is kept open
//! for [`KEPT_SECONDS`](crate::displaced::KEPT_SECONDS), and what is written into it until then is
//! put beside the note. What is lost all the same: what somebody writes through such an open file
//! later than that, or before it was looked at again if this process is killed or
//! [`KEPT_MAX`](crate::displaced::KEPT_MAX) others are displaced meanwhile; and, where two names
//! cannot be exchanged, a file that somebody puts in the place of the note between our last look at
//! it and the renaming.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek};
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use data_encoding::HEXLOWER;
use loci_core::{ContentHash, FileStamp};

use crate::disk::{Folder, flush, stamp};
use crate::displaced::Displaced;
use crate::lock::{is_token, random_token};
use crate::read;

/// The permissions of a new file, unless others are asked for: its owner alone.
const FILE_MODE: u32 = 0o600;
const PREFIX: &str = ".loci-";
/// Bytes of a hash that stand in a name.
const NAMED_BYTES: usize = 8;
/// Names that are tried for a file that is put back.
const RECOVERED_MAX: usize = 1_000;

/// Why a note was not written. It is as it was, or as somebody else has made it; where two names
/// cannot be exchanged, it may be the new one, if only making that durable failed.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Something else is in the file than what was expected.
    Changed,
    /// The disk refuses.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

/// How the temporary files of one lock are named: whoever has another lock leaves them alone.
pub(crate) struct Temporary {
    /// The token of the lock; until it is known, one that nobody has.
    token: Mutex<String>,
    /// What lost its name and was not taken yet.
    displaced: Mutex<Vec<Displaced>>,
    /// The permissions of files that are no new versions of others.
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

    /// What has lost its name since the last time.
    pub fn take_displaced(&self) -> Vec<Displaced> {
        mem::take(
            &mut *self
                .displaced
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn keep(&self, displaced: Displaced) {
        // Elsewhere, a file has its name until it is closed.
        if cfg!(unix) {
            self.displaced
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(displaced);
        }
    }

    /// What the names begin with.
    fn begin(&self) -> String {
        format!(
            "{PREFIX}{}-",
            self.token.lock().unwrap_or_else(PoisonError::into_inner)
        )
    }

    /// Whether it is the name of one of ours.
    pub fn is_ours(&self, name: &str) -> bool {
        self.purpose(name).is_some()
    }

    /// A name for a file to write, which nobody else has.
    pub fn new_name(&self) -> String {
        format!("{}{}.new", self.begin(), random_token())
    }

    /// What such a file is left over from; none if its name is not one of ours.
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

    /// Removes a temporary file that a crash left; keeps it under a visible name if it holds what
    /// somebody else wrote. Does nothing to what only has such a name.
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
    /// [`ErrorKind::AlreadyExists`] if it is not; else the disk refuses. Nothing of ours is there
    /// then, unless the disk refuses to take that back, too.
    pub fn create(&self, folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<FileStamp> {
        self.create_as_of(folder, name, bytes, None)
    }

    /// The same, with the time of its last modification.
    pub fn create_as_of(
        &self,
        folder: &Folder,
        name: &str,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> io::Result<FileStamp> {
        let (new, stamp) = self.write(folder, &mut &*bytes, None, modified)?;
        let placed = folder.rename_to_free(&new, name).and_then(|()| {
            folder.flush().or_else(|error| {
                folder.rename_to_free(name, &new)?;
                Err(error)
            })
        });
        if placed.is_err() {
            // Unless somebody changed it in this instant.
            let _ = self.discard(folder, &new, &[short(&read::hash(bytes))]);
        }
        placed.map(|()| stamp)
    }

    /// Writes other bytes into a file that holds what is expected.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn replace(
        &self,
        folder: &Folder,
        name: &str,
        expected: &ContentHash,
        bytes: &[u8],
        like: &Metadata,
    ) -> Result<FileStamp, Refused> {
        let (new, stamp) = self.write(folder, &mut &*bytes, Some(like), None)?;
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
                    .map(|()| stamp);
            }
            Err(error) => {
                self.discard(folder, &swap, &hashes)?;
                return Err(error.into());
            }
        }
        #[cfg(test)]
        tests::pause(tests::Moment::AfterExchange);
        // Looked at twice, for those who opened the old file before, and write into it now.
        let displaced = Displaced::open(folder, &swap, &hashes).and_then(|displaced| {
            let is_expected = || Ok::<_, io::Error>(displaced.hash()? == Some(*expected));
            if !is_expected()? {
                return Ok(None);
            }
            folder.flush()?;
            Ok(is_expected()?.then_some(displaced))
        });
        if let Ok(Some(displaced)) = displaced {
            // What is left over if this fails is cleared by the next holder of the lock.
            let _ = folder.remove(&swap);
            self.keep(displaced);
            return Ok(stamp);
        }
        self.put_back(folder, name, &swap, &hashes)?;
        Err(displaced.map_or_else(Refused::Io, |_| Refused::Changed))
    }

    /// Puts what an open file holds beside the note that it was; returns its short hash.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn put_beside(&self, folder: &Folder, mut file: &File) -> io::Result<String> {
        file.rewind()?;
        // The same people may read this as the note.
        let like = file.metadata()?;
        let (new, _) = self.write(folder, &mut file, Some(&like), None)?;
        let hash = Displaced::open(folder, &new, &[]).and_then(|file| file.hash());
        if let Err(error) = put_visible(folder, &new) {
            // The open file still has it, and a later attempt.
            folder.remove(&new)?;
            return Err(error);
        }
        folder.flush()?;
        Ok(hash?.map(|hash| short(&hash)).unwrap_or_default())
    }

    /// Writes a temporary file and makes it durable.
    fn write(
        &self,
        folder: &Folder,
        bytes: &mut dyn Read,
        like: Option<&Metadata>,
        modified: Option<SystemTime>,
    ) -> io::Result<(String, FileStamp)> {
        let name = self.new_name();
        let mut file = folder.create_file(&name, like, self.mode)?;
        let copied = io::copy(bytes, &mut file);
        if let Some(modified) = modified {
            // Not every file system can hold every time, and none is lost with it.
            let _ = file.set_modified(modified);
        }
        let written = copied
            .and_then(|_| flush(&file))
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

    /// Renames the new file over the old one where the two cannot change places: a file that
    /// somebody puts there in the instant after the look is lost.
    fn over(
        &self,
        folder: &Folder,
        name: &str,
        swap: &str,
        expected: &ContentHash,
        hashes: &[String],
    ) -> Result<(), Refused> {
        let displaced = Displaced::open(folder, name, hashes);
        let is_expected = |displaced: &Displaced| matches!(displaced.hash(), Ok(Some(found)) if found == *expected);
        let Some(displaced) = displaced.ok().filter(is_expected) else {
            self.discard(folder, swap, hashes)?;
            return Err(Refused::Changed);
        };
        #[cfg(test)]
        tests::pause(tests::Moment::BeforeRenaming);
        // Elsewhere, what is open cannot lose its name.
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

    /// Gives the note its name back, unless somebody put something else in the place of ours
    /// meanwhile.
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

    /// Removes a temporary file that holds one of these texts; gives it a visible name if it holds
    /// another one.
    fn discard(&self, folder: &Folder, name: &str, known: &[String]) -> io::Result<()> {
        let displaced = Displaced::open(folder, name, known)?;
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
    /// Writing, before anybody saw it.
    New,
    /// Changing places; the short hashes of the two texts.
    Swap([String; 2]),
}

/// Gives a temporary file that holds what somebody else wrote a visible name.
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
                    "kept what somebody wrote into a note in the instant in which loci changed it"
                );
                return renamed;
            }
        }
    }
    Err(io::Error::other(
        "there are too many recovered notes; look through them and delete them",
    ))
}

/// The hash of a file; none if it is no file, or larger than a note may be.
fn hash_in(folder: &Folder, name: &str) -> io::Result<Option<ContentHash>> {
    Ok(read::bytes(folder, name)?.map(|(bytes, _)| read::hash(&bytes)))
}

/// The part of a hash that stands in names.
pub(crate) fn short(hash: &ContentHash) -> String {
    HEXLOWER.encode(&hash.0[..NAMED_BYTES])
}

#[cfg(test)]
mod tests;
