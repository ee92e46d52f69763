use super::NONE;

/// The small numbers of passages: whose they are, and in which order.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By slot: the number of the passage's memory, [`NONE`] where it is dead or free.
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

/// The passages of one memory: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { first: NONE, last: NONE };
}

impl Slots {
    /// Gives the memory `owner` a further passage, after those that it has.
    pub(super) fn append(&mut self, chain: &mut Chain, owner: u32) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.owners[slot as usize] = owner;
        self.next[slot as usize] = NONE;
        if chain.first == NONE {
            chain.first = slot;
        } else {
            self.next[chain.last as usize] = slot;
        }
        chain.last = slot;
        self.changed += 1;
        slot
    }

    fn grow(&mut self) -> u32 {
        self.owners.push(NONE);
        self.next.push(NONE);
        self.owners.len() as u32 - 1
    }

    /// A further slot, of a passage that is in the postings and of no memory.
    pub(super) fn append_dead(&mut self) -> u32 {
        let slot = self.grow();
        self.dead.push(slot);
        slot
    }

    /// The memory of the passage.
    pub(super) fn owner(&self, slot: u32) -> u32 {
        self.owners[slot as usize]
    }

    /// The slots of a memory's passages, in order.
    pub(super) fn of(&self, chain: Chain) -> impl Iterator<Item = u32> + '_ {
        let existing = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(existing(chain.first), move |slot| existing(self.next[*slot as usize]))
    }

    /// Takes all passages of a memory away.
    pub(super) fn remove(&mut self, chain: Chain) {
        let mut slot = chain.first;
        while slot != NONE {
            self.owners[slot as usize] = NONE;
            self.dead.push(slot);
            self.changed += 1;
            slot = self.next[slot as usize];
        }
    }

    /// How many are in the postings, the dead ones included.
    pub(super) fn in_postings(&self) -> usize {
        self.owners.len() - self.free.len()
    }

    /// How many there are, whatever they are.
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// How many came and died since this was asked last.
    pub(super) fn take_changed(&mut self) -> usize {
        std::mem::take(&mut self.changed)
    }

    /// The dead slots that no purge is at yet.
    pub(super) fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Notes that a purge of the dead slots began.
    pub(super) fn begin_purge(&mut self) {
        self.purged = self.dead.len();
        self.dead.clear();
    }

    /// Frees the slots that a purge has been through.
    pub(super) fn end_purge(&mut self, purged: Vec<u32>) {
        self.purged = 0;
        // The lowest are given first, so that what is full lies together.
        self.free.extend(purged.into_iter().rev());
    }

    /// Ends a load.
    pub(super) fn shrink(&mut self) {
        self.owners.shrink_to_fit();
        self.next.shrink_to_fit();
        self.changed = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        let numbers = self.owners.capacity() + self.next.capacity() + self.free.capacity() + self.dead.capacity();
        (numbers + self.purged) * size_of::<u32>()
    }
}
