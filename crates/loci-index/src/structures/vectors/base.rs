//! The vectors of a segment: scales, rows and sketches in the same format as in memory. Each row
//! and each chunk of sketches has a checksum, which is verified when it is first read.

use std::io;
use std::sync::Arc;

use super::{ChunkRef, Vectors};
use crate::structures::bits::Bits;
use crate::structures::kernel::{BLOCK, LINE, Line, Rows, Words, bytes_of};
use crate::structures::segment::{
    Bytes, CHUNK, Check, Renumbering, SectionWriter, Sections, Tag, VerifiedParts,
};
use crate::structures::sketch::sketch;

const PRESENT: u32 = 16;
const SCALES: u32 = 17;
const ROWS: u32 = 18;
const ROW_SUMS: u32 = 19;
const SKETCHES: u32 = 20;
const SKETCH_SUMS: u32 = 21;
const HUBNESSES: u32 = 22;

#[derive(Debug)]
pub(super) struct Base {
    /// The number of lines of a row, and of words of a sketch.
    lines: usize,
    scales: Bytes,
    rows: Bytes,
    row_sums: Bytes,
    sketches: Bytes,
    sketch_sums: Bytes,
    hubnesses: Bytes,
    seen_rows: VerifiedParts,
    seen_sketches: VerifiedParts,
}

/// Returns the part of a chunk with `size` elements per chunk, as far as it exists.
fn of_chunk<T>(all: &[T], chunk: usize, size: usize) -> &[T] {
    let start = (chunk * size).min(all.len());
    &all[start..(start + size).min(all.len())]
}

fn row_sum(lines: &[Line], scale: f32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes_of(lines));
    hasher.update(&scale.to_ne_bytes());
    hasher.finalize()
}

impl Base {
    pub(super) fn chunk(&self, index: usize) -> ChunkRef<'_> {
        let lines = of_chunk(self.rows.lines(), index, CHUNK * self.lines);
        let scales = of_chunk(self.scales.floats(), index, CHUNK);
        let sketches = of_chunk(self.sketches.sketches(), index, CHUNK / BLOCK * self.lines);
        ChunkRef {
            rows: Rows { lines, scales },
            sketches,
        }
    }

    /// Verifies the checksums of those rows of the chunk that were not verified yet.
    #[inline]
    pub(super) fn check_rows(&self, chunk: usize, places: &[u32]) {
        let first = chunk * CHUNK;
        for place in places {
            let slot = first + *place as usize;
            if !self.seen_rows.has(slot) {
                self.check_row(slot);
            }
        }
    }

    #[cold]
    fn check_row(&self, slot: usize) {
        let scale = self.scales.floats().get(slot).copied().unwrap_or_default();
        let lines = self
            .rows
            .lines()
            .get(slot * self.lines..(slot + 1) * self.lines)
            .unwrap_or_default();
        if self.row_sums.numbers().get(slot) != Some(&row_sum(lines, scale)) {
            self.rows.note_damage();
        }
        self.seen_rows.add(slot);
    }

    /// Verifies the checksum of the sketches of the chunk, if it was not verified yet.
    pub(super) fn check_sketches(&self, chunk: usize) {
        if !self.seen_sketches.has(chunk) {
            let size = CHUNK / BLOCK * self.lines * size_of::<Words>();
            let checksum = crc32fast::hash(of_chunk(&self.sketches, chunk, size));
            if self.sketch_sums.numbers().get(chunk) != Some(&checksum) {
                self.sketches.note_damage();
            }
            self.seen_sketches.add(chunk);
        }
    }

    /// Returns the slot's hubness as it was written; `None` if the segment lacks them.
    pub(super) fn hubness(&self, slot: u32) -> Option<u16> {
        let place = slot as usize * 2;
        let bytes = self.hubnesses.get(place..place + 2)?;
        Some(u16::from_ne_bytes(bytes.try_into().ok()?))
    }

    pub(super) fn bytes(&self) -> usize {
        self.seen_rows.bytes() + self.seen_sketches.bytes()
    }
}

impl Vectors {
    /// Opens the vectors of the model `part` of a segment with this many slots. `None` if the
    /// sections are inconsistent.
    pub fn open(
        sections: &Sections,
        part: u32,
        (dimensions, norm_max): (usize, f32),
        slots: usize,
    ) -> Option<Self> {
        let section = |kind| sections.section(Tag { kind, part });
        let [present, scales, rows] = [PRESENT, SCALES, ROWS].map(section);
        let [row_sums, sketches, sketch_sums] = [ROW_SUMS, SKETCHES, SKETCH_SUMS].map(section);
        // Not in a segment of an older build.
        let hubnesses = section(HUBNESSES);
        let (lines, base_chunks) = (dimensions.div_ceil(LINE), slots.div_ceil(CHUNK));
        let fits = scales.floats().len() == slots
            && rows.lines().len() == slots * lines
            && row_sums.numbers().len() == slots
            && sketches.sketches().len() == slots.div_ceil(BLOCK) * lines
            && sketch_sums.numbers().len() == base_chunks
            && present.bits().len() == slots.div_ceil(64);
        let present = Bits::of_words(present.bits().to_vec());
        let (seen_rows, seen_sketches) = (VerifiedParts::of(slots), VerifiedParts::of(base_chunks));
        let base = Base {
            lines,
            scales,
            rows,
            row_sums,
            sketches,
            sketch_sums,
            hubnesses,
            seen_rows,
            seen_sketches,
        };
        let base = Some(Arc::new(base));
        fits.then(|| Vectors {
            dimensions,
            base,
            base_chunks,
            present,
            norm_max,
            ..Vectors::default()
        })
    }

    /// Returns the maximum norm of the vectors.
    pub fn norm_max(&self) -> f32 {
        self.norm_max
    }

    /// Returns the hubness of a slot as its segment has it; `None` if that lacks them, or the slot is
    /// in memory.
    pub fn written_hubness(&self, slot: u32) -> Option<u16> {
        self.base.as_ref()?.hubness(slot)
    }

    /// Writes the vectors of the renumbered slots, and their hubnesses, as those of the model
    /// `part`.
    ///
    /// # Errors
    /// The segment cannot be written.
    pub fn write(
        &self,
        slots: &Renumbering,
        hubnesses: &[u16],
        part: u32,
        out: &mut SectionWriter,
    ) -> io::Result<()> {
        let begin = |out: &mut SectionWriter, kind, check| out.begin(Tag { kind, part }, check);
        let mut present = vec![0_u64; slots.len().div_ceil(64)];
        for (new, old) in slots.before.iter().enumerate() {
            present[new / 64] |= u64::from(self.has(*old)) << (new % 64);
        }
        begin(out, PRESENT, Check::AtOpen)?;
        present
            .iter()
            .try_for_each(|word| out.write(&word.to_ne_bytes()))?;
        begin(out, SCALES, Check::InParts)?;
        slots
            .before
            .iter()
            .try_for_each(|old| out.write(&self.row(*old).1.to_ne_bytes()))?;
        begin(out, ROWS, Check::InParts)?;
        let mut sums = Vec::with_capacity(slots.len());
        let empty = vec![Line([0; LINE]); self.lines()];
        for old in &slots.before {
            let (lines, scale) = self.row(*old);
            let lines = if lines.is_empty() { &empty } else { lines };
            sums.push(row_sum(lines, scale));
            out.write(bytes_of(lines))?;
        }
        begin(out, ROW_SUMS, Check::InParts)?;
        sums.iter()
            .try_for_each(|sum| out.write(&sum.to_ne_bytes()))?;
        begin(out, SKETCHES, Check::InParts)?;
        sums.clear();
        for chunk in slots.before.chunks(CHUNK) {
            let mut words = vec![Words([0; BLOCK]); chunk.len().div_ceil(BLOCK) * self.lines()];
            for (place, old) in chunk.iter().enumerate() {
                let (lines, _) = self.row(*old);
                if !lines.is_empty() {
                    let values = &lines.iter().flat_map(|line| line.0).collect::<Vec<i8>>()
                        [..self.dimensions];
                    let start = place / BLOCK * self.lines();
                    sketch(values, place, &mut words[start..start + self.lines()]);
                }
            }
            let mut hasher = crc32fast::Hasher::new();
            for word in words.iter().flat_map(|words| words.0) {
                let bytes = word.to_ne_bytes();
                hasher.update(&bytes);
                out.write(&bytes)?;
            }
            sums.push(hasher.finalize());
        }
        begin(out, SKETCH_SUMS, Check::InParts)?;
        sums.iter()
            .try_for_each(|sum| out.write(&sum.to_ne_bytes()))?;
        begin(out, HUBNESSES, Check::AtOpen)?;
        hubnesses
            .iter()
            .try_for_each(|hubness| out.write(&hubness.to_ne_bytes()))
    }

    /// Returns the row and the scale of a slot; an empty row and 0 if it has no vector.
    pub(super) fn row(&self, slot: u32) -> (&[Line], f32) {
        if !self.has(slot) {
            return (&[], 0.0);
        }
        let (index, place) = (slot as usize / CHUNK, slot as usize % CHUNK);
        self.check_rows(index, &[place as u32]);
        let Rows { lines, scales } = self.chunk(index).rows;
        let start = place * self.lines();
        (&lines[start..start + self.lines()], scales[place])
    }
}
