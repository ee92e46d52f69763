//! The posting lists of a segment.
//!
//! Terms are in buckets, selected by the CRC-32 of the text, each with its own checksum, so that a
//! term is found by reading one bucket and opening a segment reads nothing. A list of few postings
//! is stored beside its term; a longer one is stored elsewhere in packed blocks, with a checksum
//! that is verified when the list is first read.

use std::io;

use super::block::{BLOCK, Block, HEAD_BYTES};
use super::lengths::Lengths;
use super::posting::Posting;
use super::{Postings, short};
use crate::structures::segment::{
    Bytes, Check, Renumbering, SectionWriter, Sections, Tag, VerifiedParts, first_slot_after,
    u64_at,
};

const LENGTHS: Tag = Tag { kind: 1, part: 0 };
const LISTS: Tag = Tag { kind: 2, part: 0 };
const BUCKETS: Tag = Tag { kind: 3, part: 0 };
/// Where each bucket starts, and where the last ends.
const PLACES: Tag = Tag { kind: 4, part: 0 };
/// The number of long lists.
const COUNT: Tag = Tag { kind: 5, part: 0 };
/// The approximate number of terms of a bucket.
const BUCKET_TERMS: usize = 8;

#[derive(Debug)]
pub(super) struct Base {
    lengths: Bytes,
    lists: Bytes,
    buckets: Bytes,
    places: Bytes,
    seen: VerifiedParts,
}

/// The postings of a term in a segment: a few postings, or blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BaseList<'a> {
    /// In the format of [`short`].
    pub(super) short: &'a [u8],
    /// The heads of the blocks, one after the other.
    pub(super) heads: &'a [u8],
    pub(super) packed: &'a [u8],
}

impl BaseList<'_> {
    pub(super) fn blocks(&self) -> usize {
        self.heads.len() / HEAD_BYTES
    }
}

/// An entry of a bucket.
struct BucketEntry<'a> {
    text: &'a [u8],
    place: Place<'a>,
}

enum Place<'a> {
    Short(&'a [u8]),
    Long {
        number: usize,
        start: u64,
        length: u32,
        blocks: u32,
        checksum: u32,
    },
}

fn bucket_of(text: &[u8], buckets: usize) -> usize {
    // The upper bits of the product are distributed as the hash is.
    ((u64::from(crc32fast::hash(text)) * buckets as u64) >> 32) as usize
}

/// Reads the terms of a bucket one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.bytes(4)?.first_chunk()?))
    }

    fn found(&mut self) -> Option<BucketEntry<'a>> {
        let length = self.number()? as usize;
        let text = self.bytes(length)?;
        let blocks = self.number()?;
        let length = self.number()?;
        let place = if blocks == 0 {
            Place::Short(self.bytes(length as usize)?)
        } else {
            let number = self.number()? as usize;
            let (low, high) = (self.number()?, self.number()?);
            let start = u64::from(low) | u64::from(high) << 32;
            Place::Long {
                number,
                start,
                length,
                blocks,
                checksum: self.number()?,
            }
        };
        Some(BucketEntry { text, place })
    }
}

impl Base {
    pub(super) fn open(sections: &Sections) -> Self {
        let count = u64_at(&sections.section(COUNT), 0);
        let [lengths, lists, buckets, places] =
            [LENGTHS, LISTS, BUCKETS, PLACES].map(|tag| sections.section(tag));
        Base {
            lengths,
            seen: VerifiedParts::of(usize::try_from(count).unwrap_or(0).min(lists.len())),
            lists,
            buckets,
            places,
        }
    }

    pub(super) fn lengths(&self) -> &[u32] {
        self.lengths.numbers()
    }

    fn buckets(&self) -> usize {
        (self.places.len() / 8).saturating_sub(1)
    }

    /// Returns the terms of a bucket; notes the damage and returns no terms if its checksum is
    /// wrong.
    fn bucket(&self, index: usize) -> Reader<'_> {
        let place = |index: usize| usize::try_from(u64_at(&self.places, index)).ok();
        let bytes = place(index)
            .zip(place(index + 1))
            .and_then(|(start, end)| self.buckets.get(start..end));
        let parts = bytes.and_then(|bytes| bytes.split_first_chunk::<8>());
        if let Some((head, terms)) = parts {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&(index as u32).to_ne_bytes());
            hasher.update(terms);
            if *head == u64::from(hasher.finalize()).to_ne_bytes() {
                return Reader(terms);
            }
        }
        self.buckets.note_damage();
        Reader(&[])
    }

    pub(super) fn find(&self, text: &[u8]) -> BaseList<'_> {
        if self.buckets() == 0 {
            return BaseList::default();
        }
        let mut bucket = self.bucket(bucket_of(text, self.buckets()));
        while let Some(found) = bucket.found() {
            if found.text == text {
                return self.list(&found.place);
            }
        }
        BaseList::default()
    }

    /// Returns the list; notes the damage and returns an empty list if its checksum is wrong.
    fn list<'a>(&'a self, place: &Place<'a>) -> BaseList<'a> {
        let (number, start, length, blocks, checksum) = match *place {
            Place::Short(short) => {
                return BaseList {
                    short,
                    ..BaseList::default()
                };
            }
            Place::Long {
                number,
                start,
                length,
                blocks,
                checksum,
            } => (number, start, length, blocks, checksum),
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let bytes = self
            .lists
            .get(start..start.saturating_add(length as usize))
            .unwrap_or_default();
        if !self.seen.has(number) {
            if bytes.is_empty() || crc32fast::hash(bytes) != checksum {
                self.lists.note_damage();
                return BaseList::default();
            }
            self.seen.add(number);
        }
        let (heads, packed) = bytes
            .split_at_checked(blocks as usize * HEAD_BYTES)
            .unwrap_or_default();
        BaseList {
            short: &[],
            heads,
            packed,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.seen.bytes()
    }
}

/// The terms of an index in the order of the buckets of a segment.
struct Terms<'a> {
    /// The bucket and the text of each term.
    sorted: Vec<(u32, &'a [u8])>,
    buckets: usize,
}

impl<'a> Terms<'a> {
    fn of(postings: &'a Postings) -> Self {
        let mut sorted = Vec::new();
        if let Some(base) = &postings.base {
            for index in 0..base.buckets() {
                let mut bucket = base.bucket(index);
                while let Some(found) = bucket.found() {
                    sorted.push((0, found.text));
                }
            }
        }
        sorted.extend(postings.dictionary.terms().map(|(text, _)| (0, text)));
        let buckets = sorted.len().div_ceil(BUCKET_TERMS).max(1);
        for (bucket, text) in &mut sorted {
            *bucket = bucket_of(text, buckets) as u32;
        }
        sorted.sort_unstable();
        sorted.dedup();
        Terms { sorted, buckets }
    }
}

impl Postings {
    /// Opens the postings of a segment. New passages get slots after them.
    pub fn open(sections: &Sections) -> Self {
        let base = Base::open(sections);
        let first = first_slot_after(base.lengths().len());
        Postings {
            base: Some(base.into()),
            first,
            ..Postings::default()
        }
    }

    /// Writes the postings of the renumbered slots.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write(&self, slots: &Renumbering, out: &mut SectionWriter) -> io::Result<()> {
        out.begin(LENGTHS, Check::AtOpen)?;
        let lengths: Vec<u32> = slots.before.iter().map(|slot| self.length(*slot)).collect();
        for length in &lengths {
            out.write(&length.to_ne_bytes())?;
        }
        let lengths = Lengths {
            base: &lengths,
            ..Lengths::default()
        };
        let terms = Terms::of(self);
        let mut taken = Vec::new();
        let mut long = Vec::new();
        out.begin(LISTS, Check::InParts)?;
        for (place, (_, text)) in terms.sorted.iter().enumerate() {
            self.take(text, slots, &mut taken);
            if taken.len() >= BLOCK {
                long.push((place, write_blocks(&taken, lengths, out)?));
            }
        }
        let count = long.len() as u64;
        out.begin(BUCKETS, Check::InParts)?;
        let mut places = Vec::with_capacity(terms.buckets + 1);
        let mut long = long.into_iter().zip(0_u32..).peekable();
        let mut rest = terms.sorted.iter().enumerate().peekable();
        let mut bytes = Vec::new();
        for index in 0..terms.buckets as u32 {
            bytes.clear();
            while let Some((place, (_, text))) = rest.next_if(|(_, (bucket, _))| *bucket == index) {
                let number = |number: u32| number.to_ne_bytes();
                if let Some(((_, written), ordinal)) = long.next_if(|((long, _), _)| *long == place)
                {
                    let ListPosition {
                        start,
                        length,
                        blocks,
                        checksum,
                    } = written;
                    bytes.extend(number(text.len() as u32));
                    bytes.extend_from_slice(text);
                    let fields = [
                        blocks,
                        length,
                        ordinal,
                        start as u32,
                        (start >> 32) as u32,
                        checksum,
                    ];
                    bytes.extend(fields.into_iter().flat_map(number));
                    continue;
                }
                self.take(text, slots, &mut taken);
                if !taken.is_empty() {
                    let short = short::written(&taken);
                    bytes.extend(number(text.len() as u32));
                    bytes.extend_from_slice(text);
                    bytes.extend([0, short.len() as u32].into_iter().flat_map(number));
                    bytes.extend(short);
                }
            }
            places.push(out.section_length());
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&index.to_ne_bytes());
            hasher.update(&bytes);
            out.write(&u64::from(hasher.finalize()).to_ne_bytes())?;
            out.write(&bytes)?;
        }
        places.push(out.section_length());
        out.begin(PLACES, Check::InParts)?;
        for place in places {
            out.write(&place.to_ne_bytes())?;
        }
        out.begin(COUNT, Check::AtOpen)?;
        out.write(&count.to_ne_bytes())
    }

    /// Puts the postings of a term, with their new slots, into `taken`.
    fn take(&self, text: &[u8], slots: &Renumbering, taken: &mut Vec<Posting>) {
        taken.clear();
        self.view_of(text).walk(|posting| {
            taken.extend(
                slots
                    .after(posting.slot)
                    .map(|slot| Posting { slot, ..posting }),
            );
        });
    }
}

/// The position of a long list in the segment.
struct ListPosition {
    start: u64,
    length: u32,
    blocks: u32,
    checksum: u32,
}

fn write_blocks(
    postings: &[Posting],
    lengths: Lengths<'_>,
    out: &mut SectionWriter,
) -> io::Result<ListPosition> {
    let blocks: Vec<Block> = postings
        .chunks(BLOCK)
        .map(|chunk| Block::of(chunk, lengths))
        .collect();
    let (mut bytes, mut packed_at) = (Vec::new(), 0);
    for block in &blocks {
        block.write_head(packed_at, &mut bytes);
        packed_at += block.packed().len() as u32;
    }
    for block in &blocks {
        bytes.extend_from_slice(block.packed());
    }
    let start = out.section_length();
    out.write(&bytes)?;
    let checksum = crc32fast::hash(&bytes);
    Ok(ListPosition {
        start,
        length: bytes.len() as u32,
        blocks: blocks.len() as u32,
        checksum,
    })
}
