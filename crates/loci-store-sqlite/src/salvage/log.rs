//! The write-ahead log: which of its pages belong to commits that can be read.
//!
//! The form is that of <https://www.sqlite.org/fileformat2.html#walformat>. A page counts if its
//! frame and all before it have the salts of the log's header and the running checksum that is
//! noted in them, up to the last frame that ends a commit. So SQLite itself decides when it opens a
//! database.
//!
//! With one difference. The pages that a checkpoint copied into the database stay in the log until
//! it starts again. If one of them is damaged, SQLite takes those before it for the newest and lays
//! them over what the database has. Here the database is asked first up to which commit it was
//! copied; then what counts is the database and the commits after that one.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use loci_core::Error;

use super::pages::{PAGE_SIZE, is_page_size, number_at};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The first bytes of a log; one more if its checksums are of big-endian numbers.
const MAGIC: u32 = 0x377f_0682;
const FORMAT: u32 = 3_007_000;

/// How far a write-ahead log can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogState {
    /// Pages in it up to the end of the last whole commit that can be told. These a database has
    /// when it is opened, and no others.
    pub pages: u64,
    /// Pages after these which belong to the same run of the log, or are zeros.
    pub unread: u64,
    /// Whether a whole commit is among these, behind one that is not: then more is missing than a
    /// write that was cut off.
    pub hides_commits: bool,
    /// Pages of the database after that commit; none without one.
    pub database_pages: Option<u32>,
    /// Damaged pages before those: the database file has all up to them already, so that nothing is
    /// lost with them.
    pub passed_over: u64,
}

impl LogState {
    /// Whether the log must not come under SQLite's eyes as it is: it would end at the first
    /// damaged page, lay older pages over newer ones that the database has, and delete the rest.
    pub fn is_damaged(&self) -> bool {
        self.hides_commits || self.passed_over > 0
    }

    /// What the person has to know who opens the database; nothing if all of the log can be read.
    pub fn problem(&self) -> Option<String> {
        let LogState {
            pages,
            unread,
            hides_commits,
            passed_over,
            database_pages: _,
        } = self;
        if *unread == 0 {
            let why = "of the write-ahead log are damaged, and nothing is lost with them: the database has all up to them";
            return (*passed_over > 0).then(|| format!("{passed_over} pages {why}"));
        }
        let what =
            format!("{unread} pages of the write-ahead log after page {pages} cannot be read");
        Some(if *hides_commits {
            format!(
                "{what}, and whole commits are among them; if the machine lost power that is expected, else the log is \
                 damaged and what was acknowledged in it may be missing"
            )
        } else {
            format!(
                "{what}; if in the middle of a write the disk was full, loci was killed or the machine lost power that \
                 is expected, else the log is damaged and what was acknowledged last may be missing"
            )
        })
    }
}

/// Looks at the write-ahead log of the database in this file, without a change to it. Whoever opens
/// the database writes over what cannot be read of its log, so this comes before that.
///
/// # Errors
/// `unavailable` if the log is there and cannot be read.
pub fn look_at_log(database: &Path) -> Result<LogState, Error> {
    Ok(Log::read(database)?.map_or_else(LogState::default, |log| log.state))
}

/// The write-ahead log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// The pages of a log that count.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) file: File,
    pub(crate) page_size: usize,
    /// Where in the file each page begins that a commit wrote, in its newest version.
    pub(crate) pages: HashMap<u32, u64>,
    pub(crate) state: LogState,
    /// The frames that these are from.
    counting: Range<usize>,
    salts: [u32; 2],
}

impl Log {
    /// The log of a database; none if there is none, or not even a header.
    pub(crate) fn read(database: &Path) -> Result<Option<Self>, Error> {
        let path = log_of(database);
        let failed = |error: io::Error| {
            Error::unavailable(format!(
                "{} cannot be read ({error}): check the disk and try again",
                path.display()
            ))
        };
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
            Ok(file) => {
                let reading = Reading::begin(&file).map_err(failed)?;
                Ok(reading.map(|reading| reading.finish(file, database)))
            }
        }
    }

    /// Writes what counts as a log of its own, from which SQLite takes it all; nothing if nothing
    /// does.
    pub(crate) fn write_anew(&self, to: &mut impl Write) -> io::Result<()> {
        if self.counting.is_empty() {
            return Ok(());
        }
        let salts = self.salts.map(|salt| salt.wrapping_add(1));
        let mut header: Vec<u8> = [MAGIC, FORMAT, self.page_size as u32, 0, salts[0], salts[1]]
            .into_iter()
            .flat_map(u32::to_be_bytes)
            .collect();
        let mut checksum = add([0, 0], &header, false);
        header.extend(checksum.into_iter().flat_map(u32::to_be_bytes));
        to.write_all(&header)?;
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_size];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place_of(
            self.counting.start,
            self.page_size,
        )))?;
        for _ in self.counting.clone() {
            file.read_exact(&mut frame)?;
            let (header, page) = frame.split_at_mut(FRAME_HEADER_BYTES);
            checksum = add(add(checksum, &header[..8], false), page, false);
            let [a, b] = salts;
            let [c, d] = checksum;
            for (place, number) in [a, b, c, d].into_iter().enumerate() {
                header[8 + 4 * place..12 + 4 * place].copy_from_slice(&number.to_be_bytes());
            }
            to.write_all(&frame)?;
        }
        Ok(())
    }
}

/// Where a frame begins, of which the first is 0.
fn place_of(frame: usize, page_size: usize) -> u64 {
    HEADER_BYTES as u64 + frame as u64 * (FRAME_HEADER_BYTES + page_size) as u64
}

/// What is known of a frame.
#[derive(Debug, Clone, Copy)]
struct Frame {
    page: u32,
    /// Whether its checksum is right after that of the frame before it.
    is_intact: bool,
    /// Pages of the database after the commit that it ends; none if it ends none.
    database_pages: Option<u32>,
    /// Whether it may be of this run of the log.
    may_be_ours: bool,
}

impl Frame {
    fn ends_commit(&self) -> bool {
        self.database_pages.is_some()
    }
}

/// A log while it is read.
struct Reading {
    input: BufReader<File>,
    page_size: usize,
    is_big_endian: bool,
    /// Of the header; of the first frame, if the header is damaged.
    salts: Option<[u32; 2]>,
    /// The checksum up to here, as noted in what came last.
    checksum: [u32; 2],
    /// Whether the header is whole.
    holds: bool,
    frames: Vec<Frame>,
}

impl Reading {
    fn begin(file: &File) -> io::Result<Option<Self>> {
        let mut input = BufReader::with_capacity(1 << 16, file.try_clone()?);
        let mut header = [0; HEADER_BYTES];
        if fill(&mut input, &mut header)? < HEADER_BYTES {
            return Ok(None);
        }
        let word = |place| number_at(&header, place);
        let is_noted_big_endian = word(0) == MAGIC + 1;
        let page_size = word(8) as usize;
        let checksum = [word(24), word(28)];
        let holds = word(0) & !1 == MAGIC
            && word(4) == FORMAT
            && is_page_size(page_size)
            && add([0, 0], &header[..24], is_noted_big_endian) == checksum;
        // SQLite takes that of the machine.
        let is_big_endian = if holds {
            is_noted_big_endian
        } else {
            cfg!(target_endian = "big")
        };
        Ok(Some(Reading {
            input,
            page_size: if holds { page_size } else { PAGE_SIZE },
            is_big_endian,
            salts: holds.then(|| [word(16), word(20)]),
            checksum,
            holds,
            frames: Vec::new(),
        }))
    }

    fn finish(mut self, file: File, database: &Path) -> Log {
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_size];
        loop {
            // A disk that does not give back what comes next ends the log, as its end does.
            let length = fill(&mut self.input, &mut frame).unwrap_or(0);
            if length < frame.len() {
                frame.truncate(length);
                self.add(&frame, false);
                break;
            }
            self.add(&frame, true);
        }
        let Reading {
            page_size,
            salts,
            holds,
            frames,
            ..
        } = self;
        let mut counting = 0..if holds { commits_from(&frames, 0) } else { 0 };
        let mut state = state_after(&frames, counting.end);
        let committed = salts.and_then(|salts| committed_frames(database, salts));
        // What comes after all that was ever committed is a write that was cut off, or the rest of
        // one that is older.
        let is_whole = committed.is_some_and(|committed| committed <= counting.end);
        state.hides_commits &= !is_whole;
        let lacks =
            |end: usize| committed.map_or(0, |committed| committed.saturating_sub(end)) as u64;
        if (state.unread > 0 || lacks(counting.end) > 0)
            && !is_whole
            && let Some(copied) =
                copied_up_to(&frames, &file, page_size, database, committed.is_some())
            && copied > counting.end
            && let rest = (copied..commits_from(&frames, copied))
            && !state_after(&frames, rest.end).hides_commits
        {
            counting = rest;
            state = state_after(&frames, counting.end);
            state.passed_over = frames[..copied]
                .iter()
                .filter(|frame| !frame.is_intact)
                .count() as u64
                + u64::from(!holds);
        }
        if lacks(counting.end) > 0 {
            state.unread = state.unread.max(lacks(counting.end));
            state.hides_commits = true;
        }
        let page = |number: usize| {
            (
                frames[number].page,
                place_of(number, page_size) + FRAME_HEADER_BYTES as u64,
            )
        };
        let pages = counting.clone().map(page).collect();
        Log {
            file,
            page_size,
            pages,
            state,
            counting,
            salts: salts.unwrap_or_default(),
        }
    }

    /// Adds a frame, or what there is of it.
    fn add(&mut self, frame: &[u8], is_whole: bool) {
        if frame.len() < FRAME_HEADER_BYTES {
            if !frame.is_empty() {
                self.frames.push(Frame {
                    page: 0,
                    is_intact: false,
                    database_pages: None,
                    may_be_ours: true,
                });
            }
            return;
        }
        let (header, page) = frame.split_at(FRAME_HEADER_BYTES);
        let word = |place| number_at(header, place);
        let is_zeros = header.iter().all(|byte| *byte == 0);
        let salts = [word(8), word(12)];
        let ours = if is_zeros {
            self.salts
        } else {
            Some(*self.salts.get_or_insert(salts))
        };
        let noted = [word(16), word(20)];
        let summed = add(
            add(self.checksum, &header[..8], self.is_big_endian),
            page,
            self.is_big_endian,
        );
        let is_ours = ours == Some(salts);
        // Of an older run, both salts are others, and no frame is ever zeros.
        let may_be_ours =
            is_zeros || ours.is_some_and(|ours| ours[0] == salts[0] || ours[1] == salts[1]);
        let is_intact = is_whole && is_ours && word(0) > 0 && summed == noted;
        self.checksum = noted;
        self.frames.push(Frame {
            page: word(0),
            is_intact,
            database_pages: Some(word(4)).filter(|pages| *pages > 0),
            may_be_ours,
        });
    }
}

/// How many frames were committed, as the index of the log says which SQLite keeps beside it
/// (<https://www.sqlite.org/walformat.html#the_wal_index_file_format>). It outlasts the end of a
/// process, if not that of the machine; none if it is of another run of the log, or not whole.
fn committed_frames(database: &Path, salts: [u32; 2]) -> Option<usize> {
    const BYTES: usize = 48;
    let mut path = database.to_owned().into_os_string();
    path.push("-shm");
    let mut bytes = Vec::with_capacity(2 * BYTES);
    File::open(path)
        .ok()?
        .take(2 * BYTES as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    let (first, second) = bytes.split_at_checked(BYTES)?;
    let number = |place: usize| {
        first
            .get(place..place + 4)?
            .try_into()
            .ok()
            .map(u32::from_ne_bytes)
    };
    // Salts stand there as they do in the log.
    let is_ours = [number_at(first, 32), number_at(first, 36)] == salts;
    let is_big_endian = cfg!(target_endian = "big");
    let holds = first == second
        && number(0)? == FORMAT
        && first[12] == 1
        && add([0, 0], &first[..40], is_big_endian) == [number(40)?, number(44)?];
    (holds && is_ours).then_some(number(16)? as usize)
}

/// The end of the last commit before which, from that frame on, all are intact.
fn commits_from(frames: &[Frame], start: usize) -> usize {
    let intact = frames[start..].iter().take_while(|frame| frame.is_intact);
    let ends = intact.enumerate().filter(|(_, frame)| frame.ends_commit());
    ends.last().map_or(start, |(place, _)| start + place + 1)
}

fn state_after(frames: &[Frame], end: usize) -> LogState {
    let rest = &frames[end..];
    LogState {
        pages: end as u64,
        unread: rest.iter().filter(|frame| frame.may_be_ours).count() as u64,
        hides_commits: rest
            .iter()
            .any(|frame| frame.is_intact && frame.ends_commit()),
        // Of a damaged one, no number is sure.
        database_pages: frames[..end]
            .last()
            .filter(|frame| frame.is_intact)
            .and_then(|frame| frame.database_pages),
        passed_over: 0,
    }
}

/// The end of the last commit up to which a checkpoint copied into the database file what no later
/// one changes, as far as pages can be compared: then the database with the commits after that one
/// is what all of the log gives. What was copied stays in the log until the next commit begins it
/// again.
///
/// A damaged page cannot be compared, and may be any page that differs and has no version after it.
/// Pages are copied in the order of their numbers, so that the others of its commit tell of it, but
/// for the last one of a checkpoint that was cut off just before it. If it is itself the end of the
/// last commit, those before it in that commit tell: the database has none of a commit whose
/// writing was cut off. That holds only if it is sure that there was such a commit: a page of a
/// write that was cut off may be as the database has it. One page that is the same proves nothing,
/// either.
fn copied_up_to(
    frames: &[Frame],
    log: &File,
    page_size: usize,
    database: &Path,
    was_committed: bool,
) -> Option<usize> {
    let database = File::open(database).ok()?;
    let page_at = |mut file: &File, place: u64| {
        let mut page = Vec::with_capacity(page_size);
        file.seek(SeekFrom::Start(place)).ok()?;
        file.take(page_size as u64).read_to_end(&mut page).ok()?;
        (page.len() == page_size).then_some(page)
    };
    let end = frames
        .iter()
        .rposition(|frame| frame.is_intact && frame.ends_commit())
        .map_or(0, |last| last + 1);
    let committed = frames[..end]
        .iter()
        .enumerate()
        .filter(|(_, frame)| frame.is_intact);
    let newest: HashMap<u32, usize> = committed
        .map(|(number, frame)| (frame.page, number))
        .collect();
    // Pages of which the database has another version, from before the last damaged one, and since
    // then.
    let (mut before, mut since) = (HashSet::new(), HashSet::new());
    let (mut damaged, mut same, mut same_since, mut copied, mut has_part) = (0, 0, 0, None, false);
    for (number, frame) in frames.iter().enumerate() {
        if !frame.is_intact {
            damaged += 1;
            before.extend(since.drain());
            same_since = 0;
            if was_committed && has_part && number >= end && before.len() <= damaged {
                copied = Some(number + 1);
            }
            has_part &= number >= end;
            continue;
        }
        if number >= end || newest.get(&frame.page) == Some(&number) {
            let here = page_at(log, place_of(number, page_size) + FRAME_HEADER_BYTES as u64)?;
            let differed = before.remove(&frame.page) | since.remove(&frame.page);
            if page_at(&database, u64::from(frame.page - 1) * page_size as u64).as_ref()
                == Some(&here)
            {
                (same, same_since) = (same + 1, same_since + 1);
                has_part |= differed;
            } else {
                since.insert(frame.page);
            }
        }
        if frame.ends_commit()
            && since.is_empty()
            && before.len() <= damaged
            && same_since > 0
            && same > 1
        {
            copied = Some(number + 1);
        }
    }
    copied
}

/// Reads until the buffer is full or the file ends; how many bytes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The running checksum with these bytes: a sum and a sum of sums over pairs of numbers of 32 bits.
fn add([mut first, mut second]: [u32; 2], bytes: &[u8], is_big_endian: bool) -> [u32; 2] {
    let (pairs, _) = bytes.as_chunks::<8>();
    for pair in pairs {
        let number = |place| {
            let number = number_at(pair, place);
            if is_big_endian {
                number
            } else {
                number.swap_bytes()
            }
        };
        first = first.wrapping_add(number(0)).wrapping_add(second);
        second = second.wrapping_add(number(4)).wrapping_add(first);
    }
    [first, second]
}
