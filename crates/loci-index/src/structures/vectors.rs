use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::bits::Bits;
use super::kernel::{self, BLOCK, Instructions, LINE, Line, Rows, Words};
use super::segment::CHUNK;
use super::sketch::{ClosestSlots, SketchQuery, sketch};
use super::top;

mod base;
mod cone;
mod neighbours;

use base::Base;

/// The number of words of a chunk's bit set.
const CHUNK_WORDS: usize = CHUNK / 64;
/// The approximate number of sketches that are compared in the time of fetching one row from a
/// random address: at 1,000,000 slots, 2 ns against 30 to 50 ns.
const SKETCHES_PER_ROW: usize = 32;
/// The maximum number of vectors that are compared one by one. Sketches are faster from 10,000 on
/// (0.04 ms against 0.06 ms), but not exact, and this many vectors cost 0.15 ms (AVX-512) or 0.2 ms
/// (AVX2).
const EXACT_MAX: usize = 20_000;

/// The vectors of one model, by slot: eight bits per component, with a scale for each vector, and
/// the signs of its components.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dimensions: usize,
    /// The vectors in a segment.
    base: Option<Arc<Base>>,
    /// The number of chunks of the segment.
    base_chunks: usize,
    /// The chunks after them.
    chunks: Vec<Chunk>,
    /// The slots that have a vector.
    present: Bits,
    /// The maximum norm of a vector.
    norm_max: f32,
    instructions: Instructions,
}

/// The data of a chunk's slots, up to the last used one.
#[derive(Debug, Clone, Default)]
struct Chunk {
    lines: Vec<Line>,
    scales: Vec<f32>,
    sketches: Vec<Words>,
}

/// A borrowed chunk, in memory or in a segment.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkRef<'a> {
    rows: Rows<'a>,
    sketches: &'a [Words],
}

/// A slot that may be among the nearest: its group and approximate cosine.
#[derive(Debug, Clone, Copy)]
struct SlotCandidate {
    slot: u32,
    group: u32,
    cosine: f32,
}

impl Vectors {
    /// Returns an empty collection of vectors with this many components.
    pub fn new(dimensions: usize) -> Self {
        Vectors {
            dimensions,
            ..Vectors::default()
        }
    }

    /// Returns the number of components of each vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of slots that have a vector.
    pub fn len(&self) -> usize {
        self.present.count()
    }

    /// True if no slot has a vector.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// True if the slot has a vector.
    pub fn has(&self, slot: u32) -> bool {
        self.present.contains(slot)
    }

    /// Returns the slots that have a vector.
    pub fn slots(&self) -> &Bits {
        &self.present
    }

    /// Returns the number of admitted slots that have a vector.
    pub fn covered(&self, admitted: &Bits) -> usize {
        let words = self.present.words().iter().zip(admitted.words());
        words
            .map(|(present, admitted)| (present & admitted).count_ones() as usize)
            .sum()
    }

    /// Uses other instructions than the best for comparisons: for benchmarks. The results are the
    /// same.
    pub fn use_instructions(&mut self, instructions: Instructions) {
        self.instructions = instructions;
    }

    /// Sets the slot's vector: component `i` is `values[i] * scale`. A vector of another number of
    /// components, or with a scale that is not finite, cannot be compared: the slot is left without
    /// one.
    pub fn set(&mut self, slot: u32, scale: f32, values: &[i8]) {
        if values.len() != self.dimensions || !scale.is_finite() {
            self.clear(slot);
            return;
        }
        let (lines, sketch_words) = (self.lines(), self.lines());
        // A slot of a segment never gets another vector: a change gets a new slot.
        let Some(chunk) = (slot as usize / CHUNK).checked_sub(self.base_chunks) else {
            return;
        };
        let place = slot as usize % CHUNK;
        if chunk >= self.chunks.len() {
            self.chunks.resize_with(chunk + 1, Chunk::default);
        }
        let chunk = &mut self.chunks[chunk];
        let used = place + 1;
        grow(&mut chunk.scales, used, 1, 0.0);
        grow(&mut chunk.lines, used, lines, Line([0; LINE]));
        grow(
            &mut chunk.sketches,
            used.div_ceil(BLOCK),
            sketch_words,
            Words([0; BLOCK]),
        );
        chunk.scales[place] = scale;
        for (line, values) in chunk.lines[place * lines..]
            .iter_mut()
            .zip(values.chunks(LINE))
        {
            line.0[..values.len()].copy_from_slice(values);
        }
        sketch(
            values,
            place,
            &mut chunk.sketches[place / BLOCK * sketch_words..][..sketch_words],
        );
        self.present.insert(slot);
        let squares: i64 = values
            .iter()
            .map(|value| i64::from(i32::from(*value).pow(2)))
            .sum();
        self.norm_max = self.norm_max.max((squares as f32).sqrt() * scale.abs());
    }

    /// Removes the slot's vector, if it has one.
    pub fn clear(&mut self, slot: u32) {
        if self.present.remove(slot) {
            let index = slot as usize / CHUNK;
            if words(&self.present, index).all(|word| word == 0)
                && let Some(own) = index.checked_sub(self.base_chunks)
            {
                self.chunks[own] = Chunk::default();
            }
        }
    }

    /// Returns the cosine of the query with the slot's vector, in full precision; `None` if the
    /// slot has no vector or the query has another number of components.
    pub fn cosine(&self, query: &[f32], slot: u32) -> Option<f32> {
        if !self.has(slot) || query.len() != self.dimensions {
            return None;
        }
        let (chunk, place) = (slot as usize / CHUNK, slot % CHUNK as u32);
        self.check_rows(chunk, &[place]);
        let mut cosine = [0.0];
        self.instructions.cosines(
            &in_lines(query),
            self.chunk(chunk).rows,
            &[place],
            &mut cosine,
        );
        Some(cosine[0])
    }

    /// Returns the best `limit` groups among the admitted slots, best first, with the cosine of
    /// each group's nearest slot; `group` returns a slot's group, and `tie` orders groups of equal
    /// cosine, lesser first. `None` if the query has another number of components and so cannot be
    /// compared.
    ///
    /// If the search [is not exact](Vectors::is_exact), sketches select the
    /// [`candidates`](Vectors::candidates) that are compared: the mean recall of the best 10 and 50
    /// was 0.998 or more in every measurement, which does not guarantee it for one query.
    pub fn nearest(
        &self,
        query: &[f32],
        admitted: &Bits,
        limit: usize,
        group: impl Fn(u32) -> u32,
        tie: impl Fn(u32, u32) -> Ordering,
    ) -> Option<Vec<(u32, f32)>> {
        if query.len() != self.dimensions {
            return None;
        }
        let mut wanted = Vectors::candidates(limit);
        let is_exact = self.is_exact(admitted, limit);
        while !is_exact && wanted < self.covered(admitted) / 2 {
            let closest = self.closest(&SketchQuery::new(query), admitted, wanted);
            let mut groups: Vec<u32> = closest.iter().map(&group).collect();
            groups.sort_unstable();
            groups.dedup();
            // Fewer if one group has many of the slots: it must not displace the others.
            if groups.len() >= Vectors::candidates(limit) / 2 {
                return Some(self.best(query, &closest, limit, &group, &tie));
            }
            wanted *= 2;
        }
        Some(self.best(query, admitted, limit, &group, &tie))
    }

    /// True if [`nearest`](Vectors::nearest) compares every admitted slot: if there are at most
    /// 20,000, or few of many, if so many groups are wanted that sketches would save little, or if
    /// the vectors lie in a narrow cone, so that sketches would miss most of the nearest.
    pub fn is_exact(&self, admitted: &Bits, limit: usize) -> bool {
        let few = EXACT_MAX.max(self.len() / SKETCHES_PER_ROW);
        self.covered(admitted) <= few.max(Vectors::candidates(limit).saturating_mul(2))
            || self.are_in_a_cone()
    }

    /// Returns the number of slots that sketches select when the best `limit` groups are wanted. In
    /// measurements with 384 components of 76,000 real sentences, 99.9 % of the best 10 were among
    /// the closest 230, of the best 50 among 770 and of the best 200 among 2,200, and that grows
    /// slowly with the number of sentences. The rest is for synthetic clusters with less distinct
    /// neighbours.
    pub fn candidates(limit: usize) -> usize {
        limit.saturating_mul(24).max(500)
    }

    /// Returns the `wanted` slots whose sketches are closest to the query.
    fn closest<const PLANES: usize>(
        &self,
        query: &SketchQuery<PLANES>,
        admitted: &Bits,
        wanted: usize,
    ) -> Bits {
        let mut closest = ClosestSlots::new(wanted);
        let mut both = [0_u64; CHUNK_WORDS];
        for index in 0..self.chunk_count() {
            if let Some(base) = self.base.as_ref().filter(|_| index < self.base_chunks) {
                base.check_sketches(index);
            }
            both.fill(0);
            for (both, (present, admitted)) in both
                .iter_mut()
                .zip(words(&self.present, index).zip(words(admitted, index)))
            {
                *both = present & admitted;
            }
            closest.add(
                self.instructions,
                query,
                ((index * CHUNK) as u32, self.chunk(index).sketches, &both),
            );
        }
        closest.slots()
    }

    /// Returns the exact best groups among the slots: a first pass with a rounded query excludes
    /// slots, and the others are compared in full precision.
    fn best(
        &self,
        query: &[f32],
        slots: &Bits,
        limit: usize,
        group: impl Fn(u32) -> u32,
        tie: impl Fn(u32, u32) -> Ordering,
    ) -> Vec<(u32, f32)> {
        if limit == 0 {
            return Vec::new();
        }
        let mut possible = self.possible(query, slots, limit, group);
        possible.sort_unstable_by_key(|possible| possible.slot);
        self.compare(query, &mut possible);
        top(limit, best_of_groups(&possible), tie)
    }

    /// Sets the cosines of slots, in ascending order, in full precision.
    fn compare(&self, query: &[f32], possible: &mut [SlotCandidate]) {
        let lines = in_lines(query);
        self.score(possible, |rows, places, cosines| {
            self.instructions.cosines(&lines, rows, places, cosines);
        });
    }

    /// Sets the cosines of slots, in ascending order, to what `score` writes for places in a chunk.
    fn score(&self, possible: &mut [SlotCandidate], score: impl Fn(Rows<'_>, &[u32], &mut [f32])) {
        let (mut places, mut cosines) = (Vec::new(), Vec::new());
        for possible in possible
            .chunk_by_mut(|left, right| left.slot as usize / CHUNK == right.slot as usize / CHUNK)
        {
            let index = possible[0].slot as usize / CHUNK;
            places.clear();
            places.extend(possible.iter().map(|possible| possible.slot % CHUNK as u32));
            cosines.resize(places.len(), 0.0);
            self.check_rows(index, &places);
            score(self.chunk(index).rows, &places, &mut cosines);
            possible
                .iter_mut()
                .zip(&cosines)
                .for_each(|(possible, cosine)| possible.cosine = *cosine);
        }
    }

    /// Returns the slots that may be the nearest of one of the best groups.
    fn possible(
        &self,
        query: &[f32],
        slots: &Bits,
        limit: usize,
        group: impl Fn(u32) -> u32,
    ) -> Vec<SlotCandidate> {
        let rounded = RoundedQuery::new(query);
        let margin = 2.0 * rounded.error(query, self.norm_max);
        let mut enough = limit.saturating_mul(2).max(64);
        let mut floor = f32::NEG_INFINITY;
        let mut possible: Vec<SlotCandidate> = Vec::new();
        let mut places = Vec::with_capacity(CHUNK);
        let mut products = vec![0.0; CHUNK];
        for index in 0..self.chunk_count() {
            places.clear();
            for (place, word) in (0..)
                .step_by(64)
                .zip(words(&self.present, index).zip(words(slots, index)))
            {
                let mut both = word.0 & word.1;
                while both != 0 {
                    places.push(place + both.trailing_zeros());
                    both &= both - 1;
                }
            }
            self.check_rows(index, &places);
            self.instructions.dots(
                &rounded.lines,
                self.chunk(index).rows,
                &places,
                &mut products,
            );
            for (place, product) in places.iter().zip(&products) {
                let cosine = product * rounded.scale;
                // Also false if the cosine is not a number, when no slot can be excluded.
                if cosine < floor {
                    continue;
                }
                let slot = (index * CHUNK) as u32 + place;
                possible.push(SlotCandidate {
                    slot,
                    group: group(slot),
                    cosine,
                });
                if possible.len() >= enough {
                    floor = floor.max(last_of_best(&possible, limit) - margin);
                    possible
                        .retain(|possible| possible.cosine >= floor || possible.cosine.is_nan());
                    enough = enough.max(possible.len().saturating_mul(2));
                }
            }
        }
        possible
    }

    /// Frees the spare capacity after many vectors were loaded.
    pub fn shrink(&mut self) {
        self.present.shrink();
        self.chunks.shrink_to_fit();
        for chunk in &mut self.chunks {
            chunk.lines.shrink_to_fit();
            chunk.scales.shrink_to_fit();
            chunk.sketches.shrink_to_fit();
        }
    }

    /// Returns the bytes that it uses in memory.
    pub fn bytes(&self) -> usize {
        let chunk = |chunk: &Chunk| {
            chunk.lines.capacity() * size_of::<Line>()
                + chunk.scales.capacity() * size_of::<f32>()
                + chunk.sketches.capacity() * size_of::<Words>()
        };
        self.present.bytes()
            + self.base.as_ref().map_or(0, |base| base.bytes())
            + self.chunks.capacity() * size_of::<Chunk>()
            + self.chunks.iter().map(chunk).sum::<usize>()
    }

    fn chunk_count(&self) -> usize {
        self.base_chunks + self.chunks.len()
    }

    #[inline]
    fn chunk(&self, index: usize) -> ChunkRef<'_> {
        let Some(own) = index.checked_sub(self.base_chunks) else {
            return self
                .base
                .as_ref()
                .map(|base| base.chunk(index))
                .unwrap_or_default();
        };
        let Chunk {
            lines,
            scales,
            sketches,
        } = &self.chunks[own];
        ChunkRef {
            rows: Rows { lines, scales },
            sketches,
        }
    }

    /// Verifies the checksums of rows of a chunk, if they are in a segment and not verified yet.
    #[inline]
    fn check_rows(&self, chunk: usize, places: &[u32]) {
        if let Some(base) = self.base.as_ref().filter(|_| chunk < self.base_chunks) {
            base.check_rows(chunk, places);
        }
    }

    /// Returns the number of lines of a row, which is also the number of words of a sketch.
    fn lines(&self) -> usize {
        self.dimensions.div_ceil(LINE)
    }
}

/// Returns the words of the set that belong to a chunk, as far as they exist.
fn words(slots: &Bits, chunk: usize) -> impl Iterator<Item = u64> + '_ {
    slots
        .words()
        .iter()
        .skip(chunk * CHUNK_WORDS)
        .take(CHUNK_WORDS)
        .copied()
}

/// Makes room for `used` items of `size` elements each if necessary, with spare capacity for at
/// most as many again, but not beyond the end of the chunk.
fn grow<T: Clone>(elements: &mut Vec<T>, used: usize, size: usize, empty: T) {
    let wanted = used * size;
    if wanted > elements.len() {
        if wanted > elements.capacity() {
            elements.reserve_exact(used.next_power_of_two() * size - elements.len());
        }
        elements.resize(wanted, empty);
    }
}

/// Returns the query in whole lines, the last padded with zeros.
fn in_lines(query: &[f32]) -> Cow<'_, [[f32; LINE]]> {
    let (lines, rest) = query.as_chunks::<LINE>();
    if rest.is_empty() {
        return Cow::Borrowed(lines);
    }
    let mut last = [0.0; LINE];
    last[..rest.len()].copy_from_slice(rest);
    Cow::Owned([lines, &[last]].concat())
}

/// A query quantised to 16 bits (fewer if the sums could overflow 32 bits).
struct RoundedQuery {
    lines: Vec<[i16; LINE]>,
    scale: f32,
}

impl RoundedQuery {
    fn new(query: &[f32]) -> Self {
        let largest = query
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let limit = f32::from(kernel::query_limit(query.len()));
        let scale = if largest > 0.0 && largest.is_finite() {
            largest / limit
        } else {
            1.0
        };
        let round = |values: &[f32]| {
            let mut line = [0; LINE];
            for (rounded, value) in line.iter_mut().zip(values) {
                *rounded = (value / scale).round().clamp(-limit, limit) as i16;
            }
            line
        };
        RoundedQuery {
            lines: query.chunks(LINE).map(round).collect(),
            scale,
        }
    }

    /// Returns the maximum difference between a cosine with the rounded query and that in full
    /// precision, for vectors of this norm: the Cauchy-Schwarz bound of the part lost by rounding,
    /// plus that of the rounding of the sums themselves.
    fn error(&self, query: &[f32], norm: f32) -> f32 {
        let rounded = self.lines.as_flattened();
        let lost: f32 = query
            .iter()
            .zip(rounded)
            .map(|(value, step)| (value - f32::from(*step) * self.scale).powi(2))
            .sum();
        let length = query.iter().map(|value| value * value).sum::<f32>().sqrt();
        // Longer than any chain of additions of `cosines`, with the conversions before and after.
        let steps = (query.len() / 16 + 32) as f32;
        (lost.sqrt() * 1.001 + length * steps * f32::EPSILON) * norm
    }
}

/// Returns the cosine of the last of the best `limit` groups; negative infinity if there are fewer.
fn last_of_best(possible: &[SlotCandidate], limit: usize) -> f32 {
    let mut groups = best_of_groups(possible);
    if groups.len() < limit {
        return f32::NEG_INFINITY;
    }
    groups
        .select_nth_unstable_by(limit - 1, |left, right| right.1.total_cmp(&left.1))
        .1
        .1
}

/// Returns each group with the cosine of its nearest slot.
fn best_of_groups(possible: &[SlotCandidate]) -> Vec<(u32, f32)> {
    let mut groups: Vec<(u32, f32)> = possible
        .iter()
        .map(|possible| (possible.group, possible.cosine))
        .collect();
    groups.sort_unstable_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
    groups.dedup_by_key(|(group, _)| *group);
    groups
}

#[cfg(test)]
mod tests;
