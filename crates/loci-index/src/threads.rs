//! Threads: the conversations and files that memories are parts of, with their memories in order.
//!
//! A search needs two things of a thread. It asks for the *neighbours* of a candidate, because a
//! message such as "yes, on Friday" says nothing without the question before it; and it asks for
//! *all members*, because a thread as a whole has a score ([`loci_core::ThreadScore`]). Both are
//! reads of a list that is sorted by position, so a thread is exactly that: a key and its sorted
//! members.
//!
//! Positions may have gaps, e.g. where a message expired, and may be equal, because only short-term
//! memories of one owner have positions of their own. A neighbour is therefore a member within a
//! *distance of positions*, not the next one in the list.
//!
//! # The two halves
//!
//! As everywhere in this crate, a segment has the first numbers and memory has the later ones. In a
//! segment a thread is four `u32`, sorted by its key, and a member 16 bytes:
//!
//! ```text
//! THREADS  space  owner  name  end     one for each thread; `end` counts members
//!          3      0      8     4       thread 0 has the members 0 to 3
//!          3      1      8     6       thread 1 has the members 4 and 5
//!
//! MEMBERS  position u64  number u32  0 u32
//! ```
//!
//! The segment cannot change, so the first change of one of its threads copies that thread into
//! `changed`, and reads then prefer the copy. Most threads of a segment are over, e.g. the
//! conversations of last year, so few are copied. A thread of memory that loses its last member
//! gives its number back; a segment's stays in `changed` without members, because its number means
//! that place in the file until the next segment is written.
//!
//! Numbers of threads are only compared and looked up. A thread that is emptied and filled again
//! may have another one, which does not matter, because each memory has the number of its thread
//! ([`super::base::RecordFields`]) and no memory was left.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::structures::segment::{Bytes, u32_at, u64_at};

use super::interner::Name;

/// The identity of a thread: a conversation or file of one owner (or without owner) in one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ThreadKey {
    pub(crate) space: Name,
    pub(crate) owner: Option<Name>,
    pub(crate) name: Name,
}

/// A memory in a thread. Sorted by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadMember {
    pub(crate) position: u64,
    pub(crate) number: u32,
}

/// The threads and their members. A thread without members does not exist.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// The threads of a segment, which come first.
    base: BaseThreads,
    /// Threads of the segment that changed since.
    changed: HashMap<u32, Thread>,
    numbers: HashMap<ThreadKey, u32>,
    /// After the segment's.
    own: Vec<Thread>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Thread {
    key: ThreadKey,
    members: Vec<ThreadMember>,
}

/// The threads of a segment: by number, which follows the keys, space, owner, name and the end of
/// the members; and the members, each a position and a number.
#[derive(Debug, Default)]
pub(crate) struct BaseThreads {
    pub(crate) threads: Bytes,
    pub(crate) members: Bytes,
}

/// Numbers of 32 bits that a thread has in a segment.
pub(crate) const THREAD_NUMBERS: usize = 4;
/// Bytes that a member has in a segment.
pub(crate) const MEMBER_BYTES: usize = 16;

impl BaseThreads {
    fn len(&self) -> usize {
        self.threads.len() / (THREAD_NUMBERS * 4)
    }

    fn numbers(&self, thread: usize) -> [u32; THREAD_NUMBERS] {
        std::array::from_fn(|index| u32_at(&self.threads, thread * THREAD_NUMBERS + index))
    }

    fn key(&self, thread: usize) -> Option<ThreadKey> {
        let [space, owner, name, _] = self.numbers(thread);
        Some(ThreadKey {
            space: Name::of_number(space)?,
            owner: Name::of_number(owner),
            name: Name::of_number(name)?,
        })
    }

    fn find(&self, key: ThreadKey) -> Option<u32> {
        let wanted = key.numbers();
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let [space, owner, name, _] = self.numbers(middle);
            match [space, owner, name].cmp(&wanted) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle as u32),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn range(&self, thread: u32) -> Range<usize> {
        let end = |thread: usize| self.numbers(thread)[3] as usize;
        (thread as usize).checked_sub(1).map_or(0, end)..end(thread as usize)
    }

    fn member(&self, index: usize) -> ThreadMember {
        let bytes = self.members.get(index * MEMBER_BYTES..).unwrap_or_default();
        ThreadMember {
            position: u64_at(bytes, 0),
            number: u32_at(bytes, 2),
        }
    }

    fn members(&self, range: Range<usize>) -> Vec<ThreadMember> {
        range.map(|index| self.member(index)).collect()
    }
}

impl ThreadKey {
    /// By which the threads of a segment are sorted.
    pub(crate) fn numbers(self) -> [u32; 3] {
        [
            Name::number(Some(self.space)),
            Name::number(self.owner),
            Name::number(Some(self.name)),
        ]
    }
}

impl Threads {
    /// Opens the threads of a segment.
    pub(crate) fn open(base: BaseThreads) -> Self {
        Threads {
            base,
            ..Threads::default()
        }
    }

    /// Adds a member; returns the number of the thread.
    pub(crate) fn insert(&mut self, key: ThreadKey, member: ThreadMember) -> u32 {
        let number = self.base.find(key).unwrap_or_else(|| self.own_number(key));
        let Some(thread) = self.thread_mut(number) else {
            return number;
        };
        if let Err(place) = thread.members.binary_search(&member) {
            thread.members.insert(place, member);
        }
        number
    }

    fn own_number(&mut self, key: ThreadKey) -> u32 {
        let first = self.base.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            let thread = Thread {
                key,
                members: Vec::new(),
            };
            if let Some(number) = self.free.pop() {
                self.own[(number - first) as usize] = thread;
                return number;
            }
            self.own.push(thread);
            first + self.own.len() as u32 - 1
        })
    }

    /// The thread to be changed; one of a segment comes into memory for it.
    fn thread_mut(&mut self, number: u32) -> Option<&mut Thread> {
        if let Some(own) = (number as usize).checked_sub(self.base.len()) {
            return self.own.get_mut(own);
        }
        match self.changed.entry(number) {
            Entry::Occupied(changed) => Some(changed.into_mut()),
            Entry::Vacant(place) => {
                let members = self.base.members(self.base.range(number));
                Some(place.insert(Thread {
                    key: self.base.key(number as usize)?,
                    members,
                }))
            }
        }
    }

    /// Takes a member of the thread away.
    pub(crate) fn remove(&mut self, number: u32, member: ThreadMember) {
        let is_own = number as usize >= self.base.len();
        let Some(thread) = self.thread_mut(number) else {
            return;
        };
        if let Ok(place) = thread.members.binary_search(&member) {
            thread.members.remove(place);
            if thread.members.is_empty() && is_own {
                thread.members = Vec::new();
                let key = thread.key;
                self.numbers.remove(&key);
                self.free.push(number);
            }
        }
    }

    fn in_memory(&self, number: u32) -> Option<&Thread> {
        match (number as usize).checked_sub(self.base.len()) {
            Some(own) => self.own.get(own),
            None => self.changed.get(&number),
        }
    }

    /// Returns the name of the thread.
    pub(crate) fn name(&self, thread: u32) -> Option<Name> {
        match self.in_memory(thread) {
            Some(thread) => Some(thread.key.name),
            None => Name::of_number(self.base.numbers(thread as usize)[2]),
        }
    }

    /// The members, by position.
    pub(crate) fn members(&self, thread: u32) -> Cow<'_, [ThreadMember]> {
        match self.in_memory(thread) {
            Some(thread) => Cow::Borrowed(&thread.members),
            None => Cow::Owned(self.base.members(self.base.range(thread))),
        }
    }

    /// The members at most that far from a position.
    pub(crate) fn near(&self, thread: u32, position: u64, distance: u64) -> Vec<ThreadMember> {
        let (first, last) = (
            position.saturating_sub(distance),
            position.saturating_add(distance),
        );
        if let Some(thread) = self.in_memory(thread) {
            let begin = thread
                .members
                .partition_point(|member| member.position < first);
            let near = thread.members[begin..]
                .iter()
                .take_while(|member| member.position <= last);
            return near.copied().collect();
        }
        let range = self.base.range(thread);
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.base.member(middle).position < first {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let near = (low..range.end).map(|index| self.base.member(index));
        near.take_while(|member| member.position <= last).collect()
    }

    /// The threads that have members, with their keys.
    pub(crate) fn all(&self) -> Vec<(ThreadKey, u32)> {
        let count = self.base.len() + self.own.len();
        let key = |number: u32| match self.in_memory(number) {
            Some(thread) => (!thread.members.is_empty()).then_some(thread.key),
            None => self.base.key(number as usize),
        };
        (0..count as u32)
            .filter_map(|number| Some((key(number)?, number)))
            .collect()
    }

    pub(crate) fn shrink(&mut self) {
        self.own
            .iter_mut()
            .for_each(|thread| thread.members.shrink_to_fit());
        self.own.shrink_to_fit();
    }

    pub(crate) fn bytes(&self) -> usize {
        let threads = self.own.iter().chain(self.changed.values());
        let members: usize = threads.map(|thread| thread.members.capacity()).sum();
        members * size_of::<ThreadMember>()
            + self.own.capacity() * size_of::<Thread>()
            + self.changed.capacity() * (size_of::<(u32, Thread)>() + 1)
            + self.numbers.capacity() * (size_of::<(ThreadKey, u32)>() + 1)
            + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::interner::Interner;

    proptest! {
        #[test]
        fn members_stand_by_position_in_their_own_thread(
            steps in vec((0_usize..4, 0_u64..12, 0_u32..6, any::<bool>()), 0..200),
        ) {
            let mut names = Interner::default();
            let (here, there) = (names.intern("here"), names.intern("there"));
            let key = |space, owner| ThreadKey { space, owner, name: here };
            let keys = [key(here, None), key(here, Some(here)), key(here, Some(there)), key(there, None)];
            let (mut threads, mut expected) = (Threads::default(), vec![BTreeSet::new(); keys.len()]);
            let mut numbers = vec![0; keys.len()];
            for (thread, position, number, put_in) in steps {
                let member = ThreadMember { position, number };
                if put_in {
                    numbers[thread] = threads.insert(keys[thread], member);
                    expected[thread].insert(member);
                } else if expected[thread].remove(&member) {
                    threads.remove(numbers[thread], member);
                }
            }
            prop_assert_eq!(threads.numbers.len(), expected.iter().filter(|members| !members.is_empty()).count());
            for (number, expected) in numbers.into_iter().zip(expected).filter(|(_, expected)| !expected.is_empty()) {
                prop_assert_eq!(threads.members(number).into_owned(), expected.iter().copied().collect::<Vec<_>>());
                for position in 0..14 {
                    let near = expected.iter().filter(|member| member.position.abs_diff(position) <= 2);
                    prop_assert_eq!(threads.near(number, position, 2), near.copied().collect::<Vec<_>>());
                }
            }
        }
    }
}
