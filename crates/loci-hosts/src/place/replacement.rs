//! Replaces a file atomically, and never over a text that was not read before.
//!
//! A file that is being written is named `.NAME.loci-TOKEN.new`, and holds nothing that must stay.
//! Before it is exchanged with the file, it is renamed to `.NAME.loci-TOKEN-OLD-NEW.swap` with the
//! hashes of both texts, so that a later process tells what came out of an exchange from what
//! another program wrote in between. The text that comes out is compared with the one that was read,
//! and put back if they differ.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loci_vault::disk::{FileState, Folder};
use loci_vault::{random_token, short_hash};

use super::{FileVersion, Place, contents, settled_contents};

/// The permissions of a new file: only its owner.
const FILE_MODE: u32 = 0o600;
/// The permissions of the files in a new folder: those that the system gives by default.
const FOLDER_MODE: u32 = 0o666;
/// The number of times that a text is put back while other programs go on writing.
const PUT_BACK_MAX: usize = 100;
/// The time within which a system renames when nothing holds it up.
const QUICK: Duration = Duration::from_micros(200);
/// The number of times that loci waits for such a moment.
const TURNS_MAX: usize = 50;
/// The hash of no text, in the name of a file that is being removed.
pub(super) const NO_HASH: &str = "0000000000000000";
/// The number of names that are tried for a kept text.
const KEPT_MAX: usize = 1_000;

/// The outcome of an attempt to change a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is changed.
    Done,
    /// Another program changed it first. It is as that program made it.
    Overtaken {
        /// The file beside it with an older text of another program that is not in the new one.
        kept: Option<PathBuf>,
    },
}

const OVERTAKEN: Attempt = Attempt::Overtaken { kept: None };

/// A file that was written and has no visible name yet.
pub(super) struct Draft {
    pub name: String,
    state: FileState,
}

impl Place {
    /// Makes the file, and the folders on the way.
    ///
    /// # Errors
    /// A folder or the file cannot be made.
    pub fn create(&mut self, text: &str) -> io::Result<Attempt> {
        for name in std::mem::take(&mut self.missing) {
            match self.folder.make_folder(&name, FOLDER_MODE) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                made => {
                    let entered = self.folder.enter(&name)?;
                    if made.is_ok() {
                        self.folder.give_folder(&entered)?;
                    }
                    self.folder = entered;
                }
            }
        }
        let draft = self.write(text.as_bytes(), None)?;
        match self.folder.rename_to_free(&draft.name, &self.name) {
            Ok(()) => {}
            Err(error) => {
                self.folder.remove(&draft.name)?;
                return match error.kind() {
                    ErrorKind::AlreadyExists => Ok(OVERTAKEN),
                    _ => Err(error),
                };
            }
        }
        self.folder.flush()?;
        Ok(Attempt::Done)
    }

    /// Replaces the file, if it still is as it was read. It keeps its mode and, where root runs
    /// this, its owner.
    ///
    /// # Errors
    /// The disk refuses. The file is as it was then, or as another program has made it.
    pub fn replace(&self, seen: &FileVersion, text: &str) -> io::Result<Attempt> {
        let draft = self.write(text.as_bytes(), Some(&seen.metadata))?;
        at(ReplacementStep::BeforeLook);
        let new = short_hash(text.as_bytes());
        let Some(swap) = self.take_turn_of_names(&draft.name, seen, &new)? else {
            return Ok(OVERTAKEN);
        };
        at(ReplacementStep::BeforeExchange);
        match self.exchange(&swap) {
            Ok(Some(())) => {}
            Ok(None) => return self.rename_over(seen, &swap, &draft),
            Err(error) => {
                self.folder.remove(&swap)?;
                return match error.kind() {
                    ErrorKind::NotFound => Ok(OVERTAKEN),
                    _ => Err(error),
                };
            }
        }
        at(ReplacementStep::AfterExchange);
        match self.is_unchanged(&swap, seen) {
            Ok(true) => {
                self.folder.remove(&swap)?;
                Ok(Attempt::Done)
            }
            checked => {
                let known = [seen.bytes.as_slice(), text.as_bytes()];
                let kept = self.put_back(&swap, draft.state, &known)?;
                checked.map(|_| Attempt::Overtaken { kept })
            }
        }
    }

    /// Removes the file, if it still is as it was read.
    ///
    /// # Errors
    /// The disk refuses. The file is as it was then, or as another program has made it.
    pub fn remove(&self, seen: &FileVersion) -> io::Result<Attempt> {
        let swap = self.swap_name(&seen.bytes, NO_HASH);
        at(ReplacementStep::BeforeLook);
        self.folder.wait_for_names(&self.name);
        if !self.is_as_read(seen) {
            return Ok(OVERTAKEN);
        }
        at(ReplacementStep::BeforeExchange);
        match self.folder.rename_to_free(&self.name, &swap) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OVERTAKEN),
            renamed => renamed?,
        }
        at(ReplacementStep::AfterExchange);
        let checked = self.is_unchanged(&swap, seen);
        if let Ok(true) = checked {
            self.folder.remove(&swap)?;
            return Ok(Attempt::Done);
        }
        let kept = match self.folder.rename_to_free(&swap, &self.name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.discard(&swap, &[&seen.bytes])?
            }
            renamed => renamed.map(|()| None)?,
        };
        checked.map(|_| Attempt::Overtaken { kept })
    }

    /// Writes a file of a temporary name and makes it durable, with the mode and the owner of
    /// another one.
    pub(super) fn write(&self, bytes: &[u8], like: Option<&Metadata>) -> io::Result<Draft> {
        let name = format!(".{}.loci-{}.new", self.name, random_token());
        let mut file = self.folder.create_file(&name, like, FILE_MODE)?;
        let written = (|| {
            if like.is_none() {
                self.folder.give(&file)?;
            }
            file.write_all(bytes)?;
            file.sync_all()?;
            file.metadata()
        })();
        at(ReplacementStep::Written);
        match written {
            Ok(metadata) => Ok(Draft {
                name,
                state: FileState::from(&metadata),
            }),
            Err(error) => {
                let _ = self.folder.remove(&name);
                Err(error)
            }
        }
    }

    fn swap_name(&self, old: &[u8], new: &str) -> String {
        let (token, old) = (random_token(), short_hash(old));
        format!(".{}.loci-{token}-{old}-{new}.swap", self.name)
    }

    /// Renames a draft to the name for an exchange, at a moment at which the system is quick to
    /// rename: otherwise other programs wait for the same folder or the same disk, and may write in
    /// the time that the exchange takes. That is noticed and put back, but they may read ours until
    /// then. Returns `None` if the file is not as it was read any more, and removes the draft.
    fn take_turn_of_names(
        &self,
        draft: &str,
        seen: &FileVersion,
        new: &str,
    ) -> io::Result<Option<String>> {
        let mut name = draft.to_owned();
        for _ in 0..TURNS_MAX {
            let begin = Instant::now();
            let swap = self.swap_name(&seen.bytes, new);
            if let Err(error) = self.folder.rename_to_free(&name, &swap) {
                self.folder.remove(&name)?;
                return Err(error);
            }
            name = swap;
            if !self.is_as_read(seen) {
                self.folder.remove(&name)?;
                return Ok(None);
            }
            if begin.elapsed() < QUICK {
                break;
            }
        }
        Ok(Some(name))
    }

    /// Exchanges a draft with the file; `None` if the file system cannot.
    fn exchange(&self, swap: &str) -> io::Result<Option<()>> {
        #[cfg(test)]
        if super::tests::IS_PLAIN.get() {
            return Ok(None);
        }
        self.folder.exchange(swap, &self.name)
    }

    /// Returns true if the file seems to be as it was read.
    fn is_as_read(&self, seen: &FileVersion) -> bool {
        let now = self.folder.state(&self.name);
        now.is_ok_and(|now| now == FileState::from(&seen.metadata))
    }

    /// Returns true if a file that lost its name is as it was read. Looks twice, because a program
    /// that opened the file before may write to it now.
    fn is_unchanged(&self, swap: &str, seen: &FileVersion) -> io::Result<bool> {
        let there = self.folder.state(swap)?;
        if there.inode != FileState::from(&seen.metadata).inode {
            return Ok(false);
        }
        let file = self.folder.open_file(swap)?;
        let is_as_read = || Ok::<_, io::Error>(settled_contents(&file)?.1 == seen.bytes);
        if !is_as_read()? {
            return Ok(false);
        }
        self.folder.flush()?;
        at(ReplacementStep::Flushed);
        is_as_read()
    }

    /// Gives the file its name back, after an exchange with ours. If other programs go on writing,
    /// the newest of their files gets it.
    fn put_back(
        &self,
        swap: &str,
        ours: FileState,
        known: &[&[u8]],
    ) -> io::Result<Option<PathBuf>> {
        put_back(&self.folder, &self.name, swap, ours)?;
        self.discard(swap, known)
    }

    /// Renames the new file over the old one, where two names cannot be exchanged: a file that
    /// another program puts there in the instant after the look is lost, but not what it writes
    /// into the old one.
    fn rename_over(&self, seen: &FileVersion, swap: &str, draft: &Draft) -> io::Result<Attempt> {
        if let Err(error) = self.folder.rename(swap, &self.name) {
            self.folder.remove(swap)?;
            return Err(error);
        }
        at(ReplacementStep::AfterExchange);
        self.folder.flush()?;
        let Some(file) = &seen.file else {
            return Ok(Attempt::Done);
        };
        let (metadata, bytes) = settled_contents(file)?;
        if bytes == seen.bytes {
            return Ok(Attempt::Done);
        }
        let newer = self.write(&bytes, Some(&metadata))?;
        let there = self.folder.state(&self.name);
        if there.is_ok_and(|there| there == draft.state) {
            self.folder.rename(&newer.name, &self.name)?;
            return Ok(OVERTAKEN);
        }
        let kept = self.discard(&newer.name, &[])?;
        Ok(Attempt::Overtaken { kept })
    }

    /// Removes a temporary file if its text is known or the file has every line of it; gives it a
    /// visible name otherwise.
    fn discard(&self, name: &str, known: &[&[u8]]) -> io::Result<Option<PathBuf>> {
        let is_known = |bytes: &[u8]| known.contains(&bytes);
        let kept = discard(&self.folder, name, &self.name, is_known)?;
        Ok(kept.map(|kept| self.real.with_file_name(kept)))
    }
}

/// Gives a file that lost its name in an exchange with ours the name back.
pub(super) fn put_back(folder: &Folder, name: &str, swap: &str, ours: FileState) -> io::Result<()> {
    let mut placed = ours;
    for _ in 0..PUT_BACK_MAX {
        let held = folder.state(swap)?;
        match folder.exchange(swap, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return folder.rename_to_free(swap, name);
            }
            exchanged => exchanged?,
        };
        at(ReplacementStep::PutBack);
        if folder.state(swap)?.inode == placed.inode {
            break;
        }
        // The file that came out is newer than the one that went in.
        placed = held;
    }
    Ok(())
}

/// Removes a temporary file if its text is known, or the file beside it has every line of it; gives
/// it a visible name otherwise, and returns that.
pub(super) fn discard(
    folder: &Folder,
    temporary: &str,
    name: &str,
    is_known: impl FnOnce(&[u8]) -> bool,
) -> io::Result<Option<String>> {
    let opened = folder.open_file(temporary);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = settled_contents(&file).map(|(_, bytes)| bytes);
    let newest = folder.open_file(name).and_then(|file| contents(&file));
    let newest = newest.map(|(_, bytes)| bytes).unwrap_or_default();
    if bytes.is_ok_and(|bytes| is_known(&bytes) || has_lines(&newest, &bytes)) {
        folder.remove(temporary)?;
        return Ok(None);
    }
    for number in 1..=KEPT_MAX {
        let visible = format!("{name}.loci-recovered-{number}");
        match folder.rename_to_free(temporary, &visible) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            renamed => return renamed.map(|()| Some(visible)),
        }
    }
    Err(io::Error::other(format!(
        "there are too many files {name}.loci-recovered-…; look through them and delete them"
    )))
}

/// Returns true if a text has every line of another one, but for commas at their ends.
fn has_lines(text: &[u8], other: &[u8]) -> bool {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.map(|line| line.strip_suffix(b",").unwrap_or(line).to_vec());
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        lines
    };
    let mut there = lines(text).into_iter();
    lines(other)
        .iter()
        .all(|line| there.any(|found| found == *line))
}

/// A moment at which a test may interfere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplacementStep {
    Written,
    BeforeLook,
    BeforeExchange,
    AfterExchange,
    Flushed,
    PutBack,
}

#[cfg(test)]
use super::tests::at;

#[cfg(not(test))]
const fn at(_: ReplacementStep) {}
