//! How near a vector is to the others around it.

use std::ops::RangeInclusive;

use super::{LINE, SketchQuery, SlotCandidate, Vectors, best_of_groups};
use crate::structures::bits::Bits;

/// The number of slots that sketches select for the comparison: about five for each neighbour that
/// is looked for.
const COMPARED: usize = 96;
/// The cosine from which on a text counts as equal.
const EQUAL_COSINE: f32 = 0.995;

impl Vectors {
    /// Returns the mean cosine of the slot's vector with its neighbours of these ranks, from 1:
    /// the other groups of admitted slots, each by its nearest slot, without equal vectors;
    /// `group` returns a slot's group. Of fewer neighbours, it is the mean of as many of these
    /// ranks as there are. `None` if there are too few for the first rank, or the slot has no
    /// vector.
    pub fn neighbours_cosine(
        &self,
        slot: u32,
        admitted: &Bits,
        ranks: &RangeInclusive<usize>,
        group: impl Fn(u32) -> u32,
    ) -> Option<f32> {
        let (row, scale) = self.row(slot);
        if row.is_empty() {
            return None;
        }
        let own = group(slot);
        let mut possible: Vec<SlotCandidate> = self
            .closest(&SketchQuery::of_row(row), admitted, COMPARED)
            .iter()
            .map(|slot| SlotCandidate {
                slot,
                group: group(slot),
                cosine: 0.0,
            })
            .filter(|possible| possible.group != own)
            .collect();
        // A row is a query of whole numbers already, so that no precision is lost.
        let query: Vec<[i16; LINE]> = row.iter().map(|line| line.0.map(i16::from)).collect();
        self.score(&mut possible, |rows, places, products| {
            self.instructions.dots(&query, rows, places, products);
        });
        for possible in &mut possible {
            possible.cosine *= scale;
        }
        possible.retain(|possible| possible.cosine < EQUAL_COSINE);
        let groups = best_of_groups(&possible);
        let mut cosines: Vec<f32> = groups.into_iter().map(|(_, cosine)| cosine).collect();
        cosines.sort_unstable_by(|left, right| right.total_cmp(left));
        let counted = cosines.get(ranks.start() - 1..(*ranks.end()).min(cosines.len()))?;
        (!counted.is_empty()).then(|| counted.iter().sum::<f32>() / counted.len() as f32)
    }
}
