use super::bits::Bits;
use super::block::{BLOCK, Block};
use super::lengths::Lengths;
use super::posting::Posting;
use super::short;

/// The maximum bytes of a list that is stored inline: most terms have a few postings.
const INLINE: usize = 14;
/// The maximum number of blocks that are cleaned in one step.
const RUN: usize = 64;

/// The postings of a term, ascending by slot, each slot once.
#[derive(Debug, Clone)]
pub(super) enum List {
    /// In the format of [`short`]; the bytes beyond the length are meaningless.
    Inline {
        length: u8,
        bytes: [u8; INLINE],
    },
    Long(Box<Long>),
}

/// Packed blocks and, after them, a tail of fewer than [`BLOCK`] postings.
#[derive(Debug, Clone, Default)]
pub(super) struct Long {
    blocks: Vec<Block>,
    /// In the format of [`short`].
    tail: Vec<u8>,
    tail_length: u32,
    /// The slot of the last posting in the list.
    last: u32,
}

/// The progress of a cleaning.
pub(super) struct CleaningProgress {
    /// The number of postings that were examined.
    pub(super) looked_at: usize,
    /// The slot at which to continue; `None` if the list is clean to its end.
    pub(super) next: Option<u32>,
}

impl Default for List {
    fn default() -> Self {
        List::Inline {
            length: 0,
            bytes: [0; INLINE],
        }
    }
}

impl List {
    /// Adds a posting. The slot must be absent; if it is present, the counts are added. `lengths`
    /// has the length of each passage, including this one.
    pub(super) fn insert(&mut self, posting: Posting, lengths: Lengths<'_>) {
        match self {
            List::Inline { length, bytes } => {
                let bytes = &bytes[..usize::from(*length)];
                let before = short::read(bytes)
                    .fold((0, 0), |(count, _), posting| (count + 1, posting.slot));
                *self = if before.0 == 0 || posting.slot > before.1 {
                    let mut written = bytes.to_vec();
                    short::write(&mut written, before.1, posting);
                    List::of_bytes(written, before.0 + 1, posting.slot)
                } else {
                    let mut postings: Vec<Posting> = short::read(bytes).collect();
                    insert_sorted(&mut postings, posting);
                    List::short(&postings)
                };
            }
            List::Long(long) => long.insert(posting, lengths),
        }
    }

    /// Returns a list of fewer than [`BLOCK`] postings.
    fn short(postings: &[Posting]) -> Self {
        let last = postings.last().map_or(0, |posting| posting.slot);
        List::of_bytes(short::written(postings), postings.len() as u32, last)
    }

    /// Returns a list of this many postings that are already encoded.
    fn of_bytes(written: Vec<u8>, tail_length: u32, last: u32) -> Self {
        let mut bytes = [0; INLINE];
        if let Some(start) = bytes.get_mut(..written.len()) {
            start.copy_from_slice(&written);
            return List::Inline {
                length: written.len() as u8,
                bytes,
            };
        }
        List::Long(Box::new(Long {
            blocks: Vec::new(),
            tail: written,
            tail_length,
            last,
        }))
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, List::Inline { length: 0, .. })
    }

    /// Returns the packed blocks, and the bytes of the tail.
    pub(super) fn parts(&self) -> (&[Block], &[u8]) {
        match self {
            List::Inline { length, bytes } => (&[], &bytes[..usize::from(*length)]),
            List::Long(long) => (&long.blocks, &long.tail),
        }
    }

    /// Removes dead slots, from the slot `from` on and for about `budget` postings.
    pub(super) fn clean(
        &mut self,
        from: u32,
        dead: &Bits,
        lengths: Lengths<'_>,
        budget: usize,
    ) -> CleaningProgress {
        match self {
            List::Inline { length, bytes } => {
                let bytes = &bytes[..usize::from(*length)];
                let looked_at = short::read(bytes).count();
                if let Some(living) = living(bytes, dead) {
                    *self = List::short(&living);
                }
                CleaningProgress {
                    looked_at,
                    next: None,
                }
            }
            List::Long(long) => {
                let cleaned = long.clean(from, dead, lengths, budget);
                if cleaned.next.is_none() && long.blocks.is_empty() && long.tail.len() <= INLINE {
                    *self = List::short(&short::read(&long.tail).collect::<Vec<_>>());
                }
                cleaned
            }
        }
    }

    pub(super) fn shrink(&mut self) {
        if let List::Long(long) = self {
            long.blocks.shrink_to_fit();
            long.tail.shrink_to_fit();
        }
    }

    /// Returns the bytes that it uses on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let List::Long(long) = self else { return 0 };
        let packed: usize = long.blocks.iter().map(Block::heap_bytes).sum();
        size_of::<Long>()
            + long.blocks.capacity() * size_of::<Block>()
            + packed
            + long.tail.capacity()
    }

    /// Returns the number of allocations counted by [`heap_bytes`](List::heap_bytes).
    pub(super) fn allocations(&self) -> usize {
        match self {
            List::Inline { .. } => 0,
            List::Long(long) => long.blocks.len() + 3,
        }
    }
}

impl Long {
    fn insert(&mut self, posting: Posting, lengths: Lengths<'_>) {
        if posting.slot > self.last {
            let previous = if self.tail_length == 0 { 0 } else { self.last };
            short::write(&mut self.tail, previous, posting);
            self.tail_length += 1;
            self.last = posting.slot;
            if self.tail_length as usize == BLOCK {
                let full: Vec<Posting> = short::read(&self.tail).collect();
                self.blocks.push(Block::of(&full, lengths));
                self.set_tail(&[]);
            }
        } else if self
            .blocks
            .last()
            .is_none_or(|block| block.last() < posting.slot)
        {
            let mut postings: Vec<Posting> = short::read(&self.tail).collect();
            insert_sorted(&mut postings, posting);
            if postings.len() == BLOCK {
                self.blocks.push(Block::of(&postings, lengths));
                postings.clear();
            }
            self.set_tail(&postings);
        } else {
            let index = self
                .blocks
                .partition_point(|block| block.last() < posting.slot);
            let mut postings = Vec::with_capacity(BLOCK + 1);
            self.blocks[index].get().unpack(&mut postings);
            insert_sorted(&mut postings, posting);
            if postings.len() > BLOCK {
                let upper = postings.split_off(BLOCK / 2);
                self.blocks.insert(index + 1, Block::of(&upper, lengths));
            }
            self.blocks[index] = Block::of(&postings, lengths);
        }
    }

    fn set_tail(&mut self, postings: &[Posting]) {
        self.tail.clear();
        let mut previous = 0;
        for posting in postings {
            short::write(&mut self.tail, previous, *posting);
            previous = posting.slot;
        }
        self.tail_length = postings.len() as u32;
    }

    fn clean(
        &mut self,
        from: u32,
        dead: &Bits,
        lengths: Lengths<'_>,
        budget: usize,
    ) -> CleaningProgress {
        let start = self.blocks.partition_point(|block| block.last() < from);
        let end = self
            .blocks
            .len()
            .min(start + (budget / BLOCK).clamp(1, RUN));
        let run = &self.blocks[start..end];
        let mut looked_at: usize = run.iter().map(Block::len).sum();
        let next = if end < self.blocks.len() {
            run.last().map(|block| block.last() + 1)
        } else {
            None
        };
        let could_be_fewer = looked_at.div_ceil(BLOCK) < run.len();
        if could_be_fewer || run.iter().any(|block| has_dead(block, dead)) {
            let mut living = Vec::with_capacity(looked_at);
            for block in run {
                block.get().unpack(&mut living);
            }
            living.retain(|posting| !dead.contains(posting.slot));
            let rewritten: Vec<Block> = living
                .chunks(BLOCK)
                .map(|chunk| Block::of(chunk, lengths))
                .collect();
            self.blocks.splice(start..end, rewritten);
        }
        if next.is_none() {
            looked_at += self.tail_length as usize;
            if let Some(living) = living(&self.tail, dead) {
                self.set_tail(&living);
            }
            let last_packed = self.blocks.last().map_or(0, Block::last);
            self.last = short::read(&self.tail)
                .last()
                .map_or(last_packed, |posting| posting.slot);
        }
        CleaningProgress { looked_at, next }
    }
}

fn has_dead(block: &Block, dead: &Bits) -> bool {
    let mut slots = [0; BLOCK];
    block.get().unpack_slots(&mut slots);
    slots.iter().any(|slot| dead.contains(*slot))
}

/// Returns the postings without the dead ones; `None` if no posting is dead.
fn living(bytes: &[u8], dead: &Bits) -> Option<Vec<Posting>> {
    let is_dead = |posting: &Posting| dead.contains(posting.slot);
    // Most lists have no dead postings and need no allocation for this.
    short::read(bytes)
        .any(|posting| is_dead(&posting))
        .then(|| {
            short::read(bytes)
                .filter(|posting| !is_dead(posting))
                .collect()
        })
}

fn insert_sorted(postings: &mut Vec<Posting>, posting: Posting) {
    match postings.binary_search_by_key(&posting.slot, |posting| posting.slot) {
        Ok(index) => postings[index].count = postings[index].count.saturating_add(posting.count),
        Err(index) => postings.insert(index, posting),
    }
}
