//! The pages of a database as they were last committed.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use loci_core::Error;

use super::log::{Log, LogState};
use crate::schema;

/// Bytes of a page in every database that loci makes.
pub(crate) const PAGE_SIZE: usize = 4_096;
/// What a database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Nothing is reserved at the end of pages; what else is written here never changes.
const REST_OF_FORMAT: [u8; 4] = [0, 64, 32, 32];
const SCHEMA_FORMAT: u32 = 4;
const UTF_8: u32 = 1;
/// The first version of the schema whose rows carry checksums.
const FIRST_VERSION: i64 = 7;

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
    /// How many there were, as the first one says; none if it does not say so in a way that can be
    /// believed.
    pub(crate) noted: Option<u32>,
    /// The version of its schema, if it is one that salvage knows.
    pub(crate) version: Option<i64>,
    pub(crate) state: LogState,
    /// What is wrong with how it begins or ends: the page, and the problem in words.
    pub(crate) problems: Vec<(u32, &'static str)>,
}

impl Pages {
    pub(crate) fn open(database: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::unavailable(format!(
                "{} cannot be read ({error}): check the disk and try again",
                database.display()
            ))
        };
        let mut log = Log::read(database)?;
        let mut file = match File::open(database) {
            Err(error) if error.kind() == ErrorKind::NotFound && log.is_some() => None,
            file => Some(file.map_err(failed)?),
        };
        let bytes = file
            .as_ref()
            .map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()))
            .map_err(failed)?;
        let mut header = [0; 18];
        // One that cannot be read is as good as one that is damaged.
        let is_read = file
            .as_mut()
            .is_some_and(|file| file.read_exact(&mut header).is_ok());
        let noted = usize::from(u16::from_be_bytes([header[16], header[17]]));
        let is_sound = is_read && header.starts_with(MAGIC) && is_page_size(noted);
        // Without a header, a log with a good one knows.
        let of_log = log
            .as_ref()
            .filter(|log| log.state.pages > 0)
            .map(|log| log.page_size);
        let size = if is_sound {
            noted
        } else {
            of_log.unwrap_or(PAGE_SIZE)
        };
        let state = log.as_ref().map_or_else(LogState::default, |log| log.state);
        log = log.filter(|log| log.page_size == size);
        let in_file = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let in_log = log
            .as_ref()
            .and_then(|log| log.pages.keys().max().copied())
            .unwrap_or(0);
        let begins_well = is_sound || log.as_ref().is_some_and(|log| log.pages.contains_key(&1));
        let is_cut = bytes % size as u64 > 0
            && log
                .as_ref()
                .is_none_or(|log| !log.pages.contains_key(&in_file));
        // What lies behind the last commit's end is what a checkpoint has not cut off yet.
        let in_use = state
            .database_pages
            .filter(|_| state.unread == 0)
            .unwrap_or(u32::MAX);
        let count = in_file.max(in_log).min(in_use);
        let mut pages = Pages {
            file,
            log,
            size,
            in_file,
            count,
            noted: None,
            version: None,
            state,
            problems: Vec::new(),
        };
        let header = pages.read(1).filter(|_| begins_well);
        pages.look_at_header(header.as_deref().unwrap_or_default());
        pages
            .problems
            .extend(is_cut.then_some((in_file, "the file ends within it")));
        Ok(pages)
    }

    /// Compares what the database begins with, if it begins as one does, with what SQLite and loci
    /// write.
    fn look_at_header(&mut self, header: &[u8]) {
        if header.is_empty() {
            self.problems
                .push((1, "it does not begin as a database does"));
            return;
        }
        let number = |place| number_at(header, place);
        // Only then it is of the commit that wrote it, and SQLite believes it.
        let noted = Some(number(28)).filter(|noted| *noted > 0 && number(24) == number(92));
        self.noted = noted;
        self.version =
            (FIRST_VERSION..=schema::VERSION).find(|version| i64::from(number(60)) == *version);
        // One version of the format for reading and for writing, with a write-ahead log or without.
        let is_ours = matches!(header[18..24], [1, 1, ref rest @ ..] | [2, 2, ref rest @ ..] if *rest == REST_OF_FORMAT)
            && (number(44), number(56)) == (SCHEMA_FORMAT, UTF_8)
            // No pages are given back but by a VACUUM.
            && (number(52), number(64)) == (0, 0)
            && i64::from(number(68)) == schema::APPLICATION_ID
            && self.version.is_some();
        // Whoever made the file ended before anything was in it.
        let has_just_begun = self.count == 1 && (number(44), number(60), number(68)) == (0, 0, 0);
        if (1..FIRST_VERSION).contains(&i64::from(number(60))) {
            self.problems
                .push((1, "its rows carry no checksums, so that none is known again: the schema is older than 7"));
        } else if !is_ours && !has_just_begun {
            self.problems
                .push((1, "what the database begins with is not what loci writes"));
        }
        if noted.is_some_and(|noted| noted > self.count) {
            self.problems.push((1, "it says that there are more pages"));
        }
    }

    /// Whether a page that is not there may have been there.
    pub(crate) fn may_have_had(&self, number: u32) -> bool {
        number > self.count && self.noted.is_none_or(|noted| number <= noted)
    }

    /// A page; none if there is none or the disk does not give it back. What is cut off of the last
    /// one is zeros.
    pub(crate) fn read(&self, number: u32) -> Option<Vec<u8>> {
        let before = u64::from(number.checked_sub(1)?);
        let (mut file, place) = match self
            .log
            .as_ref()
            .and_then(|log| Some((log, *log.pages.get(&number)?)))
        {
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

/// Whether pages can have that many bytes. The largest that SQLite knows is noted in another way
/// and never ours.
pub(crate) fn is_page_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (512..=32_768).contains(&bytes)
}

/// The big-endian number of 32 bits at that place; 0 if the bytes end before.
pub(crate) fn number_at(bytes: &[u8], place: usize) -> u32 {
    bytes
        .get(place..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
