use std::collections::HashMap;

use super::names::Name;

/// What a thread is: the conversation or file of one owner (or of nobody) in one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey {
    pub(super) space: Name,
    pub(super) owner: Option<Name>,
    pub(super) name: Name,
}

/// A memory in a thread. Sorted by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) position: u64,
    pub(super) number: u32,
}

/// The threads and their members. A thread without members is none.
#[derive(Debug, Default)]
pub(super) struct Threads {
    numbers: HashMap<ThreadKey, u32>,
    by_number: Vec<Thread>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Thread {
    key: ThreadKey,
    members: Vec<Member>,
}

impl Threads {
    /// Adds a member; returns the number of the thread.
    pub(super) fn insert(&mut self, key: ThreadKey, member: Member) -> u32 {
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let thread = Thread { key, members: Vec::new() };
            if let Some(number) = self.free.pop() {
                self.by_number[number as usize] = thread;
                return number;
            }
            self.by_number.push(thread);
            self.by_number.len() as u32 - 1
        });
        let members = &mut self.by_number[number as usize].members;
        if let Err(place) = members.binary_search(&member) {
            members.insert(place, member);
        }
        number
    }

    /// Takes a member of the thread away.
    pub(super) fn remove(&mut self, thread: u32, member: Member) {
        let Thread { key, members } = &mut self.by_number[thread as usize];
        if let Ok(place) = members.binary_search(&member) {
            members.remove(place);
            if members.is_empty() {
                *members = Vec::new();
                self.numbers.remove(key);
                self.free.push(thread);
            }
        }
    }

    /// What the thread is called.
    pub(super) fn name(&self, thread: u32) -> Name {
        self.by_number[thread as usize].key.name
    }

    /// The members, by position.
    pub(super) fn members(&self, thread: u32) -> &[Member] {
        &self.by_number[thread as usize].members
    }

    /// The members at most that far from a position.
    pub(super) fn near(&self, thread: u32, position: u64, distance: u64) -> &[Member] {
        let members = self.members(thread);
        let (first, last) = (position.saturating_sub(distance), position.saturating_add(distance));
        let begin = members.partition_point(|member| member.position < first);
        let length = members[begin..].partition_point(|member| member.position <= last);
        &members[begin..begin + length]
    }

    pub(super) fn shrink(&mut self) {
        self.by_number.iter_mut().for_each(|thread| thread.members.shrink_to_fit());
        self.by_number.shrink_to_fit();
    }

    pub(super) fn bytes(&self) -> usize {
        let members: usize = self.by_number.iter().map(|thread| thread.members.capacity()).sum();
        members * size_of::<Member>()
            + self.by_number.capacity() * size_of::<Thread>()
            + self.numbers.capacity() * (size_of::<(ThreadKey, u32)>() + 1)
            + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::names::Names;
    use super::*;

    proptest! {
        #[test]
        fn members_stand_by_position_in_their_own_thread(
            steps in vec((0_usize..4, 0_u64..12, 0_u32..6, any::<bool>()), 0..200),
        ) {
            let mut names = Names::default();
            let (here, there) = (names.intern("here"), names.intern("there"));
            let key = |space, owner| ThreadKey { space, owner, name: here };
            let keys = [key(here, None), key(here, Some(here)), key(here, Some(there)), key(there, None)];
            let (mut threads, mut expected) = (Threads::default(), vec![BTreeSet::new(); keys.len()]);
            let mut numbers = vec![0; keys.len()];
            for (thread, position, number, put_in) in steps {
                let member = Member { position, number };
                if put_in {
                    numbers[thread] = threads.insert(keys[thread], member);
                    expected[thread].insert(member);
                } else if expected[thread].remove(&member) {
                    threads.remove(numbers[thread], member);
                }
            }
            prop_assert_eq!(threads.numbers.len(), expected.iter().filter(|members| !members.is_empty()).count());
            for (number, expected) in numbers.into_iter().zip(expected).filter(|(_, expected)| !expected.is_empty()) {
                prop_assert_eq!(threads.members(number), expected.iter().copied().collect::<Vec<_>>());
                for position in 0..14 {
                    let near = expected.iter().filter(|member| member.position.abs_diff(position) <= 2);
                    prop_assert_eq!(threads.near(number, position, 2), near.copied().collect::<Vec<_>>());
                }
            }
        }
    }
}
