use crate::structures::segment::{Bytes, first_slot_after};

use super::NONE;

/// The small numbers of passages: whose they are, and in which order.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// The slots of a segment: owners and next ones, as below, of what was alive when it was
    /// written.
    base: BaseSlots,
    /// The first slot that is not the segment's.
    first: u32,
    /// By slot from the first on, as all below: the number of the passage's memory, [`NONE`] where
    /// it is dead or free.
    owners: Vec<u32>,
    /// By slot: the next passage of the same memory, [`NONE`] after the last.
    next: Vec<u32>,
    /// Free to be given.
    free: Vec<u32>,
    /// Still in the postings, until a purge has been through.
    dead: Vec<u32>,
    /// Dead ones that a purge is at.
    purged: usize,
    /// Slots that were given or died.
    changed: usize,
}

/// The slots of a segment.
#[derive(Debug, Default)]
pub(crate) struct BaseSlots {
    pub(crate) owners: Bytes,
    pub(crate) next: Bytes,
}

/// The passages of one memory: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain {
        first: NONE,
        last: NONE,
    };

    /// One of a segment, to which nothing is appended.
    pub(crate) fn of_base(first: u32) -> Self {
        Chain { first, last: NONE }
    }
}

impl Slots {
    /// Opens the slots of a segment.
    pub(crate) fn open(base: BaseSlots) -> Self {
        let first = first_slot_after(base.owners.numbers().len());
        Slots {
            base,
            first,
            ..Slots::default()
        }
    }

    fn place(&self, slot: u32) -> usize {
        (slot - self.first) as usize
    }

    fn next(&self, slot: u32) -> u32 {
        let of_base = self.base.next.numbers().get(slot as usize);
        of_base
            .or_else(|| self.next.get(slot.wrapping_sub(self.first) as usize))
            .copied()
            .unwrap_or(NONE)
    }

    /// Gives the memory `owner` a further passage, after its other ones.
    pub(crate) fn append(&mut self, chain: &mut Chain, owner: u32) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        let place = self.place(slot);
        self.owners[place] = owner;
        self.next[place] = NONE;
        if chain.first == NONE {
            chain.first = slot;
        } else {
            let last = self.place(chain.last);
            self.next[last] = slot;
        }
        chain.last = slot;
        self.changed += 1;
        slot
    }

    fn grow(&mut self) -> u32 {
        self.owners.push(NONE);
        self.next.push(NONE);
        self.first + self.owners.len() as u32 - 1
    }

    /// A further slot, of a passage that is in the postings and of no memory.
    pub(crate) fn append_dead(&mut self) -> u32 {
        let slot = self.grow();
        self.dead.push(slot);
        slot
    }

    /// The memory of the passage, which is not dead.
    pub(crate) fn owner(&self, slot: u32) -> u32 {
        let of_base = self.base.owners.numbers().get(slot as usize);
        of_base
            .or_else(|| self.owners.get(slot.wrapping_sub(self.first) as usize))
            .copied()
            .unwrap_or(NONE)
    }

    /// The slots of a memory's passages, in order.
    pub(crate) fn of(&self, chain: Chain) -> impl Iterator<Item = u32> + '_ {
        let existing = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(existing(chain.first), move |slot| {
            existing(self.next(*slot))
        })
    }

    /// Takes all passages of a memory away.
    pub(crate) fn remove(&mut self, chain: Chain) {
        let mut slot = chain.first;
        // Slots of a segment stay in its postings.
        while slot != NONE && slot >= self.first {
            let place = self.place(slot);
            self.owners[place] = NONE;
            self.dead.push(slot);
            self.changed += 1;
            slot = self.next[place];
        }
    }

    /// The number of slots in the postings, including dead ones.
    pub(crate) fn in_postings(&self) -> usize {
        self.base.owners.numbers().len() + self.owners.len() - self.free.len()
    }

    /// The number of slots in memory, including dead ones.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns the number of slots that came and died since the last call.
    pub(crate) fn take_changed(&mut self) -> usize {
        std::mem::take(&mut self.changed)
    }

    /// The dead slots that no purge is at yet.
    pub(crate) fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Notes that a purge of the dead slots started.
    pub(crate) fn begin_purge(&mut self) {
        self.purged = self.dead.len();
        self.dead.clear();
    }

    /// Frees the slots that a purge has been through.
    pub(crate) fn end_purge(&mut self, purged: Vec<u32>) {
        self.purged = 0;
        // The lowest are given first, so that what is full lies together.
        self.free.extend(purged.into_iter().rev());
    }

    /// Ends a load.
    pub(crate) fn shrink(&mut self) {
        self.owners.shrink_to_fit();
        self.next.shrink_to_fit();
        self.changed = 0;
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.owners.capacity()
            + self.next.capacity()
            + self.free.capacity()
            + self.dead.capacity();
        (numbers + self.purged) * size_of::<u32>()
    }
}
