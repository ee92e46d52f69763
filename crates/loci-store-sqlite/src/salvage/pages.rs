//! The pages of a database as they were last committed.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use loci_core::Error;

use super::log::{Log, LogState};

/// Bytes of a page in every database that loci makes.
pub(crate) const PAGE_SIZE: usize = 4_096;
/// What a database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// A database file and its log.
#[derive(Debug)]
pub(crate) struct Pages {
    /// None if there is none.
    file: Option<File>,
    log: Option<Log>,
    size: usize,
    /// In the file, the last of which may be cut off.
    in_file: u32,
    /// In file and log.
    pub(crate) count: u32,
    pub(crate) state: LogState,
    /// Whether it begins as a database does.
    pub(crate) begins_well: bool,
}

impl Pages {
    pub(crate) fn open(database: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::unavailable(format!("{} cannot be read ({error}): check the disk and try again", database.display()))
        };
        let mut log = Log::read(database)?;
        let mut file = match File::open(database) {
            Err(error) if error.kind() == ErrorKind::NotFound && log.is_some() => None,
            file => Some(file.map_err(failed)?),
        };
        let bytes =
            file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len())).map_err(failed)?;
        let mut header = [0; 18];
        // One that cannot be read is as good as one that is damaged.
        let is_read = file.as_mut().is_some_and(|file| file.read_exact(&mut header).is_ok());
        let noted = usize::from(u16::from_be_bytes([header[16], header[17]]));
        let is_sound = is_read && header.starts_with(MAGIC) && is_page_size(noted);
        // Without a header, a log with a good one knows.
        let of_log = log.as_ref().filter(|log| log.state.pages > 0).map(|log| log.page_size);
        let size = if is_sound { noted } else { of_log.unwrap_or(PAGE_SIZE) };
        let state = log.as_ref().map_or_else(LogState::default, |log| log.state);
        log = log.filter(|log| log.page_size == size);
        let in_file = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let in_log = log.as_ref().and_then(|log| log.pages.keys().max().copied()).unwrap_or(0);
        let begins_well = is_sound || log.as_ref().is_some_and(|log| log.pages.contains_key(&1));
        Ok(Pages { file, log, state, size, in_file, count: in_file.max(in_log), begins_well })
    }

    /// A page; none if there is none or the disk does not give it back. What is cut off of the last one is zeros.
    pub(crate) fn read(&self, number: u32) -> Option<Vec<u8>> {
        let before = u64::from(number.checked_sub(1)?);
        let (mut file, place) = match self.log.as_ref().and_then(|log| Some((log, *log.pages.get(&number)?))) {
            Some((log, place)) => (&log.file, place),
            None if number <= self.in_file => (self.file.as_ref()?, before * self.size as u64),
            None => return None,
        };
        file.seek(SeekFrom::Start(place)).ok()?;
        let mut page = Vec::with_capacity(self.size);
        file.take(self.size as u64).read_to_end(&mut page).ok()?;
        page.resize(self.size, 0);
        Some(page)
    }
}

/// Whether pages can have that many bytes. The largest that SQLite knows is noted in another way and never ours.
pub(crate) fn is_page_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (512..=32_768).contains(&bytes)
}

/// The big-endian number of 32 bits at that place; 0 if the bytes end before.
pub(crate) fn number_at(bytes: &[u8], place: usize) -> u32 {
    bytes.get(place..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
