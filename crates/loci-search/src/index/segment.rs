//! A file of sections that is written once and read as it lies: its head, the checksums of its
//! sections, and bytes that are shared with everyone who reads it.
//!
//! The head is 4 KiB: magic, format, length of the file, number of sections, one entry for each
//! section, and the CRC-32 of all that. Numbers are as the processor has them; another byte order
//! is another magic. A section begins at a multiple of 64 bytes. Most are compared with their
//! checksums when the file is opened. What is large, and looked at in parts, has a checksum for
//! each part, which is compared when the part is first looked at ([`Sections::is_damaged`]).

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::kernel::{self, Line, Mapping, Words};

const MAGIC: u64 = 0x6c6f_6369_7365_676d;
const FORMAT: u64 = 1;
const HEAD_BYTES: usize = 4_096;
/// Magic, format, length of the file, number of sections.
const FIXED_BYTES: usize = 32;
const ENTRY_BYTES: usize = 40;
const ENTRIES_MAX: usize = (HEAD_BYTES - FIXED_BYTES - 4) / ENTRY_BYTES;
const ALIGNMENT: u64 = 64;

/// How a section is compared with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// As a whole, when the file is opened.
    AtOpen,
    /// In parts, by those who look at them.
    InParts,
}

/// A section: its kind, and a number among those of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Its content.
    pub kind: u32,
    /// Which of those.
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
    /// Bytes that are written, the head included.
    length: u64,
    entries: Vec<Entry>,
    hasher: crc32fast::Hasher,
    is_ending: Arc<AtomicBool>,
}

impl SectionWriter {
    /// Begins a segment in an empty file. It ends early once `is_ending` says so.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut file: File, is_ending: Arc<AtomicBool>) -> io::Result<Self> {
        // Until the end there is no head: what was left half written is no segment.
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

    /// Begins the next section, and so ends the one before.
    ///
    /// # Errors
    /// The file cannot be written, or has as many sections as it can have.
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
    /// The file cannot be written; [`ErrorKind::Interrupted`], if it has to end.
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

    /// How many bytes the section has so far.
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

    /// Writes the head, and what is still in memory; what the file needs to be durable is left to
    /// the caller.
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

/// A segment that is open.
#[derive(Debug, Clone)]
pub struct Sections {
    whole: Arc<Whole>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Whole {
    mapping: Mapping,
    is_damaged: AtomicBool,
}

fn unsound(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

impl Sections {
    /// Maps the file, and compares its head and most of its sections with their checksums.
    ///
    /// # Errors
    /// The file cannot be mapped; it is no segment of this build, or damaged (`InvalidData`).
    pub fn open(file: &File) -> io::Result<Self> {
        let sections = Sections::map(file)?;
        sections
            .entries
            .iter()
            .try_for_each(|entry| sections.check(entry).map(drop))?;
        Ok(sections)
    }

    /// One section alone, without a look at the others.
    ///
    /// # Errors
    /// As of [`open`](Sections::open).
    pub fn read_one(file: &File, tag: Tag) -> io::Result<Bytes> {
        let sections = Sections::map(file)?;
        let entry = sections.entries.iter().find(|entry| entry.tag == tag);
        entry.map_or_else(|| Ok(Bytes::default()), |entry| sections.check(entry))
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

    fn map(file: &File) -> io::Result<Self> {
        let whole = Arc::new(Whole {
            mapping: Mapping::of(file)?,
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

    /// The section; an empty one if there is none.
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

    /// Whether a part did not have its checksum when it was looked at. What was found since then
    /// may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.whole.is_damaged.load(Ordering::Relaxed)
    }
}

/// Bytes of a segment, which stay as long as these do.
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
        kernel::lines_in(self)
    }

    pub(super) fn sketches(&self) -> &[Words] {
        kernel::words_in(self)
    }

    pub(super) fn floats(&self) -> &[f32] {
        kernel::floats_in(self)
    }

    pub(super) fn bits(&self) -> &[u64] {
        kernel::bits_in(self)
    }

    /// As numbers of 32 bits; none, if they are not whole ones.
    #[inline]
    pub fn numbers(&self) -> &[u32] {
        kernel::numbers_in(self)
    }

    /// Notes that a part of it has not its checksum.
    pub(super) fn note_damage(&self) {
        if let Some(whole) = &self.whole {
            whole.is_damaged.store(true, Ordering::Relaxed);
        }
    }
}

/// The number of 32 bits with this index; 0 beyond the end.
#[inline]
pub fn u32_at(bytes: &[u8], index: usize) -> u32 {
    let chunk = bytes.get(index * 4..).and_then(<[u8]>::first_chunk);
    chunk.map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// The number of 64 bits with this index; 0 beyond the end.
#[inline]
pub fn u64_at(bytes: &[u8], index: usize) -> u64 {
    let chunk = bytes.get(index * 8..).and_then(<[u8]>::first_chunk);
    chunk.map_or(0, |chunk| u64::from_ne_bytes(*chunk))
}

/// Which of the parts of a section have been found to have their checksums.
#[derive(Debug, Default)]
pub(super) struct Seen(Box<[AtomicU64]>);

impl Seen {
    pub(super) fn of(parts: usize) -> Self {
        Seen((0..parts.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// 64 of them, as bits.
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

/// The slots of an index that a segment takes over, and which they become: the same order without
/// gaps.
#[derive(Debug, Default)]
pub struct Renumbering {
    /// By new slot.
    pub(super) before: Vec<u32>,
    /// By old slot.
    after: Vec<u32>,
}

impl Renumbering {
    /// Of these slots, which ascend.
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

    /// The slot that a slot becomes; none, if it is not taken over.
    pub fn after(&self, slot: u32) -> Option<u32> {
        self.after
            .get(slot as usize)
            .copied()
            .filter(|new| *new != u32::MAX)
    }

    /// How many are taken over.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether none is taken over.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }
}

/// The first slot after those of a segment with so many. A chunk of vectors is of one kind: those
/// of the segment, or those in memory.
pub fn first_slot_after(slots: usize) -> u32 {
    slots.next_multiple_of(super::vectors::CHUNK) as u32
}
