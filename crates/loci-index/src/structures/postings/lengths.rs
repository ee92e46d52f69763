/// The number of terms of each passage, by slot, first in the segment and then in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths<'a> {
    pub(super) base: &'a [u32],
    /// The first slot in memory.
    pub(super) first: u32,
    pub(super) own: &'a [u32],
}

#[cfg(test)]
impl<'a> Lengths<'a> {
    pub(super) fn of(own: &'a [u32]) -> Self {
        Lengths {
            own,
            ..Lengths::default()
        }
    }
}

impl Lengths<'_> {
    /// Returns the length of a passage, or 0 for a free slot.
    #[inline]
    pub(super) fn get(self, slot: u32) -> u32 {
        let of_base = self.base.get(slot as usize);
        let length = of_base.or_else(|| self.own.get(slot.wrapping_sub(self.first) as usize));
        length.copied().unwrap_or_default()
    }

    /// Returns the slot after the last.
    pub(super) fn end(self) -> usize {
        self.first as usize + self.own.len()
    }
}
