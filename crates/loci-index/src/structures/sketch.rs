use super::bits::Bits;
use super::kernel::{BLOCK, Instructions, LINE, Line, PLANES, Words};

/// Writes the signs of the components to the sketch of slot `place` among its block's `words`.
pub(super) fn sketch(values: &[i8], place: usize, words: &mut [Words]) {
    for (values, words) in values.chunks(LINE).zip(words) {
        words.0[place % BLOCK] = signs(values);
    }
}

/// Returns a bit for each component, 1 if it is not negative.
fn signs(values: &[i8]) -> u64 {
    values
        .iter()
        .rev()
        .fold(0, |signs, value| signs << 1 | u64::from(*value >= 0))
}

/// A query in the form that sketches are compared with.
///
/// A sketch contains the signs of a vector's components, so that its product with a query estimates
/// the cosine (J. Gao and C. Long, RaBitQ, 2024). Rounding each component of the query to an odd
/// number of 4 bits turns it into a sum of signs as well: `q = Σ 2^p s_p` with `s_p = ±1`. So the
/// product is `Σ 2^p (dimensions - 2 d_p)`, where `d_p` counts the bits in which the sketch and the
/// signs `s_p` differ, and `Σ 2^p d_p` is a distance that orders the vectors by the estimate.
pub(super) struct SketchQuery<const PLANES: usize>(Vec<[u64; PLANES]>);

impl SketchQuery<PLANES> {
    pub(super) fn new(query: &[f32]) -> Self {
        const LEVELS: f32 = ((1 << PLANES) - 1) as f32;
        let largest = query
            .iter()
            .fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let words = query.chunks(LINE).map(|values| {
            let mut planes = [0_u64; PLANES];
            for (bit, value) in values.iter().enumerate() {
                // From 0 for the most negative to all ones for the most positive.
                let level = ((value / largest + 1.0) * (LEVELS / 2.0)).round() as u64;
                for (plane, signs) in planes.iter_mut().enumerate() {
                    *signs |= (level >> plane & 1) << bit;
                }
            }
            planes
        });
        SketchQuery(words.collect())
    }
}

impl SketchQuery<1> {
    /// Returns a query that has only the signs of a row, as its sketch does: a rougher estimate for
    /// a quarter of the comparisons.
    pub(super) fn of_row(row: &[Line]) -> Self {
        SketchQuery(row.iter().map(|line| [signs(&line.0)]).collect())
    }
}

/// Collects the `wanted` slots with the smallest distances; ties at the last distance are resolved
/// deterministically by the slots and their distances.
pub(super) struct ClosestSlots {
    wanted: usize,
    found: Vec<(u32, u32)>,
    /// Only distances below this still matter.
    limit: u64,
}

impl ClosestSlots {
    pub(super) fn new(wanted: usize) -> Self {
        ClosestSlots {
            wanted,
            found: Vec::new(),
            limit: u64::MAX,
        }
    }

    /// Compares the query with the sketches of a chunk that starts at the given slot.
    pub(super) fn add<const PLANES: usize>(
        &mut self,
        instructions: Instructions,
        query: &SketchQuery<PLANES>,
        (first_slot, sketches, admitted): (u32, &[Words], &[u64]),
    ) {
        let before = self.found.len();
        instructions.near(&query.0, sketches, admitted, self.limit, &mut self.found);
        self.found[before..]
            .iter_mut()
            .for_each(|(slot, _)| *slot += first_slot);
        if self.found.len() > 2 * self.wanted {
            let (_, last, _) = self
                .found
                .select_nth_unstable_by_key(self.wanted - 1, |(_, distance)| *distance);
            self.limit = u64::from(last.1);
            self.found.truncate(self.wanted);
        }
    }

    pub(super) fn slots(mut self) -> Bits {
        if self.found.len() > self.wanted {
            self.found
                .select_nth_unstable_by_key(self.wanted - 1, |(_, distance)| *distance);
            self.found.truncate(self.wanted);
        }
        self.found.into_iter().map(|(slot, _)| slot).collect()
    }
}
