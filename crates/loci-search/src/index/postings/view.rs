use super::bits::Bits;
use super::block::{BLOCK, Block, Posting};
use super::{Admitted, short};

/// Words of a bit set that are worth a look to spare the unpacking of a block.
const WORDS_MAX: usize = 32;

/// A list to be read: packed blocks and, unpacked, what comes after them.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) tail: Vec<Posting>,
}

impl<'a> View<'a> {
    pub(super) fn new(blocks: &'a [Block], tail: &[u8]) -> Self {
        View { blocks, tail: short::read(tail).collect() }
    }

    /// Visits every posting, ascending.
    pub(super) fn walk(&self, mut visit: impl FnMut(Posting)) {
        let (mut slots, mut counts) = ([0; BLOCK], [0; BLOCK]);
        for block in self.blocks {
            block.unpack_slots(&mut slots);
            block.unpack_counts(&mut counts);
            for (slot, count) in slots.iter().zip(&counts).take(block.len()) {
                visit(Posting { slot: *slot, count: *count });
            }
        }
        self.tail.iter().copied().for_each(visit);
    }

    /// Appends the slots of the first postings that are accepted, so many at most.
    pub(super) fn first(&self, limit: usize, accepts: impl Fn(&Posting) -> bool, slots: &mut Vec<u32>) {
        let end = slots.len() + limit;
        let mut postings = Vec::with_capacity(BLOCK);
        let mut blocks = self.blocks.iter();
        while slots.len() < end {
            postings.clear();
            let block = blocks.next();
            match block {
                Some(block) => block.unpack(&mut postings),
                None => postings.extend_from_slice(&self.tail),
            }
            let accepted = postings.iter().filter(|posting| accepts(posting)).map(|posting| posting.slot);
            slots.extend(accepted.take(end - slots.len()));
            if block.is_none() {
                break;
            }
        }
    }

    /// Visits the postings of those of the slots, which ascend, that are here: the index of the slot
    /// and the count. A block is unpacked once, and only if one of the slots is in its range.
    pub(super) fn seek(&self, slots: &[u32], mut visit: impl FnMut(usize, u32)) {
        let (mut unpacked, mut counts) = ([0; BLOCK], [0; BLOCK]);
        let mut next = 0;
        let mut blocks = self.blocks;
        while let Some(slot) = slots.get(next) {
            blocks = &blocks[blocks.partition_point(|block| block.last < *slot)..];
            let Some(block) = blocks.first() else { break };
            if *slot < block.first {
                next += slots[next..].partition_point(|slot| *slot < block.first);
                continue;
            }
            let end = next + slots[next..].partition_point(|slot| *slot <= block.last);
            block.unpack_slots(&mut unpacked);
            block.unpack_counts(&mut counts);
            meet(&slots[next..end], &unpacked[..block.len()], |index, place| visit(next + index, counts[place]));
            next = end;
        }
        let rest = slots.get(next..).unwrap_or_default();
        for (index, slot) in rest.iter().enumerate() {
            if let Ok(place) = self.tail.binary_search_by_key(slot, |posting| posting.slot) {
                visit(next + index, self.tail[place].count);
            }
        }
    }

    /// How many admitted passages the term occurs in; a mark is no occurrence.
    pub(super) fn containing(&self, admitted: Admitted<'_>) -> usize {
        let in_tail = self.tail.iter().filter(|posting| posting.count > 0 && admitted.contains(posting.slot)).count();
        self.blocks.iter().map(|block| containing(block, admitted)).sum::<usize>() + in_tail
    }
}

fn containing(block: &Block, admitted: Admitted<'_>) -> usize {
    let all = match admitted {
        Admitted::All => Some(true),
        Admitted::Only(bits) => all_or_none(bits, block.first, block.last),
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
        Admitted::All => postings.map(|(_, count)| usize::from(*count > 0)).sum(),
        // No branch: whether a passage is admitted cannot be foreseen.
        Admitted::Only(bits) => postings.map(|(slot, count)| bits.bit(*slot) & usize::from(*count > 0)).sum(),
    }
}

/// Whether all slots of the range are in the set, or none is; none if neither holds or the range is
/// too wide to tell cheaply.
fn all_or_none(bits: &Bits, first: u32, last: u32) -> Option<bool> {
    let (start, end) = ((first / u64::BITS) as usize, (last / u64::BITS) as usize);
    if end - start >= WORDS_MAX {
        return None;
    }
    let (mut any, mut all) = (false, true);
    for index in start..=end {
        let word = bits.words().get(index).copied().unwrap_or_default();
        let from = if index == start { u64::MAX << (first % u64::BITS) } else { u64::MAX };
        let to = if index == end { u64::MAX >> (u64::BITS - 1 - last % u64::BITS) } else { u64::MAX };
        any |= word & from & to != 0;
        all &= !word & from & to == 0;
    }
    (any == all).then_some(all)
}

/// Visits what two ascending lists have in common: the index in each.
fn meet(left: &[u32], right: &[u32], mut visit: impl FnMut(usize, usize)) {
    let mut place = 0;
    for (index, slot) in left.iter().enumerate() {
        // Few slots in a block: bisect; many: the next is near.
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
