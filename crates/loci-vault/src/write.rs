//! Putting a file in place as a whole, and never in the place of something that nobody has read.
//!
//! Everything goes through temporary files in the folder of the note. One that is being written is named
//! `.loci-TOKEN-NUMBER.new`, and holds nothing that anybody relies on. Before a written one changes places with a
//! note it is named `.loci-TOKEN-OLD-NEW.swap` after the hashes of both, so that whoever finds it after a crash can
//! tell the two from a third text, which somebody wrote in between and which must not be lost.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{ContentHash, FileStamp};

use crate::disk::{Folder, flush, stamp};
use crate::read;

const PREFIX: &str = ".loci-";
/// Bytes of a hash that stand in a name.
const NAMED_BYTES: usize = 8;
/// Names that are tried for a file that is put back.
const RECOVERED_MAX: usize = 1_000;

/// Why a note was not written. Nothing has changed then.
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
    /// What the names begin with.
    begin: String,
    number: AtomicU64,
}

impl Temporary {
    pub fn of(lock_file: &Path) -> Self {
        let token = hex(&read::hash(lock_file.as_os_str().as_encoded_bytes()).0[..4]);
        Temporary { begin: format!("{PREFIX}{token}-"), number: AtomicU64::new(0) }
    }

    /// Whether it is the name of one of ours.
    pub fn is_ours(&self, name: &str) -> bool {
        self.purpose(name).is_some()
    }

    /// The name of the next file to write.
    pub fn new_name(&self) -> String {
        format!("{}{}.new", self.begin, self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// What such a file is left over from; none if its name is not one of ours.
    fn purpose(&self, name: &str) -> Option<Purpose> {
        let rest = name.strip_prefix(&self.begin)?;
        if let Some(number) = rest.strip_suffix(".new") {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            return is_number.then_some(Purpose::New);
        }
        let (old, new) = rest.strip_suffix(".swap")?.split_once('-')?;
        let is_hash = |hash: &str| hash.len() == 2 * NAMED_BYTES && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hash(old) && is_hash(new)).then(|| Purpose::Swap([old.to_owned(), new.to_owned()]))
    }

    /// Removes a temporary file that a crash left; keeps it under a visible name if it holds what somebody else
    /// wrote. Does nothing to what only has such a name.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn clear(&self, folder: &Folder, name: &str) -> io::Result<()> {
        let Some(purpose) = self.purpose(name) else { return Ok(()) };
        match purpose {
            Purpose::New if folder.is_file(name)? => folder.remove(name),
            Purpose::Swap(known) if folder.is_file(name)? => discard(folder, name, &known),
            _ => Ok(()),
        }
    }

    /// Writes a new file under a name that must be free.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if it is not; else the disk refuses. Nothing is there then.
    pub fn create(&self, folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<FileStamp> {
        let (new, stamp) = self.write(folder, bytes, None)?;
        let placed = folder.rename_to_free(&new, name).and_then(|()| {
            folder.flush().or_else(|error| {
                folder.rename_to_free(name, &new)?;
                Err(error)
            })
        });
        if placed.is_err() {
            // Unless somebody changed it in this instant.
            let _ = discard(folder, &new, &[short(&read::hash(bytes))]);
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
        let (new, stamp) = self.write(folder, bytes, Some(like))?;
        let hashes = [short(expected), short(&read::hash(bytes))];
        let swap = format!("{}{}-{}.swap", self.begin, hashes[0], hashes[1]);
        let _ = self.clear(folder, &swap);
        if let Err(error) = folder.rename_to_free(&new, &swap) {
            folder.remove(&new)?;
            return Err(error.into());
        }
        #[cfg(test)]
        tests::pause(tests::Moment::BeforeExchange);
        match folder.exchange(&swap, name) {
            Ok(Some(())) => {}
            Ok(None) => return over(folder, name, &swap, expected, &hashes).map(|()| stamp),
            Err(error) => {
                discard(folder, &swap, &hashes)?;
                return Err(error.into());
            }
        }
        #[cfg(test)]
        tests::pause(tests::Moment::AfterExchange);
        // Looked at twice, for those who opened the old file before, and write into it now.
        let is_expected = || Ok(displaced_hash(folder, &swap)? == Some(*expected));
        let is_done = is_expected().and_then(|is_expected_now| {
            if is_expected_now {
                folder.flush()?;
            }
            Ok(is_expected_now && is_expected()?)
        });
        if let Ok(true) = is_done {
            // What is left over if this fails is cleared by the next holder of the lock.
            let _ = folder.remove(&swap);
            return Ok(stamp);
        }
        put_back(folder, name, &swap, &hashes)?;
        Err(is_done.map_or_else(Refused::Io, |_| Refused::Changed))
    }

    /// Writes a temporary file and makes it durable.
    fn write(&self, folder: &Folder, bytes: &[u8], like: Option<&Metadata>) -> io::Result<(String, FileStamp)> {
        let name = self.new_name();
        let create = || folder.create_file(&name, like);
        let mut file = match create() {
            // Left by a process whose numbers began anew.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.clear(folder, &name).and_then(|()| create()),
            created => created,
        }?;
        let written = file.write_all(bytes).and_then(|()| flush(&file)).and_then(|()| file.metadata());
        match written {
            Ok(metadata) => Ok((name, stamp(&metadata))),
            Err(error) => {
                folder.remove(&name)?;
                Err(error)
            }
        }
    }
}

enum Purpose {
    /// Writing, before anybody saw it.
    New,
    /// Changing places; the short hashes of the two texts.
    Swap([String; 2]),
}

/// Renames the new file over the old one where the two cannot change places: a change in the instant after the
/// look is lost.
fn over(folder: &Folder, name: &str, swap: &str, expected: &ContentHash, hashes: &[String]) -> Result<(), Refused> {
    let is_expected = matches!(hash_in(folder, name), Ok(Some(found)) if found == *expected);
    let placed = if is_expected { folder.rename(swap, name).map_err(Refused::Io) } else { Err(Refused::Changed) };
    if placed.is_err() {
        discard(folder, swap, hashes)?;
        return placed;
    }
    Ok(folder.flush()?)
}

/// The hash of a file that nobody finds under its name any more, but some may have open.
fn displaced_hash(folder: &Folder, swap: &str) -> io::Result<Option<ContentHash>> {
    folder.wait_for_writers(swap)?;
    hash_in(folder, swap)
}

/// Gives the note its name back, unless somebody put something else in the place of ours meanwhile.
fn put_back(folder: &Folder, name: &str, swap: &str, hashes: &[String; 2]) -> io::Result<()> {
    let is_ours = matches!(hash_in(folder, name), Ok(Some(found)) if short(&found) == hashes[1]);
    if is_ours {
        folder.exchange(swap, name)?;
    }
    discard(folder, swap, hashes)
}

/// Removes a temporary file that holds one of these texts; gives it a visible name if it holds another one.
fn discard(folder: &Folder, name: &str, known: &[String]) -> io::Result<()> {
    let is_known = displaced_hash(folder, name)?.is_some_and(|hash| known.contains(&short(&hash)));
    if is_known {
        return folder.remove(name);
    }
    for number in 1..=RECOVERED_MAX {
        let visible = if number == 1 { "recovered note.md".to_owned() } else { format!("recovered note {number}.md") };
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
    Ok(())
}

/// The hash of a file; none if it is no file, or larger than a note may be.
fn hash_in(folder: &Folder, name: &str) -> io::Result<Option<ContentHash>> {
    Ok(read::bytes(folder, name)?.map(|(bytes, _)| read::hash(&bytes)))
}

fn short(hash: &ContentHash) -> String {
    hex(&hash.0[..NAMED_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests;
