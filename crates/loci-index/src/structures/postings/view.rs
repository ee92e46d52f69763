use super::base::BaseList;
use super::bits::Bits;
use super::block::{BLOCK, Block, BlockRef, HEAD_BYTES};
use super::lengths::Lengths;
use super::list::List;
use super::posting::Posting;
use super::short;
use super::{AdmittedSlots, Postings};
use crate::structures::segment::u32_at;

impl Postings {
    pub(super) fn view_of(&self, text: &[u8]) -> View<'_> {
        let base = self
            .base
            .as_ref()
            .map_or_else(BaseList::default, |base| base.find(text));
        View::new(base, self.dictionary.find(text), self.lengths())
    }
}

/// The maximum number of words of a bit set that are read to avoid unpacking a block.
const WORDS_MAX: usize = 32;

/// A read-only list: packed blocks, first from the segment, and the unpacked postings after them.
#[derive(Debug, Default)]
pub(super) struct View<'a> {
    /// The blocks of the segment.
    base: BaseList<'a>,
    /// The postings of the segment, if they are too few for a block and blocks follow.
    between: Option<Block>,
    own: &'a [Block],
    pub(super) tail: Vec<Posting>,
}

impl<'a> View<'a> {
    /// Combines the postings of a term in a segment and in memory. All slots of the segment come
    /// first.
    pub(super) fn new(base: BaseList<'a>, own: Option<&'a List>, lengths: Lengths<'_>) -> Self {
        let (own, own_tail) = own.map_or((&[][..], &[][..]), List::parts);
        let mut tail: Vec<Posting> = short::read(base.short).collect();
        let has_own = !own.is_empty() || !own_tail.is_empty();
        let between = (has_own && !tail.is_empty()).then(|| Block::of(&tail, lengths));
        if between.is_some() {
            tail.clear();
        }
        tail.extend(short::read(own_tail));
        View {
            base,
            between,
            own,
            tail,
        }
    }

    /// Returns the number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.base.blocks() + usize::from(self.between.is_some()) + self.own.len()
    }

    /// Returns the block in memory with this index among all blocks.
    fn own_block(&self, index: usize) -> Option<&Block> {
        let index = index.checked_sub(self.base.blocks())?;
        match &self.between {
            Some(between) if index == 0 => Some(between),
            Some(_) => self.own.get(index - 1),
            None => self.own.get(index),
        }
    }

    /// Returns the first and the last slot of a block.
    #[inline]
    pub(super) fn range(&self, index: usize) -> Option<(u32, u32)> {
        if let Some(head) = self.base.heads.get(index * HEAD_BYTES..)
            && !head.is_empty()
        {
            return Some((u32_at(head, 0), u32_at(head, 1)));
        }
        self.own_block(index)
            .map(|block| (block.first(), block.last()))
    }

    #[inline]
    pub(super) fn block(&self, index: usize) -> Option<BlockRef<'_>> {
        if let Some(head) = self.base.heads.get(index * HEAD_BYTES..)
            && !head.is_empty()
        {
            return BlockRef::read(head, self.base.packed);
        }
        self.own_block(index).map(Block::get)
    }

    fn all_blocks(&self) -> impl Iterator<Item = BlockRef<'_>> {
        (0..self.blocks()).filter_map(|index| self.block(index))
    }

    /// Returns the first block from `start` on whose last slot is not before `slot`.
    fn reaching(&self, start: usize, slot: u32) -> usize {
        let (mut low, mut high) = (start, self.blocks());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.range(middle).is_some_and(|(_, last)| last < slot) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the number of postings.
    pub(super) fn len(&self) -> usize {
        self.all_blocks().map(|block| block.len()).sum::<usize>() + self.tail.len()
    }

    /// Visits every posting, ascending.
    pub(super) fn walk(&self, mut visit: impl FnMut(Posting)) {
        let (mut slots, mut counts) = ([0; BLOCK], [0; BLOCK]);
        for block in self.all_blocks() {
            block.unpack_slots(&mut slots);
            block.unpack_counts(&mut counts);
            for (slot, count) in slots.iter().zip(&counts).take(block.len()) {
                visit(Posting {
                    slot: *slot,
                    count: *count,
                });
            }
        }
        self.tail.iter().copied().for_each(visit);
    }

    /// Appends the slots of the first accepted postings, at most `limit`.
    pub(super) fn first(
        &self,
        limit: usize,
        accepts: impl Fn(&Posting) -> bool,
        slots: &mut Vec<u32>,
    ) {
        let end = slots.len() + limit;
        let mut postings = Vec::with_capacity(BLOCK);
        let mut blocks = self.all_blocks();
        while slots.len() < end {
            postings.clear();
            let block = blocks.next();
            match block {
                Some(block) => block.unpack(&mut postings),
                None => postings.extend_from_slice(&self.tail),
            }
            let accepted = postings
                .iter()
                .filter(|posting| accepts(posting))
                .map(|posting| posting.slot);
            slots.extend(accepted.take(end - slots.len()));
            if block.is_none() {
                break;
            }
        }
    }

    /// Visits the postings of the ascending slots, as far as they are in the list: the index of the
    /// slot and the count. A block is unpacked once, and only if one of the slots is in its range.
    pub(super) fn seek(&self, slots: &[u32], mut visit: impl FnMut(usize, u32)) {
        let (mut unpacked, mut counts) = ([0; BLOCK], [0; BLOCK]);
        let mut next = 0;
        let mut index = 0;
        while let Some(slot) = slots.get(next) {
            index = self.reaching(index, *slot);
            let Some(block) = self.block(index) else {
                break;
            };
            if *slot < block.first() {
                next += slots[next..].partition_point(|slot| *slot < block.first());
                continue;
            }
            let end = next + slots[next..].partition_point(|slot| *slot <= block.last());
            block.unpack_slots(&mut unpacked);
            block.unpack_counts(&mut counts);
            meet(
                &slots[next..end],
                &unpacked[..block.len()],
                |index, place| visit(next + index, counts[place]),
            );
            next = end;
        }
        let rest = slots.get(next..).unwrap_or_default();
        for (index, slot) in rest.iter().enumerate() {
            if let Ok(place) = self.tail.binary_search_by_key(slot, |posting| posting.slot) {
                visit(next + index, self.tail[place].count);
            }
        }
    }

    /// Returns the number of admitted passages with the term; a mark does not count as an
    /// occurrence.
    pub(super) fn containing(&self, admitted: AdmittedSlots<'_>) -> usize {
        let in_tail = self
            .tail
            .iter()
            .filter(|posting| posting.count > 0 && admitted.contains(posting.slot))
            .count();
        self.all_blocks()
            .map(|block| containing(block, admitted))
            .sum::<usize>()
            + in_tail
    }
}

fn containing(block: BlockRef<'_>, admitted: AdmittedSlots<'_>) -> usize {
    let all = match admitted {
        AdmittedSlots::All => Some(true),
        AdmittedSlots::Only(bits) => all_or_none(bits, block.first(), block.last()),
    };
    match all {
        Some(false) => return 0,
        Some(true) if !block.has_marks() => return block.len(),
        _ => {}
    }
    let (mut slots, mut counts) = ([0; BLOCK], [1; BLOCK]);
    block.unpack_slots(&mut slots);
    if block.has_marks() {
        block.unpack_counts(&mut counts);
    }
    let postings = slots.iter().zip(&counts).take(block.len());
    match admitted {
        AdmittedSlots::All => postings.map(|(_, count)| usize::from(*count > 0)).sum(),
        // Branch-free, because it cannot be predicted whether a passage is admitted.
        AdmittedSlots::Only(bits) => postings
            .map(|(slot, count)| bits.bit(*slot) & usize::from(*count > 0))
            .sum(),
    }
}

/// Returns true if all slots of the range are in the set, false if no slot is; `None` if neither
/// holds or the range is too wide for a cheap check.
fn all_or_none(bits: &Bits, first: u32, last: u32) -> Option<bool> {
    let (start, end) = ((first / u64::BITS) as usize, (last / u64::BITS) as usize);
    if end - start >= WORDS_MAX {
        return None;
    }
    let (mut any, mut all) = (false, true);
    for index in start..=end {
        let word = bits.words().get(index).copied().unwrap_or_default();
        let from = if index == start {
            u64::MAX << (first % u64::BITS)
        } else {
            u64::MAX
        };
        let to = if index == end {
            u64::MAX >> (u64::BITS - 1 - last % u64::BITS)
        } else {
            u64::MAX
        };
        any |= word & from & to != 0;
        all &= !word & from & to == 0;
    }
    (any == all).then_some(all)
}

/// Visits the common elements of two ascending lists: the index in each.
fn meet(left: &[u32], right: &[u32], mut visit: impl FnMut(usize, usize)) {
    let mut place = 0;
    for (index, slot) in left.iter().enumerate() {
        // For few slots in a block a binary search is faster; for many, the next one is near.
        if left.len() * 8 < right.len() {
            place += right[place..].partition_point(|other| other < slot);
        } else {
            while right.get(place).is_some_and(|other| other < slot) {
                place += 1;
            }
        }
        if right.get(place) == Some(slot) {
            visit(index, place);
        }
    }
}
