//! A file of sections that is written once and memory-mapped by every process that reads it.
//!
//! ```text
//! byte
//!     0  magic               u64   MAGIC; another byte order reads another number
//!     8  format              u64   FORMAT
//!    16  length              u64   of the whole file, in bytes
//!    24  sections            u64   their number, at most 101
//!    32  entry 0                   40 bytes, as below
//!    72  entry 1
//!     :  zeros                     as far as there are no more entries
//!  4092  checksum            u32   CRC-32 of the bytes 0 to 4091
//!  4096  section 0                 its bytes, as its writer gave them
//!     :  zeros                     0 to 63, up to the next multiple of 64
//!     :  section 1
//!
//! byte of an entry
//!     0  kind                u32   Tag::kind
//!     4  part                u32   Tag::part, e.g. the number of a model
//!     8  checksum            u32   CRC-32 of the section; 0 if it is checked in parts
//!    12  check               u32   0: when the file is opened; 1: in parts
//!    16  start               u64   the section's first byte, from the start of the file
//!    24  length              u64   the section's bytes, without the zeros after it
//!    32  nothing             u64   0
//! ```
//!
//! **The byte order is the machine's**, because the pages are used in place: a vector kernel reads
//! its rows from the mapping, and nothing is decoded. A machine of the other byte order finds
//! another magic, refuses the file and makes its own; the file is only a cache.
//!
//! **A section starts at a multiple of 64 bytes**, because that is a cache line, the alignment of
//! the rows of vectors (`kernel::Line`).
//!
//! **The head is written last**, so that a file that was cut off, e.g. by a kill in the middle, has
//! a head of zeros and is no segment.
//!
//! **Small sections are verified when the file is opened**, as a whole. To do so for the large ones
//! would read the whole file at each start, so each part of them has a checksum of its own, which
//! is verified when the part is first read, e.g. the row of one vector or one bucket of terms
//! ([`Sections::is_damaged`]).
//!
//! These kinds of sections exist. Slots are the numbers of passages.
//!
//! | kind | content | checked | written by |
//! |---|---|---|---|
//! | 1 | lengths of the passages in terms: a `u32` for each slot | at open | `postings/base.rs` |
//! | 2 | long lists of postings: for each list the heads of its blocks, then the packed blocks | in parts | `postings/base.rs` |
//! | 3 | buckets of terms, each a `u64` with its CRC-32 and then its terms | in parts | `postings/base.rs` |
//! | 4 | the start of each bucket in kind 3, and the end of the last: `u64` | in parts | `postings/base.rs` |
//! | 5 | the number of long lists: a `u64` | at open | `postings/base.rs` |
//! | 16 | for each model, the slots that have a vector: a bit for each slot, in `u64` | at open | `vectors/base.rs` |
//! | 17 | for each model, the scales of the rows: an `f32` for each slot | in parts | `vectors/base.rs` |
//! | 18 | for each model, the rows: lines of 64 `i8` for each slot | in parts | `vectors/base.rs` |
//! | 19 | for each model, the CRC-32 of each row with its scale: `u32` | in parts | `vectors/base.rs` |
//! | 20 | for each model, the sketches of the rows, interleaved by eight: lines of eight `u64` | in parts | `vectors/base.rs` |
//! | 21 | for each model, the CRC-32 of the sketches of each chunk: `u32` | in parts | `vectors/base.rs` |
//! | 22 | for each model, the hubness of each slot ([`hubness.rs` of `loci-index`](../../hubness.rs)): `u16`, 0 where it is not made | at open | `vectors/base.rs` |
//! | 32 to 44 | the memories, their names, places and threads | at open | `write.rs` of `loci-index` |
//!
//! A store may add kinds, e.g. `loci-store-sqlite` one that says of which database the index is.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::kernel::{self, Line, Mapping, Words};

const MAGIC: u64 = 0x6c6f_6369_7365_676d;
const FORMAT: u64 = 2;
const HEAD_BYTES: usize = 4_096;
/// Magic, format, length of the file, number of sections.
const FIXED_BYTES: usize = 32;
const ENTRY_BYTES: usize = 40;
const ENTRIES_MAX: usize = (HEAD_BYTES - FIXED_BYTES - 4) / ENTRY_BYTES;
const ALIGNMENT: u64 = 64;
/// The number of slots of a chunk of vectors. Growing moves at most one chunk, and an empty one is
/// freed.
pub(super) const CHUNK: usize = 4_096;

/// When the checksum of a section is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// As a whole, when the file is opened.
    AtOpen,
    /// In parts, by the code that reads them.
    InParts,
}

/// The identifier of a section: its kind, and its number within the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The kind of its content.
    pub kind: u32,
    /// Its number within the kind.
    pub part: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    tag: Tag,
    start: u64,
    length: u64,
    checksum: u32,
    check: Check,
}

/// Writes a segment, one section after the other.
#[derive(Debug)]
pub struct SectionWriter {
    file: BufWriter<File>,
    /// The bytes written so far, including the head.
    length: u64,
    entries: Vec<Entry>,
    hasher: crc32fast::Hasher,
    is_ending: Arc<AtomicBool>,
}

impl SectionWriter {
    /// Starts a segment in an empty file. Writing stops early once `is_ending` is set.
    ///
    /// # Errors
    /// The error of the file if it cannot be written.
    pub fn new(mut file: File, is_ending: Arc<AtomicBool>) -> io::Result<Self> {
        // The head is written last, so that a partial file is not a valid segment.
        file.write_all(&[0; HEAD_BYTES])?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let (length, hasher) = (HEAD_BYTES as u64, crc32fast::Hasher::new());
        Ok(SectionWriter {
            file,
            length,
            entries: Vec::new(),
            hasher,
            is_ending,
        })
    }

    /// Starts the next section and ends the previous one.
    ///
    /// # Errors
    /// The file cannot be written, or has the maximum number of sections.
    pub fn begin(&mut self, tag: Tag, check: Check) -> io::Result<()> {
        self.end_section();
        if self.entries.len() == ENTRIES_MAX {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "more models than a segment can hold",
            ));
        }
        let gap = self.length.next_multiple_of(ALIGNMENT) - self.length;
        self.file
            .write_all(&[0; ALIGNMENT as usize][..gap as usize])?;
        self.length += gap;
        self.entries.push(Entry {
            tag,
            start: self.length,
            length: 0,
            checksum: 0,
            check,
        });
        Ok(())
    }

    /// Appends to the section.
    ///
    /// # Errors
    /// The file cannot be written; [`ErrorKind::Interrupted`] if writing must stop.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        if self
            .entries
            .last()
            .is_some_and(|entry| entry.check == Check::AtOpen)
        {
            self.hasher.update(bytes);
        }
        self.length += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Returns the bytes that the section has so far.
    pub fn section_length(&self) -> u64 {
        self.entries
            .last()
            .map_or(0, |entry| self.length - entry.start)
    }

    fn end_section(&mut self) {
        let length = self.section_length();
        if let Some(entry) = self.entries.last_mut() {
            entry.length = length;
            entry.checksum = std::mem::take(&mut self.hasher).finalize();
        }
    }

    /// Writes the head and flushes the buffer. The caller must sync the file to make it durable.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<File> {
        self.end_section();
        let mut head = Vec::with_capacity(HEAD_BYTES);
        for number in [MAGIC, FORMAT, self.length, self.entries.len() as u64] {
            head.extend(number.to_ne_bytes());
        }
        for Entry {
            tag,
            start,
            length,
            checksum,
            check,
        } in &self.entries
        {
            let fixed = [
                tag.kind,
                tag.part,
                *checksum,
                u32::from(*check == Check::InParts),
            ];
            head.extend(fixed.into_iter().flat_map(u32::to_ne_bytes));
            head.extend([*start, *length, 0].into_iter().flat_map(u64::to_ne_bytes));
        }
        head.resize(HEAD_BYTES - 4, 0);
        head.extend(crc32fast::hash(&head).to_ne_bytes());
        let mut file = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head)?;
        Ok(file)
    }
}

/// An open segment.
#[derive(Debug, Clone)]
pub struct Sections {
    whole: Arc<Whole>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Whole {
    mapping: Backing,
    is_damaged: AtomicBool,
}

fn unsound(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// The bytes of a segment.
#[derive(Debug)]
enum Backing {
    /// A file, shared with other processes.
    File(Mapping),
    /// Memory of this process.
    Memory(memmap2::Mmap),
}

impl Backing {
    /// Memory with the bytes that `fill` puts there. In large pages, where the system has them,
    /// because most of the time goes into getting pages.
    fn filled(length: usize, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let mut memory = memmap2::MmapMut::map_anon(length)?;
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        fill(&mut memory)?;
        memory.make_read_only().map(Backing::Memory)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Backing::File(mapping) => mapping.bytes(),
            Backing::Memory(bytes) => bytes,
        }
    }

    /// Gives the pages of a file back to the system. Memory would lose its content.
    fn release(&self) {
        if let Backing::File(mapping) = self {
            mapping.release();
        }
    }
}

impl Sections {
    /// Maps the file and verifies the checksums of its head and of most of its sections.
    ///
    /// # Errors
    /// The file cannot be mapped; or it is corrupt or not a segment of this build (`InvalidData`).
    pub fn open(file: &File) -> io::Result<Self> {
        Sections::verified(Backing::File(Mapping::of(file)?))
    }

    /// The same with bytes of this length that `fill` puts into memory of this process, e.g. of a
    /// file that is sealed.
    ///
    /// # Errors
    /// As for [`open`](Sections::open); the error of `fill`.
    pub fn open_filled(
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<Self> {
        Sections::verified(Backing::filled(length, fill)?)
    }

    fn verified(backing: Backing) -> io::Result<Self> {
        let sections = Sections::map(backing)?;
        sections
            .entries
            .iter()
            .try_for_each(|entry| sections.check(entry).map(drop))?;
        Ok(sections)
    }

    /// Reads only one section, without verifying the others.
    ///
    /// # Errors
    /// As for [`open`](Sections::open).
    pub fn read_one(file: &File, tag: Tag) -> io::Result<Bytes> {
        Sections::map(Backing::File(Mapping::of(file)?))?.one(tag)
    }

    /// The same with bytes that `fill` puts into memory, as for [`open_filled`](Sections::open_filled).
    ///
    /// # Errors
    /// As for [`open_filled`](Sections::open_filled).
    pub fn read_one_filled(
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
        tag: Tag,
    ) -> io::Result<Bytes> {
        Sections::map(Backing::filled(length, fill)?)?.one(tag)
    }

    fn one(&self, tag: Tag) -> io::Result<Bytes> {
        let entry = self.entries.iter().find(|entry| entry.tag == tag);
        entry.map_or_else(|| Ok(Bytes::default()), |entry| self.check(entry))
    }

    fn check(&self, entry: &Entry) -> io::Result<Bytes> {
        let section = self
            .bytes(entry)
            .ok_or_else(|| unsound("a section lies beyond its end"))?;
        if entry.check == Check::AtOpen && crc32fast::hash(&section) != entry.checksum {
            return Err(unsound("a section is damaged"));
        }
        Ok(section)
    }

    fn map(mapping: Backing) -> io::Result<Self> {
        let whole = Arc::new(Whole {
            mapping,
            is_damaged: AtomicBool::new(false),
        });
        let bytes = whole.mapping.bytes();
        let head = bytes
            .get(..HEAD_BYTES)
            .ok_or_else(|| unsound("it ends within its head"))?;
        let number = |place: usize| u64_at(head, place / 8);
        if number(0) != MAGIC || number(8) != FORMAT {
            return Err(unsound("it is none of this version"));
        }
        let (content, checksum) = head.split_at(HEAD_BYTES - 4);
        if crc32fast::hash(content).to_ne_bytes() != *checksum {
            return Err(unsound("its head is damaged"));
        }
        if number(16) != bytes.len() as u64 {
            return Err(unsound("it is not as long as it was"));
        }
        let count = usize::try_from(number(24))
            .unwrap_or(usize::MAX)
            .min(ENTRIES_MAX);
        let entry = |place: usize| {
            let start = FIXED_BYTES + place * ENTRY_BYTES;
            let word = |index: usize| u32_at(&head[start..], index);
            let tag = Tag {
                kind: word(0),
                part: word(1),
            };
            let check = if word(3) == 0 {
                Check::AtOpen
            } else {
                Check::InParts
            };
            let (start, length) = (number(start + 16), number(start + 24));
            Entry {
                tag,
                start,
                length,
                checksum: word(2),
                check,
            }
        };
        Ok(Sections {
            entries: (0..count).map(entry).collect(),
            whole,
        })
    }

    /// Returns the section, or an empty one if it is missing.
    pub fn section(&self, tag: Tag) -> Bytes {
        let entry = self.entries.iter().find(|entry| entry.tag == tag);
        entry
            .and_then(|entry| self.bytes(entry))
            .unwrap_or_default()
    }

    fn bytes(&self, entry: &Entry) -> Option<Bytes> {
        let (start, length) = (
            usize::try_from(entry.start).ok()?,
            usize::try_from(entry.length).ok()?,
        );
        let range = start..start.checked_add(length)?;
        self.whole.mapping.bytes().get(range.clone())?;
        Some(Bytes {
            whole: Some(Arc::clone(&self.whole)),
            range,
        })
    }

    /// True if the checksum of a part was wrong when it was read. Results since then may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.whole.is_damaged.load(Ordering::Relaxed)
    }

    /// Gives the memory of the file back to the system. The next reads take longer.
    pub fn release(&self) {
        self.whole.mapping.release();
    }
}

/// Bytes of a segment, which stays mapped as long as they exist.
#[derive(Debug, Clone, Default)]
pub struct Bytes {
    whole: Option<Arc<Whole>>,
    range: Range<usize>,
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.whole
            .as_ref()
            .map_or(&[], |whole| &whole.mapping.bytes()[self.range.clone()])
    }
}

impl Bytes {
    pub(super) fn lines(&self) -> &[Line] {
        kernel::elements(self)
    }

    pub(super) fn sketches(&self) -> &[Words] {
        kernel::elements(self)
    }

    pub(super) fn floats(&self) -> &[f32] {
        kernel::elements(self)
    }

    pub(super) fn bits(&self) -> &[u64] {
        kernel::elements(self)
    }

    /// Returns the bytes as 32-bit numbers; empty if they are not whole ones.
    #[inline]
    pub fn numbers(&self) -> &[u32] {
        kernel::elements(self)
    }

    /// Notes that the checksum of a part is wrong.
    pub(super) fn note_damage(&self) {
        if let Some(whole) = &self.whole {
            whole.is_damaged.store(true, Ordering::Relaxed);
        }
    }
}

/// Returns the 32-bit number with this index; 0 beyond the end.
#[inline]
pub fn u32_at(bytes: &[u8], index: usize) -> u32 {
    let chunk = bytes.get(index * 4..).and_then(<[u8]>::first_chunk);
    chunk.map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// Returns the 64-bit number with this index; 0 beyond the end.
#[inline]
pub fn u64_at(bytes: &[u8], index: usize) -> u64 {
    let chunk = bytes.get(index * 8..).and_then(<[u8]>::first_chunk);
    chunk.map_or(0, |chunk| u64::from_ne_bytes(*chunk))
}

/// The parts of a section whose checksums have been verified.
#[derive(Debug, Default)]
pub(super) struct VerifiedParts(Box<[AtomicU64]>);

impl VerifiedParts {
    pub(super) fn of(parts: usize) -> Self {
        VerifiedParts((0..parts.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Returns 64 flags as bits.
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.0
            .get(index)
            .map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn has(&self, part: usize) -> bool {
        self.word(part / 64) >> (part % 64) & 1 == 1
    }

    pub(super) fn add(&self, part: usize) {
        if let Some(word) = self.0.get(part / 64) {
            word.fetch_or(1 << (part % 64), Ordering::Relaxed);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<AtomicU64>()
    }
}

/// The slots of an index that are written to a segment, and their new numbers: in the same order
/// without gaps.
#[derive(Debug, Default)]
pub struct Renumbering {
    /// The old slots, by new slot.
    pub(crate) before: Vec<u32>,
    /// The new slots, by old slot.
    after: Vec<u32>,
}

impl Renumbering {
    /// Renumbers these ascending slots.
    pub fn of(slots: Vec<u32>) -> Self {
        let mut after = vec![u32::MAX; slots.last().map_or(0, |last| *last as usize + 1)];
        for (new, old) in (0..).zip(&slots) {
            after[*old as usize] = new;
        }
        Renumbering {
            before: slots,
            after,
        }
    }

    /// Returns the new slot of an old one; `None` if it is not written.
    pub fn after(&self, slot: u32) -> Option<u32> {
        self.after
            .get(slot as usize)
            .copied()
            .filter(|new| *new != u32::MAX)
    }

    /// Returns the number of slots that are written.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// True if no slot is written.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }
}

/// Returns the first slot after a segment with `slots` slots. A chunk of vectors is either in the
/// segment or in memory.
pub fn first_slot_after(slots: usize) -> u32 {
    slots.next_multiple_of(CHUNK) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Tag = Tag { kind: 7, part: 3 };
    const LARGE: Tag = Tag { kind: 8, part: 0 };

    /// Returns the bytes of a segment with these two sections, and its file.
    fn segment() -> io::Result<(Vec<u8>, File)> {
        let mut file = tempfile::tempfile()?;
        let mut writer = SectionWriter::new(file.try_clone()?, Arc::default())?;
        writer.begin(SMALL, Check::AtOpen)?;
        writer.write(b"tea at four")?;
        writer.begin(LARGE, Check::InParts)?;
        writer.write(&[9; 100])?;
        writer.finish()?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok((bytes, file))
    }

    #[test]
    fn the_layout_is_as_drawn() -> io::Result<()> {
        let (bytes, _) = segment()?;
        let number = |place: usize| u64_at(&bytes, place / 8);
        let word = |place: usize| u32_at(&bytes, place / 4);
        assert_eq!(ENTRIES_MAX, 101);
        assert_eq!(
            [0, 8, 16, 24].map(number),
            [MAGIC, FORMAT, 4_096 + 64 + 100, 2]
        );
        let small = crc32fast::hash(b"tea at four");
        assert_eq!([32, 36, 40, 44].map(word), [7, 3, small, 0]);
        assert_eq!([48, 56, 64].map(number), [4_096, 11, 0]);
        assert_eq!([72, 76, 80, 84].map(word), [8, 0, 0, 1]);
        assert_eq!([88, 96, 104].map(number), [4_096 + 64, 100, 0]);
        assert!(bytes[112..4_092].iter().all(|byte| *byte == 0));
        assert_eq!(word(4_092), crc32fast::hash(&bytes[..4_092]));
        assert_eq!(&bytes[4_096..4_107], b"tea at four");
        assert_eq!(bytes[4_107..4_160], [0; 53]);
        assert_eq!(bytes[4_160..], [9; 100]);
        Ok(())
    }

    #[test]
    fn sections_come_back_and_damage_is_found() -> io::Result<()> {
        let (bytes, mut file) = segment()?;
        let sections = Sections::open(&file)?;
        assert_eq!(&*sections.section(SMALL), b"tea at four");
        assert_eq!(*sections.section(LARGE), [9; 100]);
        assert!(sections.section(Tag { kind: 9, part: 0 }).is_empty());
        drop(sections);
        // In the head, an entry, the zeros after the entries, and a section that is checked.
        for place in [0, 16, 50, 2_000, 4_093, 4_100] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&damaged)?;
            let error = Sections::open(&file)
                .map(drop)
                .map_err(|error| error.kind());
            assert_eq!(error, Err(ErrorKind::InvalidData), "{place}");
        }
        Ok(())
    }
}
